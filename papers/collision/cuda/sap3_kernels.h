// The device memory and the launchers of the `sap3` method: three sorts of endpoints, one axis after the other.
#ifndef PAIRSIEVE_COLLISION_SAP3_KERNELS_H
#define PAIRSIEVE_COLLISION_SAP3_KERNELS_H

#include <cuda_runtime_api.h>

#include "../../../collision/cuda/broad_phase_tuning.h"
#include "../../../collision/src/broad_phase.h"

#ifdef __cplusplus
extern "C" {
#endif

// Counts that the sorter reads on the device.
typedef struct psvi_sap3_plan {
    uint64_t boxes;     // in the list
    uint64_t endpoints; // twice that
} psvi_sap3_plan;

// `room` boxes have 2 * room endpoints. Endpoint e < boxes is the minimum of box list[e], others the maximum of
// list[e - boxes]: the index record and the min/max bit of the paper in one number, which the sorter makes itself.
typedef struct psvi_sap3_memory {
    psvi_sap3_plan *plan;
    uint32_t *lists[2];  // slots of the boxes that are left
    uint32_t *keys;      // coordinates of the endpoints
    uint32_t *endpoints; // sorted
    uint32_t *minimums;  // per sorted endpoint: minimums before it; one more entry for all
    uint32_t *first;     // per box of the list: place of its minimum
    uint32_t *last;      // and of its maximum
    uint32_t *keep;      // per box: 1, then its place in the next list; one more entry for all
    uint32_t *ends;      // per box in the last order: minimums before its maximum
    float *records;      // 8 floats per box in the last order: all first halves, then all second halves
    uint64_t room;
} psvi_sap3_memory;

// All good boxes to lists[0].
cudaError_t psvi_launch_sap3_begin(const psvi_find_input *input, const psvi_sap3_memory *memory, cudaStream_t stream);
// Keys of the endpoints of lists[list] on the axis.
cudaError_t psvi_launch_sap3_keys(const psvi_find_input *input, const psvi_sap3_memory *memory, uint32_t list, int axis,
                                  cudaStream_t stream);
// Sorted endpoints to flags (1: a minimum), which the caller scans to `minimums`.
cudaError_t psvi_launch_sap3_flags(const psvi_find_input *input, const psvi_sap3_memory *memory, cudaStream_t stream);
// Places of minimums and maximums, and which boxes have another one on this axis, which the caller scans in `keep`.
cudaError_t psvi_launch_sap3_mark(const psvi_find_input *input, const psvi_sap3_memory *memory, cudaStream_t stream);
// lists[list] without the boxes that are not kept, to the other list.
cudaError_t psvi_launch_sap3_compact(const psvi_find_input *input, const psvi_sap3_memory *memory, uint32_t list,
                                     cudaStream_t stream);
// Records in the order of the last axis, and the pairs.
cudaError_t psvi_launch_sap3_gather(const psvi_find_input *input, const psvi_sap3_memory *memory, uint32_t list,
                                    cudaStream_t stream);
cudaError_t psvi_launch_sap3_pairs(const psvi_find_input *input, const psvi_sap3_memory *memory, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
