// Kernels of the merge sort on staged pairs.
#ifndef PAIRSIEVE_SORT_MERGE_PATH_H
#define PAIRSIEVE_SORT_MERGE_PATH_H

#include "../../core/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_MERGE_THREADS 256
#define PSVI_MERGE_ITEMS 8
#define PSVI_MERGE_TILE (PSVI_MERGE_THREADS * PSVI_MERGE_ITEMS)

typedef struct psvi_merge_data {
    const void *fields; // u32 or u64
    const uint32_t *index;
    void *fields_out;
    uint32_t *index_out;
    uint32_t field_bytes;
    uint64_t count;
    const uint64_t *count_device;
} psvi_merge_data;

// Sorts every tile of PSVI_MERGE_TILE pairs by its field, stably; may work in place.
psv_status psvi_merge_sort_tiles(psv_context *context, const psvi_merge_data *data);

// Merges neighbouring sorted runs of `run` pairs (a multiple of the tile) into runs twice as long.
psv_status psvi_merge_runs(psv_context *context, const psvi_merge_data *data, uint64_t run);

#ifdef __cplusplus
}
#endif
#endif
