// The kernels of the CUDA `radix` method, as launch functions for radix.c.
#ifndef PAIRSIEVE_RADIX_H
#define PAIRSIEVE_RADIX_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "../src/key_order.h"
#include "radix_tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

// One digit pass as decided on the device. Inactive passes move nothing.
typedef struct psvi_radix_pass {
    const void *keys_in;
    void *keys_out; // NULL: keys are not wanted after the last pass
    const void *values_in;
    void *values_out;
    uint32_t active;
    uint32_t implicit; // values_in is 0, 1, 2, ...
    uint32_t copy;     // moves the items as they are, whatever their digits
    uint32_t step;     // which active pass this is
} psvi_radix_pass;

// State of a sorter on the device, in memory of its own. Everything marked (0) is zero between calls: the kernel that
// used it clears it, so that no call needs a memset.
typedef struct psvi_radix_control {
    uint32_t histogram[8][PSVI_RADIX_DIGITS]; // (0)
    uint32_t ticket;                          // (0) blocks that have finished the histogram
    uint32_t unordered;                       // (0) some key is greater than its successor
    uint32_t tile_counter[PSVI_RADIX_MAX_SLOTS][PSVI_RADIX_MAX_PORTIONS];
    uint32_t bases[PSVI_RADIX_MAX_SLOTS][PSVI_RADIX_MAX_PORTIONS + 1][PSVI_RADIX_DIGITS]; // first place of a digit
    psvi_radix_pass passes[PSVI_RADIX_MAX_SLOTS];
    uint32_t passes_run, passes_skipped; // of the last call
} psvi_radix_control;

// One sort: the request with the sorter's memory.
typedef struct psvi_radix_job {
    const void *keys_in;
    void *keys_out; // may be keys_in or NULL
    const void *values_in;
    void *values_out;      // may be values_in
    void *keys_spare[2];   // [1] may be NULL
    void *values_spare[2]; // [1] may be NULL
    uint32_t *states;      // two arrays of [tile][digit] for the chained scan
    psvi_radix_control *control;
    const uint64_t *count_device;
    const uint32_t *histograms;
    uint64_t count;
    psvi_key_order order;
    uint32_t value_bytes;
    uint32_t slots; // digits, and one more where 1-digit keys are sorted in place
    uint32_t implicit;
    uint32_t keep_keys_in;
    uint32_t order_check;
    uint32_t likely_sorted;
    uint32_t multiprocessors;
} psvi_radix_job;

// One block sorts at most psvi_radix_tiny_items() items. One launch.
cudaError_t psvi_radix_tiny(const psvi_radix_job *job, cudaStream_t stream);

// Histogram of all digits, then one chained pass for each slot (and portion).
cudaError_t psvi_radix_large(const psvi_radix_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
