// The exact sweep of `rows`: every box looks at the boxes of its cells. What the sweeps over rounded boxes do not take.
// Also with the counting sort in front of it in one launch, for the frames that bins did not suit.
#include "../../launch_cuda.h"
#include "../order/rows_counted_tiles.cuh"
#include "../plan/rows_plan.cuh"
#include "../rows_uniform.cuh"
#include "rows_bound.cuh"
#include "rows_lane_walk.cuh"
#include "rows_larger.cuh"

#define LBVH_ONCE_THREADS PSVI_BLOCK_THREADS
#include "../../lbvh_at_once.cuh"

#define WARPS (PSVI_BLOCK_THREADS / 32)

// A warp's boxes, and the ranges of places that each of them has still to be tested against.
struct warp_work {
    float4 first[32], second[32];
    uint2 range[ROWS_INTERVALS][32];
    uint32_t partner[ROWS_HITS][32]; // slots of boxes that pair with the lane's own
};

struct sweep_shared {
    psvi_rows_plan plan;
    unsigned long long batch; // of a warp's boxes for each warp: its number, then how many are taken
    uint32_t begun, done;     // batches that the block has begun, parts that are done
    bool together;            // the block's warps wait for each other before they begin a batch
    warp_work work[WARPS];
    psvd_pair_stage<WARPS> stage;
};

struct rows_tables {
    const float4 *records; // two each
    const uint32_t *starts;
};

struct sweep_job {
    const psvi_find_input &input;
    const rows_tables &tables;
    psvd_sink sink;
    uint32_t first_place; // of the warp's boxes
    bool plain;           // overlap decides alone: no flags, filters, worlds, second set
};

// Places that a lane's box has to be tested against.
struct lane_ranges {
    uint32_t start[ROWS_INTERVALS];
    uint32_t count[ROWS_INTERVALS];
    bool check_owner; // pairs with them may belong to either box
};

// What is left to be asked about two boxes that overlap. Reads them again: it is rarely called, and this way the
// callers need not keep anything for it.
static __device__ __noinline__ bool may_pair(const psvi_find_input &input, const psvi_rows_plan &plan,
                                             const rows_tables &tables, uint32_t own_place, uint32_t place,
                                             bool check_owner) {
    const psvd_record own = {tables.records[2ull * own_place], tables.records[2ull * own_place + 1]};
    const psvd_record other = {tables.records[2ull * place], tables.records[2ull * place + 1]};
    return rows_may_pair(input, plan, own, own_place, other, place, check_owner);
}

// Looks up the next runs of cells of the lane's box.
__device__ __forceinline__ void look_up(const sweep_job &job, const psvi_rows_plan &plan, const warp_work &work,
                                        lane_walk *walk, lane_ranges *ranges) {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i)
        ranges->start[i] = ranges->count[i] = 0;
    ranges->check_owner = false;
    if (!walk->more) return;
    const psvi_rows_level &level = plan.level[walk->level];
    const psvd_record own = {work.first[lane], work.second[lane]};
    const uint32_t world = rows_world(level, __float_as_uint(own.second.w) >> PSVD_TAG_WORLD_SHIFT);
    const rows_view view =
        rows_view_of(plan, own, walk->level, walk->set, !job.input.between && walk->level == walk->own_level);
    rows_walk cursor = rows_walk_from(level, view, walk->run);
    const bool own_row = view.own_row && walk->run == 0;
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i) {
        const rows_interval interval = rows_next_interval(level, world, view, &cursor);
        if (interval.cells > 0) {
            ranges->start[i] = i == 0 && own_row ? job.first_place + lane + 1 : job.tables.starts[interval.first];
            ranges->count[i] = job.tables.starts[interval.first + interval.cells];
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i)
        ranges->count[i] -= ranges->start[i];
    ranges->check_owner = view.check_owner;
    walk->run = 2 * (cursor.row - view.skipped) + (cursor.second ? 1 : 0);
    if (cursor.row >= view.rows) {
        enter_level(plan, walk, walk->level + 1);
    }
}

__device__ __forceinline__ psvd_record load_record(const sweep_job &job, uint32_t place) {
    const float4 *const at = job.tables.records + 2ull * place;
    return psvd_record{at[0], at[1]};
}

// Tests a candidate of the box of lane `owner` and hands over the pair if it is one; `ask`: overlap does not decide
// alone. All lanes together.
__device__ __forceinline__ void test_candidate(const sweep_job &job, sweep_shared *shared, const psvd_record &own,
                                               const psvd_record &other, bool there, bool ask, uint32_t owner,
                                               uint32_t place, bool check_owner, uint32_t *held) {
    bool hit = there && overlaps(own, other);
    if (hit && ask) hit = may_pair(job.input, shared->plan, job.tables, job.first_place + owner, place, check_owner);
    shared->stage.emit_together(job.sink, hit, __float_as_uint(own.second.z), __float_as_uint(other.second.z), held);
}

// The whole warp takes the long ranges of its lanes, one after the other.
__device__ __forceinline__ void sweep_long(const sweep_job &job, sweep_shared *shared, const warp_work &work,
                                           lane_ranges *ranges, uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i) {
        unsigned left = __ballot_sync(PSVD_FULL, ranges->count[i] >= ROWS_LONG_RANGE);
        for (; left != 0; left &= left - 1) {
            const uint32_t owner = __ffs(left) - 1;
            const uint32_t start = __shfl_sync(PSVD_FULL, ranges->start[i], owner);
            const uint32_t end = start + __shfl_sync(PSVD_FULL, ranges->count[i], owner);
            const bool check_owner = __shfl_sync(PSVD_FULL, ranges->check_owner, owner);
            const psvd_record own = {work.first[owner], work.second[owner]};
            const bool ask = check_owner || !job.plain;
            for (uint32_t place = start + lane; place - lane < end; place += 64) {
                const bool there = place < end, also = place + 32 < end;
                const psvd_record one = load_record(job, there ? place : 0),
                                  two = load_record(job, also ? place + 32 : 0);
                test_candidate(job, shared, own, one, there, ask, owner, place, check_owner, held);
                test_candidate(job, shared, own, two, also, ask, owner, place + 32, check_owner, held);
            }
        }
        if (ranges->count[i] >= ROWS_LONG_RANGE) ranges->count[i] = 0;
    }
}

__device__ __forceinline__ uint32_t warp_prefix(uint32_t value, uint32_t *total) {
    uint32_t sum = value;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t before = __shfl_up_sync(PSVD_FULL, sum, step);
        if ((int)(threadIdx.x & 31) >= step) sum += before;
    }
    *total = __shfl_sync(PSVD_FULL, sum, 31);
    return sum - value;
}

// Makes pairs of the partners that the lanes have noted. All lanes together.
__device__ __forceinline__ void hand_over(const sweep_job &job, sweep_shared *shared, const warp_work &work,
                                          uint32_t hits, uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31, slot = __float_as_uint(work.second[lane].z);
    uint32_t total;
    const uint32_t before = warp_prefix(hits, &total);
    if (total == 0) return;
    shared->stage.make_room(job.sink, total, held);
    psv_pair *const room = shared->stage.room(*held + before);
#pragma unroll 1
    for (uint32_t k = 0; k < hits; ++k)
        room[k] = psvd_make_pair(job.sink, slot, work.partner[k][lane]);
    *held += total;
    __syncwarp();
}

// Every lane goes through its own ranges, from one to the next without waiting for the others, two candidates a turn,
// and notes the partners it finds.
__device__ __forceinline__ void sweep_short(const sweep_job &job, sweep_shared *shared, warp_work *work,
                                            const lane_ranges &ranges, uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31, own_place = job.first_place + lane;
    uint32_t filled = 0, taken = 0, next = 0, end = 0, hits = 0;
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i)
        if (ranges.count[i] > 0)
            work->range[filled++][lane] = make_uint2(ranges.start[i], ranges.start[i] + ranges.count[i]);
    const psvd_record own = {work->first[lane], work->second[lane]};
    const bool ask = ranges.check_owner || !job.plain;
    for (;;) {
        if (next >= end && taken < filled) {
            const uint2 range = work->range[taken++][lane];
            next = range.x;
            end = range.y;
        }
        const bool there = next < end, also = next + 1 < end;
        if (!__any_sync(PSVD_FULL, there)) break;
        // Lanes without a candidate read place 0. Then only the tests, and not the loads, depend on who has one.
        const psvd_record one = load_record(job, there ? next : 0), two = load_record(job, also ? next + 1 : 0);
        bool hit = there && overlaps(own, one), second = also && overlaps(own, two);
        if (ask) {
            if (hit) hit = may_pair(job.input, shared->plan, job.tables, own_place, next, ranges.check_owner);
            if (second) second = may_pair(job.input, shared->plan, job.tables, own_place, next + 1, ranges.check_owner);
        }
        if (hit) work->partner[hits++][lane] = __float_as_uint(one.second.z);
        if (second) work->partner[hits++][lane] = __float_as_uint(two.second.z);
        next += 2;
        if (__any_sync(PSVD_FULL, hits + 2 > ROWS_HITS)) {
            hand_over(job, shared, *work, hits, held);
            hits = 0;
        }
    }
    hand_over(job, shared, *work, hits, held);
}

// Takes the next part of the block's batch, a new batch when there is none: parts that lie side by side go to warps of
// one block, which share a cache. Warps wait for each other's parts only where ranges are so long that the cache holds
// them for one batch alone. One lane.
__device__ __forceinline__ uint32_t take_part(sweep_shared *shared, psvi_rows_plan *plan) {
    for (;;) {
        const unsigned long long batch = atomicAdd(&shared->batch, 1ull);
        const uint32_t taken = (uint32_t)batch;
        if (taken < WARPS) return (uint32_t)(batch >> 32) * WARPS + taken;
        if (taken == WARPS) {
            while (*(volatile bool *)&shared->together &&
                   *(volatile uint32_t *)&shared->done < *(volatile uint32_t *)&shared->begun * WARPS)
                rows_pause();
            atomicAdd(&shared->begun, 1u);
            const uint32_t number = gridDim.x + atomicAdd(&plan->ticket, 1u);
            atomicExch(&shared->batch, (unsigned long long)number << 32 | 1);
            return number * WARPS;
        }
        while ((uint32_t) * (volatile unsigned long long *)&shared->batch > WARPS)
            rows_pause();
    }
}

#define SCATTERS ROWS_ITEMS // tiles of the scatter in one of the keys

struct counted_shared {
    uint32_t task;
    union {
        rows_key_shared key;
        rows_scan_shared scan;
        rows_scatter_shared scatter;
        sweep_shared sweep;
    };
};

struct counted_tables {
    psvi_rows_bin_state *bins;
    uint32_t *cell_counts, *ranks, *starts;
    uint64_t *scan_states;
    float4 *records;
};

// Waits until so many tasks of a step are done. All threads of the block.
__device__ __forceinline__ void wait_for_tasks(const uint32_t *done, uint32_t tasks) {
    if (threadIdx.x == 0) {
        while (*(const volatile uint32_t *)done < tasks)
            rows_pause();
        __threadfence();
    }
    __syncthreads();
}

// Tells that a task of a step is done. All threads of the block. One thread returns whether it was the last of `tasks`.
__device__ __forceinline__ bool finish_task(uint32_t *done, uint32_t tasks) {
    __syncthreads();
    if (threadIdx.x != 0) return false;
    __threadfence();
    return atomicAdd(done, 1u) == tasks - 1;
}

// What a warp has come to.
struct sweep_tally {
    uint32_t tested, longest; // of the lane
    uint32_t held;            // pairs in the warp's buffer
    uint32_t spent;           // see rows_spend
};

// The warp's boxes, up to place `end`, level by level. Returns whether it has to end. All lanes together.
__device__ __forceinline__ bool sweep_part(const sweep_job &job, psvi_rows_plan *plan, sweep_shared *shared,
                                           uint64_t boxes, uint32_t end, sweep_tally *tally) {
    warp_work *const work = &shared->work[threadIdx.x >> 5];
    const uint32_t lane = threadIdx.x & 31, place = job.first_place + lane;
    const bool here = place < end;
    lane_walk walk = {0, 0, 0, 0, here};
    if (here) {
        const psvd_record own = load_record(job, place);
        walk.own_level = rows_record_level(shared->plan, own);
        const bool second = __float_as_uint(own.second.w) & PSVD_TAG_SET_B;
        walk.set = job.input.between && !second;
        enter_level(shared->plan, &walk, walk.own_level + (second ? 1 : 0));
        work->first[lane] = own.first;
        work->second[lane] = own.second;
    }
    __syncwarp();
    while (__any_sync(PSVD_FULL, walk.more)) {
        lane_ranges ranges;
        look_up(job, shared->plan, *work, &walk, &ranges);
        uint32_t sum = 0, together = 0;
#pragma unroll
        for (int i = 0; i < ROWS_INTERVALS; ++i) {
            sum += ranges.count[i], tally->longest = max(tally->longest, ranges.count[i]);
            together += ranges.count[i] >= ROWS_LONG_RANGE ? ranges.count[i] : 0;
        }
        if (rows_spend(&plan->bound, job.input.result, boxes,
                       rows_look_cost(sum - together, together) + ROWS_BOUND_LOOK, &tally->spent))
            return true;
        tally->tested += sum;
        sweep_long(job, shared, *work, &ranges, &tally->held);
        sweep_short(job, shared, work, ranges, &tally->held);
    }
    return false;
}

// Adds a warp's tally to what the frame and the next plan know. All lanes together.
__device__ __forceinline__ void report_tally(const psvi_find_input &input, psvi_rows_plan *plan,
                                             const sweep_shared *shared, const sweep_tally &tally, bool few) {
    psvd_warp_add(&input.result->candidates, tally.tested);
    if (few) psvd_warp_add(&plan->candidates, tally.tested);
    if (rows_counts_tested(shared->plan)) psvd_warp_add(&plan->ratio.tested, tally.tested);
    const uint32_t longest = psvd_reduce_max(tally.longest);
    if ((threadIdx.x & 31) == 0 && longest > *(volatile uint64_t *)&input.result->longest_range)
        atomicMax(reinterpret_cast<unsigned long long *>(&input.result->longest_range), (unsigned long long)longest);
}

// Keys, scan and scatter. A task is a tile of one of them. Blocks take tasks in sequence, so that a task waits only for
// those that blocks at work have taken, however many blocks are on the device at once.
__device__ __forceinline__ void sort_by_counting(const psvi_find_input &input, psvi_rows_plan *plan,
                                                 const counted_tables &tables, counted_shared &shared) {
    psvi_rows_bin_state &state = *tables.bins;
    const uint32_t slots = (uint32_t)psvd_read_counts(input).all();
    const uint32_t tiles = (slots + PSVI_BLOCK_THREADS * ROWS_ITEMS - 1) / (PSVI_BLOCK_THREADS * ROWS_ITEMS);
    const uint32_t scans = plan->cells / ROWS_SCAN_TILE + 1; // of the cells and the end
    const bool timed = input.times != NULL;
    for (;;) {
        if (threadIdx.x == 0) shared.task = atomicAdd(&state.tasks, 1u);
        __syncthreads();
        const uint32_t task = shared.task;
        if (task >= 2 * tiles + scans) break;
        if (timed && task == 0 && threadIdx.x == 0) *(volatile uint64_t *)&state.began = rows_now();
        if (task < tiles) {
            rows_key_tile<true>(input, plan, nullptr, tables.ranks, tables.cell_counts, task, shared.key);
            if (finish_task(&state.counted, tiles) && timed) *(volatile uint64_t *)&state.keyed = rows_now();
        } else if (task < tiles + scans) {
            wait_for_tasks(&state.counted, tiles);
            rows_scan_tile(plan, tables.cell_counts, tables.starts, tables.scan_states, task - tiles, shared.scan);
            (void)finish_task(&state.scanned, scans);
        } else {
            wait_for_tasks(&state.scanned, scans);
#pragma unroll 1
            for (uint32_t i = 0; i < SCATTERS; ++i) {
                rows_scatter_tile(input, plan, tables.ranks, tables.starts, tables.records,
                                  (task - tiles - scans) * SCATTERS + i, shared.scatter);
                __syncwarp();
            }
            if (finish_task(&state.scattered, tiles) && timed)
                rows_tell_times(input.times, *(volatile uint64_t *)&state.keyed - *(volatile uint64_t *)&state.began,
                                rows_now() - *(volatile uint64_t *)&state.keyed, 0);
        }
        __syncthreads();
    }
    wait_for_tasks(&state.scattered, tiles);
}

// The larger boxes of a frame whose others have been swept before. All threads of the grid.
__device__ __forceinline__ void sweep_larger_alone(const psvi_find_input &input, psvi_rows_plan *plan,
                                                   const rows_slots &slots, const uint32_t *starts,
                                                   psvd_pair_stage<WARPS> *stage) {
    const rows_larger_tables looked_at = {slots, starts};
    const uint2 more = rows_sweep_larger<WARPS>(input, plan, looked_at, blockIdx.x * WARPS + (threadIdx.x >> 5),
                                                gridDim.x * WARPS, stage, 0);
    const psvd_sink sink = psvd_make_sink(input, psvd_read_counts(input));
    stage->hold(sink, more.x);
    stage->finish(sink);
    psvd_warp_add(&input.result->candidates, more.y);
}

// The tree of a frame whose sweep would cost more, and whether it is in this launch: not in frames with rules, whose
// pairs it asks about in another way.
struct exact_tree {
    psvi_lbvh_at_once its;
    bool inside;
};

template <bool ASKS>
static __device__ __noinline__ void find_by_tree(const psvi_find_input &input, const psvi_lbvh_at_once &its) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    lbvh_at_once::find<ASKS>(input, its, *reinterpret_cast<lbvh_at_once::lbvh_once_shared *>(dynamic));
}

// All threads of the block.
__device__ __forceinline__ void go_by_tree(const psvi_find_input &input, const exact_tree &tree) {
#if !PSVD_RULED
    if (!tree.inside) return;
    __syncthreads();
    if (psvd_overlap_decides(input))
        find_by_tree<false>(input, tree.its);
    else
        find_by_tree<true>(input, tree.its);
#endif
}

// The block is about to sweep; false: the frame is the tree's already. All threads of the block.
__device__ __forceinline__ bool begin_sweep(psvi_rows_bound *bound, const exact_tree &tree) {
    if (!tree.inside) return true;
    bool over = false;
    if (threadIdx.x == 0) {
        atomicAdd(&bound->begun, 1u);
        __threadfence();
        over = rows_is_over(*bound);
        if (over) atomicAdd(&bound->done, 1u);
    }
    return !__syncthreads_or(over);
}

// The block has swept, and written what it has found. When all blocks that have begun have ended too, the frame is
// done; the tree's if one has given up. All threads of the block.
__device__ __forceinline__ void end_sweep(const psvi_find_input &input, psvi_rows_bound *bound,
                                          const exact_tree &tree) {
    if (!tree.inside) return;
    bool over = false;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&bound->done, 1u);
        while (!(over = rows_is_over(*bound)) &&
               *(const volatile uint32_t *)&bound->done != *(const volatile uint32_t *)&bound->begun)
            rows_pause();
    }
    if (__syncthreads_or(over)) go_by_tree(input, tree);
}

// The pairs. A warp takes boxes_per_warp boxes in sorted order, so that their cells lie side
// by side and their loads meet in the first-level cache. Level by level it looks up where the boxes' runs of cells
// begin and end; then each lane tests its own candidates, and long ranges are swept by the whole warp. Warps work
// alone; the block meets at the end, to write its pairs. Reads each record about once per row that looks at it, writes
// the pairs.
// COUNTED: with the counting sort in front of it, in one launch: all of a frame but its plan. Behind bins that mostly
// has nothing to do; one kernel that leaves at once costs less than four.
template <bool COUNTED>
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS, ROWS_SWEEP_BLOCKS)
    psvk_rows_exact(const __grid_constant__ psvi_find_input input, psvi_rows_plan *plan,
                    const __grid_constant__ rows_tables tables, bool few, rows_slots swept_slots,
                    const __grid_constant__ counted_tables counted, const __grid_constant__ exact_tree tree) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    sweep_shared &shared = *reinterpret_cast<sweep_shared *>(dynamic);
    psvd_wait_for_front();
    if (rows_is_over(plan->bound)) {
        go_by_tree(input, tree);
        return;
    }
    if (COUNTED) {
        const uint32_t larger = plan->larger, down = plan->down;
        if (counted.bins->done) {
            if (larger == 0 || down == 0) return;
            if (!begin_sweep(&plan->bound, tree)) {
                go_by_tree(input, tree);
                return;
            }
            sweep_larger_alone(input, plan, swept_slots, tables.starts, &shared.stage);
            end_sweep(input, &plan->bound, tree);
            return;
        }
        sort_by_counting(input, plan, counted, *reinterpret_cast<counted_shared *>(dynamic));
        __syncthreads();
    }
    const uint64_t boxes = COUNTED ? *(volatile uint64_t *)&input.result->boxes : input.result->boxes;
    const uint32_t boxes_per_warp = few ? plan->boxes_per_warp : 32;
    if ((uint64_t)blockIdx.x * WARPS * boxes_per_warp >= boxes) return;
    if (!begin_sweep(&plan->bound, tree)) {
        go_by_tree(input, tree);
        return;
    }
    const uint32_t lane = threadIdx.x & 31;
    if (threadIdx.x == 0) {
        shared.batch = (unsigned long long)blockIdx.x << 32 | WARPS;
        shared.begun = 1;
        shared.done = 0;
        shared.together = false;
    }
    const uint32_t *const words = reinterpret_cast<const uint32_t *>(plan);
    for (uint32_t i = threadIdx.x; i < sizeof shared.plan / 4; i += PSVI_BLOCK_THREADS)
        reinterpret_cast<uint32_t *>(&shared.plan)[i] = words[i];
    __syncthreads();
    const bool down = !input.between && rows_looks_down(&shared.plan, boxes);
    const uint32_t swept = down ? rows_base_boxes(&shared.plan, tables.starts) : (uint32_t)boxes;
    __syncthreads();
    if (down && threadIdx.x == 0) shared.plan.populated &= 1; // no box looks up
    __syncthreads();
    sweep_tally tally = {0, 0, 0, 0};
    bool over = false;
    sweep_job job = {input, tables, psvd_make_sink(input, psvd_read_counts(input)), 0, psvd_overlap_decides(input)};
    job.first_place = (blockIdx.x * WARPS + (threadIdx.x >> 5)) * boxes_per_warp;
#pragma unroll 1
    while (job.first_place < swept) {
        over = sweep_part(job, plan, &shared, boxes, min(job.first_place + boxes_per_warp, swept), &tally);
        if (boxes_per_warp == 32 && __any_sync(PSVD_FULL, tally.longest >= ROWS_TOGETHER_RANGE)) shared.together = true;
        uint32_t part = 0;
        if (over) break;
        if (lane == 0) {
            atomicAdd(&shared.done, 1u);
            part = take_part(&shared, plan);
        }
        job.first_place = __shfl_sync(PSVD_FULL, part, 0) * boxes_per_warp;
    }
    if (lane == 0) atomicAdd(&shared.done, 1u); // the part behind the last box
    if (!over && down && swept != boxes) {
        const rows_larger_tables looked_at = {rows_slots_of(tables.records), tables.starts};
        const uint32_t blocks = (uint32_t)min((boxes - 1) / (WARPS * boxes_per_warp) + 1, (uint64_t)gridDim.x);
        const uint2 more = rows_sweep_larger<WARPS>(input, plan, looked_at, blockIdx.x * WARPS + (threadIdx.x >> 5),
                                                    blocks * WARPS, &shared.stage, tally.held);
        tally.held = more.x;
        tally.tested += more.y;
    }
    shared.stage.hold(job.sink, tally.held);
    shared.stage.finish(job.sink);
    report_tally(input, plan, &shared, tally, few);
    if (blockIdx.x == 0 && threadIdx.x == 0) rows_report_shape(input, *plan);
    end_sweep(input, &plan->bound, tree);
}

// Shared memory of a block: its own, and that of the tree.
template <typename SHARED> static constexpr size_t bytes_of() {
    return sizeof(SHARED) > sizeof(lbvh_at_once::lbvh_once_shared) ? sizeof(SHARED)
                                                                   : sizeof(lbvh_at_once::lbvh_once_shared);
}

static exact_tree tree_of(const psvi_rows_memory *memory) {
    exact_tree tree = {memory->tree, memory->has_tree && !memory->tree_behind};
    tree.its.begun = &memory->plan->bound.begun;
    tree.its.ended = &memory->plan->bound.done;
    return tree;
}

extern "C" cudaError_t psvi_prepare_rows_exact(void) {
    const cudaError_t error = rows_allow_shared(psvk_rows_exact<false>, bytes_of<sweep_shared>());
    return error == cudaSuccess ? rows_allow_shared(psvk_rows_exact<true>, bytes_of<counted_shared>()) : error;
}

extern "C" cudaError_t psvi_launch_rows_counted_exact(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                      cudaStream_t stream) {
    const counted_tables tables = {memory->bins.state,          memory->counted.cell_counts,
                                   memory->counted.ranks,       memory->starts,
                                   memory->counted.scan_states, reinterpret_cast<float4 *>(memory->records)};
    const rows_tables swept = {tables.records, tables.starts};
    return rows_launch_early(memory, stream, psvk_rows_exact<true>, memory->multiprocessors * ROWS_SWEEP_BLOCKS,
                             PSVI_BLOCK_THREADS, bytes_of<counted_shared>(), *input, memory->plan, swept,
                             psvi_most_boxes(input) <= ROWS_FEW_BOXES,
                             rows_uniform_slots_of(rows_uniform_arrays_of(memory)), tables, tree_of(memory));
}

extern "C" cudaError_t psvi_launch_rows_exact(const psvi_find_input *input, const psvi_rows_memory *memory,
                                              cudaStream_t stream) {
    const rows_tables tables = {reinterpret_cast<const float4 *>(memory->records), memory->starts};
    // With few boxes the plan may want fewer a warp. There are blocks enough for that; the others leave at once.
    const uint64_t boxes = psvi_most_boxes(input);
    const bool few = boxes <= ROWS_FEW_BOXES;
    const uint32_t wanted = psvi_block_count(boxes, WARPS * (few ? ROWS_LEAST_A_WARP : 32));
    const uint32_t most = memory->multiprocessors * ROWS_SWEEP_BLOCKS;
    const uint32_t blocks = wanted < most ? wanted : most;
    return rows_launch_early(memory, stream, psvk_rows_exact<false>, blocks, PSVI_BLOCK_THREADS,
                             bytes_of<sweep_shared>(), *input, memory->plan, tables, few, rows_slots{},
                             counted_tables{}, tree_of(memory));
}
