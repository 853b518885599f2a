// Launch arithmetic shared by the CUDA sorting methods.
#ifndef PAIRSIEVE_SORT_CUDA_LAUNCH_H
#define PAIRSIEVE_SORT_CUDA_LAUNCH_H

#include <stdint.h>

static inline uint32_t psvi_blocks_for(uint64_t items, uint32_t items_per_block) {
    return (uint32_t)((items + items_per_block - 1) / items_per_block);
}

#endif
