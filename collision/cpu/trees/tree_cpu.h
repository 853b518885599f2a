// What the CPU's files of the tree share.
#ifndef PAIRSIEVE_TREE_CPU_H
#define PAIRSIEVE_TREE_CPU_H

#include "../../src/queries/tree_internal.h"

// The children of a node, side by side; entries behind the last child are not read. min > max: empty.
typedef struct psvi_node_children {
    float min[3][8], max[3][8];
    uint8_t offset[8]; // as in psvi_tree_child
    uint32_t inner;    // which are nodes, a bit each
} psvi_node_children;

// What differs with the processor's vector unit. All give the same bits.
typedef struct psvi_tree_kernels {
    // psvi_make_node.
    void (*make_node)(const psvi_node_children *children, uint32_t count, psv_tree_node *node, psv_aabb *box);
    // psvi_tree_place of eight centres.
    void (*places)(const psv_tree_head *head, const float centre[3][8], uint32_t bits, uint32_t most,
                   uint64_t places[8]);
} psvi_tree_kernels;

psvi_tree_kernels psvi_choose_tree_kernels(void);

void psvi_make_node_avx2(const psvi_node_children *children, uint32_t count, psv_tree_node *node, psv_aabb *box);
void psvi_tree_places_avx2(const psv_tree_head *head, const float centre[3][8], uint32_t bits, uint32_t most,
                           uint64_t places[8]);

static inline void psvi_set_child(psvi_node_children *children, uint32_t c, const float min[3], const float max[3]) {
    for (int axis = 0; axis < 3; ++axis) {
        children->min[axis][c] = min[axis];
        children->max[axis][c] = max[axis];
    }
}

// Nodes over the `count` items that memory.order names, whose boxes are in memory.fine by their numbers; memory.order
// then says which item comes to which place.
void psvi_build_fine_cpu(psv_tree *tree, uint32_t count);

// Computes the boxes of the fine tree's nodes again from its items.
void psvi_refit_fine_cpu(psv_tree *tree);

// All queries of a call; of lists, their results only if `write`, their counts only where `counts` is not NULL.
void psvi_query_loop_plain(psv_context *context, const psvi_tree_query *query, bool write, uint32_t *counts);
void psvi_query_loop_avx2(psv_context *context, const psvi_tree_query *query, bool write, uint32_t *counts);

// Lists with offsets and results, of queries that are taken in their own order: counts, offsets but the last one, and
// results as far as there is room. Returns how many results there are.
uint64_t psvi_fill_loop_plain(psv_context *context, const psvi_tree_query *query);
uint64_t psvi_fill_loop_avx2(psv_context *context, const psvi_tree_query *query);

psv_status psvi_query_tree_cpu(psv_tree *tree, psvi_tree_query *query);

#endif
