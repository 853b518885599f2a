// Route ROUNDS of the `radix` method, for millions of 32-bit keys that are spread as those of an earlier call were.
#ifndef PAIRSIEVE_RADIX_ROUNDS_H
#define PAIRSIEVE_RADIX_ROUNDS_H

#include "radix_chunks.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where the blocks of one call meet; for even and odd calls.
typedef struct psvi_radix_rounds_meeting {
    uint32_t filled[PSVI_RADIX_ROUNDS_CHUNKS]; // items that have a place in a chunk's region
    uint32_t unordered;                        // some key is greater than its successor
    uint32_t overflow;                         // some region is too small
    uint32_t scattered;                        // some key is greater than one that lies 1,024 places on
} psvi_radix_rounds_meeting;

// Device memory, zero at creation. A call leaves the meeting of the next zero.
typedef struct psvi_radix_rounds_state {
    uint64_t splitters[PSVI_RADIX_ROUNDS_CHUNKS]; // least keys (as numbers) of the chunks 1, 2, ... of an earlier call
    psvi_radix_rounds_meeting meetings[2];
    uint64_t arrivals_before; // of all calls before
    uint32_t calls;
    uint32_t chunks;     // that the splitters cut; 0: there are none
    uint64_t unused[16]; // keeps what all blocks add to away from the rest
    uint64_t arrivals;   // at grid barriers, of all calls
} psvi_radix_rounds_state;

// Beside the job: where chunks meet, and `ready` in memory that the host sees: 1 where there are splitters that have
// not failed.
typedef struct psvi_radix_rounds_call {
    psvi_radix_chunks_call regions;
    uint32_t chunks; // of the splitters for the next call
    uint32_t *ready;
} psvi_radix_rounds_call;

// Sorts, or does nothing and says so in job->control->done, where there are no splitters, a chunk does not fit, or
// psvi_radix_windows has sorted. Tells the host at job->order_seen where the input was in order or perhaps nearly so.
// 32-bit keys, values of at most 4 bytes. One cooperative launch.
cudaError_t psvi_radix_rounds(const psvi_radix_job *job, psvi_radix_rounds_state *state,
                              const psvi_radix_rounds_call *call, cudaStream_t stream);

// After a sort in another way: takes splitters from the sorted keys, job->keys_out, or, where these are not wanted,
// from the unsorted ones by the sorted index. Tells the host at job->order_seen where the input was in order. One small
// launch.
cudaError_t psvi_radix_rounds_remember(const psvi_radix_job *job, psvi_radix_rounds_state *state,
                                       const psvi_radix_rounds_call *call, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
