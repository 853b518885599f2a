// Boxes of a case of group_cases.c, made from a seed, with all that they may have.
#ifndef PAIRSIEVE_TESTS_BOX_CASE_H
#define PAIRSIEVE_TESTS_BOX_CASE_H

#include <pairsieve/collision.h>
#include <stdlib.h>

#include "../cases/box_scenes.h"

static inline void *must(void *memory) {
    if (memory == NULL) abort();
    return memory;
}

// What boxes of a case may have.
enum {
    PART_FLAGS = 1,
    PART_FILTERS = 2,
    PART_WORLDS = 4,
    PART_IDS = 8,
    PART_OWNERS = 16,
    PART_LAYERS = 32,
    PART_EXCLUDED = 64,
    PART_DOUBLES = 128
};

// All boxes of a case, on the host, and the parts that they have.
typedef struct box_case {
    psv_aabb *boxes;
    psv_aabb64 *corners; // in place of them
    uint8_t *flags, *layers;
    psv_box_filter *filters;
    uint32_t *worlds, *ids, *owners;
    psv_pair *excluded; // by number of the box, a < b
    uint64_t count, excluded_count;
    uint32_t world_count, layer_matrix[PSV_LAYERS];
    bool sort_output;
} box_case;

extern const double case_origin[3]; // of the corners in double precision

box_case make_box_case(const box_scene *scene, uint64_t count, uint64_t seed, uint32_t parts);
void free_box_case(box_case *made);

#endif
