// Launchers of the one-axis sweep and prune.
#ifndef PAIRSIEVE_COLLISION_SWEEP_KERNELS_H
#define PAIRSIEVE_COLLISION_SWEEP_KERNELS_H

#include <cuda_runtime_api.h>

#include "../../../collision/src/broad_phase.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the frame's first kernel decides, in device memory.
typedef struct psvi_sweep_plan {
    uint64_t slots; // boxes of both sets: the count that the sorter reads
    uint32_t axis;  // swept: the one of the largest variance
} psvi_sweep_plan;

typedef struct psvi_sweep_memory {
    psvi_sweep_plan *plan;
    uint32_t *keys;  // one per slot
    uint32_t *order; // sorting permutation
    float *records;  // 8 floats per slot: all first halves, then all second halves
    uint64_t room;   // slots that the arrays hold
} psvi_sweep_memory;

cudaError_t psvi_launch_sweep_keys(const psvi_find_input *input, const psvi_sweep_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_sweep_gather(const psvi_find_input *input, const psvi_sweep_memory *memory,
                                     cudaStream_t stream);
cudaError_t psvi_launch_sweep(const psvi_find_input *input, const psvi_sweep_memory *memory, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
