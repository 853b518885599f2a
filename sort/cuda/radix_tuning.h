// Tuning constants of the CUDA `radix` method, measured on an H200 (figures: tests/bench/results/nvidia-h200).
#ifndef PAIRSIEVE_RADIX_TUNING_H
#define PAIRSIEVE_RADIX_TUNING_H

#define PSVI_RADIX_BITS 8
#define PSVI_RADIX_DIGITS 256
#define PSVI_RADIX_MAX_SLOTS 9 // digits of a 64-bit key, and one more for a copy of 1-digit keys

// tiny: one block.
#define PSVI_RADIX_TINY_THREADS 1024
#define PSVI_RADIX_TINY_ITEMS 4

// large: chained digit passes. Items per thread by the bytes of a key and its value together.
#define PSVI_RADIX_LARGE_THREADS 512
#define PSVI_RADIX_LARGE_BLOCKS 2 // resident on a multiprocessor
#define PSVI_RADIX_LARGE_ITEMS(pair_bytes)                                                                             \
    ((pair_bytes) <= 4 ? 20 : (pair_bytes) <= 8 ? 16 : (pair_bytes) <= 12 ? 10 : 8)
#define PSVI_RADIX_LARGE_TILE(pair_bytes) (PSVI_RADIX_LARGE_THREADS * PSVI_RADIX_LARGE_ITEMS(pair_bytes))
#define PSVI_RADIX_LOOK_WIDTH 4 // predecessors read at once

// A chained scan counts in 30 bits, so larger inputs go through each digit in portions of at most this many items
// (rounded down to whole tiles).
#define PSVI_RADIX_PORTION_ITEMS (1u << 29)
#define PSVI_RADIX_MAX_PORTIONS 9

#define PSVI_RADIX_HISTOGRAM_THREADS 512
#define PSVI_RADIX_HISTOGRAM_BLOCKS 2 // per multiprocessor

#endif
