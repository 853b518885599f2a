// Queries of bodies on the CPU: loops over boxes and queries.
#include "../../core/cpu/workers.h"
#include "../queries/body_queries.h"
#include "../queries/body_query.h"

#define BOXES 1024 // a chunk of a loop
#define QUERIES 32

typedef struct box_loop {
    const psvi_sim *sim;
    psv_aabb *boxes;
} box_loop;

static void make_some_boxes(void *data, uint64_t first, uint64_t end) {
    const box_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        loop->boxes[i] = psvi_query_box(loop->sim, (uint32_t)i);
}

psv_status psvi_cpu_query_boxes(psv_world *world, psv_aabb *boxes) {
    box_loop loop = {&world->sim, boxes};
    psvi_run_ranges(world->context, world->sim.slots, BOXES, make_some_boxes, &loop);
    return PSV_OK;
}

typedef struct query_loop {
    const psvi_sim *sim;
    const psvi_tree_query *query;
} query_loop;

static void answer_some(void *data, uint64_t first, uint64_t end) {
    const query_loop *loop = data;
    for (uint64_t q = first; q < end; ++q)
        psvi_answer_of_bodies(loop->sim, loop->query, loop->query->kind, (uint32_t)q);
}

psv_status psvi_cpu_query_bodies(psv_world *world, const psvi_tree_query *query) {
    query_loop loop = {&world->sim, query};
    psvi_run_ranges(world->context, query->count, QUERIES, answer_some, &loop);
    return PSV_OK;
}
