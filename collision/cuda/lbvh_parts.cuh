// What the two queries of the hierarchy share: boxes as it holds them, and the queue of parts of long walks.
#ifndef PAIRSIEVE_COLLISION_LBVH_PARTS_CUH
#define PAIRSIEVE_COLLISION_LBVH_PARTS_CUH

#include "common.cuh"
#include "lbvh_kernels.h"

struct lbvh_box {
    float4 low, high; // w: slot, tag
};

__device__ __forceinline__ bool overlap(const lbvh_box &own, const float4 &low, const float4 &high) {
    return low.x <= own.high.x && own.low.x <= high.x && low.y <= own.high.y && own.low.y <= high.y &&
           low.z <= own.high.z && own.low.z <= high.z;
}

// Puts the rest of a walk into the queue; false when there is no room. 64 bits: many may add at once.
__device__ __forceinline__ bool queue_rest(const psvi_lbvh_memory &memory, uint32_t leaf, uint32_t first,
                                           uint32_t end) {
    const uint64_t parts = (end - first + LBVH_PART - 1) / LBVH_PART;
    unsigned long long *const taken = reinterpret_cast<unsigned long long *>(&memory.plan->parts);
    if (*(volatile unsigned long long *)taken + parts > memory.part_room) return false;
    const uint64_t place = atomicAdd(taken, (unsigned long long)parts);
    if (place + parts > memory.part_room) {
        // Others came in between: the places that are there are made empty, and the walk goes on alone.
        for (uint64_t p = place; p < memory.part_room; ++p)
            memory.parts[p] = {leaf, end, end};
        return false;
    }
    for (uint32_t p = 0; p < parts; ++p)
        memory.parts[place + p] = {leaf, first + p * LBVH_PART, first + min(end - first, (p + 1) * LBVH_PART)};
    return true;
}

#endif
