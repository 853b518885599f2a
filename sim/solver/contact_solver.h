// The contact solver: small substeps with soft contacts (TGS-soft; Macklin et al. 2019, «Small steps in physics
// simulation»; Catto 2024, «Solver2D»). Each substep: gravity, last impulses again, one pass that also undoes overlap,
// move, one pass that takes the undoing's speed away. Contacts of one colour share no moving body.
// Where no forces act (`loads` false) the speeds of the first pass last for the move only, so it may push as hard as it
// needs: its impulses, normal ones only, are kept and applied again, and no energy comes from them. The pass after the
// move runs twice, and its impulses begin at 0 and end with the visit: each takes energy.
// Restitution: contact_hit.h.
#ifndef PAIRSIEVE_CONTACT_SOLVER_H
#define PAIRSIEVE_CONTACT_SOLVER_H

#include "contact_hit.h"

typedef enum psvi_pass {
    PSVI_PASS_WARM = 0,  // applies the impulses of the last substep or step
    PSVI_PASS_SOLVE = 1, // undoes overlap softly
    PSVI_PASS_RELAX = 2, // the same without
    PSVI_PASS_AGAIN = 3  // RELAX once more, where no forces act: separations have had the move already
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
PSVI_HD_CALL void psvi_solve_normal(psvi_two *t, psvi_point *p, v3 moved, const psvi_step *step, const psvi_contact *c,
                                    psvi_soft_limits limits, bool relax, float split) {
    v3 n = v3_of(p->normal);
    float separation = p->separation + v3_dot(moved, n), speed = v3_dot(psvi_point_velocity(t, p), n);
    if (relax && c->restitution > 0 && psvi_hits_later(step, speed, separation)) return;
    psvi_softness soft = psvi_softness_of(step, separation, relax, t->ma > 0 && t->mb > 0, limits);
    float mass = split * p->normal_mass;
    float change = -mass * soft.mass_scale * (speed + soft.bias) - soft.impulse_scale * p->impulse.x;
    float total = fmaxf(p->impulse.x + change, 0.0f);
    change = total - p->impulse.x;
    p->impulse.x = total;
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

PSVI_HD_CALL void psvi_store_two(const psvi_sim *s, const psvi_contact *c, const psvi_two *t, const psvi_angular *aa,
                                 const psvi_angular *ab) {
    // What is kinematic turns, but others are solved against it at the same time.
    if (t->ma > 0) {
        s->linear[c->a].velocity = f4_make(t->va, t->ma);
        if (t->turn_a) s->angular[c->a].velocity = f4_make(t->wa, aa->velocity.w);
    }
    if (t->mb > 0) {
        s->linear[c->b].velocity = f4_make(t->vb, t->mb);
        if (t->turn_b) s->angular[c->b].velocity = f4_make(t->wb, ab->velocity.w);
    }
}

// 1 / effective mass of two bodies at a point along `direction`, turned round.
PSVI_HD float psvi_effective_mass(float inverse_mass, bool turn_a, sym3 ia, v3 ra, bool turn_b, sym3 ib, v3 rb,
                                  v3 direction) {
    float k = inverse_mass;
    if (turn_a) {
        v3 c = v3_cross(ra, direction);
        k += v3_dot(c, sym3_mul(ia, c));
    }
    if (turn_b) {
        v3 c = v3_cross(rb, direction);
        k += v3_dot(c, sym3_mul(ib, c));
    }
    return k > 0 ? 1.0f / k : 0.0f;
}

// The masses that the two bodies have at a point that the general narrow phase has found.
PSVI_HD void psvi_find_masses(const psvi_two *t, psvi_point *p) {
    const float inverse_mass = t->ma + t->mb;
    v3 n = v3_of(p->normal), arm_a = v3_of(p->arm_a), arm_b = v3_of(p->arm_b), t1, t2;
    v3_tangents(n, &t1, &t2);
    p->normal_mass = psvi_effective_mass(inverse_mass, t->turn_a, t->ia, arm_a, t->turn_b, t->ib, arm_b, n);
    // One mass for both tangents, or friction would not point against the sliding.
    p->tangent_mass = fminf(psvi_effective_mass(inverse_mass, t->turn_a, t->ia, arm_a, t->turn_b, t->ib, arm_b, t1),
                            psvi_effective_mass(inverse_mass, t->turn_a, t->ia, arm_a, t->turn_b, t->ib, arm_b, t2));
}

// Where a contact's points are: the first one lies apart from the others, in the order in which contacts are solved, so
// that what has one point only is read in a row.
typedef struct psvi_points {
    psvi_point *lead, *others; // point 0; point k > 0 is others[k]
} psvi_points;

PSVI_HD psvi_point *psvi_point_at(psvi_points points, uint32_t k) { return k == 0 ? points.lead : points.others + k; }

// How much further apart the two surface points at `p` are than at the step's beginning.
PSVI_HD_CALL v3 psvi_point_moved(const psvi_two *t, const psvi_point *p, v3 moved, const psvi_angular *aa,
                                 const psvi_angular *ab) {
    if (t->turn_a) moved = v3_sub(moved, v3_cross(v3_of4(aa->turned), v3_of(p->arm_a)));
    if (t->turn_b) moved = v3_add(moved, v3_cross(v3_of4(ab->turned), v3_of(p->arm_b)));
    return moved;
}

PSVI_HD psvi_row psvi_point_row(const psvi_point *p, v3 direction, psvi_root a, psvi_root b) {
    psvi_row r;
    r.direction = direction;
    r.spin_a = psvi_root_mul_transposed(a, v3_cross(v3_of(p->arm_a), direction));
    r.spin_b = psvi_root_mul_transposed(b, v3_cross(v3_of(p->arm_b), direction));
    return r;
}

// All points of a contact together, by their weights in impulse.w.
PSVI_HD psvi_row psvi_whole_row(psvi_points points, const psvi_contact *c, psvi_root a, psvi_root b) {
    const v3 none = v3_make(0, 0, 0);
    psvi_row whole = {none, none, none};
    for (uint32_t i = 0; i < c->count; ++i) {
        const psvi_point *p = psvi_point_at(points, i);
        psvi_row r = psvi_point_row(p, v3_of(p->normal), a, b);
        psvi_row_add(&whole, &r, p->impulse.w);
    }
    return whole;
}

// The first part of a hit, that touches after the share `time` of the substep.
PSVI_HD void psvi_begin_hit(psvi_pair_state *t, psvi_points points, const psvi_contact *c, const psvi_step *step,
                            psvi_root a, psvi_root b, bool after, float time) {
    psvi_row whole = psvi_whole_row(points, c, a, b);
    float excess = psvi_hit_excess(psvi_hit_fall(step, whole.direction, t->ma > 0, t->mb > 0), after ? 1.0f : time);
    float multiple = psvi_hit_multiple(t, &whole, psvi_row_speed(t, &whole), c->restitution, excess);
    points.lead->pending = after ? 0.0f : time;
    psvi_row_apply(t, &whole, multiple * (1 - points.lead->pending));
    for (uint32_t i = 0; i < c->count; ++i) {
        psvi_point *p = psvi_point_at(points, i);
        p->impulse.w *= multiple;
        if (!(p->impulse.w > 0) || !(c->friction > 0)) continue;
        v3 n = v3_of(p->normal), t1, t2;
        v3_tangents(n, &t1, &t2);
        psvi_point q = *p;
        float less = psvi_hit_shortening(p->apart, c->restitution, t->ma > 0 && t->mb > 0);
        for (int k = 0; k < 3; ++k) {
            q.arm_a[k] -= less * p->normal[k];
            q.arm_b[k] += less * p->normal[k];
        }
        psvi_row r1 = psvi_point_row(&q, t1, a, b), r2 = psvi_point_row(&q, t2, a, b);
        psvi_f4 impulse = f4_make(v3_make(p->impulse.w, 0, 0), 0);
        psvi_rows_friction(t, &r1, &r2, &impulse, c->friction, p->tangent_mass);
    }
}

PSVI_HD void psvi_end_hit(psvi_pair_state *t, psvi_points points, const psvi_contact *c, const psvi_step *step,
                          psvi_root a, psvi_root b) {
    psvi_row whole = psvi_whole_row(points, c, a, b);
    float pending = points.lead->pending;
    float excess = psvi_hit_excess(psvi_hit_fall(step, whole.direction, t->ma > 0, t->mb > 0), pending);
    psvi_row_apply(
        t, &whole,
        psvi_hit_rest(psvi_row_response(t, &whole), psvi_row_speed(t, &whole), c->restitution, pending, excess));
    points.lead->pending = 0;
}

// Weighs the points for a hit by the impulses that would stop them; false without one. `time`: the share of the substep
// until the first touches.
PSVI_HD bool psvi_weigh_hit(const psvi_two *t, psvi_points points, const psvi_contact *c, const psvi_step *step,
                            bool after, v3 moved, const psvi_angular *aa, const psvi_angular *ab, float *time) {
    bool any = false;
    *time = 1;
    for (uint32_t i = 0; i < c->count; ++i) {
        psvi_point *p = psvi_point_at(points, i);
        v3 n = v3_of(p->normal);
        float separation = p->separation + v3_dot(psvi_point_moved(t, p, moved, aa, ab), n);
        float speed = v3_dot(psvi_point_velocity(t, p), n);
        bool hits = psvi_point_hits(step, speed, separation, after);
        p->impulse.w = hits ? -speed * p->normal_mass : 0.0f;
        p->apart = after ? 0.0f : separation;
        if (!hits) continue;
        any = true;
        *time = fminf(*time, psvi_hit_time(step, speed, separation));
    }
    return any;
}

// The velocities that outlast the pass: without forces, and before the move, those from before the pass.
PSVI_HD psvi_two psvi_lasting(const psvi_sim *s, const psvi_contact *c, const psvi_two *t, bool loads, bool after) {
    psvi_two lasting = *t;
    if (loads || after) return lasting;
    if (t->ma > 0) lasting.va = v3_of4(s->pushed[c->a].linear);
    if (t->mb > 0) lasting.vb = v3_of4(s->pushed[c->b].linear);
    if (t->ma > 0 && t->turn_a) lasting.wa = v3_of4(s->pushed[c->a].angular);
    if (t->mb > 0 && t->turn_b) lasting.wb = v3_of4(s->pushed[c->b].angular);
    return lasting;
}

PSVI_HD void psvi_add_lasting(psvi_f4 *velocity, v3 change) {
    *velocity = f4_make(v3_add(v3_of4(*velocity), change), velocity->w);
}

// The hits of a contact with restitution. What they change goes to `t`, and to what impulses are told from that are
// applied again: hits are not.
PSVI_HD_CALL void psvi_solve_hits(const psvi_sim *s, psvi_points points, const psvi_step *step, const psvi_contact *c,
                                  bool loads, bool after, psvi_two *t, v3 moved, const psvi_angular *aa,
                                  const psvi_angular *ab) {
    psvi_two lasting = psvi_lasting(s, c, t, loads, after);
    bool rest = after && points.lead->pending > 0;
    float time = 0;
    if (!rest && !psvi_weigh_hit(&lasting, points, c, step, after, moved, aa, ab, &time)) return;
    psvi_root a = psvi_root_of(t->ia), b = psvi_root_of(t->ib);
    psvi_pair_state state;
    state.va = lasting.va;
    state.vb = lasting.vb;
    state.wa = psvi_root_solve(a, lasting.wa);
    state.wb = psvi_root_solve(b, lasting.wb);
    state.ma = t->ma;
    state.mb = t->mb;
    psvi_pair_state before = state;
    if (rest)
        psvi_end_hit(&state, points, c, step, a, b);
    else
        psvi_begin_hit(&state, points, c, step, a, b, after, time);
    v3 va = v3_sub(state.va, before.va), vb = v3_sub(state.vb, before.vb);
    v3 wa = psvi_root_mul(a, v3_sub(state.wa, before.wa)), wb = psvi_root_mul(b, v3_sub(state.wb, before.wb));
    t->va = v3_add(t->va, va);
    t->vb = v3_add(t->vb, vb);
    t->wa = v3_add(t->wa, wa);
    t->wb = v3_add(t->wb, wb);
    if (!loads && after) return;
    if (t->ma > 0) psvi_add_lasting(&s->pushed[c->a].linear, va);
    if (t->mb > 0) psvi_add_lasting(&s->pushed[c->b].linear, vb);
    if (t->ma > 0 && t->turn_a) psvi_add_lasting(&s->pushed[c->a].angular, wa);
    if (t->mb > 0 && t->turn_b) psvi_add_lasting(&s->pushed[c->b].angular, wb);
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
    // Undoing overlap: friction first, so that what keeps bodies apart has the last word. The pass after the move the
    // other way round: friction then is that of the load that is really carried. Several points are solved twice,
    // there and back, while their bodies are in registers: what one order favours the other gives back. Where no forces
    // act, only the first pass after the move does that.
    bool relax = pass == PSVI_PASS_RELAX || pass == PSVI_PASS_AGAIN;
    const psvi_soft_limits limits = psvi_limits_of(step, c->size);
    const uint32_t turns = c->count == 1 || (!loads && pass != PSVI_PASS_RELAX) ? 1 : loads ? step->turns : 2;
    float pushes[PSVI_MAX_POINTS];
    for (uint32_t i = 0; i < c->count && relax && !loads; ++i) {
        psvi_f4 *impulse = &psvi_point_at(points, i)->impulse;
        pushes[i] = impulse->x;
        *impulse = f4_make(v3_make(0, 0, 0), impulse->w);
    }
    for (uint32_t turn = 0; turn < turns; ++turn) {
        bool backward = (loads ? relax : pass == PSVI_PASS_RELAX) != (turn == 1);
        if (!relax && loads) psvi_solve_frictions(t, points, c, backward, split);
        for (uint32_t i = 0; i < c->count; ++i) {
            uint32_t k = backward ? c->count - 1 - i : i;
            psvi_point p = *psvi_point_at(points, k);
            v3 d = psvi_point_moved(t, &p, moved, aa, ab);
            psvi_solve_normal(t, &p, d, step, c, limits, relax, split);
            psvi_point_at(points, k)->impulse = p.impulse;
        }
        if (relax) psvi_solve_frictions(t, points, c, backward, split);
    }
    if (!relax || loads) return;
    for (uint32_t i = 0; i < c->count; ++i) {
        psvi_f4 *impulse = &psvi_point_at(points, i)->impulse;
        *impulse = f4_make(v3_make(pushes[i], 0, 0), impulse->w);
    }
}

// One contact of a colour: no other thread touches its moving bodies.
PSVI_HD_CALL void psvi_solve_contact(const psvi_sim *s, const psvi_step *step, psvi_contact c, psvi_points points,
                                     psvi_pass pass, bool loads) {
    psvi_two t;
    psvi_linear la, lb;
    psvi_angular aa, ab;
    psvi_load_two(s, &c, &t, &la, &lb, &aa, &ab);
    v3 moved = v3_sub(v3_of4(lb.moved), v3_of4(la.moved));
    if (c.restitution > 0 && pass != PSVI_PASS_WARM)
        psvi_solve_hits(s, points, step, &c, loads, pass != PSVI_PASS_SOLVE, &t, moved, &aa, &ab);
    psvi_solve_points(points, step, &c, pass, loads, &t, moved, &aa, &ab, 1.0f);
    psvi_store_two(s, &c, &t, &aa, &ab);
}

#endif
