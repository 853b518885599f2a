// Candidates of a search for neighbours, eight at a time. Only processors with AVX2 run this file.
#include "neighbour_scan.h"

#include <immintrin.h>

uint32_t psvi_scan_chunk_avx2(const float *const axis[3], uint32_t count, const float query[3], float up,
                              uint32_t *hits, float *squares) {
    const __m256 qx = _mm256_set1_ps(query[0]), qy = _mm256_set1_ps(query[1]), qz = _mm256_set1_ps(query[2]);
    const __m256 most = _mm256_set1_ps(up);
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i += PSVI_SCAN_LANES) {
        const __m256 x = _mm256_sub_ps(_mm256_loadu_ps(axis[0] + i), qx);
        const __m256 y = _mm256_sub_ps(_mm256_loadu_ps(axis[1] + i), qy);
        const __m256 z = _mm256_sub_ps(_mm256_loadu_ps(axis[2] + i), qz);
        const __m256 square =
            _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(x, x), _mm256_mul_ps(y, y)), _mm256_mul_ps(z, z));
        _mm256_storeu_ps(squares + i, square);
        // NaN, of numbers too large for floats, is a hit too.
        uint32_t lanes = (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(square, most, _CMP_NGT_UQ));
        if (count - i < PSVI_SCAN_LANES) lanes &= (1u << (count - i)) - 1;
        for (; lanes != 0; lanes &= lanes - 1)
            hits[found++] = i + (uint32_t)__builtin_ctz(lanes);
    }
    return found;
}

#define PSVI_SORT_ROW psvi_sort_row_avx2
#include "neighbour_row_sort.h"
