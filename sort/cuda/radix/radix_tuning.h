// Tuning of the CUDA `radix` method: what architectures have, what kernels need of them, tiles and thresholds. Measured
// on an H200 and an H100 (figures: tests/bench/results/nvidia-h200). What follows from formats stands in
// radix_format.h, what decides between routes in radix_route.c.
#ifndef PAIRSIEVE_RADIX_TUNING_H
#define PAIRSIEVE_RADIX_TUNING_H

#include <stdint.h>

// Architectures, read by the host (which routes there are), by the kernels (what is compiled) and by tests. One that is
// not listed has the row of the closest older one; shared memory is then still the least of the row's and the device's.
// 10 * major + minor; KB of shared memory that a block can have; blocks of 256 threads that a multiprocessor holds.
//    code  KB  blocks    devices
#define PSVI_RADIX_POLICIES(ROW)                                                                                       \
    ROW(75, 64, 4)   /* T4, RTX 20 */                                                                                  \
    ROW(80, 163, 8)  /* A100, A30 */                                                                                   \
    ROW(86, 99, 6)   /* RTX 30, A40; 8.9: RTX 40, L4, L40 */                                                           \
    ROW(90, 227, 8)  /* H100, H200 */                                                                                  \
    ROW(100, 227, 8) /* B200, B300 */                                                                                  \
    ROW(120, 99, 6)  /* RTX 50, RTX PRO */

// KB of shared memory of a block that kernels need: of BLOCK, for a thousand items and for all; of full tiles of
// PASSES; of all kernels that hold a chunk, take part in a cluster or have asynchronous tiles. What has less is not
// compiled for and not chosen.
#define PSVI_RADIX_BLOCK_LEAST_KB 48
#define PSVI_RADIX_BLOCK_KB 99
#define PSVI_RADIX_ROOMY_KB 160
#define PSVI_RADIX_CHUNK_KB 227

#define PSVI_RADIX_THREADS 1024 // of a block that has a multiprocessor for itself: BLOCK, CLUSTER, chunks, histogram

// BLOCK and CLUSTER: all items on chip. A block of the cluster can sort CLUSTER_ITEMS a thread, but is given fewer
// (CLUSTER_ROWS) on average: samples cut the input into parts that are not quite equal.
#define PSVI_RADIX_BLOCK_ITEMS 4
#define PSVI_RADIX_CLUSTER_MOST 32768 // beyond that, all multiprocessors are faster than one cluster
#define PSVI_RADIX_CLUSTER_ITEMS(pair_bytes) ((pair_bytes) <= 8 ? 8 : 4)
#define PSVI_RADIX_CLUSTER_ROWS(pair_bytes) ((pair_bytes) <= 8 ? 5 : 2)

// SPLITTERS, CHUNKS, ROUNDS: a block sorts a chunk of up to CHUNKS_TILE items on chip.
#define PSVI_RADIX_CHUNKS_BIN_BITS 11
#define PSVI_RADIX_CHUNKS_FULL_BIN 48 // items of one bin that are still compared each with each
#define PSVI_RADIX_CHUNKS_TILE(pair_bytes) ((pair_bytes) <= 8 ? 9216 : (pair_bytes) <= 12 ? 6144 : 4096)
#define PSVI_RADIX_CHUNKS_CROWDED 12 // samples of 256 that share their key with a neighbour: too many equal keys
#define PSVI_RADIX_CHUNKS_SERVED 4   // calls in a row by splitters until no other kernel is launched behind

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

// PASSES, with full and with compact tiles. Items of a thread by the bytes of a key and its value together: long runs
// of each digit count for more than overlap between blocks, and no spills for more than longer runs. A multiprocessor
// has one block with a full tile, or two with compact ones: one ranks while the other writes (16M pairs 1.2 times as
// fast). Two blocks of these fit in 100 KB, one in 64.
#define PSVI_RADIX_PASSES_FULL_THREADS 768
#define PSVI_RADIX_PASSES_COMPACT_THREADS 256
#define PSVI_RADIX_PASSES_ITEMS(pair_bytes)                                                                            \
    ((pair_bytes) <= 4 ? 24 : (pair_bytes) <= 8 ? 16 : (pair_bytes) <= 12 ? 14 : 10)
#define PSVI_RADIX_PASSES_COMPACT_ITEMS(pair_bytes)                                                                    \
    ((pair_bytes) <= 4 ? 32 : (pair_bytes) <= 8 ? 20 : (pair_bytes) <= 12 ? 14 : 10)
#define PSVI_RADIX_LOOK_WIDTH 4 // predecessors of a tile whose counts are read at once

// Asynchronous tiles of PASSES: threads that rank, and how many items each; threads that write, that look back. Pairs
// always go in large tiles from so many items on.
#ifndef PSVI_RADIX_ASYNC_LARGE_FROM // a test has fewer
#define PSVI_RADIX_ASYNC_LARGE_FROM 12000000
#endif
#define PSVI_RADIX_ASYNC_RANKERS(value_bytes) ((value_bytes) == 0 ? 512 : 384)
#define PSVI_RADIX_ASYNC_ITEMS(large) ((large) ? 27 : 24)
#define PSVI_RADIX_ASYNC_WIDE_ITEMS(value_bytes) ((value_bytes) == 0 ? 27 : 20) // of 64-bit keys
#define PSVI_RADIX_ASYNC_WRITERS(value_bytes, large) ((value_bytes) == 0 || (large) ? 384 : 512)
#define PSVI_RADIX_ASYNC_LOOKERS(value_bytes, large) ((value_bytes) != 0 && (large) ? 256 : 128)

// WINDOWS: blocks a multiprocessor, and windows of 64 that a warp goes through at least.
#define PSVI_RADIX_NEARLY_BLOCKS 8
#define PSVI_RADIX_NEARLY_WINDOWS 8

#define PSVI_RADIX_HISTOGRAM_UNROLL 4 // reads of 16 bytes in flight a thread
#define PSVI_RADIX_WAIT_MOST 64       // calls that a route which has failed is left out at most (backoff.h)

typedef struct psvi_radix_policy {
    uint32_t code, shared_kb;
    uint32_t resident_blocks; // of 256 threads
} psvi_radix_policy;

#ifdef __cplusplus
constexpr
#else
static inline
#endif
    psvi_radix_policy
    psvi_radix_policy_of(uint32_t code) {
    psvi_radix_policy found = {0, 48, 4};
#define PSVI_RADIX_TAKE(row_code, kb, blocks)                                                                          \
    if (code >= (row_code)) {                                                                                          \
        found.code = (row_code);                                                                                       \
        found.shared_kb = (kb);                                                                                        \
        found.resident_blocks = (blocks);                                                                              \
    }
    PSVI_RADIX_POLICIES(PSVI_RADIX_TAKE)
#undef PSVI_RADIX_TAKE
    return found;
}

#endif
