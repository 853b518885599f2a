// How long a fast way is left out after it has failed: one rule for the host and for kernels.
//
// Some fast ways serve only data of a kind (keys spread as in the call before, input nearly in order, scenes that are
// even). Whether they serve is known after the attempt, and a failed attempt costs time. So after a failure the way is
// left out for some calls, and for twice as many after each further failure in a row:
//
//     wait = clamp(2 * last wait, least, most), where a success sets the last wait to 0
//
// Data that never suit cost one attempt in `most` + 1 calls, data that suit again are found after at most `most` calls.
// A zeroed psvi_backoff is one that has not failed yet. In each call:
//
//     if (psvi_backoff_waits(&backoff)) other_way();
//     else if (try_fast_way()) psvi_backoff_succeeded(&backoff);
//     else psvi_backoff_failed(&backoff, least, most);
//
// It may be kept in device memory: eight bytes, no pointers. It is not atomic: one thread changes it.
#ifndef PAIRSIEVE_BACKOFF_H
#define PAIRSIEVE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PSVI_BACKOFF_CALL static __host__ __device__ __forceinline__
#else
#define PSVI_BACKOFF_CALL static inline
#endif

typedef struct psvi_backoff {
    uint32_t left; // calls that are still to go without the fast way
    uint32_t wait; // how many the last failure gave; 0: the last attempt served
} psvi_backoff;

// Whether this call is to go without the fast way. Counts it if so.
PSVI_BACKOFF_CALL bool psvi_backoff_waits(psvi_backoff *backoff) {
    if (backoff->left == 0) return false;
    --backoff->left;
    return true;
}

// The attempt failed: `least` calls without after the first failure, never more than `most`. 1 <= least <= most.
PSVI_BACKOFF_CALL void psvi_backoff_failed(psvi_backoff *backoff, uint32_t least, uint32_t most) {
    const uint32_t last = backoff->wait, doubled = last > most / 2 ? most : 2 * last;
    backoff->left = backoff->wait = doubled < least ? least : doubled;
}

// The attempt served.
PSVI_BACKOFF_CALL void psvi_backoff_succeeded(psvi_backoff *backoff) { backoff->left = backoff->wait = 0; }

#endif
