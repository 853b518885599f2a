// What `rows` and `lbvh` keep between frames on the CPU: the sorter of their keys, and room for a sample of the boxes.
#ifndef PAIRSIEVE_GRID_STATE_H
#define PAIRSIEVE_GRID_STATE_H

#include "pairsieve/sort.h"
#include "rows_grid.h"

typedef struct psvi_grid_state {
    psv_sorter *sorter;
    rows_sample sample;
    uint64_t boxes;  // of the tree of `lbvh`
    bool has_blocks; // of it, for queries
} psvi_grid_state;

// Sets choice->state. The sorter's scratch memory is part of the finder's.
psv_status psvi_create_grid_state(psvi_choice *choice, const char *method, const psv_sorter_def *sorter);
void psvi_destroy_grid_state(psvi_choice *choice);
psv_status psvi_grid_statistics(const psvi_choice *choice, psv_pair_statistics *statistics);

#endif
