// All methods on the input of one frame, timed beside each other: sorters on the keys of its bodies, broad phases on
// its boxes. The simulation does not notice: everything runs on a context of its own, on copies or on what is only
// read.
#ifndef PAIRSIEVE_VIEW_COMPARE_H
#define PAIRSIEVE_VIEW_COMPARE_H

#include "../render/depth_order.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VIEW_MOST_METHODS 16
#define VIEW_SLOW_BODIES 20000u // above, no test of all pairs

typedef struct view_timed {
    const char *name;
    double ms;       // median of some runs after a first one
    uint64_t result; // pairs; of sorters 1 where the order is that of the first one
    char note[96];   // why there is no time; empty: there is one
} view_timed;

typedef struct view_comparison {
    view_timed methods[VIEW_MOST_METHODS];
    uint32_t count;
    uint64_t frame, elements;
    double best_ms; // of those that have a time
} view_comparison;

// Sorters with a permutation, on a 32-bit key a body: row and place within it (view_row_key). Blocks.
bool view_time_sorts(view_order *order, psv_world *world, const float row_origin[4], view_comparison *comparison,
                     view_message *message);

// Broad phases on the boxes of the last step, with the sorting method of the name. Blocks.
bool view_time_broad_phases(view_order *order, psv_world *world, const char *sort_method, view_comparison *comparison,
                            view_message *message);

#ifdef __cplusplus
}
#endif
#endif
