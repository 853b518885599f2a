// Steps of a world, what to do when a buffer was too small, and the counters.
#include "../solver/body_sleep.h"
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>

#define PSVI_FINE_RATE 400.0f // substeps a second from which on contacts are stiff and points are solved once a pass

// What is asked of a world decides how fine its substeps are: the time of a step, and neither bodies nor shapes. As
// long as steps vary in length, substeps hardly do, so impulses that go on from step to step stay right. With 960 a
// second towers of 40 boxes stand and a cube bears 1,000 times its mass; with 480 that cube shakes at 0.45 m/s.
#define PSVI_SUBSTEP_RATE 960.0f
static uint32_t default_substeps(float seconds) {
    return (uint32_t)fminf(fmaxf(ceilf(seconds * PSVI_SUBSTEP_RATE - 0.01f), 1.0f), PSVI_MOST_SUBSTEPS);
}

// A contact is a damped spring; stiffer against what cannot move, but never stiffer than the substep can follow. A
// tower of n boxes stands on springs like a column that may buckle: what gives way by more than 2 / n^2 of a box under
// the load does. Stiff springs make piles sway by themselves, as impulses come late: with 0.16 of the substeps' rate
// towers of 2 to 12 boxes come to rest (0.06 mm/s; 20 to 40 with 0.25), and 40 still stand (they fall with 0.125). At
// 240 substeps a second large piles sway from 38 Hz on. Soft springs give way to what lies on thin legs: so what is
// deep for the thinner of two bodies is stiffer.
static void set_softness(psvi_step *step) {
    const float rate = step->rate, damping = 10.0f, stiffer[3] = {1, 2, 4};
    const float hertz = rate < PSVI_FINE_RATE ? fminf(35.0f, 0.25f * rate) : 0.16f * rate;
    step->turns = rate < PSVI_FINE_RATE ? 2 : 1;
    step->rest_share = step->loads && rate >= PSVI_FINE_RATE ? fminf(step->seconds, 1.0f) : 0.0f; // in a second
    for (int i = 0; i < 3; ++i) {
        float omega = 6.2831853f * hertz * stiffer[i];
        float a1 = 2.0f * damping + step->substep * omega, a2 = step->substep * omega * a1, a3 = 1.0f / (1.0f + a2);
        step->bias_rate[i] = omega / a1;
        step->mass_scale[i] = a2 * a3;
        step->impulse_scale[i] = a3;
        if (i < 2) step->deep_shift[i] = 1 - stiffer[i] * stiffer[i] / (stiffer[2] * stiffer[2]);
    }
    if (step->loads) return;
    // Where no forces act, nothing sways: a fifth of an overlap is undone a substep.
    for (int i = 0; i < 3; ++i) {
        step->bias_rate[i] = 0.2f * rate;
        step->mass_scale[i] = 1;
        step->impulse_scale[i] = 0;
    }
    step->deep_shift[0] = step->deep_shift[1] = 0;
}

void psvi_make_step(const psv_world *world, float seconds, psvi_step *step) {
    const psv_world_def *def = &world->def;
    *step = world->next;
    step->seconds = seconds;
    step->substeps = def->substeps > 0 ? def->substeps : default_substeps(seconds);
    step->substep = seconds / (float)step->substeps;
    step->rate = 1.0f / step->substep;
    step->self_gravity = def->self_gravity;
    step->softening_squared = def->softening * def->softening;
    step->push_speed = def->push_speed;
    step->hit_speed = def->hit_speed;
    step->sleep_speed = def->sleep_speed;
    step->sleeps = false;
    step->repeats = true;
    step->bounces = world->bounces;
    step->rolls = false;
    step->loads = def->self_gravity > 0;
    for (int i = 0; i < 3; ++i) {
        step->gravity[i] = def->gravity[i];
        step->loads |= def->gravity[i] != 0;
        step->bounds_min[i] = def->bounds_min[i];
        step->bounds_max[i] = def->bounds_max[i];
    }
    step->rolls = world->rolls && step->loads;
    step->sleeps = def->sleeping && step->loads && step->kick_count == 0 &&
                   world->steps_asked % PSVI_SLEEP_STEPS == PSVI_SLEEP_STEPS - 1;
    step->fall = v3_length(v3_of(step->gravity)) * seconds * world->most_gravity;
    // Where nothing presses bodies together none has to come to rest on another: the slowest hits count.
    step->restitution_threshold = step->loads ? def->restitution_threshold : 1e-5f;
    // Crowds that fly together without forces change their speeds more within a frame.
    // Balls that come nearer at the step's beginning have a contact in any case; this is for what is pushed within it.
    // With 0.04 a heap has 12% more contacts and lies as deep, with 0.01 8% fewer, and deep piles lie deeper.
    step->round_margin = step->loads ? 0.02f : 0.08f;
    set_softness(step);
}

static psv_status narrow_until_it_fits(psv_world *world, const psvi_step *step) {
    // The sorter is there already, unless memory had run out.
    psv_status status = world->ops->sorts_contacts && world->sorter == NULL ? world->ops->make_room(world) : PSV_OK;
    if (status == PSV_OK) status = world->ops->narrow(world, step);
    while (status == PSV_OK && world->context->ops->immediate) {
        const psvi_step_counts *counts = world->sim.counts; // host memory
        if (counts->contacts <= world->sim.contact_capacity && counts->points <= world->sim.point_capacity) break;
        status = psvi_grow_contacts(world, counts->contacts * 3 / 2, counts->points * 3 / 2);
        if (status == PSV_OK) status = world->ops->narrow(world, step);
    }
    return status;
}

static psv_status find_pairs(psv_world *world) {
    psvi_sim *s = &world->sim;
    const psv_box_set all = psv_world_box_set(world);
    psv_box_set boxes = all;
    if (world->ops->pair_boxes != NULL) world->ops->pair_boxes(world, &boxes); // in each step: it follows who wakes
    if (world->elsewhere != NULL) {
        psvi_phase_begin(world->context, PSV_PHASE_SWEEP);
        const psv_status status = psvi_find_pairs_elsewhere(world, &all);
        psvi_phase_end(world->context, PSV_PHASE_SWEEP);
        return status;
    }
    psv_status status = psv_find_pairs(world->finder, &boxes);
    if (status == PSV_OK) status = psvi_check_step_pairs(world, &all);
    if (status != PSV_OK) return status;
    s->pairs = psv_buffer_address(psv_pair_buffer(world->finder));
    s->pair_count = psv_buffer_address(psv_pair_count_buffer(world->finder));
    s->pair_capacity = psv_pair_buffer(world->finder).bytes / sizeof(psv_pair);
    return PSV_OK;
}

static psv_status find_contacts(psv_world *world, const psvi_step *step) {
    psv_context *context = world->context;
    psvi_phase_begin(context, PSV_PHASE_BOUNDS);
    psv_status status = world->ops->begin(world, step);
    psvi_phase_end(context, PSV_PHASE_BOUNDS);
    if (status == PSV_OK) status = find_pairs(world);
    if (status != PSV_OK) return status;
    world->finder_used = true;
    psvi_phase_begin(context, PSV_PHASE_NARROW);
    status = narrow_until_it_fits(world, step);
    psvi_phase_end(context, PSV_PHASE_NARROW);
    return status;
}

static psv_status run_phases(psv_world *world, const psvi_step *step) {
    psv_context *context = world->context;
    psvi_sim *s = &world->sim;
    psv_status status = find_contacts(world, step);
    while (status == PSV_OK && context->ops->immediate && psvi_tries_again(s->counts)) {
        ++s->counts->tries;
        status = find_contacts(world, step); // with those awake that are hit
    }
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_SOLVE);
    if (status == PSV_OK && step->self_gravity > 0) status = world->ops->attract(world, step);
    if (status == PSV_OK) status = world->ops->solve(world, step);
    psvi_phase_end(context, PSV_PHASE_SOLVE);
    psvi_phase_begin(context, PSV_PHASE_INTEGRATE);
    if (status == PSV_OK && s->events.counts != NULL) status = world->ops->notice(world, step);
    if (status == PSV_OK) status = world->ops->finish(world, step);
    if (status == PSV_OK && s->events.counts != NULL) status = world->ops->report(world, step);
    if (status == PSV_OK && s->island != NULL) status = world->ops->rest(world, step);
    psvi_phase_end(context, PSV_PHASE_INTEGRATE);
    return status;
}

static psv_status run_step(psv_world *world, const psvi_step *step) {
    psvi_frame_begin(world->context);
    psv_status status = run_phases(world, step);
    psvi_frame_end(world->context);
    return status;
}

// Slots of bodies that the step took out become free; the host learns about them here.
static psv_status collect_lost(psv_world *world, uint64_t lost) {
    if (lost == world->lost_known) return PSV_OK;
    uint64_t n = world->sim.slots;
    psvi_f4 *position = malloc((n + 1) * sizeof *position);
    if (position == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " positions", n);
    psv_status status = psvi_read_array(world, position, world->sim.position, 0, n, sizeof *position);
    for (uint32_t i = 0; status == PSV_OK && i < n; ++i) {
        if (!world->alive[i] || position[i].w > 0) continue;
        world->alive[i] = 0;
        world->free_slots[world->free_count++] = i;
        --world->living;
    }
    free(position);
    if (status == PSV_OK) world->lost_known = lost;
    return status;
}

// Makes room after a step that did not happen, and does it and those after it.
static psv_status repeat_steps(psv_world *world, const psvi_step_counts *counts) {
    psvi_sim *s = &world->sim;
    psv_status status = psv_synchronize(world->context);
    if (status == PSV_OK && counts->pairs > world->max_pairs)
        status = psvi_make_finder(world, counts->pairs + counts->pairs / 2);
    if (status == PSV_OK && (counts->contacts > s->contact_capacity || counts->points > s->point_capacity))
        status = psvi_grow_contacts(world, counts->contacts * 3 / 2, counts->points * 3 / 2);
    psvi_step_counts fresh = {0};
    if (status == PSV_OK) status = psvi_read_array(world, &fresh, s->counts, 0, 1, sizeof fresh);
    // A try without room has woken who was to wake, and may not know yet who is hit: it finds them again.
    if (status == PSV_OK && s->wake != NULL && fresh.halted == PSVI_HALTED_NO_ROOM)
        status = world->context->ops->fill(world->context, s->wake, 0, world->def.max_bodies);
    fresh.halted = 0;
    if (status == PSV_OK) status = psvi_write_array(world, s->counts, &fresh, 0, 1, sizeof fresh);
    for (uint64_t i = fresh.steps; status == PSV_OK && i < world->steps_asked; ++i) {
        const psvi_step step = world->pending[i % PSVI_PENDING_STEPS];
        status = run_step(world, &step);
        // Where one sleeper was hit the next may be: steps behind one that halts again would be launched in vain.
        psvi_step_counts now;
        if (status == PSV_OK && s->wake != NULL && world->ops->poll(world, &now, true) && now.halted) break;
    }
    return status;
}

// Looks at what is known of the steps; with `wait`, until all of them have happened.
static psv_status look(psv_world *world, bool wait) {
    psvi_step_counts counts;
    // A repeated step may need more room again: each round makes room for what the last one asked for.
    for (;;) {
        if (!world->ops->poll(world, &counts, wait)) return PSV_OK;
        // The ring of pending steps must hold every step that might have to be repeated.
        if (world->steps_asked - counts.steps >= PSVI_PENDING_STEPS - 1 && !wait &&
            !world->ops->poll(world, &counts, true))
            return PSV_OK;
        if (!counts.halted) break;
        psv_status status = psv_synchronize(world->context);
        if (status == PSV_OK && world->ops->poll(world, &counts, true)) status = repeat_steps(world, &counts);
        if (status != PSV_OK) return status;
        if (!wait && world->sim.wake == NULL) return PSV_OK; // where bodies sleep the host has waited
    }
    if (wait) return collect_lost(world, counts.lost);
    return PSV_OK;
}

psv_status psvi_settle(psv_world *world) { return look(world, true); }

psv_status psvi_settle_unless_captured(psv_world *world) {
    return psvi_is_captured(world->context) ? PSV_OK : psvi_settle(world);
}

psv_status psv_world_step(psv_world *world, float seconds) {
    psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (!(seconds > 0) || !(seconds <= 1))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "seconds is %g; more than 0 and at most 1 are possible",
                         (double)seconds);
    const bool captured = psvi_is_captured(world->context);
    if (!captured) status = look(world, false); // while a graph is captured nothing may be looked at or grown
    if (status != PSV_OK) return status;
    psvi_step step;
    psvi_make_step(world, seconds, &step);
    step.sleeps = step.sleeps && !captured; // of every eighth step; a graph is one step
    step.repeats = !captured;               // nobody would repeat it
    world->pending[world->steps_asked % PSVI_PENDING_STEPS] = step;
    world->next.kick_count = 0;
    if (world->sim.slots == 0) {
        ++world->idle_steps;
        return PSV_OK;
    }
    status = run_step(world, &step);
    if (status == PSV_OK) ++world->steps_asked;
    world->ground_serial += world->driven_ground;
    return status;
}

static psv_status count_asleep(psv_world *world, uint64_t *asleep) {
    const uint64_t n = world->sim.slots;
    if (!world->def.sleeping) return PSV_OK;
    uint8_t *flags = malloc(n + 1);
    if (flags == NULL) return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " flags", n);
    psv_status status = psvi_read_array(world, flags, world->sim.flags, 0, n, 1);
    for (uint64_t i = 0; i < n && status == PSV_OK; ++i)
        *asleep += (flags[i] & PSVI_FLAG_ASLEEP) != 0;
    free(flags);
    return status;
}

psv_status psv_read_world_counters(psv_world *world, psv_world_counters *counters) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    if (counters == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "counters is NULL");
    psvi_step_counts counts = {0};
    status = psvi_read_array(world, &counts, world->sim.counts, 0, 1, sizeof counts);
    if (status != PSV_OK) return status;
    *counters = (psv_world_counters){.frame = world->steps_asked + world->idle_steps,
                                     .bodies = world->living,
                                     .contacts = counts.points,
                                     .lost_bodies = counts.lost,
                                     .colours = counts.colours};
    status = count_asleep(world, &counters->asleep);
    if (status != PSV_OK) return status;
    if (!world->finder_used) return PSV_OK; // nothing was looked for yet: a new or restored world, or another method
    psv_pair_statistics pairs = {0};
    status = psv_read_pair_statistics(world->finder, &pairs);
    counters->pairs = pairs.pairs;
    counters->candidates = pairs.candidates;
    counters->sort_passes = pairs.sort_passes;
    counters->sort_passes_skipped = pairs.sort_passes_skipped;
    counters->broad_phase = pairs.method;
    counters->route = pairs.route;
    counters->veto = pairs.veto;
    return status;
}
