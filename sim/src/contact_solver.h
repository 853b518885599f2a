// The contact solver: small substeps with soft contacts (TGS-soft; Macklin et al. 2019, «Small steps in physics
// simulation»; Catto 2024, «Solver2D»). Each substep: gravity, last impulses again, one pass that also undoes overlap,
// move, one pass that takes the undoing's speed away. Contacts of one colour share no moving body.
// Where no forces act (`loads` false) the speeds of the first pass last for the move only, so it may push as hard as it
// needs: its impulses, normal ones only, are kept and applied again, and no energy comes from them. The pass after the
// move runs twice, and its impulses begin at 0 and end with the visit: each takes energy.
#ifndef PAIRSIEVE_CONTACT_SOLVER_H
#define PAIRSIEVE_CONTACT_SOLVER_H

#include "contact_softness.h"

typedef enum psvi_pass {
    PSVI_PASS_WARM = 0,   // applies the impulses of the last substep or step
    PSVI_PASS_SOLVE = 1,  // undoes overlap softly
    PSVI_PASS_RELAX = 2,  // the same without
    PSVI_PASS_BOUNCE = 3, // restitution, once per step
    PSVI_PASS_AGAIN = 4   // RELAX once more, where no forces act: separations have had the move already
} psvi_pass;

// The two bodies of a contact while it is solved.
typedef struct psvi_two {
    v3 va, wa, vb, wb;
    float ma, mb;
    sym3 ia, ib;
    bool turn_a, turn_b;
} psvi_two;

PSVI_HD_CALL v3 psvi_point_velocity(const psvi_two *t, const psvi_point *p) {
    v3 v = v3_sub(t->vb, t->va);
    if (t->turn_a) v = v3_sub(v, v3_cross(t->wa, v3_of(p->arm_a)));
    if (t->turn_b) v = v3_add(v, v3_cross(t->wb, v3_of(p->arm_b)));
    return v;
}

PSVI_HD_CALL void psvi_apply(psvi_two *t, const psvi_point *p, v3 impulse) {
    t->va = v3_madd(t->va, impulse, -t->ma);
    t->vb = v3_madd(t->vb, impulse, t->mb);
    if (t->turn_a) t->wa = v3_sub(t->wa, sym3_mul(t->ia, v3_cross(v3_of(p->arm_a), impulse)));
    if (t->turn_b) t->wb = v3_add(t->wb, sym3_mul(t->ib, v3_cross(v3_of(p->arm_b), impulse)));
}

PSVI_HD_CALL void psvi_solve_friction(psvi_two *t, psvi_point *p, float friction, float split) {
    v3 n = v3_of(p->normal), t1, t2;
    v3_tangents(n, &t1, &t2);
    v3 v = psvi_point_velocity(t, p);
    float x = p->impulse.y - split * p->tangent_mass * v3_dot(v, t1);
    float y = p->impulse.z - split * p->tangent_mass * v3_dot(v, t2);
    float limit = friction * p->impulse.x;
    float squared = x * x + y * y;
    if (squared > limit * limit) {
        float scale = limit / sqrtf(squared);
        x *= scale;
        y *= scale;
    }
    v3 impulse = v3_add(v3_scale(t1, x - p->impulse.y), v3_scale(t2, y - p->impulse.z));
    p->impulse.y = x;
    p->impulse.z = y;
    psvi_apply(t, p, impulse);
}

// `moved`: how much further apart the two surface points are than at the step's beginning, as a vector.
// Adds to `taken`, where no forces act, twice the energy that the change of the impulse takes.
PSVI_HD_CALL void psvi_solve_normal(psvi_two *t, psvi_point *p, v3 moved, const psvi_step *step, bool relax, bool loads,
                                    float split, float *taken) {
    v3 n = v3_of(p->normal);
    float separation = p->separation + v3_dot(moved, n);
    psvi_softness soft = psvi_softness_of(step, separation, relax, t->ma > 0 && t->mb > 0);
    float speed = v3_dot(psvi_point_velocity(t, p), n);
    float mass = split * p->normal_mass;
    float change = -mass * soft.mass_scale * (speed + soft.bias) - soft.impulse_scale * p->impulse.x;
    float total = fmaxf(p->impulse.x + change, 0.0f);
    change = total - p->impulse.x;
    p->impulse.x = total;
    if (relax && !loads) *taken += mass * psvi_speed_taken(change, speed, mass);
    psvi_apply(t, p, v3_scale(n, change));
}

PSVI_HD bool psvi_bounces(const psvi_point *p, const psvi_step *step) {
    return p->approach <= -step->restitution_threshold && p->impulse.w > 0;
}

PSVI_HD_CALL void psvi_bounce(psvi_two *t, psvi_point *p, float restitution, float split) {
    v3 n = v3_of(p->normal);
    float speed = v3_dot(psvi_point_velocity(t, p), n);
    float change = -split * p->normal_mass * (speed + restitution * p->approach);
    change = psvi_bounce_impulse(change, p->impulse.x, p->impulse.w, restitution);
    // Not added to the impulse: the next step starts from what holds the bodies, not from what threw them.
    psvi_apply(t, p, v3_scale(n, change));
}

PSVI_HD_CALL void psvi_load_two(const psvi_sim *s, const psvi_contact *c, psvi_two *t, psvi_linear *la, psvi_linear *lb,
                                psvi_angular *aa, psvi_angular *ab) {
    const sym3 none = {0, 0, 0, 0, 0, 0};
    *la = s->linear[c->a];
    *lb = s->linear[c->b];
    t->ia = t->ib = none;
    t->wa = t->wb = v3_make(0, 0, 0);
    t->va = v3_of4(la->velocity);
    t->vb = v3_of4(lb->velocity);
    t->ma = la->velocity.w;
    t->mb = lb->velocity.w;
    t->turn_a = la->moved.w != 0;
    t->turn_b = lb->moved.w != 0;
    if (t->turn_a) {
        *aa = s->angular[c->a];
        t->ia = aa->velocity.w > 0 ? sym3_isotropic(aa->velocity.w) : s->inv_inertia[c->a];
        t->wa = v3_of4(aa->velocity);
    }
    if (t->turn_b) {
        *ab = s->angular[c->b];
        t->ib = ab->velocity.w > 0 ? sym3_isotropic(ab->velocity.w) : s->inv_inertia[c->b];
        t->wb = v3_of4(ab->velocity);
    }
}

// Where a contact's points are: the first one lies apart from the others, in the order in which contacts are solved, so
// that what has one point only is read in a row.
typedef struct psvi_points {
    psvi_point *lead, *others; // point 0; point k > 0 is others[k]
} psvi_points;

PSVI_HD psvi_point *psvi_point_at(psvi_points points, uint32_t k) { return k == 0 ? points.lead : points.others + k; }

// A contact's bounce where no forces act.
PSVI_HD void psvi_bounce_contact(psvi_two *t, psvi_points points, const psvi_contact *c, const psvi_step *step,
                                 float split) {
    v3 linear = v3_make(0, 0, 0), twist_a = linear, twist_b = linear;
    float approach = 0;
    for (uint32_t i = 0; i < c->count; ++i) {
        const psvi_point *p = psvi_point_at(points, i);
        if (!psvi_bounces(p, step)) continue;
        v3 impulse = v3_scale(v3_of(p->normal), p->impulse.w);
        linear = v3_add(linear, impulse);
        if (t->turn_a) twist_a = v3_add(twist_a, v3_cross(v3_of(p->arm_a), impulse));
        if (t->turn_b) twist_b = v3_add(twist_b, v3_cross(v3_of(p->arm_b), impulse));
        approach += p->impulse.w * p->approach;
    }
    v3 spin_a = sym3_mul(t->ia, twist_a), spin_b = sym3_mul(t->ib, twist_b);
    float speed = v3_dot(v3_sub(t->vb, t->va), linear) + v3_dot(t->wb, twist_b) - v3_dot(t->wa, twist_a);
    float response = (t->ma + t->mb) * v3_dot(linear, linear) + v3_dot(twist_a, spin_a) + v3_dot(twist_b, spin_b);
    float share = psvi_bounce_share(speed, approach, response / split, points.lead->taken, c->restitution);
    t->va = v3_madd(t->va, linear, -t->ma * share);
    t->vb = v3_madd(t->vb, linear, t->mb * share);
    t->wa = v3_madd(t->wa, spin_a, -share);
    t->wb = v3_madd(t->wb, spin_b, share);
}

PSVI_HD_CALL void psvi_solve_frictions(psvi_two *t, psvi_points points, const psvi_contact *c, bool backward,
                                       float split) {
    if (!(c->friction > 0)) return;
    for (uint32_t i = 0; i < c->count; ++i) {
        uint32_t k = backward ? c->count - 1 - i : i;
        psvi_point p = *psvi_point_at(points, k);
        if (p.impulse.x <= 0 && p.impulse.y == 0 && p.impulse.z == 0) continue;
        psvi_solve_friction(t, &p, c->friction, split);
        psvi_point_at(points, k)->impulse = p.impulse;
    }
}

// All points of one contact. `loads`: step->loads, a constant of the call.
PSVI_HD_CALL void psvi_solve_points(psvi_points points, const psvi_step *step, const psvi_contact *c, psvi_pass pass,
                                    bool loads, psvi_two *t, v3 moved, const psvi_angular *aa, const psvi_angular *ab,
                                    float split) {
    if (pass == PSVI_PASS_WARM) {
        for (uint32_t i = 0; i < c->count; ++i) {
            psvi_point p = *psvi_point_at(points, i);
            v3 n = v3_of(p.normal), t1, t2;
            v3_tangents(n, &t1, &t2);
            v3 impulse = v3_madd(v3_madd(v3_scale(n, p.impulse.x), t1, p.impulse.y), t2, p.impulse.z);
            psvi_apply(t, &p, impulse);
        }
        return;
    }
    if (pass == PSVI_PASS_BOUNCE && !loads) {
        psvi_bounce_contact(t, points, c, step, split);
        return;
    }
    if (pass == PSVI_PASS_BOUNCE) {
        for (uint32_t i = 0; i < c->count; ++i) {
            psvi_point p = *psvi_point_at(points, i);
            if (psvi_bounces(&p, step)) psvi_bounce(t, &p, c->restitution, split);
        }
        return;
    }
    // Undoing overlap: friction first, so that what keeps bodies apart has the last word. The pass after the move the
    // other way round: friction then is that of the load that is really carried. Several points are solved twice,
    // there and back, while their bodies are in registers: what one order favours the other gives back. Where no forces
    // act, only the first pass after the move does that.
    bool relax = pass == PSVI_PASS_RELAX || pass == PSVI_PASS_AGAIN;
    float taken = 0, pushes[PSVI_MAX_POINTS];
    for (uint32_t i = 0; i < c->count && relax && !loads; ++i) {
        psvi_f4 *impulse = &psvi_point_at(points, i)->impulse;
        pushes[i] = impulse->x;
        *impulse = f4_make(v3_make(0, 0, 0), impulse->w);
    }
    for (uint32_t turn = 0; turn < (c->count > 1 && (loads || pass == PSVI_PASS_RELAX) ? 2u : 1u); ++turn) {
        bool backward = (loads ? relax : pass == PSVI_PASS_RELAX) != (turn == 1);
        if (!relax && loads) psvi_solve_frictions(t, points, c, backward, split);
        for (uint32_t i = 0; i < c->count; ++i) {
            uint32_t k = backward ? c->count - 1 - i : i;
            psvi_point p = *psvi_point_at(points, k);
            v3 d = moved;
            if (t->turn_a) d = v3_sub(d, v3_cross(v3_of4(aa->turned), v3_of(p.arm_a)));
            if (t->turn_b) d = v3_add(d, v3_cross(v3_of4(ab->turned), v3_of(p.arm_b)));
            psvi_solve_normal(t, &p, d, step, relax, loads, split, &taken);
            psvi_point_at(points, k)->impulse = p.impulse;
        }
        if (relax) psvi_solve_frictions(t, points, c, backward, split);
    }
    for (uint32_t i = 0; i < c->count && relax && c->restitution > 0; ++i) {
        psvi_f4 *impulse = &psvi_point_at(points, i)->impulse;
        impulse->w += impulse->x;
    }
    if (!relax || loads) return;
    for (uint32_t i = 0; i < c->count; ++i) {
        psvi_f4 *impulse = &psvi_point_at(points, i)->impulse;
        *impulse = f4_make(v3_make(pushes[i], 0, 0), impulse->w);
    }
    points.lead->taken += taken;
}

// One contact of a colour: no other thread touches its moving bodies.
PSVI_HD_CALL void psvi_solve_contact(const psvi_sim *s, const psvi_step *step, psvi_contact c, psvi_points points,
                                     psvi_pass pass, bool loads) {
    if (pass == PSVI_PASS_BOUNCE && !(c.restitution > 0)) return;
    psvi_two t;
    psvi_linear la, lb;
    psvi_angular aa, ab;
    psvi_load_two(s, &c, &t, &la, &lb, &aa, &ab);
    v3 moved = v3_sub(v3_of4(lb.moved), v3_of4(la.moved));
    psvi_solve_points(points, step, &c, pass, loads, &t, moved, &aa, &ab, 1.0f);
    if (t.ma > 0) s->linear[c.a].velocity = f4_make(t.va, t.ma);
    if (t.mb > 0) s->linear[c.b].velocity = f4_make(t.vb, t.mb);
    if (t.turn_a) s->angular[c.a].velocity = f4_make(t.wa, aa.velocity.w);
    if (t.turn_b) s->angular[c.b].velocity = f4_make(t.wb, ab.velocity.w);
}

#endif
