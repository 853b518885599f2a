// The order of keys as one order-preserving unsigned number, for C and CUDA. Digits are always taken from the
// transformed raw key, because the transform is not invertible: -0 equals +0, and under PSV_NAN_LAST all NaNs are
// equal.
#ifndef PAIRSIEVE_KEY_ORDER_H
#define PAIRSIEVE_KEY_ORDER_H

#include "../../core/host_device.h"
#include "pairsieve/sort.h"

// Integers need only `flip`; floats need the whole. `is_float` is meant to be a compile-time constant in kernels.
typedef struct psvi_key_order {
    uint64_t flip; // integers: xor mask (sign bit, all bits when descending). Floats: all bits when descending
    uint32_t is_float;
    uint32_t is_wide; // 64-bit keys
    uint32_t nan_last;
    uint32_t begin_bit, end_bit;
} psvi_key_order;

static inline psvi_key_order psvi_make_key_order(psv_key_type type, bool descending, psv_nan_policy nan_policy,
                                                 uint32_t begin_bit, uint32_t end_bit) {
    psvi_key_order order = {0};
    order.is_wide = type >= PSV_KEY_U64;
    order.is_float = type == PSV_KEY_F32 || type == PSV_KEY_F64;
    order.nan_last = nan_policy == PSV_NAN_LAST;
    order.begin_bit = begin_bit;
    order.end_bit = end_bit;
    uint64_t all = order.is_wide ? UINT64_MAX : UINT32_MAX;
    uint64_t sign = order.is_wide ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    if (type == PSV_KEY_I32 || type == PSV_KEY_I64) order.flip = sign;
    if (descending) order.flip ^= all;
    return order;
}

// Transformed 32-bit float key. NaN under nan_last is the greatest number in either direction.
PSVI_HD uint32_t psvi_transform_f32(uint32_t bits, uint32_t flip, uint32_t nan_last) {
    uint32_t magnitude = bits & 0x7fffffffu;
    if (nan_last && magnitude > 0x7f800000u) return 0xffffffffu;
    if (magnitude == 0) bits = 0;
    uint32_t mask = (uint32_t)(-(int32_t)(bits >> 31)) | 0x80000000u;
    return (bits ^ mask) ^ flip;
}

PSVI_HD uint64_t psvi_transform_f64(uint64_t bits, uint64_t flip, uint32_t nan_last) {
    uint64_t magnitude = bits & 0x7fffffffffffffffu;
    if (nan_last && magnitude > 0x7ff0000000000000u) return UINT64_MAX;
    if (magnitude == 0) bits = 0;
    uint64_t mask = (uint64_t)(-(int64_t)(bits >> 63)) | 0x8000000000000000u;
    return (bits ^ mask) ^ flip;
}

PSVI_HD uint32_t psvi_transform_u32(uint32_t bits, psvi_key_order order) {
    return order.is_float ? psvi_transform_f32(bits, (uint32_t)order.flip, order.nan_last)
                          : bits ^ (uint32_t)order.flip;
}

PSVI_HD uint64_t psvi_transform_u64(uint64_t bits, psvi_key_order order) {
    return order.is_float ? psvi_transform_f64(bits, order.flip, order.nan_last) : bits ^ order.flip;
}

#endif
