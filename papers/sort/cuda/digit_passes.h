// What the digit-by-digit sorters of the papers (radix4, split) share: two buffers that the passes move keys and u32
// values between, and the last step that brings the result to where the request wants it.
//
// These sorters move keys with u32 values. 8-byte values are sorted as an index and then gathered once, which is the
// record sort of Ha et al. (section 4.7).
#ifndef PAIRSIEVE_SORT_DIGIT_PASSES_H
#define PAIRSIEVE_SORT_DIGIT_PASSES_H

#include "../../../sort/src/sort_method.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psvi_digit_passes {
    void *keys[2];       // pass p moves from [p % 2] to the other
    uint32_t *values[2]; // NULL for keys alone
    bool implicit;       // the first pass takes 0, 1, 2, ... for the values instead of reading values[0]
    uint64_t count;
    const uint64_t *count_device;
    uint32_t *values_target; // where the sorted u32 values go
} psvi_digit_passes;

// Scratch that the buffers take for the sorter's def.
uint64_t psvi_digit_passes_bytes(const psv_sorter_def *def);

// Chooses the buffers out of the request's own and `scratch`.
psv_status psvi_begin_digit_passes(psv_sorter *sorter, const psvi_sort_request *request, void *scratch,
                                   psvi_digit_passes *passes);

// After the last of `pass_count` passes. flags: NULL, or one u32 per pass in device memory; a pass ran when its flag is
// not 0, and no pass ran after one that did not.
psv_status psvi_end_digit_passes(psv_sorter *sorter, const psvi_sort_request *request, void *scratch,
                                 const psvi_digit_passes *passes, const uint32_t *flags, uint32_t pass_count);

// The move behind it (digit_settle.cu).
psv_status psvi_settle_digit_passes(psv_context *context, const psvi_digit_passes *passes, void *keys_target,
                                    uint32_t key_bytes, const uint32_t *flags, uint32_t pass_count);

#ifdef __cplusplus
}
#endif
#endif
