// Rolling and spinning friction: a contact also takes up to mu_r R N of torque against rolling of its bodies over each
// other, and up to mu_s R N against spin about the normal; N is its normal force, R the lesser radius of those that are
// balls or capsules, or else the bodies' lesser half width. As sliding friction it holds what is below the limit and
// slows what is above it. One angular impulse a contact; spins are those of bodies whose inertia is made 1
// (contact_rows.h). It is applied by itself after each pass over a colour, in worlds that have such shapes; others run
// none of this.
#ifndef PAIRSIEVE_SIM_SOLVE_ROLL_CUH
#define PAIRSIEVE_SIM_SOLVE_ROLL_CUH

#include "../solver/contact_rows.h"

PSVI_HD float psvi_roll_radius(const psvi_shape *shape) {
    bool round = shape->type == PSV_SHAPE_SPHERE || shape->type == PSV_SHAPE_CAPSULE;
    return round ? shape->size[0] : PSVI_STATIC_RADIUS;
}

// The limits of two bodies: of torque for a normal force of 1.
PSVI_HD void psvi_roll_limits(const psvi_sim *s, uint32_t a, uint32_t b, float *rolling, float *spinning) {
    const psvi_shape *p = &s->shapes[s->shape[a]], *q = &s->shapes[s->shape[b]];
    float size = fminf(psvi_roll_radius(p), psvi_roll_radius(q));
    if (size == PSVI_STATIC_RADIUS) size = fminf(p->thin, q->thin);
    *rolling = fmaxf(p->rolling_friction, q->rolling_friction) * size;
    *spinning = fmaxf(p->spinning_friction, q->spinning_friction) * size;
}

PSVI_HD bool psvi_pair_rolls(const psvi_sim *s, uint32_t a, uint32_t b) {
    float rolling, spinning;
    psvi_roll_limits(s, a, b, &rolling, &spinning);
    return rolling > 0 || spinning > 0;
}

// A step's beginning. `kept`: the impulse of the last step; NULL for none, and where no forces act.
PSVI_HD psvi_roll psvi_start_roll(const psvi_sim *s, uint32_t a, uint32_t b, const float normal[3],
                                  const psvi_f4 *kept) {
    psvi_roll roll;
    float rolling, spinning;
    psvi_roll_limits(s, a, b, &rolling, &spinning);
    roll.impulse = f4_make(kept ? v3_of4(*kept) : v3_make(0, 0, 0), rolling);
    roll.normal = f4_make(v3_of(normal), spinning);
    return roll;
}

// The spins of a contact's bodies, and the roots of their inverse inertias.
typedef struct psvi_spins {
    v3 a, b;
    psvi_root root_a, root_b;
} psvi_spins;

PSVI_HD void psvi_roll_apply(psvi_spins *t, v3 impulse) {
    t->a = v3_sub(t->a, psvi_root_mul_transposed(t->root_a, impulse));
    t->b = v3_add(t->b, psvi_root_mul_transposed(t->root_b, impulse));
}

// 1 / what an impulse of 1 about `direction` changes; 0 where nothing turns.
PSVI_HD float psvi_roll_mass(const psvi_spins *t, v3 direction) {
    v3 a = psvi_root_mul_transposed(t->root_a, direction), b = psvi_root_mul_transposed(t->root_b, direction);
    float k = v3_dot(a, a) + v3_dot(b, b);
    return k > 0 ? 1.0f / k : 0.0f;
}

PSVI_HD v3 psvi_roll_spin(const psvi_spins *t) {
    return v3_sub(psvi_root_mul(t->root_b, t->b), psvi_root_mul(t->root_a, t->a));
}

// `pressing`: the contact's normal impulse of the substep.
PSVI_HD void psvi_solve_roll(psvi_roll *roll, float pressing, psvi_spins *t) {
    v3 n = v3_of4(roll->normal), before = v3_of4(roll->impulse), t1, t2;
    v3_tangents(n, &t1, &t2);
    float z = v3_dot(before, n);
    v3 spin = psvi_roll_spin(t);
    // One mass for both tangents, or the torque would not point against the rolling.
    float mass = fminf(psvi_roll_mass(t, t1), psvi_roll_mass(t, t2));
    float x = v3_dot(before, t1) - mass * v3_dot(spin, t1), y = v3_dot(before, t2) - mass * v3_dot(spin, t2);
    float limit = roll->impulse.w * pressing, squared = x * x + y * y;
    if (squared > limit * limit) {
        float scale = limit / sqrtf(squared);
        x *= scale;
        y *= scale;
    }
    v3 now = v3_madd(v3_madd(v3_scale(n, z), t1, x), t2, y);
    psvi_roll_apply(t, v3_sub(now, before));
    limit = roll->normal.w * pressing;
    float about = clamp_f(z - psvi_roll_mass(t, n) * v3_dot(psvi_roll_spin(t), n), -limit, limit);
    psvi_roll_apply(t, v3_scale(n, about - z));
    roll->impulse = f4_make(v3_madd(now, n, about - z), roll->impulse.w);
}

#endif
