// Device side of the key order: the bits that a key is sorted by, as one unsigned number.
#ifndef PAIRSIEVE_SORT_KEY_FIELD_CUH
#define PAIRSIEVE_SORT_KEY_FIELD_CUH

#include "../src/key_order.h"

namespace psvi {

__device__ __forceinline__ uint32_t transformed(uint32_t bits, const psvi_key_order &order) {
    return psvi_transform_u32(bits, order);
}
__device__ __forceinline__ uint64_t transformed(uint64_t bits, const psvi_key_order &order) {
    return psvi_transform_u64(bits, order);
}

// Bits [begin_bit, end_bit) of the transformed key, moved down to bit 0: a < b exactly when a sorts before b.
template <typename Key> __device__ __forceinline__ Key key_field(Key bits, const psvi_key_order &order) {
    const Key all = (Key) ~(Key)0;
    const uint32_t width = order.end_bit - order.begin_bit;
    return (transformed(bits, order) >> order.begin_bit) & (all >> (8 * (uint32_t)sizeof(Key) - width));
}

} // namespace psvi

#endif
