// CUB's DeviceRadixSort as the yardstick of bench_sort: out of place, input kept; of the toolkit, or of CCCL_ROOT.
#ifndef CUB_YARDSTICK_H
#define CUB_YARDSTICK_H

#include <stddef.h>
#include <stdint.h>

#include "pairsieve/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cub_operation { CUB_PAIRS, CUB_KEYS, CUB_IOTA_AND_PAIRS } cub_operation;

// What one call needs. Device memory; values are u32.
typedef struct cub_call {
    cub_operation operation;
    psv_key_type key_type; // u32, f32 and u64
    const void *keys_in;
    void *keys_out;
    uint32_t *values_in; // written first by CUB_IOTA_AND_PAIRS
    uint32_t *values_out;
    uint64_t count;
    void *temporary; // NULL: only *temporary_bytes is set
    size_t temporary_bytes;
    void *stream;
} cub_call;

// 0, or the cudaError_t; 1 (cudaErrorInvalidValue) for a key type that is not among those.
int cub_yardstick(cub_call *call);

// How many words of 4 bytes differ, in device memory; `differing` is one such word. 0, or the cudaError_t. Waits.
int cub_count_differing(const void *a, const void *b, uint64_t words, uint32_t *differing, void *stream,
                        uint32_t *result);

// "CUB 3.0.1"
const char *cub_yardstick_version(void);

#ifdef __cplusplus
}
#endif
#endif
