// Launch arithmetic and the memory layout of the CUDA broad-phase methods (host side).
#ifndef PAIRSIEVE_COLLISION_CUDA_LAUNCH_H
#define PAIRSIEVE_COLLISION_CUDA_LAUNCH_H

#include "../../core/carver.h"
#include "../src/broad_phase.h"

// Most boxes that this frame can have, both sets together. Kernels read the true counts on the device.
static inline uint64_t psvi_most_boxes(const psvi_find_input *input) {
    return input->a.count + (input->between ? input->b.count : 0);
}

static inline uint32_t psvi_block_count(uint64_t items, uint32_t items_per_block) {
    return (uint32_t)((items + items_per_block - 1) / items_per_block);
}

#endif
