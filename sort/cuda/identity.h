// The identity permutation on the device.
#ifndef PAIRSIEVE_CUDA_IDENTITY_H
#define PAIRSIEVE_CUDA_IDENTITY_H

#include "../src/sort_method.h"

#ifdef __cplusplus
extern "C" {
#endif

// Enqueues values_out[i] = i for i below the request's count on the context's stream.
psv_status psvi_cuda_write_identity(psv_context *context, const psvi_sort_request *request);

#ifdef __cplusplus
}
#endif
#endif
