// Boxes that move against the tree of kept boxes. Such a tree is built once and asked in many frames, so it gets runs
// of leaves besides: run i of level h is the box around leaves [i 16^h, (i + 1) 16^h). Nothing has to be linked, and a
// warp looks at the sixteen parts of two runs at a time: a box among a million others is answered after some eight
// reads that wait for each other, where the walk from node to node takes forty.
#include "launch_cuda.h"
#include "lbvh_parts.cuh"

#define WIDE_SHIFT 4u
#define WIDE (1u << WIDE_SHIFT)
#define QUERY_WARPS (LBVH_THREADS / 32)
// Runs that a search still has to look at: at most 32 of a level, see search.
#define STACK_ROOM (32 * LBVH_WIDE_LEVELS)
#define RUN_BITS 28u // of a stack entry: its number; the level is above

// Level `level` from the one below. Sixteen threads a run; reads 32 bytes a thread, writes 32 a run.
__global__ void __launch_bounds__(LBVH_THREADS) psvk_lbvh_widen(const psvi_lbvh_memory memory, uint32_t level) {
    const uint64_t boxes = memory.plan->boxes,
                   below = (boxes + (1ull << WIDE_SHIFT * (level - 1)) - 1) >> WIDE_SHIFT * (level - 1);
    const uint64_t i = (uint64_t)blockIdx.x * LBVH_THREADS + threadIdx.x;
    if (i == 0) memory.plan->parts = 0, memory.plan->done = 0;
    const float4 *const from = reinterpret_cast<const float4 *>(level == 1 ? memory.leaves : memory.wide[level - 1]);
    float4 low = {INFINITY, INFINITY, INFINITY, 0}, high = {-INFINITY, -INFINITY, -INFINITY, 0};
    if (i < below) low = from[2 * i], high = from[2 * i + 1];
    for (int step = WIDE / 2; step > 0; step /= 2) {
        low.x = fminf(low.x, __shfl_xor_sync(PSVD_FULL, low.x, step));
        low.y = fminf(low.y, __shfl_xor_sync(PSVD_FULL, low.y, step));
        low.z = fminf(low.z, __shfl_xor_sync(PSVD_FULL, low.z, step));
        high.x = fmaxf(high.x, __shfl_xor_sync(PSVD_FULL, high.x, step));
        high.y = fmaxf(high.y, __shfl_xor_sync(PSVD_FULL, high.y, step));
        high.z = fmaxf(high.z, __shfl_xor_sync(PSVD_FULL, high.z, step));
    }
    if (i >= below || i % WIDE != 0) return;
    float4 *const to = reinterpret_cast<float4 *>(memory.wide[level]);
    to[2 * (i / WIDE)] = low, to[2 * (i / WIDE) + 1] = high;
}

// A warp's search for one box.
struct query_search {
    const psvi_find_input &input;
    const psvi_lbvh_memory &memory;
    psvd_counts counts;
    psvd_sink sink;
    lbvh_box own;
    uint32_t begin, end;  // leaves that count
    uint32_t first_other; // slot of the tree's first box
};

typedef psvd_pair_stage<QUERY_WARPS> query_stage;

// First of the tree's leaves whose key's world is not below `world`. All lanes together, 32 places a step.
__device__ uint32_t world_begin(const psvi_lbvh_memory &memory, uint32_t boxes, uint32_t world) {
    uint32_t low = 0, high = boxes; // the answer is in [low, high]
    while (low < high) {
        const uint32_t step = (high - low + 31) / 32, at = low + (threadIdx.x & 31) * step;
        const bool before = at < high && memory.keys[at] >> memory.place_bits < world;
        const uint32_t count = __popc(__ballot_sync(PSVD_FULL, before)); // places before it come first
        if (count == 0) return low;
        const uint32_t last = low + (count - 1) * step;
        high = min(high, last + step);
        low = last + 1;
    }
    return low;
}

__device__ __forceinline__ uint32_t top_level(uint32_t boxes) {
    uint32_t level = 1;
    while (level < LBVH_WIDE_LEVELS && boxes > 1ull << WIDE_SHIFT * level)
        ++level;
    return level;
}

// Puts what is on the stack into the queue of parts, as far as there is room; returns how many entries are left. All
// lanes together.
__device__ uint32_t queue_stack(const query_search &search, uint32_t *stack, uint32_t depth) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t left = 0;
    for (uint32_t n = lane; n - lane < depth; n += 32) {
        uint32_t entry = 0;
        bool stays = false;
        if (n < depth) {
            entry = stack[n];
            const uint32_t shift = WIDE_SHIFT * (entry >> RUN_BITS);
            const uint64_t from = (uint64_t)(entry & ((1u << RUN_BITS) - 1)) << shift;
            const uint32_t first = max(search.begin, (uint32_t)from);
            const uint32_t end = (uint32_t)min((unsigned long long)search.end, from + (1ull << shift));
            stays = !queue_rest(search.memory, __float_as_uint(search.own.low.w), first, end);
        }
        const unsigned mask = __ballot_sync(PSVD_FULL, stays);
        __syncwarp();
        if (stays) stack[left + __popc(mask & ((1u << lane) - 1))] = entry;
        left += __popc(mask);
        __syncwarp();
    }
    return left;
}

// Depth first, two runs at a time, one for each half of the warp. The entries of the stack lie by level, deeper ones
// above. So a level gets new entries only when it has none, and at most sixteen from each of two runs.
// *held: see psvd_pair_stage. Returns how many boxes the lane has tested. All lanes together.
__device__ __forceinline__ uint32_t run_search(const query_search &search, query_stage &stage, uint32_t *stack,
                                               uint32_t top, bool may_queue, uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31, half = lane / WIDE;
    uint32_t depth = search.begin < search.end ? 1 : 0, tested = 0;
    if (lane == 0) stack[0] = top << RUN_BITS;
    __syncwarp();
#pragma unroll 1
    for (uint32_t steps = 0; depth > 0; ++steps) {
        if (may_queue && steps == LBVH_QUERY_STEPS) {
            depth = queue_stack(search, stack, depth);
            if (depth == 0) break;
        }
        const uint32_t taken = min(depth, 2u);
        const uint32_t entry = half < taken ? stack[depth - 1 - half] : 0;
        depth -= taken;
        const uint32_t level = entry >> RUN_BITS, shift = level == 0 ? 0 : WIDE_SHIFT * (level - 1);
        const uint64_t part = (uint64_t)(entry & ((1u << RUN_BITS) - 1)) * WIDE + lane % WIDE, first = part << shift;
        bool hit = level > 0 && first < search.end && first + (1ull << shift) > search.begin;
        float4 low, high;
        if (hit) {
            const float4 *const at =
                reinterpret_cast<const float4 *>(level == 1 ? search.memory.leaves : search.memory.wide[level - 1]) +
                2 * part;
            low = __ldg(at), high = __ldg(at + 1);
            tested += level == 1;
            hit = overlap(search.own, low, high);
        }
        const bool deeper = hit && level > 1;
        const unsigned more = __ballot_sync(PSVD_FULL, deeper);
        const unsigned upper = more >> WIDE, own = half == 0 ? more & 0xffffu : upper;
        const uint32_t place = depth + (half == 0 ? __popc(upper) : 0) + __popc(own & ((1u << lane % WIDE) - 1));
        __syncwarp(); // all have read their entries
        if (deeper) stack[place] = (level - 1) << RUN_BITS | (uint32_t)part;
        depth += __popc(more);
        __syncwarp();
        if (!__any_sync(PSVD_FULL, hit && !deeper)) continue;
        const uint32_t slot = __float_as_uint(search.own.low.w);
        uint32_t other = 0;
        if (hit && !deeper) {
            other = search.first_other + __float_as_uint(low.w);
            hit = psvd_tags_pair(false, __float_as_uint(search.own.high.w), __float_as_uint(high.w)) &&
                  psvd_arrays_pair(search.input, search.counts, slot, other);
        }
        stage.emit_together(search.sink, hit && !deeper, slot, other, held);
        __syncwarp();
    }
    return tested;
}

__device__ __forceinline__ psvd_state load_own(query_search *search, uint64_t slot) {
    psvd_box box = {};
    uint32_t tag = 0;
    const psvd_state state = psvd_load_slot(search->input, search->counts, slot, &box, &tag);
    search->own.low = make_float4(box.min[0], box.min[1], box.min[2], __uint_as_float((uint32_t)slot));
    search->own.high = make_float4(box.max[0], box.max[1], box.max[2], __uint_as_float(tag));
    return state;
}

__device__ __forceinline__ query_search make_search(const psvi_find_input &input, const psvi_lbvh_memory &memory) {
    query_search search = {input, memory, psvd_read_counts(input), {}, {}, 0, 0, 0};
    search.sink = psvd_make_sink(input, search.counts);
    search.first_other = input.between ? (uint32_t)search.counts.a : 0;
    return search;
}

// One warp a box. Where the kept boxes are another set, the boxes are judged here. Reads some 4 KB a box, most of it
// from the second-level cache.
__global__ void __launch_bounds__(LBVH_THREADS)
    psvk_lbvh_query(const psvi_find_input input, const psvi_lbvh_memory memory, uint64_t first) {
    __shared__ query_stage stage;
    __shared__ uint32_t stacks[QUERY_WARPS][STACK_ROOM];
    query_search search = make_search(input, memory);
    const uint32_t warp = threadIdx.x / 32, boxes = (uint32_t)memory.plan->boxes;
    const uint64_t slot = first + (uint64_t)blockIdx.x * QUERY_WARPS + warp;
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
    uint32_t held = 0;
    const uint32_t tested = run_search(search, stage, stacks[warp], top_level(boxes), true, &held);
    stage.hold(held);
    stage.finish(search.sink);
    psvd_warp_add(&input.result->candidates, tested);
}

// One warp a part; as many blocks as the device holds take the parts in turn. The last one empties the queue.
__global__ void __launch_bounds__(LBVH_THREADS)
    psvk_lbvh_query_parts(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ query_stage stage;
    __shared__ uint32_t stacks[QUERY_WARPS][STACK_ROOM];
    const uint32_t parts = (uint32_t)min(*(volatile uint64_t *)&memory.plan->parts, (uint64_t)memory.part_room);
    const uint32_t warp = threadIdx.x / 32, boxes = (uint32_t)memory.plan->boxes;
    if (parts == 0) return;
    query_search search = make_search(input, memory);
    uint32_t held = 0, tested = 0;
    for (uint32_t p = blockIdx.x * QUERY_WARPS + warp; p < parts; p += gridDim.x * QUERY_WARPS) {
        const psvi_lbvh_part part = memory.parts[p];
        (void)load_own(&search, part.leaf);
        search.begin = part.first, search.end = part.end;
        tested += run_search(search, stage, stacks[warp], top_level(boxes), false, &held);
    }
    stage.hold(held);
    stage.finish(search.sink);
    psvd_warp_add(&input.result->candidates, tested);
    if (threadIdx.x != 0 || atomicAdd(&memory.plan->done, 1u) != gridDim.x - 1) return;
    memory.plan->parts = 0, memory.plan->done = 0;
}

extern "C" cudaError_t psvi_launch_lbvh_widen(const psvi_lbvh_memory *memory, cudaStream_t stream) {
    for (uint32_t level = 1; level < LBVH_WIDE_LEVELS; ++level) {
        const uint64_t below = ((memory->room - 1) >> WIDE_SHIFT * (level - 1)) + 1;
        psvk_lbvh_widen<<<psvi_block_count(below, LBVH_THREADS), LBVH_THREADS, 0, stream>>>(*memory, level);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_lbvh_query(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                              uint64_t first, int multiprocessors, cudaStream_t stream) {
    const uint64_t queries = input->a.count > first ? input->a.count - first : 0;
    if (queries == 0) return cudaSuccess;
    psvk_lbvh_query<<<psvi_block_count(queries, QUERY_WARPS), LBVH_THREADS, 0, stream>>>(*input, *memory, first);
    psvk_lbvh_query_parts<<<(uint32_t)(multiprocessors > 0 ? multiprocessors : 1) * LBVH_PART_BLOCKS, LBVH_THREADS, 0,
                            stream>>>(*input, *memory);
    return cudaGetLastError();
}
