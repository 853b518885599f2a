// Launchers of the tree's kernels. All asynchronous.
#ifndef PAIRSIEVE_COLLISION_TREE_KERNELS_H
#define PAIRSIEVE_COLLISION_TREE_KERNELS_H

#include <cuda_runtime_api.h>

#include "../src/tree_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

// The grid of the keys and the keys; memory.result->count is the count that the sorter reads.
cudaError_t psvi_launch_tree_keys(const psvi_item_view *view, const psvi_tree_memory *memory, psvi_tree_keys keys,
                                  cudaStream_t stream);
// Items at their places, and all nodes, of a linear tree; a refit keeps the places.
cudaError_t psvi_launch_tree_build(const psvi_item_view *view, const psvi_tree_memory *memory, psvi_tree_keys keys,
                                   bool refit, cudaStream_t stream);

cudaError_t psvi_launch_query_keys(const psvi_tree_query *query, uint32_t *keys, uint64_t *count, cudaStream_t stream);
// Queries without lists; queries with lists, counting or writing.
cudaError_t psvi_launch_answers(const psvi_tree_query *query, cudaStream_t stream);
cudaError_t psvi_launch_lists(const psvi_tree_query *query, bool write, uint32_t *counts, cudaStream_t stream);
// offsets[q] = counts[0] + ... + counts[q - 1], the sum of all behind the last and in *total. sums: one per 1,024.
cudaError_t psvi_launch_offsets(const psvi_tree_query *query, const uint32_t *counts, uint64_t *sums, uint64_t *total,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
