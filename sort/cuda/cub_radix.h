// Calls of CUB's DeviceRadixSort for unsigned ascending keys.
#ifndef PAIRSIEVE_SORT_CUB_RADIX_H
#define PAIRSIEVE_SORT_CUB_RADIX_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Sorts from keys[0]/values[0] to keys[1]/values[1]. With `overwrite` both pairs are working memory and the result is
// in keys[*result] and values[*result]; without, keys[0] and values[0] are only read, the result is in [1], and CUB
// keeps a copy of keys and values in the temporary memory.
typedef struct psvi_cub_sort {
    void *temporary; // NULL: only writes the size needed to temporary_bytes
    size_t temporary_bytes;
    void *keys[2];
    void *values[2]; // value_bytes 0: not used
    uint32_t key_bytes, value_bytes;
    uint64_t count; // less than 2^32
    int begin_bit, end_bit;
    bool overwrite;
    int result;
} psvi_cub_sort;

cudaError_t psvi_cub_sort_u32(psvi_cub_sort *sort, cudaStream_t stream);
cudaError_t psvi_cub_sort_u64(psvi_cub_sort *sort, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
