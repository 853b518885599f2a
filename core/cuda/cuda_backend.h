// Helpers for the host code of the CUDA backend.
#ifndef PAIRSIEVE_CORE_CUDA_BACKEND_H
#define PAIRSIEVE_CORE_CUDA_BACKEND_H

#include <cuda_runtime_api.h>

#include "../context.h"

#ifdef __cplusplus
extern "C" {
#endif

// Turns a CUDA error into a status with a sentence: «what»: CUDA's own text. PSV_OK for cudaSuccess.
psv_status psvi_cuda_status(psv_context *context, cudaError_t error, const char *what);

// 10 * major + minor of the architecture that the current device's code was compiled for: at most the device's own.
cudaError_t psvi_cuda_code_capability(int *capability);

// Host memory that the device writes and the host looks at without waiting, zeroed, and its address on the device.
// PSV_ERROR_MEMORY when there is none.
psv_status psvi_cuda_alloc_pinned(psv_context *context, uint64_t bytes, void **host, void **device);
void psvi_cuda_free_pinned(psv_context *context, const volatile void *host, uint64_t bytes); // NULL is allowed

#ifdef __cplusplus
}
#endif
#endif
