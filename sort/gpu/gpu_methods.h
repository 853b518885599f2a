// The sorting methods in compute shaders, for the list in sorts_gpu.c, and shared parts of their host code.
#ifndef PAIRSIEVE_SORT_GPU_METHODS_H
#define PAIRSIEVE_SORT_GPU_METHODS_H

#include "../../core/gpu/gpu_backend.h"
#include "../src/sort_method.h"

extern const psvi_sort_method psvi_sort_radix_gpu;
extern const psvi_sort_method psvi_sort_radix4_gpu;
extern const psvi_sort_method psvi_sort_split_gpu;
extern const psvi_sort_method psvi_sort_hybrid_gpu;
extern const psvi_sort_method psvi_sort_bitonic_gpu;

extern const psvi_gpu_source psvi_glsl_radix_begin, psvi_glsl_radix_count, psvi_glsl_radix_count_serial,
    psvi_glsl_radix_count_private, psvi_glsl_radix_scatter_private, psvi_glsl_radix_scan_serial, psvi_glsl_radix_scan,
    psvi_glsl_radix_scatter, psvi_glsl_radix_scatter_serial, psvi_glsl_copy_words, psvi_glsl_split_sort,
    psvi_glsl_split_scatter, psvi_glsl_radix4_check, psvi_glsl_radix4_local, psvi_glsl_radix4_map,
    psvi_glsl_radix4_places, psvi_glsl_stage_elements, psvi_glsl_bitonic_tiles, psvi_glsl_bitonic_step,
    psvi_glsl_hybrid_range, psvi_glsl_hybrid_plan, psvi_glsl_hybrid_count, psvi_glsl_hybrid_move,
    psvi_glsl_hybrid_merge, psvi_glsl_gather_words, psvi_glsl_gather_records, psvi_glsl_check_order;

#define PSVI_GPU_MOST_PARTS 64u

// A sort's state in its scratch memory: flag, count, three words a part.
#define PSVI_GPU_STATE_BYTES ((uint64_t)4 * (2 + 3 * PSVI_GPU_MOST_PARTS))

// Where the digit passes of a request read and write. Passes go between two scratch arrays; the last one goes to where
// the result is wanted.
typedef struct psvi_gpu_pass {
    const char *keys, *values; // values: NULL without, and for implicit ones
    char *keys_out, *values_out;
    uint32_t shift, mask;
    bool first, implicit;
} psvi_gpu_pass;

// Pass `pass` of `passes` with digits of `digit_bits`; `keys` and `values`: two scratch arrays each.
psvi_gpu_pass psvi_gpu_pass_of(const psv_sorter *sorter, const psvi_sort_request *request, uint32_t pass,
                               uint32_t passes, uint32_t digit_bits, char *const keys[2], char *const values[2]);

// The key order as the first five parameters of a kernel.
void psvi_gpu_order_params(const psvi_key_order *order, uint32_t params[5]);

// The first eight parameters of a kernel of a pass: the key order, the digit, and the columns of a row of the table.
void psvi_gpu_pass_params(const psvi_key_order *order, const psvi_gpu_pass *pass, uint32_t row, uint32_t params[8]);

// "#define KEY_WORDS ..." and the other defines that all passes have.
void psvi_gpu_pass_defines(char *text, const psv_sorter *sorter, const psvi_sort_request *request,
                           const psvi_gpu_pass *pass, const char *more);

// Writes the state of a sort. `parts` parts of `tiles_a_part` tiles of `tile` elements.
psv_status psvi_gpu_begin_sort(psv_context *context, const psvi_sort_request *request, const void *state, uint32_t tile,
                               uint32_t tiles_a_part, uint32_t parts, bool check_order);

// Row sums and places of a table of `rows` rows of `row` columns; a column stands for `column_items` elements.
psv_status psvi_gpu_scan(psv_context *context, const void *state, const void *table, const void *totals, uint32_t rows,
                         uint32_t row, uint32_t column_items);

// What bounds a copy of elements.
typedef enum psvi_gpu_guard {
    PSVI_GPU_ALL,
    PSVI_GPU_COUNTED, // as many as the sort's state says
    PSVI_GPU_SORTED,  // these, when the sort found its input in order
    PSVI_GPU_GIVEN    // as many as the uint64_t says
} psvi_gpu_guard;

// Copies elements of `words` words, `count` at most; NULL `from`: writes their numbers. `state`: input of the guard.
psv_status psvi_gpu_copy_elements(psv_context *context, psvi_gpu_guard guard, const void *state, const char *from,
                                  char *to, uint32_t words, uint64_t count);

// After a sort that found its input sorted: copies the arrays that are not in place.
psv_status psvi_gpu_finish_sorted(psv_sorter *sorter, const psvi_sort_request *request, const void *state);

// After a sort of the elements' numbers: keys and values go to the places of `index`, by way of `moved`. That has
// room for the larger of both arrays. Input and output may be the same memory.
psv_status psvi_gpu_finish_by_number(psv_sorter *sorter, const psvi_sort_request *request, const void *state,
                                     const char *index, const char *moved);

// Of an argument that the sorting calls hand over: records, order, identity.
psv_status psvi_gpu_gather_records(psv_context *context, const void *source, void *target, uint32_t stride,
                                   const uint32_t *index, uint64_t count);
psv_status psvi_gpu_check_order(psv_context *context, psvi_key_order order, const void *keys, uint64_t count,
                                psv_order_result *result);
psv_status psvi_gpu_write_identity(psv_context *context, const psvi_sort_request *request);

// Runs `run` for every form of request that a sorter serves, compiling only: no call compiles later.
psv_status psvi_gpu_prepare(psv_sorter *sorter);

#endif
