// Which boxes may pair: static boxes, which never pair with each other, and groups and masks as in engines. Then the
// same with two sets: a level that is written once, and the boxes of this frame.
#include <pairsieve/collision.h>
#include <stdio.h>

enum { LEVEL = 1, PLAYER = 2, BULLET = 4 };

// Two tiles of a floor that touch; a player and two bullets in each other, on the first.
static psv_aabb boxes[5] = {{{0, 0, 0}, {4, 1, 4}},
                            {{4, 0, 0}, {8, 1, 4}},
                            {{1, 1, 1}, {2, 3, 2}},
                            {{1.5f, 0.5f, 1.5f}, {1.6f, 1.5f, 1.6f}},
                            {{1.5f, 0.5f, 1.5f}, {1.6f, 1.5f, 1.6f}}};
static uint8_t flags[5] = {PSV_BOX_STATIC, PSV_BOX_STATIC, 0, 0, 0};
static psv_box_filter filters[5] = {{LEVEL, PLAYER | BULLET},
                                    {LEVEL, PLAYER | BULLET},
                                    {PLAYER, LEVEL | BULLET},
                                    {BULLET, LEVEL | PLAYER}, // not other bullets
                                    {BULLET, LEVEL}};         // shot by the player: not it either

static psv_box_set part_of_boxes(uint64_t first, uint64_t count) {
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes + first, count * sizeof *boxes), sizeof *boxes, count);
    set.flags = psv_buffer_of(flags + first, count);
    set.filters = psv_buffer_of(filters + first, count * sizeof *filters);
    return set;
}

static uint64_t print_pairs(psv_pair_finder *finder, const char *what, uint32_t offset) {
    psv_pair pairs[20];
    uint64_t count = 0;
    if (psv_read_pairs(finder, pairs, 20, &count) != PSV_OK) return UINT64_MAX;
    for (uint64_t i = 0; i < count; ++i)
        printf("%s: %u meets %u\n", what, pairs[i].a, pairs[i].b + offset);
    return count;
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = 5;
    def.max_pairs = 20;
    psv_pair_finder *finder = NULL;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return printf("%s\n", psv_last_error(context));

    const psv_box_set all = part_of_boxes(0, 5), level = part_of_boxes(0, 2), moving = part_of_boxes(2, 3);
    if (psv_find_pairs(finder, &all) != PSV_OK) return printf("%s\n", psv_last_error(context));
    const uint64_t one_set = print_pairs(finder, "one set", 0);
    // The second index of a pair counts from the beginning of the second set.
    if (psv_find_pairs_between(finder, &level, &moving) != PSV_OK) return printf("%s\n", psv_last_error(context));
    const uint64_t between = print_pairs(finder, "level and moving", 2);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return one_set == 4 && between == 3 ? 0 : 1;
}
