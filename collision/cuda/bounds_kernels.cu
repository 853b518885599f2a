// Boxes of posed shapes: solids a thread each, point sets a thread, a warp or a block each by their length.
#include "../src/bounds_math.h"
#include "bounds_kernels.h"
#include "broad_phase_tuning.h"

__device__ __forceinline__ bool find_shape(const psvi_bounds_view &view, uint64_t instance, psv_bounds_shape *shape) {
    const uint64_t index = view.shape_index == NULL ? instance : view.shape_index[instance];
    if (index >= view.shape_count) return false;
    *shape = view.shapes[index];
    if (shape->type != PSV_BOUNDS_POINTS) return shape->type < PSV_BOUNDS_POINTS;
    return shape->point_count > 0 && (uint64_t)shape->first_point + shape->point_count <= view.point_count;
}

// Minimum and maximum that keep a NaN, so that it makes the box bad.
__device__ __forceinline__ float min_or_nan(float a, float b) { return a <= b || a != a ? a : b; }
__device__ __forceinline__ float max_or_nan(float a, float b) { return a >= b || a != a ? a : b; }

__device__ __forceinline__ psv_aabb join(psv_aabb a, const psv_aabb &b) {
    for (int axis = 0; axis < 3; ++axis) {
        a.min[axis] = min_or_nan(a.min[axis], b.min[axis]);
        a.max[axis] = max_or_nan(a.max[axis], b.max[axis]);
    }
    return a;
}

// Bounds of every step-th point of a set, turned and moved. Moving after the reduction gives the same as before it, as
// rounding is monotone.
__device__ __forceinline__ psv_aabb points_of_pose(const psvi_bounds_view &view, const psv_bounds_shape &shape,
                                                   const psv_pose &pose, uint32_t first, uint32_t step) {
    psv_aabb box;
    psvi_make_bad_box(&box);
    float rows[3][3];
    psvi_rotation_rows(pose.rotation, rows);
    const float *const points = view.points + 3 * (uint64_t)shape.first_point;
    for (uint64_t i = first; i < shape.point_count; i += step) {
        const float point[3] = {points[3 * i], points[3 * i + 1], points[3 * i + 2]};
        for (int axis = 0; axis < 3; ++axis) {
            const float at = psvi_rotate_axis(rows[axis], point);
            box.min[axis] = min_or_nan(box.min[axis], at);
            box.max[axis] = max_or_nan(box.max[axis], at);
        }
    }
    for (int axis = 0; axis < 3; ++axis) {
        box.min[axis] += pose.position[axis];
        box.max[axis] += pose.position[axis];
    }
    return box;
}

__device__ __forceinline__ psv_aabb points_bounds(const psvi_bounds_view &view, const psv_bounds_shape &shape,
                                                  uint64_t instance, uint32_t first, uint32_t step) {
    const psv_aabb box = points_of_pose(view, shape, view.poses[instance], first, step);
    if (view.end_poses == NULL) return box;
    return join(box, points_of_pose(view, shape, view.end_poses[instance], first, step));
}

__device__ __forceinline__ psv_aabb solid_bounds(const psv_bounds_shape &shape, const psv_pose &pose) {
    psv_aabb box;
    float rows[3][3];
    psvi_rotation_rows(pose.rotation, rows);
    for (int axis = 0; axis < 3; ++axis) {
        const float reach = psvi_shape_reach(&shape, rows[axis]);
        box.min[axis] = pose.position[axis] - reach;
        box.max[axis] = pose.position[axis] + reach;
    }
    return box;
}

__device__ __forceinline__ psv_aabb widen(psv_aabb box, float margin) {
    for (int axis = 0; axis < 3; ++axis) {
        box.min[axis] -= margin;
        box.max[axis] += margin;
    }
    return box;
}

// One thread an instance: solids, short point sets, and bad boxes for instances that name nothing. Longer point sets
// are left to the next kernel. Reads pose and shape, writes 24 bytes.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_bounds(const psvi_bounds_view view, psv_aabb *boxes) {
    const uint64_t instance = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (instance >= view.instance_count) return;
    psv_bounds_shape shape;
    if (!find_shape(view, instance, &shape)) {
        psvi_make_bad_box(&boxes[instance]);
        return;
    }
    psv_aabb box;
    if (shape.type == PSV_BOUNDS_POINTS) {
        if (shape.point_count > PSVI_THREAD_ROW) return;
        box = points_bounds(view, shape, instance, 0, 1);
    } else {
        box = solid_bounds(shape, view.poses[instance]);
        if (view.end_poses != NULL) box = join(box, solid_bounds(shape, view.end_poses[instance]));
    }
    boxes[instance] = widen(box, view.margin);
}

__device__ __forceinline__ psv_aabb warp_join(psv_aabb box) {
    for (int step = 16; step > 0; step >>= 1)
        for (int axis = 0; axis < 3; ++axis) {
            box.min[axis] = min_or_nan(box.min[axis], __shfl_xor_sync(0xffffffffu, box.min[axis], step));
            box.max[axis] = max_or_nan(box.max[axis], __shfl_xor_sync(0xffffffffu, box.max[axis], step));
        }
    return box;
}

// Point sets too long for a thread. A block takes eight instances at a time: each warp reduces one of middle length,
// then the whole block reduces the long ones, one after the other, over shared memory. Reads every point once a pose.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_bounds_points(const psvi_bounds_view view, psv_aabb *boxes) {
    constexpr int warps = PSVI_BLOCK_THREADS / 32;
    __shared__ psv_aabb parts[warps];
    __shared__ uint32_t long_sets;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (uint64_t first = (uint64_t)blockIdx.x * warps; first < view.instance_count;
         first += (uint64_t)gridDim.x * warps) {
        if (threadIdx.x == 0) long_sets = 0;
        __syncthreads();
        psv_bounds_shape shape;
        const uint64_t own = first + warp;
        const bool here = own < view.instance_count && find_shape(view, own, &shape) &&
                          shape.type == PSV_BOUNDS_POINTS && shape.point_count > PSVI_THREAD_ROW;
        if (here && shape.point_count <= BOUNDS_WARP_POINTS) {
            const psv_aabb box = warp_join(points_bounds(view, shape, own, lane, 32));
            if (lane == 0) boxes[own] = widen(box, view.margin);
        } else if (here && lane == 0) {
            atomicOr(&long_sets, 1u << warp);
        }
        __syncthreads();
        for (uint32_t left = long_sets; left != 0; left &= left - 1) {
            const uint64_t instance = first + __ffs(left) - 1;
            (void)find_shape(view, instance, &shape);
            const psv_aabb box = warp_join(points_bounds(view, shape, instance, threadIdx.x, PSVI_BLOCK_THREADS));
            if (lane == 0) parts[warp] = box;
            __syncthreads();
            if (threadIdx.x == 0) {
                psv_aabb all = parts[0];
                for (int i = 1; i < warps; ++i)
                    all = join(all, parts[i]);
                boxes[instance] = widen(all, view.margin);
            }
            __syncthreads();
        }
        __syncthreads(); // long_sets is read above and cleared in the next round
    }
}

extern "C" cudaError_t psvi_launch_bounds(const psvi_bounds_view *view, psv_aabb *boxes, int multiprocessors,
                                          cudaStream_t stream) {
    const uint64_t count = view->instance_count;
    psvk_bounds<<<(uint32_t)((count + PSVI_BLOCK_THREADS - 1) / PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        *view, boxes);
    if (view->point_count > PSVI_THREAD_ROW) {
        const uint64_t groups = (count + PSVI_BLOCK_THREADS / 32 - 1) / (PSVI_BLOCK_THREADS / 32);
        const uint64_t most = (uint64_t)multiprocessors * 32;
        psvk_bounds_points<<<(uint32_t)(groups < most ? groups : most), PSVI_BLOCK_THREADS, 0, stream>>>(*view, boxes);
    }
    return cudaGetLastError();
}
