// What the samples of a plan tell of the sweep before it begins: whether it would take many tests in vain.
#ifndef PAIRSIEVE_COLLISION_ROWS_PLAN_FORESEE_CUH
#define PAIRSIEVE_COLLISION_ROWS_PLAN_FORESEE_CUH

#include "rows_plan_samples.cuh"

// Are the scenes of two frames not alike? What is not a number is like all.
__device__ __forceinline__ bool rows_scenes_differ(const psvi_rows_scene &a, const psvi_rows_scene &b) {
    const auto differ = [](float x, float y) { return x > ROWS_SCENE_LIKE * y || y > ROWS_SCENE_LIKE * x; };
    return differ(a.spread[0], b.spread[0]) || differ(a.spread[1], b.spread[1]) || differ(a.spread[2], b.spread[2]) ||
           differ(a.extent, b.extent);
}

// Is nothing known of the scene, or what is known too old?
__device__ __forceinline__ bool rows_is_new(const psvi_rows_scene &scene, const psvi_rows_watch &watch) {
    return watch.was_over >= 2 * ROWS_PAUSE_MOST || rows_scenes_differ(scene, watch.last);
}

// A sample's place in the cells of its level.
struct rows_sample_cell {
    uint32_t level; // that of huge boxes: none
    int32_t at[3];
};

__device__ __forceinline__ rows_sample_cell rows_cell_of_sample(const psvi_rows_plan &plan, const psvd_record &record,
                                                                bool good) {
    const uint32_t own = good ? rows_record_level(plan, false, record) : plan.levels;
    const psvi_rows_level &level = plan.level[own];
    return {own,
            {rows_cell(record.first.x, level.origin[0], level.inverse[0], level.cells[0]),
             rows_cell(record.first.z, level.origin[1], level.inverse[1], level.cells[1]),
             rows_cell(record.second.x, level.origin[2], level.inverse[2], level.cells[2])}};
}

// Would the box look at a cell of a level, as far as the plan knows?
__device__ __forceinline__ bool rows_looks_at(const psvi_rows_plan &plan, const psvd_record &box,
                                              const rows_sample_cell &cell) {
    const psvi_rows_level &level = plan.level[cell.level];
    const float low[3] = {box.first.x, box.first.z, box.second.x}, high[3] = {box.first.y, box.first.w, box.second.y};
    bool looks = true;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        const int32_t from = rows_cell(low[i] - level.reach[i], level.origin[i], level.inverse[i], level.cells[i]);
        const int32_t to = rows_cell(high[i], level.origin[i], level.inverse[i], level.cells[i]);
        looks = looks & (rows_wrap(cell.at[i] - from, level.cells[i]) <= to - from);
    }
    return looks;
}

// How many tests a box would take in vain: by some samples of its warp, which lie all over the scene, and the cells
// that it would look at. So many more than the tree takes that the few samples leave no doubt? Then plan.bound.over
// says that the frame is the tree's. All threads of the block; ends with a barrier.
template <int THREADS>
__device__ __noinline__ void rows_foresee(const psvd_box &box, bool good, uint64_t slots,
                                          rows_plan_shared<THREADS> *shared) {
    psvi_rows_plan &plan = shared->plan;
    const uint32_t lane = threadIdx.x & 31;
    const psvd_record record = psvd_make_record(box, plan.axis[0], plan.axis[1], plan.axis[2], 0, 0);
    const rows_sample_cell own = rows_cell_of_sample(plan, record, good);
    int halves = 0; // of tests: a box looks at all coarser cells, or all finer ones, and forward at those of its level
#pragma unroll 1
    for (uint32_t step = 1; step <= ROWS_FORESEE_PARTNERS; ++step) {
        const uint32_t from = (lane + step) % 32;
        rows_sample_cell cell = {__shfl_sync(PSVD_FULL, own.level, from), {}};
        bool looks = plan.down ? cell.level <= own.level : cell.level >= own.level;
        bool meets = true;
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            cell.at[i] = __shfl_sync(PSVD_FULL, own.at[i], from);
            meets = meets & (__shfl_sync(PSVD_FULL, box.min[i], from) <= box.max[i]) &
                    (box.min[i] <= __shfl_sync(PSVD_FULL, box.max[i], from));
        }
        looks = looks && own.level < plan.levels && cell.level < plan.levels && rows_looks_at(plan, record, cell);
        const int tests = cell.level == own.level ? 1 : 2;
        if (looks) halves += meets ? -ROWS_BOUND_PAIR * tests : tests;
    }
    for (int step = 16; step > 0; step >>= 1)
        halves += __shfl_xor_sync(PSVD_FULL, halves, step);
    if (lane == 0) shared->reduced[threadIdx.x >> 5] = (float)halves;
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0;
        for (int warp = 0; warp < THREADS / 32; ++warp)
            all += shared->reduced[warp];
        const float boxes = (float)slots, tests = all / (2.0f * ROWS_FORESEE_PARTNERS * THREADS) * boxes * boxes;
        const float most = (float)ROWS_BOUND_FRAME + (float)(ROWS_BOUND_FREE / 32 + ROWS_BOUND_BOX) * boxes;
        plan.bound.over = all >= ROWS_FORESEE_LEAST && tests > (float)ROWS_FORESEE_TIMES * most;
    }
    __syncthreads();
}

#endif
