// The template behind cub_radix_u32.cu and cub_radix_u64.cu: two files, because each takes nvcc a while.
#include <cub/device/device_radix_sort.cuh>

#include "cub_radix.h"

namespace psvi {

template <typename Key, typename Value> cudaError_t cub_sort_pairs(psvi_cub_sort *sort, cudaStream_t stream) {
    const uint32_t count = (uint32_t)sort->count;
    if (!sort->overwrite) {
        sort->result = 1;
        return cub::DeviceRadixSort::SortPairs(sort->temporary, sort->temporary_bytes, (const Key *)sort->keys[0],
                                               (Key *)sort->keys[1], (const Value *)sort->values[0],
                                               (Value *)sort->values[1], count, sort->begin_bit, sort->end_bit, stream);
    }
    cub::DoubleBuffer<Key> keys((Key *)sort->keys[0], (Key *)sort->keys[1]);
    cub::DoubleBuffer<Value> values((Value *)sort->values[0], (Value *)sort->values[1]);
    cudaError_t error = cub::DeviceRadixSort::SortPairs(sort->temporary, sort->temporary_bytes, keys, values, count,
                                                        sort->begin_bit, sort->end_bit, stream);
    sort->result = keys.selector;
    return error;
}

template <typename Key> cudaError_t cub_sort_keys(psvi_cub_sort *sort, cudaStream_t stream) {
    const uint32_t count = (uint32_t)sort->count;
    if (!sort->overwrite) {
        sort->result = 1;
        return cub::DeviceRadixSort::SortKeys(sort->temporary, sort->temporary_bytes, (const Key *)sort->keys[0],
                                              (Key *)sort->keys[1], count, sort->begin_bit, sort->end_bit, stream);
    }
    cub::DoubleBuffer<Key> keys((Key *)sort->keys[0], (Key *)sort->keys[1]);
    cudaError_t error = cub::DeviceRadixSort::SortKeys(sort->temporary, sort->temporary_bytes, keys, count,
                                                       sort->begin_bit, sort->end_bit, stream);
    sort->result = keys.selector;
    return error;
}

template <typename Key> cudaError_t cub_sort(psvi_cub_sort *sort, cudaStream_t stream) {
    if (sort->value_bytes == 0) return cub_sort_keys<Key>(sort, stream);
    if (sort->value_bytes == 4) return cub_sort_pairs<Key, uint32_t>(sort, stream);
    return cub_sort_pairs<Key, uint64_t>(sort, stream);
}

} // namespace psvi
