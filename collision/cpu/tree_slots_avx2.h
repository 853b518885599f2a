// A ray against the eight slots of a node at once, with AVX2: for files that are compiled for that.
#ifndef PAIRSIEVE_TREE_SLOTS_AVX2_H
#define PAIRSIEVE_TREE_SLOTS_AVX2_H

#include "pairsieve/tree_tests.h"

#include <immintrin.h>

PSV_TREE_FN __m256 psvi_slot_bytes(const uint32_t words[2]) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)words)));
}

PSV_TREE_FN uint32_t psvi_ray_slots_avx2(const psv_tree_node *node, const psv_tree_ray *ray, float t_most) {
    __m256 near = _mm256_set1_ps(ray->t_min), far = _mm256_set1_ps(t_most);
    for (int axis = 0; axis < 3; ++axis) {
        float step, low, high;
        psv_ray_slab(ray, node, axis, &step, &low, &high);
        const bool back = ray->slab[axis] < 0;
        const uint32_t *enter = back ? node->high[axis] : node->low[axis];
        const uint32_t *leave = back ? node->low[axis] : node->high[axis];
        const __m256 steps = _mm256_set1_ps(step);
        near = _mm256_max_ps(near, _mm256_fmadd_ps(psvi_slot_bytes(enter), steps, _mm256_set1_ps(low)));
        far = _mm256_min_ps(far, _mm256_fmadd_ps(psvi_slot_bytes(leave), steps, _mm256_set1_ps(high)));
    }
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(near, far, _CMP_LE_OQ)) & psv_node_used(node);
}

#endif
