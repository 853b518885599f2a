// The device memory and the launchers of the `lbvh` method.
//
// Leaves are boxes in the order of their keys, and the tree is implicit, as that of a linear psv_tree. Run i of level h
// is the box around leaves [i 8^h, (i + 1) 8^h). Its nodes are plain boxes here: to be searched once each, they do not
// pay for the grids and slots that serve rays.
#ifndef PAIRSIEVE_COLLISION_LBVH_KERNELS_H
#define PAIRSIEVE_COLLISION_LBVH_KERNELS_H

#include <cuda_runtime_api.h>

#include "../../core/carver.h"
#include "../src/broad_phase.h"
#include "broad_phase_tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_LBVH_LEVELS 10    // of boxes, leaves included: a level of at most 32 runs is among them for 2^31 leaves
#define PSVI_LBVH_CLASS_BITS 3 // of a key
#define PSVI_LBVH_CLASSES (1 << PSVI_LBVH_CLASS_BITS)

// Key: [takes no part | world | size class | place]. Boxes far larger or smaller than usual are sorted apart, so that
// large ones do not blow up the runs of small ones. The place is that on a Hilbert curve through the box around the
// boxes of the class. Where sizes go with the place, the small ones lie in a small part of the scene. Axes that are
// longer are halved before, until all have as many bits left: a line gets its bits as a plain coordinate.
typedef struct psvi_lbvh_plan {
    uint64_t slots; // boxes of both sets: the count that the sorter reads
    float up;       // coordinates are multiplied by this
    float low[PSVI_LBVH_CLASSES][3];
    float inverse[PSVI_LBVH_CLASSES][3]; // 2^bits cells over the extent of the class
    uint32_t bits[3];                    // of each axis
    uint32_t curve_bits;                 // of each axis on the curve
    uint32_t halvings;                   // before it
    uint8_t axes[32], shifts[32];
    float class_sizes[PSVI_LBVH_CLASSES - 1]; // the largest of a class
    uint8_t order[PSVI_LBVH_CLASSES];         // of the classes in the key
    uint64_t boxes;                           // leaves
    uint64_t parts;                           // of long searches in the queue, before it is clamped to its room
    uint32_t done;                            // blocks that have searched the parts of a query
    uint32_t top;                             // the lowest level with at most 32 runs: searches begin with all of these
} psvi_lbvh_plan;

// A part of a long search: a group of 32 leaves against leaves [first, end). In a query `name` is a box's slot.
typedef struct psvi_lbvh_part {
    uint32_t name, first, end;
} psvi_lbvh_part;

typedef struct psvi_lbvh_memory {
    psvi_lbvh_plan *plan;
    uint32_t *keys;                   // one per slot, sorted in place
    uint32_t *order;                  // sorting permutation
    float *boxes;                     // 8 floats each: min and, of leaves, slot; max and tag
    uint64_t start[PSVI_LBVH_LEVELS]; // of each level's boxes in it
    uint32_t *tickets;                // blocks, then blocks of runs, that are done
    psvi_lbvh_part *parts;
    uint32_t room; // slots that the arrays hold
    uint32_t part_room;
    uint32_t ticket_room;
    uint32_t place_bits, world_bits, world_shift; // of the key; places with their size classes
} psvi_lbvh_memory;

#define PSVI_LBVH_DIGITS 256u // of a pass of the sort in psvi_launch_lbvh_at_once,
#define PSVI_LBVH_PASSES 4u   // of which there are so many
#define PSVI_LBVH_STEPS 16u   // of that launch, passes included
#define PSVI_LBVH_TILE 4096u  // slots that a block sorts at a time

#define PSVI_LBVH_PLANNED 2u // see psvi_lbvh_at_once.wanted

// How far the blocks of psvi_launch_lbvh_at_once are; all zero when it begins.
typedef struct psvi_lbvh_progress {
    uint32_t taken[PSVI_LBVH_STEPS], done[PSVI_LBVH_STEPS]; // tasks of each step
} psvi_lbvh_progress;

// What that launch needs besides: it sorts by itself. `keys` and `order` of the memory lie in `pairs[0]`.
typedef struct psvi_lbvh_at_once {
    psvi_lbvh_memory memory;
    psvi_lbvh_progress *progress;
    void *pairs[2];     // key and slot, of 8 bytes, by turns
    uint32_t *counts;   // boxes of each digit in each tile: a row a digit
    uint32_t tile_room; // numbers of a row, a multiple of 128
    // The launch does nothing unless this is not zero. PSVI_LBVH_PLANNED: the plan is there already. NULL: it does all.
    const uint32_t *wanted;
    const uint32_t *begun, *ended; // NULL, or blocks whose sweep has begun and ended, where that is in the same launch
    uint32_t route, veto;          // for the frame's result
} psvi_lbvh_at_once;

cudaError_t psvi_launch_lbvh_keys(const psvi_find_input *input, const psvi_lbvh_memory *memory, cudaStream_t stream);
// Leaves and runs.
cudaError_t psvi_launch_lbvh_build(const psvi_find_input *input, const psvi_lbvh_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_lbvh_walk(const psvi_find_input *input, const psvi_lbvh_memory *memory, int multiprocessors,
                                  cudaStream_t stream);
// Boxes from slot `first` on against those of the tree, see psvi_broad_phase.query.
cudaError_t psvi_launch_lbvh_query(const psvi_find_input *input, const psvi_lbvh_memory *memory, uint64_t first,
                                   int multiprocessors, cudaStream_t stream);

// Memory of one from a carver, for a finder of that def: that of a tree but for its keys and order; and of the launch
// below, but for its progress.
void psvi_lay_out_lbvh(psvi_carver *carver, const psv_pair_finder_def *def, psvi_lbvh_memory *memory);
void psvi_lay_out_lbvh_at_once(psvi_carver *carver, const psv_pair_finder_def *def, psvi_lbvh_at_once *its);
// The whole of a frame in one launch: plan, keys, sort, leaves and walk. Clears the result first. Early: the launch may
// begin before the one in front of it has ended.
cudaError_t psvi_prepare_lbvh_at_once(void);
cudaError_t psvi_launch_lbvh_at_once(const psvi_find_input *input, const psvi_lbvh_at_once *its, int multiprocessors,
                                     bool early, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
