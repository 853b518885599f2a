// The cooperative kernel of the `radix` method, for middle counts.
#ifndef PAIRSIEVE_RADIX_CHUNKS_H
#define PAIRSIEVE_RADIX_CHUNKS_H

#include "radix.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_RADIX_CHUNKS_THREADS 1024
#define PSVI_RADIX_CHUNKS_BIN_BITS 11
#define PSVI_RADIX_CHUNKS_BINS (1 << PSVI_RADIX_CHUNKS_BIN_BITS)
#define PSVI_RADIX_CHUNKS_LOCAL_BITS 9 // digits sorted on chip
#define PSVI_RADIX_CHUNKS_FINE_BITS 13 // of the single step on chip
#define PSVI_RADIX_CHUNKS_FULL_BIN 48  // items of one bin that are still compared each with each
#define PSVI_RADIX_CHUNKS_TILE(pair_bytes) ((pair_bytes) <= 8 ? 9216 : (pair_bytes) <= 12 ? 6144 : 4096)
#define PSVI_RADIX_CHUNKS_SLOTS 32   // more than the grid barriers of any call
#define PSVI_RADIX_CHUNKS_BLOCKS 254 // chunk numbers have 8 bits, and one is for items that are not there

// Range of the keys of one call: greatest inverted key, greatest key, bits that are zero in some key, bits that are one
// in some key, and 1 where some key is greater than its successor. Zero is neutral for all.
typedef struct psvi_radix_chunks_range {
    uint64_t words[5];
} psvi_radix_chunks_range;

// Counts of a digit by block.
typedef struct psvi_radix_chunks_counts {
    uint16_t of[PSVI_RADIX_DIGITS][256];
} psvi_radix_chunks_counts;

// Device memory that blocks of one launch meet in. Zero at creation; a call leaves `bins` and `counts` zero.
typedef struct psvi_radix_chunks_state {
    uint32_t bins[PSVI_RADIX_CHUNKS_BINS]; // read 16 bytes at a time
    psvi_radix_chunks_counts counts[2];    // likewise
    psvi_radix_chunks_range ranges[PSVI_RADIX_CHUNKS_SLOTS];
    uint64_t arrivals; // at grid barriers, of all calls; a multiple of the grid between calls
} psvi_radix_chunks_state;

// Sorts job->count items, at most job->multiprocessors * PSVI_RADIX_CHUNKS_TILE. One cooperative launch of
// job->multiprocessors blocks (at most PSVI_RADIX_CHUNKS_BLOCKS). Uses keys_spare[0] and values_spare[0].
cudaError_t psvi_radix_chunks(const psvi_radix_job *job, psvi_radix_chunks_state *state, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
