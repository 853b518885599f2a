// A plan of one level for nearly all boxes, while a few larger ones look down into it (see rows_larger.cuh): the limit
// that costs least.
#ifndef PAIRSIEVE_COLLISION_ROWS_PLAN_DOWN_CUH
#define PAIRSIEVE_COLLISION_ROWS_PLAN_DOWN_CUH

#include "rows_plan_samples.cuh"

// Of boxes that lie evenly over the range of the samples, the share that a look over a length on axis i meets.
template <int THREADS>
__device__ __forceinline__ float rows_expect_on(const rows_plan_shared<THREADS> &shared, int i, float length,
                                                float limit) {
    const int axis = shared.plan.axis[i];
    return fminf(__fdividef(length, shared.high[axis][0] - shared.low[axis][0] + limit), 1.0f);
}

// The same on all axes: the boxes that it meets.
template <int THREADS>
__device__ __forceinline__ float rows_expect(const rows_plan_shared<THREADS> &shared, float boxes, float limit,
                                             float along_x, float across) {
    return boxes * rows_expect_on(shared, 0, along_x, limit) * rows_expect_on(shared, 1, across, limit) *
           rows_expect_on(shared, 2, across, limit);
}

// Boxes of its own level that a box meets: in its own row those along itself, in other rows also those that begin a
// limit before it. It looks at the next row of z if it crosses into that. If it crosses into the next row of y, it
// looks there at the row of z before, the same one and perhaps the next one. So a box much smaller than the limit looks
// at little more than itself.
template <int THREADS>
__device__ __forceinline__ float rows_expect_near(const rows_plan_shared<THREADS> &shared, float boxes, float limit,
                                                  float extent) {
    const float cell = limit * (1.0f / ROWS_DOWN_X_CELLS), crosses = fminf(__fdividef(extent, limit), 1.0f);
    const float row = boxes * rows_expect_on(shared, 1, limit, limit) * rows_expect_on(shared, 2, limit, limit);
    return row * (rows_expect_on(shared, 0, extent + 0.5f * cell, limit) +
                  rows_expect_on(shared, 0, limit + extent + cell, limit) * crosses * (3.0f + crosses));
}

// Rows that a box looks at in a level of that limit.
template <int THREADS>
__device__ __forceinline__ float rows_expect_rows(const rows_plan_shared<THREADS> &shared, float limit, float extent) {
    float rows = 1.0f;
    for (int i = 1; i < 3; ++i) {
        const int axis = shared.plan.axis[i];
        rows *= __fdividef(fminf(extent, shared.high[axis][0] - shared.low[axis][0]), limit) + 2.0f;
    }
    return rows;
}

// Counts a sample in its bin. All lanes together: one atomic for those of a bin, as there are few bins.
template <int THREADS>
__device__ __forceinline__ void rows_count_extent(float extent, uint32_t bin, rows_plan_shared<THREADS> *shared) {
    const bool counts = extent >= 0;
    const unsigned same = __match_any_sync(PSVD_FULL, counts ? bin : ROWS_DOWN_BINS);
    if (!counts) return;
#if __CUDA_ARCH__ >= 800
    const uint32_t greatest = __reduce_max_sync(same, __float_as_uint(extent));
    if ((threadIdx.x & 31) != (uint32_t)__ffs(same) - 1) return;
    atomicMax(&shared->greatest[bin], greatest);
#else
    atomicMax(&shared->greatest[bin], __float_as_uint(extent));
    if ((threadIdx.x & 31) != (uint32_t)__ffs(same) - 1) return;
#endif
    atomicAdd(&shared->extents[bin], (uint32_t)__popc(same));
}

// The limit of a level for nearly all boxes, so that they and the larger ones, which look down into it, cost least. The
// samples' extents are counted in bins, and the greatest of each bin is tried. To shared->limits[0]; returns what a box
// costs then, on average. All threads of the block; `extent` below 0: none.
template <int THREADS>
__device__ __forceinline__ float rows_choose_base(float extent, float least, uint64_t slots,
                                                  rows_plan_shared<THREADS> *shared) {
    static_assert(THREADS >= ROWS_DOWN_BINS * ROWS_DOWN_PARTS && ROWS_DOWN_BINS <= 64, "a thread a part");
    if (threadIdx.x < ROWS_DOWN_BINS) shared->extents[threadIdx.x] = shared->greatest[threadIdx.x] = 0;
    if (threadIdx.x == 0) shared->best = PSVD_FULL, shared->even = 0;
    const float2 range = rows_block_range(extent, shared);
    if (threadIdx.x == 0) shared->scene.extent = fmaxf(range.y, 0.0f);
    const float most = fmaxf(range.y, least), fewest = fmaxf(range.x, least);
    if (range.y < 0) { // no samples
        if (threadIdx.x == 0) shared->limits[0] = fmaxf(least, 1.0f), shared->even = shared->few_larger = 1;
        __syncthreads();
        return 0.0f;
    }
    if (most <= ROWS_LEVEL_RATIO * fewest) { // of about one size: there is nothing to look for
        const float limit = most * ROWS_LIMIT_PAD, mean = 0.5f * (most + fewest);
        if (threadIdx.x == 0) shared->limits[0] = limit, shared->even = shared->few_larger = 1;
        __syncthreads();
        return ROWS_DOWN_BOX + ROWS_DOWN_CANDIDATE * rows_expect_near(*shared, (float)slots, limit, mean);
    }
    const float below = 4.0f * log2f(__fdividef(most, fmaxf(extent, least)));
    const uint32_t bin = ROWS_DOWN_BINS - 1 - (uint32_t)fminf(below, (float)(ROWS_DOWN_BINS - 1));
    rows_count_extent(extent, bin, shared);
    const int samples = __syncthreads_count(extent >= 0);
    const int larger_samples = __syncthreads_count(extent > ROWS_LEVEL_RATIO * fewest);
    if (threadIdx.x == 0) shared->few_larger = larger_samples * ROWS_DOWN_FEW_LARGER <= samples;
    if (threadIdx.x < ROWS_DOWN_BINS * ROWS_DOWN_PARTS) {
        const uint32_t tried = threadIdx.x / ROWS_DOWN_PARTS;
        const float limit = fmaxf(__uint_as_float(shared->greatest[tried]) * ROWS_LIMIT_PAD, least);
        float cost = 0, larger = 0;
        const bool is_tried = shared->extents[tried] != 0; // few are
        for (uint32_t bin = threadIdx.x % ROWS_DOWN_PARTS; is_tried && bin < ROWS_DOWN_BINS; bin += ROWS_DOWN_PARTS) {
            const float members = (float)shared->extents[bin], theirs = __uint_as_float(shared->greatest[bin]);
            if (members == 0) continue;
            if (bin <= tried) {
                cost += members *
                        (ROWS_DOWN_BOX + ROWS_DOWN_CANDIDATE * rows_expect_near(*shared, (float)slots, limit, theirs));
            } else {
                larger += members;
                cost +=
                    members * (ROWS_DOWN_LARGER_BOX + ROWS_DOWN_LARGER_ROW * rows_expect_rows(*shared, limit, theirs) +
                               ROWS_DOWN_LARGER_CANDIDATE *
                                   (rows_expect(*shared, (float)slots, limit, theirs + limit, theirs + 2.0f * limit) -
                                    rows_expect(*shared, (float)slots, limit, theirs, theirs)));
            }
        }
#pragma unroll
        for (int step = ROWS_DOWN_PARTS / 2; step > 0; step >>= 1) {
            cost += __shfl_xor_sync(PSVD_FULL, cost, step);
            larger += __shfl_xor_sync(PSVD_FULL, larger, step);
        }
        if (threadIdx.x % ROWS_DOWN_PARTS == 0 && is_tried && larger * ROWS_DOWN_LARGER <= (float)samples)
            atomicMin(&shared->best, (__float_as_uint(cost) & ~63u) | tried);
    }
    __syncthreads();
    const uint32_t best = shared->best;
    if (best == PSVD_FULL) return INFINITY;
    if (threadIdx.x == 0)
        shared->limits[0] = fmaxf(__uint_as_float(shared->greatest[best % 64]) * ROWS_LIMIT_PAD, least);
    return __uint_as_float(best & ~63u) / (float)samples;
}

// Levels above the first one, where larger boxes look down: up to the size of the scene.
template <int THREADS> __device__ __forceinline__ uint32_t rows_levels_down(const rows_plan_shared<THREADS> &shared) {
    float spread = 0;
    for (int axis = 0; axis < 3; ++axis)
        spread = fmaxf(spread, shared.high[axis][0] - shared.low[axis][0]);
    uint32_t levels = 2;
    for (float limit = shared.limits[0] * ROWS_LEVEL_RATIO; levels < ROWS_LEVELS && limit < spread; ++levels)
        limit *= ROWS_LEVEL_RATIO;
    return levels;
}

// The share of the cells that a level gets: by its samples; where larger boxes look down, half as much again and a
// little for those, as samples tell little of the few.
template <int THREADS>
__device__ __forceinline__ float rows_level_share(const rows_plan_shared<THREADS> &shared, uint32_t at,
                                                  uint32_t samples) {
    const float each = 1.0f / (float)samples;
    if (!shared.plan.down) return (float)shared.members[at] * each;
    const auto of_larger = [&](uint32_t level) {
        return 1.5f * each * (float)shared.members[level] + 1.0f / ROWS_DOWN_SPARE;
    };
    if (at != 0) return of_larger(at);
    float left = 1.0f;
    for (uint32_t level = 1; level < shared.plan.levels; ++level)
        left -= of_larger(level);
    return fmaxf(left, 0.5f);
}

#endif
