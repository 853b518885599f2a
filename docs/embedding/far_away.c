// A large world in double precision: boxes of a millimetre, a million kilometres from its origin, where floats are 64 m
// apart. set.origin is a point near the boxes, around which they are sorted as floats. Pairs are exact for any origin.
#include <inttypes.h>
#include <pairsieve/collision.h>
#include <stdio.h>

#define COUNT 1000u

static psv_aabb64 boxes[COUNT];

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.max_boxes = COUNT;
    def.max_pairs = COUNT * COUNT;
    def.doubles = true;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return printf("%s\n", psv_last_error(context));

    // A row of boxes: each one touches the next, and the tenth ones have a gap of a tenth of a micrometre before them.
    const double far_out = 1e9, size = 1.0 / 1024, gap = 1.0 / 8388608;
    double x = far_out;
    uint64_t expected = 0;
    for (unsigned i = 0; i < COUNT; ++i) {
        if (i % 10 == 0) x += gap;
        expected += i > 0 && i % 10 != 0;
        for (int axis = 0; axis < 3; ++axis) {
            boxes[i].min[axis] = axis == 0 ? x : far_out;
            boxes[i].max[axis] = boxes[i].min[axis] + size;
        }
        x += size;
    }
    psv_box_set set = psv_boxes64_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, COUNT);
    for (int near_them = 0; near_them < 2; ++near_them) {
        uint64_t count = 0;
        for (int axis = 0; axis < 3; ++axis)
            set.origin[axis] = near_them == 1 ? far_out : 0; // from 0 all boxes are one float: right, but slow
        if (psv_find_pairs(finder, &set) != PSV_OK) return printf("%s\n", psv_last_error(context));
        if (psv_finish_pairs(finder, &count) != PSV_OK) return printf("%s\n", psv_last_error(context));
        printf("%" PRIu64 " pairs, %" PRIu64 " expected\n", count, expected);
        if (count != expected) return 1;
    }
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return 0;
}
