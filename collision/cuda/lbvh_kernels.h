// The device memory and the launchers of the `lbvh` method.
//
// Leaves are boxes in the order of their keys, and the tree is implicit, as that of a linear psv_tree: run i of level h
// is the box around leaves [i 8^h, (i + 1) 8^h). Its nodes are plain boxes here: to be searched once each, they do not
// pay for the grids and slots that serve rays.
#ifndef PAIRSIEVE_COLLISION_LBVH_KERNELS_H
#define PAIRSIEVE_COLLISION_LBVH_KERNELS_H

#include <cuda_runtime_api.h>

#include "../src/broad_phase.h"
#include "broad_phase_tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_LBVH_LEVELS 10    // of boxes, leaves included: a level of at most 32 runs is among them for 2^31 leaves
#define PSVI_LBVH_CLASS_BITS 2 // of a key

// Key: [takes no part | world | size class | place]. Boxes far larger than usual are sorted apart, so that they do not
// blow up the runs of small ones. The place is that on a Hilbert curve through the scene's box; axes that are longer
// are halved before, until all have as many bits left: a line gets its bits as a plain coordinate.
typedef struct psvi_lbvh_plan {
    uint64_t slots; // boxes of both sets: the count that the sorter reads
    float low[3];
    float inverse[3];    // 2^bits cells over the scene's extent
    uint32_t bits[3];    // of each axis
    uint32_t curve_bits; // of each axis on the curve
    uint32_t halvings;   // before it
    uint8_t axes[32], shifts[32];
    float class_sizes[(1 << PSVI_LBVH_CLASS_BITS) - 1]; // the largest of a class
    uint64_t boxes;                                     // leaves
    uint64_t parts; // of long searches in the queue, before it is clamped to its room
    uint32_t done;  // blocks that have searched the parts of a query
    uint32_t top;   // the lowest level with at most 32 runs: searches begin with all of these
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

cudaError_t psvi_launch_lbvh_keys(const psvi_find_input *input, const psvi_lbvh_memory *memory, cudaStream_t stream);
// Leaves and runs.
cudaError_t psvi_launch_lbvh_build(const psvi_find_input *input, const psvi_lbvh_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_lbvh_walk(const psvi_find_input *input, const psvi_lbvh_memory *memory, int multiprocessors,
                                  cudaStream_t stream);
// Boxes from slot `first` on against those of the tree, see psvi_broad_phase.query.
cudaError_t psvi_launch_lbvh_query(const psvi_find_input *input, const psvi_lbvh_memory *memory, uint64_t first,
                                   int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
