// What the CPU radix sort moves, and how keys and values become elements and come back.
//
// An element carries the transformed key above its value, so that a pass reads one stream and writes one stream:
//   4 bytes   32-bit key
//   8 bytes   32-bit key above a 32-bit value, or a 64-bit key
//   16 bytes  any key with a value of 8 bytes, or a 64-bit key with a value of 4
// Elements go back to raw keys by the inverse transform. Where that would lose something (-0, and NaNs that compare
// equal) the value is the position instead. In the end raw keys and values are gathered by it.
#ifndef PAIRSIEVE_RADIX_ELEMENTS_H
#define PAIRSIEVE_RADIX_ELEMENTS_H

#include "../src/sort_method.h"
#include "sort_cpu_tuning.h"

#define RADIX_MAX_DIGITS (1u << RADIX_MAX_DIGIT_BITS)

typedef struct psvi_wide_element {
    uint64_t key, value;
} psvi_wide_element;

typedef struct psvi_radix_format {
    psvi_key_order order;
    uint32_t element_bytes; // 4, 8 or 16
    uint32_t value_bytes;   // 0, 4 or 8: values that are loaded, or positions of 4
    bool positions;         // values are 0, 1, 2, ...
    uint64_t mask;          // bits of the element's KEY that are compared
    uint32_t key_shift;     // of the key's bit 0 within KEY
} psvi_radix_format;

// Format for a request; with `positions` values are not read.
psvi_radix_format psvi_radix_make_format(psvi_key_order order, uint32_t value_bytes, bool positions);

// Elements [begin, begin + count) of the input to `elements`.
void psvi_radix_load(const psvi_radix_format *format, const void *keys, const void *values, uint64_t begin,
                     uint32_t count, void *elements);

// Elements back to raw keys and values at keys[begin...], values[begin...]; either may be NULL.
void psvi_radix_store(const psvi_radix_format *format, const void *elements, uint64_t count, void *keys, void *values,
                      uint64_t begin);

// Result of one read of a part of the input.
typedef struct psvi_radix_scan {
    uint64_t varying; // bits in which the transformed keys differ from `first`
    uint64_t first;   // transformed key 0 of the whole input
    bool descends;    // some key, compared with its successor, is greater (checked until one is found)
    bool lossy;       // the inverse transform would not give the raw keys back
} psvi_radix_scan;

// Scans keys [begin, end) of `count`; with `check` also pairs (i, i + 1) that begin there.
psvi_radix_scan psvi_radix_scan_keys(psvi_key_order order, const void *keys, uint64_t begin, uint64_t end,
                                     uint64_t count, bool check);

#endif
