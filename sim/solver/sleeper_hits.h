// Sleepers that are hit. To the solver a sleeper is static: a body that hits it would lose its momentum. So once the
// contacts of a step are known, and before they are solved, the islands of sleepers that are hit are marked to wake.
// Then the step begins again. The next try may find more, since bodies that woke may pass the hit on. Marks and speeds
// only grow from try to try, so who is awake in the end does not depend on the order of contacts.
#ifndef PAIRSIEVE_SLEEPER_HITS_H
#define PAIRSIEVE_SLEEPER_HITS_H

#include "../contacts/narrow_contact.h"

// How fast the surface of a body that is awake comes nearer to a sleeper at a point, without the forces of the step:
// what rests does not hit.
PSVI_HD float psvi_hit_speed(const psvi_sim *s, uint32_t mover, v3 arm, v3 towards) {
    const v3 speed = v3_add(v3_of4(s->linear[mover].velocity), v3_cross(psvi_spin_of(s, mover), arm));
    return v3_dot(speed, towards);
}

// The most speed along a line that the hits of the step can have given to what has woken in it: hits are known by axis
// alone. A light body may leave with twice the speed of the heavy one that hits it.
PSVI_HD float psvi_passed_speed(const psvi_sim *s, v3 along) {
    const float *push = s->counts->push;
    const v3 n = v3_abs(along),
             most = v3_make(psvi_load_float(&push[0]), psvi_load_float(&push[1]), psvi_load_float(&push[2]));
    return 2 * v3_dot(n, most);
}

// Contact i of the narrow phase: wakes the sleeper if it is hit within the step, faster than bodies sleep.
PSVI_HD void psvi_find_hit(const psvi_sim *s, const psvi_step *step, uint64_t i) {
    const psvi_contact *c = &s->contacts[i];
    const bool sleeps_b = psvi_is_asleep(s, c->b);
    if (psvi_is_asleep(s, c->a) == sleeps_b) return;
    const uint32_t mover = sleeps_b ? c->a : c->b;
    const bool shoved = step->repeats && s->busy[mover] != 0;
    const float seconds = psvi_reached(step);
    bool wakes = false;
    for (uint32_t k = 0; k < c->count; ++k) {
        const psvi_point *p = &s->points[c->first + k];
        const v3 n = v3_of(p->normal), towards = sleeps_b ? n : v3_neg(n);
        const float speed = psvi_hit_speed(s, mover, v3_of(sleeps_b ? p->arm_a : p->arm_b), towards);
        const bool hits = speed > step->sleep_speed && p->separation < speed * seconds;
        if (hits) psvi_note_push(s, v3_scale(towards, speed));
        const float passed = shoved ? psvi_passed_speed(s, towards) : 0.0f;
        wakes = wakes || hits || (passed > step->sleep_speed && p->separation < passed * seconds);
    }
    if (wakes) psvi_wake_hit(s, sleeps_b ? c->b : c->a);
}

#endif
