// The boxes of a step as the pair finder gets them on the CPU, where most bodies are at rest. All boxes are kept, and
// those of the bodies that the step looks at are named as moved (psv_box_set.moved). The finder then looks for the
// pairs of these boxes alone.
#ifndef PAIRSIEVE_MOVED_BOXES_H
#define PAIRSIEVE_MOVED_BOXES_H

#include "awake_list.h"

typedef struct psvi_moved_boxes {
    uint32_t *slots; // as many as are named at most
    bool on;         // boxes were named in the last step
} psvi_moved_boxes;

uint64_t psvi_moved_bytes(uint64_t bodies);

// Between a step's begin and its pairs. Leaves the set as it is where so many bodies are looked at that all boxes are.
void psvi_name_moved_boxes(psvi_moved_boxes *moved, const psvi_awake_list *awake, const psvi_sim *sim,
                           psv_box_set *boxes);

#endif
