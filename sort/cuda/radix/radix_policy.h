// What the CUDA `radix` method takes from the architecture that its code was compiled for: one table, read by the host
// (which routes there are), by the kernels (what is compiled) and by tests. An architecture that is not listed has the
// row of the closest older one; shared memory is then still the least of the row's and the device's own.
#ifndef PAIRSIEVE_RADIX_POLICY_H
#define PAIRSIEVE_RADIX_POLICY_H

#include <stdint.h>

// 10 * major + minor; KB of shared memory that a block can have; blocks of 256 threads that a multiprocessor holds.
//    code  KB  blocks    devices
#define PSVI_RADIX_POLICIES(ROW)                                                                                       \
    ROW(75, 64, 4)   /* T4, RTX 20 */                                                                                  \
    ROW(80, 163, 8)  /* A100, A30 */                                                                                   \
    ROW(86, 99, 6)   /* RTX 30, A40; 8.9: RTX 40, L4, L40 */                                                           \
    ROW(90, 227, 8)  /* H100, H200 */                                                                                  \
    ROW(100, 227, 8) /* B200, B300 */                                                                                  \
    ROW(120, 99, 6)  /* RTX 50, RTX PRO */

// KB of shared memory of a block that kernels need: of BLOCK, for a thousand items and for all; of digit passes with
// full tiles; of all kernels that hold a chunk or take part in a cluster; of PASSES_ASYNC. What has less is not
// compiled for and not chosen.
#define PSVI_RADIX_BLOCK_LEAST_KB 48
#define PSVI_RADIX_BLOCK_KB 99
#define PSVI_RADIX_ROOMY_KB 160
#define PSVI_RADIX_CHUNK_KB 227
#define PSVI_RADIX_ASYNC_KB 227

#define PSVI_RADIX_MOST_KB 227 // of any row
#if PSVI_RADIX_ROOMY_KB > PSVI_RADIX_MOST_KB || PSVI_RADIX_CHUNK_KB > PSVI_RADIX_MOST_KB ||                            \
    PSVI_RADIX_ASYNC_KB > PSVI_RADIX_MOST_KB
#error "kernels that no architecture of the table can run"
#endif

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
