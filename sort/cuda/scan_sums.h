// Exclusive prefix sum over block sums: the one step of the papers' sorters that is not theirs (Ha et al. take
// CUDPP's).
#ifndef PAIRSIEVE_SORT_SCAN_SUMS_H
#define PAIRSIEVE_SORT_SCAN_SUMS_H

#include "../../core/context.h"

#ifdef __cplusplus
extern "C" {
#endif

// Temporary bytes set aside for a scan of `count` sums; a bound that needs no device.
static inline uint64_t psvi_scan_bytes(uint64_t count) { return psvi_align(count / 32 + 65536); }

// Fails when the toolkit's scan wants more than psvi_scan_bytes: to be called once, at creation.
psv_status psvi_scan_check(psv_context *context, uint64_t count);

// prefix[i] = sums[0] + ... + sums[i - 1]; sums and prefix may be the same.
psv_status psvi_scan_sums(psv_context *context, const uint32_t *sums, uint32_t *prefix, uint64_t count,
                          void *temporary);

#ifdef __cplusplus
}
#endif
#endif
