// Contacts of one point between balls, or of a ball and what does not turn: the point lies on the normal through the
// centre, so spin has no part in the normal speed and inertia is a number. Spins as in contact_rows.h. The same
// formulas as in contact_solver.h.
#ifndef PAIRSIEVE_CONTACT_ROUND_H
#define PAIRSIEVE_CONTACT_ROUND_H

#include "contact_softness.h"

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

// Returns the change of the normal impulse; adds to `taken` what it takes (psvi_speed_taken), where that is needed.
PSVI_HD float psvi_round_normal(psvi_balls *t, v3 n, float *impulse, float separation, const psvi_step *step,
                                bool relax, bool loads, float split, float *taken) {
    psvi_softness soft = psvi_softness_of(step, separation, relax, t->ma > 0 && t->mb > 0);
    float k = t->ma + t->mb, mass = k > 0 ? split / k : 0;
    float speed = v3_dot(v3_sub(t->vb, t->va), n);
    float total = fmaxf(*impulse - mass * soft.mass_scale * (speed + soft.bias) - soft.impulse_scale * *impulse, 0.0f);
    float change = total - *impulse;
    *impulse = total;
    if (relax && !loads) *taken += psvi_speed_taken(change, speed, mass);
    t->va = v3_madd(t->va, n, -t->ma * change);
    t->vb = v3_madd(t->vb, n, t->mb * change);
    return change;
}

// `sum`: as in psvi_bounce_impulse; where no forces act, what was taken from the square of the speed.
PSVI_HD void psvi_round_bounce(psvi_balls *t, v3 n, float impulse, float sum, float approach, float restitution,
                               bool loads, float split) {
    float k = t->ma + t->mb, mass = k > 0 ? split / k : 0;
    float speed = v3_dot(v3_sub(t->vb, t->va), n);
    float change = loads ? psvi_bounce_impulse(-mass * (speed + restitution * approach), impulse, sum, restitution)
                         : mass * psvi_bounce_share(speed, approach, 1, sum, restitution);
    t->va = v3_madd(t->va, n, -t->ma * change);
    t->vb = v3_madd(t->vb, n, t->mb * change);
}

#endif
