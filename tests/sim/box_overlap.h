// How deep the boxes of different bodies lie in each other: exact, from the final poses, for tests of what comes to
// rest. Bodies are boxes or compounds of boxes; all others are left out.
#ifndef PAIRSIEVE_TESTS_BOX_OVERLAP_H
#define PAIRSIEVE_TESTS_BOX_OVERLAP_H

#include "pairsieve/sim.h"

typedef struct box_overlap {
    double deepest;       // between boxes of two bodies: the least distance that would part them; 0 when none overlap
    double below;         // deepest corner under y = 0
    uint64_t boxes;       // looked at
    uint64_t overlapping; // pairs of boxes
} box_overlap;

// Arrays by slot, as psv_world_positions and the like give them, on the host. False without host memory.
bool measure_box_overlap(const psv_world *world, uint64_t slots, const float (*position)[4], const float (*rotation)[4],
                         const uint32_t *shape, box_overlap *result);

#endif
