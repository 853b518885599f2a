// The table that a backend fills in for segmented sorts, and the call that it is given.
#ifndef PAIRSIEVE_SEGMENT_METHOD_H
#define PAIRSIEVE_SEGMENT_METHOD_H

#include "pairsieve/segment_sort.h"
#include "sort_method.h"

#ifdef __cplusplus
extern "C" {
#endif

// One call, checked by segment_sort.c but for the offsets themselves. There is one segment or more.
typedef struct psvi_segment_request {
    void *keys;
    void *values;         // NULL with value_bytes 0
    uint32_t value_bytes; // 0, 4 or 8 for this call
    bool implicit_index;  // values are 0, 1, 2, ... in each segment: `values` is not read
    psv_index_keys keep;  // what `keys` holds afterwards
    uint64_t count;       // elements
    const uint32_t *offsets;
    uint64_t segments;               // with segments_device the most there can be
    const uint64_t *segments_device; // NULL, or the number of segments in the backend's memory
} psvi_segment_request;

typedef struct psvi_segment_ops {
    uint64_t (*scratch_bytes)(const psv_segment_sorter_def *def);
    psv_status (*create)(psv_segment_sorter *sorter); // optional
    void (*destroy)(psv_segment_sorter *sorter);      // optional
    psv_status (*run)(psv_segment_sorter *sorter, const psvi_segment_request *request);
    // Writes the first segment with bad offsets in the last call, or UINT64_MAX. May block.
    psv_status (*read_bad)(psv_segment_sorter *sorter, uint64_t *bad);
} psvi_segment_ops;

struct psv_segment_sorter {
    uint32_t cookie;
    psv_context *context;
    psv_segment_sorter_def def; // end_bit resolved
    const psvi_segment_ops *ops;
    psvi_key_order order;
    struct psvi_word_segments *words; // word_segments.c, for keys of 8, 16 and 128 bits. NULL: keys as they are
    void *scratch;                    // 256-byte aligned, ops->scratch_bytes(&def) or psvi_word_segments_bytes
    uint64_t scratch_bytes;
    bool owns_scratch;
    bool idle;   // no call yet, or the last one had no segments
    void *state; // the backend's own
};

// Sets the error of a segment whose offsets are not in order or beyond the elements. Returns PSV_ERROR_ARGUMENT.
psv_status psvi_fail_segment(psv_segment_sorter *sorter, uint64_t segment);

extern const psvi_segment_ops psvi_segments_cpu, psvi_segments_cuda; // those that this build has

#ifdef __cplusplus
}
#endif
#endif
