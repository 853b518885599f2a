// What surrounds the rules of pairs on the device; the rules are asked in common.cuh.
#include "../src/pair_partners.h"
#include "broad_phase_tuning.h"
#include "common.cuh"
#include "launch_cuda.h"
#include "pair_rules_kernels.h"

// By value and through a kernel, so that a captured graph holds them.
__global__ void psvk_put_rules(const psvi_pair_rules rules, psvi_pair_rules *target) { *target = rules; }

// Inserts pairs into the table, which is all free places or holds other pairs. One thread a pair; a place is taken by
// one atomic.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_exclude_pairs(const psv_pair *pairs, uint64_t count, psvi_bucket *table, uint64_t last_bucket) {
    const uint64_t i = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
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

__device__ __forceinline__ void add_partner(psvi_partners *list, uint32_t name) {
    for (int w = 0; w < 2; ++w) {
        unsigned long long *const word = reinterpret_cast<unsigned long long *>(&list->words[w]);
        unsigned long long now = *(volatile unsigned long long *)word;
        for (int k = 0; k < 3;) {
            const int shift = PSVI_PARTNER_BITS * k;
            const uint32_t there = (uint32_t)(now >> shift) & PSVI_NO_PARTNER;
            if (there == name) return;
            if (there != PSVI_NO_PARTNER) {
                ++k;
                continue;
            }
            const unsigned long long cleared = (unsigned long long)(PSVI_NO_PARTNER ^ name) << shift;
            const unsigned long long found = atomicCAS(word, now, now & ~cleared);
            if (found == now) return;
            now = found; // somebody was faster: this place is looked at again
        }
    }
    atomicAnd(reinterpret_cast<unsigned long long *>(&list->words[0]), ~(unsigned long long)PSVI_ALL_PARTNERS);
}

// One thread a pair, two lists of 16 bytes.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_list_partners(const psv_pair *pairs, uint64_t count, psvi_partners *partners, uint64_t boxes) {
    const uint64_t i = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (i >= count) return;
    const psv_pair pair = pairs[i];
    if (pair.a >= pair.b || pair.b >= boxes) return; // not a pair of one set
    add_partner(&partners[pair.a], pair.b);
    add_partner(&partners[pair.b], pair.a);
}

struct narrow_origin {
    double at[3];
};

// One thread a box; reads 48 bytes and writes 24.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_narrow_boxes(const psvi_rule_side side, const narrow_origin origin, uint64_t first, const psvi_box_view view,
                      psv_aabb *boxes) {
    const uint64_t i = first + (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (i >= psvd_count_of(view)) return;
    psv_aabb box;
    psvi_narrow_box(&side, origin.at, i, box.min, box.max);
    boxes[i] = box;
}

// One thread a pair and round; reads 8 bytes and two ids anywhere, writes 8.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_name_pairs(const psvi_name_input input) {
    const uint64_t there = min((unsigned long long)*input.count, (unsigned long long)input.capacity);
    for (uint64_t p = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x; p < there;
         p += (uint64_t)gridDim.x * PSVI_BLOCK_THREADS) {
        psv_pair pair = input.pairs[p];
        if (input.a_ids != NULL) pair.a = __ldg(input.a_ids + pair.a);
        if (input.b_ids != NULL) pair.b = __ldg(input.b_ids + pair.b);
        if (!input.between && pair.b < pair.a) pair = {pair.b, pair.a};
        input.pairs[p] = pair;
    }
}

// psvi_kept_merge. Kept pairs are copied to the front of the pair buffer where they are not there already; the frame's
// own lie behind them. One thread an entry and round; the block that is done last adds to the counts, so that all
// blocks have seen the same.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_merge_kept(const psvi_kept_merge merge) {
    const uint64_t first = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    const uint64_t step = (uint64_t)gridDim.x * PSVI_BLOCK_THREADS;
    const unsigned long long capacity = merge.capacity;
    const uint64_t kept = merge.with_pairs ? min((unsigned long long)merge.kept->pair_count, capacity) : 0;
    const uint64_t end = min((unsigned long long)merge.result->pair_count, capacity);
    const uint64_t own_bad = merge.result->bad_count, kept_bad = merge.kept->bad_count;
    if (merge.shift != 0) {
        for (uint64_t p = kept + first; p < end; p += step)
            merge.pairs[p] = {merge.pairs[p].a + merge.shift, merge.pairs[p].b + merge.shift};
        for (uint64_t i = first; i < own_bad; i += step)
            merge.bad_boxes[i] += merge.shift;
    }
    for (uint64_t i = first; i < kept_bad; i += step)
        merge.bad_boxes[own_bad + i] = merge.kept_bad[i] + merge.kept_shift;
    if (merge.with_pairs && *(volatile uint32_t *)merge.there == 0) {
#pragma unroll 4
        for (uint64_t p = first; p < kept; p += step)
            merge.pairs[p] = merge.kept_pairs[p];
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(merge.ticket, 1u) != gridDim.x - 1) return;
    *merge.ticket = 0;
    *merge.there = merge.with_pairs && merge.stay;
    psvi_add_kept_result(merge.result, merge.kept);
    if (merge.with_pairs) merge.result->refused += merge.kept->refused;
}

__global__ void psvk_subtract_count(const uint64_t *count, uint64_t less, uint64_t *target) {
    *target = *count > less ? *count - less : 0;
}

extern "C" cudaError_t psvi_launch_merge_kept(const psvi_kept_merge *merge, int multiprocessors, cudaStream_t stream) {
    psvk_merge_kept<<<multiprocessors * 4, PSVI_BLOCK_THREADS, 0, stream>>>(*merge);
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
    psvk_exclude_pairs<<<psvi_block_count(count, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        pairs, count, table, last_bucket);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_list_partners(const psv_pair *pairs, uint64_t count, psvi_partners *partners,
                                                 uint64_t boxes, cudaStream_t stream) {
    psvk_list_partners<<<psvi_block_count(count, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(pairs, count,
                                                                                                       partners, boxes);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_narrow_boxes(const psvi_rule_side *side, const double *origin, uint64_t first,
                                                const psvi_box_view *view, psv_aabb *boxes, cudaStream_t stream) {
    const narrow_origin at = {{origin[0], origin[1], origin[2]}};
    const uint32_t blocks = psvi_block_count(view->count - first, PSVI_BLOCK_THREADS);
    psvk_narrow_boxes<<<blocks, PSVI_BLOCK_THREADS, 0, stream>>>(*side, at, first, *view, boxes);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_name_pairs(const psvi_name_input *input, int multiprocessors, cudaStream_t stream) {
    const uint64_t wanted = (input->capacity + PSVI_BLOCK_THREADS - 1) / PSVI_BLOCK_THREADS;
    const uint64_t most = (uint64_t)multiprocessors * 16;
    psvk_name_pairs<<<(uint32_t)(wanted < most ? wanted : most), PSVI_BLOCK_THREADS, 0, stream>>>(*input);
    return cudaGetLastError();
}
