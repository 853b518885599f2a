// What the kernels of this build were compiled for, of all architectures in it the one that the device runs.
#include "cuda_backend.h"

static __global__ void psvk_probe(void) {}

// A device may run code for an older architecture, compiled from PTX when it is loaded. Such code lacks the features of
// newer architectures, so kernels are chosen by this number and not by the device alone.
cudaError_t psvi_cuda_code_capability(int *capability) {
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, psvk_probe);
    *capability = error == cudaSuccess ? attributes.ptxVersion : 0;
    return error;
}
