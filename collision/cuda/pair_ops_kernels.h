// Launchers of the operations on pair lists: order, difference, keeping.
#ifndef PAIRSIEVE_COLLISION_PAIR_OPS_KERNELS_H
#define PAIRSIEVE_COLLISION_PAIR_OPS_KERNELS_H

#include <cuda_runtime_api.h>

#include "pairsieve/collision.h"

#ifdef __cplusplus
extern "C" {
#endif

// Writes min(*count, capacity) to *clamped. Packs pairs in place to a << bits | b, and back.
cudaError_t psvi_launch_pack_pairs(psv_pair *pairs, const uint64_t *count, uint64_t capacity, uint32_t bits,
                                   uint64_t *clamped, int multiprocessors, cudaStream_t stream);
cudaError_t psvi_launch_unpack_pairs(psv_pair *pairs, const uint64_t *clamped, uint32_t bits, int multiprocessors,
                                     cudaStream_t stream);

// The lists of a difference. tile_counts: two runs of psvi_diff_tiles(capacity) words.
typedef struct psvi_diff_input {
    const psv_pair *now, *before;
    const uint64_t *now_count, *before_count;
    psv_pair *begin, *end;
    uint64_t *begin_count, *end_count;
    uint64_t capacity;
    uint64_t *tile_counts;
    uint32_t *kept; // one bit per pair, tile by tile, for both lists
} psvi_diff_input;

uint64_t psvi_diff_tiles(uint64_t capacity);
cudaError_t psvi_launch_diff_pairs(const psvi_diff_input *input, int multiprocessors, cudaStream_t stream);

// before = now unless now overflowed.
cudaError_t psvi_launch_keep_pairs(const psv_pair *now, const uint64_t *now_count, psv_pair *before,
                                   uint64_t *before_count, uint64_t capacity, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
