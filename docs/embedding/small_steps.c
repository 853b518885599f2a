// Boxes that move a little in each frame, with a margin: the pairs of the widened boxes are kept and tested again until
// a box has left its widened one. The pairs are the exact ones in each frame, as a second finder without it shows.
#include <inttypes.h>
#include <math.h>
#include <pairsieve/collision.h>
#include <stdio.h>
#include <string.h>

#define COUNT 5000u
#define MOST 40000u

static psv_aabb boxes[COUNT];

// Boxes of size 1 strewn in a cube of side 17, each on a small way of its own.
static void place_boxes(float time) {
    float at = 1, step = 0;
    for (uint32_t i = 0; i < COUNT; ++i)
        for (uint32_t axis = 0; axis < 3; ++axis) {
            at = fmodf(at * 7.13f + 3.71f, 17);
            step = fmodf(step * 5.37f + 0.29f, 1);
            boxes[i].min[axis] = at + (step - 0.5f) * time;
            boxes[i].max[axis] = boxes[i].min[axis] + 1;
        }
}

static psv_pair_finder *make_finder(psv_context *context, bool margins) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.max_boxes = COUNT;
    def.max_pairs = MOST;
    def.sort_output = true;
    def.margins = margins;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) printf("%s\n", psv_last_error(context));
    return finder;
}

static psv_pair pairs[2][MOST];

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder *finders[2] = {make_finder(context, true), make_finder(context, false)};
    if (finders[0] == NULL || finders[1] == NULL) return 1;
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, COUNT);
    uint64_t count[2] = {0, 0};
    float time = 0;
    for (int frame = 0; frame < 30; ++frame, time += 0.01f) {
        place_boxes(time);
        for (int i = 0; i < 2; ++i) {
            set.margin = i == 0 ? 0.1f : 0; // a tenth of a box: some twenty frames
            if (psv_find_pairs(finders[i], &set) != PSV_OK) return printf("%s\n", psv_last_error(context));
            if (psv_read_pairs(finders[i], pairs[i], MOST, &count[i]) != PSV_OK) return 1;
        }
        if (count[0] != count[1] || memcmp(pairs[0], pairs[1], count[0] * sizeof(psv_pair)) != 0) return 1;
    }
    printf("%" PRIu64 " pairs in the last frame, the same with the margin and without\n", count[0]);
    for (int i = 0; i < 2; ++i)
        psv_destroy_pair_finder(finders[i]);
    psv_destroy_context(context);
    return count[0] > COUNT ? 0 : 1;
}
