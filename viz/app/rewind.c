#include "rewind.h"

#include <string.h>

static uint32_t choose_states(uint64_t bodies) {
    if (bodies <= VIEW_REWIND_BODIES) return VIEW_REWIND_STATES;
    return bodies <= VIEW_REWIND_MOST_BODIES ? VIEW_REWIND_FEW_STATES : 0;
}

static uint32_t slot_of(const view_rewind *rewind, uint64_t step) {
    return (uint32_t)(step / rewind->every % rewind->states);
}

static void keep(view_rewind *rewind, psv_scene *scene) {
    const uint32_t slot = slot_of(rewind, rewind->now);
    rewind->kept[slot] = psv_scene_keep(scene, slot) == PSV_OK ? rewind->now : UINT64_MAX;
}

void view_begin_rewind(view_rewind *rewind, psv_scene *scene) {
    psv_world *world = psv_scene_world(scene);
    memset(rewind, 0, sizeof *rewind);
    memset(rewind->kept, 0xff, sizeof rewind->kept);
    const uint32_t states = choose_states(psv_world_slot_count(world));
    if (states == 0 || psv_world_reserve_states(world, states) != PSV_OK) return;
    rewind->states = states;
    rewind->every = VIEW_REWIND_STEPS / (states - 1);
    keep(rewind, scene);
}

void view_note_step(view_rewind *rewind, psv_scene *scene, uint32_t whole, float part) {
    if (rewind->states == 0) return;
    rewind->last = ++rewind->now;
    rewind->steps[rewind->now % (VIEW_REWIND_STEPS + 1)] = (view_rewind_step){whole, part, rewind->touched};
    rewind->touched = false;
    for (uint32_t i = 0; i < rewind->states; ++i)
        if (rewind->kept[i] >= rewind->now) rewind->kept[i] = UINT64_MAX;
    if (rewind->now % rewind->every == 0) keep(rewind, scene);
}

uint64_t view_rewind_first(const view_rewind *rewind) {
    const uint64_t least = rewind->last > VIEW_REWIND_STEPS ? rewind->last - VIEW_REWIND_STEPS : 0;
    uint64_t first = rewind->now;
    for (uint32_t i = 0; i < rewind->states; ++i)
        if (rewind->kept[i] >= least && rewind->kept[i] < first) first = rewind->kept[i];
    return first;
}

// The last state that was kept before the step, of those that can be gone to; UINT64_MAX: none.
static uint64_t state_before(const view_rewind *rewind, uint64_t step) {
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < rewind->states; ++i)
        if (rewind->kept[i] <= step && (best == UINT64_MAX || rewind->kept[i] > best)) best = rewind->kept[i];
    return best;
}

static psv_status repeat(view_rewind *rewind, psv_scene *scene, uint64_t step) {
    psv_status status = PSV_OK;
    while (rewind->now < step) {
        const view_rewind_step *next = &rewind->steps[(rewind->now + 1) % (VIEW_REWIND_STEPS + 1)];
        if (next->touched) break;
        if (next->whole == 0) status = psv_scene_step_by(scene, next->part);
        for (uint32_t i = 0; i < next->whole && status == PSV_OK; ++i)
            status = psv_scene_step(scene);
        if (status != PSV_OK) break;
        rewind->now += 1;
    }
    return status;
}

bool view_rewind_to(view_rewind *rewind, psv_scene *scene, uint64_t step, view_message *message) {
    const uint64_t from = state_before(rewind, step);
    if (from == UINT64_MAX || step > rewind->last) return true;
    psv_status status = PSV_OK;
    if (rewind->now > step || rewind->now < from || rewind->touched) {
        status = psv_scene_return(scene, slot_of(rewind, from));
        if (status == PSV_OK) rewind->now = from;
        rewind->touched = false;
    }
    if (status == PSV_OK) status = repeat(rewind, scene, step);
    if (status == PSV_OK) return true;
    view_say(message, "back in time: %s", psv_last_error(psv_world_context(psv_scene_world(scene))));
    return false;
}
