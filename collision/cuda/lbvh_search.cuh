// A warp's search through the tree of `lbvh` for what touches one box, and the queue of parts of long searches.
//
// Depth first, four runs at a time, eight lanes each. The entries of the stack lie by level, lower ones above: a level
// gets new entries only when it has none, and then at most eight from each of four runs.
#ifndef PAIRSIEVE_COLLISION_LBVH_SEARCH_CUH
#define PAIRSIEVE_COLLISION_LBVH_SEARCH_CUH

#include "common.cuh"
#include "lbvh_kernels.h"

#define LBVH_WARPS (PSVI_SEARCH_THREADS / 32)
#define LBVH_STACK (32 * (PSVI_LBVH_LEVELS - 1))
#define LBVH_RUN_BITS 28u // of a stack entry: its number; the level is above

struct lbvh_box {
    float4 low, high; // w: slot, tag
};

struct lbvh_search {
    const psvi_find_input &input;
    const psvi_lbvh_memory &memory;
    psvd_counts counts;
    psvd_sink sink;
    lbvh_box own;
    uint32_t begin, end; // leaves that count
    uint32_t name;       // of its parts in the queue
    uint32_t part_room;  // of all parts
};

__device__ __forceinline__ lbvh_search make_search(const psvi_find_input &input, const psvi_lbvh_memory &memory) {
    lbvh_search search = {input, memory, psvd_read_counts(input), {}, {}, 0, 0, 0, memory.part_room};
    search.sink = psvd_make_sink(input, search.counts);
    return search;
}

__device__ __forceinline__ lbvh_box load_run(const psvi_lbvh_memory &memory, uint32_t level, uint32_t number) {
    const float4 *const at = reinterpret_cast<const float4 *>(memory.boxes) + 2 * (memory.start[level] + number);
    return {__ldg(at), __ldg(at + 1)};
}

// Without a branch: the lanes of a warp seldom agree.
__device__ __forceinline__ bool overlap(const lbvh_box &own, const float4 &low, const float4 &high) {
    return (low.x <= own.high.x) & (own.low.x <= high.x) & (low.y <= own.high.y) & (own.low.y <= high.y) &
           (low.z <= own.high.z) & (own.low.z <= high.z);
}

// First of the tree's leaves whose key's world is not below `world`. All lanes together, 32 places a step.
__device__ __forceinline__ uint32_t world_begin(const psvi_lbvh_memory &memory, uint32_t boxes, uint32_t world) {
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

// Puts the search of leaves [first, end) into the queue; false when there is no room. 64 bits: many may add at once.
__device__ __forceinline__ bool queue_rest(const psvi_lbvh_memory &memory, uint32_t room, uint32_t name, uint32_t first,
                                           uint32_t end) {
    const uint64_t parts = (end - first + LBVH_PART - 1) / LBVH_PART;
    unsigned long long *const taken = reinterpret_cast<unsigned long long *>(&memory.plan->parts);
    if (*(volatile unsigned long long *)taken + parts > room) return false;
    const uint64_t place = atomicAdd(taken, (unsigned long long)parts);
    if (place + parts > room) {
        // Other warps were faster: the places that this one has got stay empty, and it goes on alone.
        for (uint64_t p = place; p < room; ++p)
            memory.parts[p] = {name, end, end};
        return false;
    }
    for (uint32_t p = 0; p < parts; ++p)
        memory.parts[place + p] = {name, first + p * LBVH_PART, first + min(end - first, (p + 1) * LBVH_PART)};
    return true;
}

// Puts large runs that are on the stack into the queue, as far as there is room; returns how many entries are left. All
// lanes together.
__device__ __forceinline__ uint32_t queue_stack(const lbvh_search &search, uint32_t *stack, uint32_t depth) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t left = 0;
    for (uint32_t n = lane; n - lane < depth; n += 32) {
        uint32_t entry = 0;
        bool stays = false;
        if (n < depth) {
            entry = stack[n];
            const uint32_t shift = 3 * (entry >> LBVH_RUN_BITS);
            const uint64_t from = (uint64_t)(entry & ((1u << LBVH_RUN_BITS) - 1)) << shift;
            const uint32_t first = max(search.begin, (uint32_t)from);
            const uint32_t end = (uint32_t)min((unsigned long long)search.end, from + (1ull << shift));
            stays = entry >> LBVH_RUN_BITS < LBVH_PART_LEVEL ||
                    !queue_rest(search.memory, search.part_room, search.name, first, end);
        }
        const unsigned mask = __ballot_sync(PSVD_FULL, stays);
        __syncwarp();
        if (stays) stack[left + __popc(mask & ((1u << lane) - 1))] = entry;
        left += __popc(mask);
        __syncwarp();
    }
    return left;
}

// Found: `add(hit, leaf)` is told of leaves that the box touches, all lanes together. most_steps: after so many the
// rest goes to the queue; 0: never. Returns how many leaves the lane has looked at. All lanes together.
template <class Found>
__device__ __forceinline__ uint32_t run_search(const lbvh_search &search, Found &found, uint32_t *stack,
                                               uint32_t most_steps) {
    const uint32_t lane = threadIdx.x & 31;
    if (search.begin >= search.end) return 0;
    uint32_t depth = 0, looked = 0;
    // At first all runs of the top level, then the parts of four runs from the stack.
    uint32_t level = search.memory.plan->top, number = lane;
    bool here = true;
#pragma unroll 1
    for (uint32_t steps = 1;; ++steps) {
        const uint32_t shift = 3 * level, first = number << shift;
        bool hit = here && first < search.end && first + (1u << shift) > search.begin;
        lbvh_box box = {};
        if (hit) {
            box = load_run(search.memory, level, number);
            looked += level == 0;
            hit = overlap(search.own, box.low, box.high);
        }
        const bool deeper = hit && level > 0;
        const unsigned more = __ballot_sync(PSVD_FULL, deeper);
        if (deeper) stack[depth + __popc(more & ((1u << lane) - 1))] = level << LBVH_RUN_BITS | number;
        depth += __popc(more);
        __syncwarp();
        if (__any_sync(PSVD_FULL, hit && !deeper)) found.add(hit && !deeper, box);
        if (steps == most_steps) depth = queue_stack(search, stack, depth);
        if (depth == 0) return looked;
        // Of the four upper entries the higher lanes take the upper ones, so that what they find lies above.
        const uint32_t taken = min(depth, 4u);
        here = lane / 8 < taken;
        depth -= taken;
        const uint32_t entry = here ? stack[depth + lane / 8] : 1u << LBVH_RUN_BITS;
        __syncwarp(); // all have read their entries
        level = (entry >> LBVH_RUN_BITS) - 1;
        number = (entry & ((1u << LBVH_RUN_BITS) - 1)) * 8 + lane % 8;
    }
}

#endif
