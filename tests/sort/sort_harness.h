// Runs one sorting case on every method of a backend and compares with the reference, byte by byte.
#ifndef SORT_HARNESS_H
#define SORT_HARNESS_H

#include "../device_profiles.h"
#include "sort_calls.h"

typedef struct sort_case {
    psv_sorter_def def; // method and max_count are set by the harness
    key_distribution distribution;
    sort_form form;
    uint32_t count;
    bool indirect;    // the count lies in the backend's memory; the sorter's max_count is larger
    bool histograms;  // give the digit counts as a hint, to methods that take them
    bool own_scratch; // the sorter uses memory of the caller, not aligned
    bool every_time;  // not thinned out
    int worker_count; // CPU; 0: all
} sort_case;

typedef struct sort_harness {
    psv_backend backend;
    const device_profile *device; // that the CUDA device is taken for; NULL: as it is
    uint32_t every;               // only every Nth case; 0: all
    uint32_t part, parts;         // of so many parts of the cases only this one; parts 0: all
    const char *only_method;      // NULL: all
    uint64_t seed, largest;       // largest: of the big sorts
    psv_context *contexts[9];     // by worker count
    uint64_t runs, refusals, cases, large_cases, asked;
} sort_harness;

// The context for a worker count; fails the test when there is none.
psv_context *harness_context(sort_harness *harness, int worker_count);

// Runs the case on all methods that serve it; fails the test on the first difference.
void run_sort_case(sort_harness *harness, const sort_case *test);

void close_harness(sort_harness *harness);

#endif
