// Kernels of the radix sort of García et al. 2014.
#ifndef PAIRSIEVE_SORT_SPLIT_H
#define PAIRSIEVE_SORT_SPLIT_H

#include "digit_passes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_SPLIT_THREADS 512 // of a block, one element each, as in the paper
#define PSVI_SPLIT_BITS 4
#define PSVI_SPLIT_BUCKETS 16

typedef struct psvi_split_pass {
    psvi_digit_passes data;
    psvi_key_order order;
    uint32_t key_bytes;
    uint32_t shift;
    uint32_t source; // keys[source] to keys[1 - source]
    bool implicit;
    uint32_t *buckets; // matrix of counts, bucket after bucket: buckets[bucket * blocks + block]
    uint32_t *prefix;  // the same after the scan
} psvi_split_pass;

static inline uint64_t psvi_split_blocks(uint64_t count) {
    return (count + PSVI_SPLIT_THREADS - 1) / PSVI_SPLIT_THREADS;
}

psv_status psvi_split_sort_blocks(psv_context *context, const psvi_split_pass *pass);
psv_status psvi_split_scatter(psv_context *context, const psvi_split_pass *pass);

#ifdef __cplusplus
}
#endif
#endif
