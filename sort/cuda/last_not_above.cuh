// Binary search of the `hybrid` method's kernels.
#ifndef PAIRSIEVE_SORT_LAST_NOT_ABOVE_CUH
#define PAIRSIEVE_SORT_LAST_NOT_ABOVE_CUH

#include <stdint.h>

// Last entry of ascending values[0..count) that is not above x; values[0] is not above it.
template <typename Value>
__device__ __forceinline__ uint32_t last_not_above(const Value *values, uint32_t count, Value x) {
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (values[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
