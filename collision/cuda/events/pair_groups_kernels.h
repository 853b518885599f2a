// Begin and end events of pairs that need no order: the pairs of a frame are grouped by their first box, in ascending
// order, and compared with the groups of the frame before.
#ifndef PAIRSIEVE_COLLISION_PAIR_GROUPS_KERNELS_H
#define PAIRSIEVE_COLLISION_PAIR_GROUPS_KERNELS_H

#include <cuda_runtime_api.h>

#include "../../src/broad_phase.h"
#include "../broad_phase_tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PSVI_GROUP_BEGINS = 0, PSVI_GROUP_ENDS = 1, PSVI_GROUP_SCAN = 2, PSVI_GROUP_CHAINS = 3 };

#define GROUP_SCAN_TILE (8 * PSVI_BLOCK_THREADS) // boxes whose counts a block adds up at a time: 8 a thread

// What is grouped: the frame's pairs, to be compared; or the last list once more, without or with the pairs of kept
// boxes, where it is not so already.
typedef enum psvi_group_task { PSVI_GROUP_FIND, PSVI_GROUP_SHORTEN, PSVI_GROUP_WIDEN } psvi_group_task;

// Zero at the beginning.
typedef struct psvi_group_control {
    uint32_t epoch;       // tasks so far
    uint32_t latest;      // which of the two lists has the last frame that did not overflow
    uint32_t now;         // and which one gets this task's pairs
    uint32_t done;        // it becomes the latest
    uint32_t long_rows;   // boxes with more than GROUP_WARP_ROW pairs
    uint32_t counts[2];   // pairs of the lists
    uint32_t left_out[2]; // psvi_changes.serial of the kept boxes whose pairs the list lacks; 0: it has all pairs
    uint32_t serials[2];  // that of the list's frame
    uint32_t sizes[2];    // pairs that are looked at: of this frame, of the one before; 0 after an overflow
    uint32_t tickets[PSVI_GROUP_CHAINS];
} psvi_group_control;

typedef struct psvi_group_memory {
    psvi_group_control *control;
    uint32_t *box_counts; // of each box: its pairs as first box; zero between frames
    uint32_t *starts[2];  // of each box, and the end: its place in the list
    uint64_t kept_bytes;  // of all these, which come first
    uint32_t *bits;       // of each block: one bit for each box, zero between rows
    uint64_t *states[PSVI_GROUP_CHAINS];
    uint64_t zero_bytes; // of all these
    uint32_t *long_rows;
    psv_pair *lists[2];
    uint64_t bytes;                 // of all
    uint32_t bit_blocks, bit_words; // words of a block
} psvi_group_memory;

void psvi_lay_out_groups(void *base, uint64_t capacity, uint64_t boxes, psvi_group_memory *memory);
cudaError_t psvi_launch_groups(psvi_group_task task, const psvi_changes *changes, const psvi_group_memory *memory,
                               int multiprocessors, bool early, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
