// The chunk kernel of the `radix` method: routes SPLITTERS and CHUNKS.
#ifndef PAIRSIEVE_RADIX_CHUNKS_H
#define PAIRSIEVE_RADIX_CHUNKS_H

#include "radix_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

// Range of the keys of one call: greatest inverted key, greatest key, bits that are zero in some key, bits that are one
// in some key, and 1 where some key is greater than its successor. Zero is neutral for all.
typedef struct psvi_radix_chunks_range {
    uint64_t words[5];
} psvi_radix_chunks_range;

// Counts of a digit by block.
typedef struct psvi_radix_chunks_counts {
    uint16_t of[PSVI_RADIX_DIGITS][256];
} psvi_radix_chunks_counts;

// What one call leaves for the next. It decides how fast the next call is, never what its result is.
typedef struct psvi_radix_chunks_memory {
    uint64_t arrivals;    // at grid barriers, of all calls before
    uint32_t calls;       // so far
    uint32_t remembered;  // there are splitters
    psvi_backoff backoff; // of the splitters
    uint32_t failing;     // what the host has been told: the splitters fail, and not for the first time
    uint32_t served;      // calls in a row that splitters have sorted, or none had to, at most PSVI_RADIX_CHUNKS_SERVED
} psvi_radix_chunks_memory;

// Where the blocks of one call meet; for even and odd calls.
typedef struct psvi_radix_chunks_meeting {
    uint32_t filled[256]; // items that have a place in a chunk's region
    uint32_t unordered;   // some key is greater than its successor
    uint32_t overflow;    // some region is too small
    psvi_radix_chunks_range range;
} psvi_radix_chunks_meeting;

// Device memory that blocks of one launch meet in. Zero at creation; a call leaves `bins` and `counts` zero, and the
// meeting of the next call.
typedef struct psvi_radix_chunks_state {
    uint32_t bins[1 << PSVI_RADIX_CHUNKS_BIN_BITS]; // read 16 bytes at a time
    psvi_radix_chunks_counts counts[2];             // likewise
    psvi_radix_chunks_meeting meetings[2];
    uint64_t splitters[256]; // least keys (as numbers) of the chunks 1, 2, ... of an earlier call
    psvi_radix_chunks_memory memory;
    uint64_t unused[16]; // keeps what all blocks add to away from the rest
    uint64_t arrivals;   // at grid barriers, of all calls
} psvi_radix_chunks_state;

// What a call of the chunk kernel has beside the job. The items of a chunk meet in a region of `capacity` places before
// their block sorts them.
typedef struct psvi_radix_chunks_call {
    void *items; // keys with their places in the input, PSVI_RADIX_CHUNKS_ITEM bytes each
    void *values;
    uint64_t places;    // of all regions
    uint32_t capacity;  // of each, in this kernel
    uint32_t try_again; // the first call after a wait of the host: the splitters are tried whatever they did before
    uint32_t *failing;  // in memory that the host sees: 1 where splitters fail time and again, or chunks are crowded
    uint32_t *served;   // likewise: psvi_radix_chunks_memory.served
    uint32_t resident;  // RESIDENT runs behind this kernel, and sorts what fits in no chunks
} psvi_radix_chunks_call;

// Sorts job->count items, at most job->multiprocessors * PSVI_RADIX_CHUNKS_TILE. Tells the host at job->order_seen
// whether the input was in order. One cooperative launch of
// job->multiprocessors blocks (at most PSVI_RADIX_CHUNKS_BLOCKS). Uses keys_spare[0], values_spare[0] and the regions,
// which may lie in the same memory.
cudaError_t psvi_radix_chunks(const psvi_radix_job *job, psvi_radix_chunks_state *state,
                              const psvi_radix_chunks_call *call, cudaStream_t stream);

// Behind RESIDENT, where it has sorted what the chunk kernel could not: takes splitters from the sorted keys, or by the
// sorted index from the unsorted ones. One small launch.
cudaError_t psvi_radix_chunks_remember(const psvi_radix_job *job, psvi_radix_chunks_state *state, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
