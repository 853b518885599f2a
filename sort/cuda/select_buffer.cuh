// Chooses between two buffers without indexing the array: an array in a kernel's parameters that is indexed by a
// variable is copied to local memory by every thread.
#ifndef PAIRSIEVE_SORT_SELECT_BUFFER_CUH
#define PAIRSIEVE_SORT_SELECT_BUFFER_CUH

#include <stdint.h>

namespace psvi {

template <typename Pointer>
__device__ __forceinline__ Pointer select_buffer(const Pointer (&buffers)[2], uint32_t which) {
    return which == 0 ? buffers[0] : buffers[1];
}

} // namespace psvi

#endif
