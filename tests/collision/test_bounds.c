// psv_compute_bounds against a plain reference in double: every shape type, random poses, sweeps, margins, long point
// ranges, and bad input.   test_bounds [cpu|cuda]
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/collision.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"

#define SEED 77
#define POINTS 70000
#define SHAPES 12
#define INSTANCES 700

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static float points[POINTS][3];
static psv_bounds_shape shapes[SHAPES];
static psv_pose poses[2][INSTANCES];
static uint32_t shape_index[INSTANCES];

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer;
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    CHECK(psv_upload(context, buffer, data, bytes));
    return buffer;
}

static float random_in(uint64_t i, uint32_t channel, float low, float high) {
    return low + (high - low) * box_random(SEED, i, channel);
}

static void make_shapes(void) {
    for (uint32_t p = 0; p < POINTS; ++p)
        for (uint32_t axis = 0; axis < 3; ++axis)
            points[p][axis] = random_in(p, axis, -3, 3);
    for (uint32_t s = 0; s < SHAPES; ++s) {
        shapes[s].type = s % 4;
        for (uint32_t k = 0; k < 3; ++k)
            shapes[s].size[k] = random_in(s, 3 + k, 0.1f, 2);
    }
    // Ranges of 1, of some and of very many points; two of them overlap.
    shapes[3].first_point = 5, shapes[3].point_count = 1;
    shapes[7].first_point = 100, shapes[7].point_count = 333;
    shapes[11].first_point = 0, shapes[11].point_count = POINTS;
}

static void make_poses(void) {
    for (uint32_t i = 0; i < INSTANCES; ++i) {
        shape_index[i] = (uint32_t)(box_random_bits(SEED, i, 6) % (SHAPES - 1)); // not the longest each time
        if (i % 100 == 0) shape_index[i] = SHAPES - 1;
        for (uint32_t which = 0; which < 2; ++which) {
            psv_pose *pose = &poses[which][i];
            double length = 0;
            for (uint32_t k = 0; k < 4; ++k) {
                pose->rotation[k] = random_in(i + 1000 * which, k, -1, 1);
                length += (double)pose->rotation[k] * pose->rotation[k];
            }
            for (uint32_t k = 0; k < 4; ++k)
                pose->rotation[k] = (float)(pose->rotation[k] / sqrt(length));
            for (uint32_t k = 0; k < 3; ++k)
                pose->position[k] = random_in(i + 1000 * which, 4 + k, -10, 10);
        }
    }
}

static void rotate(const float q[4], const double v[3], double out[3]) {
    // v + 2 w (u x v) + 2 u x (u x v)
    const double u[3] = {q[0], q[1], q[2]}, w = q[3];
    double c[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    double d[3] = {u[1] * c[2] - u[2] * c[1], u[2] * c[0] - u[0] * c[2], u[0] * c[1] - u[1] * c[0]};
    for (int k = 0; k < 3; ++k)
        out[k] = v[k] + 2 * w * c[k] + 2 * d[k];
}

static void add_point(const psv_pose *pose, const double local[3], double radius, double box[6]) {
    double world[3];
    rotate(pose->rotation, local, world);
    for (int k = 0; k < 3; ++k) {
        box[k] = fmin(box[k], world[k] + pose->position[k] - radius);
        box[3 + k] = fmax(box[3 + k], world[k] + pose->position[k] + radius);
    }
}

static void add_reference(const psv_bounds_shape *shape, const psv_pose *pose, double box[6]) {
    const float *size = shape->size;
    switch (shape->type) {
    case PSV_BOUNDS_SPHERE: add_point(pose, (double[3]){0, 0, 0}, size[0], box); break;
    case PSV_BOUNDS_BOX:
        for (int corner = 0; corner < 8; ++corner)
            add_point(pose,
                      (double[3]){corner & 1 ? size[0] : -size[0], corner & 2 ? size[1] : -size[1],
                                  corner & 4 ? size[2] : -size[2]},
                      0, box);
        break;
    case PSV_BOUNDS_CAPSULE:
        add_point(pose, (double[3]){0, size[1], 0}, size[0], box);
        add_point(pose, (double[3]){0, -size[1], 0}, size[0], box);
        break;
    default:
        for (uint32_t p = 0; p < shape->point_count; ++p) {
            const float *at = points[shape->first_point + p];
            add_point(pose, (double[3]){at[0], at[1], at[2]}, 0, box);
        }
    }
}

static void compare(const psv_aabb *boxes, uint32_t count, bool swept, bool indexed, float margin) {
    for (uint32_t i = 0; i < count; ++i) {
        double box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
        const psv_bounds_shape *shape = &shapes[indexed ? shape_index[i] : i];
        add_reference(shape, &poses[0][i], box);
        if (swept) add_reference(shape, &poses[1][i], box);
        for (int k = 0; k < 3; ++k) {
            if (fabs(boxes[i].min[k] - (box[k] - margin)) > 2e-5 ||
                fabs(boxes[i].max[k] - (box[3 + k] + margin)) > 2e-5)
                fail_msg("instance %u, shape type %u, axis %d: [%g, %g] instead of [%g, %g]", i, shape->type, k,
                         (double)boxes[i].min[k], (double)boxes[i].max[k], box[k] - margin, box[3 + k] + margin);
        }
    }
}

static void test_shapes(void **state) {
    (void)state;
    make_shapes();
    make_poses();
    psv_buffer boxes;
    CHECK(psv_alloc_buffer(context, sizeof(psv_aabb) * INSTANCES, &boxes));
    psv_bounds_input input = {.shapes = upload(shapes, sizeof shapes),
                              .shape_count = SHAPES,
                              .points = upload(points, sizeof points),
                              .point_count = POINTS,
                              .poses = upload(poses[0], sizeof poses[0])};
    psv_buffer index = upload(shape_index, sizeof shape_index), ends = upload(poses[1], sizeof poses[1]);
    static psv_aabb result[INSTANCES];
    for (int variant = 0; variant < 8; ++variant) {
        bool swept = variant & 1, indexed = variant & 2;
        input.margin = variant & 4 ? 0.25f : 0;
        input.shape_index = indexed ? index : (psv_buffer){0};
        input.end_poses = swept ? ends : (psv_buffer){0};
        input.instance_count = indexed ? INSTANCES : SHAPES;
        CHECK(psv_compute_bounds(context, &input, boxes));
        CHECK(psv_download(context, result, boxes, input.instance_count * sizeof *result));
        compare(result, (uint32_t)input.instance_count, swept, indexed, input.margin);
    }
    psv_buffer *all[] = {&boxes, &index, &ends, &input.shapes, &input.points, &input.poses};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        psv_free_buffer(context, all[i]);
}

static bool is_bad(const psv_aabb *box) {
    return !(box->min[0] <= box->max[0] && box->min[1] <= box->max[1] && box->min[2] <= box->max[2]);
}

// Shapes and ranges outside their arrays, and NaN, give bad boxes, and nothing outside is read.
static void test_bad_input(void **state) {
    (void)state;
    const float few[4][3] = {{0, 0, 0}, {1, 0, 0}, {NAN, 1, 1}, {0, 1, 0}};
    const psv_bounds_shape made[6] = {
        {.type = PSV_BOUNDS_POINTS, .first_point = 0, .point_count = 2},
        {.type = PSV_BOUNDS_POINTS, .first_point = 3, .point_count = 2},
        {.type = PSV_BOUNDS_POINTS, .first_point = UINT32_MAX, .point_count = UINT32_MAX},
        {.type = PSV_BOUNDS_POINTS, .first_point = 0, .point_count = 0},
        {.type = PSV_BOUNDS_POINTS, .first_point = 1, .point_count = 3},
        {.type = 99},
    };
    const uint32_t index[8] = {0, 1, 2, 3, 4, 5, 6, UINT32_MAX};
    psv_pose pose[8];
    for (int i = 0; i < 8; ++i)
        pose[i] = (psv_pose){{0, 0, 0}, {0, 0, 0, 1}};
    psv_buffer boxes;
    CHECK(psv_alloc_buffer(context, 8 * sizeof(psv_aabb), &boxes));
    psv_bounds_input input = {.shapes = upload(made, sizeof made),
                              .shape_count = 6,
                              .points = upload(few, sizeof few),
                              .point_count = 4,
                              .shape_index = upload(index, sizeof index),
                              .poses = upload(pose, sizeof pose),
                              .instance_count = 8,
                              .margin = 1};
    psv_aabb result[8];
    CHECK(psv_compute_bounds(context, &input, boxes));
    CHECK(psv_download(context, result, boxes, sizeof result));
    assert_false(is_bad(&result[0]));
    for (int i = 1; i < 8; ++i)
        if (!is_bad(&result[i])) fail_msg("instance %d should be bad", i);
    psv_buffer *all[] = {&boxes, &input.shapes, &input.points, &input.shape_index, &input.poses};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        psv_free_buffer(context, all[i]);
}

int main(int argc, char **argv) {
    const number_option no_options = {NULL, NULL};
    if (!read_backend_arguments(argc, argv, &backend, &no_options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_bad_input)};
    return RUN_BACKEND_TESTS("bounds", &def, &context, tests);
}
