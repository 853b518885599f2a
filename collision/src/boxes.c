// Box sets: views of the caller's memory and their checks.
#include <float.h>

#include "finder.h"

psv_box_set psv_boxes_of(psv_buffer boxes, uint32_t stride, uint64_t count) {
    return (psv_box_set){.min = boxes, .min_stride = stride, .count = count};
}

psv_box_set psv_boxes_of_arrays(psv_buffer min, uint32_t min_stride, psv_buffer max, uint32_t max_stride,
                                uint64_t count) {
    return (psv_box_set){.min = min, .max = max, .min_stride = min_stride, .max_stride = max_stride, .count = count};
}

psv_box_set psv_boxes64_of(psv_buffer boxes, uint32_t stride, uint64_t count) {
    return (psv_box_set){.min = boxes, .min_stride = stride, .count = count, .doubles = true};
}

static psv_status check_stride(psv_context *context, const char *name, const char *part, uint32_t stride, uint32_t unit,
                               uint32_t least) {
    if (stride >= least && stride % unit == 0) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s.%s is %u; it must be a multiple of %u and at least %u", name,
                     part, stride, unit, least);
}

// Checks one member that holds `bytes` from its first to its last byte.
static psv_status check_part(psv_context *context, const char *name, const char *part, psv_buffer buffer,
                             uint64_t bytes, uint32_t alignment) {
    char full[64];
    size_t n = 0;
    for (const char *c = name; *c != 0 && n < 30; ++c)
        full[n++] = *c;
    full[n++] = '.';
    for (const char *c = part; *c != 0 && n < 63; ++c)
        full[n++] = *c;
    full[n] = 0;
    return psvi_check_buffer(context, buffer, bytes, alignment, full);
}

static uint64_t span(uint64_t count, uint32_t stride, uint32_t last) {
    return count == 0 ? 0 : (count - 1) * stride + last;
}

static psv_status check_corners(psv_context *context, const psv_box_set *set, const char *name) {
    bool two_arrays = psvi_is_given(set->max);
    const uint32_t unit = set->doubles ? 8 : 4, corner = 3 * unit, least = two_arrays ? corner : 2 * corner;
    psv_status status = check_stride(context, name, "min_stride", set->min_stride, unit, least);
    if (status == PSV_OK && two_arrays)
        status = check_stride(context, name, "max_stride", set->max_stride, unit, corner);
    if (status == PSV_OK && !two_arrays && set->max_stride != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s.max_stride is %u; without %s.max it must be 0", name,
                         set->max_stride, name);
    if (status == PSV_OK)
        status = check_part(context, name, "min", set->min, span(set->count, set->min_stride, least), unit);
    if (status == PSV_OK && two_arrays)
        status = check_part(context, name, "max", set->max, span(set->count, set->max_stride, corner), unit);
    return status;
}

static psv_status check_origin(psv_context *context, const psv_box_set *set, const char *name) {
    for (int axis = 0; set->doubles && axis < 3; ++axis)
        if (!(set->origin[axis] - set->origin[axis] == 0))
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s.origin[%d] is not finite", name, axis);
    return PSV_OK;
}

static psv_status check_optional(psv_context *context, const psv_box_set *set, const char *name) {
    psv_status status = PSV_OK;
    if (psvi_is_given(set->count_buffer)) status = check_part(context, name, "count_buffer", set->count_buffer, 8, 8);
    if (status == PSV_OK && psvi_is_given(set->flags))
        status = check_part(context, name, "flags", set->flags, set->count, 1);
    if (status == PSV_OK && psvi_is_given(set->filters))
        status = check_part(context, name, "filters", set->filters, set->count * sizeof(psv_box_filter), 4);
    if (status == PSV_OK && psvi_is_given(set->worlds))
        status = check_part(context, name, "worlds", set->worlds, set->count * sizeof(uint32_t), 4);
    if (status == PSV_OK && psvi_is_given(set->ids))
        status = check_part(context, name, "ids", set->ids, set->count * sizeof(uint32_t), 4);
    if (status == PSV_OK && psvi_is_given(set->owners))
        status = check_part(context, name, "owners", set->owners, set->count * sizeof(uint32_t), 4);
    if (status == PSV_OK && psvi_is_given(set->layers))
        status = check_part(context, name, "layers", set->layers, set->count, 1);
    if (status == PSV_OK && psvi_is_given(set->margins))
        status = check_part(context, name, "margins", set->margins, set->count * sizeof(float), 4);
    if (status == PSV_OK && !(set->margin >= 0 && set->margin <= FLT_MAX))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s.margin is %g; it must be finite and not negative", name,
                         (double)set->margin);
    return status;
}

psv_status psvi_view_boxes(psv_context *context, const psv_box_set *set, const char *name, psvi_box_view *view,
                           psvi_rule_side *side) {
    if (set == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", name);
    if (set->count > (uint64_t)1 << 31)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "%s.count is %llu; the limit is 2147483648", name,
                         (unsigned long long)set->count);
    psv_status status = set->count == 0 ? PSV_OK : check_corners(context, set, name);
    if (status == PSV_OK) status = check_optional(context, set, name);
    if (status == PSV_OK) status = check_origin(context, set, name);
    if (status != PSV_OK) return status;
    bool two_arrays = psvi_is_given(set->max);
    const char *min = psvi_buffer_address(set->min);
    *view = (psvi_box_view){
        .min = min,
        .max = two_arrays    ? (const char *)psvi_buffer_address(set->max)
               : min == NULL ? NULL
                             : min + (set->doubles ? 24 : 12),
        .min_stride = set->min_stride,
        .max_stride = two_arrays ? set->max_stride : set->min_stride,
        .count = set->count,
        .room = set->count,
        .count_device = psvi_buffer_address(set->count_buffer),
        .flags = psvi_buffer_address(set->flags),
        .filters = psvi_buffer_address(set->filters),
        .worlds = psvi_buffer_address(set->worlds),
    };
    *side = (psvi_rule_side){
        .ids = psvi_buffer_address(set->ids),
        .owners = psvi_buffer_address(set->owners),
        .worlds = view->worlds,
        .layers = psvi_buffer_address(set->layers),
        .min = view->min,
        .max = view->max,
        .min_stride = view->min_stride,
        .max_stride = view->max_stride,
        .doubles = set->doubles,
    };
    if (context->ops->immediate && view->count_device != NULL) {
        if (*view->count_device < view->count) view->count = *view->count_device;
        view->count_device = NULL;
    }
    return PSV_OK;
}
