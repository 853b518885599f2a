// The identity permutation on the device.
#ifndef PAIRSIEVE_CUDA_IDENTITY_H
#define PAIRSIEVE_CUDA_IDENTITY_H

#include "../../core/context.h"

#ifdef __cplusplus
extern "C" {
#endif

// Enqueues index[i] = i for i < count on the context's stream; with count_device, in device memory, for i below the
// smaller of both.
psv_status psvi_cuda_write_identity(psv_context *context, uint32_t *index, uint64_t count,
                                    const uint64_t *count_device);

#ifdef __cplusplus
}
#endif
#endif
