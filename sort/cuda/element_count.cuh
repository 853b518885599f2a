// How many elements a kernel works on: given by the host, or in device memory.
#ifndef PAIRSIEVE_SORT_ELEMENT_COUNT_CUH
#define PAIRSIEVE_SORT_ELEMENT_COUNT_CUH

#include <stdint.h>

namespace psvi {

__device__ __forceinline__ uint64_t element_count(uint64_t count, const uint64_t *count_device) {
    if (count_device == nullptr) return count;
    const uint64_t given = *count_device;
    return given < count ? given : count;
}

} // namespace psvi

#endif
