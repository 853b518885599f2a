// The larger boxes of a plan whose larger boxes look down.
//
// Nearly all boxes of such a plan are of the first level, and look at that alone. Those of the other levels look at all
// finer ones, and forward in their own. A large box goes through the rows that it covers, and nearly all that it finds
// there are pairs. So a few large boxes cost what their pairs cost, and the many small ones nothing; looking up, every
// small one would look at every level that there is.
#ifndef PAIRSIEVE_COLLISION_ROWS_LARGER_CUH
#define PAIRSIEVE_COLLISION_ROWS_LARGER_CUH

#include "../rows_rounded.cuh"
#include "rows_bound.cuh"

// Where the slot of a place's box is, whatever the sort has written.
struct rows_slots {
    const uint32_t *first; // of place 0
    uint32_t stride;       // words from one place to the next
    uint32_t mask;         // bits of the slot
};

// Slots of places that have records.
__device__ __forceinline__ rows_slots rows_slots_of(const float4 *records) {
    return rows_slots{reinterpret_cast<const uint32_t *>(records) + 6, 8, ~0u};
}

struct rows_larger_tables {
    rows_slots slots;
    const uint32_t *starts;
};

__device__ __forceinline__ bool rows_may_look_down(uint32_t down, uint32_t larger, uint64_t boxes) {
    return (down != 0) & ((uint64_t)larger * (ROWS_DOWN_LARGER / 2) <= boxes);
}

// Do the larger boxes look down in this frame? There have to be few of them, whatever the plan thought. The same in all
// kernels of a frame that ask behind the keys.
__device__ __forceinline__ bool rows_looks_down(const psvi_rows_plan *plan, uint64_t boxes) {
    return rows_may_look_down(plan->down, plan->larger, boxes);
}

// Boxes of the first level, which lie in front.
__device__ __forceinline__ uint32_t rows_base_boxes(const psvi_rows_plan *plan, const uint32_t *starts) {
    return starts[plan->level[0].set_cells];
}

// A box of the frame's set by its place, with its tag; it takes part.
__device__ __forceinline__ psvd_record rows_load_place(const psvi_find_input &input, const psvi_rows_plan &plan,
                                                       const rows_larger_tables &tables, uint32_t place) {
    const uint32_t slot = tables.slots.first[(uint64_t)place * tables.slots.stride] & tables.slots.mask;
    const uint32_t flags = input.a.flags == NULL ? 0u : __ldg(input.a.flags + slot);
    return rows_record(plan, psvd_load_box(input.a, slot), slot, flags & PSV_BOX_STATIC ? PSVD_TAG_STATIC : 0u);
}

// A lane's run of places that a larger box looks at.
struct rows_larger_run {
    uint32_t start, count;
    bool check_owner; // a pair with them may belong to either box
};

// A larger box with a run for each lane; all lanes go through all of them side by side, two places at a time. Returns
// how many places there were.
template <int WARPS>
__device__ __forceinline__ uint32_t rows_sweep_runs(const psvi_find_input &input, const psvi_rows_plan &plan,
                                                    const rows_larger_tables &tables, const psvd_sink &sink,
                                                    const psvd_record &own, uint32_t own_place,
                                                    const rows_larger_run &its, psvd_pair_stage<WARPS> *stage,
                                                    uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31, up_to = psvd_sum_up_to(its.count), all = __shfl_sync(PSVD_FULL, up_to, 31);
    const uint32_t before = its.start - (up_to - its.count); // the n-th place of all is that far behind it
    const unsigned checked = __ballot_sync(PSVD_FULL, its.check_owner);
#pragma unroll 1
    for (uint32_t first = 0; first < all; first += 64) {
        uint32_t place[2], run[2] = {0, 0};
        psvd_record other[2];
        bool hit[2] = {false, false};
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint32_t n = first + lane + 32 * i;
#pragma unroll
            for (uint32_t step = 16; step > 0; step >>= 1)
                if (__shfl_sync(PSVD_FULL, up_to, run[i] + step - 1) <= n) run[i] += step;
            place[i] = __shfl_sync(PSVD_FULL, before, run[i]) + n;
        }
#pragma unroll
        for (int i = 0; i < 2; ++i)
            if (first + lane + 32 * i < all) {
                other[i] = rows_load_place(input, plan, tables, place[i]);
                hit[i] = true;
            }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            uint32_t slot = 0;
            if (hit[i]) {
                slot = __float_as_uint(other[i].second.z);
                hit[i] = overlaps(own, other[i]) &&
                         rows_may_pair(input, plan, own, own_place, other[i], place[i], checked >> run[i] & 1);
            }
            stage->emit_together(sink, hit[i], __float_as_uint(own.second.z), slot, held);
        }
    }
    return all;
}

// A part of the rows that a larger box looks at, in its own level and in all finer ones. `rows` of them come at a time,
// a lane each, beginning with the part's first and going on behind those of the other parts.
template <int WARPS>
__device__ __forceinline__ uint32_t rows_sweep_part(const psvi_find_input &input, const psvi_rows_plan &plan,
                                                    const rows_larger_tables &tables, const psvd_sink &sink,
                                                    uint32_t own_place, uint32_t own_level, uint32_t part,
                                                    uint32_t parts, uint32_t rows, psvd_pair_stage<WARPS> *stage,
                                                    uint32_t *held, psvi_rows_bound *bound, uint32_t *spent) {
    const psvd_record own = rows_load_place(input, plan, tables, own_place);
    const uint32_t lane = threadIdx.x & 31, levels = plan.populated & ((2u << own_level) - 1);
    uint32_t tested = 0;
#pragma unroll 1
    for (uint32_t first = part * rows;; first += parts * rows) {
        rows_interval run[2] = {{0, 0}, {0, 0}}; // the second one where the row goes around its end
        bool own_row = false, check_owner = false;
        uint32_t before = 0; // rows of the levels before
#pragma unroll 1
        for (uint32_t left = levels; left != 0; left &= left - 1) {
            const uint32_t at = __ffs(left) - 1, row = first + lane - before;
            const psvi_rows_level &level = plan.level[at];
            const rows_view view = rows_view_of(plan, own, at, 0, at == own_level);
            const uint32_t its = (uint32_t)max(view.rows - view.skipped, 0);
            if (lane < rows && row < its) { // not below 0
                rows_walk walk = rows_walk_from(level, view, 2 * (int32_t)row);
                run[0] = rows_next_interval(level, 0, view, &walk);
                if (walk.second) run[1] = rows_next_interval(level, 0, view, &walk);
                own_row = view.own_row && row == 0;
                check_owner = view.check_owner;
            }
            before += its;
        }
        if (first >= before) break;
        const bool around = __any_sync(PSVD_FULL, run[1].cells > 0);
#pragma unroll 1
        for (int i = 0; i < (around ? 2 : 1); ++i) {
            rows_larger_run its = {0, 0, check_owner};
            if (run[i].cells > 0) {
                its.start = i == 0 && own_row ? own_place + 1 : tables.starts[run[i].first];
                its.count = tables.starts[run[i].first + run[i].cells] - its.start;
            }
            const uint32_t tests = psvd_reduce_add(min(its.count, 1u << 22));
            if (rows_spend(bound, input.result, plan.slots, ROWS_BOUND_LARGER * tests + ROWS_BOUND_LOOK, spent))
                return tested;
            tested += rows_sweep_runs(input, plan, tables, sink, own, own_place, its, stage, held);
        }
    }
    return tested;
}

// How a level's larger boxes are dealt out: parts of each, and rows that a part takes at a time. By the rows of the
// first level that a box may cover; where there are few boxes, each goes to many warps.
struct rows_larger_deal {
    uint32_t parts, rows;
};

__device__ __forceinline__ rows_larger_deal rows_deal_larger(const psvi_rows_plan &plan, uint32_t at, uint32_t boxes) {
    const psvi_rows_level &base = plan.level[0];
    float rows = 1.0f;
    for (int axis = 1; axis < 3; ++axis)
        if (base.cells[axis] > 1)
            rows *=
                fminf((plan.level[at].limit + base.reach[axis]) * base.inverse[axis] + 2.0f, (float)base.cells[axis]);
    const float most = (float)(2 * ROWS_DOWN_FEW);
    const uint32_t few = (uint32_t)fminf(rows / ROWS_DOWN_FEW_ROWS + 1.0f, most);
    if ((uint64_t)few * boxes <= ROWS_DOWN_FEW) return rows_larger_deal{few, ROWS_DOWN_FEW_ROWS};
    const uint32_t once = (uint32_t)fminf(rows / 32.0f + 1.0f, most);
    if ((uint64_t)once * boxes <= 4 * ROWS_DOWN_FEW) return rows_larger_deal{once, 32};
    return rows_larger_deal{(uint32_t)fminf(rows / (16 * ROWS_DOWN_FEW_ROWS) + 1.0f, most), 32};
}

// The pairs of the larger boxes, dealt out to `warps` warps, of which this is the one of number `warp`. All lanes
// together. `held`: pairs in the warp's buffer; returns how many there are then, and how many places it has looked at,
// in one lane.
template <int WARPS>
__device__ __noinline__ uint2 rows_sweep_larger(const psvi_find_input &input, psvi_rows_plan *plan,
                                                const rows_larger_tables &tables, uint32_t warp, uint32_t warps,
                                                psvd_pair_stage<WARPS> *stage, uint32_t held) {
    const psvd_sink sink = psvd_make_sink(input, psvd_read_counts(input));
    uint32_t tested = 0, spent = 0, over = 0; // over: as it was before the last part, so that no warp waits for it
    uint64_t at = warp;
#pragma unroll 1
    for (uint32_t levels = plan->populated & 0xfffeu; levels != 0; levels &= levels - 1) {
        const uint32_t own_level = __ffs(levels) - 1;
        const psvi_rows_level &level = plan->level[own_level];
        const uint32_t first = tables.starts[level.base], boxes = tables.starts[level.base + level.set_cells] - first;
        const rows_larger_deal deal = rows_deal_larger(*plan, own_level, boxes);
        const uint64_t tasks = (uint64_t)boxes * deal.parts;
#pragma unroll 1
        for (; at < tasks && over == 0; at += warps) {
            const uint32_t now_over = *(const volatile uint32_t *)&plan->bound.over;
            tested +=
                rows_sweep_part(input, *plan, tables, sink, first + (uint32_t)(at / deal.parts), own_level,
                                (uint32_t)(at % deal.parts), deal.parts, deal.rows, stage, &held, &plan->bound, &spent);
            over = now_over;
        }
        if (at < tasks) break; // the frame is the tree's
        at -= tasks;
    }
    return make_uint2(held, (threadIdx.x & 31) == 0 ? tested : 0u);
}

#endif
