// Loading, storing and scanning for the CPU radix sort: loops that the compiler turns into vector code.
#include "radix_elements.h"

#include <string.h>

#include "clones.h"
#include "key_bits.h"
#include "sort_cpu_tuning.h"

psvi_radix_format psvi_radix_make_format(psvi_key_order order, uint32_t value_bytes, bool positions) {
    psvi_radix_format format = {.order = order, .value_bytes = positions ? 4 : value_bytes, .positions = positions};
    if (order.is_wide)
        format.element_bytes = format.value_bytes == 0 ? 8 : 16;
    else
        format.element_bytes = format.value_bytes == 8 ? 16 : 4 + format.value_bytes;
    format.key_shift = !order.is_wide && format.element_bytes == 8 ? 32 : 0;
    format.mask = psvi_make_key_bits(order).mask << order.begin_bit << format.key_shift;
    return format;
}

PSVI_INLINE uint32_t key32(const void *keys, uint64_t i, psvi_key_order order, bool is_float) {
    const uint32_t bits = ((const uint32_t *)keys)[i];
    return is_float ? psvi_transform_f32(bits, (uint32_t)order.flip, order.nan_last) : bits ^ (uint32_t)order.flip;
}

PSVI_INLINE uint64_t key64(const void *keys, uint64_t i, psvi_key_order order, bool is_float) {
    const uint64_t bits = ((const uint64_t *)keys)[i];
    return is_float ? psvi_transform_f64(bits, order.flip, order.nan_last) : bits ^ order.flip;
}

// One loop for each kind of key and value: the constants are folded into it.
PSVI_INLINE void load_loop(const psvi_radix_format *format, bool wide, bool is_float, uint32_t value_bytes,
                           bool positions, const void *keys, const void *values, uint64_t begin, uint32_t count,
                           void *restrict elements) {
    const psvi_key_order order = format->order;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t at = begin + i;
        const uint64_t key = wide ? key64(keys, at, order, is_float) : key32(keys, at, order, is_float);
        uint64_t value = 0;
        if (positions)
            value = (uint32_t)at;
        else if (value_bytes == 4)
            value = ((const uint32_t *)values)[at];
        else if (value_bytes == 8)
            value = ((const uint64_t *)values)[at];
        if (value_bytes == 8 || (wide && value_bytes == 4))
            ((psvi_wide_element *)elements)[i] = (psvi_wide_element){.key = key, .value = value};
        else if (value_bytes == 4)
            ((uint64_t *)elements)[i] = key << 32 | value;
        else if (wide)
            ((uint64_t *)elements)[i] = key;
        else
            ((uint32_t *)elements)[i] = (uint32_t)key;
    }
}

#define LOAD(wide, is_float, bytes, positions)                                                                         \
    load_loop(format, wide, is_float, bytes, positions, keys, values, begin, count, elements)

PSVI_CLONES void psvi_radix_load(const psvi_radix_format *format, const void *keys, const void *values, uint64_t begin,
                                 uint32_t count, void *elements) {
    const bool is_float = format->order.is_float != 0;
    const uint32_t kind = format->positions ? 3 : format->value_bytes / 4; // 0, 1, 2: value words; 3: positions
    switch (kind + 4 * (uint32_t)is_float + 8 * format->order.is_wide) {
    case 0: LOAD(false, false, 0, false); break;
    case 1: LOAD(false, false, 4, false); break;
    case 2: LOAD(false, false, 8, false); break;
    case 3: LOAD(false, false, 4, true); break;
    case 4: LOAD(false, true, 0, false); break;
    case 5: LOAD(false, true, 4, false); break;
    case 6: LOAD(false, true, 8, false); break;
    case 7: LOAD(false, true, 4, true); break;
    case 8: LOAD(true, false, 0, false); break;
    case 9: LOAD(true, false, 4, false); break;
    case 10: LOAD(true, false, 8, false); break;
    case 11: LOAD(true, false, 4, true); break;
    case 12: LOAD(true, true, 0, false); break;
    case 13: LOAD(true, true, 4, false); break;
    case 14: LOAD(true, true, 8, false); break;
    default: LOAD(true, true, 4, true); break;
    }
}

PSVI_INLINE uint32_t raw32(uint32_t key, psvi_key_order order, bool is_float) {
    key ^= (uint32_t)order.flip;
    return is_float ? key ^ (((key >> 31) - 1) | 0x80000000u) : key;
}

PSVI_INLINE uint64_t raw64(uint64_t key, psvi_key_order order, bool is_float) {
    key ^= order.flip;
    return is_float ? key ^ (((key >> 63) - 1) | 0x8000000000000000u) : key;
}

PSVI_INLINE uint64_t element_key(const psvi_radix_format *format, const void *elements, uint64_t i, uint32_t bytes) {
    if (bytes == 4) return ((const uint32_t *)elements)[i];
    if (bytes == 8) return ((const uint64_t *)elements)[i] >> format->key_shift;
    return ((const psvi_wide_element *)elements)[i].key;
}

PSVI_INLINE void store_keys(const psvi_radix_format *format, bool wide, bool is_float, uint32_t bytes,
                            const void *elements, uint64_t count, void *restrict keys, uint64_t begin) {
    const psvi_key_order order = format->order;
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t key = element_key(format, elements, i, bytes);
        if (wide)
            ((uint64_t *)keys)[begin + i] = raw64(key, order, is_float);
        else
            ((uint32_t *)keys)[begin + i] = raw32((uint32_t)key, order, is_float);
    }
}

PSVI_CLONES static void store_all_keys(const psvi_radix_format *format, const void *elements, uint64_t count,
                                       void *keys, uint64_t begin) {
    const bool is_float = format->order.is_float != 0, wide = format->order.is_wide != 0;
#define STORE(wide, is_float, bytes) store_keys(format, wide, is_float, bytes, elements, count, keys, begin)
    switch (format->element_bytes + 32 * (uint32_t)is_float + 64 * (uint32_t)wide) {
    case 4: STORE(false, false, 4); break;
    case 8: STORE(false, false, 8); break;
    case 16: STORE(false, false, 16); break;
    case 32 + 4: STORE(false, true, 4); break;
    case 32 + 8: STORE(false, true, 8); break;
    case 32 + 16: STORE(false, true, 16); break;
    case 64 + 8: STORE(true, false, 8); break;
    case 64 + 16: STORE(true, false, 16); break;
    case 96 + 8: STORE(true, true, 8); break;
    default: STORE(true, true, 16); break;
    }
#undef STORE
}

PSVI_CLONES static void store_all_values(const psvi_radix_format *format, const void *elements, uint64_t count,
                                         void *restrict values, uint64_t begin) {
    if (format->element_bytes == 8) {
        for (uint64_t i = 0; i < count; ++i)
            ((uint32_t *)values)[begin + i] = (uint32_t)((const uint64_t *)elements)[i];
    } else if (format->value_bytes == 4) {
        for (uint64_t i = 0; i < count; ++i)
            ((uint32_t *)values)[begin + i] = (uint32_t)((const psvi_wide_element *)elements)[i].value;
    } else {
        for (uint64_t i = 0; i < count; ++i)
            ((uint64_t *)values)[begin + i] = ((const psvi_wide_element *)elements)[i].value;
    }
}

void psvi_radix_store(const psvi_radix_format *format, const void *elements, uint64_t count, void *keys, void *values,
                      uint64_t begin) {
    if (keys != NULL) store_all_keys(format, elements, count, keys, begin);
    if (values != NULL && format->value_bytes != 0) store_all_values(format, elements, count, values, begin);
}

// Transforms a block of keys into `block`, with the key after it when there is one; true when something would be lost.
PSVI_INLINE bool scan_block_32(psvi_key_order order, bool is_float, const uint32_t *keys, uint32_t count,
                               uint64_t first, uint64_t mask, uint64_t *varying, bool *descends) {
    uint32_t bits = 0, lossy = 0, down = 0;
    const uint32_t first32 = (uint32_t)first, mask32 = (uint32_t)mask;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t key = key32(keys, i, order, is_float);
        bits |= key ^ first32;
        if (is_float) {
            const uint32_t magnitude = keys[i] & 0x7fffffffu;
            lossy |= (keys[i] == 0x80000000u) | ((magnitude > 0x7f800000u) & order.nan_last);
        }
    }
    if (*descends) return *varying |= bits, lossy != 0;
    for (uint32_t i = 0; i < count; ++i)
        down |= (key32(keys, i, order, is_float) & mask32) > (key32(keys, i + 1, order, is_float) & mask32);
    *descends = down != 0;
    *varying |= bits;
    return lossy != 0;
}

PSVI_INLINE bool scan_block_64(psvi_key_order order, bool is_float, const uint64_t *keys, uint32_t count,
                               uint64_t first, uint64_t mask, uint64_t *varying, bool *descends) {
    uint64_t bits = 0, lossy = 0, down = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t key = key64(keys, i, order, is_float);
        bits |= key ^ first;
        if (is_float) {
            const uint64_t magnitude = keys[i] & 0x7fffffffffffffffu;
            lossy |= (keys[i] == 0x8000000000000000u) | ((magnitude > 0x7ff0000000000000u) & order.nan_last);
        }
    }
    if (*descends) return *varying |= bits, lossy != 0;
    for (uint32_t i = 0; i < count; ++i)
        down |= (key64(keys, i, order, is_float) & mask) > (key64(keys, i + 1, order, is_float) & mask);
    *descends = down != 0;
    *varying |= bits;
    return lossy != 0;
}

PSVI_CLONES static bool scan_block(psvi_key_order order, const void *keys, uint64_t begin, uint32_t count,
                                   uint64_t first, uint64_t mask, uint64_t *varying, bool *descends) {
    const uint32_t *narrow = (const uint32_t *)keys + begin;
    const uint64_t *wide = (const uint64_t *)keys + begin;
    switch (order.is_float + 2 * order.is_wide) {
    case 0: return scan_block_32(order, false, narrow, count, first, mask, varying, descends);
    case 1: return scan_block_32(order, true, narrow, count, first, mask, varying, descends);
    case 2: return scan_block_64(order, false, wide, count, first, mask, varying, descends);
    default: return scan_block_64(order, true, wide, count, first, mask, varying, descends);
    }
}

psvi_radix_scan psvi_radix_scan_keys(psvi_key_order order, const void *keys, uint64_t begin, uint64_t end,
                                     uint64_t count, bool check) {
    psvi_radix_scan scan = {.descends = !check};
    scan.first = order.is_wide ? psvi_transform_u64(*(const uint64_t *)keys, order)
                               : psvi_transform_u32(*(const uint32_t *)keys, order);
    const uint64_t mask = psvi_make_key_bits(order).mask << order.begin_bit;
    // The last key has no successor: it is a block of its own, without the check.
    const uint64_t checked_end = end < count ? end : count - 1;
    for (uint64_t i = begin; i < end;) {
        const uint64_t left = i < checked_end ? checked_end - i : end - i;
        const uint32_t block = left < RADIX_BLOCK ? (uint32_t)left : RADIX_BLOCK;
        bool descends = scan.descends, last = true;
        if (scan_block(order, keys, i, block, scan.first, mask, &scan.varying, i < checked_end ? &descends : &last))
            scan.lossy = true;
        scan.descends = descends;
        i += block;
    }
    return scan;
}
