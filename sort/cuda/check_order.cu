// The order check of Ha, Krueger, Silva 2009, section 4, as a call of its own: counts descents and finds the first.
#include "../../core/cuda/cuda_backend.h"
#include "check_order.h"
#include "key_field.cuh"
#include "launch.h"

namespace {

constexpr uint32_t block_threads = 256;
constexpr uint32_t keys_per_thread = 8;
constexpr uint32_t block_keys = block_threads * keys_per_thread;

__global__ void psvk_clear_order_result(psv_order_result *result) {
    result->descents = 0;
    result->first = UINT64_MAX;
}

// Input: keys. Output: result, cleared before. Each block compares 2,048 neighbours; one atomic per block that saw a
// descent, so sorted input writes nothing. One block-wide reduction. Reads each key once (and once more from the
// cache).
template <typename Key>
__global__ void __launch_bounds__(block_threads)
    psvk_check_order(const Key *__restrict__ keys, uint64_t count, psvi_key_order order, psv_order_result *result) {
    const uint64_t begin = (uint64_t)blockIdx.x * block_keys + threadIdx.x;
    uint32_t descents = 0;
    uint32_t first = UINT32_MAX; // relative to the block's first key
#pragma unroll
    for (uint32_t k = 0; k < keys_per_thread; ++k) {
        const uint64_t i = begin + k * block_threads;
        if (i + 1 >= count) continue;
        if (psvi::key_field(keys[i], order) <= psvi::key_field(keys[i + 1], order)) continue;
        ++descents;
        first = min(first, threadIdx.x + k * block_threads);
    }
    if (__syncthreads_or((int)descents) == 0) return;
    __shared__ uint32_t block_descents, block_first;
    if (threadIdx.x == 0) {
        block_descents = 0;
        block_first = UINT32_MAX;
    }
    __syncthreads();
    for (int offset = 16; offset > 0; offset /= 2) {
        descents += __shfl_down_sync(0xffffffffu, descents, offset);
        first = min(first, __shfl_down_sync(0xffffffffu, first, offset));
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&block_descents, descents);
        atomicMin(&block_first, first);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd((unsigned long long *)&result->descents, (unsigned long long)block_descents);
        atomicMin((unsigned long long *)&result->first,
                  (unsigned long long)((uint64_t)blockIdx.x * block_keys + block_first));
    }
}

} // namespace

extern "C" psv_status psvi_cuda_check_order(psv_context *context, psvi_key_order order, const void *keys,
                                            uint64_t count, psv_order_result *result) {
    cudaStream_t stream = (cudaStream_t)context->stream;
    psvk_clear_order_result<<<1, 1, 0, stream>>>(result);
    if (count > 1 && order.end_bit > order.begin_bit) {
        const uint32_t blocks = psvi_blocks_for(count, block_keys);
        if (order.is_wide)
            psvk_check_order<<<blocks, block_threads, 0, stream>>>((const uint64_t *)keys, count, order, result);
        else
            psvk_check_order<<<blocks, block_threads, 0, stream>>>((const uint32_t *)keys, count, order, result);
    }
    return psvi_cuda_status(context, cudaGetLastError(), "check_order launch");
}
