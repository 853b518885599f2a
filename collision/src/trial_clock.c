// The clock of «auto»: marks on the device around the frames that trials.h asks for, read in later calls.
#include "finder.h"

// Runs the second choice over boxes that are bad, so that the driver loads its kernels now and not in a trial. Their
// place is the pair buffer.
static psv_status load_second(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const uint64_t there = finder->memory.capacity * sizeof(psv_pair) / sizeof(psv_aabb);
    const uint64_t count = there < finder->def.max_boxes ? there : finder->def.max_boxes;
    const char *boxes = (const char *)finder->memory.pairs;
    const psvi_find_input input = {
        .a = {boxes, boxes + 12, sizeof(psv_aabb), sizeof(psv_aabb), count, count, NULL, NULL, NULL, NULL},
        .world_count = finder->def.world_count,
        .pairs = finder->memory.pairs,
        .result = finder->result,
        .bad_boxes = finder->bad_boxes,
    };
    const psvi_choice *second = &finder->choices[PSVI_OTHER_CHOICE];
    psv_status status = context->ops->fill(context, finder->memory.pairs, 0xff, count * sizeof(psv_aabb)); // NaN
    if (status == PSV_OK) status = second->method->find(second, &input);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

// Behind the pair memory's creation.
psv_status psvi_create_trials(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    psvi_trial_clock *clock = &finder->clock;
    void *device = NULL;
    if (finder->choice_count < 2 || context->ops->create_event == NULL) return PSV_OK;
    psv_status status = context->ops->create_event(context, &clock->begin);
    if (status == PSV_OK) status = context->ops->create_event(context, &clock->end);
    if (status != PSV_OK) return status;
    if (context->ops->alloc_told == NULL) return load_second(finder);
    clock->pairs = context->ops->alloc_told(context, sizeof *clock->pairs, &device);
    if (clock->pairs != NULL) return load_second(finder);
    return psvi_fail(context, PSV_ERROR_MEMORY, "no pinned memory for the clock of a pair finder (%zu bytes)",
                     sizeof *clock->pairs);
}

void psvi_destroy_trials(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    psvi_trial_clock *clock = &finder->clock;
    if (clock->begin != NULL) context->ops->destroy_event(context, clock->begin);
    if (clock->end != NULL) context->ops->destroy_event(context, clock->end);
    if (clock->pairs != NULL) context->ops->release_told(context, clock->pairs, sizeof *clock->pairs);
    *clock = (psvi_trial_clock){0};
}

static void read_clock(psv_context *context, psvi_trial_clock *clock) {
    if (!clock->waits || !context->ops->event_done(context, clock->end)) return;
    clock->waits = false;
    clock->sample.ms = context->ops->event_ms(context, clock->begin, clock->end);
    if (clock->pairs != NULL) clock->sample.pairs = *(volatile uint64_t *)clock->pairs;
    const psvi_collision_module *module = psvi_collision_module_of(context->backend);
    const double least = module->other_least_ms + module->other_least_ms_a_box * (double)clock->sample.boxes;
    psvi_learn_time(&clock->trials, &clock->sample, least);
}

// While the stream is captured nothing is measured: a graph keeps the choice that it was captured with.
psvi_trial_turn psvi_begin_turn(psv_pair_finder *finder, const psvi_find_input *input) {
    psv_context *context = finder->context;
    psvi_trial_clock *clock = &finder->clock;
    if (finder->choice_count < 2) return (psvi_trial_turn){PSVI_FIRST_CHOICE, false};
    if (clock->begin == NULL) return (psvi_trial_turn){psvi_pick_choice(finder, input), false};
    if (!clock->waits && !psvi_is_due(&clock->trials)) return psvi_next_turn(&clock->trials, true);
    if (psvi_is_captured(context)) return (psvi_trial_turn){clock->trials.kept, false};
    read_clock(context, clock);
    psvi_trial_turn turn = psvi_next_turn(&clock->trials, !clock->waits);
    if (!turn.timed) return turn;
    clock->sample =
        (psvi_trial_sample){.choice = turn.choice, .boxes = input->a.count + (input->between ? input->b.count : 0)};
    context->ops->record_event(context, clock->begin);
    return turn;
}

psv_status psvi_end_turn(psv_pair_finder *finder, psvi_trial_turn turn, const psvi_find_input *input) {
    psv_context *context = finder->context;
    psvi_trial_clock *clock = &finder->clock;
    if (!turn.timed) return PSV_OK;
    psv_status status = PSV_OK;
    if (clock->pairs != NULL)
        status = context->ops->copy(context, clock->pairs, &input->result->pair_count, sizeof *clock->pairs,
                                    PSVI_COPY_DOWNLOAD);
    context->ops->record_event(context, clock->end);
    clock->waits = status == PSV_OK;
    return status;
}
