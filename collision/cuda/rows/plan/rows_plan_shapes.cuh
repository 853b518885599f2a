// A plan of three levels for thin boxes: one each for those that are longest on x, on y and on z.
//
// A level for boxes of all shapes looks as far across as the longest box is long, and meets all that lies there. Boxes
// of one shape are thin across, so their level looks a little way there. Cells are no narrower than a third of what
// others have on that axis, as those look at all rows that they cover.
#ifndef PAIRSIEVE_COLLISION_ROWS_PLAN_SHAPES_CUH
#define PAIRSIEVE_COLLISION_ROWS_PLAN_SHAPES_CUH

#include "rows_plan_down.cuh"

// Collects the shapes of the samples. All threads of the block; ends with a barrier.
template <int THREADS>
__device__ __forceinline__ void rows_collect_shapes(const float (&extent)[3], bool good,
                                                    rows_plan_shared<THREADS> *shared) {
    if (threadIdx.x < 3) shared->shape[threadIdx.x] = rows_shape{};
    __syncthreads();
    const int longest = extent[1] > extent[0] ? (extent[2] > extent[1] ? 2 : 1) : extent[2] > extent[0] ? 2 : 0;
#pragma unroll 1
    for (int shape = 0; shape < 3; ++shape) {
        const bool its = good && longest == shape;
        const uint32_t boxes = __popc(__ballot_sync(PSVD_FULL, its));
        float sum[3], most[3];
        for (int axis = 0; axis < 3; ++axis) {
            sum[axis] = most[axis] = its ? extent[axis] : 0.0f;
#pragma unroll
            for (int step = 16; step > 0; step >>= 1) {
                sum[axis] += __shfl_xor_sync(PSVD_FULL, sum[axis], step);
                most[axis] = fmaxf(most[axis], __shfl_xor_sync(PSVD_FULL, most[axis], step));
            }
        }
        if (boxes == 0 || (threadIdx.x & 31) != 0) continue;
        atomicAdd(&shared->shape[shape].boxes, boxes);
        for (int axis = 0; axis < 3; ++axis) {
            atomicAdd(&shared->shape[shape].sum[axis], sum[axis]);
            atomicMax(&shared->shape[shape].reach[axis], __float_as_uint(most[axis])); // not negative
        }
    }
    __syncthreads();
}

__device__ __forceinline__ float rows_shape_reach(const rows_shape &shape, int axis) {
    return __uint_as_float(shape.reach[axis]) * ROWS_LIMIT_PAD;
}

__device__ __forceinline__ float rows_shape_mean(const rows_shape &shape, int axis) {
    return __fdividef(shape.sum[axis], fmaxf((float)shape.boxes, 1.0f));
}

// The width of a shape's cells on an axis; of those on x, at most.
template <int THREADS>
__device__ __forceinline__ float rows_shape_width(const rows_plan_shared<THREADS> &shared, int shape, int axis,
                                                  float least) {
    float width = fmaxf(rows_shape_reach(shared.shape[shape], axis), least);
    for (int other = 0; other < 3; ++other)
        width = fmaxf(width, rows_shape_mean(shared.shape[other], axis) * (1.0f / ROWS_SHAPE_ROWS));
    if (axis == 0) // cells are not much longer: they would wrap
        for (int other = 1; other < 3; ++other)
            width = fmaxf(width, rows_shape_reach(shared.shape[shape], other) * (1.0f / ROWS_X_CELLS));
    return width;
}

// What a box costs on average with a level for each shape. One warp together.
template <int THREADS>
__device__ __forceinline__ float rows_cost_of_shapes(const rows_plan_shared<THREADS> &shared, uint64_t slots,
                                                     float limit, float least) {
    const int lane = threadIdx.x & 31;
    const int own = lane < 3 ? lane : lane < 5 ? 0 : 1, other = lane < 3 ? lane : lane < 5 ? lane - 2 : 2;
    float samples = 0, cost = 0;
    for (int shape = 0; shape < 3; ++shape)
        samples += (float)shared.shape[shape].boxes;
    const float boxes = (float)shared.shape[own].boxes, others = (float)shared.shape[other].boxes;
    if (lane < 6 && boxes > 0 && others > 0) { // a look of one at the other, or forward among its like
        float met = (float)slots * others / samples * (own == other ? 0.5f : 1.0f);
        for (int axis = 0; axis < 3; ++axis) {
            const float width = rows_shape_width(shared, other, axis, least) * (axis == 0 ? 1.0f / ROWS_X_CELLS : 1.0f);
            const float mean = rows_shape_mean(shared.shape[own], axis);
            met *= rows_expect_on(shared, axis, rows_shape_reach(shared.shape[other], axis) + mean + width, limit);
        }
        cost = boxes * ((own == other ? ROWS_DOWN_BOX : ROWS_SHAPE_LOOK) + ROWS_DOWN_CANDIDATE * met);
    }
#pragma unroll
    for (int step = 16; step > 0; step >>= 1)
        cost += __shfl_xor_sync(PSVD_FULL, cost, step);
    return cost / fmaxf(samples, 1.0f);
}

// The same with one level for all of them, which has a reach of its own on each axis. `all`: their shape.
template <int THREADS>
__device__ __forceinline__ float rows_cost_of_shape(const rows_plan_shared<THREADS> &shared, const rows_shape &all,
                                                    uint64_t slots, float limit, float least) {
    float met = 0.5f * (float)slots;
    for (int axis = 0; axis < 3; ++axis) {
        const float reach = fmaxf(rows_shape_reach(all, axis), least), mean = rows_shape_mean(all, axis);
        met *= rows_expect_on(shared, axis, (axis == 0 ? 1.25f : 2.0f) * reach + mean, limit);
    }
    return ROWS_DOWN_BOX + ROWS_DOWN_CANDIDATE * met;
}

// How many levels go by shape: none, one of all boxes or three. `cost`: of a box without that. All threads of the
// block; ends with a barrier.
template <int THREADS>
__device__ __forceinline__ uint32_t rows_choose_shapes(const float (&extent)[3], bool good, uint64_t slots, float cost,
                                                       float least, rows_plan_shared<THREADS> *shared) {
    rows_collect_shapes(extent, good, shared);
    if (threadIdx.x < 32) {
        rows_shape all = shared->shape[0];
        for (int shape = 1; shape < 3; ++shape) {
            all.boxes += shared->shape[shape].boxes;
            for (int axis = 0; axis < 3; ++axis) {
                all.sum[axis] += shared->shape[shape].sum[axis];
                all.reach[axis] = max(all.reach[axis], shared->shape[shape].reach[axis]);
            }
        }
        const float limit = shared->limits[0], three = rows_cost_of_shapes(*shared, slots, limit, least);
        const float one = rows_cost_of_shape(*shared, all, slots, limit, least);
        __syncwarp();
        if (threadIdx.x == 0) {
            const bool all_alike = one < cost, by_shape = three < ROWS_SHAPE_GAIN * fminf(one, cost);
            shared->best = all.boxes == 0 ? 0 : by_shape ? 3 : all_alike ? 1 : 0;
            if (shared->best == 1) shared->shape[0] = all, shared->shape[1] = shared->shape[2] = rows_shape{};
        }
    }
    __syncthreads();
    return shared->best;
}

#endif
