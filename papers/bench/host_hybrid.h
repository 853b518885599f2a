// The hybrid sort of Sintorn & Assarsson on the host's threads, with a histogram of any resolution: one pass of bucket
// sort with pivots from the histogram, then merge sort of each list.
#ifndef BENCH_HOST_HYBRID_H
#define BENCH_HOST_HYBRID_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_HYBRID_MOST 65536 // buckets, and bins of the histogram

typedef struct host_hybrid_options {
    uint32_t buckets, bins; // 1 to HOST_HYBRID_MOST each
    int threads;
} host_hybrid_options;

// Sorts `count` floats without NaN, ascending; `room` has as many. `*fullest`: size of the largest list over the mean
// of all. False: no memory; `keys` is as it was then.
bool host_hybrid_sort(float *keys, float *room, uint64_t count, const host_hybrid_options *options, double *fullest);

// Merges two ascending lists; of equal keys those of `a` come first.
void host_merge_lists(const float *a, uint64_t a_count, const float *b, uint64_t b_count, float *to);

#endif
