// Queries of bodies on CUDA: one thread a box, one a query.
#include "../../core/cuda/cuda_backend.h"
#include "../queries/body_queries.h"
#include "../queries/body_query.h"

#define BODY_QUERY_THREADS 128

// In: poses and shapes. Out: 24 bytes a slot.
__global__ void __launch_bounds__(BODY_QUERY_THREADS) psvk_query_boxes(const psvi_sim sim, psv_aabb *boxes) {
    const uint32_t i = blockIdx.x * BODY_QUERY_THREADS + threadIdx.x;
    if (i < sim.slots) boxes[i] = psvi_query_box(&sim, i);
}

// Reads nodes of 80 bytes, items of 32 and the bodies that they name, mostly from the caches; writes one answer.
template <int KIND>
__global__ void __launch_bounds__(BODY_QUERY_THREADS)
    psvk_query_bodies(const __grid_constant__ psvi_sim sim, const __grid_constant__ psvi_tree_query query) {
    const uint32_t q = blockIdx.x * BODY_QUERY_THREADS + threadIdx.x;
    uint64_t count = query.count;
    if (query.count_device != NULL && *query.count_device < count) count = *query.count_device;
    if (q < count) psvi_answer_of_bodies(&sim, &query, (psvi_query_kind)KIND, q);
}

static uint32_t blocks_for(uint64_t threads) {
    return (uint32_t)((threads + BODY_QUERY_THREADS - 1) / BODY_QUERY_THREADS);
}

extern "C" psv_status psvi_cuda_query_boxes(psv_world *world, psv_aabb *boxes) {
    const uint32_t blocks = blocks_for(world->sim.slots);
    cudaStream_t stream = (cudaStream_t)world->context->stream;
    if (blocks > 0) psvk_query_boxes<<<blocks, BODY_QUERY_THREADS, 0, stream>>>(world->sim, boxes);
    return psvi_cuda_status(world->context, cudaGetLastError(), "psvk_query_boxes");
}

extern "C" psv_status psvi_cuda_query_bodies(psv_world *world, const psvi_tree_query *query) {
    const uint32_t blocks = blocks_for(query->count);
    cudaStream_t stream = (cudaStream_t)world->context->stream;
    if (blocks == 0) return PSV_OK;
    if (query->kind == PSVI_QUERY_CLOSEST_HIT)
        psvk_query_bodies<PSVI_QUERY_CLOSEST_HIT><<<blocks, BODY_QUERY_THREADS, 0, stream>>>(world->sim, *query);
    else if (query->kind == PSVI_QUERY_CLOSEST_POINT)
        psvk_query_bodies<PSVI_QUERY_CLOSEST_POINT><<<blocks, BODY_QUERY_THREADS, 0, stream>>>(world->sim, *query);
    else
        psvk_query_bodies<PSVI_QUERY_SPHERES><<<blocks, BODY_QUERY_THREADS, 0, stream>>>(world->sim, *query);
    return psvi_cuda_status(world->context, cudaGetLastError(), "psvk_query_bodies");
}
