// What `rows` on CUDA takes from the architecture that its code was compiled for: one table, read by kernels (launch
// bounds) and by the host (blocks of a launch, the tool's list). An architecture that is not listed has the row of the
// closest older one. What does not differ by architecture is in rows_tuning.h.
#ifndef PAIRSIEVE_COLLISION_ROWS_POLICY_H
#define PAIRSIEVE_COLLISION_ROWS_POLICY_H

#include <stdint.h>

#include "rows_tuning.h"

// code: 10 * major + minor. threads: that a multiprocessor holds. KB: shared memory that a block can have. Then blocks
// of each kernel that a multiprocessor is to hold; the compiler gives their threads registers by that. All hold 64K
// registers.
//    code  threads  KB  uniform near left split order_bin scatter
#define PSVI_ROWS_POLICIES(ROW)                                                                                        \
    ROW(75, 1024, 64, 4, 4, 3, 1, 2, 4)   /* T4, RTX 20 */                                                             \
    ROW(80, 2048, 163, 5, 5, 3, 2, 4, 8)  /* A100, A30 */                                                              \
    ROW(86, 1536, 99, 5, 5, 3, 2, 2, 4)   /* RTX 30, A40; 8.9: RTX 40, L4, L40 */                                      \
    ROW(90, 2048, 227, 5, 5, 3, 2, 4, 8)  /* H100, H200 */                                                             \
    ROW(100, 2048, 227, 5, 5, 3, 2, 4, 8) /* B200, B300 */                                                             \
    ROW(120, 1536, 99, 5, 5, 3, 2, 2, 4)  /* RTX 50, RTX PRO */

typedef struct psvi_rows_policy {
    uint32_t code, threads, shared_kb;
    uint32_t uniform_blocks;           // of PSVI_BLOCK_THREADS
    uint32_t near_blocks, left_blocks; // of PSVI_BLOCK_THREADS: first and second sweep
    uint32_t split_blocks;             // of ROWS_SPLIT_THREADS
    uint32_t order_bin_blocks;         // of ROWS_ORDER_BIN_THREADS
    uint32_t scatter_blocks;           // of PSVI_BLOCK_THREADS
} psvi_rows_policy;

#ifdef __cplusplus
#define PSVI_ROWS_CHECK(condition) static_assert(condition, #condition)
constexpr
#else
#define PSVI_ROWS_CHECK(condition) _Static_assert(condition, #condition)
static inline
#endif
    psvi_rows_policy
    psvi_rows_policy_of(uint32_t code) {
    psvi_rows_policy found = {0, 1024, 48, 4, 4, 3, 1, 2, 4};
#define PSVI_ROWS_TAKE(row_code, row_threads, kb, uniform, near, left, split, order_bin, scatter)                      \
    if (code >= (row_code)) {                                                                                          \
        found.code = (row_code);                                                                                       \
        found.threads = (row_threads);                                                                                 \
        found.shared_kb = (kb);                                                                                        \
        found.uniform_blocks = (uniform);                                                                              \
        found.near_blocks = (near);                                                                                    \
        found.left_blocks = (left);                                                                                    \
        found.split_blocks = (split);                                                                                  \
        found.order_bin_blocks = (order_bin);                                                                          \
        found.scatter_blocks = (scatter);                                                                              \
    }
    PSVI_ROWS_POLICIES(PSVI_ROWS_TAKE)
#undef PSVI_ROWS_TAKE
    return found;
}

// No kernel wants more threads than a multiprocessor holds.
#define PSVI_ROWS_FIT(code, most, kb, uniform, near, left, split, order_bin, scatter)                                  \
    PSVI_ROWS_CHECK((uniform)*PSVI_BLOCK_THREADS <= (most) && (near)*PSVI_BLOCK_THREADS <= (most) &&                   \
                    (left)*PSVI_BLOCK_THREADS <= (most) && (split)*ROWS_SPLIT_THREADS <= (most) &&                     \
                    (order_bin)*ROWS_ORDER_BIN_THREADS <= (most) && (scatter)*PSVI_BLOCK_THREADS <= (most) &&          \
                    (uniform) > 0 && (kb) >= 48);
PSVI_ROWS_POLICIES(PSVI_ROWS_FIT)
#undef PSVI_ROWS_FIT

// What follows from the tuning constants.
#define ROWS_DOWN_PARTS (ROWS_SAMPLES / ROWS_DOWN_BINS)                // lanes that add up the cost of one limit
#define ROWS_BIN_CELLS (8 * ROWS_ORDER_BIN_THREADS)                    // of a bin, at most: a thread counts in 16 bytes
#define ROWS_SEGMENT_BOXES (ROWS_WHOLE_THREADS * ROWS_ORDER_ITEMS / 2) // that lie evenly; others have twice the room

// Kernels that all architectures hold as often.
PSVI_ROWS_CHECK(ROWS_SWEEP_BLOCKS *PSVI_BLOCK_THREADS <= 1024);
PSVI_ROWS_CHECK(ROWS_FUSED_BYTES <= 227 * 1024 && ROWS_FUSED_THREADS <= 1024 && ROWS_WHOLE_THREADS <= 1024);
// The tables of the orders that share them.
PSVI_ROWS_CHECK(ROWS_BIN_LEAST < ROWS_COUNTED_MOST && ROWS_FUSED_MOST <= ROWS_COUNTED_MOST);
PSVI_ROWS_CHECK(2 * ROWS_FUSED_LOCAL <= 65536); // a place has 16 bits
PSVI_ROWS_CHECK(ROWS_BIN_BOXES < ROWS_BIN_ROOM && ROWS_BIN_ROOM % ROWS_ORDER_BIN_THREADS == 0);
PSVI_ROWS_CHECK((1 << ROWS_SEGMENT_CELL_BITS) <= ROWS_WHOLE_THREADS * 4);
PSVI_ROWS_CHECK(ROWS_SAMPLES % ROWS_DOWN_BINS == 0);

#if defined(__CUDA_ARCH__)
constexpr psvi_rows_policy ROWS_CODE_POLICY = psvi_rows_policy_of(__CUDA_ARCH__ / 10);
#elif defined(__CUDACC__)
constexpr psvi_rows_policy ROWS_CODE_POLICY = psvi_rows_policy_of(0); // host pass: nothing is compiled by it
#endif

#endif
