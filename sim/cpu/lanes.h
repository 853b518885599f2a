// Eight floats at a time, in GCC's and Clang's vector types: any processor runs them, with as many instructions a
// vector as it needs, and gets the same bits. Rows of bodies are gathered and scattered as four floats a lane.
#ifndef PAIRSIEVE_LANES_H
#define PAIRSIEVE_LANES_H

#include "../../sort/cpu/clones.h"
#include "../data/sim_data.h"
#include "sim_cpu.h"

#include <string.h>

#define LANES PSVI_BLOCK_LANES

typedef float f4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef int32_t i8 __attribute__((vector_size(32)));

typedef struct w3 {
    f8 x, y, z;
} w3;

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLEVECTOR 1
#endif
#endif

#if defined(HAVE_SHUFFLEVECTOR)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
PSVI_INLINE f8 join(f4 a, f4 b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7); }
PSVI_INLINE f4 low_half(f8 v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3); }
PSVI_INLINE f4 high_half(f8 v) { return __builtin_shufflevector(v, v, 4, 5, 6, 7); }
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (i8){__VA_ARGS__})
PSVI_INLINE f8 join(f4 a, f4 b) { return (f8){a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]}; }
PSVI_INLINE f4 low_half(f8 v) { return (f4){v[0], v[1], v[2], v[3]}; }
PSVI_INLINE f4 high_half(f8 v) { return (f4){v[4], v[5], v[6], v[7]}; }
#endif

PSVI_INLINE f8 same(float a) { return (f8){a, a, a, a, a, a, a, a}; }
PSVI_INLINE f8 load(const float *p) {
    f8 v;
    memcpy(&v, p, sizeof v);
    return v;
}
PSVI_INLINE void store(float *p, f8 v) { memcpy(p, &v, sizeof v); }
PSVI_INLINE f8 both(i8 mask, f8 a) { return (f8)((i8)a & mask); } // a, or 0 where the mask is not set
PSVI_INLINE f8 choose(i8 mask, f8 a, f8 b) { return (f8)(((i8)a & mask) | ((i8)b & ~mask)); }
PSVI_INLINE f8 smaller(f8 a, f8 b) { return choose(a < b, a, b); }
PSVI_INLINE f8 larger(f8 a, f8 b) { return choose(a > b, a, b); }
PSVI_INLINE f8 square_root(f8 a) {
    f8 r = a;
    for (int i = 0; i < LANES; ++i)
        r[i] = sqrtf(a[i]);
    return r;
}
PSVI_INLINE i8 mask_of(uint8_t bits) {
    int32_t b = bits;
    i8 all = {b, b, b, b, b, b, b, b}, lane = {1, 2, 4, 8, 16, 32, 64, 128};
    return (all & lane) != 0;
}

PSVI_INLINE w3 w3_load(const float p[3][LANES]) { return (w3){load(p[0]), load(p[1]), load(p[2])}; }
PSVI_INLINE w3 w3_add(w3 a, w3 b) { return (w3){a.x + b.x, a.y + b.y, a.z + b.z}; }
PSVI_INLINE w3 w3_sub(w3 a, w3 b) { return (w3){a.x - b.x, a.y - b.y, a.z - b.z}; }
PSVI_INLINE w3 w3_scale(w3 a, f8 s) { return (w3){a.x * s, a.y * s, a.z * s}; }
PSVI_INLINE w3 w3_madd(w3 a, w3 b, f8 s) { return (w3){a.x + b.x * s, a.y + b.y * s, a.z + b.z * s}; }
PSVI_INLINE f8 w3_dot(w3 a, w3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
PSVI_INLINE w3 w3_cross(w3 a, w3 b) {
    return (w3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
PSVI_INLINE w3 w3_both(i8 mask, w3 a) { return (w3){both(mask, a.x), both(mask, a.y), both(mask, a.z)}; }

PSVI_INLINE void w3_tangents(w3 n, w3 *t1, w3 *t2) { // as v3_tangents
    f8 one = same(1), sign = choose(n.z >= same(0), one, -one);
    f8 a = -one / (sign + n.z);
    f8 b = n.x * n.y * a;
    *t1 = (w3){one + sign * n.x * n.x * a, sign * b, -sign * n.x};
    *t2 = (w3){b, sign + n.y * n.y * a, -n.y};
}

// --- rows of four floats, one a lane, to and from vectors ------------------------------------------------------------

// rows[k] and rows[k + 4], k < 4, as the halves of in[k]; the transposition stays within halves.
PSVI_INLINE void transpose(const f8 in[4], f8 out[4]) {
    f8 a = SHUFFLE(in[0], in[1], 0, 8, 1, 9, 4, 12, 5, 13), b = SHUFFLE(in[0], in[1], 2, 10, 3, 11, 6, 14, 7, 15);
    f8 c = SHUFFLE(in[2], in[3], 0, 8, 1, 9, 4, 12, 5, 13), d = SHUFFLE(in[2], in[3], 2, 10, 3, 11, 6, 14, 7, 15);
    out[0] = SHUFFLE(a, c, 0, 1, 8, 9, 4, 5, 12, 13);
    out[1] = SHUFFLE(a, c, 2, 3, 10, 11, 6, 7, 14, 15);
    out[2] = SHUFFLE(b, d, 0, 1, 8, 9, 4, 5, 12, 13);
    out[3] = SHUFFLE(b, d, 2, 3, 10, 11, 6, 7, 14, 15);
}

PSVI_INLINE const f4 *row_at(const psvi_f4 *base, uint32_t index) {
    return (const f4 *)(const void *)((const char *)base + (uint64_t)index * sizeof(psvi_linear));
}

// Row index[k] of an array of psvi_linear or psvi_angular, from `base`, a member of its first element.
PSVI_INLINE void gather(const psvi_f4 *base, const uint32_t *index, w3 *v, f8 *w) {
    _Static_assert(sizeof(psvi_linear) == 32 && sizeof(psvi_angular) == 32, "rows are found by one stride");
    f8 in[4], out[4];
    for (int k = 0; k < 4; ++k)
        in[k] = join(*row_at(base, index[k]), *row_at(base, index[k + 4]));
    transpose(in, out);
    *v = (w3){out[0], out[1], out[2]};
    *w = out[3];
}

PSVI_INLINE void put_row(psvi_f4 *base, uint32_t index, f4 row, uint32_t wanted) {
    if (wanted != 0) memcpy((char *)base + (uint64_t)index * sizeof(psvi_linear), &row, sizeof row);
}

PSVI_INLINE void scatter(psvi_f4 *base, const uint32_t *index, uint32_t lanes, w3 v, f8 w) {
    f8 in[4] = {v.x, v.y, v.z, w}, out[4];
    transpose(in, out);
    for (int k = 0; k < 4; ++k) {
        put_row(base, index[k], low_half(out[k]), lanes >> k & 1u);
        put_row(base, index[k + 4], high_half(out[k]), lanes >> (k + 4) & 1u);
    }
}

#endif
