// Boxes that move against the tree of kept boxes. Such a tree is built once and asked in many frames: a warp for each
// box, as few steps that wait for each other as the tree has levels.
#include "launch_cuda.h"
#include "lbvh_search.cuh"

typedef psvd_pair_stage<LBVH_WARPS> query_stage;

// What touches the box itself.
template <bool ASKS> struct query_found {
    const lbvh_search &search;
    query_stage &stage;
    uint32_t first_other; // slot of the tree's first box
    uint32_t held;

    __device__ __forceinline__ void add(bool hit, const lbvh_box &box) {
        const uint32_t slot = __float_as_uint(search.own.low.w);
        uint32_t other = 0;
        if (hit) {
            other = first_other + __float_as_uint(box.low.w);
            hit = !ASKS || (psvd_tags_pair(false, __float_as_uint(search.own.high.w), __float_as_uint(box.high.w)) &&
                            psvd_arrays_and_rules_pair(search.input, search.counts, slot, other));
        }
        stage.emit_together(search.sink, hit, slot, other, &held);
        __syncwarp();
    }
};

__device__ __forceinline__ psvd_state load_own(lbvh_search *search, uint64_t slot) {
    psvd_box box = {};
    uint32_t tag = 0;
    const psvd_state state = psvd_load_slot(search->input, search->counts, slot, &box, &tag);
    search->own.low = make_float4(box.min[0], box.min[1], box.min[2], __uint_as_float((uint32_t)slot));
    search->own.high = make_float4(box.max[0], box.max[1], box.max[2], __uint_as_float(tag));
    search->name = (uint32_t)slot;
    return state;
}

// One warp a box. Where the kept boxes are another set, the boxes are judged here. Reads some 5 KB a box, most of it
// from the second-level cache.
template <bool ASKS>
__global__ void __launch_bounds__(PSVI_SEARCH_THREADS)
    psvk_lbvh_query(const psvi_find_input input, const psvi_lbvh_memory memory, uint64_t first) {
    __shared__ query_stage stage;
    __shared__ uint32_t stacks[LBVH_WARPS][LBVH_STACK];
    lbvh_search search = make_search(input, memory);
    query_found<ASKS> found = {search, stage, input.between ? (uint32_t)search.counts.a : 0, 0};
    const uint32_t warp = threadIdx.x / 32, boxes = (uint32_t)memory.plan->boxes;
    const uint64_t slot = first + (uint64_t)blockIdx.x * LBVH_WARPS + warp;
    if (slot - warp >= search.counts.a) return;
    psvd_state state = PSVD_BOX_OFF;
    if (slot < search.counts.a) state = load_own(&search, slot);
    if (state == PSVD_BOX_GOOD) {
        search.end = boxes;
        if (memory.world_bits != 0) {
            const uint32_t world = psvd_world_of(input.a, slot) >> memory.world_shift;
            search.begin = world_begin(memory, boxes, world), search.end = world_begin(memory, boxes, world + 1);
        }
    }
    if (input.between && threadIdx.x % 32 == 0) {
        if (state == PSVD_BOX_BAD) psvd_report_bad(input, search.counts, slot);
        if (state == PSVD_BOX_GOOD) atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), 1ull);
    }
    __syncwarp();
    const uint32_t looked = run_search(search, found, stacks[warp], LBVH_QUERY_STEPS);
    stage.hold(search.sink, found.held);
    stage.finish(search.sink);
    psvd_warp_add(&input.result->candidates, looked);
}

// One warp a part; as many blocks as the device holds take the parts in turn. The last one empties the queue.
template <bool ASKS>
__global__ void __launch_bounds__(PSVI_SEARCH_THREADS)
    psvk_lbvh_query_parts(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ query_stage stage;
    __shared__ uint32_t stacks[LBVH_WARPS][LBVH_STACK];
    const uint32_t parts = (uint32_t)min(*(volatile uint64_t *)&memory.plan->parts, (uint64_t)memory.part_room);
    const uint32_t warp = threadIdx.x / 32;
    if (parts == 0) return;
    lbvh_search search = make_search(input, memory);
    query_found<ASKS> found = {search, stage, input.between ? (uint32_t)search.counts.a : 0, 0};
    uint32_t looked = 0;
    for (uint32_t p = blockIdx.x * LBVH_WARPS + warp; p < parts; p += gridDim.x * LBVH_WARPS) {
        const psvi_lbvh_part part = memory.parts[p];
        (void)load_own(&search, part.name);
        search.begin = part.first, search.end = part.end;
        looked += run_search(search, found, stacks[warp], 0);
    }
    stage.hold(search.sink, found.held);
    stage.finish(search.sink);
    psvd_warp_add(&input.result->candidates, looked);
    if (threadIdx.x != 0 || atomicAdd(&memory.plan->done, 1u) != gridDim.x - 1) return;
    memory.plan->parts = 0, memory.plan->done = 0;
}

extern "C" cudaError_t psvi_launch_lbvh_query(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                              uint64_t first, int multiprocessors, cudaStream_t stream) {
    const uint64_t queries = input->a.count > first ? input->a.count - first : 0;
    if (queries == 0) return cudaSuccess;
    const bool asks = !psvd_overlap_decides(*input);
    auto query = asks ? psvk_lbvh_query<true> : psvk_lbvh_query<false>;
    auto parts = asks ? psvk_lbvh_query_parts<true> : psvk_lbvh_query_parts<false>;
    query<<<psvi_block_count(queries, LBVH_WARPS), PSVI_SEARCH_THREADS, 0, stream>>>(*input, *memory, first);
    parts<<<(uint32_t)(multiprocessors > 0 ? multiprocessors : 1) * LBVH_PART_BLOCKS, PSVI_SEARCH_THREADS, 0, stream>>>(
        *input, *memory);
    return cudaGetLastError();
}
