// What the sweeps over rounded boxes, uniform and mixed, hold back in shared memory: pairs, and pairs in doubt.
//
// MEMORY is the kernel's own: MEMORY::block() is the block's shared memory, with `stage` for pairs and a word of
// `tested`, `longest` and `doubted` for each warp; MEMORY::doubt() are the calling warp's pairs in doubt, as slots.
// They are functions, not pointers that are handed on: the compiler then knows that all of it is shared memory.
#ifndef PAIRSIEVE_COLLISION_ROWS_HELD_CUH
#define PAIRSIEVE_COLLISION_ROWS_HELD_CUH

#include "rows_cells.cuh"

// What a warp holds back, and how many places it has looked at.
struct rows_held_tally {
    uint32_t pairs, doubts, tested, longest, doubted;
};

// Of pairs of one set.
__device__ __forceinline__ psvd_sink rows_sink(const psvi_find_input &input) {
    return psvd_sink{input.pairs, reinterpret_cast<unsigned long long *>(&input.result->pair_count), input.capacity, 0,
                     false PSVD_RULES_OF(input)};
}

// Tests the pairs in doubt. All lanes together; returns how many pairs the warp holds then.
template <typename MEMORY>
static __device__ __noinline__ uint32_t rows_settle_doubts(const psvi_find_input &input, uint32_t doubts,
                                                           uint32_t held) {
    const psvd_sink sink = rows_sink(input);
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll 1
    for (uint32_t n = lane; n - lane < doubts; n += 32) {
        uint2 pair = make_uint2(0, 0);
        bool hit = false;
        if (n < doubts) {
            pair = MEMORY::doubt()[n];
            const psvd_box one = psvd_load_box(input.a, pair.x), two = psvd_load_box(input.a, pair.y);
            hit = one.min[0] <= two.max[0] && two.min[0] <= one.max[0] && one.min[1] <= two.max[1] &&
                  two.min[1] <= one.max[1] && one.min[2] <= two.max[2] && two.min[2] <= one.max[2];
        }
        MEMORY::block().stage.emit_together(sink, hit, pair.x, pair.y, &held);
    }
    __syncwarp();
    return held;
}

// Writes the pairs that the warp holds. All lanes together.
template <typename MEMORY>
static __device__ __noinline__ void rows_write_pairs(const psvi_find_input &input, uint32_t held) {
    const psvd_sink sink = rows_sink(input);
    const uint32_t lane = threadIdx.x & 31;
    const psv_pair *const from = MEMORY::block().stage.room(0);
    unsigned long long at = 0;
    MEMORY::block().stage.keep_allowed(sink, &held);
    if (lane == 0) at = atomicAdd(sink.counter, (unsigned long long)held);
    at = __shfl_sync(PSVD_FULL, at, 0);
    if (at + held <= sink.capacity && (reinterpret_cast<uintptr_t>(sink.pairs) & 7) == 0) {
        uint2 *const to = reinterpret_cast<uint2 *>(sink.pairs + at);
#pragma unroll 2
        for (uint32_t i = lane; i < held; i += 32)
            to[i] = make_uint2(from[i].a, from[i].b);
    } else {
        MEMORY::block().stage.write(sink, threadIdx.x >> 5, held, at);
    }
    __syncwarp();
}

// Makes room for what the next hits bring, HITS at most. All lanes together.
template <typename MEMORY, int HITS>
__device__ __forceinline__ void rows_make_room(const psvi_find_input &input, rows_held_tally *tally) {
    if (tally->doubts >= 32) {
        tally->pairs = rows_settle_doubts<MEMORY>(input, tally->doubts, tally->pairs);
        tally->doubted += tally->doubts;
        tally->doubts = 0;
    }
    if (tally->pairs >= HITS) {
        rows_write_pairs<MEMORY>(input, tally->pairs);
        tally->pairs = 0;
    }
}

// What the warps of a block have come to.
struct rows_block_sum {
    unsigned long long tested, doubted;
};

// Writes what the block's warps hold, and adds up their tallies: the places looked at and the longest run to the
// frame's result. All threads of the block; the sum is known to thread 0.
template <typename MEMORY, int WARPS>
__device__ __forceinline__ rows_block_sum rows_finish_block(const psvi_find_input &input,
                                                            const rows_held_tally &tally) {
    auto &shared = MEMORY::block();
    const uint32_t warp = threadIdx.x >> 5, longest = psvd_reduce_max(tally.longest);
    const uint32_t low = psvd_reduce_add(tally.tested & 0xffffu), high = psvd_reduce_add(tally.tested >> 16);
    if ((threadIdx.x & 31) == 0) {
        shared.tested[warp] = ((unsigned long long)high << 16) + low;
        shared.longest[warp] = longest;
        shared.doubted[warp] = tally.doubted;
    }
    shared.stage.hold(rows_sink(input), tally.pairs);
    shared.stage.finish(rows_sink(input));
    rows_block_sum sum = {0, 0};
    if (threadIdx.x != 0) return sum;
    uint32_t most = 0;
    for (uint32_t w = 0; w < WARPS; ++w) {
        sum.tested += shared.tested[w];
        sum.doubted += shared.doubted[w];
        most = max(most, shared.longest[w]);
    }
    atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->candidates), sum.tested);
    if (most > *(volatile uint64_t *)&input.result->longest_range)
        atomicMax(reinterpret_cast<unsigned long long *>(&input.result->longest_range), (unsigned long long)most);
    return sum;
}

#endif
