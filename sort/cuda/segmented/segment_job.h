// One segmented sort on CUDA: its arrays, its memory and its launch, for C and CUDA.
//
// One cooperative kernel in three steps. The first reads the offsets, checks them and puts each segment in a bin by its
// length. The second sorts all segments that fit in a block: tiny ones by tiles of the array, the others by a warp or a
// block each. The third sorts what is longer, by digits, with the tiles of all of them side by side. When an offset is
// wrong, the last two are left out.
#ifndef PAIRSIEVE_SEGMENT_JOB_H
#define PAIRSIEVE_SEGMENT_JOB_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../../src/key_order.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PSVI_SEGMENT_TINY = 32,           // longest segment that is sorted in a tile
    PSVI_SEGMENT_TILE = 1024,         // elements of a tile of tiny segments
    PSVI_SEGMENT_WARP = 256,          // longest one that is sorted by a warp
    PSVI_SEGMENT_BLOCK = 1024,        // longest one that is sorted by a block with few elements a thread
    PSVI_SEGMENT_BLOCK_BYTES = 32768, // of the longest one that is sorted by a block, with its positions
    PSVI_SEGMENT_THREADS = 256,
    PSVI_SEGMENT_LARGE_TILE = 4096, // elements of a tile of a large segment
    PSVI_SEGMENT_CHUNK = 64,        // tiles of a large segment whose counts are added up together
    PSVI_SEGMENT_DIGITS = 256,
    PSVI_SEGMENT_DIGIT_BITS = 8
};

// Bins of segments that a warp or a block sorts.
enum { PSVI_SEGMENT_BIN_LONG, PSVI_SEGMENT_BIN_BLOCK, PSVI_SEGMENT_BIN_WARP, PSVI_SEGMENT_BINS };

// A segment that is longer than a block can sort, with its places in the arrays by tile and by chunk.
typedef struct psvi_large_segment {
    uint32_t begin, length, first_tile, first_chunk;
} psvi_large_segment;

typedef struct psvi_segment_control {
    // Zero between calls: the last block clears them.
    uint32_t bad; // 0, or ~ the first segment with bad offsets
    uint32_t binned[PSVI_SEGMENT_BINS];
    uint32_t tiles; // tiles with tiny segments
    uint32_t large, large_tiles, large_chunks;
    uint32_t ticket, finished;
    uint32_t arrivals; // at grid barriers
    uint32_t last_bad; // `bad` of the last call, for the host
} psvi_segment_control;

typedef struct psvi_segment_job {
    const uint32_t *offsets;
    const uint64_t *segments_device;
    uint64_t segments, count;
    void *keys, *values;
    uint32_t key_bytes, value_bytes;
    uint32_t implicit, write_keys, keep_keys;
    psvi_key_order order;
    uint64_t mask;         // of the compared bits, moved down by order.begin_bit
    uint32_t block_length; // longest segment that a block sorts
    uint32_t passes;       // digits of a large segment
    uint32_t blocks;       // that fit on the device at once
    psvi_segment_control *control;
    uint32_t *tile_counts; // by tile: its tiny segments. Zero between calls
    uint32_t *tile_list;   // tiles that have some
    uint16_t *slots;       // [tile][PSVI_SEGMENT_TILE]: place in the tile << 5 | length - 1
    uint32_t *bins[PSVI_SEGMENT_BINS];
    uint32_t bin_room[PSVI_SEGMENT_BINS];
    psvi_large_segment *large;
    uint32_t large_room;
    uint32_t *tile_owner, *chunk_owner; // place in `large`
    uint32_t *tile_digits;              // [tile][digit]
    uint32_t *chunk_digits;             // [chunk][digit]
    void *keys_spare[2], *values_spare; // keys_spare[1] only for keys that are kept
} psvi_segment_job;

// Sets `blocks`.
cudaError_t psvi_segment_blocks(psvi_segment_job *job, uint32_t multiprocessors);

// Longest segment that a block sorts, by the width of the compared bits.
uint32_t psvi_segment_block_length(const psvi_key_order *order);

cudaError_t psvi_sort_segments(const psvi_segment_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
