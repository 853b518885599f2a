#include "key_values.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide_number;
__extension__ typedef __int128 wide_integer;

// --- floats of 16 bits ----------------------------------------------------------------------------------------------

// Bits of the nearest number with 5 bits of exponent; halves to even.
static uint16_t to_f16(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    if (isnan(value)) return 0x7e00;
    if (size >= 65520) return sign | 0x7c00;
    if (size < 0x1p-14) return (uint16_t)(sign | (uint16_t)nearbyint(size * 0x1p24));
    int exponent;
    const int mantissa = (int)nearbyint(ldexp(frexp(size, &exponent), 11)); // 1,024 to 2,048
    return (uint16_t)(sign | (uint16_t)(((exponent + 14) << 10) + mantissa - 1024));
}

static uint16_t to_bf16(double value) {
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (isnan(value)) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// --- made -----------------------------------------------------------------------------------------------------------

// An integer of `bytes` bytes, the low ones of `value`.
static void put_integer(void *key, uint32_t bytes, wide_number value) {
    const uint8_t byte = (uint8_t)value;
    const uint16_t two = (uint16_t)value;
    const uint32_t four = (uint32_t)value;
    const uint64_t words[2] = {(uint64_t)value, (uint64_t)(value >> 64)};
    switch (bytes) {
    case 1: memcpy(key, &byte, 1); break;
    case 2: memcpy(key, &two, 2); break;
    case 4: memcpy(key, &four, 4); break;
    default: memcpy(key, words, bytes); break;
    }
}

static bool is_signed(psv_key_type type) {
    return type == PSV_KEY_I8 || type == PSV_KEY_I16 || type == PSV_KEY_I32 || type == PSV_KEY_I64 ||
           type == PSV_KEY_I128;
}

// The place in 64 bits, moved to the upper bits of the key. Keys of 128 bits differ in their lower word too.
static void make_integer(psv_key_type type, double unit, void *key) {
    const uint32_t bits = 8 * psv_key_type_bytes(type);
    const uint64_t place = (uint64_t)(unit * 0x1p64);
    wide_number value = bits == 128 ? (wide_number)place << 64 | (place * UINT64_C(0x9e3779b97f4a7c15))
                                    : (wide_number)(place >> (64 - bits));
    if (is_signed(type)) value ^= (wide_number)1 << (bits - 1);
    put_integer(key, bits / 8, value);
}

static void put_float(psv_key_type type, double value, void *key) {
    const float single = (float)value;
    const uint16_t half = type == PSV_KEY_F16 ? to_f16(value) : to_bf16(value);
    switch (type) {
    case PSV_KEY_F64: memcpy(key, &value, 8); break;
    case PSV_KEY_F32: memcpy(key, &single, 4); break;
    default: memcpy(key, &half, 2); break;
    }
}

static bool is_half(psv_key_type type) { return type == PSV_KEY_F16 || type == PSV_KEY_BF16; }

static bool is_float(psv_key_type type) { return type == PSV_KEY_F32 || type == PSV_KEY_F64 || is_half(type); }

void tool_make_key(psv_key_type type, double unit, void *key) {
    char text[17];
    if (is_float(type)) {
        put_float(type, is_half(type) ? unit * 2e3 - 1e3 : unit * 2e6 - 1e6, key);
    } else if (type == PSV_KEY_BYTES16) {
        (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)(unit * 0x1p64));
        memcpy(key, text, 16);
    } else {
        make_integer(type, unit, key);
    }
}

// --- parsed ---------------------------------------------------------------------------------------------------------

static bool is_end(const char *rest) { return rest[strspn(rest, " \t\r\n")] == 0; }

static bool parse_float(psv_key_type type, const char *text, void *key) {
    char *rest = NULL;
    if (type == PSV_KEY_F32) {
        const float value = strtof(text, &rest);
        memcpy(key, &value, 4);
    } else {
        put_float(type, strtod(text, &rest), key);
    }
    return rest != text && is_end(rest);
}

static bool parse_integer(psv_key_type type, const char *text, void *key) {
    const uint32_t bits = 8 * psv_key_type_bytes(type);
    text += strspn(text, " \t");
    const bool negative = *text == '-';
    if (*text == '-' || *text == '+') ++text;
    const wide_number all = bits == 128 ? ~(wide_number)0 : ((wide_number)1 << bits) - 1;
    const wide_number most = is_signed(type) ? (all >> 1) + negative : negative ? 0 : all;
    wide_number value = 0;
    const char *digits = text;
    for (; *text >= '0' && *text <= '9'; ++text) {
        const unsigned digit = (unsigned)(*text - '0');
        if (value > (most - (digit < most ? digit : most)) / 10) return false;
        value = 10 * value + digit;
        if (value > most) return false;
    }
    put_integer(key, bits / 8, negative ? 0 - value : value);
    return text != digits && is_end(text) && !(negative && !is_signed(type));
}

static bool parse_bytes(const char *text, void *key) {
    const size_t length = strlen(text);
    if (length > 16) return false;
    memset(key, 0, 16);
    memcpy(key, text, length);
    return true;
}

bool tool_parse_key(psv_key_type type, const char *text, void *key) {
    if (type == PSV_KEY_BYTES16) return parse_bytes(text, key);
    return is_float(type) ? parse_float(type, text, key) : parse_integer(type, text, key);
}

// --- compared -------------------------------------------------------------------------------------------------------

static wide_integer integer_at(psv_key_type type, const void *key) {
    const uint32_t bytes = psv_key_type_bytes(type);
    uint64_t words[2] = {0, 0};
    memcpy(words, key, bytes); // little-endian, as every machine that this library runs on
    const wide_number value = (wide_number)words[1] << 64 | words[0];
    const uint32_t above = 128 - 8 * bytes;
    return is_signed(type) ? (wide_integer)(value << above) >> above : (wide_integer)value;
}

static double float_at(psv_key_type type, const void *key) {
    float single = 0;
    double value = 0;
    uint16_t half = 0;
    if (type == PSV_KEY_F64) {
        memcpy(&value, key, 8);
    } else if (type == PSV_KEY_F32) {
        memcpy(&single, key, 4);
        value = single;
    } else { // sign and magnitude order as the numbers do
        memcpy(&half, key, 2);
        value = half & 0x8000 ? -(double)(half & 0x7fff) : (double)half;
        if ((half & 0x7fff) > (type == PSV_KEY_F16 ? 0x7c00 : 0x7f80)) value = (double)NAN;
    }
    return value;
}

int tool_compare_keys(psv_key_type type, const void *a, const void *b) {
    if (type == PSV_KEY_BYTES16) {
        const int order = memcmp(a, b, 16);
        return (order > 0) - (order < 0);
    }
    if (is_float(type)) {
        const double x = float_at(type, a), y = float_at(type, b);
        if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
        return (x > y) - (x < y);
    }
    const wide_integer x = integer_at(type, a), y = integer_at(type, b);
    if (type == PSV_KEY_U128) return ((wide_number)x > (wide_number)y) - ((wide_number)x < (wide_number)y);
    return (x > y) - (x < y);
}
