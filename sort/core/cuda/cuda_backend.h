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

#ifdef __cplusplus
}
#endif
#endif
