// Queries of trees on CUDA with lists: one thread a query, which counts or writes; and the sums of the counts.
#include "../src/queries/tree_query.h"
#include "broad_phase_tuning.h"
#include "launch_cuda.h"
#include "tree_kernels.h"

#define SUM_THREADS 1024

__device__ __forceinline__ uint64_t query_count(const psvi_tree_query &query) {
    const uint64_t count = query.count;
    return query.count_device != NULL && *query.count_device < count ? *query.count_device : count;
}

template <int KIND, bool WRITE>
__global__ void __launch_bounds__(PSVI_SEARCH_THREADS)
    psvk_tree_list(const __grid_constant__ psvi_tree_query query, uint32_t *counts) {
    const uint32_t i = blockIdx.x * PSVI_SEARCH_THREADS + threadIdx.x;
    if (i >= query_count(query)) return;
    const uint32_t q = query.order == NULL ? i : query.order[i];
    const uint32_t found = psvi_answer_list(&query, (psvi_query_kind)KIND, q, WRITE);
    if (counts != NULL) counts[q] = found;
}

// Inclusive sum over a block of 1,024 threads; *total gets that of all.
__device__ __forceinline__ uint64_t block_sum(uint64_t value, uint64_t *total) {
    __shared__ uint64_t warps[32];
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint64_t sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const uint64_t other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= (uint32_t)step) sum += other;
    }
    __syncthreads(); // the sums of a call before are read
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    uint64_t before = 0, all = 0;
    for (uint32_t w = 0; w < 32; ++w) {
        before += w < warp ? warps[w] : 0;
        all += warps[w];
    }
    *total = all;
    return before + sum;
}

// The sum of 1,024 counts; one block.
__global__ void __launch_bounds__(SUM_THREADS)
    psvk_tree_sums(const __grid_constant__ psvi_tree_query query, const uint32_t *counts, uint64_t *sums) {
    const uint64_t q = (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
    uint64_t total;
    (void)block_sum(q < query_count(query) ? counts[q] : 0, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// What is before each sum; one block, 1,024 at a time.
__global__ void __launch_bounds__(SUM_THREADS) psvk_tree_sums_before(uint64_t *sums, uint64_t count, uint64_t *total) {
    uint64_t before = 0;
    for (uint64_t first = 0; first < count; first += SUM_THREADS) {
        const uint64_t i = first + threadIdx.x, own = i < count ? sums[i] : 0;
        uint64_t all;
        const uint64_t sum = block_sum(own, &all);
        if (i < count) sums[i] = before + sum - own;
        before += all;
    }
    if (threadIdx.x == 0) *total = before;
}

__global__ void __launch_bounds__(SUM_THREADS)
    psvk_tree_offsets(const __grid_constant__ psvi_tree_query query, const uint32_t *counts, const uint64_t *sums) {
    const uint64_t q = (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x, count = query_count(query);
    uint64_t total;
    const uint64_t own = q < count ? counts[q] : 0, sum = block_sum(own, &total);
    if (q < count) query.offsets[q] = sums[blockIdx.x] + sum - own;
    if (q + 1 == count) query.offsets[count] = sums[blockIdx.x] + sum;
    if (q == 0 && count == 0) query.offsets[0] = 0;
}

extern "C" cudaError_t psvi_launch_offsets(const psvi_tree_query *query, const uint32_t *counts, uint64_t *sums,
                                           uint64_t *total, cudaStream_t stream) {
    const uint32_t blocks = query->count == 0 ? 1 : psvi_block_count(query->count, SUM_THREADS);
    psvk_tree_sums<<<blocks, SUM_THREADS, 0, stream>>>(*query, counts, sums);
    psvk_tree_sums_before<<<1, SUM_THREADS, 0, stream>>>(sums, blocks, total);
    psvk_tree_offsets<<<blocks, SUM_THREADS, 0, stream>>>(*query, counts, sums);
    return cudaGetLastError();
}

template <int KIND>
static void launch_list(const psvi_tree_query *query, bool write, uint32_t *counts, cudaStream_t stream) {
    const uint32_t blocks = psvi_block_count(query->count, PSVI_SEARCH_THREADS);
    if (write)
        psvk_tree_list<KIND, true><<<blocks, PSVI_SEARCH_THREADS, 0, stream>>>(*query, counts);
    else
        psvk_tree_list<KIND, false><<<blocks, PSVI_SEARCH_THREADS, 0, stream>>>(*query, counts);
}

extern "C" cudaError_t psvi_launch_lists(const psvi_tree_query *query, bool write, uint32_t *counts,
                                         cudaStream_t stream) {
    if (query->count == 0) return cudaSuccess;
    switch (query->kind) {
    case PSVI_QUERY_ALL_HITS: launch_list<PSVI_QUERY_ALL_HITS>(query, write, counts, stream); break;
    case PSVI_QUERY_BOXES: launch_list<PSVI_QUERY_BOXES>(query, write, counts, stream); break;
    default: launch_list<PSVI_QUERY_SPHERES>(query, write, counts, stream);
    }
    return cudaGetLastError();
}
