// What forces do to a body's velocities in a substep: gravity, self-gravity, and the damping of bodies that have one.
#ifndef PAIRSIEVE_BODY_FORCES_H
#define PAIRSIEVE_BODY_FORCES_H

#include "../data/sim_data.h"

// The world's gravity as a body feels it.
PSVI_HD v3 psvi_body_gravity(const psvi_sim *s, const psvi_step *step, uint32_t i) {
    v3 a = v3_of(step->gravity);
    return s->forces ? v3_scale(a, s->forces[i].z) : a;
}

// `own`, a constant of the call: whether bodies have forces of their own. Velocity after a substep. With damping c it
// is the exact solution of v' = a - c v, so what falls for long comes to a / c whatever the substep.
PSVI_HD_CALL v3 psvi_forced_velocity(const psvi_sim *s, const psvi_step *step, uint32_t i, bool own, v3 v) {
    v3 a = own ? psvi_body_gravity(s, step, i) : v3_of(step->gravity);
    if (s->acceleration) a = v3_add(a, v3_of4(s->acceleration[i]));
    float damping = own ? s->forces[i].x : 0.0f;
    if (!(damping > 0)) return v3_madd(v, a, step->substep);
    float lost = -psvi_exp_less_1(-damping * step->substep); // share of the velocity
    return v3_add(v3_scale(v, 1 - lost), v3_scale(a, lost / damping));
}

PSVI_HD_CALL v3 psvi_damped_spin(const psvi_sim *s, const psvi_step *step, uint32_t i, bool own, v3 w) {
    return own ? v3_scale(w, psvi_exp(-s->forces[i].y * step->substep)) : w;
}

#endif
