// What `rows` and `lbvh` keep between frames on the CPU: the sorter of their keys, and room for a sample of the boxes.
#ifndef PAIRSIEVE_GRID_STATE_H
#define PAIRSIEVE_GRID_STATE_H

#include "../../core/backoff.h"
#include "pairsieve/sort.h"
#include "rows_grid.h"

// What tells one scene from another, roughly: ranges and median extents along the grid's axes.
typedef struct psvi_grid_scene {
    float range[3], median[3];
} psvi_grid_scene;

typedef struct psvi_grid_state {
    psv_sorter *sorter;
    rows_sample sample;
    psvi_grid_scene costly; // of `rows`: the last scene whose sweep was given up
    psvi_backoff rest;      // frames in which such a scene is not swept
    uint64_t boxes;         // of the tree of `lbvh`
    bool has_blocks;        // of it, for queries
    uint64_t places, taken; // of it, for boxes that are followed: how many it has, and how many have had a box
} psvi_grid_state;

// Sets choice->state. The sorter's scratch memory is part of the finder's.
psv_status psvi_create_grid_state(psvi_choice *choice, const char *method, const psv_sorter_def *sorter);
void psvi_destroy_grid_state(psvi_choice *choice);
psv_status psvi_grid_statistics(const psvi_choice *choice, psv_pair_statistics *statistics);

#endif
