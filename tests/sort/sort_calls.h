// What tests of sorters share: the forms of a call, arrays with what a call must leave in them, and buffers with guard
// bytes behind their contents. What fails ends the test with `what`.
#ifndef SORT_CALLS_H
#define SORT_CALLS_H

#include <stddef.h>

#include "../cases/sort_inputs.h"
#include "pairsieve/segment_sort.h"

typedef enum sort_form {
    FORM_PAIRS,
    FORM_KEYS,
    FORM_INDEX_SORTED,
    FORM_INDEX_KEPT,
    FORM_INDEX_UNDEFINED,
    FORM_COUNT
} sort_form;

// Bytes behind every buffer that no call may write.
#define GUARD_BYTES 256u

// A number below `bound`.
uint32_t random_below(uint64_t *state, uint32_t bound);

// Memory for `bytes`; fails the test where there is none. For free().
void *grab(size_t bytes);

// What a call gets, and what it must leave.
typedef struct sort_arrays {
    size_t key_bytes, value_bytes; // value_bytes: of the values of the form
    unsigned char *keys, *values, *sorted_keys, *sorted_values;
} sort_arrays;

// Arrays of `count` elements, not filled. `value_bytes`: of the sorter.
sort_arrays allocate_arrays(psv_key_type type, sort_form form, uint32_t value_bytes, size_t count);

// The sorted arrays become copies of what the call gets.
void expect_unchanged(sort_arrays *arrays, size_t count);

// The elements begin to begin + length are to come in this order.
void expect_order(sort_arrays *arrays, sort_form form, size_t begin, const uint32_t *order, size_t length);

void release_arrays(sort_arrays *arrays);

// A buffer of `bytes` of contents (NULL: of guard bytes), with `spare` + GUARD_BYTES guard bytes behind them.
psv_buffer make_guarded(psv_context *context, const void *contents, size_t bytes, size_t spare, const char *what);

// Compares a buffer with what it must hold (NULL: anything), and what lies behind it with the guard.
void compare_guarded(psv_context *context, psv_buffer buffer, const void *expected, size_t bytes, size_t spare,
                     size_t element_bytes, const char *name, const char *what);

// A buffer with a number of 64 bits, as calls with a count in the backend's memory take it.
psv_buffer make_count(psv_context *context, uint64_t count, const char *what);

// The call of this form. `device_count`: where the count lies; NULL: the call gets `count`.
psv_status call_sorter(psv_sorter *sorter, sort_form form, psv_buffer keys, psv_buffer values, uint64_t count,
                       const psv_buffer *device_count);
psv_status call_segment_sorter(psv_segment_sorter *sorter, sort_form form, psv_buffer keys, psv_buffer values,
                               uint64_t count, const psv_segments *segments);

#endif
