// Launches the kernels of a frame so that each may begin before the one in front of it has ended
// (programmatic dependent launch, compute capability 9.0). Its blocks start as those in front finish, and
// then wait.
#ifndef PAIRSIEVE_COLLISION_ROWS_LAUNCH_CUH
#define PAIRSIEVE_COLLISION_ROWS_LAUNCH_CUH

#include "../../../core/cuda/early_launch.cuh"
#include "rows_kernels.h"

// Lets the next kernel begin.
__device__ __forceinline__ void rows_let_next_begin(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Of a thread that waits for other blocks.
__device__ __forceinline__ void rows_pause(void) {
#if __CUDA_ARCH__ >= 700
    __nanosleep(100);
#endif
}

// The device's clock, in nanoseconds; its steps are 32 ns to 1 us long.
__device__ __forceinline__ uint64_t rows_now(void) {
    uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)::"memory");
    return now;
}

// What the phases of one launch took; see psvi_phase_split. One thread of the grid.
__device__ __forceinline__ void rows_tell_times(psvi_phase_times *times, uint64_t keys, uint64_t sort, uint64_t sweep) {
    volatile uint64_t *const ns = times->ns;
    ns[PSV_PHASE_KEYS] = keys;
    ns[PSV_PHASE_SORT] = sort;
    ns[PSV_PHASE_SWEEP] = sweep;
}

// Lets a kernel have so much dynamic shared memory. Never less than before: another finder may need it.
template <typename... Parameters>
static inline cudaError_t rows_allow_shared(void (*kernel)(Parameters...), size_t bytes) {
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error != cudaSuccess || (size_t)attributes.maxDynamicSharedSizeBytes >= bytes) return error;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}

template <typename... Parameters, typename... Arguments>
static inline cudaError_t rows_launch_early(const psvi_rows_memory *memory, cudaStream_t stream,
                                            void (*kernel)(Parameters...), uint32_t blocks, uint32_t threads,
                                            size_t shared_bytes, const Arguments &...arguments) {
    return psvi_launch_early(memory->early, stream, kernel, blocks, threads, shared_bytes, arguments...);
}

#endif
