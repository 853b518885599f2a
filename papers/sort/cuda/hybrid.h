// Kernels of the hybrid sort of Sintorn & Assarsson: bucket sort, then vector merge sort.
#ifndef PAIRSIEVE_SORT_HYBRID_H
#define PAIRSIEVE_SORT_HYBRID_H

#include "../../../core/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_HYBRID_MOST_BUCKETS 8192

// Parts of the sort, for the benchmark that prints the paper's Figure 9: where sorter->state is not NULL it points to
// PSVI_HYBRID_PARTS + 1 events of the context's backend, recorded around them.
#define PSVI_HYBRID_PARTS 6
#define PSVI_HYBRID_PART_NAMES                                                                                         \
    {                                                                                                                  \
        "stage (and shuffle)", "range, histogram, pivots", "count per bucket", "reposition", "vector merge sort",      \
            "compact and finish"                                                                                       \
    }

// What the device decides and the host never waits for.
typedef struct psvi_hybrid_state {
    uint64_t min, max;     // of the fields
    uint32_t even;         // the pivots divide the input well enough: no further refinement
    uint32_t merge_passes; // that the longest sublist needs
} psvi_hybrid_state;

// Arrays of one sort, all in device memory. «Slots» are places in the bucket sort's output, where every sublist starts
// at a multiple of four.
typedef struct psvi_hybrid_data {
    uint32_t field_bytes; // of fields: 4 or 8
    uint64_t count;
    const uint64_t *count_device;
    uint32_t buckets;
    void *fields; // the input; gets the result
    uint32_t *index;
    void *slot_fields[2]; // merged from one to the other
    uint32_t *slot_index[2];
    uint64_t slots;  // at most: count + 3 per bucket
    uint32_t *place; // of an element in its sublist
    uint16_t *bucket;
    uint64_t *edges[2];  // buckets + 1 each: sublist b has fields from edges[b] to below edges[b + 1]
    uint32_t *histogram; // buckets
    uint32_t *sizes;     // buckets
    uint32_t *starts;    // buckets + 1: first slot of each sublist
    uint32_t *ranks;     // buckets + 1: place of each sublist in the result
    psvi_hybrid_state *state;
} psvi_hybrid_data;

// fields_from/index_from to data->fields/index in a pseudo-random order.
psv_status psvi_hybrid_shuffle(psv_context *context, const psvi_hybrid_data *data, const void *fields_from,
                               const uint32_t *index_from);

// Minimum, maximum, histogram, and the first pivots from it, into edges[0].
psv_status psvi_hybrid_first_pivots(psv_context *context, const psvi_hybrid_data *data);

// Counts the elements per bucket, with the place of each, for the pivots in edges[which].
psv_status psvi_hybrid_count(psv_context *context, const psvi_hybrid_data *data, uint32_t which);

// Unless the sizes are even: new pivots from them, edges[which] to edges[1 - which]. A later count with which or 1 -
// which does nothing once the sizes are even.
psv_status psvi_hybrid_refine(psv_context *context, const psvi_hybrid_data *data, uint32_t which);

// Moves the elements to their sublists in slot_fields[0] and slot_index[0].
psv_status psvi_hybrid_reposition(psv_context *context, const psvi_hybrid_data *data);

// Sorts each group of four slots; then merges runs of `run` slots, pass after pass from slot_fields[pass % 2].
psv_status psvi_hybrid_sort_vectors(psv_context *context, const psvi_hybrid_data *data);
psv_status psvi_hybrid_merge(psv_context *context, const psvi_hybrid_data *data, uint32_t pass, uint64_t run);

// Takes the padding out: slots to fields and index.
psv_status psvi_hybrid_compact(psv_context *context, const psvi_hybrid_data *data);

#ifdef __cplusplus
}
#endif
#endif
