// Regions: planes cut space, and the worlds in it, in two again and again until each rank has a part. Each plane
// assigns points below it to one side and all other points to the other, so every point is in exactly one region.
#ifndef PAIRSIEVE_REGIONS_H
#define PAIRSIEVE_REGIONS_H

#include "../src/box_test.h" // PSVI_HD

#define PSVI_WORLD_AXIS 3

// One cut of ranks [first, end).
typedef struct psvi_cut {
    uint32_t axis;   // 0 to 2, or PSVI_WORLD_AXIS
    float plane;     // below: a box's min < plane; not below: its max >= plane
    uint32_t world;  // of the world axis: below: world < this
    uint32_t middle; // the first rank that is not below
} psvi_cut;

// size - 1 cuts: the cut of ranks [first, end) is cuts[middle - 1], as each rank but the first begins behind one cut.
typedef struct psvi_regions {
    uint32_t size;
    const psvi_cut *cuts;
} psvi_regions;

// The middle of ranks [first, end): where they are cut.
PSVI_HD uint32_t psvi_middle_rank(uint32_t first, uint32_t end) { return first + (end - first) / 2; }

// Which sides of a cut a box touches: bit 0 below, bit 1 not below.
PSVI_HD uint32_t psvi_cut_sides(const psvi_cut *cut, const float *min, const float *max, uint32_t world) {
    if (cut->axis == PSVI_WORLD_AXIS) return world < cut->world ? 1 : 2;
    return (min[cut->axis] < cut->plane ? 1u : 0u) | (max[cut->axis] >= cut->plane ? 2u : 0u);
}

// The rank whose region a point lies in.
PSVI_HD uint32_t psvi_region_of(psvi_regions regions, const float *point, uint32_t world) {
    uint32_t first = 0, end = regions.size;
    while (end - first > 1) {
        const uint32_t middle = psvi_middle_rank(first, end);
        if (psvi_cut_sides(&regions.cuts[middle - 1], point, point, world) == 1)
            end = middle;
        else
            first = middle;
    }
    return first;
}

// Where the overlap of two boxes begins lies in the region of `rank`: asked by the rank that holds both.
PSVI_HD bool psvi_region_reports(psvi_regions regions, uint32_t rank, const float *a_min, const float *b_min,
                                 uint32_t world) {
    float corner[3];
    for (int axis = 0; axis < 3; ++axis)
        corner[axis] = a_min[axis] > b_min[axis] ? a_min[axis] : b_min[axis];
    return psvi_region_of(regions, corner, world) == rank;
}

// The ranks whose regions a box touches, in ascending order: *rank becomes the first of them that is not below *rank;
// false when none remains. Begin with 0 and continue with the next rank.
PSVI_HD bool psvi_next_region(psvi_regions regions, const float *min, const float *max, uint32_t world,
                              uint32_t *rank) {
    while (*rank < regions.size) {
        uint32_t first = 0, end = regions.size;
        while (end - first > 1 && *rank < end) { // down to *rank, or to the first rank after it that is touched
            const uint32_t middle = psvi_middle_rank(first, end);
            const uint32_t sides = psvi_cut_sides(&regions.cuts[middle - 1], min, max, world);
            if (*rank < middle && (sides & 1) != 0) {
                end = middle;
            } else if ((sides & 2) != 0) {
                if (*rank < middle) *rank = middle;
                first = middle;
            } else {
                *rank = end; // none of the remaining ranks here is touched: again from the top
            }
        }
        if (*rank < end) return true;
    }
    return false;
}

// What lies in the region of one rank alone: not below `min`, below `end`, in worlds [first_world, end_world). NaN: the
// region has no such side.
typedef struct psvi_inner {
    float min[3], end[3];
    uint32_t first_world, end_world;
} psvi_inner;

psvi_inner psvi_inner_of(psvi_regions regions, uint32_t rank);

PSVI_HD bool psvi_is_inner(const psvi_inner *inner, const float *min, const float *max, uint32_t world) {
    bool outside = world < inner->first_world || world >= inner->end_world;
    for (int axis = 0; axis < 3; ++axis)
        outside = outside || min[axis] < inner->min[axis] || max[axis] >= inner->end[axis];
    return !outside;
}

// A sample of the boxes, and the work that it represents.
typedef struct psvi_box_sample {
    psv_aabb box;
    uint32_t world;
    float weight;  // work, in any unit; positive and finite
    uint32_t rank; // that has the boxes it stands for
} psvi_box_sample;

typedef struct psvi_sample_key {
    double key, weight;
} psvi_sample_key;

// Cuts for `size` ranks from samples, in cuts[size - 1]; the samples are reordered. `keys` has room for `count`.
// The same samples give the same cuts everywhere.
void psvi_make_cuts(psvi_box_sample *samples, uint64_t count, uint32_t size, psvi_cut *cuts, psvi_sample_key *keys);

#endif
