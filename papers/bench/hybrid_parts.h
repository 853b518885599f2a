// Times of the parts of the hybrid sort of Sintorn & Assarsson on CUDA, which no public call shows.
#ifndef BENCH_HYBRID_PARTS_H
#define BENCH_HYBRID_PARTS_H

#include "pairsieve/sort.h"

#define HYBRID_PARTS 6

extern const char *const hybrid_part_names[HYBRID_PARTS];

// Sorts `runs` times and once before, by sort(user), which uses `sorter` (method «hybrid») and waits for it.
// ms[part * runs + run] gets the times. Errors: those of sort; PSV_ERROR_UNSUPPORTED in builds without CUDA.
psv_status hybrid_time_parts(psv_context *context, psv_sorter *sorter, psv_status (*sort)(void *user), void *user,
                             int runs, double *ms);

#endif
