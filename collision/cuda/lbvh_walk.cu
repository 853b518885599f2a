// The two launches of the self-query of `lbvh`: all groups, then the parts of long searches.
#include "launch_cuda.h"
#include "lbvh_walk.cuh"

typedef psvd_pair_stage<LBVH_WARPS> walk_stage;

// One warp a group. Reads the boxes on its way, 1 KB a step, mostly from the caches: neighbours search the same ones.
// No barrier but those of the pair collection.
template <bool ASKS>
__global__ void __launch_bounds__(PSVI_SEARCH_THREADS, 8)
    psvk_lbvh_walk(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ walk_stage stage;
    __shared__ near_leaves near[LBVH_WARPS];
    __shared__ uint32_t stacks[LBVH_WARPS][LBVH_STACK];
    const uint32_t boxes = (uint32_t)input.result->boxes, warp = threadIdx.x / 32;
    if ((uint64_t)blockIdx.x * PSVI_SEARCH_THREADS >= boxes) return;
    lbvh_search search = make_search(input, memory);
    search.part_room = min(memory.part_room, LBVH_WALK_PARTS);
    lbvh_group<ASKS, LBVH_WARPS> group = {search, stage, near[warp], {}, 0, 0, 0};
    group.own.low.x = NAN;
    lbvh_walk_group(search, group, blockIdx.x * LBVH_WARPS + warp, boxes, stacks[warp]);
    group.finish(&input.result->candidates);
}

// One warp a part; as many blocks as the device holds take the parts in turn. The last one empties the queue: queries
// of this tree follow.
template <bool ASKS>
__global__ void __launch_bounds__(PSVI_SEARCH_THREADS, 8)
    psvk_lbvh_walk_parts(const psvi_find_input input, const psvi_lbvh_memory memory) {
    const uint32_t parts = lbvh_walk_parts(memory);
    if (parts == 0) return;
    __shared__ walk_stage stage;
    __shared__ near_leaves near[LBVH_WARPS];
    __shared__ uint32_t stacks[LBVH_WARPS][LBVH_STACK];
    const uint32_t boxes = (uint32_t)memory.plan->boxes, warp = threadIdx.x / 32;
    lbvh_search search = make_search(input, memory);
    lbvh_group<ASKS, LBVH_WARPS> group = {search, stage, near[warp], {}, 0, 0, 0};
    group.own.low.x = NAN;
    for (uint32_t p = blockIdx.x * LBVH_WARPS + warp; p < parts; p += gridDim.x * LBVH_WARPS)
        lbvh_walk_part(search, group, memory.parts[p], boxes, stacks[warp]);
    group.finish(&input.result->candidates);
    if (threadIdx.x != 0 || atomicAdd(&memory.plan->done, 1u) != gridDim.x - 1) return;
    memory.plan->parts = 0, memory.plan->done = 0;
}

extern "C" cudaError_t psvi_launch_lbvh_walk(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                             int multiprocessors, cudaStream_t stream) {
    const bool asks = !psvd_overlap_decides(*input);
    auto walk = asks ? psvk_lbvh_walk<true> : psvk_lbvh_walk<false>;
    auto parts = asks ? psvk_lbvh_walk_parts<true> : psvk_lbvh_walk_parts<false>;
    walk<<<psvi_block_count(psvi_most_boxes(input), PSVI_SEARCH_THREADS), PSVI_SEARCH_THREADS, 0, stream>>>(*input,
                                                                                                            *memory);
    parts<<<(uint32_t)(multiprocessors > 0 ? multiprocessors : 1) * LBVH_PART_BLOCKS, PSVI_SEARCH_THREADS, 0, stream>>>(
        *input, *memory);
    return cudaGetLastError();
}
