// What one block sees of a frame's boxes, a sample a thread: for the plan.
#ifndef PAIRSIEVE_COLLISION_ROWS_PLAN_SAMPLES_CUH
#define PAIRSIEVE_COLLISION_ROWS_PLAN_SAMPLES_CUH

#include "rows_cells.cuh"

// Boxes of one shape.
struct rows_shape {
    uint32_t boxes;
    uint32_t reach[3]; // bits of the greatest extent on x, y and z
    float sum[3];      // of the extents
};

// THREADS: of the block that makes the plan, at most 1,024; one sampled box each.
template <int THREADS> struct rows_plan_shared {
    static constexpr int warps = THREADS / 32;
    float low[3][warps], high[3][warps]; // of each warp's samples, then their medians in [axis][0]
    float reduced[warps], least[warps];
    float limits[ROWS_LEVELS]; // of the sampled levels, coarse to fine
    uint32_t members[ROWS_LEVELS + 1];
    uint32_t extents[ROWS_DOWN_BINS], greatest[ROWS_DOWN_BINS]; // samples by extent: how many, bits of the greatest
    uint32_t best, even;                                        // even: the samples are of about one size
    uint32_t few_larger;                                        // they are but for one in ROWS_DOWN_FEW_LARGER
    uint32_t foresees;                                          // see rows_foresee
    psvi_rows_scene scene;                                      // with ROWS_SAMPLES of them
    rows_shape shape[3];                                        // of the samples whose longest axis is x, y or z
    psvi_rows_plan plan;
};

// The slot of a thread's sample: one of each THREADS-th of the slots, anywhere in it. Always the same places of a
// thread would be the same body of each world where worlds are alike, and tell nothing of the others. A warp's samples
// are from all over the slots: boxes that lie in order of place would give it a slab of the scene only.
template <int THREADS> __device__ __forceinline__ uint64_t rows_sample_slot(uint64_t slots) {
    const uint32_t part = threadIdx.x % 32 * (THREADS / 32) + threadIdx.x / 32;
    const uint64_t first = slots * part / THREADS, next = slots * (part + 1) / THREADS;
    uint32_t any = (threadIdx.x + 1) * 2654435761u;
    any = (any ^ any >> 15) * 2246822519u;
    return first + __umulhi(any ^ any >> 13, (uint32_t)(next - first));
}

template <int THREADS> __device__ __forceinline__ float rows_block_max(float value, rows_plan_shared<THREADS> *shared) {
    for (int step = 16; step > 0; step >>= 1)
        value = fmaxf(value, __shfl_xor_sync(PSVD_FULL, value, step));
    if ((threadIdx.x & 31) == 0) shared->reduced[threadIdx.x >> 5] = value;
    __syncthreads();
    value = shared->reduced[min((int)threadIdx.x & 31, THREADS / 32 - 1)];
    for (int step = 16; step > 0; step >>= 1)
        value = fmaxf(value, __shfl_xor_sync(PSVD_FULL, value, step));
    __syncthreads();
    return value;
}

// The least and the greatest of the values that are not below 0; the greatest is below 0 where there is none.
template <int THREADS>
__device__ __forceinline__ float2 rows_block_range(float value, rows_plan_shared<THREADS> *shared) {
    float low = value < 0 ? INFINITY : value, high = value;
    for (int step = 16; step > 0; step >>= 1) {
        low = fminf(low, __shfl_xor_sync(PSVD_FULL, low, step));
        high = fmaxf(high, __shfl_xor_sync(PSVD_FULL, high, step));
    }
    if ((threadIdx.x & 31) == 0) shared->least[threadIdx.x >> 5] = low, shared->reduced[threadIdx.x >> 5] = high;
    __syncthreads();
    const int at = min((int)threadIdx.x & 31, THREADS / 32 - 1);
    low = shared->least[at], high = shared->reduced[at];
    for (int step = 16; step > 0; step >>= 1) {
        low = fminf(low, __shfl_xor_sync(PSVD_FULL, low, step));
        high = fmaxf(high, __shfl_xor_sync(PSVD_FULL, high, step));
    }
    return make_float2(low, high);
}

// Medians over the lanes of the finite ones of two values; 0 when there is none.
__device__ __forceinline__ float2 rows_warp_medians(float2 value) {
    const int own = threadIdx.x & 31;
    const bool counts = fabsf(value.x) <= FLT_MAX && fabsf(value.y) <= FLT_MAX;
    const unsigned valid = __ballot_sync(PSVD_FULL, counts);
    if (valid == 0) return make_float2(0, 0);
    int rank_x = 0, rank_y = 0;
#pragma unroll
    for (int lane = 0; lane < 32; ++lane) {
        const float x = __shfl_sync(PSVD_FULL, value.x, lane), y = __shfl_sync(PSVD_FULL, value.y, lane);
        const bool counted = valid >> lane & 1;
        rank_x += counted && (x < value.x || (x == value.x && lane < own));
        rank_y += counted && (y < value.y || (y == value.y && lane < own));
    }
    const int middle = __popc(valid) / 2;
    const int at_x = __ffs(__ballot_sync(PSVD_FULL, counts && rank_x == middle)) - 1;
    const int at_y = __ffs(__ballot_sync(PSVD_FULL, counts && rank_y == middle)) - 1;
    return make_float2(__shfl_sync(PSVD_FULL, value.x, at_x), __shfl_sync(PSVD_FULL, value.y, at_y));
}

// Where most boxes are: the medians over the warps of their samples' least and greatest corners. A few boxes far away
// do not move them.
template <int THREADS>
__device__ __forceinline__ void rows_sample_range(const psvd_box &box, bool good, rows_plan_shared<THREADS> *shared) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (int axis = 0; axis < 3; ++axis) {
        const bool finite = good && fabsf(box.min[axis]) < 3e38f;
        float low = finite ? box.min[axis] : INFINITY, high = finite ? box.min[axis] : -INFINITY;
        for (int step = 16; step > 0; step >>= 1) {
            low = fminf(low, __shfl_xor_sync(PSVD_FULL, low, step));
            high = fmaxf(high, __shfl_xor_sync(PSVD_FULL, high, step));
        }
        if (lane == 0) shared->low[axis][warp] = low, shared->high[axis][warp] = high;
    }
    __syncthreads();
    if (warp < 3) {
        const float2 range =
            rows_warp_medians(lane < THREADS / 32 ? make_float2(shared->low[warp][lane], shared->high[warp][lane])
                                                  : make_float2(INFINITY, INFINITY));
        __syncwarp();
        if (lane == 0) shared->low[warp][0] = range.x, shared->high[warp][0] = range.y;
    }
    __syncthreads();
}

// How far most boxes are from the origin, on any axis.
template <int THREADS> __device__ __forceinline__ float rows_farthest(const rows_plan_shared<THREADS> *shared) {
    float reach = 0;
    for (int axis = 0; axis < 3; ++axis)
        reach = fmaxf(reach, fmaxf(fabsf(shared->low[axis][0]), fabsf(shared->high[axis][0])));
    return reach;
}

// What coordinates are multiplied by: cells per length of a scene of tiny numbers would be no float.
template <int THREADS> __device__ __forceinline__ float rows_scale_of(const rows_plan_shared<THREADS> *shared) {
    const float reach = rows_farthest(shared);
    return reach > 0 && reach < ROWS_TINY ? ROWS_TINY_UP : 1.0f;
}

template <int THREADS> __device__ __forceinline__ void rows_choose_axes(rows_plan_shared<THREADS> *shared) {
    psvi_rows_plan &plan = shared->plan;
    int longest = 0;
    for (int axis = 1; axis < 3; ++axis)
        if (shared->high[axis][0] - shared->low[axis][0] > shared->high[longest][0] - shared->low[longest][0])
            longest = axis;
    plan.axis[0] = longest;
    plan.axis[1] = longest == 0 ? 1 : 0;
    plan.axis[2] = longest == 2 ? 1 : 2;
}

#endif
