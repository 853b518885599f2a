// The check of a sort that streams, on the device.
#ifndef PAIRSIEVE_SORT_PAIR_SUMS_H
#define PAIRSIEVE_SORT_PAIR_SUMS_H

#include "../../core/context.h"
#include "../src/key_order.h"
#include "../src/stream_check.h"

#ifdef __cplusplus
extern "C" {
#endif

// Adds the sum of `count` pairs and the descents of their keys to *check, which lies in device memory. value_bytes is
// 0, 4 or 8; with 0 values are not read. Enqueued on the context's stream.
psv_status psvi_cuda_sum_pairs(psv_context *context, psvi_key_order order, const void *keys, const void *values,
                               uint32_t value_bytes, uint64_t count, psvi_pair_sums *check);

#ifdef __cplusplus
}
#endif
#endif
