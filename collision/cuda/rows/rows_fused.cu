// `rows` for few boxes in one cooperative launch: keys, counting sort and sweep, one block a multiprocessor, grid
// barriers between the steps. The plan comes from the last frame; one block, which takes no part in the rest, makes the
// next one meanwhile. A frame of another kind or size than the last waits for its own plan. One whose boxes crowd the
// cells of the old plan starts again with its own.
#include <stddef.h>

#include "../launch_cuda.h"
#if !PSVD_RULED
#include "../lbvh_at_once.cuh"
#endif
#include "rows_launch.cuh"
#include "sweep/rows_fused_sweep.cuh"

#define THREADS ROWS_FUSED_THREADS
#define WARPS FUSED_WARPS
#define PLAN_WORDS ((uint32_t)(sizeof(psvi_rows_plan) / 4))

// --- the plan --------------------------------------------------------------------------------------------------------

// The block that plans the next frame. It has read what it needs before it arrives at the first barrier.
static __device__ __noinline__ void plan_ahead(const psvi_find_input &input, const fused_tables &tables,
                                               fused_shared *shared) {
    psvi_rows_fused *const state = tables.state;
    const psvd_counts counts = psvd_read_counts(input);
    const uint32_t frame = __ldcg(&state->frame), next = (frame + 1) & 1;
    const uint64_t candidates = __ldcg(&state->seen[next].candidates); // of the last frame
    const uint32_t crowd = __ldcg(&state->seen[next].crowd), over = __ldcg(&tables.bound->over);
    if (input.times != NULL && threadIdx.x == 0) state->began = rows_now();
    arrive(state, 0, false);
    rows_make_plan(input, counts, tables.most_cells, ROWS_FUSED_CELLS_A_BOX, ROWS_LEVEL_RATIO, true, false,
                   tables.watch, &shared->planning);
    psvi_rows_plan &plan = shared->planning.plan;
    if (threadIdx.x == 0) {
        plan.epoch = frame + 1;
        psvi_rows_watch watch = *tables.watch;
        plan.candidates = 0;
        plan.bound.over |= rows_begins_over(over, shared->planning.scene, &watch);
        watch.last = shared->planning.scene;
        *tables.watch = watch;
        plan.boxes_per_warp = candidates < ROWS_LONG_RANGE * plan.slots ? 32 : 4;
        state->made_for[next] = input.between ? 2 : 1;
        state->crowd[next] = max(2 * min(crowd, 1u << 30), ROWS_FUSED_CROWD);
    }
    __syncthreads();
    const uint32_t *const from = reinterpret_cast<const uint32_t *>(&plan);
    for (uint32_t i = threadIdx.x; i < PLAN_WORDS; i += THREADS)
        reinterpret_cast<uint32_t *>(&state->plan[next])[i] = from[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        *(volatile uint32_t *)&state->ready = frame + 1;
    }
}

// Waits for the plan that is made in this frame and takes it.
static __device__ __noinline__ void take_fresh_plan(const psvi_rows_fused *state, uint32_t frame,
                                                    psvi_rows_plan *plan) {
    if (threadIdx.x == 0)
        while (load_acquire(&state->ready) != frame + 1) {
        }
    __syncthreads();
    const uint32_t *const from = reinterpret_cast<const uint32_t *>(&state->plan[(frame + 1) & 1]);
    for (uint32_t i = threadIdx.x; i < PLAN_WORDS; i += THREADS)
        reinterpret_cast<uint32_t *>(plan)[i] = __ldcg(from + i);
    __syncthreads();
}

// Whether another frame's plan can serve this one. Any plan gives the right pairs; it decides only how fast. But one by
// which the frame is the tree's has to be its own.
__device__ __forceinline__ bool is_usable(const psvi_rows_plan &plan, uint32_t made_for, bool between, uint64_t slots,
                                          uint32_t most_cells) {
    return plan.bound.over == 0 && made_for == (between ? 2 : 1) && plan.cells < most_cells &&
           slots <= 2 * plan.slots + THREADS && plan.slots <= 2 * slots + THREADS;
}

// --- keys ------------------------------------------------------------------------------------------------------------

struct slot_item {
    psvd_box box;
    uint32_t slot, tag;
    psvd_state state;
    uint32_t key, rank; // rank within the cell
};

__device__ __forceinline__ psvd_record record_of(const slot_item &item, const psvi_rows_plan &plan) {
    const int axis_x = plan.axis[0];
    psvd_record record = axis_x == 0   ? psvd_make_record(item.box, 0, 1, 2, item.slot, item.tag)
                         : axis_x == 1 ? psvd_make_record(item.box, 1, 0, 2, item.slot, item.tag)
                                       : psvd_make_record(item.box, 2, 0, 1, item.slot, item.tag);
    record.first.x *= plan.up, record.first.y *= plan.up, record.first.z *= plan.up, record.first.w *= plan.up;
    record.second.x *= plan.up, record.second.y *= plan.up;
    return record;
}

// Loads the block's boxes. All threads.
template <int ITEMS>
__device__ __forceinline__ void load_items(const psvi_find_input &input, const psvd_counts &counts, uint32_t workers,
                                           fused_shared *shared, slot_item *items) {
    const uint32_t all = (uint32_t)counts.all(), share = ((all + workers - 1) / workers + 3) & ~3u;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t index = threadIdx.x + i * THREADS;
        items[i] = slot_item{};
        items[i].slot = blockIdx.x * share + index;
        items[i].state = PSVD_BOX_OFF;
        const bool here = index < share && items[i].slot < all;
        if (__any_sync(PSVD_FULL, here))
            items[i].state = psvd_load_together(input, counts, here, items[i].slot, &items[i].box, &items[i].tag,
                                                shared->pieces[threadIdx.x >> 5]);
    }
}

__device__ __forceinline__ uint32_t cell_of(const psvi_rows_level &level, const psvd_record &box) {
    const uint32_t tag = __float_as_uint(box.second.w);
    const int32_t x = rows_cell(box.first.x, level.origin[0], level.inverse[0], level.cells[0]);
    const int32_t y = rows_cell(box.first.z, level.origin[1], level.inverse[1], level.cells[1]);
    const int32_t z = rows_cell(box.second.x, level.origin[2], level.inverse[2], level.cells[2]);
    return rows_base(level, rows_world(level, tag >> PSVD_TAG_WORLD_SHIFT), rows_wrap(y, level.cells[1]),
                     rows_wrap(z, level.cells[2])) +
           (uint32_t)rows_wrap(x, level.cells[0]) + (tag & PSVD_TAG_SET_B ? level.set_cells : 0u);
}

// Notes the length of a box in the block's plan. All lanes together.
__device__ __forceinline__ void note_length(psvi_rows_plan *plan, bool good, uint32_t level, bool second,
                                            float length) {
    const uint32_t at = good ? level + (second ? ROWS_LEVELS + 1 : 0) : 0, bits = good ? __float_as_uint(length) : 0;
    const uint32_t of = psvd_reduce_max(at);
    if (__all_sync(PSVD_FULL, !good || at == of)) { // one level: one atomic for all
        const uint32_t longest = psvd_reduce_max(bits);
        if ((threadIdx.x & 31) == 0) atomicMax(&plan->longest[of], longest);
    } else if (bits > *(volatile uint32_t *)&plan->longest[at]) {
        atomicMax(&plan->longest[at], bits);
    }
}

template <bool LOCAL> __device__ __forceinline__ uint32_t count_in(uint32_t *counts, uint32_t key, uint32_t boxes) {
    if (!LOCAL) return atomicAdd(&counts[key], boxes);
    const uint32_t shift = key & 1 ? 16 : 0;
    return atomicAdd(&counts[key >> 1], boxes << shift) >> shift & 0xffffu;
}

// Counts a box in its cell; the count before it is its rank. A warp whose boxes all share one cell counts them with one
// atomic. All lanes together.
template <bool LOCAL> __device__ __forceinline__ uint32_t take_rank(uint32_t *counts, uint32_t key, bool good) {
    const uint32_t lane = threadIdx.x & 31, first = __shfl_sync(PSVD_FULL, key, 0);
    if (!__all_sync(PSVD_FULL, good && key == first)) return good ? count_in<LOCAL>(counts, key, 1) : 0;
    uint32_t base = 0;
    if (lane == 0) base = count_in<LOCAL>(counts, key, 32);
    return __shfl_sync(PSVD_FULL, base, 0) + lane;
}

#define TOO_FAR 0xffffffffu // a box is too far away for the plan's scale, and there is no tree

// Cells and ranks of the block's boxes. Returns the greatest rank of this thread's, or TOO_FAR.
template <bool LOCAL, int ITEMS>
__device__ __forceinline__ uint32_t make_keys(const fused_tables &tables, psvi_rows_plan *plan, slot_item *items) {
    uint32_t most = 0;
    bool far = false;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const bool good = items[i].state == PSVD_BOX_GOOD;
        if (!__any_sync(PSVD_FULL, good)) continue;
        const psvd_record box = record_of(items[i], *plan);
        if (good && rows_is_too_far(*plan, box)) *(volatile uint32_t *)&tables.state->too_far = 1, far = true;
        const uint32_t level = good ? fused_level_of(*plan, box) : 0;
        items[i].key = cell_of(plan->level[level], box);
        items[i].rank = take_rank<LOCAL>(tables.counts, items[i].key, good);
        if (!LOCAL) note_length(plan, good, level, items[i].tag & PSVD_TAG_SET_B, __fsub_ru(box.first.y, box.first.x));
        if (good) most = max(most, items[i].rank);
    }
    return LOCAL && far ? TOO_FAR : most;
}

__device__ __forceinline__ void clear_counts(const fused_tables &tables, uint32_t words, uint32_t workers) {
    // The last warps first: they have the least to do otherwise.
    for (uint32_t i = (THREADS - 1 - threadIdx.x) * workers + blockIdx.x; i < (words + 3) / 4; i += workers * THREADS)
        reinterpret_cast<uint4 *>(tables.counts)[i] = make_uint4(0, 0, 0, 0);
}

// --- starts ----------------------------------------------------------------------------------------------------------

// Sum of what the warps before have put into shared->sums.
__device__ __forceinline__ uint32_t sum_before(const fused_shared &shared, uint32_t warp) {
    const uint32_t lane = threadIdx.x & 31;
    return psvd_reduce_add(lane < warp ? shared.sums[min(lane, (uint32_t)WARPS - 1)] : 0u);
}

// Two counts of 16 bits side by side to the sums before each, from `before` on; returns the sum behind both.
__device__ __forceinline__ uint32_t scan_couple(uint32_t *couple, uint32_t before) {
    const uint32_t low = *couple & 0xffffu, high = *couple >> 16;
    *couple = (before & 0xffffu) | (before + low) << 16;
    return before + low + high;
}

// The whole start table of `cells` cells and of the end in shared memory. Each warp scans a run of the counts, 8 cells
// a lane and turn; then the sums of the warps before are added.
__device__ __forceinline__ void scan_locally(const uint32_t *counts, uint32_t cells, fused_shared *shared) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, pieces = cells / 8 + 1;
    const uint32_t turns = (pieces + THREADS - 1) / THREADS, first = warp * turns * 32 + lane;
    const uint4 *const from = reinterpret_cast<const uint4 *>(counts);
    uint4 *const table = reinterpret_cast<uint4 *>(shared->table());
    uint32_t total = 0;
    for (uint32_t turn = 0; turn < turns; turn += 4) {
        uint4 count[4];
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t at = first + (turn + i) * 32;
            count[i] = turn + i < turns && at < pieces ? __ldcg(from + at) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) {
            if (turn + i >= turns) break;
            const uint32_t at = first + (turn + i) * 32;
            const uint32_t couples = count[i].x + count[i].y + count[i].z + count[i].w; // 65,535 boxes at most
            const uint32_t own = (couples & 0xffffu) + (couples >> 16), sum = psvd_sum_up_to(own);
            uint32_t before = scan_couple(&count[i].x, total + sum - own);
            before = scan_couple(&count[i].y, before);
            before = scan_couple(&count[i].z, before);
            (void)scan_couple(&count[i].w, before);
            if (at < pieces) table[at] = count[i];
            total += __shfl_sync(PSVD_FULL, sum, 31);
        }
    }
    if (lane == 0) shared->sums[warp] = total;
    __syncthreads();
    const uint32_t both = sum_before(*shared, warp) * 0x10001u;
    for (uint32_t turn = 0; turn < turns; ++turn) {
        const uint32_t at = first + turn * 32;
        if (at >= pieces) break;
        uint4 starts = table[at];
        starts.x += both, starts.y += both, starts.z += both, starts.w += both;
        table[at] = starts;
    }
    __syncthreads();
}

// The start table in global memory, a tile of at most 4 cells a thread for each block; clears the counts. The blocks
// publish their sums with the frame's number, and each waits for those before it.
__device__ __forceinline__ void scan_together(const fused_tables &tables, uint32_t cells, uint32_t frame,
                                              uint32_t workers, fused_shared *shared) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t tile = (cells / workers / 4 + 1) * 4, at = blockIdx.x * tile + 4 * threadIdx.x;
    const bool here = 4 * threadIdx.x < tile && at <= cells;
    uint4 count = make_uint4(0, 0, 0, 0);
    if (here) {
        count = __ldcg(reinterpret_cast<const uint4 *>(tables.counts + at));
        *reinterpret_cast<uint4 *>(tables.counts + at) = make_uint4(0, 0, 0, 0);
    }
    const uint32_t own = count.x + count.y + count.z + count.w, sum = psvd_sum_up_to(own);
    if (lane == 31) shared->sums[warp] = sum;
    __syncthreads();
    uint32_t before = sum_before(*shared, warp) + sum - own;
    volatile uint64_t *const published = tables.state->sums;
    if (threadIdx.x == THREADS - 1) published[blockIdx.x] = (uint64_t)(frame + 1) << 32 | (before + own);
    uint32_t theirs = 0;
    if (threadIdx.x < blockIdx.x) {
        uint64_t state;
        do
            state = published[threadIdx.x];
        while ((uint32_t)(state >> 32) != frame + 1);
        theirs = (uint32_t)state;
    }
    theirs = psvd_reduce_add(theirs);
    __syncthreads();
    if (lane == 0) shared->sums[warp] = theirs;
    __syncthreads();
    before += sum_before(*shared, WARPS);
    uint4 start;
    start.x = before;
    start.y = start.x + count.x;
    start.z = start.y + count.y;
    start.w = start.z + count.z;
    if (here) *reinterpret_cast<uint4 *>(tables.starts + at) = start;
}

// How many boxes a level has in a set, by the start table: lanes 0 to 15 for set a, the others for set b.
template <bool LOCAL>
__device__ __forceinline__ uint32_t count_level(const fused_tables &tables, const fused_shared &shared, bool between,
                                                const psvi_rows_plan &plan) {
    const uint32_t at = threadIdx.x & 15, set = threadIdx.x >> 4 & 1;
    if (at > plan.levels || (set == 1 && !between)) return 0;
    const psvi_rows_level &level = plan.level[at];
    const uint32_t first = level.base + set * level.set_cells;
    return start_of<LOCAL>(tables, shared, first + level.set_cells) - start_of<LOCAL>(tables, shared, first);
}

// Records to their places, which are noted in place of the keys. Two lanes write the halves of one record together, so
// that a whole sector goes out at once.
template <bool LOCAL, int ITEMS>
__device__ __forceinline__ void scatter(const fused_tables &tables, const fused_shared &shared,
                                        const psvi_rows_plan &plan, slot_item *items) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t start[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        start[i] = items[i].state == PSVD_BOX_GOOD ? start_of<LOCAL>(tables, shared, items[i].key) : 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const bool good = items[i].state == PSVD_BOX_GOOD;
        const uint32_t place = items[i].key = good ? start[i] + items[i].rank : PSVD_FULL;
        if (!__any_sync(PSVD_FULL, good)) continue;
        const psvd_record record = record_of(items[i], plan);
        // The even lane keeps its first half and takes the odd one's; the odd lane the second halves.
        const bool odd = lane & 1;
        const float4 given = odd ? record.first : record.second, kept = odd ? record.second : record.first;
        float4 taken;
        taken.x = __shfl_xor_sync(PSVD_FULL, given.x, 1);
        taken.y = __shfl_xor_sync(PSVD_FULL, given.y, 1);
        taken.z = __shfl_xor_sync(PSVD_FULL, given.z, 1);
        taken.w = __shfl_xor_sync(PSVD_FULL, given.w, 1);
        const uint32_t other = __shfl_xor_sync(PSVD_FULL, place, 1), even_place = odd ? other : place,
                       odd_place = odd ? place : other;
        if (even_place != PSVD_FULL) tables.records[2ull * even_place + odd] = odd ? taken : kept;
        if (odd_place != PSVD_FULL) tables.records[2ull * odd_place + odd] = odd ? kept : taken;
    }
}

// --- statistics ------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void report_shape(const psvi_find_input &input, const psvi_rows_plan &plan, uint32_t boxes,
                                             uint32_t huge) {
    psvi_frame_result *const result = input.result;
    const uint32_t populated = (plan.populated | plan.populated >> 16) & 0xffffu;
    uint64_t rows = 0;
    for (uint32_t level = 0; level <= plan.levels; ++level)
        if (populated >> level & 1)
            rows += (uint64_t)plan.level[level].worlds * plan.level[level].cells[1] * plan.level[level].cells[2];
    result->rows = rows;
    result->levels = __popc(populated);
    result->boxes = boxes;
    result->huge_count = huge;
    result->key_bits = 32 - __clz(plan.cells);
    result->route = input.route;
    result->veto = input.veto;
}

// What the block has seen of lengths and ranks, to global memory.
__device__ __forceinline__ void give_lengths(psvi_rows_seen *seen, const psvi_rows_plan &plan) {
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1) && plan.longest[threadIdx.x] != 0)
        atomicMax(&seen->longest[threadIdx.x], plan.longest[threadIdx.x]);
}

// A length that no box of a level and set exceeds: what all blocks have seen, or with LOCAL what the level allows,
// which costs no waiting. One of the first threads for each.
template <bool LOCAL>
__device__ __forceinline__ uint32_t longest_of(const psvi_rows_seen &seen, const psvi_rows_plan &plan) {
    if (threadIdx.x >= 2 * (ROWS_LEVELS + 1)) return 0;
    if (!LOCAL) return __ldcg(&seen.longest[threadIdx.x]);
    return __float_as_uint(__fmul_ru(plan.level[threadIdx.x % (ROWS_LEVELS + 1)].limit, 1.00001f));
}

// In profiles the first block tells what keys and sort took, the block that plans when they began; what is left of the
// launch is the sweep's.
__device__ __forceinline__ bool is_timed(const psvi_find_input &input) {
    return input.times != NULL && blockIdx.x == 0 && threadIdx.x == 0;
}

// The block's share of the boxes, in the order of their places. Returns whether the sweep has been given up, or is not
// begun, as the frame is the tree's.
template <bool LOCAL, int LANES>
__device__ __forceinline__ bool sweep_block(const sweep_job &job, psvi_rows_seen *seen, uint32_t boxes,
                                            uint32_t workers, sweep_tally *tally) {
    if (!LOCAL && job.plan.bound.over != 0) return true;
    if (job.plan.boxes_per_warp < 32) return sweep_in_turn<LOCAL, 8>(job, &seen->tickets, boxes, workers, tally);
    return !LOCAL && sweep_share<LOCAL, LANES>(job, boxes, workers, tally);
}

// --- the tree --------------------------------------------------------------------------------------------------------

#if !PSVD_RULED
template <bool ASKS>
static __device__ __noinline__ void find_by_tree(const psvi_find_input &input, const psvi_lbvh_at_once &its,
                                                 void *memory) {
    lbvh_at_once::find<ASKS>(input, its, *static_cast<lbvh_at_once::lbvh_once_shared *>(memory));
}

// Behind the sweep of the block: when all blocks have ended theirs, the frame is done, or the tree's if one has given
// up or a box is too far away. All threads of the block.
__device__ __forceinline__ void end_sweep(const psvi_find_input &input, const fused_tables &tables, uint32_t workers,
                                          bool over, fused_shared *shared) {
    over = __syncthreads_or(over);
    if (is_speaker()) {
        const uint32_t begun_over = __ldcg(&tables.bound->over); // set before the last barrier, but for the sweep's own
        const uint32_t own = over ? 1 + FUSED_CROWDED : 1;
        uint32_t done = add_acquire(&tables.bound->done, own) + own;
        while ((done & (FUSED_CROWDED - 1)) < workers)
            done = load_acquire(&tables.bound->done);
        shared->arrived = begun_over | done / FUSED_CROWDED;
    }
    __syncthreads();
    if (shared->arrived == 0 || threadIdx.x >= LBVH_ONCE_THREADS) return;
    if (psvd_overlap_decides(input))
        find_by_tree<false>(input, tables.tree, shared);
    else
        find_by_tree<true>(input, tables.tree, shared);
}
#endif

// --- the kernel ------------------------------------------------------------------------------------------------------

// What the last frame's result says, which is still there.
struct last_frame {
    uint64_t boxes, pairs, tested;
    uint32_t route;
};

__device__ __forceinline__ last_frame read_last(const psvi_frame_result *result) {
    return last_frame{result->boxes, result->pair_count, result->candidates, result->route};
}

// Had it, if it was this kernel's, so many candidates that another route is faster? The first such frame tells nothing:
// its plan may have been made for other boxes. The other route may have turned out to be no better. One thread.
__device__ __forceinline__ void judge_last(const last_frame &last, const fused_tables &tables) {
    bool many = last.route == PSVI_ROWS_TREE;
    if (last.route == PSVI_ROWS_FUSED && last.boxes >= ROWS_FUSED_TOLD && last.pairs <= ROWS_FUSED_PAIRS * last.boxes &&
        last.tested > ROWS_FUSED_MANY * last.boxes + last.pairs)
        many = rows_scenes_differ(tables.state->own, tables.state->watch.last);
    tables.state->many = many ? tables.state->many + 1 : 0;
    if (tables.state->many > 1) *(volatile uint32_t *)tables.told = ++tables.state->failures;
}

// Block 0: this frame's result and the barriers behind the first, which nobody looks at before the first one.
__device__ __forceinline__ void clear_result(const psvi_find_input &input, psvi_rows_fused *state) {
    psvi_frame_result *const result = input.result;
    const bool counted = input.pairs_before != NULL && threadIdx.x < 2; // the words of the first pair's place
    if (threadIdx.x < sizeof *result / 4)
        reinterpret_cast<uint32_t *>(result)[threadIdx.x] =
            counted ? reinterpret_cast<const uint32_t *>(input.pairs_before)[threadIdx.x] : 0;
    if (threadIdx.x > 0 && threadIdx.x < ROWS_FUSED_BARRIERS) *state->barrier[threadIdx.x].arrived = 0;
}

// Block 0, one warp, behind the last barrier: makes ready for the next frame.
__device__ __forceinline__ void end_frame(psvi_rows_fused *state, uint32_t frame) {
    uint32_t *const seen = reinterpret_cast<uint32_t *>(&state->seen[(frame + 1) & 1]);
    for (uint32_t i = threadIdx.x & 31; i < sizeof(psvi_rows_seen) / 4; i += 32)
        seen[i] = 0;
    if ((threadIdx.x & 31) != 0) return;
    *state->barrier[0].arrived = 0;
    state->frame = frame + 1;
}

// Keys with the plan in shared memory, up to the first barrier; once more with a new plan where the old one crowds
// cells. Where a box is too far away for a scale there is none: then all cells are one, in the worst case.
template <bool LOCAL, int ITEMS>
__device__ __forceinline__ void count_boxes(const fused_tables &tables, uint32_t frame, uint32_t crowd, bool fresh,
                                            uint32_t workers, fused_shared *shared, psvi_rows_plan *plan,
                                            slot_item *items) {
    psvi_rows_fused *const state = tables.state;
    uint32_t most = make_keys<LOCAL, ITEMS>(tables, plan, items);
    arrive(state, 0, (!fresh && most >= crowd) || most == TOO_FAR);
    if (wait(state, 0, workers + 1, shared)) {
        clear_counts(tables, LOCAL ? plan->cells / 2 + 1 : plan->cells + 1, workers);
        take_fresh_plan(state, frame, plan);
        if (LOCAL && __ldcg(&state->too_far) != 0) plan->up = 1.0f;
        __syncthreads();
        arrive(state, 1, false);
        (void)wait(state, 1, workers, shared);
        most = make_keys<LOCAL, ITEMS>(tables, plan, items);
        arrive(state, 2, false);
        (void)wait(state, 2, workers, shared);
    }
    if (__any_sync(PSVD_FULL, most >= ROWS_FUSED_CROWD)) {
        most = psvd_reduce_max(most);
        if ((threadIdx.x & 31) == 0) atomicMax(&state->seen[frame & 1].crowd, most);
    }
}

// Boxes to pairs. Every block but the last, which plans, has an equal share of the slots, ITEMS a thread. It counts its
// boxes in their cells, the count before a box being its rank; barrier; the counts become starts, with LOCAL by every
// block for itself, else a tile of cells a block and another barrier; the records go to their places; barrier; the
// sweep. With LOCAL a warp sweeps boxes of its own block, LANES lanes on each, and knows what they look at before the
// last barrier opens. Else, and where boxes have many candidates, it takes boxes in the order of their places. Reads 24
// bytes a box and writes 32, all of it from and to the second-level cache; the sweep as in rows_exact_sweep.cu. Leaves
// the counts, the first barrier and the next frame's `seen` at zero; nothing needs a memset.
template <bool LOCAL, int LANES, int ITEMS>
__global__ void __launch_bounds__(THREADS, 1)
    psvk_rows_fused(const __grid_constant__ psvi_find_input input, const __grid_constant__ fused_tables tables) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    fused_shared &shared = *reinterpret_cast<fused_shared *>(dynamic);
    psvi_rows_fused *const state = tables.state;
    const uint32_t workers = gridDim.x - 1;
    if (blockIdx.x == workers) {
        plan_ahead(input, tables, &shared);
        return;
    }
    // Both plans come along with the number of the frame, which says which one counts.
    const uint4 header = __ldcg(reinterpret_cast<const uint4 *>(state));
    const uint2 crowds = __ldcg(reinterpret_cast<const uint2 *>(state->crowd));
    const uint32_t words =
        threadIdx.x < 2 * PLAN_WORDS ? __ldcg(reinterpret_cast<const uint32_t *>(state->plan) + threadIdx.x) : 0;
    static_assert(2 * PLAN_WORDS <= THREADS, "a thread for each word of the plans");
    const psvd_counts counts = psvd_read_counts(input);
    slot_item items[ITEMS];
    const bool judges = !LOCAL && blockIdx.x == 0 && threadIdx.x == THREADS - 1;
    const last_frame last = judges ? read_last(input.result) : last_frame{};
    load_items<ITEMS>(input, counts, workers, &shared, items);
    if (blockIdx.x == 0) {
        if (judges) judge_last(last, tables);
        __syncthreads(); // it is read
        clear_result(input, state);
        if (!LOCAL) rows_clear_progress(tables.tree.progress);
    }
    if (threadIdx.x < 2 * PLAN_WORDS) reinterpret_cast<uint32_t *>(shared.plans)[threadIdx.x] = words;
    __syncthreads();
    const uint32_t frame = header.x, now = frame & 1;
    psvi_rows_plan &plan = shared.plans[now];
    const bool fresh = !is_usable(plan, now == 0 ? header.z : header.w, input.between, counts.all(), tables.most_cells);
    if (fresh) take_fresh_plan(state, frame, &plan);
    count_boxes<LOCAL, ITEMS>(tables, frame, now == 0 ? crowds.x : crowds.y, fresh, workers, &shared, &plan, items);
    if (is_timed(input)) shared.keyed = rows_now();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        const uint32_t over = plan.bound.over | __ldcg(&state->too_far);
        *tables.bound = psvi_rows_bound{0, LOCAL ? 0 : over, LOCAL, 1, 0, 0};
        state->too_far = 0;
    }
    psvi_rows_seen *const seen = &state->seen[now];
    if (LOCAL) {
        scan_locally(tables.counts, plan.cells, &shared);
    } else {
        give_lengths(seen, plan);
        scan_together(tables, plan.cells, frame, workers, &shared);
        arrive(state, 3, false);
        (void)wait(state, 3, workers, &shared);
    }
    const uint32_t longest = longest_of<LOCAL>(*seen, plan);
    const uint32_t members = threadIdx.x < 32 ? count_level<LOCAL>(tables, shared, input.between, plan) : 0;
    scatter<LOCAL, ITEMS>(tables, shared, plan, items);
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1)) plan.longest[threadIdx.x] = longest;
    if (threadIdx.x < 32) {
        const uint32_t populated = __ballot_sync(PSVD_FULL, members != 0);
        if (threadIdx.x == 0) plan.populated = populated;
    }
    const bool busy = plan.boxes_per_warp < 32, by_slot = LOCAL && !busy;
    fused_work *const work = &shared.work[threadIdx.x >> 5];
    constexpr uint32_t each = 32 / LANES;
    if (by_slot && threadIdx.x < WARPS * each) { // boxes of the block to its warps; none has more than one batch
        fused_work &target = shared.work[threadIdx.x / each];
        const psvd_record own = record_of(items[0], plan);
        target.first[threadIdx.x % each] = own.first;
        target.second[threadIdx.x % each] = own.second;
        target.place[threadIdx.x % each] = items[0].key;
    }
    arrive(state, 4, false);
    const uint32_t boxes = start_of<LOCAL>(tables, shared, plan.cells);
    const sweep_job job = {
        input, tables, plan, &shared, work, psvd_make_sink(input, counts), psvd_overlap_decides(input)};
    sweep_tally tally = {0, 0, 0, 0};
    bool over = false;
    lane_walk walk = {};
    lane_ranges<runs_of(LANES)> ranges = {};
    if (by_slot) { // what to look at is known before the records are there
        walk = begin_walk<LANES>(job);
        look_up<LOCAL, LANES>(job, &walk, &ranges);
    }
    if (blockIdx.x == 0 && threadIdx.x == THREADS - 64)
        report_shape(input, plan, boxes, boxes - start_of<LOCAL>(tables, shared, plan.level[plan.levels].base));
    (void)wait(state, 4, workers, &shared);
    if (is_timed(input))
        rows_tell_times(input.times, shared.keyed - __ldcg(&state->began), rows_now() - shared.keyed, 0);
    if (LOCAL) clear_counts(tables, plan.cells / 2 + 1, workers);
    if (blockIdx.x == 0 && threadIdx.x >= THREADS - 32) end_frame(state, frame);
    if (by_slot)
        (void)sweep_boxes<LOCAL, LANES>(job, &walk, &ranges, &tally);
    else
        over = sweep_block<LOCAL, LANES>(job, seen, boxes, workers, &tally);
    finish_sweep(job, seen, tally);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (items[i].state == PSVD_BOX_BAD) psvd_report_bad(input, counts, items[i].slot);
#if !PSVD_RULED
    if constexpr (!LOCAL)
        if (tables.inside) end_sweep(input, tables, workers, over, &shared);
#endif
}

// --- host ------------------------------------------------------------------------------------------------------------

typedef void fused_kernel(const psvi_find_input, const fused_tables);

static fused_kernel *const kernels[] = {psvk_rows_fused<true, 8, 1>, psvk_rows_fused<true, 4, 1>,
                                        psvk_rows_fused<false, 2, 1>, psvk_rows_fused<false, 1, 1>,
                                        psvk_rows_fused<false, 1, ROWS_ITEMS>};

// Few boxes get several lanes each, as many as there are; `workers` blocks have THREADS lanes each.
static fused_kernel *choose_kernel(uint64_t boxes, uint32_t workers, bool local) {
    const uint64_t lanes = (uint64_t)workers * THREADS;
    if (local) return kernels[8 * boxes <= lanes ? 0 : 1];
    return kernels[2 * boxes <= lanes ? 2 : boxes <= lanes ? 3 : 4];
}

static_assert(sizeof(fused_shared) + 2 * ((2 * ROWS_FUSED_LOCAL) + 16) <= ROWS_FUSED_BYTES,
              "as psvi_rows_fused_blocks has it");

extern "C" cudaError_t psvi_prepare_rows_fused(void) {
    for (fused_kernel *kernel : kernels) {
        const cudaError_t error = rows_allow_shared(kernel, ROWS_FUSED_BYTES);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

extern "C" cudaError_t psvi_launch_rows_fused(const psvi_find_input *input, const psvi_rows_memory *memory,
                                              cudaStream_t stream) {
    const uint32_t workers = memory->fused_blocks - 1;
    const bool local = psvi_rows_fused_is_local(memory, psvi_most_boxes(input));
    fused_kernel *const kernel = choose_kernel(psvi_most_boxes(input), workers, local);
    const uint32_t room = 1u << memory->key_bits, most = local ? (2 * ROWS_FUSED_LOCAL) : workers * (4 * THREADS - 8);
    fused_tables tables = {memory->fused,
                           memory->counted.cell_counts,
                           memory->starts,
                           reinterpret_cast<float4 *>(memory->records),
                           room < most ? room : most,
                           memory->fused_told,
                           &memory->plan->bound,
                           &memory->fused->watch,
                           !local && memory->has_tree && !memory->tree_behind,
                           memory->tree};
    psvi_find_input copy = *input;
    void *arguments[] = {&copy, &tables};
#if !PSVD_RULED
    static_assert(sizeof(lbvh_at_once::lbvh_once_shared) <= sizeof(fused_shared), "the tree has room");
    static_assert(LBVH_ONCE_THREADS <= THREADS, "and threads");
#endif
    const size_t bytes = sizeof(fused_shared) + (local ? 2 * (tables.most_cells + 16) : 0);
    // The untyped form: the typed one takes no pointer that is const before CUDA 13.
    return cudaLaunchCooperativeKernel((const void *)kernel, dim3(memory->fused_blocks), dim3(THREADS), arguments,
                                       bytes, stream);
}
