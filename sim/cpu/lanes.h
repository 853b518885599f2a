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

PSVI_INLINE f8 load(const float *p) {
    f8 v;
    memcpy(&v, p, sizeof v);
    return v;
}
PSVI_INLINE void store(float *p, f8 v) { memcpy(p, &v, sizeof v); }
PSVI_INLINE i8 mask_of(uint8_t bits) {
    int32_t b = bits;
    i8 all = {b, b, b, b, b, b, b, b}, bit = {1, 2, 4, 8, 16, 32, 64, 128};
    return (all & bit) != 0;
}

// --- the lane of contact_row.h ---------------------------------------------------------------------------------------

#define PSVI_ROW PSVI_INLINE

typedef f8 lane;
typedef i8 lane_mask;

typedef struct lane3 {
    lane x, y, z;
} lane3;

PSVI_INLINE lane lane_of(float a) { return (lane){a, a, a, a, a, a, a, a}; }
PSVI_INLINE lane_mask lane_not(lane_mask a) { return ~a; }
PSVI_INLINE bool lane_any(lane_mask a) {
    typedef int64_t i4 __attribute__((vector_size(32)));
    i4 words = (i4)a;
    return (words[0] | words[1] | words[2] | words[3]) != 0;
}
PSVI_INLINE lane lane_both(lane_mask mask, lane a) { return (lane)((i8)a & mask); } // a, or 0 where the mask is not set
PSVI_INLINE lane lane_choose(lane_mask mask, lane a, lane b) { return (lane)(((i8)a & mask) | ((i8)b & ~mask)); }
PSVI_INLINE lane lane_smaller(lane a, lane b) { return lane_choose(a < b, a, b); }
PSVI_INLINE lane lane_larger(lane a, lane b) { return lane_choose(a > b, a, b); }
PSVI_INLINE lane lane_root(lane a) {
    lane r = a;
    for (int i = 0; i < LANES; ++i)
        r[i] = sqrtf(a[i]);
    return r;
}

PSVI_INLINE lane3 lane3_make(lane x, lane y, lane z) { return (lane3){x, y, z}; }
PSVI_INLINE lane3 lane3_load(const float p[3][LANES]) { return (lane3){load(p[0]), load(p[1]), load(p[2])}; }
PSVI_INLINE void lane3_store(float p[3][LANES], lane3 a) {
    store(p[0], a.x);
    store(p[1], a.y);
    store(p[2], a.z);
}
PSVI_INLINE lane3 lane3_add(lane3 a, lane3 b) { return (lane3){a.x + b.x, a.y + b.y, a.z + b.z}; }
PSVI_INLINE lane3 lane3_sub(lane3 a, lane3 b) { return (lane3){a.x - b.x, a.y - b.y, a.z - b.z}; }
PSVI_INLINE lane3 lane3_scale(lane3 a, lane s) { return (lane3){a.x * s, a.y * s, a.z * s}; }
PSVI_INLINE lane3 lane3_madd(lane3 a, lane3 b, lane s) { return (lane3){a.x + b.x * s, a.y + b.y * s, a.z + b.z * s}; }
PSVI_INLINE lane lane3_dot(lane3 a, lane3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
PSVI_INLINE lane3 lane3_cross(lane3 a, lane3 b) {
    return (lane3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

PSVI_INLINE void lane3_tangents(lane3 n, lane3 *t1, lane3 *t2) { // as v3_tangents
    lane one = lane_of(1), sign = lane_choose(n.z >= lane_of(0), one, -one);
    lane a = -one / (sign + n.z);
    lane b = n.x * n.y * a;
    *t1 = (lane3){one + sign * n.x * n.x * a, sign * b, -sign * n.x};
    *t2 = (lane3){b, sign + n.y * n.y * a, -n.y};
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

// Element index[k] of an array of rows `stride` bytes apart, from `base`, a member of its first element.
PSVI_INLINE const f4 *gathered_row(const psvi_f4 *base, uint64_t stride, uint32_t index) {
    return (const f4 *)(const void *)((const char *)base + index * stride);
}

PSVI_INLINE void gather(const psvi_f4 *base, uint64_t stride, const uint32_t *index, lane3 *v, lane *w) {
    f8 in[4], out[4];
    for (int k = 0; k < 4; ++k)
        in[k] = join(*gathered_row(base, stride, index[k]), *gathered_row(base, stride, index[k + 4]));
    transpose(in, out);
    *v = (lane3){out[0], out[1], out[2]};
    *w = out[3];
}

PSVI_INLINE void put_row(psvi_f4 *base, uint64_t stride, uint32_t index, f4 row, uint32_t wanted) {
    if (wanted != 0) memcpy((char *)base + index * stride, &row, sizeof row);
}

PSVI_INLINE void scatter(psvi_f4 *base, uint64_t stride, const uint32_t *index, uint32_t lanes, lane3 v, lane w) {
    f8 in[4] = {v.x, v.y, v.z, w}, out[4];
    transpose(in, out);
    for (int k = 0; k < 4; ++k) {
        put_row(base, stride, index[k], low_half(out[k]), lanes >> k & 1u);
        put_row(base, stride, index[k + 4], high_half(out[k]), lanes >> (k + 4) & 1u);
    }
}

#endif
