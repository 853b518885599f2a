// Rolling and spinning friction. A contact takes a torque of up to mu_r R N against rolling of its bodies over each
// other, and of up to mu_s R N against spin about the normal. N is its normal force. R is the lesser radius of the
// balls and capsules, or without any the bodies' lesser half width. Like sliding friction it holds what is below the
// limit and slows what is above it. A contact has one angular impulse, solved by row_solve_roll at the end of a pass.
// Worlds without such shapes run none of this.
#ifndef PAIRSIEVE_CONTACT_ROLL_H
#define PAIRSIEVE_CONTACT_ROLL_H

#include "../contacts/contact_kept.h"
#include "../data/sim_data.h"

PSVI_HD float psvi_roll_radius(const psvi_shape *shape) {
    bool round = shape->type == PSV_SHAPE_SPHERE || shape->type == PSV_SHAPE_CAPSULE;
    return round ? shape->size[0] : PSVI_STATIC_RADIUS;
}

// The limits of two bodies: of torque for a normal force of 1.
PSVI_HD void psvi_roll_limits(const psvi_sim *s, uint32_t a, uint32_t b, float *rolling, float *spinning) {
    const psvi_shape *p = &s->geometry.shapes[s->shape[a]], *q = &s->geometry.shapes[s->shape[b]];
    float size = fminf(psvi_roll_radius(p), psvi_roll_radius(q));
    if (size == PSVI_STATIC_RADIUS) size = fminf(p->thin, q->thin);
    *rolling = fmaxf(p->rolling_friction, q->rolling_friction) * size;
    *spinning = fmaxf(p->spinning_friction, q->spinning_friction) * size;
}

// A step's beginning; the impulse is about the tangents (x, y) and the normal (z). Where forces act it goes on from the
// one of the last step, which is kept as a vector of the world.
PSVI_HD psvi_roll psvi_start_roll(const psvi_sim *s, const psvi_step *step, const psvi_contact *c,
                                  const float normal[3]) {
    const psvi_kept_contact *kept = step->rolls ? psvi_find_kept(s, c->a, c->b) : 0;
    psvi_roll roll;
    float rolling, spinning;
    v3 n = v3_of(normal), was = kept ? v3_of4(s->kept_rolls[kept->first]) : v3_make(0, 0, 0), t1, t2;
    psvi_roll_limits(s, c->a, c->b, &rolling, &spinning);
    v3_tangents(n, &t1, &t2);
    // Where there is no limit, what is kept at this place may be of an older contact.
    const v3 about = v3_make(rolling > 0 ? v3_dot(was, t1) : 0, rolling > 0 ? v3_dot(was, t2) : 0,
                             spinning > 0 ? v3_dot(was, n) : 0);
    roll.impulse = f4_make(about, rolling);
    roll.normal = f4_make(n, spinning);
    return roll;
}

// The impulse as it is kept.
PSVI_HD psvi_f4 psvi_keep_roll(v3 n, v3 impulse) {
    v3 t1, t2;
    v3_tangents(n, &t1, &t2);
    return f4_make(v3_madd(v3_madd(v3_scale(t1, impulse.x), t2, impulse.y), n, impulse.z), 0);
}

#endif
