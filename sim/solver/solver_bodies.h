// What the solver moves, and what happens to each body by itself within a step: the records that it works on, forces,
// moving, and back. Shared by both backends.
#ifndef PAIRSIEVE_SOLVER_BODIES_H
#define PAIRSIEVE_SOLVER_BODIES_H

#include "../data/sim_data.h"
#include "body_forces.h"
#include "free_rotation.h"

// Velocities of a body; a record is one 32-byte sector.
typedef struct psvi_motion {
    psvi_f4 linear;  // w: inverse mass
    psvi_f4 angular; // as in contact_row.h; w: root of a ball's inverse inertia; 0: does not turn; -1: a matrix
} psvi_motion;

typedef struct psvi_movers {
    psvi_motion *motion;     // velocities
    psvi_motion *pushed;     // velocities after the substep's forces, before the impulses were applied again; where no
                             // forces act, after the move: what the pass before it has added
    psvi_f4 *moved, *turned; // movement of the substep
    psvi_f4 *swing;          // of tops (free_rotation.h): the turn of the axis since the step began, a quaternion, with
                             // psvi_top.ratio in place of its w; w 0: no top. Only of bodies with angular.w < 0
} psvi_movers;

#define PSVI_MOVER_BYTES (2 * sizeof(psvi_motion) + 3 * sizeof(psvi_f4)) // of a body

// Lower triangle L with m = L L^T.
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

// L^-1 a; 0 along what cannot turn.
PSVI_HD v3 psvi_root_solve(psvi_root l, v3 a) {
    float x = l.xx > 0 ? a.x / l.xx : 0.0f;
    float y = l.yy > 0 ? (a.y - l.yx * x) / l.yy : 0.0f;
    return v3_make(x, y, l.zz > 0 ? (a.z - l.zx * x - l.zy * y) / l.zz : 0.0f);
}

// Of a body's inverse inertia in the world; 0 where it does not turn.
PSVI_HD psvi_root psvi_body_root(const psvi_sim *s, uint32_t body) {
    if (s->linear[body].moved.w == 0) return psvi_root_isotropic(0);
    float ball = s->angular[body].velocity.w;
    return ball > 0 ? psvi_root_isotropic(sqrtf(ball)) : psvi_root_of(s->inv_inertia[body]);
}

// Velocities after the forces of a substep, of bodies that have their own; rare, so it stays out of the way.
PSVI_HD_LONG psvi_motion psvi_own_forces(const psvi_sim *s, const psvi_step *step, uint32_t i, psvi_motion m) {
    m.linear = f4_make(psvi_forced_velocity(s, step, i, true, v3_of4(m.linear)), m.linear.w);
    m.angular = f4_make(psvi_damped_spin(s, step, i, true, v3_of4(m.angular)), m.angular.w);
    return m;
}

// The velocity after the forces of a substep, of a body that has none of its own.
PSVI_HD vec4 psvi_forced(const psvi_sim *s, const psvi_step *step, uint32_t i, vec4 linear) {
    vec4 a = vec4_make(step->gravity[0], step->gravity[1], step->gravity[2], 0);
    if (s->acceleration) {
        v3 pull = v3_of4(s->acceleration[i]);
        a = vec4_add(a, vec4_make(pull.x, pull.y, pull.z, 0));
    }
    return vec4_add(linear, vec4_scale(a, step->substep));
}

#define PSVI_TOP_TURN 0.2f // radians a step: what turns more slowly is turned at the step's end, as all bodies are

// The axis of a top at the step's beginning.
PSVI_HD v3 psvi_top_axis(const psvi_sim *s, uint32_t i, psvi_top top) {
    return quat_rotate(quat_of4(s->rotation[i]), top.axis);
}

// No turn yet, of a body that spins fast about its axis; w 0 for others.
PSVI_HD psvi_f4 psvi_start_swing(const psvi_sim *s, const psvi_step *step, uint32_t i) {
    const v3 w = v3_of4(s->angular[i].velocity), none = v3_make(0, 0, 0);
    const float least = PSVI_TOP_TURN / step->seconds, squared = v3_dot(w, w);
    if (!(squared > least * least) || !(s->linear[i].velocity.w > 0)) return f4_make(none, 0);
    const psvi_top top = psvi_top_of(s->geometry.shapes[s->shape[i]].inertia);
    const float along = v3_dot(w, psvi_top_axis(s, i, top));
    return f4_make(none, along * along > 0.8f * squared ? top.ratio : 0.0f);
}

PSVI_HD quat psvi_swing_of(psvi_f4 q) {
    return quat_make(q.x, q.y, q.z, sqrtf(fmaxf(1 - q.x * q.x - q.y * q.y - q.z * q.z, 0.0f)));
}

// Turns a top through a substep. Its spin is seen from a frame that goes with its axis, as the arms of its contacts
// are: else the spin about an axis that has moved on would be taken for slip at a tip that has not. Returns the new
// spin.
PSVI_HD_LONG v3 psvi_turn_top(const psvi_sim *s, const psvi_movers *v, const psvi_step *step, uint32_t i, v3 w) {
    const psvi_f4 old = v->swing[i];
    const v3 axis = psvi_top_axis(s, i, psvi_top_of(s->geometry.shapes[s->shape[i]].inertia));
    quat turn;
    s->angular[i].turned.w += v3_dot(w, axis) * step->substep; // about the axis
    w = psvi_top_step(axis, old.w, w, step->substep, &turn);
    const quat swing = quat_unit(quat_mul(psvi_swing_of(old), turn));
    v->swing[i] = f4_make(v3_make(swing.x, swing.y, swing.z), old.w);
    return w;
}

// The turn of a top through the step, as a vector: with its axis, and about it.
PSVI_HD v3 psvi_top_turned(const psvi_sim *s, const psvi_movers *v, uint32_t i) {
    const v3 first = psvi_top_axis(s, i, psvi_top_of(s->geometry.shapes[s->shape[i]].inertia));
    const quat turn = quat_mul(psvi_swing_of(v->swing[i]), quat_of_vector(v3_scale(first, s->angular[i].turned.w)));
    const v3 part = v3_make(turn.x, turn.y, turn.z);
    const float length = v3_length(part);
    return length > 1e-12f ? v3_scale(part, 2 * psvi_angle_of(length, turn.w) / length) : part;
}

// The solver's record of a body, and the first substep's forces. Returns the root of its inverse inertia.
PSVI_HD psvi_root psvi_start_mover(const psvi_sim *s, const psvi_movers *v, const psvi_step *step, uint32_t i) {
    psvi_linear l = s->linear[i];
    psvi_motion m;
    m.linear = l.velocity;
    m.angular = f4_make(v3_make(0, 0, 0), 0);
    psvi_root root = psvi_body_root(s, i);
    if (l.moved.w != 0) {
        psvi_f4 w = s->angular[i].velocity;
        m.angular = f4_make(psvi_root_solve(root, v3_of4(w)), w.w > 0 ? root.xx : -1.0f);
    } else {
        v->turned[i] = m.angular; // nobody else writes it
    }
    if (m.linear.w > 0 && s->forces) {
        m = psvi_own_forces(s, step, i, m);
    } else if (m.linear.w > 0) {
        vec4_store(&m.linear, psvi_forced(s, step, i, vec4_load(&m.linear)));
    } else { // static or kinematic: moves by the same in all substeps
        v->moved[i] = f4_make(v3_scale(v3_of4(m.linear), step->substep), 0);
        v->turned[i] = f4_make(v3_scale(v3_of4(m.angular), step->substep), 0);
    }
    v->motion[i] = m;
    v->pushed[i] = m;
    if (m.angular.w < 0) v->swing[i] = psvi_start_swing(s, step, i);
    return root;
}

// Forces of a later substep, and all impulses again. The impulses' share of a velocity is what it has gained since the
// forces of the last substep: every change of an impulse was applied to the velocities as it happened, and arms and
// masses stay as they are during a step. So no contact is looked at. Where no forces act, these impulses are those that
// undo overlap, and their share is what psvi_move_mover has left. Constants of the call: `loads`, step->loads; `tops`,
// false where all that turns are balls. (Masses and marks, w, are the same in all records of a body, so they stay as
// they are and differences have 0 there.)
PSVI_HD_CALL void psvi_push_mover(const psvi_sim *s, const psvi_movers *v, const psvi_step *step, bool loads, bool tops,
                                  uint32_t i) {
    psvi_motion *m = &v->motion[i], *last = &v->pushed[i]; // all is asked for at once, before anything is waited for
    const vec4 linear = vec4_load(&m->linear), angular = vec4_load(&m->angular);
    const vec4 last_linear = vec4_load(&last->linear), last_angular = vec4_load(&last->angular);
    if (!(vec4_w(linear) > 0)) return;
    vec4 now = linear, spin = angular;
    if (s->forces) {
        psvi_motion own = psvi_own_forces(s, step, i, *m);
        now = vec4_load(&own.linear);
        spin = vec4_load(&own.angular);
    } else if (loads) {
        now = psvi_forced(s, step, i, linear);
    }
    const vec4 gained = loads ? vec4_sub(linear, last_linear) : last_linear;
    vec4_store(&last->linear, now);
    vec4_store(&m->linear, vec4_add(now, gained));
    if (vec4_w(angular) == 0) return;
    const vec4 gained_spin = loads ? vec4_sub(angular, last_angular) : last_angular;
    if (tops && vec4_w(angular) < 0 && v->swing[i].w > 0) {
        const psvi_root root = psvi_root_of(s->inv_inertia[i]);
        psvi_f4 turned;
        vec4_store(&turned, spin);
        v3 w = psvi_turn_top(s, v, step, i, psvi_root_mul(root, v3_of4(turned)));
        w = psvi_root_solve(root, w);
        spin = vec4_make(w.x, w.y, w.z, vec4_w(angular));
    }
    vec4_store(&last->angular, spin);
    vec4_store(&m->angular, vec4_add(spin, gained_spin));
}

// Moves a body. Where no forces act, the speeds that undo overlap end here: the body has again those from before the
// pass that made them, and `pushed` has the difference.
PSVI_HD_CALL void psvi_move_mover(const psvi_sim *s, const psvi_movers *v, const psvi_step *step, bool loads,
                                  uint32_t i) {
    psvi_motion *m = &v->motion[i], *last = &v->pushed[i];
    const float h = step->substep;
    const vec4 seconds = vec4_make(h, h, h, 0), linear = vec4_load(&m->linear), angular = vec4_load(&m->angular);
    const vec4 moved = vec4_load(&s->linear[i].moved);
    if (!(vec4_w(linear) > 0)) return;
    const vec4 d = vec4_mul(linear, seconds);
    vec4_store(&v->moved[i], d);
    vec4_store(&s->linear[i].moved, vec4_add(moved, d));
    if (vec4_w(angular) != 0) {
        const vec4 r = vec4_mul(angular, seconds);
        vec4_store(&v->turned[i], r);
        vec4_store(&s->angular[i].turned, vec4_add(vec4_load(&s->angular[i].turned), r));
    }
    if (loads) return;
    const vec4 before = vec4_load(&last->linear), before_spin = vec4_load(&last->angular);
    vec4_store(&m->linear, before);
    vec4_store(&m->angular, before_spin);
    vec4_store(&last->linear, vec4_sub(linear, before));
    vec4_store(&last->angular, vec4_sub(angular, before_spin));
}

// Back from the solver's record. `tops`: see psvi_push_mover.
PSVI_HD void psvi_stop_mover(const psvi_sim *s, const psvi_movers *v, const psvi_step *step, bool tops, uint32_t i) {
    psvi_motion m = v->motion[i];
    if (!(m.linear.w > 0)) return;
    s->linear[i].velocity = m.linear;
    if (m.angular.w == 0) return;
    psvi_root root = m.angular.w > 0 ? psvi_root_isotropic(m.angular.w) : psvi_root_of(s->inv_inertia[i]);
    psvi_angular a = s->angular[i];
    a.velocity = f4_make(psvi_root_mul(root, v3_of4(m.angular)), a.velocity.w);
    a.turned = f4_make(psvi_root_mul(root, v3_of4(a.turned)), 0);
    if (tops && m.angular.w < 0 && v->swing[i].w > 0) {
        const v3 w = psvi_turn_top(s, v, step, i, v3_of4(a.velocity));
        a.velocity = f4_make(quat_rotate(psvi_swing_of(v->swing[i]), w), a.velocity.w);
        a.turned = f4_make(psvi_top_turned(s, v, i), 1);
    }
    s->angular[i] = a;
}

#endif
