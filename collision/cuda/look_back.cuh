// Tiles that are chained by decoupled look-back (Merrill & Garland 2016): a tile publishes its own sum, adds up the
// sums of those before it, and publishes the sum up to its end. Tiles are taken in ascending order, so those before are
// at work already.
#ifndef PAIRSIEVE_COLLISION_LOOK_BACK_CUH
#define PAIRSIEVE_COLLISION_LOOK_BACK_CUH

#include <stdint.h>

#include "../../core/cuda/warp_reduce.cuh"

#define PSVD_TILE_SUM 1u    // the tile's own sum is there
#define PSVD_TILE_PREFIX 2u // the sum of all tiles up to it

// State of a tile: frame number, kind and value in one word, so that nothing has to be cleared between frames.
__device__ __forceinline__ uint64_t psvd_tile_state(uint32_t epoch, uint32_t kind, uint32_t value) {
    return (uint64_t)(epoch << 2 | kind) << 32 | value;
}

// Sum of all tiles before `tile`: looks back 32 tiles at a time until one knows its prefix. One warp together.
__device__ __forceinline__ uint32_t psvd_look_back(const uint64_t *states, uint32_t tile, uint32_t epoch) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t sum = 0;
    for (int64_t last = (int64_t)tile - 1; last >= 0; last -= 32) {
        const int64_t at = last - lane;
        uint64_t state = psvd_tile_state(epoch, PSVD_TILE_PREFIX, 0);
        if (at >= 0) do
                state = *(const volatile uint64_t *)(states + at);
            while ((uint32_t)(state >> 34) != (epoch & 0x3fffffffu));
        const uint32_t known = __ballot_sync(0xffffffffu, (state >> 32 & 3) == PSVD_TILE_PREFIX);
        const uint32_t nearest = known == 0 ? 31 : __ffs(known) - 1; // lanes further on are included in its prefix
        sum += psvd_reduce_add(lane <= nearest ? (uint32_t)state : 0u);
        if (known != 0) break;
    }
    return sum;
}

// Publishes `total` of a tile and returns the sum of those before it, on all lanes. One warp together.
__device__ __forceinline__ uint32_t psvd_chain_tile(uint64_t *states, uint32_t tile, uint32_t epoch, uint32_t total) {
    const bool first = (threadIdx.x & 31) == 0;
    if (first)
        *(volatile uint64_t *)(states + tile) =
            psvd_tile_state(epoch, tile == 0 ? PSVD_TILE_PREFIX : PSVD_TILE_SUM, total);
    if (tile == 0) return 0;
    const uint32_t before = psvd_look_back(states, tile, epoch);
    if (first) *(volatile uint64_t *)(states + tile) = psvd_tile_state(epoch, PSVD_TILE_PREFIX, before + total);
    return before;
}

#endif
