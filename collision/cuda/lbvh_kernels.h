// The device memory and the launchers of the `lbvh` method.
//
// Leaves are boxes in the order of their keys. Inner node k has one end of its leaf range at k (Karras 2012), so nodes
// and leaves are named by the same numbers; PSVI_LBVH_LEAF tells them apart.
#ifndef PAIRSIEVE_COLLISION_LBVH_KERNELS_H
#define PAIRSIEVE_COLLISION_LBVH_KERNELS_H

#include <cuda_runtime_api.h>

#include "../src/broad_phase.h"
#include "broad_phase_tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_LBVH_LEAF 0x80000000u
#define PSVI_LBVH_END 0xffffffffu // no node: the walk is over

// Key: [takes no part | world | place along a space-filling order]. The order halves the longest side of the scene's
// box again and again: Morton order where the scene is a cube, a plain coordinate where it is a line.
typedef struct psvi_lbvh_plan {
    uint64_t slots; // boxes of both sets: the count that the sorter reads
    float low[3];
    float inverse[3]; // 2^bits cells over the scene's extent
    uint32_t bits[3]; // of each axis
    uint8_t axes[32]; // which axis is halved, from the key's high bit down
    uint64_t boxes;   // leaves
    uint64_t parts;   // parts of long walks in the queue, before it is clamped to its room
    uint32_t done;    // blocks that have walked the parts of a query
} psvi_lbvh_plan;

// A part of a long walk: leaf `leaf` against leaves [first, end). In a query `leaf` is a box's slot.
typedef struct psvi_lbvh_part {
    uint32_t leaf, first, end;
} psvi_lbvh_part;

typedef struct psvi_lbvh_memory {
    psvi_lbvh_plan *plan;
    uint32_t *keys;  // one per slot, sorted in place
    uint32_t *order; // sorting permutation
    float *leaves;   // 8 floats per leaf: min and slot, max and tag
    float *nodes;    // 8 floats per inner node: min and left child, max and the node after its subtree
    uint32_t *next;  // per leaf: the node or leaf after it
    uint32_t *leaf_parent;
    uint32_t *node_parent;
    uint32_t *arrivals; // children of a node that are done
    psvi_lbvh_part *parts;
    float *wide[LBVH_WIDE_LEVELS]; // kept boxes: 8 floats for each run of 16, 256, ... leaves; [0] is not used
    uint64_t room;                 // slots that the arrays hold
    uint32_t part_room;
    uint32_t place_bits, world_bits, world_shift; // of the key
} psvi_lbvh_memory;

cudaError_t psvi_launch_lbvh_keys(const psvi_find_input *input, const psvi_lbvh_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_lbvh_build(const psvi_find_input *input, const psvi_lbvh_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_lbvh_walk(const psvi_find_input *input, const psvi_lbvh_memory *memory, int multiprocessors,
                                  cudaStream_t stream);
// Boxes of runs of leaves, once after a build of kept boxes; then boxes from slot `first` on against those of the tree,
// see psvi_broad_phase.query.
cudaError_t psvi_launch_lbvh_widen(const psvi_lbvh_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_lbvh_query(const psvi_find_input *input, const psvi_lbvh_memory *memory, uint64_t first,
                                   int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
