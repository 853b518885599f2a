// Layers as engines have them: a table says which layer meets which. And worlds with counts and room of their own, so
// that a crowded one shows and does not spoil the others.
#include <inttypes.h>
#include <pairsieve/collision.h>
#include <stdio.h>

enum { TERRAIN, PLAYERS, DEBRIS, LAYERS };
#define WORLDS 3u
#define EACH 4u
#define COUNT (WORLDS * EACH)

static psv_aabb boxes[COUNT]; // all boxes of a world lie in each other
static uint8_t layers[COUNT];
static uint32_t worlds[COUNT], matrix[PSV_LAYERS];

static void let_meet(uint32_t a, uint32_t b) {
    matrix[a] |= 1u << b;
    matrix[b] |= 1u << a;
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.max_boxes = COUNT;
    def.world_count = WORLDS;
    def.world_pairs = 4; // room of each world; its true number is counted too
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return printf("%s\n", psv_last_error(context));

    let_meet(PLAYERS, PLAYERS); // everything but debris with debris
    let_meet(PLAYERS, TERRAIN);
    let_meet(DEBRIS, TERRAIN);
    let_meet(DEBRIS, PLAYERS);
    psv_pair_rules rules = psv_default_pair_rules();
    rules.layer_matrix = psv_buffer_of(matrix, sizeof matrix);
    if (psv_set_pair_rules(finder, &rules) != PSV_OK) return printf("%s\n", psv_last_error(context));

    for (uint32_t i = 0; i < COUNT; ++i) {
        worlds[i] = i / EACH;
        layers[i] = i % EACH == 0 ? TERRAIN : i % EACH == 1 ? PLAYERS : DEBRIS;
        for (int axis = 0; axis < 3; ++axis)
            boxes[i].max[axis] = 1;
    }
    layers[COUNT - 1] = PLAYERS; // in the last world one piece of debris is a second player
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, COUNT);
    set.worlds = psv_buffer_of(worlds, sizeof worlds);
    set.layers = psv_buffer_of(layers, sizeof layers);
    // Five of its six pairs meet in the first two worlds, all six in the last; each has room for four.
    const psv_status status = psv_find_pairs(finder, &set);
    printf("%s\n", status == PSV_OK ? "all worlds had room" : psv_last_error(context));
    uint64_t counts[WORLDS] = {0, 0, 0};
    if (psv_download(context, counts, psv_world_pair_buffer(finder), sizeof counts) != PSV_OK) return 1;
    for (uint32_t w = 0; w < WORLDS; ++w)
        printf("world %u: %" PRIu64 " pairs\n", w, counts[w]);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return status == PSV_ERROR_CAPACITY && counts[0] == 5 && counts[1] == 5 && counts[2] == 6 ? 0 : 1;
}
