// The sweep of the fused kernel of `rows`: as in rows_exact_sweep.cu, but with few boxes several lanes share one. Of N
// lanes each takes every N-th row that the box looks at.
#ifndef PAIRSIEVE_COLLISION_ROWS_FUSED_SWEEP_CUH
#define PAIRSIEVE_COLLISION_ROWS_FUSED_SWEEP_CUH

#include "../rows_fused.cuh"

// Runs of cells that a lane looks up at once when `lanes` share a box, and candidates that it tests in a turn.
__host__ __device__ constexpr int runs_of(int lanes) { return (ROWS_INTERVALS + lanes - 1) / lanes; }
__host__ __device__ constexpr int turn_of(int lanes) { return lanes == 8 ? 2 : 3; }

struct sweep_job {
    const psvi_find_input &input;
    const fused_tables &tables;
    const psvi_rows_plan &plan;
    fused_shared *shared;
    fused_work *work;
    psvd_sink sink;
    bool plain; // overlap decides alone: no flags, filters, worlds, second set
};

struct sweep_tally {
    uint32_t candidates, longest; // of the lane
    uint32_t held;                // pairs in the warp's buffer
    uint32_t spent;               // see rows_spend
};

// Where a lane is on the way through its share of a box's runs.
struct lane_walk {
    uint32_t own_level, level, set; // set: whose cells
    int32_t row;                    // of those of the view
    bool wrapped;                   // the part of the row behind its end is next
    bool more;
};

template <int RUNS> struct lane_ranges {
    uint32_t start[RUNS], count[RUNS];
    bool check_owner; // pairs with them may belong to either box
};

// What is left to be asked about two boxes that overlap. Reads them again: it is rarely called, and this way the
// callers need not keep anything for it.
static __device__ __noinline__ bool may_pair(const psvi_find_input &input, const psvi_rows_plan &plan,
                                             const float4 *records, uint32_t own_place, uint32_t place,
                                             bool check_owner) {
    const psvd_record own = {records[2ull * own_place], records[2ull * own_place + 1]};
    const psvd_record other = {records[2ull * place], records[2ull * place + 1]};
    if (check_owner && !rows_owns(plan.level[fused_level_of(plan, own)], own, own_place, other, place)) return false;
    if (!psvd_tags_pair(input.between, __float_as_uint(own.second.w), __float_as_uint(other.second.w))) return false;
    return psvd_arrays_pair(input, psvd_read_counts(input), __float_as_uint(own.second.z),
                            __float_as_uint(other.second.z));
}

// Goes to the first level from `least` on that has boxes, to row `row` of it.
__device__ __forceinline__ void enter_level(const psvi_rows_plan &plan, lane_walk *walk, uint32_t least, int32_t row) {
    const uint32_t levels = (plan.populated >> (16 * walk->set) & 0xffffu) >> least << least;
    walk->more = levels != 0;
    walk->level = __ffs(levels) - 1;
    walk->row = row;
    walk->wrapped = false;
}

// The lane's way, from the boxes in job.work.
template <int LANES> __device__ __forceinline__ lane_walk begin_walk(const sweep_job &job) {
    const uint32_t box = (threadIdx.x & 31) / LANES;
    lane_walk walk = {0, 0, 0, 0, false, job.work->place[box] != PSVD_FULL};
    if (walk.more) {
        const psvd_record own = {job.work->first[box], job.work->second[box]};
        const bool second = __float_as_uint(own.second.w) & PSVD_TAG_SET_B;
        walk.own_level = fused_level_of(job.plan, own);
        walk.set = job.input.between && !second;
        enter_level(job.plan, &walk, walk.own_level + (second ? 1 : 0), (int32_t)(threadIdx.x % LANES));
    }
    return walk;
}

// Looks up the next runs of cells of the lane's share: every LANES-th row.
template <bool LOCAL, int LANES>
__device__ __forceinline__ void look_up(const sweep_job &job, lane_walk *walk, lane_ranges<runs_of(LANES)> *ranges) {
    constexpr int runs = runs_of(LANES);
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < runs; ++i)
        ranges->start[i] = ranges->count[i] = 0;
    ranges->check_owner = false;
    if (!walk->more) return;
    const psvi_rows_level &level = job.plan.level[walk->level];
    const psvd_record own = {job.work->first[lane / LANES], job.work->second[lane / LANES]};
    const uint32_t world = rows_world(level, __float_as_uint(own.second.w) >> PSVD_TAG_WORLD_SHIFT);
    const rows_view view =
        rows_view_of(job.plan, own, walk->level, walk->set, !job.input.between && walk->level == walk->own_level);
    int32_t row = walk->row + view.skipped, y = 0, z = row;
    if (z >= view.span_z) y = z / view.span_z, z -= y * view.span_z;
#pragma unroll
    for (int i = 0; i < runs; ++i) {
        if (row >= view.rows) continue;
        const bool own_row = row == view.skipped;
        const int32_t x = own_row ? view.own_x : view.first_x, span = own_row ? view.own_span : view.span_x;
        const int32_t here = min(span, level.cells[0] - x), cells = walk->wrapped ? span - here : here;
        const int32_t at_y = view.first_y + y, at_z = view.first_z + z;
        const uint32_t first = view.base + (walk->wrapped ? 0 : (uint32_t)x) +
                               rows_base(level, world, at_y >= level.cells[1] ? at_y - level.cells[1] : at_y,
                                         at_z >= level.cells[2] ? at_z - level.cells[2] : at_z);
        ranges->start[i] = own_row && view.own_row && !walk->wrapped ? job.work->place[lane / LANES] + 1
                                                                     : start_of<LOCAL>(job.tables, *job.shared, first);
        ranges->count[i] = start_of<LOCAL>(job.tables, *job.shared, first + (uint32_t)cells);
        walk->wrapped = !walk->wrapped && here < span;
        if (walk->wrapped) continue;
        row += LANES;
        z += LANES;
#pragma unroll 1
        while (z >= view.span_z)
            z -= view.span_z, ++y;
    }
#pragma unroll
    for (int i = 0; i < runs; ++i)
        ranges->count[i] -= ranges->start[i];
    ranges->check_owner = view.check_owner;
    walk->row = row - view.skipped;
    if (row >= view.rows) enter_level(job.plan, walk, walk->level + 1, (int32_t)(lane % LANES));
}

__device__ __forceinline__ psvd_record load_record(const sweep_job &job, uint32_t place) {
    const float4 *const at = job.tables.records + 2ull * place;
    return psvd_record{at[0], at[1]};
}

// The whole warp takes the long ranges of its lanes, one after the other.
template <int LANES>
__device__ __forceinline__ void sweep_long(const sweep_job &job, lane_ranges<runs_of(LANES)> *ranges, uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < runs_of(LANES); ++i) {
        unsigned left = __ballot_sync(PSVD_FULL, ranges->count[i] >= ROWS_LONG_RANGE);
        for (; left != 0; left &= left - 1) {
            const uint32_t owner = __ffs(left) - 1, box = owner / LANES, own_place = job.work->place[box];
            const uint32_t start = __shfl_sync(PSVD_FULL, ranges->start[i], owner);
            const uint32_t end = start + __shfl_sync(PSVD_FULL, ranges->count[i], owner);
            const bool check_owner = __shfl_sync(PSVD_FULL, ranges->check_owner, owner);
            const psvd_record own = {job.work->first[box], job.work->second[box]};
            const uint32_t slot = __float_as_uint(own.second.z);
            const bool ask = check_owner || !job.plain;
#pragma unroll 1
            for (uint32_t place = start + lane; place - lane < end; place += 64) {
                const bool there = place < end, also = place + 32 < end;
                const psvd_record one = load_record(job, there ? place : 0),
                                  two = load_record(job, also ? place + 32 : 0);
                bool hit = there && overlaps(own, one), second = also && overlaps(own, two);
                if (ask) {
                    const float4 *const records = job.tables.records;
                    if (hit) hit = may_pair(job.input, job.plan, records, own_place, place, check_owner);
                    if (second) second = may_pair(job.input, job.plan, records, own_place, place + 32, check_owner);
                }
                job.shared->stage.emit_together(job.sink, hit, slot, __float_as_uint(one.second.z), held);
                job.shared->stage.emit_together(job.sink, second, slot, __float_as_uint(two.second.z), held);
            }
        }
        if (ranges->count[i] >= ROWS_LONG_RANGE) ranges->count[i] = 0;
    }
}

// Makes pairs of the partners that the lanes have noted. All lanes together.
template <int LANES> __device__ __forceinline__ void hand_over(const sweep_job &job, uint32_t hits, uint32_t *held) {
    const uint32_t lane = threadIdx.x & 31, slot = __float_as_uint(job.work->second[lane / LANES].z);
    const uint32_t sum = psvd_sum_up_to(hits), total = __shfl_sync(PSVD_FULL, sum, 31);
    if (total == 0) return;
    job.shared->stage.make_room(job.sink, total, held);
    psv_pair *const room = job.shared->stage.room(*held + sum - hits);
#pragma unroll 1
    for (uint32_t k = 0; k < hits; ++k)
        room[k] = psvd_make_pair(job.sink, slot, job.work->partner[k][lane]);
    *held += total;
    __syncwarp();
}

// Every lane goes through its own ranges, from one to the next without waiting for the others, some candidates a turn,
// and notes the partners it finds.
template <int LANES>
__device__ __forceinline__ void sweep_short(const sweep_job &job, const lane_ranges<runs_of(LANES)> &ranges,
                                            uint32_t *held) {
    constexpr uint32_t most = turn_of(LANES);
    static_assert(most <= ROWS_HITS, "a turn's partners fit into the list");
    const uint32_t lane = threadIdx.x & 31;
    uint32_t filled = 0, taken = 0, next = 0, end = 0, hits = 0;
    if (runs_of(LANES) == 1) {
        next = ranges.start[0];
        end = next + ranges.count[0];
    } else {
#pragma unroll
        for (int i = 0; i < runs_of(LANES); ++i)
            if (ranges.count[i] > 0)
                job.work->range[filled++][lane] = make_uint2(ranges.start[i], ranges.start[i] + ranges.count[i]);
    }
    const psvd_record own = {job.work->first[lane / LANES], job.work->second[lane / LANES]};
    const bool ask = ranges.check_owner || !job.plain;
    for (;;) {
        if (next >= end && taken < filled) {
            const uint2 range = job.work->range[taken++][lane];
            next = range.x;
            end = range.y;
        }
        if (!__any_sync(PSVD_FULL, next < end)) break;
        psvd_record other[most] = {};
        // Lanes that have nothing to test load nothing: all of them reading one place would crowd that line.
#pragma unroll
        for (uint32_t k = 0; k < most; ++k)
            if (next + k < end) other[k] = load_record(job, next + k);
#pragma unroll
        for (uint32_t k = 0; k < most; ++k) {
            bool hit = next + k < end && overlaps(own, other[k]);
            if (ask && hit)
                hit = may_pair(job.input, job.plan, job.tables.records, job.work->place[lane / LANES], next + k,
                               ranges.check_owner);
            if (hit) job.work->partner[hits++][lane] = __float_as_uint(other[k].second.z);
        }
        next += most;
        if (__any_sync(PSVD_FULL, hits + most > ROWS_HITS)) {
            hand_over<LANES>(job, hits, held);
            hits = 0;
        }
    }
    hand_over<LANES>(job, hits, held);
}

// A look's tests, as far as they are bounded. Returns whether the warp has to end.
template <bool LOCAL, int LANES>
__device__ __forceinline__ bool spend_look(const sweep_job &job, const lane_ranges<runs_of(LANES)> &ranges,
                                           sweep_tally *tally) {
    if constexpr (LOCAL) return false;
    uint32_t own = 0, together = 0;
#pragma unroll
    for (int i = 0; i < runs_of(LANES); ++i)
        (ranges.count[i] >= ROWS_LONG_RANGE ? together : own) += ranges.count[i];
    return rows_spend(job.tables.bound, job.input.result, job.plan.slots, rows_look_cost(own, together), &tally->spent);
}

// Everything that the warp's boxes look at, after the first look-up. Returns whether the warp has to end.
template <bool LOCAL, int LANES>
__device__ __forceinline__ bool sweep_boxes(const sweep_job &job, lane_walk *walk, lane_ranges<runs_of(LANES)> *ranges,
                                            sweep_tally *tally) {
    for (;;) {
        if (spend_look<LOCAL, LANES>(job, *ranges, tally)) return true;
#pragma unroll
        for (int i = 0; i < runs_of(LANES); ++i) {
            tally->candidates += ranges->count[i];
            tally->longest = max(tally->longest, ranges->count[i]);
        }
        sweep_long<LANES>(job, ranges, &tally->held);
        sweep_short<LANES>(job, *ranges, &tally->held);
        if (!__any_sync(PSVD_FULL, walk->more)) break;
        look_up<LOCAL, LANES>(job, walk, ranges);
    }
    __syncwarp();
    return false;
}

// The boxes from place `first` on, as many as the warp takes. Returns whether the warp has to end.
template <bool LOCAL, int LANES>
__device__ __forceinline__ bool sweep_places(const sweep_job &job, uint32_t first, uint32_t boxes, sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, place = first + lane;
    if (lane < 32 / LANES) {
        job.work->place[lane] = place < boxes ? place : PSVD_FULL;
        if (place < boxes) {
            const psvd_record own = load_record(job, place);
            job.work->first[lane] = own.first;
            job.work->second[lane] = own.second;
        }
    }
    __syncwarp();
    lane_walk walk = begin_walk<LANES>(job);
    lane_ranges<runs_of(LANES)> ranges;
    look_up<LOCAL, LANES>(job, &walk, &ranges);
    return sweep_boxes<LOCAL, LANES>(job, &walk, &ranges, tally);
}

// The block's share of the places, side by side, so that the loads of its warps meet in the first-level cache. Returns
// whether the sweep has been given up.
template <bool LOCAL, int LANES>
__device__ __forceinline__ bool sweep_share(const sweep_job &job, uint32_t boxes, uint32_t workers,
                                            sweep_tally *tally) {
    constexpr uint32_t each = 32 / LANES;
    const uint32_t share = (boxes + workers - 1) / workers, begin = blockIdx.x * share;
    const uint32_t end = min(begin + share, boxes);
    for (uint32_t first = begin + (threadIdx.x >> 5) * each; first < end; first += FUSED_WARPS * each)
        if (sweep_places<LOCAL, LANES>(job, first, end, tally)) return true;
    return false;
}

// The same where some boxes have many candidates: batches from all over, and whoever is done takes the next one.
template <bool LOCAL, int LANES>
__device__ __forceinline__ bool sweep_in_turn(const sweep_job &job, uint32_t *tickets, uint32_t boxes, uint32_t workers,
                                              sweep_tally *tally) {
    constexpr uint32_t each = 32 / LANES;
    const uint32_t batches = (boxes + each - 1) / each;
    uint32_t batch = blockIdx.x + workers * (threadIdx.x >> 5);
    while (batch < batches) {
        if (sweep_places<LOCAL, LANES>(job, batch * each, boxes, tally)) return true;
        if ((threadIdx.x & 31) == 0) batch = workers * FUSED_WARPS + atomicAdd(tickets, 1u);
        batch = __shfl_sync(PSVD_FULL, batch, 0);
    }
    return false;
}

// Adds the block's tallies to the statistics. One warp.
__device__ __forceinline__ void report_tally(const sweep_job &job, psvi_rows_seen *seen) {
    const uint32_t lane = threadIdx.x & 31;
    const fused_shared &shared = *job.shared;
    uint32_t low = lane < FUSED_WARPS ? shared.candidates[lane][0] : 0; // 21 bits
    uint32_t high = lane < FUSED_WARPS ? shared.candidates[lane][1] : 0;
    uint32_t longest = lane < FUSED_WARPS ? shared.longest[lane] : 0;
    low = psvd_reduce_add(low);
    high = psvd_reduce_add(high);
    longest = psvd_reduce_max(longest);
    const unsigned long long tested = ((unsigned long long)high << 16) + low;
    if (lane != 0 || tested == 0) return;
    psvi_frame_result *const result = job.input.result;
    atomicAdd(reinterpret_cast<unsigned long long *>(&result->candidates), tested);
    atomicAdd(reinterpret_cast<unsigned long long *>(&seen->candidates), tested);
    atomicMax(reinterpret_cast<unsigned long long *>(&result->longest_range), (unsigned long long)longest);
}

// Writes what the block's warps hold, with one atomic, and adds up their tallies. All threads.
__device__ __forceinline__ void finish_sweep(const sweep_job &job, psvi_rows_seen *seen, const sweep_tally &tally) {
    fused_shared *const shared = job.shared;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t low = psvd_reduce_add(tally.candidates & 0xffffu), high = psvd_reduce_add(tally.candidates >> 16);
    const uint32_t longest = psvd_reduce_max(tally.longest);
    uint32_t own_held = tally.held;
    shared->stage.keep_allowed(job.sink, &own_held);
    if (lane == 0) {
        shared->sums[warp] = own_held;
        shared->candidates[warp][0] = low;
        shared->candidates[warp][1] = high;
        shared->longest[warp] = longest;
    }
    __syncthreads();
    const uint32_t held = lane < FUSED_WARPS ? shared->sums[lane] : 0, sum = psvd_sum_up_to(held);
    const uint32_t total = __shfl_sync(PSVD_FULL, sum, 31), before = __shfl_sync(PSVD_FULL, sum - held, warp);
    if (threadIdx.x == 0 && total != 0) shared->base = atomicAdd(job.sink.counter, (unsigned long long)total);
    if (warp == FUSED_WARPS - 1) report_tally(job, seen);
    if (total == 0) return; // in all threads
    __syncthreads();
    shared->stage.write(job.sink, (int)warp, own_held, shared->base + before);
}

#endif
