// Nearest items in trees on CUDA: one thread a query, by the same walk as on the CPU. Also the keys of queries.
#include "../src/queries/tree_query.h"
#include "broad_phase_tuning.h"
#include "launch_cuda.h"
#include "tree_kernels.h"

// Query of a thread; false: there is none.
__device__ __forceinline__ bool query_of_thread(const psvi_tree_query &query, uint32_t *q) {
    const uint32_t i = blockIdx.x * PSVI_SEARCH_THREADS + threadIdx.x;
    uint64_t count = query.count;
    if (query.count_device != NULL && *query.count_device < count) count = *query.count_device;
    if (i >= count) return false;
    *q = query.order == NULL ? i : query.order[i];
    return true;
}

// Reads nodes of 80 and items of 32 or 48 bytes, mostly from the caches, and writes k answers.
__global__ void __launch_bounds__(PSVI_SEARCH_THREADS)
    psvk_tree_nearest(const __grid_constant__ psvi_tree_query query) {
    uint32_t q;
    if (query_of_thread(query, &q)) psvi_answer(&query, PSVI_QUERY_NEAREST, q);
}

__global__ void __launch_bounds__(PSVI_SEARCH_THREADS)
    psvk_query_keys(const __grid_constant__ psvi_tree_query query, uint32_t *keys, uint64_t *count) {
    uint32_t q;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *count = query.count;
        if (query.count_device != NULL && *query.count_device < query.count) *count = *query.count_device;
    }
    if (query_of_thread(query, &q)) keys[q] = psvi_query_key(&query, q);
}

extern "C" cudaError_t psvi_launch_query_keys(const psvi_tree_query *query, uint32_t *keys, uint64_t *count,
                                              cudaStream_t stream) {
    psvk_query_keys<<<psvi_block_count(query->count, PSVI_SEARCH_THREADS), PSVI_SEARCH_THREADS, 0, stream>>>(
        *query, keys, count);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_nearest(const psvi_tree_query *query, cudaStream_t stream) {
    psvk_tree_nearest<<<psvi_block_count(query->count, PSVI_SEARCH_THREADS), PSVI_SEARCH_THREADS, 0, stream>>>(*query);
    return cudaGetLastError();
}
