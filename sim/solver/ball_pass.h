// One visit of a pass to a contact of balls, written over the rows of contact_row.h. Its numbers are values, so one
// text serves all backends as it is.
#ifndef PAIRSIEVE_BALL_PASS_H
#define PAIRSIEVE_BALL_PASS_H

#include "contact_row.h"
#include "solver_pass.h"

// One point between balls, or of a ball and what does not turn. It lies on the normal through the centres: the row of
// the normal takes nothing from the spins, and those of the tangents follow from the arms.
typedef struct row_ball {
    lane3 n;
    lane separation, friction;
    lane mass, hold;   // of the normal and of both tangents
    lane push_speed;   // overlap is undone no faster
    lane arm_a, arm_b; // distances of the point from the centres, times the root of the inverse inertia
    lane3 impulse;     // normal, tangents
} row_ball;

// Both arms lie along n and the impulses oppose: the two spins change alike.
PSVI_ROW void ball_rub(row_pair *t, const row_ball *c, lane3 t1, lane3 t2, lane x, lane y, bool turning) {
    row_push(t, lane3_madd(lane3_scale(t1, x), t2, y), lane_of(1));
    if (!turning) return;
    const lane3 twist = lane3_madd(lane3_scale(t2, x), t1, -y);
    t->wa = lane3_madd(t->wa, twist, -c->arm_a);
    t->wb = lane3_madd(t->wb, twist, -c->arm_b);
}

PSVI_ROW void ball_warm(row_pair *t, const row_ball *c, bool turning) {
    lane3 t1, t2;
    lane3_tangents(c->n, &t1, &t2);
    row_push(t, c->n, c->impulse.x);
    ball_rub(t, c, t1, t2, c->impulse.y, c->impulse.z, turning);
}

PSVI_ROW void ball_friction(row_pair *t, row_ball *c, bool turning) {
    const row_grip grip = row_point_grip(c->hold);
    lane3 t1, t2;
    lane3_tangents(c->n, &t1, &t2);
    lane3 speed = lane3_make(row_linear_speed(t, t1), row_linear_speed(t, t2), lane_of(0));
    if (turning) {
        const lane3 spin = lane3_madd(lane3_scale(t->wa, c->arm_a), t->wb, c->arm_b);
        speed.x = speed.x - lane3_dot(spin, t2);
        speed.y = speed.y + lane3_dot(spin, t1);
    }
    const lane3 was = lane3_make(c->impulse.y, c->impulse.z, lane_of(0));
    const lane3 now = row_friction(&grip, was, speed, c->friction * c->impulse.x, false);
    ball_rub(t, c, t1, t2, now.x - was.x, now.y - was.y, turning);
    c->impulse.y = now.x;
    c->impulse.z = now.y;
}

// `later`: has restitution, and the move has been made.
PSVI_ROW void ball_normal(row_pair *t, row_ball *c, const psvi_step *step, bool relax, bool bounces, lane_mask later) {
    const lane zero = lane_of(0), before = c->impulse.x, speed = row_linear_speed(t, c->n);
    const row_springs springs =
        row_springs_of(step, (t->ma > zero) & (t->mb > zero), lane_of(PSVI_NEVER_DEEP), c->push_speed);
    lane total = row_normal(before, c->mass, speed, row_softness(step, &springs, c->separation, relax));
    if (bounces && relax) total = lane_choose(later & row_hits_later(step, speed, c->separation), before, total);
    row_push(t, c->n, total - before);
    c->impulse.x = total;
}

PSVI_ROW lane_mask ball_rubs(const row_ball *c) {
    const lane zero = lane_of(0);
    return (c->friction > zero) & ((c->impulse.x > zero) | (c->impulse.y != zero) | (c->impulse.z != zero));
}

// All but hits. `bounces`: restitution is looked at.
PSVI_ROW void ball_pass(row_pair *t, row_ball *c, const psvi_step *step, psvi_pass pass, bool loads, bool turning,
                        bool bounces, lane_mask later) {
    if (pass == PSVI_PASS_WARM) {
        ball_warm(t, c, turning);
        return;
    }
    const bool relax = psvi_relaxes(pass);
    const lane3 none = lane3_make(lane_of(0), lane_of(0), lane_of(0)), kept = c->impulse;
    if (relax && !loads) c->impulse = none;
    if (!relax && loads && lane_any(ball_rubs(c))) ball_friction(t, c, turning);
    ball_normal(t, c, step, relax, bounces, later);
    if (relax && lane_any(ball_rubs(c))) ball_friction(t, c, turning);
    if (relax && !loads) c->impulse = lane3_make(kept.x, lane_of(0), lane_of(0));
}

// What a contact with restitution has of its own.
typedef struct row_bounce {
    lane restitution;
    lane pending; // the share of a hit that is still to come
    lane hit;     // the whole impulse of that hit
} row_bounce;

// The hits of contacts of balls; returns where there are any. `look`: nothing is done.
PSVI_ROW lane_mask ball_hits(row_pair *t, const row_ball *c, row_bounce *b, const psvi_step *step, bool after,
                             bool turning, bool look, lane length_a, lane length_b) {
    const lane zero = lane_of(0), one = lane_of(1), speed = row_linear_speed(t, c->n);
    const lane_mask bounces = b->restitution > zero;
    const lane_mask rest = bounces & (b->pending > zero);
    const lane_mask first = bounces & lane_not(rest) & row_hits(step, speed, c->separation, after);
    const lane_mask hits = first | rest;
    if (look || !lane_any(hits)) return hits;
    row_whole whole;
    whole.direction = lane3_scale(c->n, lane_choose(rest, b->hit, -speed * c->mass));
    whole.spins.a = whole.spins.b = lane3_make(zero, zero, zero);
    const lane pending = after ? zero : row_hit_time(step, speed, c->separation);
    const lane time = lane_choose(rest, b->pending, after ? one : pending);
    const lane excess = row_hit_excess(step, t, whole.direction, time);
    const lane whole_hit = row_hit_multiple(t, &whole, b->restitution, excess);
    const lane rest_of_hit = row_hit_rest(t, &whole, b->restitution, b->pending, excess);
    row_push(t, whole.direction, lane_choose(rest, rest_of_hit, lane_both(first, whole_hit * (one - pending))));
    b->hit = lane_choose(first, whole_hit * -speed * c->mass, b->hit);
    b->pending = lane_choose(first, pending, lane_both(lane_not(rest), b->pending));
    row_ball rub = *c;
    const lane less = after ? zero : row_hit_shortening(t, c->separation, b->restitution);
    rub.arm_a = c->arm_a * (one - lane_both(length_a > zero, less / length_a));
    rub.arm_b = c->arm_b * (one - lane_both(length_b > zero, less / length_b));
    rub.impulse = lane3_make(lane_both(first, b->hit), zero, zero);
    if (lane_any(ball_rubs(&rub))) ball_friction(t, &rub, turning);
    return hits;
}

#endif
