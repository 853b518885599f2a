// CUB's DeviceSegmentedSort and DeviceSegmentedRadixSort as yardsticks of bench_sort --segments.
#ifndef CUB_SEGMENTS_H
#define CUB_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "pairsieve/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cub_segment_way { CUB_SEGMENTED_SORT, CUB_SEGMENTED_RADIX_SORT, CUB_SEGMENT_WAYS } cub_segment_way;

// What one stable sort of u32 values by u32 or u64 keys needs. Device memory; from one array to another.
typedef struct cub_segment_call {
    cub_segment_way way;
    psv_key_type key_type;
    const void *keys_in;
    void *keys_out;
    const uint32_t *values_in;
    uint32_t *values_out;
    uint32_t count, segments;
    const uint32_t *offsets; // segments + 1
    void *temporary;         // NULL: only temporary_bytes is set
    size_t temporary_bytes;
    void *stream;
} cub_segment_call;

// 0, or the cudaError_t.
int cub_segments(cub_segment_call *call);

// Milliseconds of the device between before() and after() of `run`, which is called with `data`; negative: an error.
double cub_time_ms(void *stream, void (*run)(void *data), void *data);

#ifdef __cplusplus
}
#endif
#endif
