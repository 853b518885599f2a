// Reductions over a warp, all lanes together, one instruction where there is one.
#ifndef PAIRSIEVE_CORE_WARP_REDUCE_CUH
#define PAIRSIEVE_CORE_WARP_REDUCE_CUH

#include <stdint.h>

__device__ __forceinline__ uint32_t psvd_reduce_add(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, value);
#else
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
#endif
}

__device__ __forceinline__ uint32_t psvd_reduce_or(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(0xffffffffu, value);
#else
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value |= __shfl_xor_sync(0xffffffffu, value, step);
    return value;
#endif
}

__device__ __forceinline__ uint64_t psvd_reduce_or(uint64_t value) {
    return (uint64_t)psvd_reduce_or((uint32_t)(value >> 32)) << 32 | psvd_reduce_or((uint32_t)value);
}

__device__ __forceinline__ uint32_t psvd_reduce_min(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xffffffffu, value);
#else
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value = min(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
#endif
}

__device__ __forceinline__ uint64_t psvd_reduce_min(uint64_t value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value = min(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
}

__device__ __forceinline__ uint32_t psvd_reduce_max(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, value);
#else
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value = max(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
#endif
}

__device__ __forceinline__ uint64_t psvd_reduce_max(uint64_t value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value = max(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
}

// Sum over the lanes up to the own one.
__device__ __forceinline__ uint32_t psvd_sum_up_to(uint32_t value) {
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t before = __shfl_up_sync(0xffffffffu, value, step);
        if ((int)(threadIdx.x & 31) >= step) value += before;
    }
    return value;
}

#endif
