// The element loops of the sort of nearly sorted input: radix_near_passes.h, once for each element size.
#include "radix_near_kernels.h"

#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

#include "clones.h"
#include "radix_elements.h"
#include "radix_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
// Rows with constant indices can stay in registers.
#define UNROLLED _Pragma("GCC unroll 32")
#define COLUMNS_INLINE static inline __attribute__((always_inline, target("avx2")))

// Puts the lesser of each lane into r[i] and the greater into r[j].
#define EXCHANGE(i, j)                                                                                                 \
    do {                                                                                                               \
        const __m256i exchanged = r[i];                                                                                \
        r[i] = _mm256_min_epu32(exchanged, r[j]);                                                                      \
        r[j] = _mm256_max_epu32(exchanged, r[j]);                                                                      \
    } while (0)

// Batcher's odd-even merge sort. MERGE_n merges the two halves of n rows from b on, s apart.
#define MERGE_4(b, s)                                                                                                  \
    EXCHANGE(b, (b) + 2 * (s));                                                                                        \
    EXCHANGE((b) + (s), (b) + 3 * (s));                                                                                \
    EXCHANGE((b) + (s), (b) + 2 * (s))
#define MERGE_8(b, s)                                                                                                  \
    MERGE_4(b, 2 * (s));                                                                                               \
    MERGE_4((b) + (s), 2 * (s));                                                                                       \
    for (int m = 1; m < 7; m += 2)                                                                                     \
    EXCHANGE((b) + m * (s), (b) + (m + 1) * (s))
#define MERGE_16(b, s)                                                                                                 \
    MERGE_8(b, 2 * (s));                                                                                               \
    MERGE_8((b) + (s), 2 * (s));                                                                                       \
    for (int m = 1; m < 15; m += 2)                                                                                    \
    EXCHANGE((b) + m * (s), (b) + (m + 1) * (s))
#define MERGE_32(b, s)                                                                                                 \
    MERGE_16(b, 2 * (s));                                                                                              \
    MERGE_16((b) + (s), 2 * (s));                                                                                      \
    for (int m = 1; m < 31; m += 2)                                                                                    \
    EXCHANGE((b) + m * (s), (b) + (m + 1) * (s))
#define SORT_4(b)                                                                                                      \
    EXCHANGE(b, (b) + 1);                                                                                              \
    EXCHANGE((b) + 2, (b) + 3);                                                                                        \
    MERGE_4(b, 1)
#define SORT_8(b)                                                                                                      \
    SORT_4(b);                                                                                                         \
    SORT_4((b) + 4);                                                                                                   \
    MERGE_8(b, 1)
#define SORT_16(b)                                                                                                     \
    SORT_8(b);                                                                                                         \
    SORT_8((b) + 8);                                                                                                   \
    MERGE_16(b, 1)
#define SORT_32(b)                                                                                                     \
    SORT_16(b);                                                                                                        \
    SORT_16((b) + 16);                                                                                                 \
    MERGE_32(b, 1)

// Eight rows of eight numbers, each row from another column of codes, turned into rows across the columns.
COLUMNS_INLINE void load_rows(const uint32_t *codes, __m256i *r) {
    __m256i a[8], b[8];
    for (int c = 0; c < 8; ++c)
        a[c] = _mm256_loadu_si256((const __m256i *)(const void *)(codes + c * NEAR_ROWS));
    for (int c = 0; c < 8; c += 2) {
        b[c] = _mm256_unpacklo_epi32(a[c], a[c + 1]);
        b[c + 1] = _mm256_unpackhi_epi32(a[c], a[c + 1]);
    }
    for (int c = 0; c < 8; c += 4) {
        a[c] = _mm256_unpacklo_epi64(b[c], b[c + 2]);
        a[c + 1] = _mm256_unpackhi_epi64(b[c], b[c + 2]);
        a[c + 2] = _mm256_unpacklo_epi64(b[c + 1], b[c + 3]);
        a[c + 3] = _mm256_unpackhi_epi64(b[c + 1], b[c + 3]);
    }
    for (int c = 0; c < 4; ++c) {
        r[c] = _mm256_permute2x128_si256(a[c], a[c + 4], 0x20);
        r[c + 4] = _mm256_permute2x128_si256(a[c], a[c + 4], 0x31);
    }
}

COLUMNS_INLINE void store_rows(const __m256i *r, uint32_t *rows, size_t columns) {
    UNROLLED
    for (uint32_t row = 0; row < NEAR_ROWS; ++row)
        _mm256_storeu_si256((__m256i *)(void *)(rows + row * columns), r[row]);
}

// Sorts eight columns, each by itself.
COLUMNS_INLINE void sort_columns(const uint32_t *codes, __m256i *r) {
    UNROLLED
    for (uint32_t row = 0; row < NEAR_ROWS; row += 8)
        load_rows(codes + row, r + row);
    SORT_32(0);
}

// Merges the sorted columns 0 and 1, 2 and 3, 4 and 5, 6 and 7: the lesser half goes to the left.
COLUMNS_INLINE void merge_columns(__m256i *r) {
    // Each number of the left column against one of the right, from the other end: both become bitonic.
    UNROLLED
    for (uint32_t row = 0; row < NEAR_ROWS / 2; ++row) {
        const __m256i here = r[row], there = _mm256_shuffle_epi32(r[NEAR_ROWS - 1 - row], 0xb1);
        const __m256i low = _mm256_min_epu32(here, there), high = _mm256_max_epu32(here, there);
        r[row] = _mm256_blend_epi32(low, high, 0xaa);
        r[NEAR_ROWS - 1 - row] = _mm256_shuffle_epi32(_mm256_blend_epi32(high, low, 0xaa), 0xb1);
    }
#define HALVE(distance)                                                                                                \
    UNROLLED                                                                                                           \
    for (int pair = 0; pair < (int)NEAR_ROWS / 2; ++pair)                                                              \
    EXCHANGE((pair & ~((distance)-1)) + pair, (pair & ~((distance)-1)) + pair + (distance))
    HALVE(16);
    HALVE(8);
    HALVE(4);
    HALVE(2);
    HALVE(1);
}

static bool columns_in_order(const uint32_t *rows, size_t columns) {
    const uint32_t *last = rows + (NEAR_ROWS - 1) * columns;
    uint32_t wrong = 0;
    for (size_t c = 0; c + 1 < columns; ++c)
        wrong |= last[c] > rows[c + 1];
    return wrong == 0;
}

// One group: the rows stay in registers.
COLUMNS_INLINE void order_group(const uint32_t *codes, uint32_t *rows, size_t columns) {
    const __m256i ones = _mm256_set1_epi32(-1), left = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0),
                  right = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    __m256i r[NEAR_ROWS];
    sort_columns(codes, r);
    for (;;) {
        merge_columns(r);
        store_rows(r, rows, columns);
        if (columns_in_order(rows, columns)) return;
        // Columns 1 to 7 and an empty one; column 0 waits in memory.
        UNROLLED
        for (uint32_t row = 0; row < NEAR_ROWS; ++row)
            r[row] = _mm256_blend_epi32(_mm256_permutevar8x32_epi32(r[row], left), ones, 0x80);
        merge_columns(r);
        UNROLLED
        for (uint32_t row = 0; row < NEAR_ROWS; ++row) {
            const __m256i before = _mm256_loadu_si256((const __m256i *)(const void *)(rows + row * columns));
            r[row] = _mm256_blend_epi32(_mm256_permutevar8x32_epi32(r[row], right), before, 0x01);
        }
        store_rows(r, rows, columns);
        if (columns_in_order(rows, columns)) return;
    }
}

// Whether no two neighbours of the order agree in all but the place. Empty ones are no neighbours: they are equal.
COLUMNS_INLINE bool all_differ(size_t count, const uint32_t *rows, size_t columns) {
    __m256i least = _mm256_set1_epi32(-1);
    for (size_t c = 0; c + 8 < columns; c += 8) {
        const uint32_t *at = rows + c;
        __m256i before = _mm256_loadu_si256((const __m256i *)(const void *)at);
        for (uint32_t row = 1; row <= NEAR_ROWS; ++row) {
            at = row < NEAR_ROWS ? at + columns : rows + c + 1;
            const __m256i here = _mm256_loadu_si256((const __m256i *)(const void *)at);
            const __m256i bits = _mm256_xor_si256(before, here);
            least = _mm256_min_epu32(least, _mm256_add_epi32(bits, _mm256_set1_epi32(-1)));
            before = here;
        }
    }
    const __m256i limit = _mm256_set1_epi32((1 << psvi_near_place_bits(count)) - 1);
    const __m256i reach = _mm256_cmpeq_epi32(_mm256_max_epu32(least, limit), least);
    return _mm256_movemask_epi8(reach) == -1;
}

COLUMNS_INLINE bool order_codes(uint32_t *codes, size_t count, uint32_t *rows) {
    const size_t columns = psvi_near_columns(count), groups = columns / 8 - 1;
    memset(codes + count, 0xff, (groups * NEAR_GROUP - count) * sizeof *codes);
    UNROLLED
    for (uint32_t row = 0; row < NEAR_ROWS; ++row)
        memset(rows + row * columns + groups * 8, 0xff, 8 * sizeof *rows);
    if (groups == 1) {
        order_group(codes, rows, columns);
        return all_differ(count, rows, columns);
    }
    __m256i r[NEAR_ROWS];
    for (size_t g = 0; g < groups; ++g) {
        sort_columns(codes + g * NEAR_GROUP, r);
        store_rows(r, rows + g * 8, columns);
    }
    while (!columns_in_order(rows, columns))
        for (size_t off = 0; off < 2; ++off)
            for (size_t g = 0; g < groups; ++g) {
                UNROLLED
                for (uint32_t row = 0; row < NEAR_ROWS; ++row)
                    r[row] = _mm256_loadu_si256((const __m256i *)(const void *)(rows + row * columns + g * 8 + off));
                merge_columns(r);
                store_rows(r, rows + g * 8 + off, columns);
            }
    return all_differ(count, rows, columns);
}

// With 32 registers all rows stay in them.
__attribute__((target("avx2,avx512f,avx512vl"))) static bool order_codes_512(uint32_t *codes, size_t count,
                                                                             uint32_t *rows) {
    return order_codes(codes, count, rows);
}

__attribute__((target("avx2"))) static bool order_codes_256(uint32_t *codes, size_t count, uint32_t *rows) {
    return order_codes(codes, count, rows);
}

bool psvi_near_can_order(void) { return __builtin_cpu_supports("avx2") != 0; }

bool psvi_near_order(uint32_t *codes, size_t count, uint32_t *rows) {
    return __builtin_cpu_supports("avx512vl") ? order_codes_512(codes, count, rows)
                                              : order_codes_256(codes, count, rows);
}
#else
bool psvi_near_can_order(void) { return false; }
bool psvi_near_order(uint32_t *codes, size_t count, uint32_t *rows) {
    return (void)codes, (void)count, (void)rows, false;
}
#endif

#define ELEMENT uint32_t
#define NAME(x) x##_4
#define KEY(e) (e)
#define KEY_TYPE uint32_t
#include "radix_near_passes.h"

#define ELEMENT uint64_t
#define NAME(x) x##_8
#define KEY(e) (e)
#define KEY_TYPE uint64_t
#include "radix_near_passes.h"

#define ELEMENT psvi_wide_element
#define NAME(x) x##_16
#define KEY(e) ((e).key)
#define KEY_TYPE uint64_t
#include "radix_near_passes.h"

#define KERNELS(bytes)                                                                                                 \
    static const psvi_near_kernels kernels_##bytes = {                                                                 \
        .tally = tally_##bytes,                                                                                        \
        .list_far = list_far_##bytes,                                                                                  \
        .collect = collect_##bytes,                                                                                    \
        .extremes = extremes_##bytes,                                                                                  \
        .encode = encode_##bytes,                                                                                      \
        .turn = turn_##bytes,                                                                                          \
        .merge = merge_##bytes,                                                                                        \
        .gather = gather_##bytes,                                                                                      \
    };

KERNELS(4)
KERNELS(8)
KERNELS(16)

const psvi_near_kernels *psvi_near_kernels_for(uint32_t element_bytes) {
    return element_bytes == 4 ? &kernels_4 : element_bytes == 8 ? &kernels_8 : &kernels_16;
}
