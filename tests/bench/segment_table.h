// bench_sort --segments: segmented sorts of several shapes, beside CUB's on CUDA and qsort by segment on the CPU.
#ifndef SEGMENT_TABLE_H
#define SEGMENT_TABLE_H

#include <stdio.h>

#include "pairsieve/segment_sort.h"

typedef struct bench_segment_plan {
    psv_backend backend;
    int workers;
    uint64_t seed;
    double budget_ms; // for the repetitions of a row
    FILE *csv;        // NULL: none
    const char *commit;
} bench_segment_plan;

// False when a result was wrong.
bool bench_print_segments(const bench_segment_plan *plan);

#endif
