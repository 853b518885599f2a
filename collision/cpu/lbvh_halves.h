// The order of a tree that is asked again and again: by halves instead of by Morton code.
#ifndef PAIRSIEVE_LBVH_HALVES_H
#define PAIRSIEVE_LBVH_HALVES_H

#include "cpu_boxes.h"

typedef struct lbvh_centre {
    float at[3];
    uint32_t id;
} lbvh_centre;

typedef struct lbvh_halves {
    lbvh_centre *centres; // of the boxes in the order of their keys
    lbvh_centre *scratch; // room for as many
    const void *keys;     // u32, or u64 if wide
    bool wide;
    uint32_t shift; // only boxes whose keys are equal from this bit on change places
} lbvh_halves;

// Orders the centres so that the nodes of the implicit tree over them, 16 to a node, hardly overlap. Each range is cut
// across its longest side. The cut is the one next to the middle where the largest nodes of the range meet. The order
// does not depend on the number of workers.
void psvi_order_by_halves(psv_context *context, const lbvh_halves *halves, uint64_t count);

#endif
