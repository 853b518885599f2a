// The bits [begin_bit, end_bit) of transformed keys as one number, for the CPU methods that compare whole keys.
#ifndef PAIRSIEVE_KEY_BITS_H
#define PAIRSIEVE_KEY_BITS_H

#include "../src/key_order.h"

typedef struct psvi_key_bits {
    psvi_key_order order;
    uint64_t mask; // of the bits after the shift by order.begin_bit
} psvi_key_bits;

static inline psvi_key_bits psvi_make_key_bits(psvi_key_order order) {
    uint32_t width = order.end_bit - order.begin_bit;
    psvi_key_bits bits = {.order = order, .mask = width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1};
    if (width == 0) bits.order.begin_bit = 0; // so that no shift is by the width of the key
    return bits;
}

static inline uint64_t psvi_load_key_bits(psvi_key_bits bits, const void *keys, uint64_t i) {
    uint64_t key = bits.order.is_wide ? psvi_transform_u64(((const uint64_t *)keys)[i], bits.order)
                                      : psvi_transform_u32(((const uint32_t *)keys)[i], bits.order);
    return (key >> bits.order.begin_bit) & bits.mask;
}

#endif
