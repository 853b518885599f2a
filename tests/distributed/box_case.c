#include "box_case.h"

const double case_origin[3] = {1e6, -2.5e5, 3.5};

// The boxes far from 0 in double precision. Every fourth begins where the one before ends, or next to that: as floats
// they all touch.
static void make_corners(box_case *made) {
    made->corners = must(malloc((made->count + 1) * sizeof *made->corners));
    for (uint64_t i = 0; i < made->count; ++i)
        for (int axis = 0; axis < 3; ++axis) {
            psv_aabb64 *box = &made->corners[i];
            box->min[axis] = case_origin[axis] + (double)made->boxes[i].min[axis];
            box->max[axis] = case_origin[axis] + (double)made->boxes[i].max[axis];
            if (i % 4 != 3) continue;
            const double side = box->max[axis] - box->min[axis], step = ((double)(i / 4 % 3) - 1) * 0x1p-30;
            box->min[axis] = axis == 0 ? box[-1].max[0] + step : box[-1].min[axis];
            box->max[axis] = box->min[axis] + side;
        }
}

// A third of the pairs that overlap, and as many that hardly do. By a double loop: cases of few boxes only.
static void exclude_pairs(box_case *made, uint64_t seed) {
    const uint64_t n = made->count;
    made->excluded = must(malloc((n * n / 2 + 1) * sizeof *made->excluded));
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t j = i + 1; j < n; ++j) {
            const psv_aabb *a = &made->boxes[i], *b = &made->boxes[j];
            bool overlap = true;
            for (int axis = 0; axis < 3; ++axis)
                overlap = overlap && a->min[axis] <= b->max[axis] && b->min[axis] <= a->max[axis];
            if (box_random_bits(seed + 9, i * n + j, 3) % (overlap ? 3 : 50) == 0)
                made->excluded[made->excluded_count++] = (psv_pair){i, j};
        }
}

static void make_rules(box_case *made, uint64_t seed, uint32_t parts) {
    const uint64_t count = made->count;
    if (parts & PART_OWNERS) made->owners = must(malloc((count + 1) * sizeof *made->owners));
    if (parts & PART_LAYERS) made->layers = must(malloc(count + 1));
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t bits = box_random_bits(seed + 6, i, 8);
        if (parts & PART_OWNERS) made->owners[i] = (bits & 3) == 0 ? PSV_NO_OWNER : (uint32_t)(bits >> 2 & 3);
        if (parts & PART_LAYERS) made->layers[i] = (uint8_t)((bits >> 8) % (i % 100 == 99 ? 40 : PSV_LAYERS));
    }
    for (uint32_t i = 0; i < PSV_LAYERS; ++i)
        made->layer_matrix[i] = (uint32_t)(box_random_bits(seed, i, 9) | box_random_bits(seed, i, 10));
    if (parts & PART_EXCLUDED) exclude_pairs(made, seed);
    if (parts & PART_DOUBLES) make_corners(made);
}

box_case make_box_case(const box_scene *scene, uint64_t count, uint64_t seed, uint32_t parts) {
    box_case made = {.count = count, .world_count = parts & PART_WORLDS ? 5 : 0};
    made.boxes = must(malloc((count + 1) * sizeof *made.boxes));
    scene->make(made.boxes, count, seed);
    if (parts & PART_FLAGS) made.flags = must(malloc(count + 1));
    if (parts & PART_FILTERS) made.filters = must(malloc((count + 1) * sizeof *made.filters));
    if (parts & PART_WORLDS) made.worlds = must(malloc((count + 1) * sizeof *made.worlds));
    if (parts & PART_IDS) made.ids = must(malloc((count + 1) * sizeof *made.ids));
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t bits = box_random_bits(seed + 5, i, 7);
        if (parts & PART_FLAGS)
            made.flags[i] = (bits & 7) == 0 ? PSV_BOX_DISABLED : (bits & 8) != 0 ? PSV_BOX_STATIC : 0;
        if (parts & PART_FILTERS)
            made.filters[i] = (psv_box_filter){1u << (bits >> 8 & 3), (uint32_t)(bits >> 12 & 15)};
        if (parts & PART_WORLDS) made.worlds[i] = (uint32_t)((bits >> 20) % (i % 1000 == 7 ? 9 : 5)); // a few are bad
        if (parts & PART_IDS) made.ids[i] = (uint32_t)((count - 1 - i) * 3 + 1);
    }
    make_rules(&made, seed, parts);
    return made;
}

void free_box_case(box_case *made) {
    free(made->boxes);
    free(made->flags);
    free(made->filters);
    free(made->worlds);
    free(made->ids);
    free(made->owners);
    free(made->layers);
    free(made->excluded);
    free(made->corners);
}
