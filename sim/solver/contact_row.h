// The contact row: the one formula by which the solver changes velocities, for normals, friction, rolling, spin and
// restitution, on the CPU and on CUDA. Written over a lane: one float (row_lane.h) or a vector of them (cpu/lanes.h),
// of which one is included before. docs/how/solver.md explains the terms.
//
// A row is a direction and what it takes from the two spins. Spins are those of bodies whose inertia is made 1: with L
// the root of the inverse inertia, I^-1 = L L^T, the spin w is L w', and a row is L^T (arm x direction). So the same
// numbers measure a speed and apply an impulse, and no inertia is read. What does not turn has rows of 0.
#ifndef PAIRSIEVE_CONTACT_ROW_H
#define PAIRSIEVE_CONTACT_ROW_H

#include "../data/sim_data.h"

// --- bodies and rows -------------------------------------------------------------------------------------------------

// The two bodies of a contact; spins as above.
typedef struct row_pair {
    lane3 va, wa, vb, wb;
    lane ma, mb; // inverse masses
} row_pair;

// What an impulse of 1 along a row adds to the two spins.
typedef struct row_spins {
    lane3 a, b;
} row_spins;

PSVI_ROW lane row_spin_speed(const row_pair *t, row_spins r) { return lane3_dot(t->wb, r.b) - lane3_dot(t->wa, r.a); }

PSVI_ROW lane row_linear_speed(const row_pair *t, lane3 direction) {
    return lane3_dot(lane3_sub(t->vb, t->va), direction);
}

PSVI_ROW lane row_speed(const row_pair *t, lane3 direction, row_spins r) {
    return row_linear_speed(t, direction) + row_spin_speed(t, r);
}

PSVI_ROW void row_turn(row_pair *t, row_spins r, lane impulse) {
    t->wa = lane3_madd(t->wa, r.a, -impulse);
    t->wb = lane3_madd(t->wb, r.b, impulse);
}

PSVI_ROW void row_push(row_pair *t, lane3 direction, lane impulse) {
    t->va = lane3_madd(t->va, direction, -t->ma * impulse);
    t->vb = lane3_madd(t->vb, direction, t->mb * impulse);
}

PSVI_ROW void row_apply(row_pair *t, lane3 direction, row_spins r, lane impulse) {
    row_push(t, direction, impulse);
    row_turn(t, r, impulse);
}

PSVI_ROW lane lane_inverse(lane a) { return lane_both(a > lane_of(0), lane_of(1) / a); } // 0 where a is 0

// 1 / what an impulse of 1 along a row changes its speed by.
PSVI_ROW lane row_mass(lane inverse_mass, row_spins r) {
    return lane_inverse(inverse_mass + (lane3_dot(r.a, r.a) + lane3_dot(r.b, r.b)));
}

// Of two tangents. One mass for both, or friction would not point against the sliding.
PSVI_ROW lane row_tangent_mass(lane inverse_mass, row_spins t1, row_spins t2) {
    return lane_smaller(row_mass(inverse_mass, t1), row_mass(inverse_mass, t2));
}

// Root of an inverse inertia, a lower triangle.
typedef struct row_root {
    lane xx, yx, yy, zx, zy, zz;
} row_root;

PSVI_ROW lane3 row_root_transposed(row_root l, lane3 a) {
    return lane3_make(l.xx * a.x + l.yx * a.y + l.zx * a.z, l.yy * a.y + l.zy * a.z, l.zz * a.z);
}

// `twist_a`, `twist_b`: arm x direction of each body.
PSVI_ROW row_spins row_spins_of(row_root a, row_root b, lane3 twist_a, lane3 twist_b) {
    row_spins r;
    r.a = row_root_transposed(a, twist_a);
    r.b = row_root_transposed(b, twist_b);
    return r;
}

// --- the formula -----------------------------------------------------------------------------------------------------

// How soft a row is (Catto 2024, «Solver2D»): a bias that the speed is to have, turned round, and how much of the
// effective mass and of the impulse so far count. Hard: 0, 1, 0.
typedef struct row_soft {
    lane bias, mass_scale, impulse_scale;
} row_soft;

PSVI_ROW row_soft row_hard(void) {
    row_soft s;
    s.bias = lane_of(0);
    s.mass_scale = lane_of(1);
    s.impulse_scale = lane_of(0);
    return s;
}

// The impulse of a row from the one before and the row's speed, before its limits.
PSVI_ROW lane row_impulse(lane before, lane mass, lane speed, row_soft soft) {
    return before - mass * soft.mass_scale * (speed + soft.bias) - soft.impulse_scale * before;
}

// --- normals ---------------------------------------------------------------------------------------------------------

#define PSVI_DEEP 0.05f // what lies deeper in each other than this share of psvi_contact.size is deep

// The springs of a pair of bodies: stiffer against what cannot move, and stiffer still where bodies lie deep in each
// other.
typedef struct row_springs {
    lane rate, mass_scale, impulse_scale;
    lane deep, deep_shift, push_speed;
} row_springs;

// By the pair's own size, so that nothing depends on what else there is. Speeds go with the root of a length, as those
// of what falls do. (No indexing: the step is a kernel's parameter and stays in constant memory this way.)
PSVI_ROW row_springs row_springs_of(const psvi_step *step, lane_mask both_move, lane deep, lane push_speed) {
    row_springs s;
    s.rate = lane_choose(both_move, lane_of(step->bias_rate[0]), lane_of(step->bias_rate[1]));
    s.mass_scale = lane_choose(both_move, lane_of(step->mass_scale[0]), lane_of(step->mass_scale[1]));
    s.impulse_scale = lane_choose(both_move, lane_of(step->impulse_scale[0]), lane_of(step->impulse_scale[1]));
    s.deep = deep;
    s.deep_shift = lane_choose(both_move, lane_of(step->deep_shift[0]), lane_of(step->deep_shift[1])) * deep;
    s.push_speed = push_speed;
    return s;
}

#define PSVI_NEVER_DEEP 3.4e38f // balls touch in one point, so thin parts cannot pass each other

PSVI_ROW row_soft row_softness(const psvi_step *step, const row_springs *s, lane separation, bool relax) {
    const lane_mask apart = separation > lane_of(0); // may close, but not cross, within the substep
    row_soft soft = row_hard();
    soft.bias = lane_both(apart, separation * lane_of(step->rate));
    if (relax) return soft;
    const lane_mask deep = separation < -s->deep;
    const lane undo =
        lane_choose(deep, lane_of(step->bias_rate[2]) * (separation + s->deep_shift), s->rate * separation);
    soft.bias = lane_choose(apart, soft.bias, lane_larger(undo, -s->push_speed));
    soft.mass_scale =
        lane_choose(apart, soft.mass_scale, lane_choose(deep, lane_of(step->mass_scale[2]), s->mass_scale));
    soft.impulse_scale =
        lane_both(lane_not(apart), lane_choose(deep, lane_of(step->impulse_scale[2]), s->impulse_scale));
    return soft;
}

// The separation of a point whose bodies have moved by `moved`; `along`: of that what is linear, along the normal.
PSVI_ROW lane row_moved(lane separation, const row_pair *moved, lane along, row_spins r) {
    return separation + (along + row_spin_speed(moved, r));
}

PSVI_ROW lane row_normal(lane before, lane mass, lane speed, row_soft soft) {
    return lane_larger(row_impulse(before, mass, speed, soft), lane_of(0));
}

// --- friction --------------------------------------------------------------------------------------------------------

// Masses of the friction of a patch: up to four points of one normal, that rub in their middle, along two tangents and
// about the normal. The three form one vector, with the torque divided by the points' mean distance from the middle.
// Its length is at most what friction allows: a limit surface in the form of an ellipsoid (Goyal, Ruina and
// Papadopoulos 1991). What slides has one mass in all three directions, or friction would not point against the
// sliding. One point has no torque.
typedef struct row_grip {
    lane hold, hold_twist, slip, slip_twist;
    lane per_lever; // 1 / the mean distance
} row_grip;

PSVI_ROW lane row_grip_squared(lane3 impulse, lane per_lever) {
    const lane turning = impulse.z * per_lever;
    return impulse.x * impulse.x + impulse.y * impulse.y + turning * turning;
}

PSVI_ROW lane3 row_hold(lane3 was, lane3 speed, lane mass, lane twist_mass) {
    return lane3_make(row_impulse(was.x, mass, speed.x, row_hard()), row_impulse(was.y, mass, speed.y, row_hard()),
                      row_impulse(was.z, twist_mass, speed.z, row_hard()));
}

// Impulses along the tangents (x, y) and about the normal (z), from those before and the speeds there. `twists`, a
// constant of the call: the patch has a torque.
PSVI_ROW lane3 row_friction(const row_grip *g, lane3 was, lane3 speed, lane limit, bool twists) {
    lane3 now = row_hold(was, speed, g->hold, g->hold_twist);
    lane squared = row_grip_squared(now, g->per_lever);
    lane_mask slides = squared > limit * limit;
    if (!lane_any(slides)) return now;
    if (twists) {
        now = row_hold(was, speed, lane_choose(slides, g->slip, g->hold),
                       lane_choose(slides, g->slip_twist, g->hold_twist));
        squared = row_grip_squared(now, g->per_lever);
        slides = squared > limit * limit;
    }
    return lane3_scale(now, lane_choose(slides, limit / lane_root(squared), lane_of(1)));
}

// A point that rubs alone. One mass for both tangents.
PSVI_ROW row_grip row_point_grip(lane mass) {
    row_grip g;
    g.hold = g.slip = mass;
    g.hold_twist = g.slip_twist = g.per_lever = lane_of(0);
    return g;
}

// --- rolling ---------------------------------------------------------------------------------------------------------

// Rolling and spinning friction of a contact: up to mu_r R N of torque against rolling of its bodies over each other,
// and up to mu_s R N against spin about the normal. N is the normal force, R the lesser radius of those that are balls
// or capsules, or else the bodies' lesser half width. Rows have no direction, only spins.
typedef struct row_roll {
    row_spins t1, t2, about;
    lane mass, about_mass;
    lane rolling, spinning; // limits, metres: times the normal impulse
} row_roll;

// Returns the new impulses about the tangents (x, y) and the normal (z).
PSVI_ROW lane3 row_solve_roll(row_pair *t, const row_roll *r, lane3 was, lane pressing) {
    const row_grip grip = row_point_grip(r->mass);
    const lane3 speed = lane3_make(row_spin_speed(t, r->t1), row_spin_speed(t, r->t2), lane_of(0));
    lane3 now = row_friction(&grip, lane3_make(was.x, was.y, lane_of(0)), speed, r->rolling * pressing, false);
    row_turn(t, r->t1, now.x - was.x);
    row_turn(t, r->t2, now.y - was.y);
    const lane limit = r->spinning * pressing;
    now.z = row_impulse(was.z, r->about_mass, row_spin_speed(t, r->about), row_hard());
    now.z = lane_smaller(lane_larger(now.z, -limit), limit);
    row_turn(t, r->about, now.z - was.z);
    return now;
}

PSVI_ROW void row_make_roll(row_roll *r, row_root a, row_root b, lane3 n) {
    lane3 t1, t2;
    lane3_tangents(n, &t1, &t2);
    r->t1 = row_spins_of(a, b, t1, t1);
    r->t2 = row_spins_of(a, b, t2, t2);
    r->about = row_spins_of(a, b, n, n);
    r->mass = row_tangent_mass(lane_of(0), r->t1, r->t2);
    r->about_mass = row_mass(lane_of(0), r->about);
}

// --- setting rows up -------------------------------------------------------------------------------------------------

PSVI_ROW row_spins row_at_arms(row_root a, row_root b, lane3 arm_a, lane3 arm_b, lane3 direction) {
    return row_spins_of(a, b, lane3_cross(arm_a, direction), lane3_cross(arm_b, direction));
}

#define PSVI_PATCH_POINTS 4 // of one normal that rub together, at most

// The points of a patch, in lanes of up to four; those that a lane does not have are 0.
typedef struct row_patch {
    lane3 arm_a[PSVI_PATCH_POINTS], arm_b[PSVI_PATCH_POINTS];
    lane3 impulse[PSVI_PATCH_POINTS]; // x, y: along the tangents
    lane separation[PSVI_PATCH_POINTS];
    lane used[PSVI_PATCH_POINTS]; // 1 or 0
} row_patch;

// Friction of a patch as a whole.
typedef struct row_slide {
    row_spins t1, t2, about;
    row_grip grip;
    lane3 impulse;
    lane x[PSVI_PATCH_POINTS], y[PSVI_PATCH_POINTS]; // where the points are along the tangents, from their middle
} row_slide;

// Leaves the points of a patch that touch or nearly do, closer than `reach`: friction acts in their middle, and others
// lie anywhere. All, where none touches.
PSVI_ROW void row_leave_near(row_patch *p, uint32_t points, lane reach) {
    const lane zero = lane_of(0);
    lane_mask some = zero > lane_of(1); // none yet
    for (uint32_t k = 0; k < points; ++k)
        some = some | ((p->used[k] > zero) & (p->separation[k] < reach));
    for (uint32_t k = 0; k < points; ++k) {
        const lane near = lane_both(lane_not(some) | (p->separation[k] < reach), lane_of(1));
        p->arm_a[k] = lane3_scale(p->arm_a[k], near);
        p->arm_b[k] = lane3_scale(p->arm_b[k], near);
        p->used[k] = p->used[k] * near;
    }
}

// Rows and masses. The arm of what stands still may be huge, or 0: places are taken from the arms of b where `from_b`.
PSVI_ROW void row_make_slide(row_slide *s, const row_patch *p, uint32_t points, row_root a, row_root b, lane3 n,
                             lane inverse_mass, lane_mask from_b) {
    const lane zero = lane_of(0);
    lane3 t1, t2, middle_a = lane3_make(zero, zero, zero), middle_b = middle_a;
    lane count = zero, distance = zero;
    lane3_tangents(n, &t1, &t2);
    for (uint32_t k = 0; k < points; ++k) {
        count = count + p->used[k];
        middle_a = lane3_add(middle_a, p->arm_a[k]);
        middle_b = lane3_add(middle_b, p->arm_b[k]);
    }
    const lane share = lane_of(1) / count;
    middle_a = lane3_scale(middle_a, share);
    middle_b = lane3_scale(middle_b, share);
    s->impulse = lane3_make(zero, zero, zero);
    for (uint32_t k = 0; k < points; ++k) {
        const lane3 out_a = lane3_sub(p->arm_a[k], middle_a), out_b = lane3_sub(p->arm_b[k], middle_b);
        s->x[k] = lane_choose(from_b, lane3_dot(out_b, t1), lane3_dot(out_a, t1)) * p->used[k];
        s->y[k] = lane_choose(from_b, lane3_dot(out_b, t2), lane3_dot(out_a, t2)) * p->used[k];
        distance = distance + lane_root(s->x[k] * s->x[k] + s->y[k] * s->y[k]);
        s->impulse.x = s->impulse.x + p->impulse[k].x;
        s->impulse.y = s->impulse.y + p->impulse[k].y;
        s->impulse.z = s->impulse.z + (s->x[k] * p->impulse[k].y - s->y[k] * p->impulse[k].x);
    }
    s->t1 = row_at_arms(a, b, middle_a, middle_b, t1);
    s->t2 = row_at_arms(a, b, middle_a, middle_b, t2);
    s->about = row_spins_of(a, b, n, n);
    const lane lever = distance * share, squared = lever * lever;
    const lane_mask wide = lever > lane_of(1e-6f);
    const lane twist = lane_both(wide, row_mass(zero, s->about));
    s->grip.hold = row_tangent_mass(inverse_mass, s->t1, s->t2);
    s->grip.hold_twist = twist;
    s->grip.slip = lane_choose(wide, lane_smaller(s->grip.hold, twist / squared), s->grip.hold);
    s->grip.slip_twist = lane_both(wide, s->grip.slip * squared);
    s->grip.per_lever = lane_both(wide, lane_of(1) / lever);
    s->impulse.z = lane_both(wide, s->impulse.z);
}

// --- restitution -----------------------------------------------------------------------------------------------------

// Hits: points of contacts with restitution that close faster than the threshold and touch within the substep. A hit is
// an event: the speed at which the bodies meet is taken at once and given back at once, so none of it can be lost. It
// happens at its true time, tau after the substep began. The impulse J is (1 + e) times the impulse that stops the
// bodies. It comes in two parts. J (1 - tau / h) acts before the move: after it the bodies are where they would be had
// they flown, met and parted. The rest acts after the move. With the normal of the moment of touching this keeps
// momentum, angular momentum and energy as a collision does (the torques of the two parts cancel: their arms are -v tau
// and v' (h - tau)). Hits leave no impulse for the next substep: what threw bodies apart does not hold them. All points
// of a contact that hit act together, as one row with weights: in one dimension a collision returns e^2 of the energy
// that it took, whatever the order of contacts (Stronge); and what is symmetric stays so.

// Whether a point hits. `after`: the move has been made, and only what touches now does.
PSVI_ROW lane_mask row_hits(const psvi_step *step, lane speed, lane separation, bool after) {
    const lane reach = after ? lane_of(0) : -speed * lane_of(step->substep);
    const lane_mask touches = after ? separation <= reach : separation < reach;
    return (speed < lane_of(-step->restitution_threshold)) & touches;
}

// After the move points that will hit in the next substep must not be slowed before.
PSVI_ROW lane_mask row_hits_later(const psvi_step *step, lane speed, lane separation) {
    return (separation > lane_of(0)) & (speed < lane_of(-step->restitution_threshold));
}

// The share of the substep until a point that hits touches.
PSVI_ROW lane row_hit_time(const psvi_step *step, lane speed, lane separation) {
    const lane time = lane_smaller(-separation / (speed * lane_of(step->substep)), lane_of(1));
    return lane_both(separation > lane_of(0), time);
}

// All points of a contact that hit, by their weights, together.
typedef struct row_whole {
    lane3 direction;
    row_spins spins;
} row_whole;

PSVI_ROW void row_whole_add(row_whole *whole, lane3 direction, row_spins r, lane weight) {
    whole->direction = lane3_madd(whole->direction, direction, weight);
    whole->spins.a = lane3_madd(whole->spins.a, r.a, weight);
    whole->spins.b = lane3_madd(whole->spins.b, r.b, weight);
}

PSVI_ROW lane row_whole_response(const row_pair *t, const row_whole *w) {
    return (t->ma + t->mb) * lane3_dot(w->direction, w->direction) + lane3_dot(w->spins.a, w->spins.a) +
           lane3_dot(w->spins.b, w->spins.b);
}

// The closing speed after a substep's forces, less the one at which the bodies meet, the share `time` into the substep.
// The solver's speeds are those of the middle of a substep, so they have half of what gravity adds to b, or to a alone.
PSVI_ROW lane row_hit_excess(const psvi_step *step, const row_pair *t, lane3 direction, lane time) {
    const lane zero = lane_of(0);
    const lane3 gravity = lane3_make(lane_of(step->gravity[0]), lane_of(step->gravity[1]), lane_of(step->gravity[2]));
    const lane sign = lane_choose(t->ma > zero, lane_choose(t->mb > zero, zero, lane_of(1)), lane_of(-1));
    return sign * lane3_dot(gravity, direction) * lane_of(step->substep) * (lane_of(0.5f) - time);
}

// How many times the impulse of the weighted row a hit is.
PSVI_ROW lane row_hit_multiple(const row_pair *t, const row_whole *w, lane restitution, lane excess) {
    const lane speed = row_speed(t, w->direction, w->spins);
    const lane inverse = lane_inverse(row_whole_response(t, w));
    return lane_larger((lane_of(1) + restitution) * (-speed - excess) * inverse, lane_of(0));
}

// The second part of a hit, the share `pending`; `w` is the whole impulse. Others may have changed the speed since: as
// much is given back as makes the energy right.
PSVI_ROW lane row_hit_rest(const row_pair *t, const row_whole *w, lane restitution, lane pending, lane excess) {
    const lane zero = lane_of(0), response = row_whole_response(t, w), speed = row_speed(t, w->direction, w->spins);
    const lane met = response / (lane_of(1) + restitution), last = restitution * met - excess;
    const lane first = (lane_of(1) - pending) * response - met - excess;
    const lane due = speed * speed + lane_both(last > zero, last * last) - first * first;
    return lane_larger(lane_root(lane_larger(due, zero)) - speed, zero) * lane_inverse(response);
}

// Friction of a hit acts before the move, while the bodies are still `separation` apart. Each arm of two balls is
// shortened by this much, so that the torques of all impulses cancel.
PSVI_ROW lane row_hit_shortening(const row_pair *t, lane separation, lane restitution) {
    const lane zero = lane_of(0);
    return lane_both((t->ma > zero) & (t->mb > zero), lane_of(0.5f) * restitution * lane_larger(separation, zero));
}

#endif
