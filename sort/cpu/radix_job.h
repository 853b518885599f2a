// What the workers of one CPU radix sort share and know.
#ifndef PAIRSIEVE_RADIX_JOB_H
#define PAIRSIEVE_RADIX_JOB_H

#include "../../core/cpu/workers.h"
#include "radix_elements.h"
#include "radix_kernels.h"
#include "sort_cpu_tuning.h"

typedef enum radix_plan { PLAN_SORTED, PLAN_CACHED, PLAN_SPLIT, PLAN_PASSES } radix_plan;

#define NO_CROWD UINT32_MAX

// Memory of one worker.
typedef struct radix_worker {
    _Alignas(64) uint32_t counts[RADIX_MAX_DIGITS];
    uint32_t begins[RADIX_MAX_DIGITS];
    _Alignas(64) uint64_t block[2 * RADIX_BLOCK];
    psvi_radix_scan scan;
    uint64_t equal; // keys that are job->crowd_key
    // radix_near.c
    uint32_t near_far;                            // elements far from where they belong, in this worker's part
    bool near_failed;                             // its part is not nearly in order
    uint64_t near_place, near_skipped, near_mine; // where its buckets begin; far elements before them, and in them
} radix_worker;

// All workers read it within a stage; it changes between stages only.
typedef struct radix_job {
    const psvi_sort_request *request;
    psv_sorter *sorter;
    uint64_t count;
    void *a, *b; // max_count elements each
    radix_worker *workers;
    uint32_t team;   // workers, each with its part of the input
    psvi_crew *crew; // runs the stages
    psvi_radix_format format;
    const psvi_radix_kernels *kernels;
    radix_plan plan;
    bool near;            // the input may be nearly sorted (radix_near.c)
    bool gather;          // the elements hold positions: raw keys and values are gathered in the end
    uint32_t low, high;   // bits of KEY in which elements differ: [low, high)
    uint32_t shift, bits; // digit of the split, or of the pass
    uint32_t next_bucket; // atomic
    uint32_t crowd;       // bucket most of whose keys are crowd_key; NO_CROWD: none
    uint64_t crowd_key;   // as KEY of an element
    void *from, *to;      // of a digit pass
    void *sorted;         // the elements in order, for a gather or after passes
    const void *raw_from; // a gather's keys or values
    void *raw_to;
    uint32_t raw_bytes;
} radix_job;

static inline uint64_t psvi_radix_part(const radix_job *job, uint32_t worker) {
    return job->count * worker / job->team;
}

// Stores a sorted bucket at `begin` of the output; out of the last-level cache block by block and around the cache.
// psvi_stream_end after the last.
void psvi_radix_store_bucket(const radix_job *job, radix_worker *worker, const char *sorted, uint64_t begin,
                             uint64_t count);

// Bits to look at beyond log2(count), see radix_kernels.h.
uint32_t psvi_radix_spare_bits(psvi_key_order order, bool split);

#endif
