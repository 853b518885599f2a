// One visit of a pass to one contact, written once over the rows of contact_row.h: contacts of balls, which are values,
// and contacts of any bodies, whose numbers lie where whoever includes this file keeps them. That one defines before:
//   row_at, row_point, row_rub: where a contact is, and what is loaded of a point and of the friction of a patch;
//   at_point, at_put_point (impulse, separation), at_rub, at_put_rub, at_hit, at_put_hit, at_pending, at_put_pending;
//   point_normal, point_spins, point_mass, point_separation, point_impulse;
//   rub_normal, rub_t1, rub_t2, rub_about, rub_grip, rub_impulse, rub_pressing.
//
// A contact is a list of patches. A patch is points of one normal and one friction: where the contact is `whole`, all
// of its points, otherwise one each.
#ifndef PAIRSIEVE_CONTACT_PASS_H
#define PAIRSIEVE_CONTACT_PASS_H

#include "contact_row.h"
#include "solver_pass.h"

// --- contacts of balls -----------------------------------------------------------------------------------------------

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

// --- contacts of any bodies ------------------------------------------------------------------------------------------

// A contact while it is visited.
typedef struct row_hand {
    lane friction;
    lane_mask later; // has restitution
    lane restitution;
    row_springs springs;
    row_pair t;
    row_at at;
    const row_pair *moved; // movement of the substep that separations do not have yet; NULL without
    uint32_t count;        // of points
    bool uneven;           // psvi_is_uneven
} row_hand;

// The patch that is at work: bodies change along one normal, so their speed along it is kept as a number.
typedef struct row_line {
    lane3 n;
    lane speed, sum, moved;
    row_point next;
} row_line;

PSVI_ROW uint32_t row_turn_of(uint32_t i, uint32_t count, bool backward) { return backward ? count - 1 - i : i; }

PSVI_ROW void hand_normal(row_hand *h, row_line *line, const psvi_step *step, uint32_t i, bool whole, bool relax,
                          bool backward, bool bounces, bool fresh) {
    const uint32_t k = row_turn_of(i, h->count, backward);
    const row_point p = i == 0 ? at_point(h->at, k) : line->next;
    if (i + 1 < h->count) line->next = at_point(h->at, row_turn_of(i + 1, h->count, backward)); // to ask for it
    if (!whole || i == 0) {
        line->n = point_normal(whole ? at_point(h->at, 0) : p);
        line->speed = row_linear_speed(&h->t, line->n);
        line->sum = lane_of(0);
        if (fresh) line->moved = row_linear_speed(h->moved, line->n);
    }
    lane separation = point_separation(p);
    if (fresh) separation = separation + (line->moved + row_spin_speed(h->moved, point_spins(p)));
    const lane before = point_impulse(p), speed = line->speed + row_spin_speed(&h->t, point_spins(p));
    lane total = row_normal(before, point_mass(p), speed, row_softness(step, &h->springs, separation, relax));
    if (bounces && relax) total = lane_choose(h->later & row_hits_later(step, speed, separation), before, total);
    const lane change = total - before;
    row_turn(&h->t, point_spins(p), change);
    line->speed = line->speed + change * (h->t.ma + h->t.mb);
    line->sum = line->sum + change;
    at_put_point(h->at, k, &p, total, separation, fresh);
    if (!whole || i + 1 == h->count) row_push(&h->t, line->n, line->sum);
}

// The normals of a contact or, with `two`, of two that share no body that moves: of one each operation waits for the
// one before it, and two fill each other's gaps.
PSVI_ROW void hand_normals(row_hand *h, row_hand *g, bool two, const psvi_step *step, bool whole, bool relax,
                           bool backward, bool bounces, bool fresh) {
    row_line line, other;
    for (uint32_t i = 0; i < h->count || (two && i < g->count); ++i) {
        if (i < h->count) hand_normal(h, &line, step, i, whole, relax, backward, bounces, fresh);
        if (two && i < g->count) hand_normal(g, &other, step, i, whole, relax, backward, bounces, fresh);
    }
}

// The friction of a patch that is pressed by `pressing`, from the impulses `was`; returns the new ones.
PSVI_ROW lane3 hand_rub(row_hand *h, row_pair *t, const row_rub *r, lane3 was, lane pressing, bool whole) {
    const row_grip grip = rub_grip(r);
    const row_spins s1 = rub_t1(r), s2 = rub_t2(r);
    lane3 t1, t2;
    lane3_tangents(rub_normal(r), &t1, &t2);
    lane3 speed = lane3_make(row_speed(t, t1, s1), row_speed(t, t2, s2), lane_of(0));
    if (whole) speed.z = row_spin_speed(t, rub_about(r));
    const lane3 now = row_friction(&grip, was, speed, h->friction * pressing, whole);
    const lane3 change = lane3_sub(now, was);
    row_push(t, lane3_madd(lane3_scale(t1, change.x), t2, change.y), lane_of(1));
    row_turn(t, s1, change.x);
    row_turn(t, s2, change.y);
    if (whole) row_turn(t, rub_about(r), change.z);
    return now;
}

PSVI_ROW lane hand_pressing(const row_hand *h) {
    lane sum = point_impulse(at_point(h->at, 0));
    for (uint32_t k = 1; k < h->count; ++k)
        sum = sum + point_impulse(at_point(h->at, k));
    return sum;
}

PSVI_ROW void hand_frictions(row_hand *h, bool whole, bool backward) {
    const lane zero = lane_of(0);
    if (!lane_any(h->friction > zero)) return;
    const uint32_t patches = whole ? 1 : h->count;
    for (uint32_t i = 0; i < patches; ++i) {
        const uint32_t k = row_turn_of(i, patches, backward);
        const row_rub r = at_rub(h->at, k, whole);
        const lane pressing = whole ? hand_pressing(h) : rub_pressing(&r);
        const lane3 was = rub_impulse(&r);
        if (!lane_any((pressing > zero) | (was.x != zero) | (was.y != zero) | (was.z != zero))) continue;
        at_put_rub(h->at, k, &r, hand_rub(h, &h->t, &r, was, pressing, whole), whole);
    }
}

// The impulses of the last substep or step again.
PSVI_ROW void hand_warm(row_hand *h, bool whole) {
    for (uint32_t k = 0; k < h->count; ++k) {
        const row_point p = at_point(h->at, k);
        row_apply(&h->t, point_normal(whole ? at_point(h->at, 0) : p), point_spins(p), point_impulse(p));
        if (whole && k > 0) continue;
        const row_rub r = at_rub(h->at, k, whole);
        const lane3 impulse = rub_impulse(&r);
        lane3 t1, t2;
        lane3_tangents(rub_normal(&r), &t1, &t2);
        row_apply(&h->t, t1, rub_t1(&r), impulse.x);
        row_apply(&h->t, t2, rub_t2(&r), impulse.y);
        if (whole) row_turn(&h->t, rub_about(&r), impulse.z);
    }
}

// Where no forces act, the impulses of the pass after the move begin at 0 and end with the visit.
PSVI_ROW void hand_set_impulses(row_hand *h, lane *kept, bool begin) {
    const lane zero = lane_of(0);
    for (uint32_t k = 0; k < h->count; ++k) {
        const row_rub r = at_rub(h->at, k, false);
        at_put_rub(h->at, k, &r, lane3_make(zero, zero, zero), false);
        const row_point p = at_point(h->at, k);
        if (begin) kept[k] = point_impulse(p);
        at_put_point(h->at, k, &p, begin ? zero : kept[k], zero, false);
    }
}

// Undoing overlap: friction first, so that what keeps bodies apart has the last word. The pass after the move the other
// way round: friction then is that of the load that is really carried. Several points are solved there and back, while
// their bodies are in registers: what one order favours the other gives back. Where no forces act, only the first pass
// after the move does that. `g`, of as many turns: see hand_normals.
PSVI_ROW void hand_pass(row_hand *h, row_hand *g, bool two, const psvi_step *step, psvi_pass pass, bool loads,
                        bool whole, bool bounces) {
    if (pass == PSVI_PASS_WARM) {
        hand_warm(h, whole);
        if (two) hand_warm(g, whole);
        return;
    }
    const bool relax = psvi_relaxes(pass), fresh = pass == PSVI_PASS_RELAX;
    const uint32_t turns = h->count == 1 || (!loads && !fresh) ? 1 : loads && !h->uneven ? step->turns : 2;
    lane kept[PSVI_MAX_POINTS];
    if (relax && !loads) hand_set_impulses(h, kept, true);
    for (uint32_t turn = 0; turn < turns; ++turn) {
        const bool backward = (loads ? relax : fresh) != (turn == 1);
        if (!relax && loads) hand_frictions(h, whole, backward);
        if (!relax && loads && two) hand_frictions(g, whole, backward);
        hand_normals(h, g, two, step, whole, relax, backward, bounces, fresh && turn == 0);
        if (relax) hand_frictions(h, whole, backward);
        if (relax && two) hand_frictions(g, whole, backward);
    }
    if (relax && !loads) hand_set_impulses(h, kept, false);
}

// The hits of a contact, which change `t`; returns where there are any. `look`: nothing is done.
PSVI_ROW lane_mask hand_hits(row_hand *h, row_pair *t, const psvi_step *step, bool after, bool look) {
    const lane zero = lane_of(0), one = lane_of(1), pending = at_pending(h->at);
    const lane_mask rest = h->later & (pending > zero);
    lane_mask first = rest & lane_not(rest);
    lane time = one;
    row_whole whole;
    whole.direction = whole.spins.a = whole.spins.b = lane3_make(zero, zero, zero);
    for (uint32_t k = 0; k < h->count; ++k) {
        const row_point p = at_point(h->at, k);
        const lane3 n = point_normal(p);
        const row_spins r = point_spins(p);
        const lane speed = row_speed(t, n, r);
        const lane separation = point_separation(p) + (h->moved ? row_speed(h->moved, n, r) : zero);
        const lane_mask hit = h->later & lane_not(rest) & row_hits(step, speed, separation, after);
        const lane weight = lane_choose(rest, at_hit(h->at, k), lane_both(hit, -speed * point_mass(p)));
        row_whole_add(&whole, n, r, weight);
        time = lane_choose(hit, lane_smaller(time, row_hit_time(step, speed, separation)), time);
        first = first | hit;
        if (!look) at_put_hit(h->at, k, weight);
    }
    const lane_mask hits = first | rest;
    if (look || !lane_any(hits)) return hits;
    const lane to_come = after ? zero : time;
    const lane excess = row_hit_excess(step, t, whole.direction, lane_choose(rest, pending, after ? one : time));
    const lane multiple = row_hit_multiple(t, &whole, h->restitution, excess);
    const lane rest_of_hit = row_hit_rest(t, &whole, h->restitution, pending, excess);
    row_apply(t, whole.direction, whole.spins,
              lane_choose(rest, rest_of_hit, lane_both(first, multiple * (one - to_come))));
    at_put_pending(h->at, lane_both(first, to_come));
    for (uint32_t k = 0; k < h->count; ++k) {
        const lane impulse = lane_both(first, multiple * at_hit(h->at, k));
        at_put_hit(h->at, k, impulse);
        if (!lane_any((impulse > zero) & (h->friction > zero))) continue;
        const row_rub r = at_rub(h->at, k, false);
        (void)hand_rub(h, t, &r, lane3_make(zero, zero, zero), impulse, false);
    }
    return hits;
}

#endif
