// Begin and end events: the difference of two consecutive frames' pairs.
#include "finder.h"
#include "pair_changes.h"

static psv_status check_events(psv_pair_finder *finder) {
    psv_status status = psvi_check_frame(finder);
    if (status != PSV_OK || finder->def.events) return status;
    return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "the finder was created without def.events");
}

psv_status psvi_take_in_kept_changes(psv_pair_finder *finder) {
    psvi_changes_form *form = &finder->changes_form;
    if (!form->lacks_kept) return PSV_OK;
    const psvi_changes changes = psvi_changes_of(finder, &finder->memory);
    // A graph that is captured now may run later or never.
    if (!psvi_is_captured(finder->context)) form->lacks_kept = false;
    return finder->ops->leave_kept_changes(finder->context, &changes, false);
}

// Two frames with the same kept boxes: their pairs with each other are the same, and need not be compared.
static psv_status find_changes(psv_pair_finder *finder) {
    psvi_changes changes = psvi_changes_of(finder, &finder->memory);
    psvi_changes_form *form = &finder->changes_form;
    psv_status status = PSV_OK;
    form->is_captured = form->is_captured || psvi_is_captured(finder->context);
    changes.serial = form->is_captured ? 0 : finder->kept.in_front;
    changes.kept = (uint32_t)finder->kept.count;
    if (changes.serial == 0 || changes.serial != form->serial) {
        status = psvi_take_in_kept_changes(finder);
    } else if (!form->lacks_kept) {
        form->lacks_kept = true;
        status = finder->ops->leave_kept_changes(finder->context, &changes, true);
    }
    form->serial = changes.serial;
    return status == PSV_OK ? finder->ops->find_changes(finder->context, &changes) : status;
}

// Of lists that are in order.
static psv_status diff_pairs(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const psvi_pair_memory *memory = &finder->memory;
    uint64_t *counts = finder->event_counts;
    const uint64_t *now_count = &finder->result->pair_count;
    psv_status status = finder->ops->diff_pairs(
        context, memory->pairs, now_count, memory->before, &counts[PSVI_EVENTS_BEFORE], memory->capacity, memory->begin,
        &counts[PSVI_EVENTS_BEGIN], memory->end, &counts[PSVI_EVENTS_END], memory->events_scratch);
    if (status == PSV_OK)
        status = finder->ops->keep_pairs(context, memory->pairs, now_count, memory->before, &counts[PSVI_EVENTS_BEFORE],
                                         memory->capacity);
    return status;
}

psv_status psvi_make_event_lists(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const psvi_pair_memory *memory = &finder->memory;
    psvi_frame_begin(context);
    psvi_phase_begin(context, PSV_PHASE_EVENTS);
    psv_status status = memory->changes != NULL ? find_changes(finder) : diff_pairs(finder);
    psvi_phase_end(context, PSV_PHASE_EVENTS);
    psvi_frame_end(context);
    finder->events_done = status == PSV_OK;
    return status;
}

// From the changes of moved boxes where there are such lists.
static psv_status make_lists(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    if (!finder->movers.has_delta) return psvi_make_event_lists(finder);
    psvi_frame_begin(context);
    psvi_phase_begin(context, PSV_PHASE_EVENTS);
    const psv_status status = psvi_make_delta_lists(finder);
    psvi_phase_end(context, PSV_PHASE_EVENTS);
    psvi_frame_end(context);
    finder->events_done = status == PSV_OK;
    return status;
}

psv_status psv_pair_events(psv_pair_finder *finder, psv_pair_event_lists *lists) {
    psv_status status = check_events(finder);
    if (status != PSV_OK) return status;
    if (lists == NULL) return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "lists is NULL");
    if (!finder->events_done) status = make_lists(finder);
    if (status != PSV_OK) return status;
    uint64_t bytes = finder->memory.capacity * sizeof(psv_pair);
    *lists = (psv_pair_event_lists){
        .begin = psvi_buffer_at(finder->context, finder->memory.begin, bytes),
        .end = psvi_buffer_at(finder->context, finder->memory.end, bytes),
        .begin_count = psvi_buffer_at(finder->context, &finder->event_counts[PSVI_EVENTS_BEGIN], sizeof(uint64_t)),
        .end_count = psvi_buffer_at(finder->context, &finder->event_counts[PSVI_EVENTS_END], sizeof(uint64_t)),
    };
    if (finder->context->ops->immediate && finder->result->pair_count > finder->memory.capacity)
        return psvi_report_overflow(finder, finder->result->pair_count);
    return PSV_OK;
}

static psv_status copy_list(psv_context *context, psv_pair *target, uint64_t capacity, psv_buffer list, uint64_t count,
                            const char *name) {
    uint64_t copied = count < capacity ? count : capacity;
    psv_status status = PSV_OK;
    if (copied > 0)
        status =
            context->ops->copy(context, target, psvi_buffer_address(list), copied * sizeof *target, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK || count <= capacity) return status;
    return psvi_fail(context, PSV_ERROR_CAPACITY, "%s_capacity is %llu; %llu events are there", name,
                     (unsigned long long)capacity, (unsigned long long)count);
}

psv_status psv_read_pair_events(psv_pair_finder *finder, psv_pair *begin, uint64_t begin_capacity,
                                uint64_t *begin_count, psv_pair *end, uint64_t end_capacity, uint64_t *end_count) {
    psv_status status = check_events(finder);
    if (status != PSV_OK) return status;
    psv_context *context = finder->context;
    if ((begin == NULL && begin_capacity > 0) || (end == NULL && end_capacity > 0))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL, but its capacity is not 0",
                         begin == NULL && begin_capacity > 0 ? "begin" : "end");
    psv_pair_event_lists lists = {0};
    status = psv_pair_events(finder, &lists);
    if (status != PSV_OK && status != PSV_ERROR_CAPACITY) return status;
    uint64_t counts[PSVI_EVENTS_COUNTS];
    psvi_frame_result result;
    status = context->ops->copy(context, counts, finder->event_counts, sizeof counts, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = psvi_fetch_result(finder, &result);
    if (status != PSV_OK) return status;
    if (begin_count != NULL) *begin_count = counts[PSVI_EVENTS_BEGIN];
    if (end_count != NULL) *end_count = counts[PSVI_EVENTS_END];
    if (result.pair_count > finder->memory.capacity) return psvi_report_overflow(finder, result.pair_count);
    psv_status first = copy_list(context, begin, begin_capacity, lists.begin, counts[PSVI_EVENTS_BEGIN], "begin");
    psv_status second = copy_list(context, end, end_capacity, lists.end, counts[PSVI_EVENTS_END], "end");
    return first != PSV_OK ? first : second;
}
