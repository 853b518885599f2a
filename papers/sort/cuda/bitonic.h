// Kernels of the bitonic sort on staged pairs.
#ifndef PAIRSIEVE_SORT_BITONIC_H
#define PAIRSIEVE_SORT_BITONIC_H

#include "../../../core/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_BITONIC_TILE 2048 // elements that one block exchanges in shared memory

typedef struct psvi_bitonic_data {
    void *fields; // u32 or u64
    uint32_t *index;
    uint32_t field_bytes;
    uint64_t slots; // a power of two, PSVI_BITONIC_TILE at least
} psvi_bitonic_data;

// Sorts each tile, alternately up and down.
psv_status psvi_bitonic_sort_tiles(psv_context *context, const psvi_bitonic_data *data);

// One exchange over the distance `step` of the merge of sequences of `length`.
psv_status psvi_bitonic_exchange(psv_context *context, const psvi_bitonic_data *data, uint64_t length, uint64_t step);

// The exchanges over distances below the tile, all in one launch.
psv_status psvi_bitonic_merge_tiles(psv_context *context, const psvi_bitonic_data *data, uint64_t length);

#ifdef __cplusplus
}
#endif
#endif
