// What surrounds the rules of pairs on the device; the rules are asked in common.cuh.
#include "broad_phase_tuning.h"
#include "common.cuh"
#include "launch_cuda.h"
#include "pair_rules_kernels.h"

// By value and through a kernel, so that a captured graph holds them.
__global__ void psvk_put_rules(const psvi_pair_rules rules, psvi_pair_rules *target) { *target = rules; }

// Inserts pairs into the table, which is all free places or holds other pairs. One thread a pair; a place is taken by
// one atomic.
__global__ void __launch_bounds__(PAIR_OPS_THREADS)
    psvk_exclude_pairs(const psv_pair *pairs, uint64_t count, psvi_bucket *table, uint64_t last_bucket) {
    const uint64_t i = (uint64_t)blockIdx.x * PAIR_OPS_THREADS + threadIdx.x;
    if (i >= count) return;
    const unsigned long long key = psvi_pair_key(pairs[i].a, pairs[i].b);
    uint32_t *const filter = reinterpret_cast<uint32_t *>(table + last_bucket + 1);
    atomicOr(&filter[psvi_pair_bucket(key, last_bucket)], psvi_filter_bit(key));
    for (uint64_t at = psvi_pair_bucket(key, last_bucket);; at = (at + 1) & last_bucket) {
        for (int k = 0; k < PSVI_BUCKET; ++k) {
            unsigned long long *const place = reinterpret_cast<unsigned long long *>(&table[at].keys[k]);
            const unsigned long long found = atomicCAS(place, (unsigned long long)PSVI_NO_PAIR, key);
            if (found == PSVI_NO_PAIR || found == key) return;
        }
    }
}

struct narrow_origin {
    double at[3];
};

// One thread a box; reads 48 bytes and writes 24.
__global__ void __launch_bounds__(PAIR_OPS_THREADS)
    psvk_narrow_boxes(const psvi_rule_side side, const narrow_origin origin, uint64_t first, const psvi_box_view view,
                      psv_aabb *boxes) {
    const uint64_t i = first + (uint64_t)blockIdx.x * PAIR_OPS_THREADS + threadIdx.x;
    if (i >= psvd_count_of(view)) return;
    psv_aabb box;
    psvi_narrow_box(&side, origin.at, i, box.min, box.max);
    boxes[i] = box;
}

// One thread a pair and round; reads 8 bytes and two ids anywhere, writes 8.
__global__ void __launch_bounds__(PAIR_OPS_THREADS) psvk_name_pairs(const psvi_name_input input) {
    const uint64_t there = min((unsigned long long)*input.count, (unsigned long long)input.capacity);
    for (uint64_t p = (uint64_t)blockIdx.x * PAIR_OPS_THREADS + threadIdx.x; p < there;
         p += (uint64_t)gridDim.x * PAIR_OPS_THREADS) {
        psv_pair pair = input.pairs[p];
        if (input.a_ids != NULL) pair.a = __ldg(input.a_ids + pair.a);
        if (input.b_ids != NULL) pair.b = __ldg(input.b_ids + pair.b);
        if (!input.between && pair.b < pair.a) pair = {pair.b, pair.a};
        input.pairs[p] = pair;
    }
}

// psvi_kept_merge. One thread an entry and round; the block that is done last adds to the counts, so that all blocks
// have seen the same.
__global__ void __launch_bounds__(PAIR_OPS_THREADS) psvk_merge_kept(const psvi_kept_merge merge) {
    const uint64_t first = (uint64_t)blockIdx.x * PAIR_OPS_THREADS + threadIdx.x;
    const uint64_t step = (uint64_t)gridDim.x * PAIR_OPS_THREADS;
    const unsigned long long capacity = merge.capacity;
    const uint64_t own = min((unsigned long long)merge.result->pair_count, capacity);
    const uint64_t own_bad = merge.result->bad_count, kept_bad = merge.kept->bad_count;
    if (merge.shift != 0) {
        for (uint64_t p = first; p < own; p += step)
            merge.pairs[p] = {merge.pairs[p].a + merge.shift, merge.pairs[p].b + merge.shift};
        for (uint64_t i = first; i < own_bad; i += step)
            merge.bad_boxes[i] += merge.shift;
    }
    for (uint64_t i = first; i < kept_bad; i += step)
        merge.bad_boxes[own_bad + i] = merge.kept_bad[i] + merge.kept_shift;
    if (merge.kept_pairs != NULL) {
        const uint64_t there = min((unsigned long long)merge.kept->pair_count, capacity - own);
#pragma unroll 4
        for (uint64_t p = first; p < there; p += step)
            merge.pairs[own + p] = merge.kept_pairs[p];
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(merge.ticket, 1u) != gridDim.x - 1) return;
    *merge.ticket = 0;
    psvi_add_kept_result(merge.result, merge.kept, merge.with_pairs);
}

__global__ void psvk_subtract_count(const uint64_t *count, uint64_t less, uint64_t *target) {
    *target = *count > less ? *count - less : 0;
}

extern "C" cudaError_t psvi_launch_merge_kept(const psvi_kept_merge *merge, int multiprocessors, cudaStream_t stream) {
    psvk_merge_kept<<<multiprocessors * 4, PAIR_OPS_THREADS, 0, stream>>>(*merge);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_subtract_count(const uint64_t *count, uint64_t less, uint64_t *target,
                                                  cudaStream_t stream) {
    psvk_subtract_count<<<1, 1, 0, stream>>>(count, less, target);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_put_rules(const psvi_pair_rules *rules, psvi_pair_rules *target,
                                             cudaStream_t stream) {
    psvk_put_rules<<<1, 1, 0, stream>>>(*rules, target);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_exclude_pairs(const psv_pair *pairs, uint64_t count, psvi_bucket *table,
                                                 uint64_t last_bucket, cudaStream_t stream) {
    psvk_exclude_pairs<<<psvi_block_count(count, PAIR_OPS_THREADS), PAIR_OPS_THREADS, 0, stream>>>(pairs, count, table,
                                                                                                   last_bucket);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_narrow_boxes(const psvi_rule_side *side, const double *origin, uint64_t first,
                                                const psvi_box_view *view, psv_aabb *boxes, cudaStream_t stream) {
    const narrow_origin at = {{origin[0], origin[1], origin[2]}};
    const uint32_t blocks = psvi_block_count(view->count - first, PAIR_OPS_THREADS);
    psvk_narrow_boxes<<<blocks, PAIR_OPS_THREADS, 0, stream>>>(*side, at, first, *view, boxes);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_name_pairs(const psvi_name_input *input, int multiprocessors, cudaStream_t stream) {
    const uint64_t wanted = (input->capacity + PAIR_OPS_THREADS - 1) / PAIR_OPS_THREADS;
    const uint64_t most = (uint64_t)multiprocessors * 16;
    psvk_name_pairs<<<(uint32_t)(wanted < most ? wanted : most), PAIR_OPS_THREADS, 0, stream>>>(*input);
    return cudaGetLastError();
}
