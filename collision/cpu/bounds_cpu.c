// Boxes of shapes with poses: instances side by side, and the points of a long range side by side.
#include "bounds_cpu.h"

#include <pthread.h>

#include "../../core/cpu/workers.h"
#include "../src/bounds_math.h"

#define LONG_RANGE 16384 // points from which on one range is worth all cores

typedef struct bounds_arrays {
    const psv_bounds_shape *shapes;
    uint32_t shape_count;
    const float *points;
    uint64_t point_count;
    const uint32_t *shape_index;
    const psv_pose *poses, *end_poses;
    float margin;
    psv_aabb *boxes; // to write
} bounds_arrays;

static const psv_bounds_shape *shape_of(const bounds_arrays *in, uint64_t instance) {
    uint64_t index = in->shape_index == NULL ? instance : in->shape_index[instance];
    if (index >= in->shape_count) return NULL;
    const psv_bounds_shape *shape = &in->shapes[index];
    if (shape->type > PSV_BOUNDS_POINTS) return NULL;
    if (shape->type == PSV_BOUNDS_POINTS && (shape->point_count == 0 || shape->first_point > in->point_count ||
                                             shape->point_count > in->point_count - shape->first_point))
        return NULL;
    return shape;
}

// Extends `box` by the rotated points. A NaN coordinate makes the axis NaN: the box is then bad, as it should be.
static void reduce_points(const float *points, uint64_t count, float rows[3][3], float min[3], float max[3]) {
    for (uint64_t p = 0; p < count; ++p) {
        for (int axis = 0; axis < 3; ++axis) {
            float x = psvi_rotate_axis(rows[axis], points + 3 * p);
            min[axis] = min[axis] <= x || min[axis] != min[axis] ? min[axis] : x;
            max[axis] = max[axis] >= x || max[axis] != max[axis] ? max[axis] : x;
        }
    }
}

typedef struct range_job {
    const float *points;
    float (*rows)[3];
    float *min, *max;
    pthread_mutex_t lock; // of min and max
} range_job;

static void reduce_some(void *data, uint64_t first, uint64_t end) {
    range_job *job = data;
    float min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
    reduce_points(job->points + 3 * first, end - first, job->rows, min, max);
    (void)pthread_mutex_lock(&job->lock);
    for (int axis = 0; axis < 3; ++axis) {
        if (!(job->min[axis] <= min[axis]) && job->min[axis] == job->min[axis]) job->min[axis] = min[axis];
        if (!(job->max[axis] >= max[axis]) && job->max[axis] == job->max[axis]) job->max[axis] = max[axis];
    }
    (void)pthread_mutex_unlock(&job->lock);
}

static void reduce_long_range(psv_context *context, const float *points, uint64_t count, float rows[3][3], float min[3],
                              float max[3]) {
    range_job job = {points, rows, min, max, PTHREAD_MUTEX_INITIALIZER};
    psvi_run_ranges(context, count, LONG_RANGE, reduce_some, &job);
    (void)pthread_mutex_destroy(&job.lock);
}

// Extends `box` by the shape under one pose. `context`: whose workers take a long range together; NULL: nobody's.
static void add_pose(const bounds_arrays *in, const psv_bounds_shape *shape, const psv_pose *pose, psv_context *context,
                     psv_aabb *box) {
    float rows[3][3], min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
    psvi_rotation_rows(pose->rotation, rows);
    if (shape->type == PSV_BOUNDS_POINTS) {
        const float *points = in->points + 3 * (uint64_t)shape->first_point;
        if (context != NULL && shape->point_count >= 2 * LONG_RANGE)
            reduce_long_range(context, points, shape->point_count, rows, min, max);
        else
            reduce_points(points, shape->point_count, rows, min, max);
    }
    for (int axis = 0; axis < 3; ++axis) {
        if (shape->type != PSV_BOUNDS_POINTS) {
            max[axis] = psvi_shape_reach(shape, rows[axis]);
            min[axis] = -max[axis];
        }
        float low = pose->position[axis] + min[axis], high = pose->position[axis] + max[axis];
        // Negated, so that a NaN gets through and makes the box bad.
        if (!(low >= box->min[axis])) box->min[axis] = low;
        if (!(high <= box->max[axis])) box->max[axis] = high;
    }
}

static void bound_instance(const bounds_arrays *in, uint64_t i, psv_context *context, psv_aabb *box) {
    const psv_bounds_shape *shape = shape_of(in, i);
    psv_aabb made;
    psvi_make_bad_box(&made);
    if (shape != NULL) {
        add_pose(in, shape, &in->poses[i], context, &made);
        if (in->end_poses != NULL && !psvi_box_is_bad(made.min, made.max))
            add_pose(in, shape, &in->end_poses[i], context, &made);
        for (int axis = 0; axis < 3; ++axis) {
            made.min[axis] -= in->margin;
            made.max[axis] += in->margin;
        }
    }
    *box = made;
}

static void bound_some(void *data, uint64_t first, uint64_t end) {
    const bounds_arrays *in = data;
    for (uint64_t i = first; i < end; ++i)
        bound_instance(in, i, NULL, &in->boxes[i]);
}

psv_status psvi_compute_bounds_cpu(psv_context *context, const psv_bounds_input *input, psv_aabb *boxes) {
    bounds_arrays in = {
        .shapes = psv_buffer_address(input->shapes),
        .shape_count = input->shape_count,
        .points = psv_buffer_address(input->points),
        .point_count = input->point_count,
        .shape_index = psv_buffer_address(input->shape_index),
        .poses = psv_buffer_address(input->poses),
        .end_poses = psv_buffer_address(input->end_poses),
        .margin = input->margin,
        .boxes = boxes,
    };
    const uint64_t count = input->instance_count;
    // Few instances: each takes all cores for its points. Many: they share the cores.
    if (count < 4 * (uint64_t)context->worker_count) {
        for (uint64_t i = 0; i < count; ++i)
            bound_instance(&in, i, context, &boxes[i]);
        return PSV_OK;
    }
    psvi_run_ranges(context, count, 64, bound_some, &in);
    return PSV_OK;
}
