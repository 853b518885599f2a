// Thousands of small worlds in one call: each box has the number of its world, and boxes of different worlds never
// pair. One call for all costs far less than one for each.
#include <inttypes.h>
#include <pairsieve/collision.h>
#include <stdio.h>

#define WORLDS 1000u
#define EACH 4u // boxes of a world

static psv_aabb boxes[WORLDS * EACH];
static uint32_t worlds[WORLDS * EACH];
static psv_pair pairs[WORLDS * EACH];

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = WORLDS * EACH;
    def.max_pairs = WORLDS * EACH;
    def.world_count = WORLDS;
    psv_pair_finder *finder = NULL;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return printf("%s\n", psv_last_error(context));

    // All worlds lie in the same place: a row of boxes, of which each touches the next.
    float x = 0;
    for (uint32_t i = 0; i < WORLDS * EACH; ++i) {
        worlds[i] = i / EACH;
        x = i % EACH == 0 ? 0 : x + 1;
        for (int k = 0; k < 3; ++k) {
            boxes[i].min[k] = k == 0 ? x : 0;
            boxes[i].max[k] = boxes[i].min[k] + 1;
        }
    }
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, WORLDS * EACH);
    set.worlds = psv_buffer_of(worlds, sizeof worlds);
    uint64_t count = 0, across = 0;
    if (psv_find_pairs(finder, &set) != PSV_OK || psv_read_pairs(finder, pairs, WORLDS * EACH, &count) != PSV_OK)
        return printf("%s\n", psv_last_error(context));
    for (uint64_t i = 0; i < count; ++i)
        across += worlds[pairs[i].a] != worlds[pairs[i].b];
    printf("%" PRIu64 " pairs in %u worlds, %" PRIu64 " across\n", count, WORLDS, across);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return count == WORLDS * (EACH - 1) && across == 0 ? 0 : 1;
}
