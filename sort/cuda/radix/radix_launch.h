// The kernels of the CUDA `radix` method, as launch functions for method_radix.c.
#ifndef PAIRSIEVE_RADIX_LAUNCH_H
#define PAIRSIEVE_RADIX_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../src/key_order.h"
#include "radix_format.h"
#include "radix_route.h"

#ifdef __cplusplus
extern "C" {
#endif

// One digit pass as decided on the device. Inactive passes move nothing. Between passes, pairs of equal halves are
// packed in one array (`packed`), because half as many, longer runs are then written; others stay in two arrays.
typedef struct psvi_radix_pass {
    const void *keys_in; // packed: the pairs
    void *keys_out;      // NULL: keys are not wanted after the last pass
    const void *values_in;
    void *values_out;
    uint32_t active;
    uint32_t first, last; // reads the request's arrays, writes them; else the sorter's memory
    uint32_t copy;        // moves the items as they are, whatever their digits
    uint32_t number;      // of the active passes: 0, 1, ...
    uint32_t crowded;     // one digit is that of a third of the items or more
} psvi_radix_pass;

// What a large sort knows of nearly sorted input (radix_windows.cuh).
enum { PSVI_RADIX_NEARLY_NO = 0, PSVI_RADIX_NEARLY_MAYBE = 1, PSVI_RADIX_NEARLY_DONE = 2 };

// How the last call went, for psv_read_sort_statistics. Written by the kernel that has sorted.
typedef struct psvi_radix_outcome {
    uint32_t passes_run, passes_skipped;
    uint32_t route, veto; // psvi_radix_route, psvi_radix_veto
} psvi_radix_outcome;

// Kernels of the same call that ran before one, bits of psvi_radix_job.before. They tell in psvi_radix_control.done
// whether they have sorted.
enum {
    PSVI_RADIX_AFTER_WINDOWS = 1,
    PSVI_RADIX_AFTER_ORDER = 2,
    PSVI_RADIX_AFTER_ROUNDS = 4,
    PSVI_RADIX_AFTER_CHUNKS = 8
};

// State of a sorter on the device, by what uses it. Everything marked (0) is zero between calls: the kernel that used
// it clears it, so that no call needs a memset.

// PASSES and its variants.
typedef struct psvi_radix_passes_memory {
    uint32_t histogram[8][PSVI_RADIX_DIGITS]; // (0)
    // First place of a digit; on a multiple of 16 bytes.
    uint32_t bases[PSVI_RADIX_MAX_SLOTS][PSVI_RADIX_MAX_PORTIONS + 1][PSVI_RADIX_DIGITS];
    uint32_t tile_counter[PSVI_RADIX_MAX_SLOTS][PSVI_RADIX_MAX_PORTIONS];
    uint32_t scattered; // (0) some key is greater than that 64 places on
    uint32_t many;      // (0) there are other keys than those of radix_values.cuh
    psvi_radix_pass plan[PSVI_RADIX_MAX_SLOTS];
} psvi_radix_passes_memory;

// WINDOWS.
typedef struct psvi_radix_windows_memory {
    uint32_t state;     // PSVI_RADIX_NEARLY_...: of the last call
    uint32_t wrong;     // (0) the result is not in order
    uint32_t unordered; // (0) the input was not
} psvi_radix_windows_memory;

// RESIDENT.
typedef struct psvi_radix_resident_memory {
    // Counts of blocks, for even and odd exchanges; the one to be used next is (0).
    uint64_t matrix[2][PSVI_RADIX_RESIDENT_BLOCKS][PSVI_RADIX_ROW_WORDS];
    uint32_t flags[PSVI_RADIX_RESIDENT_BLOCKS]; // the exchange after which the block has written all its items
    uint32_t sequence;                          // exchanges so far, in all calls
} psvi_radix_resident_memory;

typedef struct psvi_radix_control {
    psvi_radix_passes_memory passes;
    psvi_radix_windows_memory windows;
    uint32_t ticket;    // (0) blocks that have finished, of the histogram, of WINDOWS or of IN_ORDER
    uint32_t unordered; // (0) some key is greater than its successor: found by the histogram or by IN_ORDER
    psvi_radix_outcome outcome;
    uint32_t done; // a kernel of psvi_radix_job.before has sorted
    uint32_t veto; // why it has not
    psvi_radix_resident_memory resident;
} psvi_radix_control;

// One sort: the request with the sorter's memory.
typedef struct psvi_radix_job {
    const void *keys_in;
    void *keys_out; // may be keys_in or NULL
    const void *values_in;
    void *values_out;    // may be values_in
    void *keys_spare[2]; // with values_spare right behind each. [1] may be NULL with one or two digits
    void *values_spare[2];
    uint32_t *states; // two arrays of [tile][digit] for the chained scan
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
    uint32_t before;      // kernels that ran before, PSVI_RADIX_AFTER_...
    uint32_t veto;        // psvi_radix_veto of the host, where no kernel ran before
    uint32_t tiles;       // of the digit passes, psvi_radix_tiles
    uint32_t *order_seen; // in memory that the host sees: PSVI_RADIX_ORDER_...; NULL: not wanted
    uint32_t order_known; // what was there when the job was made
    uint32_t early;       // kernels may come to the device while the one before still ends
    uint32_t zero;        // see forget() in radix_device.cuh
} psvi_radix_job;

// One block sorts at most PSVI_RADIX_THREADS * PSVI_RADIX_BLOCK_ITEMS items. One launch.
cudaError_t psvi_radix_block(const psvi_radix_job *job, cudaStream_t stream);

// Blocks of the cluster that psvi_radix_cluster can run on this device: 16 or 8; 0 where there are no clusters.
uint32_t psvi_radix_cluster_blocks(void);

// One launch of one cluster; blocks * PSVI_RADIX_THREADS * PSVI_RADIX_CLUSTER_ROWS items at most.
cudaError_t psvi_radix_cluster(const psvi_radix_job *job, uint32_t blocks, cudaStream_t stream);

// One cooperative launch; every block takes PSVI_RADIX_RESIDENT_THREADS * items, and no more blocks than fit on the
// device at once. items is one of PSVI_RADIX_RESIDENT_ITEMS, at most
// PSVI_RADIX_RESIDENT_MAX_ITEMS.
cudaError_t psvi_radix_resident32(const psvi_radix_job *job, uint32_t items, cudaStream_t stream); // 32-bit keys
cudaError_t psvi_radix_resident64(const psvi_radix_job *job, uint32_t items, cudaStream_t stream); // 64-bit keys

// Sorts nearly sorted input by windows (radix_windows.cuh). 32-bit keys, at most PSVI_RADIX_WINDOWS_MOST. One launch.
// psvi_radix_passes has to run behind it: it brings a sort in place to its end, or sorts what was not nearly sorted.
// psvi_radix_rounds may run between them.
cudaError_t psvi_radix_windows(const psvi_radix_job *job, cudaStream_t stream);

// Finds out whether the input is in order (radix_order.cuh). 32-bit keys, at most PSVI_RADIX_WINDOWS_MOST. One launch.
// psvi_radix_passes has to run behind it, or psvi_radix_resident32 for a sort in place.
cudaError_t psvi_radix_check_order(const psvi_radix_job *job, cudaStream_t stream);

// Histogram of all digits; nearly sorted input by windows; then one chained pass for each slot (and portion).
cudaError_t psvi_radix_passes(const psvi_radix_job *job, cudaStream_t stream);

// The same with small tiles, for devices with little shared memory.
cudaError_t psvi_radix_passes_compact(const psvi_radix_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
