// What the CPU's files of the tree share.
#ifndef PAIRSIEVE_TREE_CPU_H
#define PAIRSIEVE_TREE_CPU_H

#include "../src/tree_internal.h"

// Nodes over the `count` items that memory.order names, whose boxes are in memory.fine by their numbers; memory.order
// then says which item comes to which place.
void psvi_build_fine_cpu(psv_tree *tree, uint32_t count);

// Boxes of the fine tree's nodes anew, from its items.
void psvi_refit_fine_cpu(psv_tree *tree);

// All queries of a call; of lists, their results only if `write`, their counts only where `counts` is not NULL.
void psvi_query_loop_plain(psv_context *context, const psvi_tree_query *query, bool write, uint32_t *counts);
void psvi_query_loop_avx2(psv_context *context, const psvi_tree_query *query, bool write, uint32_t *counts);

psv_status psvi_query_tree_cpu(psv_tree *tree, psvi_tree_query *query);

#endif
