// What a sweep may cost before the frame is the tree's.
//
// A warp knows how many tests a look costs before it makes them: they are differences of starts. What looks cost beyond
// those of an even scene it adds to the frame's sum, and asks whether that is over what the tree would take. Then all
// warps end, and the launch behind the sweep finds the pairs by the tree instead; what was found before counts for
// nothing. So a sweep costs at most the even part, ROWS_BOUND_* and one step for each warp.
#ifndef PAIRSIEVE_COLLISION_ROWS_BOUND_CUH
#define PAIRSIEVE_COLLISION_ROWS_BOUND_CUH

#include "../../common.cuh"
#include "../rows_kernels.h"

// Is the frame the tree's by now?
__device__ __forceinline__ bool rows_is_over(const psvi_rows_bound &bound) {
    return *(const volatile uint32_t *)&bound.over != 0;
}

// Adds to the frame's sum what a warp will spend; the frame is the tree's if that, or `all` that the warp spends, is
// too much. A test that finds a pair is no waste. One lane; returns whether the warp has to end.
static __device__ __noinline__ bool rows_tell_spending(psvi_rows_bound *bound, const psvi_frame_result *result,
                                                       uint64_t boxes, uint32_t told, uint32_t all) {
    const uint64_t pairs = *(const volatile uint64_t *)&result->pair_count;
    const uint64_t spent =
        told + atomicAdd(reinterpret_cast<unsigned long long *>(&bound->spent), (unsigned long long)told);
    if (rows_is_over(*bound)) return true;
    if (bound->unbounded != 0) return false;
    if (spent <= bound->times * (ROWS_BOUND_FRAME + ROWS_BOUND_BOX * boxes) + ROWS_BOUND_PAIR * pairs &&
        all <= bound->times * (ROWS_BOUND_WARP + boxes / ROWS_BOUND_WARP_BOXES))
        return false;
    *(volatile uint32_t *)&bound->over = 1;
    return true;
}

// The warp is about to spend `tests`, of all its lanes; `all`: what it has spent. Returns whether it has to end before
// it does. All lanes together, with the same numbers.
__device__ __forceinline__ bool rows_spend(psvi_rows_bound *bound, const psvi_frame_result *result, uint64_t boxes,
                                           uint32_t tests, uint32_t *all) {
    const uint32_t before = *all / ROWS_BOUND_STEP;
    *all += tests;
    const uint32_t steps = *all / ROWS_BOUND_STEP - before;
    if (steps == 0) return false;
    bool over = false;
    if ((threadIdx.x & 31) == 0) over = rows_tell_spending(bound, result, boxes, steps * ROWS_BOUND_STEP, *all);
    return __shfl_sync(PSVD_FULL, over, 0);
}

// Tests of a look of 32 boxes: lanes go through what is short each on its own, and wait for the longest; through what
// is long all together. What an even scene takes is free.
__device__ __forceinline__ uint32_t rows_look_cost(uint32_t own, uint32_t together) {
    const uint32_t most = psvd_reduce_max(min(own, 1u << 20));
    const uint32_t cost = 32 * most + psvd_reduce_add(min(together, 1u << 24));
    return cost > ROWS_BOUND_FREE ? cost - ROWS_BOUND_FREE : 0;
}

#endif
