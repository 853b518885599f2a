// The last kernel of `rows`: every box looks at the boxes of its cells.
#include "launch_cuda.h"
#include "rows_walk.cuh"

#define WARPS (ROWS_SWEEP_THREADS / 32)
#define OWNER_MASK 31u
#define SAME_LEVEL 32u

// A warp's boxes and the candidates that it has listed for them.
struct warp_work {
    float4 first[32], second[32];
    uint32_t level[32];
    uint32_t place[ROWS_CANDIDATES];
    uint8_t owner[ROWS_CANDIDATES]; // lane of the box, and SAME_LEVEL
};

struct sweep_shared {
    psvi_rows_plan plan;
    warp_work work[WARPS];
    psvd_pair_stage<WARPS> stage;
};

struct sweep_job {
    const psvi_find_input &input;
    const rows_tables &tables;
    psvd_counts counts;
    psvd_sink sink;
    uint32_t first_place; // of the warp's boxes
};

// Ranges of places that a lane's box has to be tested against.
struct lane_ranges {
    uint32_t start[ROWS_INTERVALS];
    uint32_t count[ROWS_INTERVALS];
    uint32_t same_level; // bit per range
};

__device__ __forceinline__ bool overlaps_xy(const float4 &own, const float4 &other) {
    return own.x <= other.y && other.x <= own.y && own.z <= other.w && other.z <= own.w;
}

// A candidate that overlaps on x and y: the rest of the tests. `owner` as in warp_work.
__device__ __forceinline__ void finish_test(const sweep_job &job, sweep_shared *shared, const warp_work &work,
                                            uint32_t owner, uint32_t place, const float4 &first) {
    const uint32_t lane = owner & OWNER_MASK;
    const psvd_record own = {work.first[lane], work.second[lane]};
    const float4 second = __ldg(job.tables.second + place);
    if (second.x > own.second.y || own.second.x > second.y) return;
    if ((owner & SAME_LEVEL) && !rows_owns(shared->plan, shared->plan.level[work.level[lane]], own,
                                           job.first_place + lane, first, second, place))
        return;
    if (!psvd_tags_pair(job.input.between, __float_as_uint(own.second.w), __float_as_uint(second.w))) return;
    const uint32_t slot = __float_as_uint(own.second.z), other = __float_as_uint(second.z);
    if (psvd_arrays_pair(job.input, job.counts, slot, other)) shared->stage.emit(job.sink, slot, other);
}

// Looks up the next cells of every lane's box: all loads are under way before the first is waited for. Returns whether
// any is left to be looked up later.
__device__ __forceinline__ bool look_up(const sweep_job &job, const sweep_shared &shared, warp_work *work,
                                        const psvd_record &own, rows_walk *walk, bool more, lane_ranges *ranges) {
    const int lane = threadIdx.x & 31;
    uint32_t *const firsts = work->place, *const cells = work->place + 32 * ROWS_INTERVALS;
    uint32_t own_row = 0;
    ranges->same_level = 0;
#pragma unroll 1
    for (int i = 0; i < ROWS_INTERVALS; ++i) {
        rows_interval interval = {0, 0, false};
        if (more) interval = rows_next_interval(shared.plan, own, walk);
        more = more && rows_has_more(shared.plan, *walk);
        firsts[i * 32 + lane] = interval.first;
        cells[i * 32 + lane] = (uint32_t)interval.cells;
        own_row |= (interval.own_row ? 1u : 0u) << i;
        ranges->same_level |= (walk->at_level == walk->level ? 1u : 0u) << i;
    }
    uint32_t end[ROWS_INTERVALS];
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i) {
        const uint32_t first = firsts[i * 32 + lane], count = cells[i * 32 + lane];
        ranges->start[i] = end[i] = 0;
        if (count > 0) {
            ranges->start[i] = own_row >> i & 1 ? job.first_place + lane + 1 : __ldg(job.tables.starts + first);
            end[i] = __ldg(job.tables.starts + first + count);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i) {
        const uint32_t first = firsts[i * 32 + lane], behind = first + cells[i * 32 + lane];
        if (ranges->start[i] == ROWS_EMPTY)
            ranges->start[i] = __ldg(job.tables.group_starts + (first >> ROWS_GROUP_BITS));
        if (end[i] == ROWS_EMPTY) end[i] = __ldg(job.tables.group_starts + (behind >> ROWS_GROUP_BITS));
        ranges->count[i] = end[i] - ranges->start[i];
    }
    __syncwarp();
    return more;
}

// The whole warp takes the long ranges of its lanes, one after the other.
__device__ __forceinline__ void sweep_long(const sweep_job &job, sweep_shared *shared, const warp_work &work,
                                           lane_ranges *ranges) {
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i) {
        unsigned left = __ballot_sync(PSVD_FULL, ranges->count[i] >= ROWS_LONG_RANGE);
        for (; left != 0; left &= left - 1) {
            const uint32_t lane = __ffs(left) - 1;
            const uint32_t start = __shfl_sync(PSVD_FULL, ranges->start[i], lane);
            const uint32_t end = start + __shfl_sync(PSVD_FULL, ranges->count[i], lane);
            const uint32_t same = __shfl_sync(PSVD_FULL, ranges->same_level, lane) >> i & 1;
            const float4 own = work.first[lane];
            for (uint32_t place = start + (threadIdx.x & 31); place - (threadIdx.x & 31) < end; place += 32) {
                if (place < end) {
                    const float4 first = __ldg(job.tables.first + place);
                    if (overlaps_xy(own, first))
                        finish_test(job, shared, work, lane | (same ? SAME_LEVEL : 0u), place, first);
                }
                shared->stage.settle(job.sink);
            }
        }
        if (ranges->count[i] >= ROWS_LONG_RANGE) ranges->count[i] = 0;
    }
}

// Tests `count` listed candidates, one a lane and turn.
__device__ __forceinline__ void test_listed(const sweep_job &job, sweep_shared *shared, const warp_work &work,
                                            uint32_t count) {
    const uint32_t lane = threadIdx.x & 31;
    for (uint32_t base = 0; base < count; base += 32 * ROWS_UNROLL) {
        float4 first[ROWS_UNROLL];
#pragma unroll
        for (int i = 0; i < ROWS_UNROLL; ++i)
            if (base + i * 32 + lane < count) first[i] = __ldg(job.tables.first + work.place[base + i * 32 + lane]);
#pragma unroll
        for (int i = 0; i < ROWS_UNROLL; ++i) {
            const uint32_t at = base + i * 32 + lane;
            if (at >= count) continue;
            const uint32_t owner = work.owner[at];
            if (overlaps_xy(work.first[owner & OWNER_MASK], first[i]))
                finish_test(job, shared, work, owner, work.place[at], first[i]);
        }
        shared->stage.settle(job.sink);
    }
}

__device__ __forceinline__ uint32_t warp_prefix(uint32_t value, uint32_t *total) {
    uint32_t sum = value;
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t before = __shfl_up_sync(PSVD_FULL, sum, step);
        if ((int)(threadIdx.x & 31) >= step) sum += before;
    }
    *total = __shfl_sync(PSVD_FULL, sum, 31);
    return sum - value;
}

// Lists the lanes' candidates side by side, so that the warp tests them with all its lanes however they are spread over
// its boxes; as many lists as it takes.
__device__ __forceinline__ void sweep_short(const sweep_job &job, sweep_shared *shared, warp_work *work,
                                            const lane_ranges &ranges) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t own = 0, total;
#pragma unroll
    for (int i = 0; i < ROWS_INTERVALS; ++i)
        own += ranges.count[i];
    const uint32_t before = warp_prefix(own, &total);
    for (uint32_t window = 0; window < total; window += ROWS_CANDIDATES) {
        uint32_t at = before;
#pragma unroll
        for (int i = 0; i < ROWS_INTERVALS; ++i) {
            const uint32_t from = max(at, window), to = min(at + ranges.count[i], window + ROWS_CANDIDATES);
            for (uint32_t k = from; k < to; ++k) {
                work->place[k - window] = ranges.start[i] + (k - at);
                work->owner[k - window] = (uint8_t)(lane | (ranges.same_level >> i & 1 ? SAME_LEVEL : 0u));
            }
            at += ranges.count[i];
        }
        __syncwarp();
        test_listed(job, shared, *work, min(total - window, (uint32_t)ROWS_CANDIDATES));
        __syncwarp();
    }
}

__device__ __forceinline__ void report_shape(const psvi_find_input &input, const psvi_rows_plan &plan) {
    uint64_t rows = 0;
    for (uint32_t level = 0; level <= plan.levels; ++level)
        if (plan.populated >> level & 1)
            rows += (uint64_t)plan.level[level].worlds * plan.level[level].cells[1] * plan.level[level].cells[2];
    input.result->rows = rows;
    input.result->levels = __popc(plan.populated);
}

// The pairs. A warp takes 32 boxes in sorted order, so that their cells lie side by side. It lists their runs of cells,
// looks up where these begin and end, lists the candidates and tests them, all lanes at work however many candidates a
// box has; long runs are swept together without a list. Warps work alone; the block meets at the end, to write its
// pairs. Reads each record about once per row that looks at it, writes the pairs.
__global__ void __launch_bounds__(ROWS_SWEEP_THREADS, ROWS_SWEEP_BLOCKS)
    psvk_rows_sweep(const psvi_find_input input, const psvi_rows_plan *plan, const rows_tables tables) {
    __shared__ sweep_shared shared;
    const uint64_t boxes = input.result->boxes;
    const uint64_t place = (uint64_t)blockIdx.x * ROWS_SWEEP_THREADS + threadIdx.x;
    if ((uint64_t)blockIdx.x * ROWS_SWEEP_THREADS >= boxes) return;
    const uint32_t *const words = reinterpret_cast<const uint32_t *>(plan);
    for (uint32_t i = threadIdx.x; i < sizeof shared.plan / 4; i += ROWS_SWEEP_THREADS)
        reinterpret_cast<uint32_t *>(&shared.plan)[i] = words[i];
    shared.stage.begin();
    psvd_record own = {};
    bool more = place < boxes;
    if (more) own.first = tables.first[place], own.second = tables.second[place];
    __syncthreads();
    const uint32_t lane = threadIdx.x & 31;
    warp_work *const work = &shared.work[threadIdx.x >> 5];
    sweep_job job = {input, tables, psvd_read_counts(input), {}, (uint32_t)place - lane};
    job.sink = psvd_make_sink(input, job.counts);
    rows_walk walk = {};
    if (more) rows_begin_walk(shared.plan, own, &walk);
    work->first[lane] = own.first;
    work->second[lane] = own.second;
    work->level[lane] = walk.level;
    __syncwarp();
    uint32_t tested = 0, longest = 0;
    while (__any_sync(PSVD_FULL, more)) {
        lane_ranges ranges;
        more = look_up(job, shared, work, own, &walk, more, &ranges);
#pragma unroll
        for (int i = 0; i < ROWS_INTERVALS; ++i)
            tested += ranges.count[i], longest = max(longest, ranges.count[i]);
        sweep_long(job, &shared, *work, &ranges);
        sweep_short(job, &shared, work, ranges);
    }
    shared.stage.finish(job.sink);
    psvd_warp_add(&input.result->candidates, tested);
    longest = __reduce_max_sync(PSVD_FULL, longest);
    if (lane == 0 && longest > *(volatile uint64_t *)&input.result->longest_range)
        atomicMax(reinterpret_cast<unsigned long long *>(&input.result->longest_range), (unsigned long long)longest);
    if (place == 0) report_shape(input, shared.plan);
}

extern "C" cudaError_t psvi_launch_rows_sweep(const psvi_find_input *input, const psvi_rows_memory *memory,
                                              cudaStream_t stream) {
    const float4 *const first = reinterpret_cast<const float4 *>(memory->records);
    const rows_tables tables = {first, first + memory->room, memory->starts, memory->group_starts};
    psvk_rows_sweep<<<psvi_block_count(psvi_most_boxes(input), ROWS_SWEEP_THREADS), ROWS_SWEEP_THREADS, 0, stream>>>(
        *input, memory->plan, tables);
    return cudaGetLastError();
}
