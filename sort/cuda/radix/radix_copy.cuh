// Plain copies of the `radix` method at large counts, by all threads of a grid.
#ifndef PAIRSIEVE_RADIX_COPY_CUH
#define PAIRSIEVE_RADIX_COPY_CUH

#include "radix_device.cuh"

namespace {

// Pieces of 16 bytes where both arrays lie so, then the rest. Four reads in flight a thread.
template <typename T> __device__ __forceinline__ void copy_items(T *to, const T *from, uint64_t count) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    constexpr uint32_t PACK = 16 / sizeof(T), UNROLL = 4;
    uint64_t done = 0;
    if ((((uintptr_t)to | (uintptr_t)from) & 15) == 0) {
        const uint64_t packs = count / PACK;
        const uint4 *source = reinterpret_cast<const uint4 *>(from);
        uint4 *goal = reinterpret_cast<uint4 *>(to);
        uint64_t at = i;
        for (; at + (UNROLL - 1) * step < packs; at += UNROLL * step) {
            uint4 moved[UNROLL];
#pragma unroll
            for (uint32_t u = 0; u < UNROLL; ++u)
                moved[u] = source[at + u * step];
#pragma unroll
            for (uint32_t u = 0; u < UNROLL; ++u)
                goal[at + u * step] = moved[u];
        }
        for (; at < packs; at += step)
            goal[at] = source[at];
        done = packs * PACK;
    }
    for (i += done; i < count; i += step)
        to[i] = from[i];
}

// to[i] = i.
template <typename T> __device__ __forceinline__ void write_places(T *to, uint64_t count) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x, done = 0;
    if (sizeof(T) == 4 && ((uintptr_t)to & 15) == 0) {
        for (uint64_t at = i; at < count / 4; at += step) {
            const uint32_t first = (uint32_t)(4 * at);
            reinterpret_cast<uint4 *>(to)[at] = make_uint4(first, first + 1, first + 2, first + 3);
        }
        done = count / 4 * 4;
    }
    for (i += done; i < count; i += step)
        to[i] = (T)i;
}

// Whether the pass is all there is to be done, and sorts by nothing.
__device__ __forceinline__ bool only_copies(const psvi_radix_pass &pass) {
    return pass.copy && pass.first && pass.last;
}

// Brings the request's items as they are to where they are wanted, and only those that are not there.
template <typename K, typename V>
__device__ void copy_request(const psvi_radix_job &job, const psvi_radix_pass &pass, uint64_t count) {
    if (pass.keys_out != nullptr && pass.keys_out != pass.keys_in)
        copy_items(static_cast<K *>(pass.keys_out), static_cast<const K *>(pass.keys_in), count);
    if (job.value_bytes == 0) return;
    if (job.implicit)
        write_places(static_cast<V *>(pass.values_out), count);
    else if (pass.values_out != pass.values_in)
        copy_items(static_cast<V *>(pass.values_out), static_cast<const V *>(pass.values_in), count);
}

} // namespace

#endif
