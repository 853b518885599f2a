// A binary tree over triangles from sorted places along a curve (Karras 2012), walked with a stack, and without one by
// a trail of bits and links to parents, as the trees of García et al. are (Murguia et al. 2013).
#ifndef BENCH_HOST_WALK_H
#define BENCH_HOST_WALK_H

#include "pairsieve/sim.h"
#include "pairsieve/tree.h"

typedef struct host_tree_node {
    float min[3], max[3];
    uint32_t child[2]; // inner nodes; a leaf's number is inner nodes + place
    uint32_t parent;   // HOST_TREE_NONE: the root
} host_tree_node;

#define HOST_TREE_NONE UINT32_MAX

typedef struct host_tree {
    host_tree_node *nodes; // count - 1 inner ones, then count leaves
    uint32_t *order;       // the triangle at a place
    uint32_t count;
    uint32_t levels; // of inner nodes on the longest way down; the trail has 64 bits
    const psv_mesh *mesh;
} host_tree;

// Builds the tree of a mesh of one triangle or more; it reads the mesh until it is freed. Errors: PSV_ERROR_MEMORY, and
// those of a sorter on the context, which is one of the CPU.
psv_status host_make_tree(psv_context *context, const psv_mesh *mesh, host_tree *tree);
void host_free_tree(host_tree *tree);

typedef enum host_walk { HOST_WALK_STACK, HOST_WALK_TRAIL } host_walk;

// The first hit of each ray, from either side, with `threads` threads. `steps`: nodes that were
// read on the way down, and on the way back to the next one.
void host_trace(const host_tree *tree, host_walk walk, const psv_ray *rays, uint64_t count, int threads,
                psv_ray_hit *hits, uint64_t *steps);

#endif
