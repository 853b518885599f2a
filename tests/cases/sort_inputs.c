#include "sort_inputs.h"

#include <math.h>
#include <string.h>

const char *key_distribution_name(key_distribution distribution) {
    static const char *const names[KEYS_END] = {"uniform",  "gaussian",  "sorted",    "reversed", "nearly", "few",
                                                "constant", "one_digit", "clustered", "special",  "moved",  "moved_far",
                                                "replaced", "mixed",     "halves",    "sawtooth", "piled",  "steps",
                                                "swapped",  "falling",   "upper",     "blob",     "zipf",   "half",
                                                "values",   "floats",    "bits",      "splats"};
    return (unsigned)distribution < KEYS_END ? names[distribution] : "unknown";
}

uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// A number in [0, 1) of 53 bits.
static double unit(uint64_t *state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

static double gaussian(uint64_t *state) {
    double sum = 0;
    for (int i = 0; i < 12; ++i)
        sum += unit(state);
    return sum - 6;
}

static double within_range(double at) { return at < 0 ? 0 : at > 0.9999999 ? 0.9999999 : at; }

static double with_order(key_distribution distribution, uint64_t i, uint64_t count, uint64_t *state) {
    const double whole = (double)count;
    switch (distribution) {
    case KEYS_MOVED: return within_range(((double)i + 8 * gaussian(state)) / whole);
    case KEYS_MOVED_FAR: return within_range(((double)i + 200 * gaussian(state)) / whole);
    case KEYS_REPLACED: return next_random(state) % 100 == 0 ? unit(state) : (double)(i / 2 * 2) / whole;
    case KEYS_MIXED:
        return next_random(state) % 100 == 0 ? unit(state) : within_range(((double)i + 5 * gaussian(state)) / whole);
    case KEYS_HALVES: return (double)(2 * i % count) / whole;
    case KEYS_SAWTOOTH: return (double)(i % 1000) / 1000;
    case KEYS_PILED: return i % 97 == 7 ? 0.5 : (double)i / whole;
    case KEYS_STEPS: return within_range(floor(((double)i + 31 * unit(state)) / whole * 50) / 50);
    case KEYS_SWAPPED: {
        const uint64_t block = count / 64 + 1, part = i / block;
        return (double)(part == 10 ? i + 40 * block : part == 50 ? i - 40 * block : i) / whole * 0.98;
    }
    default: return (double)(uint64_t)sqrt((double)(count - i)) / (sqrt(whole) + 1); // KEYS_FALLING
    }
}

// Place of element i in units of the whole range, for the distributions that are about places; in [0, 1).
static double fraction(key_distribution distribution, uint64_t i, uint64_t count, uint64_t *state) {
    switch (distribution) {
    case KEYS_GAUSSIAN: return gaussian(state) / 12.0 + 0.5;
    case KEYS_SORTED: return (double)(i / 2) / (double)(count + 1);
    case KEYS_REVERSED: return (double)((count - i) / 2) / (double)(count + 1);
    case KEYS_NEARLY: return ((double)i + 31.0 * unit(state)) / ((double)count + 32.0);
    case KEYS_FEW: return (double)(next_random(state) % 16) / 16.0;
    case KEYS_CONSTANT: return 0.37;
    default: return unit(state);
    }
}

// A Morton code of 30 bits: x in bits 0, 3, 6, ...
static uint32_t morton(const uint32_t point[3]) {
    uint32_t code = 0;
    for (uint32_t bit = 0; bit < 10; ++bit)
        for (uint32_t axis = 0; axis < 3; ++axis)
            code |= (point[axis] >> bit & 1) << (3 * bit + axis);
    return code;
}

// About bell-shaped, in [0, 1).
static double bell(uint64_t *state) {
    double sum = 0;
    for (int i = 0; i < 4; ++i)
        sum += unit(state);
    return sum / 4;
}

static double blob(uint64_t *state) {
    uint32_t point[3];
    for (int axis = 0; axis < 3; ++axis)
        point[axis] = (uint32_t)(bell(state) * 1024);
    return (double)morton(point) * 0x1p-30;
}

// Place of a key in units of the whole range, for the kinds that users have; in [0, 1).
static double of_kind(key_distribution distribution, uint64_t *state) {
    switch (distribution) {
    case KEYS_BLOB: return blob(state);
    case KEYS_ZIPF: return floor(exp(unit(state) * log(1e6))) * 0x1p-20;
    case KEYS_HALF: return next_random(state) & 1 ? 0.6180339 : unit(state);
    case KEYS_VALUES: {
        uint64_t value = next_random(state) % 37;
        return unit(&value);
    }
    default: return unit(state);
    }
}

static uint64_t special_bits(psv_key_type type, uint64_t *state) {
    static const uint32_t f32[] = {0x00000000u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u,
                                   0x7f800001u, 0xff800001u, 0x00000001u, 0x80000001u, 0x007fffffu, 0x807fffffu,
                                   0x7fffffffu, 0xffffffffu, 0x3f800000u, 0xbf800000u};
    static const uint64_t f64[] = {0x0000000000000000u, 0x8000000000000000u, 0x7ff0000000000000u, 0xfff0000000000000u,
                                   0x7ff8000000000000u, 0xfff8000000000000u, 0x7ff0000000000001u, 0xfff0000000000001u,
                                   0x0000000000000001u, 0x8000000000000001u, 0x000fffffffffffffu, 0x800fffffffffffffu,
                                   0x7fffffffffffffffu, 0xffffffffffffffffu, 0x3ff0000000000000u, 0xbff0000000000000u};
    static const uint64_t extremes[] = {
        0, 1, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0x7fffffffffffffffu, 0x8000000000000000u, 0xffffffffffffffffu};
    const uint64_t pick = next_random(state);
    if (pick % 3 == 0) return next_random(state); // any pattern, also more NaNs
    if (type == PSV_KEY_F32) return f32[pick / 3 % 16];
    if (type == PSV_KEY_F64) return f64[pick / 3 % 16];
    return extremes[pick / 3 % 8];
}

static uint64_t bits_of(psv_key_type type, double at) {
    const float narrow = (float)(at * 2000.0 - 1000.0);
    const double wide = at * 2000.0 - 1000.0;
    uint32_t bits32;
    uint64_t bits64;
    memcpy(&bits32, &narrow, sizeof bits32);
    memcpy(&bits64, &wide, sizeof bits64);
    switch (type) {
    case PSV_KEY_U32: return (uint32_t)(at * 0x1p32);
    case PSV_KEY_I32: return (uint32_t)(int32_t)(at * 0x1p32 - 0x1p31);
    case PSV_KEY_F32: return bits32;
    case PSV_KEY_U64: return (uint64_t)(at * 0x1p63) * 2;
    case PSV_KEY_I64: return (uint64_t)(int64_t)((at - 0.5) * 0x1p64);
    default: return bits64;
    }
}

// Tile, then depth, of a Gaussian splat on a screen of 1920 x 1088 pixels in tiles of 16: 45 bits, 44 in use, or the
// highest 32 of them.
static uint64_t splat(psv_key_type type, uint64_t *state) {
    const float depth = (float)(0.2 + 100 * unit(state) * unit(state));
    const uint64_t tile = next_random(state) % (120 * 68);
    uint32_t bits;
    memcpy(&bits, &depth, sizeof bits);
    return psv_key_type_bytes(type) == 8 ? tile << 32 | bits : tile << 19 | (bits & 0x7fffffff) >> 12;
}

static uint64_t key_bits(psv_key_type type, key_distribution distribution, uint64_t i, uint64_t count,
                         uint64_t *state) {
    const bool is_float = type == PSV_KEY_F32 || type == PSV_KEY_F64;
    if (distribution == KEYS_UPPER)
        return next_random(state) & (psv_key_type_bytes(type) == 4 ? ~0xffffu : ~(uint64_t)0 << 32);
    if (distribution == KEYS_BITS)
        return next_random(state) & (psv_key_type_bytes(type) == 4 ? 0x92492495u : 0x8421084200421021u);
    if (distribution == KEYS_FLOATS && !is_float && psv_key_type_bytes(type) == 4)
        return bits_of(PSV_KEY_F32, unit(state) / 2 + 0.5);
    if (distribution == KEYS_FLOATS && !is_float) return bits_of(PSV_KEY_F64, unit(state) / 2 + 0.5);
    if (distribution == KEYS_SPLATS) return splat(type, state);
    if (distribution >= KEYS_BLOB) return bits_of(type, of_kind(distribution, state));
    if (distribution >= KEYS_DISTRIBUTIONS) return bits_of(type, with_order(distribution, i, count, state));
    switch (distribution) {
    case KEYS_UNIFORM: return is_float ? bits_of(type, unit(state)) : next_random(state);
    case KEYS_ONE_DIGIT: return 0x4142434445460048u | (next_random(state) & 0xffu) << 8;
    case KEYS_CLUSTERED: {
        const uint64_t r = next_random(state);
        return r & 1 ? bits_of(type, 0.99999) : bits_of(type, 0.25) + (r >> 40) % 1000;
    }
    case KEYS_SPECIAL: return special_bits(type, state);
    default: return bits_of(type, fraction(distribution, i, count, state));
    }
}

// Keys of 8 and 16 bits are the upper bits of these.
static psv_key_type stand_in(psv_key_type type) {
    switch (type) {
    case PSV_KEY_U8:
    case PSV_KEY_U16: return PSV_KEY_U32;
    case PSV_KEY_I8:
    case PSV_KEY_I16: return PSV_KEY_I32;
    case PSV_KEY_F16:
    case PSV_KEY_BF16: return PSV_KEY_F32;
    default: return type;
    }
}

void make_keys(psv_key_type type, key_distribution distribution, uint64_t seed, uint64_t count, void *keys) {
    uint64_t state = seed ^ 0x5851f42d4c957f2du * ((uint64_t)distribution + 1);
    const psv_key_type like = stand_in(type);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t bits = key_bits(like, distribution, i, count, &state);
        switch (psv_key_type_bytes(type)) {
        case 1: ((uint8_t *)keys)[i] = (uint8_t)(bits >> 24); break;
        case 2: ((uint16_t *)keys)[i] = (uint16_t)(bits >> 16); break;
        case 4: ((uint32_t *)keys)[i] = (uint32_t)bits; break;
        default: ((uint64_t *)keys)[i] = bits; break;
        }
    }
}
