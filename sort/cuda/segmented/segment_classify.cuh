// First step of a segmented sort: checks the offsets and puts every segment in a bin by its length.
#ifndef PAIRSIEVE_SEGMENT_CLASSIFY_CUH
#define PAIRSIEVE_SEGMENT_CLASSIFY_CUH

#include "segment_keys.cuh"

namespace psvi_segments {

// Counters of a block: the bins, then tiles, then what large segments take.
enum { COUNT_TILES = PSVI_SEGMENT_BINS, COUNT_LARGE, COUNT_LARGE_TILES, COUNT_LARGE_CHUNKS, COUNTERS };

struct block_counts {
    uint32_t own[COUNTERS];  // of this block
    uint32_t base[COUNTERS]; // of the blocks that came before
};

// The counter of the bin of a segment of `length` elements; COUNTERS for none.
__device__ __forceinline__ uint32_t bin_of(uint32_t length, uint32_t block_length) {
    if (length <= PSVI_SEGMENT_TINY) return COUNTERS;
    if (length <= PSVI_SEGMENT_WARP) return PSVI_SEGMENT_BIN_WARP;
    if (length <= PSVI_SEGMENT_BLOCK) return PSVI_SEGMENT_BIN_BLOCK;
    return length <= block_length ? PSVI_SEGMENT_BIN_LONG : COUNT_LARGE;
}

// Lanes of the warp that have the same bin take consecutive places of it. Returns this lane's.
__device__ __forceinline__ uint32_t take_place(uint32_t *counter, bool mine) {
    const uint32_t lanes = __ballot_sync(0xffffffffu, mine), lane = threadIdx.x % 32;
    uint32_t first = 0;
    if (lanes == 0) return 0;
    if (lane == 0) first = atomicAdd(counter, __popc(lanes));
    return __shfl_sync(0xffffffffu, first, 0) + __popc(lanes & ((1u << lane) - 1));
}

// Puts a tiny segment in the slots of its tile. Returns whether it is the first one of the tile.
__device__ __forceinline__ bool put_in_tile(const psvi_segment_job &job, uint32_t begin, uint32_t length, bool tiny) {
    const uint32_t lane = threadIdx.x % 32, tile = begin / PSVI_SEGMENT_TILE;
    const uint32_t lanes = __match_any_sync(0xffffffffu, tiny ? tile : UINT32_MAX);
    const uint32_t leader = __ffs(lanes) - 1;
    uint32_t first = 0;
    if (tiny && lane == leader) first = atomicAdd(&job.tile_counts[tile], __popc(lanes));
    const uint32_t before = __shfl_sync(0xffffffffu, first, leader), at = before + __popc(lanes & ((1u << lane) - 1));
    if (tiny && at < PSVI_SEGMENT_TILE)
        job.slots[(uint64_t)tile * PSVI_SEGMENT_TILE + at] = (uint16_t)(begin % PSVI_SEGMENT_TILE << 5 | (length - 1));
    return tiny && lane == leader && before == 0;
}

__device__ __forceinline__ void put_large(const psvi_segment_job &job, const block_counts &counts, uint32_t at,
                                          psvi_large_segment segment) {
    const uint32_t place = counts.base[COUNT_LARGE] + at;
    if (place >= job.large_room) return; // offsets are wrong
    segment.first_tile += counts.base[COUNT_LARGE_TILES];
    segment.first_chunk += counts.base[COUNT_LARGE_CHUNKS];
    job.large[place] = segment;
}

__device__ __forceinline__ uint32_t *global_counter(psvi_segment_control *control, uint32_t counter) {
    if (counter < PSVI_SEGMENT_BINS) return &control->binned[counter];
    return counter == COUNT_TILES         ? &control->tiles
           : counter == COUNT_LARGE       ? &control->large
           : counter == COUNT_LARGE_TILES ? &control->large_tiles
                                          : &control->large_chunks;
}

// In: offsets. Out: bins, slots of tiles, large segments, the first bad segment. A thread for each segment `i`; places
// are counted in shared memory first and claimed by one atomic for each bin and block. Four block-wide barriers. Reads
// 8 bytes a segment.
__device__ __forceinline__ void classify(const psvi_segment_job &job, block_counts &counts, uint32_t i, uint32_t all) {
    if (threadIdx.x < COUNTERS) counts.own[threadIdx.x] = 0;
    __syncthreads();
    uint32_t begin = 0, length = 0;
    if (i < all) {
        begin = job.offsets[i];
        const uint32_t end = job.offsets[i + 1];
        if (begin <= end && end <= job.count)
            length = end - begin;
        else
            atomicMax(&job.control->bad, ~i);
    }
    const bool tiny = length <= PSVI_SEGMENT_TINY && length >= (job.implicit ? 1u : 2u);
    const bool first_of_tile = put_in_tile(job, begin, length, tiny);
    const uint32_t bin = bin_of(length, job.block_length);
    uint32_t at = 0;
    for (uint32_t b = 0; b < PSVI_SEGMENT_BINS; ++b) {
        const uint32_t place = take_place(&counts.own[b], bin == b);
        if (bin == b) at = place;
    }
    const uint32_t tile_at = take_place(&counts.own[COUNT_TILES], first_of_tile);
    psvi_large_segment large = {begin, length, 0, 0};
    if (bin == COUNT_LARGE) {
        const uint32_t tiles = pieces(length, PSVI_SEGMENT_LARGE_TILE);
        at = atomicAdd(&counts.own[COUNT_LARGE], 1u);
        large.first_tile = atomicAdd(&counts.own[COUNT_LARGE_TILES], tiles);
        large.first_chunk = atomicAdd(&counts.own[COUNT_LARGE_CHUNKS], pieces(tiles, PSVI_SEGMENT_CHUNK));
    }
    __syncthreads();
    if (threadIdx.x < COUNTERS && counts.own[threadIdx.x] != 0)
        counts.base[threadIdx.x] = atomicAdd(global_counter(job.control, threadIdx.x), counts.own[threadIdx.x]);
    __syncthreads();
    if (first_of_tile) job.tile_list[counts.base[COUNT_TILES] + tile_at] = begin / PSVI_SEGMENT_TILE;
    if (bin == COUNT_LARGE)
        put_large(job, counts, at, large);
    else if (bin < PSVI_SEGMENT_BINS && counts.base[bin] + at < job.bin_room[bin])
        job.bins[bin][counts.base[bin] + at] = i;
    __syncthreads();
}

} // namespace psvi_segments

#endif
