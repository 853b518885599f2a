// Bounds of shapes: the checks before the backend's reduction.
#include <math.h>

#include "finder.h"

static psv_status check_input(psv_context *context, const psv_bounds_input *input, psv_buffer boxes) {
    if (!(input->margin >= 0) || isinf(input->margin))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "input.margin is %g; it must be finite and 0 or more",
                         (double)input->margin);
    if (input->instance_count > (uint64_t)1 << 31)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "input.instance_count is %llu; the limit is 2147483648",
                         (unsigned long long)input->instance_count);
    if (input->point_count > UINT32_MAX)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "input.point_count is %llu; the limit is 4294967295",
                         (unsigned long long)input->point_count);
    uint64_t n = input->instance_count;
    psv_status status =
        psvi_check_buffer(context, input->shapes, input->shape_count * sizeof(psv_bounds_shape), 4, "input.shapes");
    if (status == PSV_OK)
        status = psvi_check_buffer(context, input->points, input->point_count * 12, 4, "input.points");
    if (status == PSV_OK && psvi_buffer_address(input->shape_index) != NULL)
        status = psvi_check_buffer(context, input->shape_index, n * 4, 4, "input.shape_index");
    if (status == PSV_OK) status = psvi_check_buffer(context, input->poses, n * sizeof(psv_pose), 4, "input.poses");
    if (status == PSV_OK && psvi_buffer_address(input->end_poses) != NULL)
        status = psvi_check_buffer(context, input->end_poses, n * sizeof(psv_pose), 4, "input.end_poses");
    if (status == PSV_OK) status = psvi_check_buffer(context, boxes, n * sizeof(psv_aabb), 4, "boxes");
    return status;
}

psv_status psv_compute_bounds(psv_context *context, const psv_bounds_input *input, psv_buffer boxes) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (input == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "input is NULL");
    const psvi_collision_ops *ops = psvi_collision_ops_of(context->backend);
    if (ops == NULL || ops->compute_bounds == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend computes no bounds", context->ops->name);
    status = check_input(context, input, boxes);
    if (status != PSV_OK || input->instance_count == 0) return status;
    psvi_frame_begin(context);
    psvi_phase_begin(context, PSV_PHASE_BOUNDS);
    status = ops->compute_bounds(context, input, psvi_buffer_address(boxes));
    psvi_phase_end(context, PSV_PHASE_BOUNDS);
    psvi_frame_end(context);
    return status;
}
