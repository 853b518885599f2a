// From poses to pairs: boxes of turned shapes, with a margin, swept over a frame so that fast bodies do not pass
// through each other.
#include <pairsieve/collision.h>
#include <stdio.h>
#include <string.h>

enum { SPHERE, PLANK, SHAPES };

static psv_bounds_shape shapes[SHAPES];
static uint32_t shape_of[3] = {SPHERE, PLANK, SPHERE};
static psv_pose poses[3], end_poses[3];
static psv_aabb boxes[3];

static psv_pose pose_at(float x, float y, float z) {
    const psv_pose pose = {{x, y, z}, {0, 0, 0, 1}}; // not turned
    return pose;
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = 3;
    def.max_pairs = 10;
    psv_pair_finder *finder = NULL;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return printf("%s\n", psv_last_error(context));

    shapes[SPHERE].type = PSV_BOUNDS_SPHERE;
    shapes[SPHERE].size[0] = 0.5f;
    shapes[PLANK].type = PSV_BOUNDS_BOX;
    shapes[PLANK].size[0] = 3; // half extents
    shapes[PLANK].size[1] = shapes[PLANK].size[2] = 0.1f;
    poses[0] = end_poses[0] = pose_at(0, 2.5f, 0);
    poses[1] = end_poses[1] = pose_at(0, 0, 0);
    poses[1].rotation[2] = poses[1].rotation[3] = 0.70710678f; // a quarter turn about z: upright at the beginning
    poses[2] = pose_at(-9, 0, 5);
    end_poses[2] = pose_at(9, 0, -5); // flies through the plank within the frame

    psv_bounds_input input;
    memset(&input, 0, sizeof input);
    input.shapes = psv_buffer_of(shapes, sizeof shapes);
    input.shape_count = SHAPES;
    input.shape_index = psv_buffer_of(shape_of, sizeof shape_of);
    input.poses = psv_buffer_of(poses, sizeof poses);
    input.end_poses = psv_buffer_of(end_poses, sizeof end_poses);
    input.instance_count = 3;
    input.margin = 0.02f;
    const psv_buffer where = psv_buffer_of(boxes, sizeof boxes);
    const psv_box_set set = psv_boxes_of(where, sizeof *boxes, 3);
    psv_pair pairs[10];
    uint64_t count = 0;
    if (psv_compute_bounds(context, &input, where) != PSV_OK || psv_find_pairs(finder, &set) != PSV_OK ||
        psv_read_pairs(finder, pairs, 10, &count) != PSV_OK)
        return printf("%s\n", psv_last_error(context));
    for (uint64_t i = 0; i < count; ++i)
        printf("%u may meet %u\n", pairs[i].a, pairs[i].b);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return count == 2 ? 0 : 1; // the ball flies under the sphere
}
