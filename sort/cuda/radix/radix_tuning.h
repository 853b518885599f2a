// Tuning constants of the CUDA `radix` method, measured on an H200 (figures: tests/bench/results/nvidia-h200). What
// differs by architecture stands in radix_policy.h, what decides between routes in radix_route.c.
#ifndef PAIRSIEVE_RADIX_TUNING_H
#define PAIRSIEVE_RADIX_TUNING_H

#define PSVI_RADIX_BITS 8
#define PSVI_RADIX_DIGITS 256
#define PSVI_RADIX_MAX_SLOTS 9 // digits of a 64-bit key, and one more for a copy of 1-digit keys

// BLOCK and CLUSTER: all items on chip. A block of the cluster can sort CLUSTER_ITEMS a thread, but is given fewer
// (CLUSTER_ROWS) on average: samples cut the input into parts that are not quite equal.
#define PSVI_RADIX_ONCHIP_THREADS 1024
#define PSVI_RADIX_BLOCK_ITEMS 4
#define PSVI_RADIX_CLUSTER_MOST 32768 // beyond that, all multiprocessors are faster than one cluster
#define PSVI_RADIX_CLUSTER_ITEMS(pair_bytes) ((pair_bytes) <= 8 ? 8 : 4)
#define PSVI_RADIX_CLUSTER_ROWS(pair_bytes) ((pair_bytes) <= 8 ? 5 : 2)

// SPLITTERS, CHUNKS, CHUNK_DIGITS, ROUNDS: a block sorts a chunk of up to CHUNKS_TILE items on chip.
#define PSVI_RADIX_CHUNKS_THREADS 1024
#define PSVI_RADIX_CHUNKS_BIN_BITS 11
#define PSVI_RADIX_CHUNKS_BINS (1 << PSVI_RADIX_CHUNKS_BIN_BITS)
#define PSVI_RADIX_CHUNKS_LOCAL_BITS 9 // digits sorted on chip
#define PSVI_RADIX_CHUNKS_FINE_BITS 13 // bins of a chunk whose items are compared each with each
#define PSVI_RADIX_CHUNKS_FULL_BIN 48  // items of one bin that are still compared each with each
#define PSVI_RADIX_CHUNKS_TILE(pair_bytes) ((pair_bytes) <= 8 ? 9216 : (pair_bytes) <= 12 ? 6144 : 4096)
#define PSVI_RADIX_CHUNKS_ITEM(key_bytes) ((key_bytes) + 4)
#define PSVI_RADIX_CHUNKS_SERVED 4   // calls in a row by splitters until no other kernel is launched behind
#define PSVI_RADIX_CHUNKS_BLOCKS 254 // chunk numbers have 8 bits, and one is for items that are not there

// ROUNDS
#define PSVI_RADIX_ROUNDS_MOST 5     // chunks that a multiprocessor sorts one after the other
#define PSVI_RADIX_ROUNDS_QUOTA 7800 // items of a chunk on average, at most: chunks are not quite equal
#define PSVI_RADIX_ROUNDS_CHUNKS 768

// RESIDENT: at most one block a multiprocessor.
#define PSVI_RADIX_RESIDENT_THREADS 512
#define PSVI_RADIX_RESIDENT_BLOCKS 192
#define PSVI_RADIX_RESIDENT_ITEMS                                                                                      \
    { 2, 4, 8, 16, 20, 32 } // of a thread: a kernel for each
#define PSVI_RADIX_RESIDENT_MAX_ITEMS(pair_bytes) ((pair_bytes) <= 8 ? 32 : 16)
#define PSVI_RADIX_RESIDENT_TABLES (16 * 1024) // bytes of shared memory beside the items
#define PSVI_RADIX_ROW_WORDS 72                // 64 of counts, 2 of what else is to be known, rounded up

// PASSES and PASSES_COMPACT: chained digit passes. Items per thread by the bytes of a key
// and its value together: long runs of each digit count for more than overlap between blocks, and no spills for more
// than longer runs.
#define PSVI_RADIX_PASSES_FULL_THREADS 768
#define PSVI_RADIX_PASSES_COMPACT_THREADS 256
#define PSVI_RADIX_PASSES_FULL_BLOCKS 1    // a multiprocessor
#define PSVI_RADIX_PASSES_COMPACT_BLOCKS 2 // one ranks while the other writes: 16M pairs 1.2 times as fast
#define PSVI_RADIX_PASSES_ITEMS(pair_bytes)                                                                            \
    ((pair_bytes) <= 4 ? 24 : (pair_bytes) <= 8 ? 16 : (pair_bytes) <= 12 ? 14 : 10)
// Two blocks of these fit in 100 KB, one in 64.
#define PSVI_RADIX_PASSES_COMPACT_ITEMS(pair_bytes)                                                                    \
    ((pair_bytes) <= 4 ? 32 : (pair_bytes) <= 8 ? 20 : (pair_bytes) <= 12 ? 14 : 10)
#define PSVI_RADIX_PASSES_LEAST_TILE (PSVI_RADIX_PASSES_COMPACT_THREADS * PSVI_RADIX_PASSES_COMPACT_ITEMS(16))
#define PSVI_RADIX_LOOK_WIDTH 4 // predecessors read at once

// PASSES_ASYNC: threads that rank, and how many items each; threads that write, that look back. Pairs always go in
// large tiles from so many items on.
#ifndef PSVI_RADIX_ASYNC_LARGE_FROM // a test has fewer
#define PSVI_RADIX_ASYNC_LARGE_FROM 12000000
#endif
#define PSVI_RADIX_ASYNC_RANKERS(value_bytes) ((value_bytes) == 0 ? 512 : 384)
#define PSVI_RADIX_ASYNC_ITEMS(large) ((large) ? 27 : 24)
#define PSVI_RADIX_ASYNC_WRITERS(value_bytes, large) ((value_bytes) == 0 || (large) ? 384 : 512)
#define PSVI_RADIX_ASYNC_LOOKERS(value_bytes, large) ((value_bytes) != 0 && (large) ? 256 : 128)
#define PSVI_RADIX_ASYNC_LOOK_WIDTH 4

// WINDOWS: blocks a multiprocessor, and windows of 64 that a warp goes through at least.
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

// Back-offs (backoff.h), in calls.
#define PSVI_RADIX_WAIT_LEAST 1
#define PSVI_RADIX_WAIT_MOST 64

#endif
