// The last kernel of `rows`: every box sweeps its ranges.
#include "launch_cuda.h"
#include "rows_walk.cuh"

#define WARPS (ROWS_SWEEP_THREADS / 32)

struct sweep_shared {
    psvi_rows_plan plan;
    psvd_pair_stage<WARPS> stage;
};

struct sweep_job {
    const psvi_find_input &input;
    rows_tables tables;
    psvd_counts counts;
    psvd_sink sink;
};

__device__ __forceinline__ void test_candidate(const sweep_job &job, sweep_shared *shared, const rows_query &query,
                                               uint32_t place) {
    const float4 first = __ldg(job.tables.first + place);
    const float4 &own = query.own.first;
    if (first.x > own.y || own.x > first.y || first.z > own.w || own.z > first.w) return;
    const float4 second = __ldg(job.tables.second + place);
    if (second.x > query.own.second.y || query.own.second.x > second.y) return;
    if (query.at_level == query.level && !rows_owns(shared->plan, query, first, second, place)) return;
    if (!psvd_tags_pair(job.input.between, __float_as_uint(query.own.second.w), __float_as_uint(second.w))) return;
    const uint32_t slot = __float_as_uint(query.own.second.z), other = __float_as_uint(second.z);
    if (psvd_arrays_pair(job.input, job.counts, slot, other)) shared->stage.emit(job.sink, slot, other);
}

__device__ __forceinline__ float4 shuffle4(const float4 &value, int lane) {
    return make_float4(__shfl_sync(PSVD_FULL, value.x, lane), __shfl_sync(PSVD_FULL, value.y, lane),
                       __shfl_sync(PSVD_FULL, value.z, lane), __shfl_sync(PSVD_FULL, value.w, lane));
}

// The whole warp sweeps the current range of one of its lanes.
__device__ __forceinline__ void sweep_together(const sweep_job &job, sweep_shared *shared, const rows_walk &walk,
                                               int owner) {
    rows_query query;
    query.own.first = shuffle4(walk.query.own.first, owner);
    query.own.second = shuffle4(walk.query.own.second, owner);
    query.place = __shfl_sync(PSVD_FULL, walk.query.place, owner);
    query.level = __shfl_sync(PSVD_FULL, walk.query.level, owner);
    query.row_y = __shfl_sync(PSVD_FULL, walk.query.row_y, owner);
    query.row_z = __shfl_sync(PSVD_FULL, walk.query.row_z, owner);
    query.at_level = __shfl_sync(PSVD_FULL, walk.query.at_level, owner);
    const uint32_t end = __shfl_sync(PSVD_FULL, walk.end, owner);
    for (uint32_t next = __shfl_sync(PSVD_FULL, walk.next, owner); next < end; next += 32) {
        const uint32_t place = next + (threadIdx.x & 31);
        if (place < end) test_candidate(job, shared, query, place);
        shared->stage.settle(job.sink);
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

// The pairs. One thread a box, in sorted order, so that the lanes of a warp walk through the same rows side by side and
// share their loads through the first-level cache; a range of ROWS_LONG_RANGE candidates or more is swept by the whole
// warp. Lanes take ROWS_SWEEP_STEP candidates between two synchronizations of the warp. Reads each record about once
// per row that looks at it, writes the pairs.
__global__ void __launch_bounds__(ROWS_SWEEP_THREADS)
    psvk_rows_sweep(const psvi_find_input input, const psvi_rows_plan *plan, const rows_tables tables) {
    __shared__ sweep_shared shared;
    const uint64_t boxes = input.result->boxes;
    const uint64_t place = (uint64_t)blockIdx.x * ROWS_SWEEP_THREADS + threadIdx.x;
    if ((uint64_t)blockIdx.x * ROWS_SWEEP_THREADS >= boxes) return;
    const uint32_t *const words = reinterpret_cast<const uint32_t *>(plan);
    for (uint32_t i = threadIdx.x; i < sizeof shared.plan / 4; i += ROWS_SWEEP_THREADS)
        reinterpret_cast<uint32_t *>(&shared.plan)[i] = words[i];
    shared.stage.begin();
    __syncthreads();
    sweep_job job = {input, tables, psvd_read_counts(input), {}};
    job.sink = psvd_make_sink(input, job.counts);
    rows_walk walk = {};
    bool more = place < boxes;
    if (more) {
        const psvd_record own = {tables.first[place], tables.second[place]};
        rows_begin_walk(shared.plan, own, (uint32_t)place, &walk);
        more = rows_next_range(shared.plan, tables, &walk);
    }
    uint32_t tested = 0, longest = 0;
    if (more) tested = longest = walk.end - walk.next;
    while (__any_sync(PSVD_FULL, more)) {
        unsigned together = __ballot_sync(PSVD_FULL, more && walk.end - walk.next >= ROWS_LONG_RANGE);
        for (; together != 0; together &= together - 1) {
            const int owner = __ffs(together) - 1;
            sweep_together(job, &shared, walk, owner);
            if ((int)(threadIdx.x & 31) == owner) walk.next = walk.end;
        }
        if (more) {
            for (int step = 0; step < ROWS_SWEEP_STEP && walk.next < walk.end; ++step)
                test_candidate(job, &shared, walk.query, walk.next++);
            if (walk.next == walk.end) {
                more = rows_next_range(shared.plan, tables, &walk);
                if (more) tested += walk.end - walk.next, longest = max(longest, walk.end - walk.next);
            }
        }
        shared.stage.settle(job.sink);
    }
    shared.stage.finish(job.sink);
    psvd_warp_add(&input.result->candidates, tested);
    longest = __reduce_max_sync(PSVD_FULL, longest);
    if ((threadIdx.x & 31) == 0 && longest > *(volatile uint64_t *)&input.result->longest_range)
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
