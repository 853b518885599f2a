// Launches of kernels that may come to the device while the one before them in the stream still ends (programmatic
// dependent launch, compute capability 9.0).
#ifndef PAIRSIEVE_CORE_EARLY_LAUNCH_CUH
#define PAIRSIEVE_CORE_EARLY_LAUNCH_CUH

#include <stdint.h>

#include <cuda_runtime_api.h>

// Lets the next kernel begin, then waits until all kernels in front have ended and what they wrote can be read. Every
// thread of a kernel that is launched early comes here before it reads anything of theirs, and before it returns.
__device__ __forceinline__ void psvd_wait_for_front(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
#endif
}

// With `early` the kernel itself calls psvd_wait_for_front.
template <typename... Parameters, typename... Arguments>
static inline cudaError_t psvi_launch_early(bool early, cudaStream_t stream, void (*kernel)(Parameters...), dim3 blocks,
                                            uint32_t threads, size_t shared_bytes, const Arguments &...arguments) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

#endif
