// Times of the parts of the papers' sorters, which no public call shows.
#ifndef BENCH_SORT_PARTS_H
#define BENCH_SORT_PARTS_H

#include "pairsieve/sort.h"

#define HYBRID_PARTS 6 // of «hybrid»: Sintorn & Assarsson
#define SPLIT_PARTS 3  // of each pass of «split» in compute shaders: García et al.
#define SPLIT_DIGIT_BITS 4

extern const char *const hybrid_part_names[HYBRID_PARTS], *const split_part_names[SPLIT_PARTS];

// Sorts `runs` times and once before, by sort(user), which uses `sorter` and waits for it. The sorter marks the end of
// each of `parts` parts in `passes` passes. ms[part * runs + run] gets the time of a part in all passes. Errors: those
// of sort, PSV_ERROR_MEMORY.
psv_status sort_time_parts(psv_context *context, psv_sorter *sorter, uint32_t parts, uint32_t passes,
                           psv_status (*sort)(void *user), void *user, int runs, double *ms);

#endif
