// The element loops of the CPU radix sort behind one table for each element size.
#ifndef PAIRSIEVE_RADIX_KERNELS_H
#define PAIRSIEVE_RADIX_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct psvi_radix_kernels {
    // Counts one digit of `bits` bits at `shift`.
    void (*count)(const void *elements, size_t count, uint32_t shift, uint32_t bits, uint32_t *counts);
    // Moves each element to places[digit]++.
    void (*scatter)(const void *elements, size_t count, uint32_t shift, uint32_t bits, uint32_t *places, void *out);
    // The same for an `out` that is not in the cache.
    void (*scatter_far)(const void *elements, size_t count, uint32_t shift, uint32_t bits, uint32_t *places, void *out);
    // Sorts by the masked key, within `in` and `other`; returns the one that holds the result. Fastest where
    // log2(count) + spare_bits of the highest bits separate most keys.
    void *(*sort)(void *in, void *other, size_t count, uint64_t mask, uint32_t spare_bits);
    // The same where most elements have the key `crowd`: the result is in `in`, and `other` holds as many as have
    // another key.
    void *(*sort_around)(void *in, void *other, size_t count, uint64_t mask, uint64_t crowd, uint32_t spare_bits);
    // Sorts elements that are nearly sorted. False when they are not; they are then still a stable arrangement of the
    // input.
    bool (*insert)(void *elements, size_t count, uint64_t mask);
} psvi_radix_kernels;

// Counts one digit of raw 32-bit keys xor `flip`.
void psvi_radix_count_keys(const uint32_t *keys, size_t count, uint32_t flip, uint32_t shift, uint32_t bits,
                           uint32_t *counts);

// Moves raw keys and values (NULL: positions from `first` on) as elements of 8 bytes to places[digit]++. `shift` counts
// from bit 0 of the key. far: `out` is not in the cache.
void psvi_radix_scatter_pairs(const uint32_t *keys, const uint32_t *values, size_t count, uint32_t first, uint32_t flip,
                              uint32_t shift, uint32_t bits, bool far, uint32_t *places, uint64_t *out);

// Copies to memory around the cache, except lines shared with other data. psvi_stream_end before other threads read it.
void psvi_stream_copy(void *target, const void *source, size_t bytes);
void psvi_stream_end(void);

// The kernels for elements of 4, 8 or 16 bytes.
const psvi_radix_kernels *psvi_radix_kernels_for(uint32_t element_bytes);

typedef struct psvi_digits {
    uint32_t passes, bits;
} psvi_digits;

// How many passes of how many bits sort `count` elements by `width` bits the fastest.
psvi_digits psvi_plan_digits(size_t count, uint32_t width);

// The largest k with 2^k <= x, for x >= 1.
static inline uint32_t psvi_log2(uint64_t x) { return 63 - (uint32_t)__builtin_clzll(x); }

#endif
