// Queries of a world's bodies: a tree over their boxes that a world gets with its first query.
#ifndef PAIRSIEVE_BODY_QUERIES_H
#define PAIRSIEVE_BODY_QUERIES_H

#include "../../collision/src/queries/tree_internal.h"
#include "../world/world.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psvi_body_queries {
    psv_tree *tree;
    psv_aabb *boxes; // by slot, in the backend's memory
    void *single;    // there: one ray and its hit
    uint64_t boxes_bytes;
} psvi_body_queries;

#define PSVI_SINGLE_BYTES 64

// What a backend does; asynchronous on CUDA.
psv_status psvi_cpu_query_boxes(psv_world *world, psv_aabb *boxes);
psv_status psvi_cpu_query_bodies(psv_world *world, const psvi_tree_query *query);
psv_status psvi_cuda_query_boxes(psv_world *world, psv_aabb *boxes);
psv_status psvi_cuda_query_bodies(psv_world *world, const psvi_tree_query *query);

void psvi_free_body_queries(psv_world *world);

#ifdef __cplusplus
}
#endif
#endif
