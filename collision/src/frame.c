// A frame: the list of its stages, and the calls that run it.
#include "frame.h"

// With kept boxes, with margins, or by one pass of the method.
static psv_status find(psv_pair_finder *finder, psvi_frame *frame) {
    if (frame->kept > 0) return psvi_find_with_kept(finder, frame);
    const psv_status status = psvi_leave_front(finder);
    if (status != PSV_OK) return status;
    return psvi_has_margins(finder, frame) ? psvi_find_with_margins(finder, frame)
                                           : psvi_run_method(finder, &frame->input, NULL);
}

// With more room, where the pairs did not fit, the first list runs again.
static psvi_stage *const finding[] = {psvi_stage_room, psvi_stage_narrow, psvi_stage_rules, find, NULL};
static psvi_stage *const finishing[] = {psvi_stage_note, psvi_stage_name, psvi_stage_note_names, psvi_stage_order,
                                        NULL};

static psv_status run(psv_pair_finder *finder, psvi_frame *frame, psvi_stage *const *stages) {
    psv_status status = PSV_OK;
    for (; *stages != NULL && status == PSV_OK; ++stages)
        status = (*stages)(finder, frame);
    return status;
}

static psv_status find_all(psv_pair_finder *finder, psvi_frame *frame) {
    psv_status status = psvi_leave_movers(finder, frame);
    if (status == PSV_OK) status = run(finder, frame, finding);
    if (status == PSV_OK && frame->grows) status = psvi_stage_grow(finder, frame);
    if (status == PSV_OK && frame->again) status = run(finder, frame, finding);
    if (status == PSV_OK) status = run(finder, frame, finishing);
    if (status == PSV_OK) psvi_note_frame(finder, frame);
    return status;
}

static psv_status run_frame(psv_pair_finder *finder, psvi_frame *frame) {
    psv_context *context = finder->context;
    bool done = false;
    psvi_take_movers(finder, frame);
    finder->has_frame = false;
    ++finder->find_calls;
    finder->events_done = false;
    finder->kept.in_front = 0;
    psvi_frame_begin(context);
    psv_status status = psvi_find_moved(finder, frame, &done);
    if (status == PSV_OK && !done) status = find_all(finder, frame);
    psvi_frame_end(context);
    if (status != PSV_OK) return status;
    finder->has_frame = true;
    return context->ops->immediate ? psvi_report_frame(finder, finder->result) : PSV_OK;
}

psv_status psvi_find_pairs(psv_pair_finder *finder, const psv_box_set *boxes, bool grows) {
    psvi_frame frame = {.grows = grows};
    const psv_status status = psvi_view_set(finder, boxes, &frame);
    return status == PSV_OK ? run_frame(finder, &frame) : status;
}

psv_status psv_find_pairs(psv_pair_finder *finder, const psv_box_set *boxes) {
    const psv_status status = psvi_check_finder(finder);
    return status == PSV_OK ? psvi_find_pairs(finder, boxes, finder->def.grow_pairs) : status;
}

psv_status psv_find_pairs_between(psv_pair_finder *finder, const psv_box_set *a, const psv_box_set *b) {
    psv_status status = psvi_check_finder(finder);
    if (status != PSV_OK) return status;
    psvi_frame frame = {.grows = finder->def.grow_pairs};
    status = psvi_view_sets(finder, a, b, &frame);
    return status == PSV_OK ? run_frame(finder, &frame) : status;
}
