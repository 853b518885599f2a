#include "sort_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_REFERENCE 1100000u
#define THREE_WAY(a, b) (((a) > (b)) - ((a) < (b)))

// Keys that are NaN: the policy decides, in either direction.
static int compare_nans(const psv_sorter_def *def, bool a_nan, bool b_nan, int64_t a_rank, int64_t b_rank) {
    if (def->nan_policy == PSV_NAN_LAST) return THREE_WAY(a_nan, b_nan);
    return def->descending ? THREE_WAY(b_rank, a_rank) : THREE_WAY(a_rank, b_rank);
}

// Sign and magnitude to a number that orders as IEEE's total order, with both zeros equal.
static int64_t total_rank(uint64_t bits, uint32_t width) {
    const uint64_t sign = (uint64_t)1 << (width - 1), magnitude = bits & (sign - 1);
    return bits & sign ? -(int64_t)magnitude : (int64_t)magnitude;
}

static int compare_whole(const psv_sorter_def *def, const void *keys, uint64_t a, uint64_t b) {
    int order = 0;
    switch (def->key_type) {
    case PSV_KEY_U8: order = THREE_WAY(((const uint8_t *)keys)[a], ((const uint8_t *)keys)[b]); break;
    case PSV_KEY_I8: order = THREE_WAY(((const int8_t *)keys)[a], ((const int8_t *)keys)[b]); break;
    case PSV_KEY_U16: order = THREE_WAY(((const uint16_t *)keys)[a], ((const uint16_t *)keys)[b]); break;
    case PSV_KEY_I16: order = THREE_WAY(((const int16_t *)keys)[a], ((const int16_t *)keys)[b]); break;
    case PSV_KEY_F16:
    case PSV_KEY_BF16: { // sign and magnitude order as the numbers do
        const uint16_t x = ((const uint16_t *)keys)[a], y = ((const uint16_t *)keys)[b];
        const uint32_t infinity = def->key_type == PSV_KEY_F16 ? 0x7c00 : 0x7f80;
        const bool x_nan = (x & 0x7fffu) > infinity, y_nan = (y & 0x7fffu) > infinity;
        if (x_nan || y_nan) return compare_nans(def, x_nan, y_nan, total_rank(x, 16), total_rank(y, 16));
        order = THREE_WAY(total_rank(x, 16), total_rank(y, 16));
        break;
    }
    case PSV_KEY_U32: order = THREE_WAY(((const uint32_t *)keys)[a], ((const uint32_t *)keys)[b]); break;
    case PSV_KEY_I32: order = THREE_WAY(((const int32_t *)keys)[a], ((const int32_t *)keys)[b]); break;
    case PSV_KEY_U64: order = THREE_WAY(((const uint64_t *)keys)[a], ((const uint64_t *)keys)[b]); break;
    case PSV_KEY_I64: order = THREE_WAY(((const int64_t *)keys)[a], ((const int64_t *)keys)[b]); break;
    case PSV_KEY_F32: {
        const float x = ((const float *)keys)[a], y = ((const float *)keys)[b];
        if (isnan(x) || isnan(y))
            return compare_nans(def, isnan(x), isnan(y), total_rank(((const uint32_t *)keys)[a], 32),
                                total_rank(((const uint32_t *)keys)[b], 32));
        order = THREE_WAY(x, y);
        break;
    }
    default: {
        const double x = ((const double *)keys)[a], y = ((const double *)keys)[b];
        if (isnan(x) || isnan(y))
            return compare_nans(def, isnan(x), isnan(y), total_rank(((const uint64_t *)keys)[a], 64),
                                total_rank(((const uint64_t *)keys)[b], 64));
        order = THREE_WAY(x, y);
        break;
    }
    }
    return def->descending ? -order : order;
}

// 0: integers.
static uint64_t infinity_of(psv_key_type type) {
    switch (type) {
    case PSV_KEY_F16: return 0x7c00;
    case PSV_KEY_BF16: return 0x7f80;
    case PSV_KEY_F32: return 0x7f800000u;
    case PSV_KEY_F64: return 0x7ff0000000000000u;
    default: return 0;
    }
}

// The key as sort.h defines its order-preserving unsigned form, written from that text.
uint64_t reference_unsigned_form(const psv_sorter_def *def, const void *keys, uint64_t i) {
    const uint32_t width = 8 * psv_key_type_bytes(def->key_type);
    uint64_t bits = width == 8    ? ((const uint8_t *)keys)[i]
                    : width == 16 ? ((const uint16_t *)keys)[i]
                    : width == 32 ? ((const uint32_t *)keys)[i]
                                  : ((const uint64_t *)keys)[i];
    const uint64_t sign = (uint64_t)1 << (width - 1), all = sign | (sign - 1), infinity = infinity_of(def->key_type);
    if (def->key_type == PSV_KEY_I32 || def->key_type == PSV_KEY_I64 || def->key_type == PSV_KEY_I8 ||
        def->key_type == PSV_KEY_I16)
        bits ^= sign;
    if (infinity != 0) {
        if (def->nan_policy == PSV_NAN_LAST && (bits & (sign - 1)) > infinity) return all;
        if ((bits & (sign - 1)) == 0) bits = 0;
        bits = bits & sign ? ~bits & all : bits | sign;
    }
    return def->descending ? ~bits & all : bits;
}

static int compare(const psv_sorter_def *def, const void *keys, uint64_t a, uint64_t b) {
    const uint32_t width = 8 * psv_key_type_bytes(def->key_type), end = def->end_bit == 0 ? width : def->end_bit;
    if (def->begin_bit == 0 && end == width) return compare_whole(def, keys, a, b);
    if (def->begin_bit == end) return 0;
    const uint32_t bits = end - def->begin_bit;
    const uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    const uint64_t x = reference_unsigned_form(def, keys, a) >> def->begin_bit & mask;
    const uint64_t y = reference_unsigned_form(def, keys, b) >> def->begin_bit & mask;
    return THREE_WAY(x, y);
}

static void merge_sort(const psv_sorter_def *def, const void *keys, uint32_t *order, uint32_t *copy, uint32_t count) {
    if (count < 2) return;
    const uint32_t half = count / 2;
    merge_sort(def, keys, order, copy, half);
    merge_sort(def, keys, order + half, copy, count - half);
    if (compare(def, keys, order[half - 1], order[half]) <= 0) return;
    memcpy(copy, order, half * sizeof *order);
    uint32_t left = 0, right = half, out = 0;
    while (left < half && right < count)
        order[out++] = compare(def, keys, copy[left], order[right]) <= 0 ? copy[left++] : order[right++];
    memcpy(order + out, copy + left, (half - left) * sizeof *order);
}

// The same order for large counts, where merging takes too long: digit by digit of 16 bits.
static void digit_sort(const psv_sorter_def *def, const void *keys, uint32_t *order, uint32_t count) {
    const uint32_t width = 8 * psv_key_type_bytes(def->key_type), end = def->end_bit == 0 ? width : def->end_bit;
    uint32_t *copy = malloc((size_t)count * sizeof *copy), *starts = malloc(65537 * sizeof *starts);
    uint64_t *forms = malloc((size_t)count * sizeof *forms);
    if (copy == NULL || starts == NULL || forms == NULL) abort();
    for (uint32_t i = 0; i < count; ++i)
        forms[i] = reference_unsigned_form(def, keys, i);
    for (uint32_t low = def->begin_bit; low < end; low += 16) {
        const uint64_t mask = end - low < 16 ? ((uint64_t)1 << (end - low)) - 1 : 65535;
        memset(starts, 0, 65537 * sizeof *starts);
        for (uint32_t i = 0; i < count; ++i)
            starts[(forms[i] >> low & mask) + 1]++;
        for (uint32_t d = 0; d < 65536; ++d)
            starts[d + 1] += starts[d];
        for (uint32_t i = 0; i < count; ++i)
            copy[starts[forms[order[i]] >> low & mask]++] = order[i];
        memcpy(order, copy, (size_t)count * sizeof *order);
    }
    free(copy);
    free(starts);
    free(forms);
}

void reference_order(const psv_sorter_def *def, const void *keys, uint32_t count, uint32_t *order) {
    for (uint32_t i = 0; i < count; ++i)
        order[i] = i;
    if (count < 2) return;
    if (count > LARGE_REFERENCE) {
        digit_sort(def, keys, order, count);
        return;
    }
    uint32_t *copy = malloc((size_t)count / 2 * sizeof *copy);
    if (copy == NULL) abort();
    merge_sort(def, keys, order, copy, count);
    free(copy);
}

psv_order_result reference_descents(const psv_sorter_def *def, const void *keys, uint64_t count) {
    psv_order_result result = {.descents = 0, .first = UINT64_MAX};
    for (uint64_t i = 0; i + 1 < count; ++i)
        if (compare(def, keys, i, i + 1) > 0 && result.descents++ == 0) result.first = i;
    return result;
}
