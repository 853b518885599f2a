// The first stage of a frame: checks the caller's sets and turns them into addresses.
#include "frame.h"

// The sets ask for nothing that the finder was not made for.
static psv_status check_sides(psv_pair_finder *finder, const psvi_frame *frame) {
    const bool between = frame->given.between;
    for (int s = 0; s < (between ? 2 : 1); ++s) {
        const psvi_rule_side *side = s == 0 ? &frame->a : &frame->b;
        const char *name = !between ? "boxes" : s == 0 ? "a" : "b";
        if (side->ids != NULL && !finder->def.ids)
            return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "%s.ids is given, but def.ids is not set", name);
        if (side->doubles && !finder->def.doubles)
            return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "%s.doubles is set, but def.doubles is not", name);
        const psvi_margin *margin = s == 0 ? &frame->a_margin : &frame->b_margin;
        if ((margin->all > 0 || margin->each != NULL) && !finder->def.margins)
            return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "%s.margin is set, but def.margins is not", name);
    }
    return PSV_OK;
}

// The remaining input of a method, and the check that there is room for the boxes.
static psv_status complete(psv_pair_finder *finder, psvi_frame *frame) {
    psvi_find_input *given = &frame->given;
    const uint64_t boxes = given->a.room + given->b.room;
    if (boxes > finder->def.max_boxes)
        return psvi_fail(finder->context, PSV_ERROR_CAPACITY, "%s %llu; def.max_boxes is %llu",
                         given->between ? "a.count + b.count is" : "boxes.count is", (unsigned long long)boxes,
                         (unsigned long long)finder->def.max_boxes);
    given->world_count = finder->def.world_count;
    given->result = finder->result;
    given->bad_boxes = finder->bad_boxes;
    return check_sides(finder, frame);
}

static void take_origin(const psv_box_set *set, psvi_frame *frame) {
    for (int axis = 0; axis < 3; ++axis)
        frame->origin[axis] = set->origin[axis];
}

static psvi_margin margin_of(const psv_box_set *set) {
    return (psvi_margin){set->margin, psvi_buffer_address(set->margins)};
}

// A single box is no less work to keep. A backend that keeps none looks for all pairs.
static void take_kept(const psv_pair_finder *finder, const psv_box_set *set, psvi_frame *frame) {
    frame->kept = set->kept < 2 || !psvi_keeps_boxes(finder->context->backend) ? 0 : set->kept;
    frame->kept_version = set->kept_version;
}

// Where memory is the host's, the list is read here; elsewhere nobody reads it.
static psv_status take_moved(psv_pair_finder *finder, const psv_box_set *set, psvi_frame *frame) {
    psv_context *context = finder->context;
    frame->moved_given = psvi_is_given(set->moved);
    if (set->moved_count == 0) return PSV_OK;
    const psv_status status =
        psvi_check_buffer(context, set->moved, set->moved_count * sizeof(uint32_t), 4, "boxes.moved");
    if (status != PSV_OK) return status;
    frame->moved = psvi_buffer_address(set->moved);
    frame->moved_count = set->moved_count;
    for (uint64_t i = 0; context->ops->immediate && i < set->moved_count; ++i)
        if (frame->moved[i] >= frame->given.a.count)
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "boxes.moved[%llu] is %u; boxes.count is %llu",
                             (unsigned long long)i, frame->moved[i], (unsigned long long)frame->given.a.count);
    return PSV_OK;
}

psv_status psvi_view_set(psv_pair_finder *finder, const psv_box_set *boxes, psvi_frame *frame) {
    psv_status status = psvi_view_boxes(finder->context, boxes, "boxes", &frame->given.a, &frame->a);
    if (status == PSV_OK) status = psvi_check_kept(finder, boxes, NULL);
    if (status != PSV_OK) return status;
    status = take_moved(finder, boxes, frame);
    if (status != PSV_OK) return status;
    take_kept(finder, boxes, frame);
    frame->a_margin = margin_of(boxes);
    if (boxes->doubles) take_origin(boxes, frame);
    return complete(finder, frame);
}

psv_status psvi_view_sets(psv_pair_finder *finder, const psv_box_set *a, const psv_box_set *b, psvi_frame *frame) {
    frame->given.between = true;
    psv_status status = psvi_view_boxes(finder->context, a, "a", &frame->given.a, &frame->a);
    if (status == PSV_OK) status = psvi_view_boxes(finder->context, b, "b", &frame->given.b, &frame->b);
    if (status == PSV_OK) status = psvi_check_kept(finder, a, b);
    if (status != PSV_OK) return status;
    take_kept(finder, b, frame);
    frame->a_margin = margin_of(a);
    frame->b_margin = margin_of(b);
    if (a->doubles || b->doubles) take_origin(a->doubles ? a : b, frame);
    return complete(finder, frame);
}
