// The self-query of the hierarchy. A warp takes 32 leaves that follow each other, and so lie close. It searches the
// tree once for the box around them and collects the leaves that touch it. Each lane tests its own box against these.
// Only later leaves are searched, so every pair is found once.
//
// Huge boxes that no size class has put aside, and long thin ones, make a search long. It is cut into parts of leaves,
// which other warps take when all searches are done.
#ifndef PAIRSIEVE_COLLISION_LBVH_WALK_CUH
#define PAIRSIEVE_COLLISION_LBVH_WALK_CUH

#include "lbvh_search.cuh"

#define LBVH_NEAR 64 // leaves that a warp collects: 31 and up to 32 more

// A name of a search: a group of 32 leaves, or a run of 8, or a leaf, by number.
#define LBVH_NUMBER 0x3fffffffu
#define LBVH_RUN_NAME 0x40000000u
#define LBVH_LEAF_NAME 0x80000000u

__device__ __forceinline__ uint32_t leaves_of(uint32_t name) {
    return name < LBVH_RUN_NAME ? 32 : name < LBVH_LEAF_NAME ? 8 : 1;
}

struct near_leaves {
    float4 low[LBVH_NEAR], high[LBVH_NEAR];
};

// A group's own leaves, one a lane, and those that were found near it.
template <bool ASKS, int WARPS> struct lbvh_group {
    const lbvh_search &search;
    psvd_pair_stage<WARPS> &stage;
    near_leaves &near;
    lbvh_box own; // NaN in lanes without a leaf
    uint32_t count, held, tested;

    __device__ __forceinline__ void put(uint32_t place, const lbvh_box &box) {
        near.low[place] = box.low;
        near.high[place] = box.high;
    }

    __device__ __forceinline__ void add(bool hit, const lbvh_box &box) {
        const unsigned mask = __ballot_sync(PSVD_FULL, hit);
        if (hit) put(count + __popc(mask & ((1u << (threadIdx.x & 31)) - 1)), box);
        count += __popc(mask);
        __syncwarp();
        if (count < 32) return;
        count -= 32;
        test(count, 32, PSVD_FULL);
    }

    // The leaves collected at [first, first + n), n at most 32, against the lanes' own; `wanted` says which of them
    // count for the lane.
    __device__ __forceinline__ void test(uint32_t first, uint32_t n, uint32_t wanted) {
        uint32_t hits = 0;
#pragma unroll 4
        for (uint32_t s = 0; s < n; ++s) {
            const float4 low = near.low[first + s], high = near.high[first + s];
            hits |= overlap(own, low, high) ? 1u << s : 0u;
        }
        hits &= wanted;
        tested += own.low.x == own.low.x ? n : 0;
        if constexpr (ASKS) hits = pairs_of(first, hits);
        emit(first, hits);
        __syncwarp(); // all have read what may be overwritten now
    }

    // Those of the lane's hits that are pairs by flags, sets, worlds, filters and rules.
    __device__ __forceinline__ uint32_t pairs_of(uint32_t first, uint32_t hits) {
        const uint32_t slot = __float_as_uint(own.low.w), tag = __float_as_uint(own.high.w);
        for (uint32_t left = hits; left != 0; left &= left - 1) {
            const uint32_t at = first + __ffs((int)left) - 1;
            if (!psvd_slots_pair<ASKS>(search.input, search.counts, slot, tag, __float_as_uint(near.low[at].w),
                                       __float_as_uint(near.high[at].w)))
                hits ^= left & (0 - left);
        }
        return hits;
    }

    // The lane's hits go behind those of the lanes before it. All lanes together.
    __device__ __forceinline__ void emit(uint32_t first, uint32_t hits) {
        if (!__any_sync(PSVD_FULL, hits != 0)) return;
        const uint32_t slot = __float_as_uint(own.low.w), up_to = psvd_sum_up_to(__popc(hits));
        const uint32_t total = __shfl_sync(PSVD_FULL, up_to, 31);
        if (total <= PSVD_WARP_PAIRS) {
            stage.make_room(search.sink, total, &held);
            for (uint32_t at = held + up_to - __popc(hits); hits != 0; hits &= hits - 1, ++at)
                *stage.room(at) =
                    psvd_make_pair(search.sink, slot, __float_as_uint(near.low[first + __ffs((int)hits) - 1].w));
            held += total;
            return;
        }
        for (; __any_sync(PSVD_FULL, hits != 0); hits &= hits - 1) {
            const bool hit = hits != 0;
            const uint32_t other = hit ? __float_as_uint(near.low[first + __ffs((int)hits) - 1].w) : 0;
            stage.emit_together(search.sink, hit, slot, other, &held);
        }
    }

    // A group, or a piece of one: its leaves, and the box to search for.
    __device__ __forceinline__ void begin(lbvh_search *target, uint32_t name, uint32_t boxes) {
        const uint32_t leaves = leaves_of(name), first = (name & LBVH_NUMBER) * leaves;
        const uint32_t i = first / 32 * 32 + (threadIdx.x & 31), runs = (boxes + 7) / 8;
        own.low = own.high = make_float4(NAN, NAN, NAN, 0);
        if (i >= first && i < min(first + leaves, boxes)) own = load_run(target->memory, 0, i);
        lbvh_box all = load_run(target->memory, leaves == 1 ? 0 : 1, leaves == 1 ? first : first / 8);
        for (uint32_t run = first / 8 + 1; run < min((first + leaves + 7) / 8, runs); ++run) {
            const lbvh_box box = load_run(target->memory, 1, run);
            all.low.x = fminf(all.low.x, box.low.x), all.high.x = fmaxf(all.high.x, box.high.x);
            all.low.y = fminf(all.low.y, box.low.y), all.high.y = fmaxf(all.high.y, box.high.y);
            all.low.z = fminf(all.low.z, box.low.z), all.high.z = fmaxf(all.high.z, box.high.z);
        }
        target->own = all;
        target->name = name;
    }

    // Where the curve jumps, from one cluster to the next, say, the box around a group is mostly empty, and would be
    // searched for long. Which of the group's four runs reach much farther than the least of them: bits 0 to 3; bit 4:
    // the group does. All lanes together.
    __device__ __forceinline__ uint32_t far_reaching(const lbvh_search &search, uint32_t number, uint32_t boxes) const {
        const uint32_t lane = threadIdx.x & 31, run = number * 4 + lane;
        const bool here = lane == 4 || (lane < 4 && run < (boxes + 7) / 8);
        lbvh_box box = search.own;
        if (here && lane < 4) box = load_run(search.memory, 1, run);
        const float reach = box.high.x - box.low.x + (box.high.y - box.low.y) + (box.high.z - box.low.z);
        const uint32_t least = psvd_reduce_min(here ? __float_as_uint(reach) : 0xffffffffu);
        return __ballot_sync(PSVD_FULL, here && !(reach <= LBVH_FAR * __uint_as_float(least)));
    }

    // All threads of the block together, at the end.
    __device__ __forceinline__ void finish(uint64_t *candidates) {
        stage.hold(search.sink, held);
        stage.finish(search.sink);
        psvd_warp_add(candidates, tested);
    }
};

// Searches for group `number`, if there is one. All lanes together.
template <bool ASKS, int WARPS>
__device__ __forceinline__ void lbvh_walk_group(lbvh_search &search, lbvh_group<ASKS, WARPS> &group, uint32_t number,
                                                uint32_t boxes, uint32_t *stack) {
    const psvi_lbvh_memory &memory = search.memory;
    const uint32_t lane = threadIdx.x & 31;
    if (number * 32ull >= boxes) return;
    group.begin(&search, number, boxes);
    group.put(lane, group.own);
    __syncwarp();
    group.test(0, 32, ~((2u << lane) - 1)); // with the later ones of the group itself
    search.begin = min(number * 32 + 32, boxes);
    search.end = boxes;
    if (memory.world_bits != 0) {
        const uint32_t world = memory.keys[search.begin - 1] >> memory.place_bits;
        search.end = world_begin(memory, boxes, world + 1);
    }
    const uint32_t far = group.far_reaching(search, number, boxes);
    for (uint32_t leaf = number * 32; leaf < search.begin;) {
        if (far != 0)
            group.begin(&search, far >> (leaf / 8 & 3) & 1 ? LBVH_LEAF_NAME | leaf : LBVH_RUN_NAME | leaf / 8, boxes);
        (void)run_search(search, group, stack, LBVH_STEPS);
        group.test(0, group.count, PSVD_FULL);
        group.count = 0;
        leaf += leaves_of(search.name);
    }
}

// A part of a long search. All lanes together.
template <bool ASKS, int WARPS>
__device__ __forceinline__ void lbvh_walk_part(lbvh_search &search, lbvh_group<ASKS, WARPS> &group,
                                               const psvi_lbvh_part &part, uint32_t boxes, uint32_t *stack) {
    group.begin(&search, part.name, boxes);
    search.begin = part.first, search.end = part.end;
    (void)run_search(search, group, stack, 0);
    group.test(0, group.count, PSVD_FULL);
    group.count = 0;
}

// How many parts the walk has put into the queue.
__device__ __forceinline__ uint32_t lbvh_walk_parts(const psvi_lbvh_memory &memory) {
    return (uint32_t)min(*(volatile uint64_t *)&memory.plan->parts, (uint64_t)min(memory.part_room, LBVH_WALK_PARTS));
}

#endif
