// Moves records of any stride by an index, on the device.
#ifndef PAIRSIEVE_SORT_GATHER_RECORDS_H
#define PAIRSIEVE_SORT_GATHER_RECORDS_H

#include "../../core/context.h"

#ifdef __cplusplus
extern "C" {
#endif

// target[i] = source[index[i]] for i < count, records of `stride` bytes. Enqueued on the context's stream.
psv_status psvi_cuda_gather_records(psv_context *context, const void *source, void *target, uint32_t stride,
                                    const uint32_t *index, uint64_t count);

// The same with a count in device memory: `count` is the most there can be. NULL: `count` is the count.
psv_status psvi_cuda_gather_counted(psv_context *context, const void *source, void *target, uint32_t stride,
                                    const uint32_t *index, uint64_t count, const uint64_t *count_device);

#ifdef __cplusplus
}
#endif
#endif
