// Queries of trees with AVX2: the eight slots of a node at once. Compiled for that alone; nothing here runs before the
// processor was asked.
#include "pairsieve/tree_tests.h"
#include "tree_cpu.h"

#include <immintrin.h>

typedef struct slot_boxes {
    __m256 low[3], high[3];
} slot_boxes;

PSV_TREE_FN __m256 slot_bytes(const uint32_t words[2]) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)words)));
}

PSV_TREE_FN uint32_t ray_slots_avx2(const psv_tree_node *node, const psv_tree_ray *ray, float t_most) {
    __m256 near = _mm256_set1_ps(ray->t_min), far = _mm256_set1_ps(t_most);
    for (int axis = 0; axis < 3; ++axis) {
        float step, low, high;
        psv_ray_slab(ray, node, axis, &step, &low, &high);
        const bool back = ray->slab[axis] < 0;
        const uint32_t *enter = back ? node->high[axis] : node->low[axis];
        const uint32_t *leave = back ? node->low[axis] : node->high[axis];
        const __m256 steps = _mm256_set1_ps(step);
        near = _mm256_max_ps(near, _mm256_fmadd_ps(slot_bytes(enter), steps, _mm256_set1_ps(low)));
        far = _mm256_min_ps(far, _mm256_fmadd_ps(slot_bytes(leave), steps, _mm256_set1_ps(high)));
    }
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(near, far, _CMP_LE_OQ)) & psv_node_used(node);
}

// Decoded coordinates are exact: a fused product and sum is the same.
PSV_TREE_FN slot_boxes decode_slots(const psv_tree_node *node) {
    slot_boxes boxes;
    for (int axis = 0; axis < 3; ++axis) {
        const __m256 step = _mm256_set1_ps(psv_node_step(node, axis)), origin = _mm256_set1_ps(node->origin[axis]);
        boxes.low[axis] = _mm256_fmadd_ps(slot_bytes(node->low[axis]), step, origin);
        boxes.high[axis] = _mm256_fmadd_ps(slot_bytes(node->high[axis]), step, origin);
    }
    return boxes;
}

PSV_TREE_FN uint32_t box_slots_avx2(const psv_tree_node *node, const float *min, const float *max) {
    const slot_boxes boxes = decode_slots(node);
    __m256 touch = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    for (int axis = 0; axis < 3; ++axis) {
        const __m256 low = _mm256_set1_ps(psv_tree_clamp(min[axis])), high = _mm256_set1_ps(psv_tree_clamp(max[axis]));
        touch = _mm256_and_ps(touch, _mm256_cmp_ps(boxes.low[axis], high, _CMP_LE_OQ));
        touch = _mm256_and_ps(touch, _mm256_cmp_ps(boxes.high[axis], low, _CMP_GE_OQ));
    }
    return (uint32_t)_mm256_movemask_ps(touch) & psv_node_used(node);
}

PSV_TREE_FN uint32_t near_slots_avx2(const psv_tree_node *node, const float *point, float most2, float distance[8]) {
    const slot_boxes boxes = decode_slots(node);
    __m256 sum = _mm256_setzero_ps();
    for (int axis = 0; axis < 3; ++axis) {
        const __m256 p = _mm256_set1_ps(psv_tree_clamp(point[axis]));
        const __m256 away = _mm256_max_ps(
            _mm256_max_ps(_mm256_sub_ps(boxes.low[axis], p), _mm256_sub_ps(p, boxes.high[axis])), _mm256_setzero_ps());
        sum = _mm256_add_ps(sum, _mm256_mul_ps(away, away)); // rounded as in the test of an item
    }
    _mm256_storeu_ps(distance, sum);
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(sum, _mm256_set1_ps(most2), _CMP_LE_OQ)) & psv_node_used(node);
}

#define PSVI_RAY_SLOTS ray_slots_avx2
#define PSVI_BOX_SLOTS box_slots_avx2
#define PSVI_NEAR_SLOTS near_slots_avx2
#define PSVI_NODE(name, view, number) const psv_tree_node *const name = &(view)->nodes[number]
#define PSVI_QUERY_LOOP psvi_query_loop_avx2
#include "tree_query_loop.h"
