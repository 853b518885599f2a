// Record gather and order check on the CPU.
#ifndef PAIRSIEVE_RECORDS_CPU_H
#define PAIRSIEVE_RECORDS_CPU_H

#include "../../core/context.h"
#include "../src/key_order.h"

// target[i] = source[index[i]] for records of `stride` bytes, on the context's workers.
psv_status psvi_cpu_gather_records(psv_context *context, const void *source, void *target, uint32_t stride,
                                   const uint32_t *index, uint64_t count);

// The same for i in [begin, end) on this thread.
void psvi_cpu_gather_part(const void *source, void *target, uint32_t stride, const uint32_t *index, uint64_t begin,
                          uint64_t end);

// Counts descents of the transformed keys' bits [begin_bit, end_bit).
psv_status psvi_cpu_check_order(psv_context *context, psvi_key_order order, const void *keys, uint64_t count,
                                psv_order_result *result);

#endif
