// The identity permutation on the device.
#ifndef PAIRSIEVE_CUDA_IDENTITY_H
#define PAIRSIEVE_CUDA_IDENTITY_H

#include "../core/context.h"

#ifdef __cplusplus
extern "C" {
#endif

// Enqueues index[i] = i for i < count on the context's stream.
psv_status psvi_cuda_write_identity(psv_context *context, uint32_t *index, uint64_t count);

#ifdef __cplusplus
}
#endif
#endif
