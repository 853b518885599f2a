// The sweep of `rows` over many boxes: every box looks at the boxes of its cells, first at them as rounded to 8 bytes.
#include "../../../../core/cuda/async_copies.cuh"
#include "../../launch_cuda.h"
#include "../plan/rows_plan.cuh"
#include "../rows_rounded.cuh"
#include "../rows_uniform.cuh"
#include "rows_bound.cuh"
#include "rows_held.cuh"
#include "rows_lane_walk.cuh"

#define WARPS (PSVI_BLOCK_THREADS / 32)
#define NEAR_RANGES (ROWS_NEAR + 1)
#define LEFT_RANGES (ROWS_COARSE * ROWS_COARSE) // at least ROWS_INTERVALS

// A warp's boxes, and what they may pair with.
struct warp_work {
    float4 first[32], second[32];
    uint32_t partner[ROWS_NEAR_NOTES][32]; // places of boxes that may pair with the lane's own
};

struct sweep_shared {
    rows_local_plan local;
    warp_work work[WARPS];
    psvd_pair_stage<WARPS> stage;
};

// Everywhere by its own name, never by a pointer that is handed on: the compiler then knows what it is.
__device__ __forceinline__ sweep_shared &sweep_memory() {
    extern __shared__ __align__(16) unsigned char dynamic[];
    return *reinterpret_cast<sweep_shared *>(dynamic);
}

// The ranges of places that the lanes' boxes have still to be tested against lie behind: a column a lane, as long as
// the kernel needs it.
#define RANGE_STRIDE (WARPS * 32) // from one to the next of a lane

__device__ __forceinline__ uint2 *own_ranges() {
    extern __shared__ __align__(16) unsigned char dynamic[];
    return reinterpret_cast<uint2 *>(dynamic + sizeof(sweep_shared)) + threadIdx.x;
}

__device__ __forceinline__ warp_work *own_work() { return &sweep_memory().work[threadIdx.x >> 5]; }

struct rows_tables {
    const float4 *records; // two each
    const uint2 *rounded;
    const uint32_t *starts;
    uint8_t *left; // per chunk, see chunk_left
    bool plain;    // overlap decides alone: no flags, filters, worlds, second set
    bool all;      // there was no first sweep
    bool may_be_uniform;
    rows_slots uniform_slots; // of the places that the uniform sweep has swept
};

// What the first sweep leaves of a chunk.
enum chunk_left { LEFT_NONE, LEFT_COARSER, LEFT_ALL };

struct sweep_job {
    const psvi_find_input &input;
    const rows_tables &tables;
    psvd_sink sink;
    uint32_t first_place; // of the warp's boxes
};

// What a lane has looked up: the ranges of places that its box has to be tested against lie at
// own_ranges().
struct lane_ranges {
    uint32_t ranges;
    uint32_t turns;     // that the lane needs for them, two places from an even one on a turn
    uint32_t most, sum; // places in the longest range, in all
    bool check_owner;   // pairs with them may belong to either box
};

__device__ __forceinline__ void add_range(lane_ranges *ranges, uint32_t start, uint32_t end) {
    const uint32_t count = end - start;
    if (count == 0) return;
    own_ranges()[RANGE_STRIDE * ranges->ranges++] = make_uint2(start, end);
    ranges->turns += (end - (start & ~1u) + 1) / 2;
    ranges->most = max(ranges->most, count);
    ranges->sum += count;
}

// Looks up the next runs of cells of the lane's box.
__device__ __forceinline__ lane_ranges look_up(const sweep_job &job, lane_walk *walk) {
    const uint32_t lane = threadIdx.x & 31;
    const psvi_rows_plan &plan = sweep_memory().local.plan;
    warp_work *const work = own_work();
    lane_ranges ranges = {0, 0, 0, 0, false};
    if (!walk->more) return ranges;
    const psvi_rows_level &level = plan.level[walk->level];
    const psvd_record own = {work->first[lane], work->second[lane]};
    const uint32_t world = rows_world(level, __float_as_uint(own.second.w) >> PSVD_TAG_WORLD_SHIFT);
    const rows_view view =
        rows_view_of(plan, own, walk->level, walk->set, !job.input.between && walk->level == walk->own_level);
    rows_walk cursor = rows_walk_from(level, view, walk->run);
    const bool own_row = view.own_row && walk->run == 0;
    uint32_t start[ROWS_INTERVALS], end[ROWS_INTERVALS];
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i) {
        const rows_interval interval = rows_next_interval(level, world, view, &cursor);
        start[i] = end[i] = 0;
        if (interval.cells > 0) {
            start[i] = i == 0 && own_row ? job.first_place + lane + 1 : __ldg(job.tables.starts + interval.first);
            end[i] = __ldg(job.tables.starts + interval.first + interval.cells);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i)
        add_range(&ranges, start[i], end[i]);
    ranges.check_owner = view.check_owner;
    walk->run = 2 * (cursor.row - view.skipped) + (cursor.second ? 1 : 0);
    if (cursor.row >= view.rows) enter_level(plan, walk, walk->level + 1);
    return ranges;
}

// The same for a box's own level, where rows_near_of holds for all boxes of the warp and no range is long; else false.
// Lanes without a box have some box to look for, and no ranges.
__device__ __forceinline__ bool look_up_near(const sweep_job &job, const psvd_record &own, bool here,
                                             uint32_t own_level, lane_ranges *ranges) {
    const uint32_t lane = threadIdx.x & 31;
    const psvi_rows_plan &plan = sweep_memory().local.plan;
    warp_work *const work = own_work();
    rows_near near;
    const psvi_rows_level &level = plan.level[own_level];
    const uint32_t world = rows_world(level, __float_as_uint(own.second.w) >> PSVD_TAG_WORLD_SHIFT);
    const bool usual = rows_near_of(level, __uint_as_float(plan.longest[own_level]), own, world, &near);
    *ranges = {0, 0, 0, 0, false};
    if (!__all_sync(PSVD_FULL, usual)) return false;
    const uint32_t own_end = __ldg(job.tables.starts + near.own_end);
    uint32_t start[ROWS_NEAR], end[ROWS_NEAR];
#pragma unroll
    for (int i = 0; i < ROWS_NEAR; ++i) {
        start[i] = end[i] = 0;
        if (near.there[i]) {
            start[i] = __ldg(job.tables.starts + near.first[i]);
            end[i] = __ldg(job.tables.starts + (near.first[i] + near.span));
        }
    }
    add_range(ranges, job.first_place + lane + 1, own_end);
#pragma unroll
    for (int i = 0; i < ROWS_NEAR; ++i)
        add_range(ranges, start[i], end[i]);
    if (!here) *ranges = {0, 0, 0, 0, false};
    return __all_sync(PSVD_FULL, ranges->most < ROWS_LONG_RANGE);
}

// The same for a coarser level where rows_coarse_of holds for all lanes that have one to look at; else false, and
// nothing is done. Lanes may be at different levels.
__device__ __forceinline__ bool look_up_coarse(const sweep_job &job, lane_walk *walk, lane_ranges *ranges) {
    const uint32_t lane = threadIdx.x & 31;
    const psvi_rows_plan &plan = sweep_memory().local.plan;
    warp_work *const work = own_work();
    rows_coarse coarse = {0, 0, 0, 0};
    uint32_t row = 0, next_y = 0;
    bool usual = true;
    if (walk->more) {
        const psvi_rows_level &level = plan.level[walk->level];
        const psvd_record own = {work->first[lane], work->second[lane]};
        usual = walk->level != walk->own_level && walk->run == 0 &&
                rows_coarse_of(level, __uint_as_float(plan.longest[walk->level]), own, &coarse);
        row = (uint32_t)level.cells[0];
        next_y = row * (uint32_t)level.cells[2];
    }
    if (!__all_sync(PSVD_FULL, usual)) return false;
    *ranges = {0, 0, 0, 0, false};
#pragma unroll
    for (int y = 0; y < ROWS_COARSE; ++y) {
        uint32_t start[ROWS_COARSE], end[ROWS_COARSE];
#pragma unroll
        for (int z = 0; z < ROWS_COARSE; ++z) {
            start[z] = end[z] = 0;
            if (y < coarse.rows_y && z < coarse.rows_z) {
                const uint32_t first = coarse.first + (uint32_t)y * next_y + (uint32_t)z * row;
                start[z] = __ldg(job.tables.starts + first);
                end[z] = __ldg(job.tables.starts + (first + coarse.span));
            }
        }
#pragma unroll
        for (int z = 0; z < ROWS_COARSE; ++z)
            add_range(ranges, start[z], end[z]);
    }
    if (walk->more) enter_level(plan, walk, walk->level + 1);
    return true;
}

__device__ __forceinline__ psvd_record load_record(const sweep_job &job, uint32_t place) {
    const float4 *const at = job.tables.records + 2ull * place;
    return psvd_record{__ldg(at), __ldg(at + 1)};
}

// The whole warp takes the long ranges of its lanes, one after the other, and leaves them empty.
__device__ __forceinline__ void sweep_long(const sweep_job &job, lane_ranges *ranges, uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31;
    warp_work *const work = own_work();
    for (uint32_t i = 0; __any_sync(PSVD_FULL, i < ranges->ranges); ++i) {
        uint2 range = make_uint2(0, 0);
        if (i < ranges->ranges) range = own_ranges()[RANGE_STRIDE * i];
        const bool is_long = range.y - range.x >= ROWS_LONG_RANGE;
        for (unsigned left = __ballot_sync(PSVD_FULL, is_long); left != 0; left &= left - 1) {
            const uint32_t owner = __ffs(left) - 1;
            const uint32_t start = __shfl_sync(PSVD_FULL, range.x, owner), end = __shfl_sync(PSVD_FULL, range.y, owner);
            const bool check_owner = __shfl_sync(PSVD_FULL, ranges->check_owner, owner);
            const psvd_record own = {work->first[owner], work->second[owner]};
            const bool ask = check_owner || !job.tables.plain;
            psvd_record other = load_record(job, min(start + lane, end - 1));
#pragma unroll 1
            for (uint32_t place = start + lane; place - lane < end; place += 32) {
                const psvd_record following = load_record(job, min(place + 32, end - 1));
                bool hit = place < end && overlaps(own, other);
                if (ask && hit)
                    hit = rows_may_pair(job.input, sweep_memory().local.plan, own, job.first_place + owner, other,
                                        place, check_owner);
                sweep_memory().stage.emit_together(job.sink, hit, __float_as_uint(own.second.z),
                                                   __float_as_uint(other.second.z), held);
                other = following;
            }
        }
        if (is_long) {
            own_ranges()[RANGE_STRIDE * i] = make_uint2(0, 0);
            ranges->turns -= (range.y - (range.x & ~1u) + 1) / 2 - 1;
        }
    }
}

// The lane whose notes the n-th of all lanes' notes is among, when `up_to` tells how many there are up to each lane.
__device__ __forceinline__ uint32_t owner_of_note(uint32_t up_to, uint32_t n) {
    uint32_t owner = 0;
#pragma unroll
    for (uint32_t step = 16; step > 0; step >>= 1)
        if (__shfl_sync(PSVD_FULL, up_to, owner + step - 1) <= n) owner += step;
    return owner;
}

// Tests the places that the lanes have noted, all lanes side by side whoever noted them, and makes pairs of those that
// pass. MAY_WRAP: a pair may belong to either box.
template <bool MAY_WRAP>
__device__ __forceinline__ void hand_over(const sweep_job &job, uint32_t hits, bool check_owner, uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t up_to = psvd_sum_up_to(hits), total = __shfl_sync(PSVD_FULL, up_to, 31);
    const warp_work &work = *own_work();
    __syncwarp();
#pragma unroll 1
    for (uint32_t n = lane; n - lane < total; n += 32) {
        const uint32_t owner = owner_of_note(up_to, n) & 31;
        const uint32_t before = __shfl_sync(PSVD_FULL, up_to - hits, owner);
        const bool check = MAY_WRAP && __shfl_sync(PSVD_FULL, check_owner, owner);
        const psvd_record own = {work.first[owner], work.second[owner]};
        bool hit = false;
        uint32_t slot = 0;
        if (n < total) {
            const uint32_t place = work.partner[n - before][owner];
            const psvd_record other = load_record(job, place);
            slot = __float_as_uint(other.second.z);
            hit = overlaps(own, other);
            if (hit && (check || !job.tables.plain))
                hit = rows_may_pair(job.input, sweep_memory().local.plan, own, job.first_place + owner, other, place,
                                    check);
        }
        sweep_memory().stage.emit_together(job.sink, hit, __float_as_uint(own.second.z), slot, held);
    }
    __syncwarp();
}

// Every lane goes through its own ranges without waiting for the others, two candidates a turn by one load. It notes
// the candidates that pass the first test; `lower` and `upper` are the lane's box in that test. Lanes that are done
// read nothing. The columns of ranges and partners are walked by their addresses, which saves a fifth of the
// instructions.
template <bool MAY_WRAP>
__device__ __forceinline__ void sweep_short(const sweep_job &job, const lane_ranges &ranges, uint32_t lower,
                                            uint32_t upper, uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31;
    warp_work *const work = own_work();
    uint32_t taken = shared_address(own_ranges());
    const uint32_t filled = taken + ranges.ranges * RANGE_STRIDE * (uint32_t)sizeof(uint2);
    const uint32_t partners = shared_address(&work->partner[0][lane]), row = sizeof work->partner[0];
    uint32_t noted = partners, next = 0, start = 0, end = 0, turns = psvd_reduce_max(ranges.turns);
    while (turns > 0) {
        const uint32_t now = min(turns, (uint32_t)ROWS_NEAR_TURNS);
        turns -= now;
#pragma unroll 1
        for (uint32_t turn = 0; turn < now; ++turn) {
            if (next >= end && taken < filled) {
                asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(start), "=r"(end) : "r"(taken));
                taken += RANGE_STRIDE * (uint32_t)sizeof(uint2);
                next = start & ~1u;
            }
            uint4 two = make_uint4(0, 0, 0, 0);
            if (next < end) two = __ldg(reinterpret_cast<const uint4 *>(job.tables.rounded + next));
            const bool one = next >= start && next < end && rows_may_overlap(lower, upper, two.x, two.y),
                       other = next + 1 < end && rows_may_overlap(lower, upper, two.z, two.w);
            if (one) {
                asm volatile("st.shared.u32 [%0], %1;" ::"r"(noted), "r"(next));
                noted += row;
            }
            if (other) {
                asm volatile("st.shared.u32 [%0], %1;" ::"r"(noted), "r"(next + 1));
                noted += row;
            }
            next += 2;
        }
        if (!__any_sync(PSVD_FULL, turns == 0 || noted > partners + (ROWS_NEAR_NOTES - 2 * ROWS_NEAR_TURNS) * row))
            continue;
        asm volatile("" ::: "memory"); // the notes are read now
        hand_over<MAY_WRAP>(job, (noted - partners) / row, ranges.check_owner, held);
        noted = partners;
    }
}

// What a warp has come to.
struct sweep_tally {
    uint32_t tested, longest; // of the lane: places looked at, and in the longest range
    uint32_t held;            // pairs in the warp's buffer
    uint32_t spent;           // see rows_spend
};

__device__ __forceinline__ void store_own(const psvd_record &own) {
    warp_work *const work = own_work();
    work->first[threadIdx.x & 31] = own.first;
    work->second[threadIdx.x & 31] = own.second;
}

// A warp's chunk of boxes where their own level is the only one that they look at, nothing wraps around and no range is
// long. What is left of any other chunk, all of it or the coarser levels, is left to the second sweep.
__device__ __forceinline__ uint8_t sweep_near(const sweep_job &job, uint32_t boxes, bool here, sweep_tally *tally) {
    const uint32_t place = min(job.first_place + (threadIdx.x & 31), boxes - 1);
    const psvi_rows_plan &plan = sweep_memory().local.plan;
    const psvd_record own = load_record(job, place);
    const uint2 rounded = __ldg(job.tables.rounded + place);
    store_own(own);
    const uint32_t own_level = rows_record_level(plan, own);
    lane_ranges ranges;
    if (!look_up_near(job, own, here, own_level, &ranges)) return LEFT_ALL;
    tally->tested += ranges.sum;
    tally->longest = max(tally->longest, ranges.most);
    sweep_short<false>(job, ranges, rows_negated(rounded.y), rows_negated(rounded.x), &tally->held);
    return __any_sync(PSVD_FULL, (plan.populated & 0xffffu) >> (own_level + 1) != 0) ? LEFT_COARSER : LEFT_NONE;
}

// A warp's chunk of boxes in any case, level by level. Returns whether the warp has to end.
__device__ __forceinline__ bool sweep_levels(const sweep_job &job, psvi_rows_bound *bound, uint32_t boxes, bool here,
                                             bool coarser, sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, place = min(job.first_place + lane, boxes - 1);
    const psvi_rows_plan &plan = sweep_memory().local.plan;
    lane_walk walk = {0, 0, 0, 0, here};
    const psvd_record own = load_record(job, place);
    store_own(own);
    walk.own_level = rows_record_level(plan, own);
    const bool second = __float_as_uint(own.second.w) & PSVD_TAG_SET_B;
    walk.set = job.input.between && !second;
    if (here) enter_level(plan, &walk, walk.own_level + (second || coarser ? 1 : 0));
    __syncwarp();
    while (__any_sync(PSVD_FULL, walk.more)) {
        const uint32_t at = walk.more ? walk.level : 0;
        lane_ranges ranges;
        if (job.input.between || !look_up_coarse(job, &walk, &ranges)) ranges = look_up(job, &walk);
        // A long range takes all lanes together, its places at least once each; the others as many turns as the lane
        // that has most of them.
        const bool together = ranges.most >= ROWS_LONG_RANGE;
        const uint32_t cost = rows_look_cost(together ? 0 : ranges.sum, together ? ranges.sum : 0);
        if (rows_spend(bound, job.input.result, boxes, cost + ROWS_BOUND_LOOK, &tally->spent)) return true;
        tally->tested += ranges.sum;
        tally->longest = max(tally->longest, ranges.most);
        if (__any_sync(PSVD_FULL, ranges.most >= ROWS_LONG_RANGE)) sweep_long(job, &ranges, &tally->held);
        const psvd_record box = {own_work()->first[lane], own_work()->second[lane]};
        const uint2 rounded = rows_rounded(sweep_memory().local.rounding[at], box);
        sweep_short<true>(job, ranges, rows_negated(rounded.y), rows_negated(rounded.x), &tally->held);
    }
    return false;
}

// The pairs, by two kernels: the first one takes the usual chunks, the second one what is left. A warp takes chunks of
// 32 boxes in sorted order, so that their cells lie side by side and their loads meet in the first-level
// cache. It looks up where the boxes' runs of cells begin and end; then each lane tests its own candidates, and long
// ranges are swept by the whole warp. Warps work alone; the block meets at the end, to write its pairs. Reads 8 bytes
// of a box about once per row that looks at it, all of it for itself and once per pair; writes the pairs.
template <bool NEAR>
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS,
                                  NEAR ? ROWS_CODE_POLICY.near_blocks : ROWS_CODE_POLICY.left_blocks)
    psvk_rows_segments_sweep(const __grid_constant__ psvi_find_input input, psvi_rows_plan *plan,
                             psvi_rows_progress *progress, const __grid_constant__ rows_tables tables) {
    sweep_shared &shared = sweep_memory();
    const uint32_t boxes = (uint32_t)input.result->boxes;
    if (plan->bound.over) return; // to the tree
    const bool larger = !NEAR && plan->larger != 0 && !tables.all && rows_looks_down(plan, boxes);
    const bool left_over = NEAR || tables.all || progress->left != 0;
    if (!left_over && !larger) return;
    const bool uniform = tables.may_be_uniform && rows_is_uniform(plan, boxes);
    if (NEAR && uniform) return; // swept already
    if (blockIdx.x * WARPS * 32 >= boxes) return;
    rows_load_plan(&shared.local, plan, PSVI_BLOCK_THREADS);
    __syncthreads();
    const bool down = !input.between && rows_looks_down(&shared.local.plan, boxes);
    const uint32_t swept = down ? rows_base_boxes(&shared.local.plan, tables.starts) : boxes;
    const uint32_t chunks = left_over ? (swept + 31) / 32 : 0;
    __syncthreads();
    if (down && threadIdx.x == 0) shared.local.plan.populated &= 1; // no box looks up
    __syncthreads();
    sweep_job job = {input, tables, NEAR ? rows_sink(input) : psvd_make_sink(input, psvd_read_counts(input)), 0};
    sweep_tally tally = {0, 0, 0, 0};
    bool over = false;
    for (uint32_t chunk = blockIdx.x * WARPS + (threadIdx.x >> 5); chunk < chunks; chunk += gridDim.x * WARPS) {
        job.first_place = chunk * 32;
        const bool here = job.first_place + (threadIdx.x & 31) < swept;
        if (NEAR) {
            const uint8_t left = sweep_near(job, swept, here, &tally);
            if ((threadIdx.x & 31) == 0) {
                tables.left[chunk] = left;
                if (left != LEFT_NONE) progress->left = 1;
            }
        } else {
            const uint8_t left = tables.all ? LEFT_ALL : tables.left[chunk];
            if (left != LEFT_NONE) over = sweep_levels(job, &plan->bound, swept, here, left == LEFT_COARSER, &tally);
            if (over) break;
        }
        if (__any_sync(PSVD_FULL, tally.tested >> 31)) { // far from overflow
            psvd_warp_add(&input.result->candidates, tally.tested);
            if (rows_counts_tested(shared.local.plan)) psvd_warp_add(&plan->ratio.tested, tally.tested);
            tally.tested = 0;
        }
        __syncwarp();
    }
    if (larger && !over) {
        const rows_larger_tables looked_at = {uniform ? tables.uniform_slots : rows_slots_of(tables.records),
                                              tables.starts};
        const uint32_t blocks = min((boxes - 1) / (WARPS * 32) + 1, gridDim.x);
        const uint2 more = rows_sweep_larger<WARPS>(input, plan, looked_at, blockIdx.x * WARPS + (threadIdx.x >> 5),
                                                    blocks * WARPS, &shared.stage, tally.held);
        tally.held = more.x;
        tally.tested += more.y;
    }
    shared.stage.hold(job.sink, tally.held);
    shared.stage.finish(job.sink);
    psvd_warp_add(&input.result->candidates, tally.tested);
    psvd_warp_add(&plan->candidates, tally.tested);
    if (rows_counts_tested(shared.local.plan)) psvd_warp_add(&plan->ratio.tested, tally.tested);
    const uint32_t longest = psvd_reduce_max(tally.longest);
    if ((threadIdx.x & 31) == 0 && longest > *(volatile uint64_t *)&input.result->longest_range)
        atomicMax(reinterpret_cast<unsigned long long *>(&input.result->longest_range), (unsigned long long)longest);
    if ((NEAR || tables.all) && blockIdx.x == 0 && threadIdx.x == 0) {
        rows_report_shape(input, *plan);
        if (tables.may_be_uniform) rows_report_next(input, PSVI_ROWS_SEGMENTS_NEAR, rows_uniform_veto(plan, boxes));
    }
}

static int sweep_bytes(bool near) {
    return (int)(sizeof(sweep_shared) + sizeof(uint2) * RANGE_STRIDE * (near ? NEAR_RANGES : LEFT_RANGES));
}

extern "C" cudaError_t psvi_prepare_rows_segments_sweep(void) {
    const cudaError_t error = cudaFuncSetAttribute(psvk_rows_segments_sweep<true>,
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize, sweep_bytes(true));
    if (error != cudaSuccess) return error;
    return cudaFuncSetAttribute(psvk_rows_segments_sweep<false>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                sweep_bytes(false));
}

extern "C" cudaError_t psvi_launch_rows_segments_sweep(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                       cudaStream_t stream) {
    const rows_tables tables = {reinterpret_cast<const float4 *>(memory->records),
                                reinterpret_cast<const uint2 *>(memory->segmented.rounded),
                                memory->starts,
                                memory->segmented.left,
                                psvd_overlap_decides(*input),
                                input->between,
                                input->route == PSVI_ROWS_SEGMENTS_UNIFORM,
                                rows_uniform_slots_of(rows_uniform_arrays_of(memory))};
    if (tables.may_be_uniform) {
        const auto launch = input->partners != NULL ? psvi_launch_rows_uniform_listed : psvi_launch_rows_uniform;
        const cudaError_t error = launch(input, memory, stream);
        if (error != cudaSuccess) return error;
    }
    const uint32_t wanted = psvi_block_count(psvi_most_boxes(input), WARPS * 32);
    for (int near = input->between ? 0 : 1; near >= 0; --near) {
        const auto kernel = near ? psvk_rows_segments_sweep<true> : psvk_rows_segments_sweep<false>;
        const uint32_t most =
            memory->multiprocessors * (near ? memory->policy.near_blocks : memory->policy.left_blocks);
        const uint32_t blocks = wanted < most ? wanted : most;
        kernel<<<blocks, PSVI_BLOCK_THREADS, sweep_bytes(near), stream>>>(*input, memory->plan,
                                                                          memory->segmented.progress, tables);
    }
    return cudaGetLastError();
}
