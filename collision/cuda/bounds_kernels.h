// Launcher of the bounds of posed shapes.
#ifndef PAIRSIEVE_COLLISION_BOUNDS_KERNELS_H
#define PAIRSIEVE_COLLISION_BOUNDS_KERNELS_H

#include <cuda_runtime_api.h>

#include "pairsieve/collision.h"

#ifdef __cplusplus
extern "C" {
#endif

// A psv_bounds_input with addresses in place of buffers; checked.
typedef struct psvi_bounds_view {
    const psv_bounds_shape *shapes;
    const float *points;
    const uint32_t *shape_index; // NULL: instance i has shape i
    const psv_pose *poses;
    const psv_pose *end_poses; // NULL: not swept
    uint64_t instance_count, point_count;
    uint32_t shape_count;
    float margin;
} psvi_bounds_view;

cudaError_t psvi_launch_bounds(const psvi_bounds_view *view, psv_aabb *boxes, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
