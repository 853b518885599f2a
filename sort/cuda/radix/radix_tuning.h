// Tuning constants of the CUDA `radix` method, measured on an H200 (figures: tests/bench/results/nvidia-h200).
#ifndef PAIRSIEVE_RADIX_TUNING_H
#define PAIRSIEVE_RADIX_TUNING_H

#define PSVI_RADIX_BITS 8
#define PSVI_RADIX_DIGITS 256
#define PSVI_RADIX_MAX_SLOTS 9 // digits of a 64-bit key, and one more for a copy of 1-digit keys

// tiny: one block.
#define PSVI_RADIX_TINY_THREADS 1024
#define PSVI_RADIX_TINY_ITEMS 4

// small: one cluster. Items that a thread sorts, and of them so many at most in an even share: the parts of the sorted
// order, cut by samples, are not quite equal.
#define PSVI_RADIX_SMALL_MOST 32768 // beyond that, all multiprocessors are faster than one cluster
#define PSVI_RADIX_SMALL_ITEMS(pair_bytes) ((pair_bytes) <= 8 ? 8 : 4)
#define PSVI_RADIX_SMALL_ROWS(pair_bytes) ((pair_bytes) <= 8 ? 5 : 2)

// middle: one cooperative kernel, at most one block a multiprocessor.
#define PSVI_RADIX_MIDDLE_THREADS 512
#define PSVI_RADIX_MIDDLE_BLOCKS 192
#define PSVI_RADIX_MIDDLE_MAX_ITEMS(pair_bytes) ((pair_bytes) <= 8 ? 32 : 16)
#define PSVI_RADIX_ROW_WORDS 72 // 64 of counts, 2 of what else is to be known, rounded up

// large: chained digit passes, one block a multiprocessor. Items per thread by the bytes of a key and its value
// together: long runs of each digit count for more than overlap between blocks, and no spills for more than longer
// runs.
#define PSVI_RADIX_LARGE_FULL_THREADS 768
#define PSVI_RADIX_LARGE_COMPACT_THREADS 256 // where a block has less than PSVI_RADIX_LARGE_SHARED_BYTES
#define PSVI_RADIX_LARGE_SHARED_BYTES (160 * 1024)
#define PSVI_RADIX_LARGE_BLOCKS 1
#define PSVI_RADIX_LARGE_ITEMS(pair_bytes)                                                                             \
    ((pair_bytes) <= 4 ? 24 : (pair_bytes) <= 8 ? 16 : (pair_bytes) <= 12 ? 14 : 10)
#define PSVI_RADIX_LARGE_LEAST_TILE (PSVI_RADIX_LARGE_COMPACT_THREADS * PSVI_RADIX_LARGE_ITEMS(16))
#define PSVI_RADIX_LOOK_WIDTH 4 // predecessors read at once

// The same for 32-bit keys alone or with 4 bytes of value (radix_passes_async.cuh) where a block has so much shared
// memory: threads that rank, and how many items each; threads that write, that look back. `many`: larger tiles, for
// pairs from so many items on.
#define PSVI_RADIX_ASYNC_SHARED_BYTES (227 * 1024)
#ifndef PSVI_RADIX_ASYNC_MANY // a test has fewer
#define PSVI_RADIX_ASYNC_MANY 12000000
#endif
#define PSVI_RADIX_ASYNC_RANKERS(value_bytes, many) ((value_bytes) == 0 ? 512 : 384)
#define PSVI_RADIX_ASYNC_ITEMS(value_bytes, many) ((many) ? 27 : 24)
#define PSVI_RADIX_ASYNC_WRITERS(value_bytes, many) ((value_bytes) == 0 || (many) ? 384 : 512)
#define PSVI_RADIX_ASYNC_LOOKERS(value_bytes, many) ((value_bytes) != 0 && (many) ? 256 : 128)
#define PSVI_RADIX_ASYNC_LOOK_WIDTH 4

// Nearly sorted input (radix_windows.cuh): blocks a multiprocessor, and windows of 64 that a warp goes through at
// least.
#define PSVI_RADIX_NEARLY_BLOCKS 8
#define PSVI_RADIX_NEARLY_WINDOWS 8

// A chained scan counts in 30 bits, so larger inputs go through each digit in portions of at most this many items
// (rounded down to whole tiles).
#define PSVI_RADIX_PORTION_ITEMS (1u << 29)
#define PSVI_RADIX_MAX_PORTIONS 9
#define PSVI_RADIX_WINDOWS_MOST (PSVI_RADIX_PORTION_ITEMS - 65536) // one portion, whatever the tile

#define PSVI_RADIX_HISTOGRAM_THREADS 1024
#define PSVI_RADIX_HISTOGRAM_UNROLL 4 // reads of 16 bytes in flight a thread
#define PSVI_RADIX_HISTOGRAM_BLOCKS 1 // per multiprocessor: the tables fill its shared memory

#endif
