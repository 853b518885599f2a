// Contacts of any kind as rows: each direction of a point (normal, two tangents) holds what it takes from the two
// spins, so that a solve is two dot products and their reverse. Spins are those of bodies whose inertia is made 1: with
// L the root of the inverse inertia, I^-1 = L L^T, the spin w is L w', and a row is L^T (arm x direction); the same row
// then measures the speed and applies the impulse, and no inertia is read. What does not turn has rows of 0. The same
// formulas as in contact_solver.h.
#ifndef PAIRSIEVE_CONTACT_ROWS_H
#define PAIRSIEVE_CONTACT_ROWS_H

#include "contact_softness.h"

// Lower triangle.
typedef struct psvi_root {
    float xx, yx, yy, zx, zy, zz;
} psvi_root;

PSVI_HD psvi_root psvi_root_of(sym3 m) {
    psvi_root l;
    l.xx = sqrtf(fmaxf(m.xx, 0.0f));
    float inverse = l.xx > 0 ? 1.0f / l.xx : 0.0f;
    l.yx = m.xy * inverse;
    l.zx = m.xz * inverse;
    l.yy = sqrtf(fmaxf(m.yy - l.yx * l.yx, 0.0f));
    inverse = l.yy > 0 ? 1.0f / l.yy : 0.0f;
    l.zy = (m.yz - l.yx * l.zx) * inverse;
    l.zz = sqrtf(fmaxf(m.zz - l.zx * l.zx - l.zy * l.zy, 0.0f));
    return l;
}

PSVI_HD psvi_root psvi_root_isotropic(float a) {
    psvi_root l = {a, 0, a, 0, 0, a};
    return l;
}

PSVI_HD v3 psvi_root_mul(psvi_root l, v3 a) {
    return v3_make(l.xx * a.x, l.yx * a.x + l.yy * a.y, l.zx * a.x + l.zy * a.y + l.zz * a.z);
}

PSVI_HD v3 psvi_root_mul_transposed(psvi_root l, v3 a) {
    return v3_make(l.xx * a.x + l.yx * a.y + l.zx * a.z, l.yy * a.y + l.zy * a.z, l.zz * a.z);
}

// L^-1 a; 0 along what cannot turn.
PSVI_HD v3 psvi_root_solve(psvi_root l, v3 a) {
    float x = l.xx > 0 ? a.x / l.xx : 0.0f;
    float y = l.yy > 0 ? (a.y - l.yx * x) / l.yy : 0.0f;
    return v3_make(x, y, l.zz > 0 ? (a.z - l.zx * x - l.zy * y) / l.zz : 0.0f);
}

// The two bodies of a contact; spins as above.
typedef struct psvi_pair_state {
    v3 va, wa, vb, wb;
    float ma, mb;
} psvi_pair_state;

typedef struct psvi_row {
    v3 direction, spin_a, spin_b;
} psvi_row;

PSVI_HD float psvi_row_speed(const psvi_pair_state *t, const psvi_row *r) {
    return v3_dot(v3_sub(t->vb, t->va), r->direction) + (v3_dot(t->wb, r->spin_b) - v3_dot(t->wa, r->spin_a));
}

PSVI_HD void psvi_row_apply(psvi_pair_state *t, const psvi_row *r, float impulse) {
    t->va = v3_madd(t->va, r->direction, -t->ma * impulse);
    t->vb = v3_madd(t->vb, r->direction, t->mb * impulse);
    t->wa = v3_madd(t->wa, r->spin_a, -impulse);
    t->wb = v3_madd(t->wb, r->spin_b, impulse);
}

PSVI_HD float psvi_inverse_root(float x) {
#if defined(__CUDA_ARCH__)
    return rsqrtf(x);
#else
    return 1.0f / sqrtf(x);
#endif
}

// Both tangents; `impulse`: normal, tangents; `mass` includes the share of mass splitting.
PSVI_HD void psvi_rows_friction(psvi_pair_state *t, const psvi_row *r1, const psvi_row *r2, psvi_f4 *impulse,
                                float friction, float mass) {
    float x = impulse->y - mass * psvi_row_speed(t, r1);
    float y = impulse->z - mass * psvi_row_speed(t, r2);
    float limit = friction * impulse->x, squared = x * x + y * y;
    if (squared > limit * limit) {
        float scale = limit * psvi_inverse_root(squared);
        x *= scale;
        y *= scale;
    }
    psvi_row_apply(t, r1, x - impulse->y);
    psvi_row_apply(t, r2, y - impulse->z);
    impulse->y = x;
    impulse->z = y;
}

PSVI_HD void psvi_row_normal(psvi_pair_state *t, const psvi_row *r, psvi_f4 *impulse, psvi_softness s, float mass) {
    float change = -mass * s.mass_scale * (psvi_row_speed(t, r) + s.bias) - s.impulse_scale * impulse->x;
    float total = fmaxf(impulse->x + change, 0.0f);
    psvi_row_apply(t, r, total - impulse->x);
    impulse->x = total;
}

// Adds a point's row times its impulse to what all points of a contact do together.
PSVI_HD void psvi_row_add(psvi_row *whole, const psvi_row *r, float impulse) {
    whole->direction = v3_madd(whole->direction, r->direction, impulse);
    whole->spin_a = v3_madd(whole->spin_a, r->spin_a, impulse);
    whole->spin_b = v3_madd(whole->spin_b, r->spin_b, impulse);
}

#endif
