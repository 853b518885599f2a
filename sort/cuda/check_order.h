// «Is it sorted», on the device.
#ifndef PAIRSIEVE_SORT_CHECK_ORDER_H
#define PAIRSIEVE_SORT_CHECK_ORDER_H

#include "../../core/context.h"
#include "../src/key_order.h"

#ifdef __cplusplus
extern "C" {
#endif

// Writes the number of descents of keys[0..count) in `order` and the first of them to `result`, which lies in device
// memory. Enqueued on the context's stream.
psv_status psvi_cuda_check_order(psv_context *context, psvi_key_order order, const void *keys, uint64_t count,
                                 psv_order_result *result);

#ifdef __cplusplus
}
#endif
#endif
