// The stackless self-query of the hierarchy. Every leaf walks the nodes that come after it in the tree's order: into a
// node whose box overlaps its own, past the subtree of one that does not, by the link that each node has to what
// follows its subtree. Only later leaves are met, so every pair is found once and from one side.
//
// A walk can begin at any leaf and end at any leaf. So a walk that has become long (a huge box, a long thin one) is cut
// into parts of leaves that warps of a second launch take, each lane a thirty-second of it.
#include "launch_cuda.h"
#include "lbvh_parts.cuh"

struct lbvh_walk {
    const psvi_find_input &input;
    psvd_counts counts;
    psvd_sink sink;
    const float4 *leaves, *nodes;
    const uint32_t *next;
};

__device__ __forceinline__ lbvh_walk make_walk(const psvi_find_input &input, const psvi_lbvh_memory &memory) {
    const psvd_counts counts = psvd_read_counts(input);
    return {input,
            counts,
            psvd_make_sink(input, counts),
            reinterpret_cast<const float4 *>(memory.leaves),
            reinterpret_cast<const float4 *>(memory.nodes),
            memory.next};
}

// Where a link leads, unless that is at or behind leaf `end`. Nodes are met in the order of their first leaves, and
// what a link leads to is a right child, whose number is its first leaf. (A left child has its parent's first leaf, and
// its own number says where it ends.)
__device__ __forceinline__ uint32_t follow(uint32_t link, uint32_t end) {
    return link == PSVI_LBVH_END || (link & ~PSVI_LBVH_LEAF) >= end ? PSVI_LBVH_END : link;
}

// One step of the walk from `at`: the node or leaf to look at next.
template <class Stage>
__device__ __forceinline__ uint32_t walk_step(const lbvh_walk &walk, Stage &stage, const lbvh_box &own, uint32_t at,
                                              uint32_t end, uint32_t &tested) {
    const uint64_t number = at & ~PSVI_LBVH_LEAF;
    if (!(at & PSVI_LBVH_LEAF)) {
        const float4 low = __ldg(walk.nodes + 2 * number), high = __ldg(walk.nodes + 2 * number + 1);
        return overlap(own, low, high) ? __float_as_uint(low.w) : follow(__float_as_uint(high.w), end);
    }
    const float4 low = __ldg(walk.leaves + 2 * number), high = __ldg(walk.leaves + 2 * number + 1);
    ++tested;
    if (overlap(own, low, high) &&
        psvd_tags_pair(walk.input.between, __float_as_uint(own.high.w), __float_as_uint(high.w))) {
        const uint32_t slot = __float_as_uint(own.low.w), other = __float_as_uint(low.w);
        if (psvd_arrays_pair(walk.input, walk.counts, slot, other)) stage.emit(walk.sink, slot, other);
    }
    return follow(__ldg(walk.next + number), end);
}

// First leaf behind those of the world of leaf i.
__device__ __forceinline__ uint32_t world_end(const psvi_lbvh_memory &memory, uint32_t boxes, uint32_t i) {
    if (memory.world_bits == 0) return boxes;
    const uint32_t world = memory.keys[i] >> memory.place_bits;
    uint32_t low = i + 1, high = boxes;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (memory.keys[middle] >> memory.place_bits == world)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// One thread a leaf. Reads the nodes on its way, mostly from the caches: neighbours in the order walk the same nodes.
// No barrier but those of the pair collection.
__global__ void __launch_bounds__(LBVH_THREADS)
    psvk_lbvh_walk(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ psvd_pair_stage<LBVH_THREADS / 32> stage;
    const lbvh_walk walk = make_walk(input, memory);
    const uint32_t boxes = (uint32_t)input.result->boxes;
    const uint64_t i = (uint64_t)blockIdx.x * LBVH_THREADS + threadIdx.x;
    if ((uint64_t)blockIdx.x * LBVH_THREADS >= boxes) return;
    stage.begin();
    __syncthreads();
    lbvh_box own = {};
    uint32_t at = PSVI_LBVH_END, end = 0, tested = 0;
    if (i < boxes) {
        own.low = walk.leaves[2 * i], own.high = walk.leaves[2 * i + 1];
        end = world_end(memory, boxes, (uint32_t)i);
        at = follow(memory.next[i], end);
    }
    bool alone = false; // the queue has no room for the rest
    for (uint32_t steps = 0; __any_sync(PSVD_FULL, at != PSVI_LBVH_END); steps += LBVH_STEPS) {
        if (steps >= LBVH_OWN_STEPS && at != PSVI_LBVH_END && !alone && (at & PSVI_LBVH_LEAF)) {
            if (queue_rest(memory, (uint32_t)i, at & ~PSVI_LBVH_LEAF, end))
                at = PSVI_LBVH_END;
            else
                alone = true;
        }
        for (int step = 0; step < LBVH_STEPS && at != PSVI_LBVH_END; ++step)
            at = walk_step(walk, stage, own, at, end, tested);
        stage.settle(walk.sink);
    }
    stage.finish(walk.sink);
    psvd_warp_add(&input.result->candidates, tested);
}

// One warp a part, each lane an equal run of its leaves. As many blocks as the device holds; they take the parts in
// turn.
__global__ void __launch_bounds__(LBVH_THREADS)
    psvk_lbvh_walk_parts(const psvi_find_input input, const psvi_lbvh_memory memory) {
    const uint32_t parts = (uint32_t)min(memory.plan->parts, (uint64_t)memory.part_room);
    constexpr uint32_t warps = LBVH_THREADS / 32;
    if (blockIdx.x * warps >= parts) return;
    __shared__ psvd_pair_stage<warps> stage;
    const lbvh_walk walk = make_walk(input, memory);
    stage.begin();
    __syncthreads();
    uint32_t tested = 0;
    for (uint32_t p = blockIdx.x * warps + threadIdx.x / 32; p < parts; p += gridDim.x * warps) {
        const psvi_lbvh_part part = memory.parts[p];
        const lbvh_box own = {walk.leaves[2 * (uint64_t)part.leaf], walk.leaves[2 * (uint64_t)part.leaf + 1]};
        const uint32_t run = (part.end - part.first + 31) / 32;
        const uint32_t first = min(part.end, part.first + (threadIdx.x % 32) * run), end = min(part.end, first + run);
        uint32_t at = first < end ? first | PSVI_LBVH_LEAF : PSVI_LBVH_END;
        while (__any_sync(PSVD_FULL, at != PSVI_LBVH_END)) {
            for (int step = 0; step < LBVH_STEPS && at != PSVI_LBVH_END; ++step)
                at = walk_step(walk, stage, own, at, end, tested);
            stage.settle(walk.sink);
        }
    }
    stage.finish(walk.sink);
    psvd_warp_add(&input.result->candidates, tested);
}

extern "C" cudaError_t psvi_launch_lbvh_walk(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                             int multiprocessors, cudaStream_t stream) {
    psvk_lbvh_walk<<<psvi_block_count(psvi_most_boxes(input), LBVH_THREADS), LBVH_THREADS, 0, stream>>>(*input,
                                                                                                        *memory);
    psvk_lbvh_walk_parts<<<(uint32_t)(multiprocessors > 0 ? multiprocessors : 1) * LBVH_PART_BLOCKS, LBVH_THREADS, 0,
                           stream>>>(*input, *memory);
    return cudaGetLastError();
}
