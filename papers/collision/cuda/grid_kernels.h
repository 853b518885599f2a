// The device memory and the launchers of the `grid` method.
#ifndef PAIRSIEVE_COLLISION_GRID_KERNELS_H
#define PAIRSIEVE_COLLISION_GRID_KERNELS_H

#include <cuda_runtime_api.h>

#include "../../../collision/cuda/broad_phase_tuning.h"
#include "../../../collision/src/broad_phase.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_GRID_CELLS 8 // that a box touches at most: two on each axis

typedef struct psvi_grid_plan {
    uint64_t entries; // in the cells: the count that the sorter reads
    uint64_t large;   // boxes that are larger than a cell
    float origin[3];
    float inverse[3]; // cells per length
} psvi_grid_plan;

typedef struct psvi_grid_memory {
    psvi_grid_plan *plan;
    uint32_t *keys;   // hash of the cell, per entry
    uint32_t *values; // slot * 8 + which of the box's cells
    uint32_t *large;  // slots of the boxes that are larger than a cell
    uint64_t room;    // slots; entries: eight times that
    uint32_t key_bits;
} psvi_grid_memory;

cudaError_t psvi_launch_grid_keys(const psvi_find_input *input, const psvi_grid_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_grid_cells(const psvi_find_input *input, const psvi_grid_memory *memory, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
