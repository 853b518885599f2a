// One visit of a pass to one contact of any bodies, written once over the rows of contact_row.h. The contact's numbers
// lie where whoever includes this file keeps them. That one defines before:
//   row_at, row_point, row_rub: where a contact is, and what is loaded of a point and of the friction of a patch;
//   at_any: whether a mask holds in any lane that is at work together with this one;
//   at_rubbing: bits of the patches that rub; at_left: whether any lane has some left; at_acts: where there are some;
//   at_point, at_put_point (impulse, separation), at_rub, at_put_rub, at_hit, at_put_hit, at_pending, at_put_pending;
//   at_normal, at_impulse (of a point); point_spins, point_mass, point_separation, point_impulse;
//   rub_normal, rub_t1, rub_t2, rub_about, rub_grip, rub_impulse.
// PSVI_VISIT stands before each function. The file may be included several times, in namespaces.
//
// A contact is a list of patches. A patch is points of one normal and one friction: where the contact is `whole`, all
// of its points, otherwise one each.
#include "ball_pass.h"

#ifndef PSVI_VISIT
#define PSVI_VISIT PSVI_ROW
#endif

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

PSVI_VISIT uint32_t row_turn_of(uint32_t i, uint32_t count, bool backward) { return backward ? count - 1 - i : i; }

PSVI_VISIT void hand_normal(row_hand *h, row_line *line, const psvi_step *step, uint32_t i, bool whole, bool relax,
                            bool backward, bool bounces, bool fresh) {
    const uint32_t k = row_turn_of(i, h->count, backward);
    const row_point p = i == 0 ? at_point(h->at, k) : line->next;
    if (i + 1 < h->count) line->next = at_point(h->at, row_turn_of(i + 1, h->count, backward)); // to ask for it
    if (!whole || i == 0) {
        line->n = at_normal(h->at, whole ? 0 : k);
        line->speed = row_linear_speed(&h->t, line->n);
        line->sum = lane_of(0);
        if (fresh) line->moved = row_linear_speed(h->moved, line->n);
    }
    lane separation = point_separation(p);
    if (fresh) separation = row_moved(separation, h->moved, line->moved, point_spins(p));
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
PSVI_VISIT void hand_normals(row_hand *h, row_hand *g, bool two, const psvi_step *step, bool whole, bool relax,
                             bool backward, bool bounces, bool fresh) {
    row_line line, other;
    for (uint32_t i = 0; i < h->count || (two && i < g->count); ++i) {
        if (i < h->count) hand_normal(h, &line, step, i, whole, relax, backward, bounces, fresh);
        if (two && i < g->count) hand_normal(g, &other, step, i, whole, relax, backward, bounces, fresh);
    }
}

// The friction of a patch that is pressed by `pressing`, from the impulses `was`, where `acts`; returns the new ones.
PSVI_VISIT lane3 hand_rub(row_hand *h, row_pair *t, const row_rub *r, lane3 was, lane pressing, lane_mask acts,
                          bool whole) {
    const row_grip grip = rub_grip(r);
    const row_spins s1 = rub_t1(r), s2 = rub_t2(r), about = whole ? rub_about(r) : s1;
    lane3 t1, t2;
    lane3_tangents(rub_normal(r), &t1, &t2);
    lane3 speed = lane3_make(row_speed(t, t1, s1), row_speed(t, t2, s2), lane_of(0));
    if (whole) speed.z = row_spin_speed(t, about);
    lane3 now = row_friction(&grip, was, speed, h->friction * pressing, whole);
    now = lane3_make(lane_choose(acts, now.x, was.x), lane_choose(acts, now.y, was.y), lane_choose(acts, now.z, was.z));
    const lane3 change = lane3_sub(now, was);
    row_push(t, lane3_madd(lane3_scale(t1, change.x), t2, change.y), lane_of(1));
    row_turn(t, s1, change.x);
    row_turn(t, s2, change.y);
    if (whole) row_turn(t, about, change.z);
    return now;
}

PSVI_VISIT lane hand_pressing(const row_hand *h) {
    lane sum = at_impulse(h->at, 0);
    for (uint32_t k = 1; k < h->count; ++k)
        sum = sum + at_impulse(h->at, k);
    return sum;
}

// The patch of `left`, bits, that is next.
PSVI_VISIT uint32_t row_next_patch(uint32_t left, bool backward) {
    if (left == 0) return 0;
    return backward ? psvi_highest_bit(left) : psvi_lowest_bit(left);
}

PSVI_VISIT void hand_frictions(row_hand *h, bool whole, bool backward) {
    if (!at_any(h->at, h->friction > lane_of(0))) return;
    uint32_t left = at_rubbing(h->at, h->count, whole);
    while (at_left(h->at, left)) {
        const uint32_t k = row_next_patch(left, backward);
        const row_rub r = at_rub(h->at, k, whole);
        const lane pressing = whole ? hand_pressing(h) : at_impulse(h->at, k);
        const lane3 was = rub_impulse(&r);
        at_put_rub(h->at, k, &r, hand_rub(h, &h->t, &r, was, pressing, at_acts(h->at, left), whole), whole);
        left &= ~(1u << k);
    }
}

// The impulses of the last substep or step again.
PSVI_VISIT void hand_warm(row_hand *h, bool whole) {
    for (uint32_t k = 0; k < h->count; ++k) {
        const row_point p = at_point(h->at, k);
        row_apply(&h->t, at_normal(h->at, whole ? 0 : k), point_spins(p), point_impulse(p));
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
PSVI_VISIT void hand_set_impulses(row_hand *h, lane *kept, bool begin) {
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
PSVI_VISIT void hand_pass(row_hand *h, row_hand *g, bool two, const psvi_step *step, psvi_pass pass, bool loads,
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
        hand_normals(h, g, two, step, whole, relax, backward, bounces, h->moved != NULL && turn == 0);
        if (relax) hand_frictions(h, whole, backward);
        if (relax && two) hand_frictions(g, whole, backward);
    }
    if (relax && !loads) hand_set_impulses(h, kept, false);
}

// The hits of a contact, which change `t`; returns where there are any. `look`: nothing is done.
PSVI_VISIT lane_mask hand_hits(row_hand *h, row_pair *t, const psvi_step *step, bool after, bool look) {
    const lane zero = lane_of(0), one = lane_of(1), pending = at_pending(h->at);
    const lane_mask rest = h->later & (pending > zero);
    lane_mask first = rest & lane_not(rest);
    lane time = one;
    row_whole whole;
    whole.direction = whole.spins.a = whole.spins.b = lane3_make(zero, zero, zero);
    for (uint32_t k = 0; k < h->count; ++k) {
        const row_point p = at_point(h->at, k);
        const lane3 n = at_normal(h->at, k);
        const row_spins r = point_spins(p);
        const lane speed = row_speed(t, n, r);
        lane separation = point_separation(p);
        if (h->moved != NULL) separation = row_moved(separation, h->moved, row_linear_speed(h->moved, n), r);
        const lane_mask hit = h->later & lane_not(rest) & row_hits(step, speed, separation, after);
        const lane weight = lane_choose(rest, at_hit(h->at, k), lane_both(hit, -speed * point_mass(p)));
        row_whole_add(&whole, n, r, weight);
        time = lane_choose(hit, lane_smaller(time, row_hit_time(step, speed, separation)), time);
        first = first | hit;
        if (!look) at_put_hit(h->at, k, weight);
    }
    const lane_mask hits = first | rest;
    if (look || !at_any(h->at, hits)) return hits;
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
        const lane_mask rubs = (impulse > zero) & (h->friction > zero);
        if (!at_any(h->at, rubs)) continue;
        const row_rub r = at_rub(h->at, k, false);
        (void)hand_rub(h, t, &r, lane3_make(zero, zero, zero), impulse, rubs, false);
    }
    return hits;
}

// The hits of a contact in a pass. After the move, points that touch while the rest of a hit is due hit right after it.
PSVI_VISIT lane_mask hand_all_hits(row_hand *h, row_pair *t, const psvi_step *step, bool after) {
    const lane_mask own = h->later;
    lane_mask hits = lane_of(0) > lane_of(1); // none yet
    for (bool again = true; again;) {
        const lane_mask rests = h->later & (at_pending(h->at) > lane_of(0));
        hits = hits | hand_hits(h, t, step, after, false);
        again = after && at_any(h->at, rests);
        h->later = rests;
    }
    h->later = own;
    return hits;
}
