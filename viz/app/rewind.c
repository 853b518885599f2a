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
    const uint32_t undo_states = states == VIEW_REWIND_STATES ? VIEW_UNDO_STATES : 2;
    if (states == 0 || psv_world_reserve_states(world, states + undo_states) != PSV_OK) return;
    rewind->states = states;
    rewind->undo_states = undo_states;
    rewind->every = VIEW_REWIND_STEPS / (states - 1);
    keep(rewind, scene);
}

static uint32_t undo_slot(const view_rewind *rewind, uint32_t back) {
    return (rewind->undo_first + rewind->undo_count - back) % rewind->undo_states;
}

// Changes of a future that another one has taken the place of.
static void drop_undone(view_rewind *rewind, uint64_t from) {
    while (rewind->undo_count > 0 && rewind->undo_at[undo_slot(rewind, 1)] >= from)
        rewind->undo_count -= 1;
}

void view_keep_before_change(view_rewind *rewind, psv_scene *scene, bool same_change) {
    if (rewind->states > 0 && !same_change) {
        drop_undone(rewind, rewind->now + 1);
        if (rewind->undo_count == rewind->undo_states) {
            rewind->undo_first = (rewind->undo_first + 1) % rewind->undo_states;
            rewind->undo_count -= 1;
        }
        const uint32_t slot = undo_slot(rewind, 0);
        if (psv_scene_keep(scene, rewind->states + slot) == PSV_OK) {
            rewind->undo_at[slot] = rewind->now;
            rewind->undo_count += 1;
        }
    }
    rewind->touched = true;
}

bool view_undo(view_rewind *rewind, psv_scene *scene, view_message *message) {
    if (rewind->states == 0) return false;
    drop_undone(rewind, rewind->now + 1);
    if (rewind->undo_count == 0) return false;
    const uint32_t slot = undo_slot(rewind, 1);
    if (psv_scene_return(scene, rewind->states + slot) != PSV_OK) {
        view_say(message, "undo: %s", psv_last_error(psv_world_context(psv_scene_world(scene))));
        return false;
    }
    rewind->undo_count -= 1;
    rewind->now = rewind->last = rewind->undo_at[slot];
    rewind->touched = false;
    for (uint32_t i = 0; i < rewind->states; ++i)
        if (rewind->kept[i] != UINT64_MAX && rewind->kept[i] > rewind->now) rewind->kept[i] = UINT64_MAX;
    return true;
}

void view_note_step(view_rewind *rewind, psv_scene *scene, uint32_t whole, float part) {
    if (rewind->states == 0) return;
    rewind->last = ++rewind->now;
    drop_undone(rewind, rewind->now);
    rewind->steps[rewind->now % (VIEW_REWIND_STEPS + 1)] = (view_rewind_step){whole, part, rewind->touched};
    rewind->touched = false;
    for (uint32_t i = 0; i < VIEW_REWIND_STATES; ++i)
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
