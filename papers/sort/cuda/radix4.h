// Kernels of the 4-way radix sort of Ha, Krueger, Silva 2009.
#ifndef PAIRSIEVE_SORT_RADIX4_H
#define PAIRSIEVE_SORT_RADIX4_H

#include "digit_passes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_RADIX4_ITEMS 4           // elements of a thread
#define PSVI_RADIX4_LEAST_THREADS 128 // of a block: what block sums are laid out for before there is a device
#define PSVI_RADIX4_MOST_THREADS 512

typedef struct psvi_radix4_pass {
    psvi_digit_passes data;
    psvi_key_order order;
    uint32_t key_bytes;
    uint32_t digit_bits; // 1, 2 or 3
    uint32_t shift;      // of the digit in the sorted bits
    uint32_t source;     // keys[source] to keys[1 - source]
    bool implicit;       // values are made, not read
    bool scattered;
    uint32_t block_threads;
    uint32_t *sums;       // counts, digit after digit: sums[digit * blocks + block]
    uint32_t *prefix;     // the same after the scan
    uint16_t *ranks;      // scattered mapping: place among the block's equal digits
    uint32_t *positions;  // likewise, places in the result, written by a kernel of its own; NULL: they are not kept
    const uint32_t *flag; // the pass does nothing when it is 0
} psvi_radix4_pass;

static inline uint64_t psvi_radix4_blocks(uint64_t count, uint32_t block_threads) {
    const uint64_t tile = (uint64_t)block_threads * PSVI_RADIX4_ITEMS;
    return (count + tile - 1) / tile;
}

// Threads of a block that keep the device fullest, asked from the driver.
uint32_t psvi_radix4_choose_threads(uint32_t key_bytes, bool values, uint32_t digit_bits);

// Sets flags[0..count) to `value`.
psv_status psvi_radix4_clear(psv_context *context, uint32_t *flags, uint32_t count, uint32_t value);

// Sets *flag to 1 when the keys are not in order. previous: NULL, or a flag that has to be set for the check to be made
// at all. stop: quick + full check, which ends as soon as *flag is seen set; else every key is looked at.
psv_status psvi_radix4_check(psv_context *context, const psvi_radix4_pass *pass, const uint32_t *previous,
                             uint32_t *flag, bool stop);
psv_status psvi_radix4_local(psv_context *context, const psvi_radix4_pass *pass);
psv_status psvi_radix4_map(psv_context *context, const psvi_radix4_pass *pass);

#ifdef __cplusplus
}
#endif
#endif
