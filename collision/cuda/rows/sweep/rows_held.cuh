// What the uniform sweep holds back in shared memory: pairs, and pairs in doubt.
//
// MEMORY is the kernel's own. MEMORY::block() is the block's shared memory, with `stage` for pairs and a word of
// `tested`, `longest` and `doubted` for each warp. MEMORY::doubt() are the calling warp's pairs in doubt, as slots.
// They are functions, not pointers that are handed on: the compiler then knows that all of it is shared memory.
#ifndef PAIRSIEVE_COLLISION_ROWS_HELD_CUH
#define PAIRSIEVE_COLLISION_ROWS_HELD_CUH

#include "../rows_rounded.cuh"
#include "rows_lane_ops.cuh"

#define ROWS_SURE (2u | 2u << 10 | 2u << 20) // a difference of at least this much outlasts the rounding of both ends

// MEMORY of a kernel whose dynamic shared memory is a SHARED, with `work` for each warp.
template <typename SHARED> struct rows_held_memory {
    static __device__ __forceinline__ SHARED &block() {
        extern __shared__ __align__(16) unsigned char dynamic[];
        return *reinterpret_cast<SHARED *>(dynamic);
    }
    static __device__ __forceinline__ auto &own() { return block().work[threadIdx.x >> 5]; }
    static __device__ __forceinline__ uint2 *doubt() { return own().doubt; }
};

// A bit for each of four places, from `bit` on, that may overlap the lane's box. PLACE: a rounded box, or an entry that
// begins with one.
template <typename PLACE>
__device__ __forceinline__ uint32_t rows_test_four(const PLACE *at, uint32_t lower, uint32_t upper, uint32_t bit) {
    uint2 other[4];
    uint32_t hits = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        other[i] = *reinterpret_cast<const uint2 *>(at + i);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (rows_may_overlap(lower, upper, other[i].x, other[i].y)) hits |= bit << i;
    return hits;
}

// The same of up to 32 places. Lanes read only what they need, up to four places at a time.
template <typename PLACE>
__device__ __forceinline__ uint32_t rows_test_places(const PLACE *at, uint32_t count, uint32_t lower, uint32_t upper) {
    uint32_t hits = 0;
    if (count > 0) hits = rows_test_four(at, lower, upper, 1u);
    if (count > 4) hits |= rows_test_four(at + 4, lower, upper, 1u << 4);
#pragma unroll 1
    for (uint32_t k = 8; k < min(count, 32u); k += 4)
        hits |= rows_test_four(at + k, lower, upper, 1u) << k;
    return hits & bits_from(0, count);
}

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
