// Sleep: bodies that touch each other and have all been slow for a while form an island that is treated as static.
// Their pairs among themselves and with the ground are not looked for. An island wakes when a body that is awake
// presses on one of its bodies. Islands are components of the contact graph, by union-find. The root is the least slot,
// whatever the order of contacts (Jaiganesh & Burtscher 2018, «ECL-CC», use the same hooking on GPUs). Runs after a
// step, in worlds that ask for it only.
#ifndef PAIRSIEVE_BODY_SLEEP_H
#define PAIRSIEVE_BODY_SLEEP_H

#include "../data/atomics.h"
#include "../data/sim_data.h"

#define PSVI_SLEEP_SECONDS 0.5f // for which all bodies of an island have been slow
#define PSVI_SLEEP_STEPS 8u     // steps from one search for islands to the next

PSVI_HD bool psvi_is_asleep(const psvi_sim *s, uint32_t i) { return (s->flags[i] & PSVI_FLAG_ASLEEP) != 0; }

// Whether contacts of one colour may not share the body: a sleeper may wake, and its contacts keep their colours.
PSVI_HD bool psvi_may_move(const psvi_sim *s, uint32_t i) { return s->velocity[i].w > 0; }

// Moves, is awake, and is still there: any other body has some flag, and so has a slot whose body the step has taken
// out.
PSVI_HD bool psvi_is_awake(const psvi_sim *s, uint32_t i) { return s->flags[i] == 0; }

// At the beginning of a step: wakes the body if its island is to; true where it sleeps on.
PSVI_HD bool psvi_sleep_on(const psvi_sim *s, uint32_t i) {
    if (!psvi_is_asleep(s, i)) return false;
    if (s->wake[s->island[i]] == 0) return true;
    s->flags[i] = (uint8_t)(s->flags[i] & ~(PSVI_FLAG_ASLEEP | PSV_BOX_STATIC));
    s->still[i] = 0;
    s->busy[i] = 1;
    return false;
}

PSVI_HD void psvi_wake_island(const psvi_sim *s, uint32_t i) {
    if (psvi_is_asleep(s, i)) psvi_mark(&s->wake[s->island[i]]);
}

// The same within a step, which then begins again with the island awake.
PSVI_HD void psvi_wake_hit(const psvi_sim *s, uint32_t i) {
    if (!psvi_is_asleep(s, i)) return;
    psvi_wake_island(s, i);
    psvi_fetch_or(&s->counts->hits, 1);
}

// The step begins again, once its contacts are known.
PSVI_HD bool psvi_tries_again(const psvi_step_counts *c) { return c->hits != 0 && c->tries < PSVI_MOST_TRIES; }

// The step is done.
PSVI_HD void psvi_forget_hits(psvi_step_counts *c) {
    c->tries = 0;
    c->push[0] = c->push[1] = c->push[2] = 0;
}

// What moves so fast hits a sleeper.
PSVI_HD void psvi_note_push(const psvi_sim *s, v3 velocity) {
    psvi_raise(&s->counts->push[0], fabsf(velocity.x));
    psvi_raise(&s->counts->push[1], fabsf(velocity.y));
    psvi_raise(&s->counts->push[2], fabsf(velocity.z));
}

// Is kinematic and moves.
PSVI_HD bool psvi_drives(const psvi_sim *s, uint32_t i) {
    return !(s->linear[i].velocity.w > 0) && s->linear[i].moved.w != 0;
}

// A kinematic body is near another one, which wakes if it sleeps.
PSVI_HD void psvi_wake_by_driver(const psvi_sim *s, uint32_t driver, uint32_t body) {
    if (!psvi_drives(s, driver) || !psvi_is_asleep(s, body)) return;
    const float turning = v3_length(v3_of4(s->angular[driver].velocity)) * s->position[driver].w;
    psvi_note_push(s, v3_add(v3_abs(v3_of4(s->linear[driver].velocity)), v3_make(turning, turning, turning)));
    psvi_wake_hit(s, body);
}

// Two bodies near each other that the solver cannot move, so there is no contact to be made.
PSVI_HD void psvi_wake_by_pair(const psvi_sim *s, uint32_t a, uint32_t b) {
    if (s->island == NULL) return;
    psvi_wake_by_driver(s, a, b);
    psvi_wake_by_driver(s, b, a);
}

// Whether the bodies of contact i pressed on each other in the step, or were only near.
PSVI_HD bool psvi_presses(const psvi_sim *s, const psvi_contact *c) {
    float pressing = 0;
    for (uint32_t k = 0; k < c->count; ++k)
        pressing += s->kept_points[c->first + k].impulse[0];
    return pressing > 0;
}

// And in the step before: what is only nudged does not.
PSVI_HD bool psvi_pressed_before(const psvi_sim *s, const psvi_contact *c) {
    float pressing = 0;
    for (uint32_t k = 0; k < c->count; ++k)
        pressing += s->points[c->first + k].impulse.x; // with which the step began
    return pressing > 0;
}

// Contact i after the step: what presses on a sleeper for two steps wakes it, and what a kinematic body moves does not
// fall asleep.
PSVI_HD void psvi_wake_by_contact(const psvi_sim *s, uint64_t i) {
    const psvi_contact *c = &s->contacts[i];
    const bool sleeps_a = psvi_is_asleep(s, c->a), sleeps_b = psvi_is_asleep(s, c->b);
    const bool drives_a = psvi_drives(s, c->a), drives_b = psvi_drives(s, c->b);
    if (!sleeps_a && !sleeps_b && !drives_a && !drives_b) return;
    if (drives_a) s->still[c->b] = 0;
    if (drives_b) s->still[c->a] = 0;
    if (!psvi_presses(s, c) || !psvi_pressed_before(s, c)) return;
    if (sleeps_a) psvi_wake_island(s, c->a);
    if (sleeps_b) psvi_wake_island(s, c->b);
}

// Body i after the step: how long it has been slow. What spins is as fast as its surface.
PSVI_HD void psvi_count_still(const psvi_sim *s, const psvi_step *step, uint32_t i) {
    if (psvi_is_asleep(s, i)) return; // keeps its island
    s->island[i] = i;
    if (!psvi_is_awake(s, i)) return;
    v3 v = v3_of4(s->velocity[i]), w = v3_scale(v3_of4(s->angular_velocity[i]), s->position[i].w);
    const bool slow = v3_dot(v, v) + v3_dot(w, w) < step->sleep_speed * step->sleep_speed;
    s->still[i] = slow ? s->still[i] + step->seconds * (float)PSVI_SLEEP_STEPS : 0.0f;
}

PSVI_HD uint32_t psvi_island_root(const psvi_sim *s, uint32_t i) {
    for (;;) {
        uint32_t up = psvi_load_relaxed(&s->island[i]);
        if (up == i) return i;
        i = up;
    }
}

// Contact i: two bodies that press on each other are of one island. What is only near, as a ball that spins on the spot
// for ever beside a heap, keeps nobody awake.
PSVI_HD void psvi_join_islands(const psvi_sim *s, uint64_t i) {
    const psvi_contact *c = &s->contacts[i];
    if (!psvi_is_awake(s, c->a) || !psvi_is_awake(s, c->b) || !psvi_presses(s, c)) return;
    uint32_t a = c->a, b = c->b;
    for (;;) {
        a = psvi_island_root(s, a);
        b = psvi_island_root(s, b);
        if (a == b) return;
        const uint32_t low = a < b ? a : b, high = a < b ? b : a;
        if (psvi_swap_if(&s->island[high], high, low)) return;
    }
}

// Body i: an island with one that is not still stays awake.
PSVI_HD void psvi_mark_busy(const psvi_sim *s, uint32_t i) {
    if (psvi_is_awake(s, i) && !(s->still[i] >= PSVI_SLEEP_SECONDS)) psvi_mark(&s->busy[psvi_island_root(s, i)]);
}

// Body i falls asleep if its island does. Labels are written by the next loop, psvi_label_island: they have to stay
// paths until every body has looked up its root.
PSVI_HD void psvi_fall_asleep(const psvi_sim *s, uint32_t i) {
    if (!psvi_is_awake(s, i)) return;
    const uint32_t root = psvi_island_root(s, i);
    if (s->busy[root] != 0) return;
    const psvi_f4 none = {0, 0, 0, 0};
    s->velocity[i] = f4_make(v3_make(0, 0, 0), s->velocity[i].w);
    s->angular_velocity[i] = none;
    s->flags[i] = (uint8_t)(s->flags[i] | PSVI_FLAG_ASLEEP | PSV_BOX_STATIC);
}

// Body i gets its island's label, once it is known who sleeps. Other bodies may be following the path meanwhile, but it
// stays within the island, and only its end is written.
PSVI_HD void psvi_label_island(const psvi_sim *s, uint32_t i) {
    s->busy[i] = 0;
    if (psvi_is_asleep(s, i)) s->island[i] = psvi_island_root(s, i);
}

#endif
