// Copies from global to shared memory that a thread starts and later waits for (compute capability 8.0; others copy at
// once).
#ifndef PAIRSIEVE_CORE_ASYNC_COPIES_CUH
#define PAIRSIEVE_CORE_ASYNC_COPIES_CUH

#include <stdint.h>

__device__ __forceinline__ uint32_t shared_address(const void *memory) {
    return (uint32_t)__cvta_generic_to_shared(memory);
}

// Starts to copy one item of 4, 8 or 16 bytes. Nothing may write `from` before the copy has arrived; where the copy is
// immediate, nothing may write it while the kernel runs.
template <typename T> __device__ __forceinline__ void copy_async(T *to, const T *from) {
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from), "n"(sizeof(T))
                     : "memory");
#else
    *to = __ldg(from);
#endif
}

// Waits for the thread's own copies; copies of other threads have arrived after a barrier.
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#endif
