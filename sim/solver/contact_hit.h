// Hits: points of contacts with restitution that close faster than the threshold and touch within the substep. A hit is
// an event: the speed at which the bodies meet is taken at once and given back at once, so none of it can be lost, and
// it is met at the true time, tau after the substep began. The impulse J = (1 + e) times what stops the bodies comes in
// two parts: J (1 - tau / h) before the move, so that the bodies are after it where they would be had they flown, met
// and parted; and the rest after it. With the normal of the moment of touching this keeps momentum, angular momentum
// and energy as a collision does (the torques of the two parts cancel: their arms are -v tau and v' (h - tau)). Hits
// leave no impulse for the next substep: what threw bodies apart does not hold them. All points of a contact that hit
// act together, as one row with weights: in one dimension a collision returns e^2 of the energy that it took, whatever
// the order of contacts (Stronge); and what is symmetric stays so.
#ifndef PAIRSIEVE_CONTACT_HIT_H
#define PAIRSIEVE_CONTACT_HIT_H

#include "contact_rows.h"

// Whether a point hits. `after`: the move has been made, and only what touches now does.
PSVI_HD bool psvi_point_hits(const psvi_step *step, float speed, float separation, bool after) {
    bool touches = after ? separation <= 0 : separation < -speed * step->substep;
    return speed < -step->restitution_threshold && touches;
}

// The share of the substep until a point touches.
PSVI_HD float psvi_hit_time(const psvi_step *step, float speed, float separation) {
    return separation > 0 ? fminf(-separation / (speed * step->substep), 1.0f) : 0.0f;
}

// What gravity adds in a substep to the speed at which b, or a alone, closes along `direction`.
PSVI_HD float psvi_hit_fall(const psvi_step *step, v3 direction, bool moves_a, bool moves_b) {
    if (moves_a && moves_b) return 0;
    return (moves_a ? 1.0f : -1.0f) * v3_dot(v3_of(step->gravity), direction) * step->substep;
}

// Friction of a hit acts before the move, while the bodies are still `separation` apart. Each arm is shortened by this
// much, so that the torques of all impulses cancel.
PSVI_HD float psvi_hit_shortening(float separation, float restitution, bool both_move) {
    return both_move ? 0.5f * restitution * fmaxf(separation, 0.0f) : 0.0f;
}

// The closing speed after a substep's forces, less the one at which the bodies meet, the share `time` into the substep.
// The solver's speeds are those of the middle of a substep, so they have half of what gravity adds.
PSVI_HD float psvi_hit_excess(float fall, float time) { return fall * (0.5f - time); }

// After the move points that will hit in the next substep must not be slowed before.
PSVI_HD bool psvi_hits_later(const psvi_step *step, float speed, float separation) {
    return separation > 0 && speed < -step->restitution_threshold;
}

PSVI_HD float psvi_row_response(const psvi_pair_state *t, const psvi_row *r) {
    return (t->ma + t->mb) * v3_dot(r->direction, r->direction) + v3_dot(r->spin_a, r->spin_a) +
           v3_dot(r->spin_b, r->spin_b);
}

// How many times the impulse of the weighted row `whole` a hit is. `speed`: the row's; `excess`: as above, the row's.
PSVI_HD float psvi_hit_multiple(const psvi_pair_state *t, const psvi_row *whole, float speed, float restitution,
                                float excess) {
    float response = psvi_row_response(t, whole);
    return response > 0 ? fmaxf((1 + restitution) * (-speed - excess) / response, 0.0f) : 0.0f;
}

// The second part of a hit, the share `pending`. `response` and `speed`: of the row that is the whole impulse. Others
// may have changed the speed since: as much is given back as makes the energy right.
PSVI_HD float psvi_hit_rest(float response, float speed, float restitution, float pending, float excess) {
    float met = response / (1 + restitution), last = restitution * met - excess;
    float first = (1 - pending) * response - met - excess;
    float due = speed * speed + (last > 0 ? last * last : 0.0f) - first * first;
    return response > 0 ? fmaxf(sqrtf(fmaxf(due, 0.0f)) - speed, 0.0f) / response : 0.0f;
}

#endif
