// A stage of a frame: boxes in double precision become floats.
#include "frame.h"

// Methods work on floats; their pairs are then tested in double precision. Boxes before `first` are already narrowed.
static psv_status narrow_set(psv_pair_finder *finder, const psvi_rule_side *side, const double *origin, uint64_t first,
                             psvi_box_view *view, psv_aabb *boxes) {
    psv_status status = PSV_OK;
    if (view->room > first) status = finder->ops->narrow_boxes(finder->context, side, origin, first, view, boxes);
    view->min = (const char *)boxes;
    view->max = view->min + sizeof boxes->min;
    view->min_stride = view->max_stride = sizeof *boxes;
    return status;
}

psv_status psvi_stage_narrow(psv_pair_finder *finder, psvi_frame *frame) {
    psvi_find_input *input = &frame->input;
    psvi_kept *kept = &finder->kept;
    psv_aabb *narrow = finder->rules.narrow;
    if (frame->kept > 0) psvi_check_kept_boxes(finder, frame);
    if (!frame->a.doubles && !(input->between && frame->b.doubles)) return PSV_OK;
    // Kept boxes have been narrowed when they were sorted, and nothing else has used their places since.
    const uint64_t done = frame->kept > 0 && kept->valid ? frame->kept : 0;
    if (frame->kept == 0) kept->valid = false;
    psv_status status = narrow_set(finder, &frame->a, frame->origin, input->between ? 0 : done, &input->a, narrow);
    if (status != PSV_OK || !input->between) return status;
    // Kept boxes are all of b, behind the places that a may ever take.
    psv_aabb *second = frame->kept > 0 ? narrow + (finder->def.max_boxes - input->b.room) : narrow + input->a.room;
    return narrow_set(finder, &frame->b, frame->origin, done, &input->b, second);
}
