// Route BLOCK, for a few thousand items: one block, one launch, all items on chip (radix_onchip.cuh).
#include "radix_onchip.cuh"

namespace {

template <int ITEMS> constexpr int block_kb() { return ITEMS == 1 ? PSVI_RADIX_BLOCK_LEAST_KB : PSVI_RADIX_BLOCK_KB; }

// In and out: all items; out may be in. Bytes: one read and one write of every item.
template <int KIND, int VALUE_BYTES, int ITEMS>
__device__ __forceinline__ void sort_in_block(const psvi_radix_job &job) {
    using sorter = onchip::sorter<KIND, VALUE_BYTES, ITEMS, onchip::THREADS * ITEMS>;
    using K = typename sorter::K;
    using V = typename sorter::V;
    extern __shared__ __align__(16) unsigned char shared[];
    const uint32_t count = (uint32_t)job_count(job);
    sorter items(*reinterpret_cast<typename sorter::memory_t *>(shared), job.order, count);
    items.for_items([&](int row, uint32_t at) {
        items.keys[row] = static_cast<const K *>(job.keys_in)[at];
        if (VALUE_BYTES != 0) items.values[row] = job.implicit ? (V)at : static_cast<const V *>(job.values_in)[at];
        items.ids[row] = at;
    });
    if (count != 0)
        items.sort([&](uint32_t at, K key, V value, uint32_t) {
            if (job.keys_out != nullptr) static_cast<K *>(job.keys_out)[at] = key;
            if (VALUE_BYTES != 0) static_cast<V *>(job.values_out)[at] = value;
        });
    if (threadIdx.x == 0) tell_outcome(job, PSVI_RADIX_BLOCK, job.veto, 1);
}

template <int KIND, int VALUE_BYTES, int ITEMS>
__global__ void __launch_bounds__(onchip::THREADS, 1) psvk_radix_block(const psvi_radix_job job) {
    if constexpr (code_holds<KIND>(block_kb<ITEMS>() * 1024)) sort_in_block<KIND, VALUE_BYTES, ITEMS>(job);
}

template <int KIND, int VALUE_BYTES, int ITEMS> cudaError_t launch(const psvi_radix_job *job, cudaStream_t stream) {
    constexpr int bytes = (int)sizeof(onchip::memory<KIND, VALUE_BYTES, onchip::THREADS * ITEMS>);
    static_assert(bytes <= block_kb<ITEMS>() * 1024, "the kernel declares nothing itself");
    auto kernel = psvk_radix_block<KIND, VALUE_BYTES, ITEMS>;
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    kernel<<<1, onchip::THREADS, bytes, stream>>>(*job);
    return cudaGetLastError();
}

template <int KIND, int VALUE_BYTES> cudaError_t launch_items(const psvi_radix_job *job, cudaStream_t stream) {
    return job->count <= onchip::THREADS ? launch<KIND, VALUE_BYTES, 1>(job, stream)
                                         : launch<KIND, VALUE_BYTES, PSVI_RADIX_BLOCK_ITEMS>(job, stream);
}

} // namespace

cudaError_t psvi_radix_block(const psvi_radix_job *job, cudaStream_t stream) {
    return with_types(job, [&](auto kind, auto bytes) {
        return launch_items<decltype(kind)::value, decltype(bytes)::value>(job, stream);
    });
}
