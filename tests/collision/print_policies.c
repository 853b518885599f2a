// Prints the tables by architecture of the CUDA methods `radix` and `rows`, for whoever tunes them: docs/porting.md.
#include <stdio.h>

#include "collision/cuda/rows/rows_policy.h"
#include "sort/cuda/radix/radix_tuning.h"

static void print_rows_kernel(const char *kernel, int threads, int items, uint32_t blocks) {
    printf("  %-22s %7d %6d %7u\n", kernel, threads, items, blocks);
}

static void print_rows_policy(uint32_t code) {
    const psvi_rows_policy policy = psvi_rows_policy_of(code);
    printf("rows, %u.%u: a multiprocessor holds %u threads, a block has %u KB\n", code / 10, code % 10, policy.threads,
           policy.shared_kb);
    printf("  %-22s %7s %6s %7s\n", "kernel", "threads", "items", "blocks");
    print_rows_kernel("keys", PSVI_BLOCK_THREADS, ROWS_ITEMS, policy.threads / PSVI_BLOCK_THREADS);
    print_rows_kernel("counted scatter", PSVI_BLOCK_THREADS, 1, policy.scatter_blocks);
    print_rows_kernel("bins split", ROWS_WHOLE_THREADS, ROWS_BIN_ITEMS, 1);
    print_rows_kernel("bins order", ROWS_ORDER_BIN_THREADS, ROWS_BIN_ROOM / ROWS_ORDER_BIN_THREADS,
                      policy.order_bin_blocks);
    print_rows_kernel("segments split", ROWS_SPLIT_THREADS, ROWS_ITEMS, policy.split_blocks);
    print_rows_kernel("segments order", ROWS_WHOLE_THREADS, ROWS_ORDER_ITEMS, 1);
    print_rows_kernel("fused", ROWS_FUSED_THREADS, ROWS_ITEMS, 1);
    print_rows_kernel("exact sweep", PSVI_BLOCK_THREADS, 1, ROWS_SWEEP_BLOCKS);
    print_rows_kernel("uniform sweep", PSVI_BLOCK_THREADS, 1, policy.uniform_blocks);
    print_rows_kernel("near sweep", PSVI_BLOCK_THREADS, 1, policy.near_blocks);
    print_rows_kernel("near sweep, second", PSVI_BLOCK_THREADS, 1, policy.left_blocks);
}

int main(void) {
    printf("radix: KB of shared memory of a block, blocks of 256 threads\n");
#define PRINT_RADIX(code, kb, blocks) printf("  %d.%d  %3d KB  %d blocks\n", (code) / 10, (code) % 10, (kb), (blocks));
    PSVI_RADIX_POLICIES(PRINT_RADIX)
#undef PRINT_RADIX
#define PRINT_ROWS(code, ...) print_rows_policy(code);
    PSVI_ROWS_POLICIES(PRINT_ROWS)
#undef PRINT_ROWS
    return 0;
}
