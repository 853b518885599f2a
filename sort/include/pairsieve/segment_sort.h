// pairsieve sort: many independent lists (segments) in one array, each sorted on its own, stable, on the CPU and on
// CUDA.
//
// Segments are given by their offsets, in memory of the context's backend: segment i is made of the elements
// [offsets[i], offsets[i + 1]). Any mix of lengths will do, empty segments too. Elements before the first offset and
// behind the last one stay as they are. Key types, order, NaN policy and bit ranges are those of sort.h, and so are the
// bytes of the result: each segment is what a stable sort makes of it.
//
// Offsets are checked where they are. If one is less than the one before it, or greater than the number of elements,
// nothing is written. psv_read_segments_status says which one it was. On the CPU the call itself returns that error.
//
// No call allocates after psv_create_segment_sorter. On CUDA no call blocks but psv_read_segments_status, and every
// other call can be captured in a graph.
#ifndef PAIRSIEVE_SEGMENT_SORT_H
#define PAIRSIEVE_SEGMENT_SORT_H

#include "pairsieve/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psv_segment_sorter psv_segment_sorter;

typedef struct psv_segment_sorter_def {
    uint32_t cookie;           // set by psv_default_segment_sorter_def
    psv_key_type key_type;     // default PSV_KEY_U32
    uint32_t value_bytes;      // the largest value size to be sorted: 0 (keys only), 4 (default) or 8
    uint64_t max_count;        // most elements of a call, 1 to 2^32-1; on CUDA 2^31 for 8-byte keys or values
    uint64_t max_segments;     // most segments of a call, 1 to 2^32-2
    bool descending;           // default false
    psv_nan_policy nan_policy; // default PSV_NAN_LAST
    uint32_t begin_bit;        // default 0
    uint32_t end_bit;          // default 0: all bits of the key. Otherwise begin_bit <= end_bit <= bits of the key
    psv_buffer scratch;        // memory to use, psv_segment_sorter_bytes at least; empty (default): of the context
} psv_segment_sorter_def;

psv_segment_sorter_def psv_default_segment_sorter_def(void);

// Scratch bytes that a sorter of this def needs; needs no context and no device. 0 when the def is not valid.
uint64_t psv_segment_sorter_bytes(psv_backend backend, const psv_segment_sorter_def *def);

// Errors: PSV_ERROR_ARGUMENT (a field out of range), PSV_ERROR_UNSUPPORTED (the OpenGL backend), PSV_ERROR_CAPACITY
// (scratch given too small), PSV_ERROR_MEMORY (the bytes), PSV_ERROR_DEVICE. Blocks.
psv_status psv_create_segment_sorter(psv_context *context, const psv_segment_sorter_def *def,
                                     psv_segment_sorter **sorter);

// NULL is allowed. Blocks (frees scratch memory).
void psv_destroy_segment_sorter(psv_segment_sorter *sorter);

// The segments of a call, in memory of the context's backend.
typedef struct psv_segments {
    psv_buffer offsets;      // count + 1 u32, aligned to 4 bytes. Unchanged
    uint64_t count;          // of segments, at most def.max_segments; with device_count the most there can be
    psv_buffer device_count; // empty, or one u64: how many segments there are. More than `count` is taken as `count`
} psv_segments;

// Sorts each segment of `keys` in place, and `values` with them.
// keys: `count` keys; values: `count` values of def.value_bytes; each aligned to its element, the two apart.
// segments->count of 0 is a no-op. Errors: PSV_ERROR_ARGUMENT (a buffer too small, misaligned, NULL or not on
// the context's device; on the CPU also offsets that are not in order or beyond `count`), PSV_ERROR_CAPACITY (count
// over def.max_count, segments over def.max_segments), PSV_ERROR_DEVICE.
psv_status psv_sort_segments(psv_segment_sorter *sorter, psv_buffer keys, psv_buffer values, uint64_t count,
                             const psv_segments *segments);

// Sorts the keys alone. Works on a sorter of any value_bytes. Errors: those of psv_sort_segments.
psv_status psv_sort_segments_keys(psv_segment_sorter *sorter, psv_buffer keys, uint64_t count,
                                  const psv_segments *segments);

// Argsort by segment: index[offsets[i] + k] is the place within segment i (u32, from 0) of its key of rank k. `keep`
// says what is left in `keys`. Needs def.value_bytes >= 4. Errors: those of psv_sort_segments.
psv_status psv_sort_segments_index(psv_segment_sorter *sorter, psv_buffer keys, psv_buffer index, uint64_t count,
                                   const psv_segments *segments, psv_index_keys keep);

// PSV_OK when the offsets of the last call were good, or before any call; otherwise PSV_ERROR_ARGUMENT, and
// psv_last_error names the segment. After launches of a graph: of the last launch. Blocks on CUDA. Other errors:
// PSV_ERROR_DEVICE.
psv_status psv_read_segments_status(psv_segment_sorter *sorter);

#ifdef __cplusplus
}
#endif
#endif
