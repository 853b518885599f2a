#include "gl_frame.h"

enum { HAS_FLAGS = 1, HAS_FILTERS = 2, HAS_WORLDS = 4, HAS_COUNT = 8, WRITES_FILTERS = 16 };
#define TAG_SET_B 4u

psvi_gl_frame psvi_gl_carve_frame(psvi_carver *carver, const psv_pair_finder_def *def) {
    const uint64_t room = psvi_gl_room(def);
    psvi_gl_frame frame;
    frame.slots = psvi_carve(carver, 32 * room);
    frame.filters = psvi_carve(carver, 8 * room);
    frame.plan = psvi_carve(carver, PSVI_GL_PLAN_BYTES);
    return frame;
}

static bool has_filters(const psvi_find_input *input) {
    return input->a.filters != NULL || (input->between && input->b.filters != NULL);
}

// `last`: bytes of the last element that are read.
static psvi_gl_block span(const void *address, uint64_t count, uint64_t stride, uint64_t last) {
    return (psvi_gl_block){address, address == NULL ? 0 : (count - 1) * stride + last};
}

static psv_status load_set(psv_context *context, const psvi_find_input *input, const psvi_gl_frame *frame,
                           const psvi_box_view *view, uint32_t first) {
    const uint64_t count = view->room, slots = psvi_gl_slots(input);
    if (count == 0) return PSV_OK;
    // Flags are bytes: their block begins with a whole word.
    const uint32_t rest = (uint32_t)((uintptr_t)view->flags % 4);
    const bool filters = has_filters(input);
    const psvi_gl_call call = {
        .source = &psvi_glsl_load_boxes,
        .blocks = {{frame->slots, 32 * slots},
                   {input->result, sizeof *input->result},
                   {input->bad_boxes, 4 * slots},
                   {frame->filters, 8 * slots},
                   span(view->min, count, view->min_stride, 12),
                   span(view->max, count, view->max_stride, 12),
                   span(view->flags == NULL ? NULL : view->flags - rest, count + rest, 1, 1),
                   span(view->filters, count, 8, 8),
                   span(view->worlds, count, 4, 4),
                   {view->count_device, 8}},
        .params = {(uint32_t)count, first,
                   (view->flags != NULL ? HAS_FLAGS : 0u) | (view->filters != NULL ? HAS_FILTERS : 0u) |
                       (view->worlds != NULL ? HAS_WORLDS : 0u) | (view->count_device != NULL ? HAS_COUNT : 0u) |
                       (filters ? WRITES_FILTERS : 0u),
                   view->min_stride / 4, view->max_stride / 4, rest, input->world_count,
                   first != 0 || view == &input->b ? TAG_SET_B : 0},
        .groups = (count + 127) / 128,
    };
    return psvi_gl_run(context, &call);
}

psv_status psvi_gl_load_boxes(psv_context *context, const psvi_find_input *input, const psvi_gl_frame *frame) {
    psv_status status = context->ops->fill(context, frame->plan, 0, 256);
    if (status == PSV_OK) status = load_set(context, input, frame, &input->a, 0);
    if (status == PSV_OK && input->between)
        status = load_set(context, input, frame, &input->b, (uint32_t)input->a.room);
    return status;
}

psvi_gl_call psvi_gl_frame_call(const psvi_find_input *input, const psvi_gl_frame *frame, const psvi_gl_source *source,
                                uint64_t groups) {
    const uint32_t slots = psvi_gl_slots(input);
    const uint64_t capacity = input->capacity < UINT32_MAX / 2 ? input->capacity : UINT32_MAX / 2;
    const bool filters = has_filters(input);
    return (psvi_gl_call){
        .source = source,
        .blocks = {{frame->slots, (uint64_t)32 * slots},
                   {input->result, sizeof *input->result},
                   {frame->plan, PSVI_GL_PLAN_BYTES},
                   {capacity == 0 ? NULL : input->pairs, capacity * sizeof(psv_pair)},
                   {filters ? frame->filters : NULL, (uint64_t)8 * slots}},
        .params = {slots, (uint32_t)input->a.room,
                   (input->between ? 1u : 0u) | (filters ? 2u : 0u) | (input->world_count > 1 ? 4u : 0u),
                   (uint32_t)capacity},
        .groups = groups,
    };
}

psv_status psvi_gl_check_room(psv_pair_finder *finder, const char *method, uint64_t bytes_a_box) {
    const uint64_t limit = psvi_gl_of(finder->context)->block_bytes - 512;
    const psv_pair_finder_def *def = &finder->def;
    if (def->max_boxes > limit / bytes_a_box)
        return psvi_fail(finder->context, PSV_ERROR_UNSUPPORTED,
                         "%s: def.max_boxes is %llu; %llu fit into a storage block of this OpenGL driver", method,
                         (unsigned long long)def->max_boxes, (unsigned long long)(limit / bytes_a_box));
    if (def->max_pairs > limit / sizeof(psv_pair))
        return psvi_fail(finder->context, PSV_ERROR_UNSUPPORTED,
                         "%s: def.max_pairs is %llu; %llu fit into a storage block of this OpenGL driver", method,
                         (unsigned long long)def->max_pairs, (unsigned long long)(limit / sizeof(psv_pair)));
    return PSV_OK;
}
