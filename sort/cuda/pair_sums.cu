// Sums pairs and counts descents of their keys: one read of every key and value.
#include "../../core/cuda/cuda_backend.h"
#include "key_field.cuh"
#include "launch.h"
#include "pair_sums.h"

namespace {

constexpr uint32_t block_threads = 256;
constexpr uint32_t pairs_per_thread = 16;
constexpr uint32_t block_pairs = block_threads * pairs_per_thread;

struct no_value {};

template <typename Value> __device__ __forceinline__ uint64_t value_at(const Value *values, uint64_t i) {
    return values[i];
}
template <> __device__ __forceinline__ uint64_t value_at(const no_value *, uint64_t) { return 0; }

__device__ __forceinline__ uint64_t warp_sum(uint64_t value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

// In: pairs. Out: *check. 4,096 pairs a block; two atomics a warp.
template <typename Key, typename Value>
__global__ void __launch_bounds__(block_threads)
    psvk_sum_pairs(const Key *__restrict__ keys, const Value *__restrict__ values, uint64_t count, psvi_key_order order,
                   psvi_pair_sums *check) {
    uint64_t sum = 0, descents = 0;
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k) {
        const uint64_t i = (uint64_t)blockIdx.x * block_pairs + k * block_threads + threadIdx.x;
        if (i >= count) break;
        const Key key = keys[i];
        sum += psvi_mix_pair(key, value_at(values, i));
        if (i + 1 < count) descents += psvi::transformed(key, order) > psvi::transformed(keys[i + 1], order);
    }
    sum = warp_sum(sum);
    descents = warp_sum(descents);
    if (threadIdx.x % 32 != 0) return;
    atomicAdd(reinterpret_cast<unsigned long long *>(&check->sum), (unsigned long long)sum);
    if (descents != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&check->descents), (unsigned long long)descents);
}

template <typename Key, typename Value>
void launch(cudaStream_t stream, const void *keys, const void *values, uint64_t count, psvi_key_order order,
            psvi_pair_sums *check) {
    psvk_sum_pairs<<<psvi_blocks_for(count, block_pairs), block_threads, 0, stream>>>(
        static_cast<const Key *>(keys), static_cast<const Value *>(values), count, order, check);
}

} // namespace

extern "C" psv_status psvi_cuda_sum_pairs(psv_context *context, psvi_key_order order, const void *keys,
                                          const void *values, uint32_t value_bytes, uint64_t count,
                                          psvi_pair_sums *check) {
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (count == 0) return PSV_OK;
    auto by_value = [&](auto key) {
        using Key = decltype(key);
        if (value_bytes == 8)
            launch<Key, uint64_t>(stream, keys, values, count, order, check);
        else if (value_bytes == 4)
            launch<Key, uint32_t>(stream, keys, values, count, order, check);
        else
            launch<Key, no_value>(stream, keys, values, count, order, check);
    };
    if (order.is_wide)
        by_value(uint64_t());
    else
        by_value(uint32_t());
    return psvi_cuda_status(context, cudaGetLastError(), "sum_pairs launch");
}
