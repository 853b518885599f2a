// Vectors, quaternions and symmetric matrices for the simulation, shared by C and CUDA.
#ifndef PAIRSIEVE_SIM_MATH_H
#define PAIRSIEVE_SIM_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../core/host_device.h"

// For long functions that stay calls on the device, where a kernel would hold several copies of them.
#if defined(__CUDACC__)
#define PSVI_HD_LONG static inline __host__ __device__ __noinline__
#else
#define PSVI_HD_LONG static inline
#endif

// For functions of which each call has its own code, without what the call's constants rule out.
#if defined(__CUDACC__)
#define PSVI_HD_CALL PSVI_HD
#else
#define PSVI_HD_CALL static inline __attribute__((always_inline))
#endif

#if defined(__CUDACC__)
#define PSVI_ALIGN16 __align__(16)
#define PSVI_ALIGN8 __align__(8)
#else
#define PSVI_ALIGN8 __attribute__((aligned(8)))
#define PSVI_ALIGN16 __attribute__((aligned(16)))
#endif

typedef struct PSVI_ALIGN16 psvi_f4 {
    float x, y, z, w;
} psvi_f4;

typedef struct v3 {
    float x, y, z;
} v3;

typedef struct quat {
    float x, y, z, w;
} quat;

// Symmetric 3 x 3 matrix.
typedef struct PSVI_ALIGN8 sym3 {
    float xx, yy, zz, xy, xz, yz;
} sym3;

// Rotation as its three columns: the axes of the rotated frame.
typedef struct axes3 {
    v3 u[3];
} axes3;

PSVI_HD v3 v3_make(float x, float y, float z) {
    v3 r;
    r.x = x;
    r.y = y;
    r.z = z;
    return r;
}
PSVI_HD void psvi_put(float target[3], v3 a) {
    target[0] = a.x;
    target[1] = a.y;
    target[2] = a.z;
}

PSVI_HD v3 v3_of(const float *p) { return v3_make(p[0], p[1], p[2]); }
PSVI_HD v3 v3_of4(psvi_f4 p) { return v3_make(p.x, p.y, p.z); }
PSVI_HD psvi_f4 f4_make(v3 a, float w) {
    psvi_f4 r;
    r.x = a.x;
    r.y = a.y;
    r.z = a.z;
    r.w = w;
    return r;
}
// Four floats at once, where they lie in memory: one instruction on processors that have it.
#if defined(__CUDACC__)
typedef psvi_f4 vec4;
PSVI_HD vec4 vec4_make(float x, float y, float z, float w) { return f4_make(v3_make(x, y, z), w); }
PSVI_HD vec4 vec4_add(vec4 a, vec4 b) { return vec4_make(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
PSVI_HD vec4 vec4_sub(vec4 a, vec4 b) { return vec4_make(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w); }
PSVI_HD vec4 vec4_scale(vec4 a, float s) { return vec4_make(a.x * s, a.y * s, a.z * s, a.w * s); }
PSVI_HD vec4 vec4_mul(vec4 a, vec4 b) { return vec4_make(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
PSVI_HD float vec4_w(vec4 a) { return a.w; }
#else
typedef float vec4 __attribute__((vector_size(16), may_alias));
PSVI_HD vec4 vec4_make(float x, float y, float z, float w) { return (vec4){x, y, z, w}; }
PSVI_HD vec4 vec4_add(vec4 a, vec4 b) { return a + b; }
PSVI_HD vec4 vec4_sub(vec4 a, vec4 b) { return a - b; }
PSVI_HD vec4 vec4_scale(vec4 a, float s) { return a * s; }
PSVI_HD vec4 vec4_mul(vec4 a, vec4 b) { return a * b; }
PSVI_HD float vec4_w(vec4 a) { return a[3]; }
#endif
PSVI_HD vec4 vec4_load(const psvi_f4 *p) { return *(const vec4 *)(const void *)p; }
PSVI_HD void vec4_store(psvi_f4 *p, vec4 a) { *(vec4 *)(void *)p = a; }

PSVI_HD v3 v3_add(v3 a, v3 b) { return v3_make(a.x + b.x, a.y + b.y, a.z + b.z); }
PSVI_HD v3 v3_sub(v3 a, v3 b) { return v3_make(a.x - b.x, a.y - b.y, a.z - b.z); }
PSVI_HD v3 v3_scale(v3 a, float s) { return v3_make(a.x * s, a.y * s, a.z * s); }
PSVI_HD v3 v3_neg(v3 a) { return v3_make(-a.x, -a.y, -a.z); }
PSVI_HD v3 v3_madd(v3 a, v3 b, float s) { return v3_make(a.x + b.x * s, a.y + b.y * s, a.z + b.z * s); }
PSVI_HD float v3_dot(v3 a, v3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
PSVI_HD v3 v3_cross(v3 a, v3 b) { return v3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
PSVI_HD float v3_length(v3 a) { return sqrtf(v3_dot(a, a)); }
PSVI_HD v3 v3_min(v3 a, v3 b) { return v3_make(fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z)); }
PSVI_HD v3 v3_max(v3 a, v3 b) { return v3_make(fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z)); }
PSVI_HD v3 v3_abs(v3 a) { return v3_make(fabsf(a.x), fabsf(a.y), fabsf(a.z)); }

// Unit vector of a; `fallback` when a is too short to have a direction.
PSVI_HD v3 v3_unit_or(v3 a, v3 fallback) {
    float squared = v3_dot(a, a);
    return squared > 1e-20f ? v3_scale(a, 1.0f / sqrtf(squared)) : fallback;
}

PSVI_HD uint32_t psvi_lowest_bit(uint32_t bits) { // of a number that is not 0
#if defined(__CUDA_ARCH__)
    return (uint32_t)__ffs((int)bits) - 1;
#else
    return (uint32_t)__builtin_ctz(bits);
#endif
}
PSVI_HD uint32_t psvi_highest_bit(uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return 31 - (uint32_t)__clz((int)bits);
#else
    return 31 - (uint32_t)__builtin_clz(bits);
#endif
}

// The component `axis` (0 to 2), without indexing memory.
PSVI_HD float v3_axis(v3 a, int axis) { return axis == 0 ? a.x : axis == 1 ? a.y : a.z; }
PSVI_HD v3 v3_with_axis(v3 a, int axis, float value) {
    return v3_make(axis == 0 ? value : a.x, axis == 1 ? value : a.y, axis == 2 ? value : a.z);
}

PSVI_HD bool psvi_finite(v3 a) { // false for NaN too: infinity times 0 is NaN
    float sum = a.x * 0 + a.y * 0 + a.z * 0;
    return sum == 0;
}

PSVI_HD float clamp_f(float x, float low, float high) { return fminf(fmaxf(x, low), high); }

PSVI_HD quat quat_make(float x, float y, float z, float w) {
    quat q;
    q.x = x;
    q.y = y;
    q.z = z;
    q.w = w;
    return q;
}
PSVI_HD quat quat_of(const float *p) { return quat_make(p[0], p[1], p[2], p[3]); }
PSVI_HD quat quat_of4(psvi_f4 p) { return quat_make(p.x, p.y, p.z, p.w); }
PSVI_HD quat quat_mul(quat a, quat b) {
    return quat_make(a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                     a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z);
}
PSVI_HD quat quat_unit(quat q) {
    float squared = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    if (!(squared > 1e-20f)) return quat_make(0, 0, 0, 1);
    float s = 1.0f / sqrtf(squared);
    return quat_make(q.x * s, q.y * s, q.z * s, q.w * s);
}
// Long enough to have a direction, and short enough for its square to be a float: what a unit quaternion can be made
// of.
PSVI_HD bool psvi_is_rotation(const float q[4]) { // false for NaN
    float squared = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    return squared > 1e-6f && squared <= 3.4028235e38f;
}
PSVI_HD_CALL v3 quat_rotate(quat q, v3 a) {
    v3 u = v3_make(q.x, q.y, q.z);
    v3 t = v3_scale(v3_cross(u, a), 2.0f);
    return v3_add(v3_madd(a, t, q.w), v3_cross(u, t));
}
PSVI_HD v3 quat_unrotate(quat q, v3 a) { return quat_rotate(quat_make(-q.x, -q.y, -q.z, q.w), a); }

// --- functions that a library of each system would round in its own way ----------------------------------------------

// Taylor series, right to the last digits of a float. Their arguments are reduced by multiples of a quarter turn, or of
// the logarithm of 2. Both are given in two parts, of which the first has few digits.

// 2^k, k from -126 to 127.
PSVI_HD float psvi_power_of_2(int k) {
    union {
        uint32_t bits;
        float value;
    } power;
    power.bits = (uint32_t)(k + 127) << 23;
    return power.value;
}

PSVI_HD void psvi_sin_cos(float x, float *sine, float *cosine) {
    x = fabsf(x) < 1e6f ? x : 0; // what turns faster is nowhere
    const float quarters = floorf(x * 0.63661977f + 0.5f);
    const float r = (x - quarters * 1.5703125f) - quarters * 4.8382679e-4f, q = r * r;
    const float a = r * (1 - q * (1 / 6.0f) * (1 - q * (1 / 20.0f) * (1 - q * (1 / 42.0f) * (1 - q * (1 / 72.0f)))));
    const float b =
        1 - q * 0.5f * (1 - q * (1 / 12.0f) * (1 - q * (1 / 30.0f) * (1 - q * (1 / 56.0f) * (1 - q * (1 / 90.0f)))));
    const int turn = (int)(quarters - 4 * floorf(quarters * 0.25f));
    const float s = (turn & 1) != 0 ? b : a, c = (turn & 1) != 0 ? a : b;
    *sine = turn >= 2 ? -s : s;
    *cosine = turn == 1 || turn == 2 ? -c : c;
}

// The angle of the point (x, y), y >= 0, from 0 to half a turn.
PSVI_HD float psvi_angle_of(float y, float x) {
    const float wide = fmaxf(y, fabsf(x)), narrow = fminf(y, fabsf(x));
    float t = wide > 0 ? narrow / wide : 0;
    for (int i = 0; i < 2; ++i) // halves the angle
        t = t / (1 + sqrtf(1 + t * t));
    const float q = t * t;
    const float part =
        4 * t * (1 - q * (1 / 3.0f - q * (1 / 5.0f - q * (1 / 7.0f - q * (1 / 9.0f - q * (1 / 11.0f))))));
    const float angle = y > fabsf(x) ? 1.57079633f - part : part;
    return x < 0 ? 3.14159265f - angle : angle;
}

// e^x - 1, and e^x, of x <= 0.
PSVI_HD float psvi_exp_less_1(float x) {
    const float k = floorf(fmaxf(x, -80.0f) * 1.44269504f + 0.5f), scale = psvi_power_of_2((int)k);
    const float r = (fmaxf(x, -80.0f) - k * 0.693359375f) + k * 2.12194440e-4f;
    const float e =
        r *
        (1 + r * (1 / 2.0f) *
                 (1 + r * (1 / 3.0f) *
                          (1 + r * (1 / 4.0f) * (1 + r * (1 / 5.0f) * (1 + r * (1 / 6.0f) * (1 + r * (1 / 7.0f)))))));
    return scale * e + (scale - 1);
}
PSVI_HD float psvi_exp(float x) { return 1 + psvi_exp_less_1(x); }

// Rotation by the vector's length about its direction.
PSVI_HD quat quat_of_vector(v3 r) {
    float angle = v3_length(r);
    float half = 0.5f * angle;
    float sine, cosine;
    psvi_sin_cos(half, &sine, &cosine);
    // Taylor series near 0, where the quotient loses its digits.
    float s = angle > 1e-3f ? sine / angle : 0.5f - angle * angle * (1.0f / 48.0f);
    return quat_unit(quat_make(r.x * s, r.y * s, r.z * s, cosine));
}

PSVI_HD axes3 quat_axes(quat q) {
    axes3 r;
    r.u[0] = v3_make(1 - 2 * (q.y * q.y + q.z * q.z), 2 * (q.x * q.y + q.w * q.z), 2 * (q.x * q.z - q.w * q.y));
    r.u[1] = v3_make(2 * (q.x * q.y - q.w * q.z), 1 - 2 * (q.x * q.x + q.z * q.z), 2 * (q.y * q.z + q.w * q.x));
    r.u[2] = v3_make(2 * (q.x * q.z + q.w * q.y), 2 * (q.y * q.z - q.w * q.x), 1 - 2 * (q.x * q.x + q.y * q.y));
    return r;
}

PSVI_HD sym3 sym3_isotropic(float a) {
    sym3 m = {a, a, a, 0, 0, 0};
    return m;
}
PSVI_HD v3 sym3_mul(sym3 m, v3 a) {
    return v3_make(m.xx * a.x + m.xy * a.y + m.xz * a.z, m.xy * a.x + m.yy * a.y + m.yz * a.z,
                   m.xz * a.x + m.yz * a.y + m.zz * a.z);
}

// R m R^T: a tensor of the body's frame seen from the world.
PSVI_HD sym3 sym3_rotate(sym3 m, axes3 r) {
    // columns of R m
    v3 x = v3_add(v3_add(v3_scale(r.u[0], m.xx), v3_scale(r.u[1], m.xy)), v3_scale(r.u[2], m.xz));
    v3 y = v3_add(v3_add(v3_scale(r.u[0], m.xy), v3_scale(r.u[1], m.yy)), v3_scale(r.u[2], m.yz));
    v3 z = v3_add(v3_add(v3_scale(r.u[0], m.xz), v3_scale(r.u[1], m.yz)), v3_scale(r.u[2], m.zz));
    sym3 o;
    o.xx = x.x * r.u[0].x + y.x * r.u[1].x + z.x * r.u[2].x;
    o.yy = x.y * r.u[0].y + y.y * r.u[1].y + z.y * r.u[2].y;
    o.zz = x.z * r.u[0].z + y.z * r.u[1].z + z.z * r.u[2].z;
    o.xy = x.x * r.u[0].y + y.x * r.u[1].y + z.x * r.u[2].y;
    o.xz = x.x * r.u[0].z + y.x * r.u[1].z + z.x * r.u[2].z;
    o.yz = x.y * r.u[0].z + y.y * r.u[1].z + z.y * r.u[2].z;
    return o;
}

// Two unit vectors that make a right-handed frame with the unit vector n (Duff et al. 2017 without the branch's sign
// of zero trouble).
PSVI_HD void v3_tangents(v3 n, v3 *t1, v3 *t2) {
    float sign = n.z >= 0 ? 1.0f : -1.0f;
    float a = -1.0f / (sign + n.z);
    float b = n.x * n.y * a;
    *t1 = v3_make(1.0f + sign * n.x * n.x * a, sign * b, -sign * n.x);
    *t2 = v3_make(b, sign + n.y * n.y * a, -n.y);
}

#endif
