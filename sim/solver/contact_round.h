// Contacts of one point between balls, or of a ball and what does not turn: the point lies on the normal through the
// centre, so spin has no part in the normal speed and inertia is a number. Spins as in contact_rows.h. The same
// formulas as in contact_solver.h.
#ifndef PAIRSIEVE_CONTACT_ROUND_H
#define PAIRSIEVE_CONTACT_ROUND_H

#include "contact_hit.h"

typedef struct psvi_balls {
    v3 va, wa, vb, wb;
    float ma, mb; // inverse masses
    float ra, rb; // distances of the point from the centres, times the root of the inverse inertia
} psvi_balls;

PSVI_HD void psvi_round_apply(psvi_balls *t, v3 n, v3 impulse, bool turning) {
    t->va = v3_madd(t->va, impulse, -t->ma);
    t->vb = v3_madd(t->vb, impulse, t->mb);
    if (!turning) return;
    v3 twist = v3_cross(n, impulse); // both arms lie along n and the impulses oppose: the two spins change alike
    t->wa = v3_madd(t->wa, twist, -t->ra);
    t->wb = v3_madd(t->wb, twist, -t->rb);
}

PSVI_HD void psvi_round_warm(psvi_balls *t, v3 n, v3 impulse, bool turning) {
    v3 t1, t2;
    v3_tangents(n, &t1, &t2);
    psvi_round_apply(t, n, v3_madd(v3_madd(v3_scale(n, impulse.x), t1, impulse.y), t2, impulse.z), turning);
}

// `impulse`: normal, two tangents.
PSVI_HD void psvi_round_friction(psvi_balls *t, v3 n, v3 *impulse, float friction, bool turning, float split) {
    v3 t1, t2;
    v3_tangents(n, &t1, &t2);
    v3 v = v3_sub(t->vb, t->va);
    float k = t->ma + t->mb;
    if (turning) {
        v = v3_sub(v, v3_cross(v3_madd(v3_scale(t->wa, t->ra), t->wb, t->rb), n));
        k += t->ra * t->ra + t->rb * t->rb;
    }
    float mass = k > 0 ? split / k : 0;
    float x = impulse->y - mass * v3_dot(v, t1);
    float y = impulse->z - mass * v3_dot(v, t2);
    float limit = friction * impulse->x;
    float squared = x * x + y * y;
    if (squared > limit * limit) {
        float scale = limit / sqrtf(squared);
        x *= scale;
        y *= scale;
    }
    v3 change = v3_add(v3_scale(t1, x - impulse->y), v3_scale(t2, y - impulse->z));
    impulse->y = x;
    impulse->z = y;
    psvi_round_apply(t, n, change, turning);
}

// Returns the change of the normal impulse. `later`: the contact has restitution, and the move has been made.
PSVI_HD float psvi_round_normal(psvi_balls *t, v3 n, float *impulse, float separation, const psvi_step *step,
                                bool relax, bool later, float split) {
    psvi_softness soft = psvi_softness_of(step, separation, relax, t->ma > 0 && t->mb > 0, psvi_round_limits(step));
    float k = t->ma + t->mb, mass = k > 0 ? split / k : 0;
    float speed = v3_dot(v3_sub(t->vb, t->va), n);
    if (later && psvi_hits_later(step, speed, separation)) return 0;
    float total = fmaxf(*impulse - mass * soft.mass_scale * (speed + soft.bias) - soft.impulse_scale * *impulse, 0.0f);
    float change = total - *impulse;
    *impulse = total;
    t->va = v3_madd(t->va, n, -t->ma * change);
    t->vb = v3_madd(t->vb, n, t->mb * change);
    return change;
}

// A hit's first part (contact_hit.h); false without one. Arms: distances of the point from the centres. `total`: the
// impulse of all of it; `pending`: the share that is to come. Friction of the whole impulse acts at once.
PSVI_HD bool psvi_round_hit(psvi_balls *t, v3 n, float separation, float friction, float restitution,
                            const psvi_step *step, bool after, bool turning, float arm_a, float arm_b, float *total,
                            float *pending) {
    float k = t->ma + t->mb, speed = v3_dot(v3_sub(t->vb, t->va), n);
    if (!psvi_point_hits(step, speed, separation, after)) return false;
    *pending = after ? 0.0f : psvi_hit_time(step, speed, separation);
    float excess = psvi_hit_excess(psvi_hit_fall(step, n, t->ma > 0, t->mb > 0), after ? 1.0f : *pending);
    *total = k > 0 ? (1 + restitution) * fmaxf(-speed - excess, 0.0f) / k : 0.0f;
    float now = *total * (1 - *pending);
    t->va = v3_madd(t->va, n, -t->ma * now);
    t->vb = v3_madd(t->vb, n, t->mb * now);
    if (!(friction > 0)) return true;
    float ra = t->ra, rb = t->rb;
    float less = after ? 0.0f : psvi_hit_shortening(separation, restitution, t->ma > 0 && t->mb > 0);
    if (arm_a > 0) t->ra *= 1 - less / arm_a;
    if (arm_b > 0) t->rb *= 1 - less / arm_b;
    v3 impulse = v3_make(*total, 0, 0);
    psvi_round_friction(t, n, &impulse, friction, turning, 1.0f);
    t->ra = ra;
    t->rb = rb;
    return true;
}

// The rest of it.
PSVI_HD void psvi_round_rebound(psvi_balls *t, v3 n, float restitution, const psvi_step *step, float total,
                                float pending) {
    float speed = v3_dot(v3_sub(t->vb, t->va), n), k = t->ma + t->mb;
    float excess = psvi_hit_excess(psvi_hit_fall(step, n, t->ma > 0, t->mb > 0), pending);
    float impulse = total * psvi_hit_rest(total * total * k, total * speed, restitution, pending, total * excess);
    t->va = v3_madd(t->va, n, -t->ma * impulse);
    t->vb = v3_madd(t->vb, n, t->mb * impulse);
}

#endif
