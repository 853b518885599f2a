// How a body turns while nothing acts on it: both its angular momentum and its energy stay, whatever its shape and the
// length of the step. In the body's frame the momentum m goes round by dm/dt = m x I^-1 m; the implicit midpoint rule
// keeps |m| and m . I^-1 m, both being quadratic, and the Cayley map of the same mid spin turns the body, so that the
// momentum stands still in the world (Simo & Wong 1991; Lewis & Simo 1994).
#ifndef PAIRSIEVE_FREE_ROTATION_H
#define PAIRSIEVE_FREE_ROTATION_H

#include "../data/sim_math.h"

#define PSVI_TURN_PART 0.2f     // radians of a part of a step: the error of a period goes with its square
#define PSVI_TURN_MOST_PARTS 64 // what spins faster is followed more coarsely, but keeps momentum and energy too

// The x with x.x * a + x.y * b + x.z * c = r.
PSVI_HD v3 psvi_solve_columns(v3 a, v3 b, v3 c, v3 r) {
    v3 bc = v3_cross(b, c);
    float inverse = 1.0f / v3_dot(a, bc);
    return v3_scale(v3_make(v3_dot(r, bc), v3_dot(r, v3_cross(c, a)), v3_dot(r, v3_cross(a, b))), inverse);
}

// The spin in the middle of a part of `seconds` that begins with the momentum m, in the body's frame: the w with
// I w + seconds / 2 w x I w = m, after Newton.
PSVI_HD v3 psvi_middle_spin(sym3 inertia, sym3 inverse, v3 m, float seconds) {
    const v3 ix = v3_make(inertia.xx, inertia.xy, inertia.xz), iy = v3_make(inertia.xy, inertia.yy, inertia.yz);
    const v3 iz = v3_make(inertia.xz, inertia.yz, inertia.zz);
    const float h = 0.5f * seconds;
    v3 w = sym3_mul(inverse, m);
    for (int i = 0; i < 3; ++i) {
        v3 iw = sym3_mul(inertia, w), wrong = v3_sub(v3_madd(iw, v3_cross(w, iw), h), m);
        v3 x = v3_madd(ix, v3_add(v3_cross(w, ix), v3_make(0, -iw.z, iw.y)), h);
        v3 y = v3_madd(iy, v3_add(v3_cross(w, iy), v3_make(iw.z, 0, -iw.x)), h);
        v3 z = v3_madd(iz, v3_add(v3_cross(w, iz), v3_make(-iw.y, iw.x, 0)), h);
        w = v3_sub(w, psvi_solve_columns(x, y, z, wrong));
    }
    return w;
}

// The pose's rotation after `seconds`, for the momentum m in the body's frame at first.
PSVI_HD quat psvi_turn_freely(sym3 inertia, sym3 inverse, quat q, v3 m, float seconds) {
    float turns = v3_length(sym3_mul(inverse, m)) * seconds;
    int parts = (int)fminf(ceilf(turns * (1.0f / PSVI_TURN_PART)), (float)PSVI_TURN_MOST_PARTS);
    float part = seconds / (float)(parts > 0 ? parts : 1);
    for (int i = 0; i < parts; ++i) {
        v3 w = psvi_middle_spin(inertia, inverse, m, part);
        v3 half = v3_scale(w, 0.5f * part);
        quat turn = quat_unit(quat_make(half.x, half.y, half.z, 1));
        m = quat_unrotate(turn, m);
        q = quat_mul(q, turn);
    }
    return quat_unit(q);
}

// A body with two equal moments of inertia: its axis, and the moment about it over the other two; ratio 0 for others.
typedef struct psvi_top {
    v3 axis;
    float ratio;
} psvi_top;

// With I = I1 + (I3 - I1) u u^T the deviator's size gives I3 - I1 but for its sign, which its determinant has.
PSVI_HD_LONG psvi_top psvi_top_of(sym3 m) {
    psvi_top top = {{0, 0, 0}, 0};
    const float mean = (m.xx + m.yy + m.zz) * (1.0f / 3);
    const float x = m.xx - mean, y = m.yy - mean, z = m.zz - mean;
    const float size = sqrtf((x * x + y * y + z * z + 2 * (m.xy * m.xy + m.xz * m.xz + m.yz * m.yz)) * (1.0f / 6));
    const float sign = x * (y * z - m.yz * m.yz) - m.xy * (m.xy * z - m.yz * m.xz) + m.xz * (m.xy * m.yz - y * m.xz);
    const float difference = sign < 0 ? -3 * size : 3 * size, other = mean - difference * (1.0f / 3);
    if (!(size > 0.02f * mean) || !(other > 0)) return top; // a ball has no axis
    const float inverse = 1 / difference, a = (m.xx - other) * inverse, b = (m.yy - other) * inverse;
    const float c = (m.zz - other) * inverse; // squares of the axis
    v3 u = v3_make(a, m.xy * inverse, m.xz * inverse);
    if (b > a && b >= c) u = v3_make(m.xy * inverse, b, m.yz * inverse);
    if (c > a && c > b) u = v3_make(m.xz * inverse, m.yz * inverse, c);
    u = v3_unit_or(u, v3_make(0, 1, 0));
    const float wrong = fabsf(u.x * u.x - a) + fabsf(u.y * u.y - b) + fabsf(u.z * u.z - c) +
                        fabsf(u.x * u.y - m.xy * inverse) + fabsf(u.x * u.z - m.xz * inverse) +
                        fabsf(u.y * u.z - m.yz * inverse);
    if (wrong > 0.02f) return top;
    top.axis = u;
    top.ratio = (other + difference) / other;
    return top;
}

// A top through `seconds`: the momentum over the equal moments, g, stays, and the axis goes round it. Exact. Returns
// the new spin, seen from a frame that has turned with the axis by *turn.
PSVI_HD v3 psvi_top_step(v3 axis, float ratio, v3 w, float seconds, quat *turn) {
    const v3 g = v3_madd(w, axis, (ratio - 1) * v3_dot(w, axis));
    const v3 next = quat_rotate(quat_of_vector(v3_scale(g, seconds)), axis), side = v3_cross(axis, next);
    *turn = quat_unit(quat_make(side.x, side.y, side.z, 1 + v3_dot(axis, next)));
    const v3 now = quat_unrotate(*turn, g);
    return v3_madd(now, axis, (1 / ratio - 1) * v3_dot(now, axis));
}

#endif
