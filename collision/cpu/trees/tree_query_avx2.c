// Queries of trees with AVX2: the eight slots of a node at once. Compiled for that alone; nothing here runs before the
// processor was asked.
#include "pairsieve/tree_tests.h"
#include "tree_cpu.h"
#include "tree_slots_avx2.h"

typedef struct slot_boxes {
    __m256 low[3], high[3];
} slot_boxes;

// Decoded coordinates are exact: a fused product and sum is the same.
PSV_TREE_FN slot_boxes decode_slots(const psv_tree_node *node) {
    slot_boxes boxes;
    for (int axis = 0; axis < 3; ++axis) {
        const __m256 step = _mm256_set1_ps(psv_node_step(node, axis)), origin = _mm256_set1_ps(node->origin[axis]);
        boxes.low[axis] = _mm256_fmadd_ps(psvi_slot_bytes(node->low[axis]), step, origin);
        boxes.high[axis] = _mm256_fmadd_ps(psvi_slot_bytes(node->high[axis]), step, origin);
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

#define PSVI_RAY_SLOTS psvi_ray_slots_avx2
#define PSVI_BOX_SLOTS box_slots_avx2
#define PSVI_NEAR_SLOTS near_slots_avx2
#define PSVI_NODE(name, view, number) const psv_tree_node *const name = &(view)->nodes[number]
#include "tree_rays_avx2.h"
#define PSVI_CLOSEST_HITS(query, begin, end) psvi_answer_rays(query, (uint64_t)(begin), (uint64_t)(end), false);
#define PSVI_ANY_HITS(query, begin, end) psvi_answer_rays(query, (uint64_t)(begin), (uint64_t)(end), true);
#define PSVI_QUERY_LOOP psvi_query_loop_avx2
#define PSVI_FILL_LOOP psvi_fill_loop_avx2
#include "tree_query_loop.h"
