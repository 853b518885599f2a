// Trees in compute shaders: what the host code of builds and of queries shares.
#ifndef PAIRSIEVE_COLLISION_TREE_GPU_H
#define PAIRSIEVE_COLLISION_TREE_GPU_H

#include "../../src/queries/tree_internal.h"
#include "../gpu_frame.h"

extern const psvi_gpu_source psvi_glsl_tree_plan, psvi_glsl_tree_keys, psvi_glsl_tree_worlds, psvi_glsl_tree_place,
    psvi_glsl_tree_nodes, psvi_glsl_tree_trace, psvi_glsl_tree_lists, psvi_glsl_tree_sums, psvi_glsl_tree_near,
    psvi_glsl_query_keys;

// Block 0 of all kernels of trees: the head and, as tree_head.glsl has it, 256 bytes behind it the result.
static inline psvi_gpu_block psvi_gpu_tree_head(const psvi_tree_memory *memory) {
    return (psvi_gpu_block){memory->head, 256 + sizeof(psvi_query_result)};
}

psv_status psvi_gpu_query_tree(psv_tree *tree, psvi_tree_query *query);

#endif
