// The element loops of the CPU radix sort: radix_passes.h, once for each element size.
#include "radix_kernels.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "clones.h"
#include "radix_elements.h"
#include "sort_cpu_tuning.h"

// A counter costs 1. An element costs 5 in one digit pass, and 6 where there are more digits than the 512 lines of L1.
// The ratio decides between few wide and many narrow digits.
psvi_digits psvi_plan_digits(size_t count, uint32_t width) {
    psvi_digits best = {0};
    uint64_t best_cost = UINT64_MAX;
    for (uint32_t passes = 1; passes <= 8; ++passes) {
        const uint32_t bits = (width + passes - 1) / passes;
        if (bits > RADIX_MAX_DIGIT_BITS || bits == 0) continue;
        const uint64_t digits = (uint64_t)1 << bits, element = digits > 512 ? 6 : 5;
        const uint64_t cost = passes * ((uint64_t)count * element + digits);
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

PSVI_CLONES void psvi_radix_count_keys(const uint32_t *keys, size_t count, uint32_t flip, uint32_t shift, uint32_t bits,
                                       uint32_t *counts) {
    const uint32_t mask = (1u << bits) - 1;
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (size_t k = 0; k < 8; ++k)
            counts[((keys[i + k] ^ flip) >> shift) & mask]++;
    for (; i < count; ++i)
        counts[((keys[i] ^ flip) >> shift) & mask]++;
}

PSVI_INLINE void scatter_pairs(const uint32_t *restrict keys, const uint32_t *restrict values, size_t count,
                               uint32_t first, uint32_t flip, uint32_t shift, uint32_t mask, bool far,
                               uint32_t *restrict places, uint64_t *restrict out) {
    for (size_t i = 0; i < count; ++i) {
        const uint32_t key = keys[i] ^ flip, value = values == NULL ? first + (uint32_t)i : values[i];
        uint64_t *target = out + places[(key >> shift) & mask]++;
        if (far) __builtin_prefetch(target + 8, 1);
        *target = (uint64_t)key << 32 | value;
    }
}

PSVI_CLONES void psvi_radix_scatter_pairs(const uint32_t *keys, const uint32_t *values, size_t count, uint32_t first,
                                          uint32_t flip, uint32_t shift, uint32_t bits, bool far, uint32_t *places,
                                          uint64_t *out) {
    const uint32_t mask = (1u << bits) - 1;
    if (values == NULL && far)
        scatter_pairs(keys, NULL, count, first, flip, shift, mask, true, places, out);
    else if (values == NULL)
        scatter_pairs(keys, NULL, count, first, flip, shift, mask, false, places, out);
    else if (far)
        scatter_pairs(keys, values, count, first, flip, shift, mask, true, places, out);
    else
        scatter_pairs(keys, values, count, first, flip, shift, mask, false, places, out);
}

void psvi_stream_copy(void *target, const void *source, size_t bytes) {
#if defined(__SSE2__)
    char *to = target;
    const char *from = source;
    size_t head = (size_t)(-(uintptr_t)to & 63);
    if (head > bytes) head = bytes;
    memcpy(to, from, head);
    size_t done = head;
    for (; done + 64 <= bytes; done += 64)
        for (int k = 0; k < 64; k += 16)
            _mm_stream_si128((__m128i *)(void *)(to + done + k),
                             _mm_loadu_si128((const __m128i *)(const void *)(from + done + k)));
    memcpy(to + done, from + done, bytes - done);
#else
    memcpy(target, source, bytes);
#endif
}

void psvi_stream_end(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#define ELEMENT uint32_t
#define NAME(x) x##_4
#define KEY(e) (e)
#define LINE_ELEMENTS 16u
#define KEY_TYPE uint32_t
#include "radix_passes.h"

#define ELEMENT uint64_t
#define NAME(x) x##_8
#define KEY(e) (e)
#define LINE_ELEMENTS 8u
#define KEY_TYPE uint64_t
#include "radix_passes.h"

#define ELEMENT psvi_wide_element
#define NAME(x) x##_16
#define KEY(e) ((e).key)
#define LINE_ELEMENTS 4u
#define KEY_TYPE uint64_t
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
    static void *sort_any_##bytes(void *in, void *other, size_t count, uint64_t mask, uint32_t spare_bits) {           \
        return sort_bucket_##bytes(in, other, count, mask, spare_bits);                                                \
    }                                                                                                                  \
    static void *around_any_##bytes(void *in, void *other, size_t count, uint64_t mask, uint64_t crowd,                \
                                    uint32_t spare_bits) {                                                             \
        return sort_around_##bytes(in, other, count, mask, crowd, spare_bits);                                         \
    }                                                                                                                  \
    static bool insert_any_##bytes(void *elements, size_t count, uint64_t mask) {                                      \
        return insert_all_##bytes(elements, count, mask);                                                              \
    }                                                                                                                  \
    static const psvi_radix_kernels kernels_##bytes = {                                                                \
        .count = count_any_##bytes,                                                                                    \
        .scatter = scatter_any_##bytes,                                                                                \
        .scatter_far = far_any_##bytes,                                                                                \
        .sort = sort_any_##bytes,                                                                                      \
        .sort_around = around_any_##bytes,                                                                             \
        .insert = insert_any_##bytes,                                                                                  \
    };

KERNELS(4)
KERNELS(8)
KERNELS(16)

const psvi_radix_kernels *psvi_radix_kernels_for(uint32_t element_bytes) {
    return element_bytes == 4 ? &kernels_4 : element_bytes == 8 ? &kernels_8 : &kernels_16;
}
