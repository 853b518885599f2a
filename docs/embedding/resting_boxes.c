// Many boxes rest and few move. All boxes are kept, and each frame names those that have moved, woken up or gone: the
// frame then costs what these boxes cost, events included.
#include <inttypes.h>
#include <pairsieve/collision.h>
#include <stdio.h>

#define RESTING 10000u
#define MOVING 3u

static psv_aabb boxes[RESTING + MOVING];

static void put_box(psv_aabb *box, float x, float y, float z) {
    const float low[3] = {x, y, z};
    for (int axis = 0; axis < 3; ++axis) {
        box->min[axis] = low[axis];
        box->max[axis] = low[axis] + 1;
    }
}

// A floor of 100 x 100 tiles that do not touch.
static void make_level(void) {
    psv_aabb *box = boxes;
    for (float z = 0; z < 150; z += 1.5f)
        for (float x = 0; x < 150; x += 1.5f)
            put_box(box++, x, 0, z);
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.max_boxes = RESTING + MOVING;
    def.max_kept = RESTING + MOVING;
    def.events = true;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return printf("%s\n", psv_last_error(context));

    make_level();
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, RESTING + MOVING);
    uint32_t moved[MOVING + 1];
    set.kept = RESTING + MOVING;
    set.moved = psv_buffer_of(moved, sizeof moved);
    uint64_t began = 0, ended = 0;
    float x = 0;
    for (int frame = 0; frame < 60; ++frame, x += 0.75f) {
        float z = 0;
        set.moved_count = 0;
        for (unsigned i = 0; i < MOVING; ++i, z += 30) { // half a tile a frame
            put_box(&boxes[RESTING + i], x, 0.5f, z);
            moved[set.moved_count++] = RESTING + i;
        }
        if (frame == 30) { // the first tile is taken away
            put_box(&boxes[0], 0, -100, 0);
            moved[set.moved_count++] = 0;
        }
        psv_pair begin[16], end[16];
        uint64_t begins = 0, ends = 0;
        if (psv_find_pairs(finder, &set) != PSV_OK) return printf("%s\n", psv_last_error(context));
        if (psv_read_pair_events(finder, begin, 16, &begins, end, 16, &ends) != PSV_OK) break;
        began += begins;
        ended += ends;
    }
    uint64_t pairs = 0;
    psv_finish_pairs(finder, &pairs);
    printf("%" PRIu64 " contacts began, %" PRIu64 " ended, %" PRIu64 " are left\n", began, ended, pairs);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return began - ended == pairs && pairs >= MOVING && ended > 50 ? 0 : 1;
}
