// Operations of the uniform sweep that the compiler does not find by itself: shared memory by its own addresses, sums
// over lanes by the shuffle's own predicate.
#ifndef PAIRSIEVE_COLLISION_ROWS_LANE_OPS_CUH
#define PAIRSIEVE_COLLISION_ROWS_LANE_OPS_CUH

#include <stdint.h>

#include "../../../../core/cuda/async_copies.cuh"

#define LANES_ALL 0xffffffffu

// The address of something of the warp's own, kept in a register: to compute it again would cost more.
__device__ __forceinline__ uint32_t warp_address(const void *pointer) {
    return __shfl_sync(LANES_ALL, shared_address(pointer), 0);
}

__device__ __forceinline__ uint32_t load_shared(uint32_t from) {
    uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
    return value;
}

__device__ __forceinline__ uint4 load_shared_four(uint32_t from) {
    uint4 value;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(from)
                 : "memory");
    return value;
}

__device__ __forceinline__ void store_shared(uint32_t to, uint32_t value) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(value) : "memory");
}

__device__ __forceinline__ void store_shared_two(uint32_t to, uint32_t first, uint32_t second) {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(first), "r"(second) : "memory");
}

__device__ __forceinline__ void store_shared_four(uint32_t to, uint4 value) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(value.x), "r"(value.y), "r"(value.z),
                 "r"(value.w)
                 : "memory");
}

// `count` bits from `from` on; all that there are when it is too large.
__device__ __forceinline__ uint32_t bits_from(uint32_t from, uint32_t count) {
    uint32_t bits;
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(bits) : "r"(from), "r"(count));
    return bits;
}

// Sum over the lanes up to the own one. All lanes together.
__device__ __forceinline__ uint32_t sum_up_to(uint32_t value) {
#pragma unroll
    for (int step = 1; step < 32; step <<= 1)
        asm volatile("{\n\t.reg .pred p;\n\t.reg .u32 before;\n\t"
                     "shfl.sync.up.b32 before|p, %0, %1, 0, 0xffffffff;\n\t"
                     "@p add.u32 %0, %0, before;\n\t}"
                     : "+r"(value)
                     : "r"(step));
    return value;
}

#endif
