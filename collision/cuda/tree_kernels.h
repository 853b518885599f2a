// Launchers of the tree's kernels. All asynchronous.
#ifndef PAIRSIEVE_COLLISION_TREE_KERNELS_H
#define PAIRSIEVE_COLLISION_TREE_KERNELS_H

#include <cuda_runtime_api.h>

#include "../src/queries/tree_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

// The grid of the keys and the keys; memory.result has the counts that the sorters read. may_short: keys have 32 bits
// where these tell the samples apart.
cudaError_t psvi_launch_tree_keys(const psvi_item_view *view, const psvi_tree_memory *memory, psvi_tree_keys keys,
                                  bool may_short, cudaStream_t stream);
// First items of the worlds; before items are placed, whose memory the keys may share.
cudaError_t psvi_launch_tree_worlds(const psvi_item_view *view, const psvi_tree_memory *memory, psvi_tree_keys keys,
                                    cudaStream_t stream);
// Items at the places that memory.order says, or, in a refit, at those where they are. `levels`: of a linear tree.
cudaError_t psvi_launch_tree_items(const psvi_item_view *view, const psvi_tree_memory *memory, bool refit, bool levels,
                                   cudaStream_t stream);
// All nodes of a linear tree, from its items.
cudaError_t psvi_launch_tree_nodes(const psvi_item_view *view, const psvi_tree_memory *memory, cudaStream_t stream);

// Scratch memory of a fine build, from memory.fine on.
uint64_t psvi_fine_tree_bytes(uint64_t items);
// Nodes of a fine tree over items in the order of their keys; memory.order says then which item comes to which place.
cudaError_t psvi_launch_fine_tree(const psvi_item_view *view, const psvi_tree_memory *memory, uint64_t max_items,
                                  cudaStream_t stream);
cudaError_t psvi_launch_fine_refit(const psvi_item_view *view, const psvi_tree_memory *memory, cudaStream_t stream);

cudaError_t psvi_launch_query_keys(const psvi_tree_query *query, uint32_t *keys, uint64_t *count, cudaStream_t stream);
// Closest and any hits of rays, and closest points: queries whose walks are long, and as long as they happen to be.
cudaError_t psvi_launch_walks(const psvi_tree_query *query, cudaStream_t stream);
// Nearest items; queries with lists, counting or writing.
cudaError_t psvi_launch_nearest(const psvi_tree_query *query, cudaStream_t stream);
cudaError_t psvi_launch_lists(const psvi_tree_query *query, bool write, uint32_t *counts, cudaStream_t stream);
// offsets[q] = counts[0] + ... + counts[q - 1], the sum of all behind the last and in *total. sums: one per 1,024.
cudaError_t psvi_launch_offsets(const psvi_tree_query *query, const uint32_t *counts, uint64_t *sums, uint64_t *total,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
