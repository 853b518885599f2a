// Launches of kernels that may come to the device while the one before them in the stream still ends (programmatic
// dependent launch, compute capability 9.0).
#ifndef PAIRSIEVE_CORE_EARLY_LAUNCH_CUH
#define PAIRSIEVE_CORE_EARLY_LAUNCH_CUH

#include <stdint.h>

#include <cuda_runtime_api.h>

// With `early` the kernel itself waits (griddepcontrol.wait) before it reads results of the previous kernel.
template <typename... Parameters, typename... Arguments>
static inline cudaError_t psvi_launch_early(bool early, cudaStream_t stream, void (*kernel)(Parameters...),
                                            uint32_t blocks, uint32_t threads, size_t shared_bytes,
                                            const Arguments &...arguments) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

#endif
