// One box against a range of boxes, 16, 8 or 1 at a time. Every variant gives the same hits in the same order.
#include "cpu_boxes.h"

static uint32_t scan_portable(const psvi_lanes *lanes, uint64_t first, uint64_t end, const float box[6],
                              uint32_t *hits) {
    uint32_t count = 0;
    for (uint64_t i = first; i < end; ++i) {
        // No branches: compilers turn the tests into vector code, and a hit is as likely as not to be mispredicted.
        bool hit = (lanes->min[0][i] <= box[3]) & (lanes->max[0][i] >= box[0]) & (lanes->min[1][i] <= box[4]) &
                   (lanes->max[1][i] >= box[1]) & (lanes->min[2][i] <= box[5]) & (lanes->max[2][i] >= box[2]);
        hits[count] = lanes->id[i];
        count += hit;
    }
    return count;
}

static uint32_t test_portable(const psvi_lanes *lanes, uint64_t first, const float box[6]) {
    uint32_t hits = 0;
    for (uint32_t k = 0; k < 16; ++k) {
        uint64_t i = first + k;
        uint32_t hit = (lanes->min[0][i] <= box[3]) & (lanes->max[0][i] >= box[0]) & (lanes->min[1][i] <= box[4]) &
                       (lanes->max[1][i] >= box[1]) & (lanes->min[2][i] <= box[5]) & (lanes->max[2][i] >= box[2]);
        hits |= hit << k;
    }
    return hits;
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f,avx512vl"))) static uint32_t test_avx512(const psvi_lanes *lanes, uint64_t first,
                                                                        const float box[6]) {
    __mmask16 a = 0xffff, b = 0xffff;
    for (int k = 0; k < 3; ++k) {
        a = _mm512_mask_cmp_ps_mask(a, _mm512_loadu_ps(lanes->min[k] + first), _mm512_set1_ps(box[3 + k]), _CMP_LE_OQ);
        b = _mm512_mask_cmp_ps_mask(b, _mm512_loadu_ps(lanes->max[k] + first), _mm512_set1_ps(box[k]), _CMP_GE_OQ);
    }
    return (uint32_t)(a & b);
}

__attribute__((target("avx2"))) static uint32_t test_avx2(const psvi_lanes *lanes, uint64_t first, const float box[6]) {
    uint32_t hits = 0;
    for (uint32_t half = 0; half < 16; half += 8) {
        __m256 hit = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
        for (int k = 0; k < 3; ++k) {
            __m256 low = _mm256_loadu_ps(lanes->min[k] + first + half);
            __m256 high = _mm256_loadu_ps(lanes->max[k] + first + half);
            hit = _mm256_and_ps(hit, _mm256_cmp_ps(low, _mm256_set1_ps(box[3 + k]), _CMP_LE_OQ));
            hit = _mm256_and_ps(hit, _mm256_cmp_ps(high, _mm256_set1_ps(box[k]), _CMP_GE_OQ));
        }
        hits |= (uint32_t)_mm256_movemask_ps(hit) << half;
    }
    return hits;
}

__attribute__((target("avx512f,avx512vl,bmi2,popcnt"))) static uint32_t
scan_avx512(const psvi_lanes *lanes, uint64_t first, uint64_t end, const float box[6], uint32_t *hits) {
    const __m512 min_x = _mm512_set1_ps(box[0]), min_y = _mm512_set1_ps(box[1]), min_z = _mm512_set1_ps(box[2]);
    const __m512 max_x = _mm512_set1_ps(box[3]), max_y = _mm512_set1_ps(box[4]), max_z = _mm512_set1_ps(box[5]);
    uint32_t count = 0;
    for (uint64_t i = first; i < end; i += 16) {
        __mmask16 hit = end - i >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << (end - i)) - 1);
        hit = _mm512_mask_cmp_ps_mask(hit, _mm512_loadu_ps(lanes->min[0] + i), max_x, _CMP_LE_OQ);
        hit = _mm512_mask_cmp_ps_mask(hit, _mm512_loadu_ps(lanes->max[0] + i), min_x, _CMP_GE_OQ);
        hit = _mm512_mask_cmp_ps_mask(hit, _mm512_loadu_ps(lanes->min[1] + i), max_y, _CMP_LE_OQ);
        hit = _mm512_mask_cmp_ps_mask(hit, _mm512_loadu_ps(lanes->max[1] + i), min_y, _CMP_GE_OQ);
        hit = _mm512_mask_cmp_ps_mask(hit, _mm512_loadu_ps(lanes->min[2] + i), max_z, _CMP_LE_OQ);
        hit = _mm512_mask_cmp_ps_mask(hit, _mm512_loadu_ps(lanes->max[2] + i), min_z, _CMP_GE_OQ);
        // A compressing store to memory is slow on some processors; a whole store past the end is not.
        _mm512_storeu_si512(hits + count, _mm512_maskz_compress_epi32(hit, _mm512_loadu_si512(lanes->id + i)));
        count += (uint32_t)_mm_popcnt_u32(hit);
    }
    return count;
}

__attribute__((target("avx2,popcnt"))) static uint32_t scan_avx2(const psvi_lanes *lanes, uint64_t first, uint64_t end,
                                                                 const float box[6], uint32_t *hits) {
    const __m256 min_x = _mm256_set1_ps(box[0]), min_y = _mm256_set1_ps(box[1]), min_z = _mm256_set1_ps(box[2]);
    const __m256 max_x = _mm256_set1_ps(box[3]), max_y = _mm256_set1_ps(box[4]), max_z = _mm256_set1_ps(box[5]);
    uint32_t count = 0;
    for (uint64_t i = first; i < end; i += 8) {
        __m256 x = _mm256_and_ps(_mm256_cmp_ps(_mm256_loadu_ps(lanes->min[0] + i), max_x, _CMP_LE_OQ),
                                 _mm256_cmp_ps(_mm256_loadu_ps(lanes->max[0] + i), min_x, _CMP_GE_OQ));
        __m256 y = _mm256_and_ps(_mm256_cmp_ps(_mm256_loadu_ps(lanes->min[1] + i), max_y, _CMP_LE_OQ),
                                 _mm256_cmp_ps(_mm256_loadu_ps(lanes->max[1] + i), min_y, _CMP_GE_OQ));
        __m256 z = _mm256_and_ps(_mm256_cmp_ps(_mm256_loadu_ps(lanes->min[2] + i), max_z, _CMP_LE_OQ),
                                 _mm256_cmp_ps(_mm256_loadu_ps(lanes->max[2] + i), min_z, _CMP_GE_OQ));
        uint32_t hit = (uint32_t)_mm256_movemask_ps(_mm256_and_ps(x, _mm256_and_ps(y, z)));
        if (end - i < 8) hit &= (1u << (end - i)) - 1;
        for (; hit != 0; hit &= hit - 1)
            hits[count++] = lanes->id[i + (uint32_t)__builtin_ctz(hit)];
    }
    return count;
}
#endif

psvi_scan_lanes psvi_best_scan(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return scan_avx512;
    if (__builtin_cpu_supports("avx2")) return scan_avx2;
#endif
    return scan_portable;
}

psvi_test_lanes psvi_best_test(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return test_avx512;
    if (__builtin_cpu_supports("avx2")) return test_avx2;
#endif
    return test_portable;
}
