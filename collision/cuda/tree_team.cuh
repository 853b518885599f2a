// Eight lanes of a warp that make one node of a tree, one child each.
#ifndef PAIRSIEVE_TREE_TEAM_CUH
#define PAIRSIEVE_TREE_TEAM_CUH

#include "../src/queries/tree_internal.h"

struct psvi_lane_child {
    float min[3], max[3]; // min > max: nothing is in it
    uint32_t offset;      // as psvi_tree_child
    bool inner;
};

__device__ __forceinline__ float psvi_least_of_eight(unsigned mask, float v) {
    for (int step = 1; step < 8; step *= 2)
        v = fminf(v, __shfl_xor_sync(mask, v, step));
    return v;
}

// The slot of each lane's child, as psvi_choose_slots gives it.
__device__ __forceinline__ uint32_t psvi_choose_slot(unsigned mask, const float centre[3], uint32_t count) {
    const uint32_t lane = threadIdx.x & 7;
    float extent[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const float low = psvi_least_of_eight(mask, lane < count ? centre[axis] : INFINITY);
        const float high = -psvi_least_of_eight(mask, lane < count ? -centre[axis] : INFINITY);
        extent[axis] = high - low;
    }
    const int first = extent[0] >= extent[1] && extent[0] >= extent[2] ? 0 : extent[1] >= extent[2] ? 1 : 2;
    const int a = first == 2 ? 0 : first + 1, b = a == 2 ? 0 : a + 1;
    const bool straight = psv_pick(extent, (uint32_t)a) >= psv_pick(extent, (uint32_t)b);
    uint32_t slot = 0;
#pragma unroll
    for (int step = 0; step < 3; ++step) {
        const uint32_t axis = (uint32_t)(step == 0 ? first : (step == 1) == straight ? a : b);
        const float own = psv_pick(centre, axis);
        uint32_t rank = 0, group = 0;
        for (uint32_t j = 0; j < 8; ++j) {
            const float other = __shfl_sync(mask, own, (int)j, 8);
            const bool same = __shfl_sync(mask, slot, (int)j, 8) == slot && j < count;
            group += same;
            rank += same && (other < own || (other == own && j < lane));
        }
        slot |= rank >= (group + 1) / 2 ? 1u << axis : 0u;
    }
    return slot;
}

// A cheaper choice of slots: a child gets the slot of the octant in which its centre lies, if no child before it has;
// the others get those that are left.
__device__ __forceinline__ uint32_t psvi_quick_slot(unsigned mask, const float centre[3], const float low[3],
                                                    const float high[3], uint32_t count) {
    const uint32_t lane = threadIdx.x & 7, before = (1u << lane) - 1, all = (1u << count) - 1;
    uint32_t octant = 0, same = all;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const bool upper = centre[axis] > 0.5f * psv_tree_clamp(low[axis]) + 0.5f * psv_tree_clamp(high[axis]);
        const uint32_t uppers = __ballot_sync(mask, upper) >> (threadIdx.x & 24) & 0xffu;
        octant |= (uint32_t)upper << axis;
        same &= upper ? uppers : ~uppers;
    }
    const bool first = lane < count && (same & before) == 0;
    const uint32_t firsts = __ballot_sync(mask, first) >> (threadIdx.x & 24) & 0xffu;
    uint32_t taken = first ? 1u << octant : 0u;
    for (int step = 1; step < 8; step *= 2)
        taken |= __shfl_xor_sync(mask, taken, step);
    if (first) return octant;
    uint32_t left = ~taken;
    for (uint32_t skipped = (uint32_t)__popc(all & ~firsts & before); skipped > 0; --skipped)
        left &= left - 1;
    return psv_low_bit(left) & 7u;
}

// The lanes of `mask` make a node of their children, in shared memory, but for first_child, first_item and parent. The
// box of all is in their registers then. `count` of them have a child, the lowest lanes.
template <bool QUICK>
__device__ __forceinline__ void psvi_make_team_node(unsigned mask, psvi_lane_child &child, uint32_t count,
                                                    psv_tree_node *node) {
    const uint32_t lane = threadIdx.x & 7;
    const bool here = lane < count && child.min[0] <= child.max[0];
    float centre[3], low[3], high[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        low[axis] = psvi_least_of_eight(mask, here ? child.min[axis] : INFINITY);
        high[axis] = -psvi_least_of_eight(mask, here ? -child.max[axis] : INFINITY);
        centre[axis] = psv_tree_clamp(child.min[axis]) * 0.5f + psv_tree_clamp(child.max[axis]) * 0.5f;
    }
    const uint32_t slot =
        QUICK ? psvi_quick_slot(mask, centre, low, high, count) : psvi_choose_slot(mask, centre, count);
    const bool empty = low[0] > high[0];
    uint8_t *const lows = reinterpret_cast<uint8_t *>(node->low), *const highs =
                                                                      reinterpret_cast<uint8_t *>(node->high);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) { // what no child is in
        lows[8 * axis + lane] = 255;
        highs[8 * axis + lane] = 0;
    }
    __syncwarp(mask);
    uint32_t grid = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        uint32_t exponent, from, to;
        const float origin = psvi_make_grid(empty ? 0.0f : psv_tree_clamp(low[axis]),
                                            empty ? 0.0f : psv_tree_clamp(high[axis]), &exponent);
        grid |= exponent << (8 * axis);
        if (lane == 0) node->origin[axis] = origin;
        if (here) {
            psvi_grid_interval(psv_tree_clamp(child.min[axis]), psv_tree_clamp(child.max[axis]), origin, exponent,
                               &from, &to);
            lows[8 * axis + slot] = (uint8_t)from;
            highs[8 * axis + slot] = (uint8_t)to;
        }
        child.min[axis] = low[axis];
        child.max[axis] = high[axis];
    }
    uint32_t order = lane < count ? child.offset << (3 * slot) | (here ? 1u << (24 + slot) : 0u) : 0u;
    uint32_t slots = lane < count && child.inner ? 1u << (24 + slot) : 0u;
    for (int step = 1; step < 8; step *= 2) {
        order |= __shfl_xor_sync(mask, order, step);
        slots |= __shfl_xor_sync(mask, slots, step);
    }
    if (lane == 0) {
        node->grid = grid | slots;
        node->order = order;
    }
}

// Writes the finished node; it is in shared memory.
__device__ __forceinline__ void psvi_store_team_node(unsigned mask, const psvi_tree_memory &memory, uint32_t number,
                                                     const psv_tree_node *node) {
    const uint32_t lane = threadIdx.x & 7;
    __syncwarp(mask);
    if (lane < 5) reinterpret_cast<uint4 *>(memory.nodes + number)[lane] = reinterpret_cast<const uint4 *>(node)[lane];
}

// Writes the node's box, which all lanes have.
__device__ __forceinline__ void psvi_store_team_box(const psvi_tree_memory &memory, uint32_t number,
                                                    const psvi_lane_child &box) {
    const uint32_t lane = threadIdx.x & 7;
    if (lane < 6)
        __stcg(memory.boxes[number].min + lane, lane < 3 ? psv_pick(box.min, lane) : psv_pick(box.max, lane - 3));
}

// The box of node `number`, which another block may have written behind a fence.
__device__ __forceinline__ void psvi_load_node_box(const psvi_tree_memory &memory, uint32_t number,
                                                   psvi_lane_child &child) {
    const float *box = memory.boxes[number].min;
    for (int k = 0; k < 3; ++k) {
        child.min[k] = __ldcg(box + k);
        child.max[k] = __ldcg(box + 3 + k);
    }
}

// Counts the team's arrival at a node that waits for `siblings` teams: true for the last of them, which sees what the
// others wrote. The counter is put back for the next build.
__device__ __forceinline__ bool psvi_last_of_team(unsigned mask, uint32_t *counter, uint32_t siblings) {
    __threadfence();
    __syncwarp(mask);
    uint32_t arrived = 0;
    if ((threadIdx.x & 7) == 0) {
        arrived = atomicAdd(counter, 1u) + 1;
        if (arrived == siblings) *counter = 0;
    }
    if (__shfl_sync(mask, arrived, 0, 8) != siblings) return false;
    __threadfence();
    return true;
}

#endif
