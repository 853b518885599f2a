// The element loops of the CPU radix sort: radix_passes.h, once for each element size.
#include "radix_kernels.h"

#include <string.h>

#include "clones.h"
#include "radix_elements.h"
#include "tuning.h"

psvi_digits psvi_plan_digits(size_t count, uint32_t width) {
    psvi_digits best = {0};
    uint64_t best_cost = UINT64_MAX;
    for (uint32_t passes = 1; passes <= 8; ++passes) {
        const uint32_t bits = (width + passes - 1) / passes;
        if (bits > RADIX_MAX_DIGIT_BITS || bits == 0) continue;
        const uint64_t element = RADIX_ELEMENT_COST + (bits > RADIX_NEAR_DIGIT_BITS ? RADIX_FAR_COST : 0);
        const uint64_t cost = passes * ((uint64_t)count * element + ((uint64_t)RADIX_COUNTER_COST << bits));
        if (cost >= best_cost) continue;
        best_cost = cost;
        // Rounding up may leave the last passes without bits.
        best = (psvi_digits){.passes = (width + bits - 1) / bits, .bits = bits};
    }
    return best;
}

// Counts to first places.
static void psvi_scan_counts(uint32_t *counts, uint32_t digits) {
    uint32_t sum = 0;
    for (uint32_t d = 0; d < digits; ++d) {
        const uint32_t here = counts[d];
        counts[d] = sum;
        sum += here;
    }
}

#define ELEMENT uint32_t
#define NAME(x) x##_4
#define KEY(e) (e)
#define LINE_ELEMENTS 16u
#include "radix_passes.h"

#define ELEMENT uint64_t
#define NAME(x) x##_8
#define KEY(e) (e)
#define LINE_ELEMENTS 8u
#include "radix_passes.h"

#define ELEMENT psvi_wide_element
#define NAME(x) x##_16
#define KEY(e) ((e).key)
#define LINE_ELEMENTS 4u
#include "radix_passes.h"

#define KERNELS(bytes)                                                                                                 \
    static void count_any_##bytes(const void *elements, size_t count, uint32_t shift, uint32_t bits,                   \
                                  uint32_t *counts) {                                                                  \
        count_digits_##bytes(elements, count, shift, bits, bits, 1, counts);                                           \
    }                                                                                                                  \
    static void scatter_any_##bytes(const void *elements, size_t count, uint32_t shift, uint32_t bits,                 \
                                    uint32_t *places, void *out) {                                                     \
        scatter_##bytes(elements, count, shift, bits, places, out);                                                    \
    }                                                                                                                  \
    static void far_any_##bytes(const void *elements, size_t count, uint32_t shift, uint32_t bits, uint32_t *places,   \
                                void *out) {                                                                           \
        scatter_far_##bytes(elements, count, shift, bits, places, out);                                                \
    }                                                                                                                  \
    static void *sort_any_##bytes(void *in, void *other, size_t count, uint64_t mask) {                                \
        return sort_bucket_##bytes(in, other, count, mask);                                                            \
    }                                                                                                                  \
    static const psvi_radix_kernels kernels_##bytes = {                                                                \
        .count = count_any_##bytes,                                                                                    \
        .scatter = scatter_any_##bytes,                                                                                \
        .scatter_far = far_any_##bytes,                                                                                \
        .sort = sort_any_##bytes,                                                                                      \
    };

KERNELS(4)
KERNELS(8)
KERNELS(16)

const psvi_radix_kernels *psvi_radix_kernels_for(uint32_t element_bytes) {
    return element_bytes == 4 ? &kernels_4 : element_bytes == 8 ? &kernels_8 : &kernels_16;
}
