// A ray against the eight slots of a node at once, with AVX2: for files that are compiled for that.
#ifndef PAIRSIEVE_TREE_SLOTS_AVX2_H
#define PAIRSIEVE_TREE_SLOTS_AVX2_H

#include "pairsieve/tree_tests.h"

#include <immintrin.h>
#include <stddef.h>

PSV_TREE_FN __m256 psvi_slot_bytes(const void *words) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)words)));
}

// What psv_ray_slots takes of a ray. The fourth lanes are of no use.
typedef struct psvi_slot_ray {
    __m256 t_min;
    __m128 origin, slab, pad;
    const uint8_t *enter; // where in a node the coordinates are that the ray meets first on each axis, and last
} psvi_slot_ray;

#define PSVI_LOW(axis) (uint8_t)(offsetof(psv_tree_node, low) + 8 * (axis))
#define PSVI_HIGH(axis) (uint8_t)(offsetof(psv_tree_node, high) + 8 * (axis))
#define PSVI_ENTER_AT(o, axis) ((o) >> (axis)&1 ? PSVI_LOW(axis) : PSVI_HIGH(axis))
#define PSVI_LEAVE_AT(o, axis) ((o) >> (axis)&1 ? PSVI_HIGH(axis) : PSVI_LOW(axis))
#define PSVI_SIDES(o)                                                                                                  \
    {                                                                                                                  \
        PSVI_ENTER_AT(o, 0), PSVI_ENTER_AT(o, 1), PSVI_ENTER_AT(o, 2), PSVI_LEAVE_AT(o, 0), PSVI_LEAVE_AT(o, 1),       \
            PSVI_LEAVE_AT(o, 2)                                                                                        \
    }
// By the octant of a ray.
static const uint8_t psvi_ray_sides[8][6] = {PSVI_SIDES(0), PSVI_SIDES(1), PSVI_SIDES(2), PSVI_SIDES(3),
                                             PSVI_SIDES(4), PSVI_SIDES(5), PSVI_SIDES(6), PSVI_SIDES(7)};

PSV_TREE_FN psvi_slot_ray psvi_make_slot_ray(const psv_tree_ray *ray) {
    const psvi_slot_ray made = {.origin = _mm_loadu_ps(ray->origin),
                                .slab = _mm_loadu_ps(ray->slab),
                                .pad = _mm_loadu_ps(ray->pad),
                                .t_min = _mm256_set1_ps(ray->t_min),
                                .enter = psvi_ray_sides[ray->octant]};
    return made;
}

// Lane `i` of four, in all lanes.
#define PSVI_SPREAD(four, i) _mm256_permutevar8x32_ps(_mm256_castps128_ps256(four), _mm256_set1_epi32(i))

// psv_ray_slots, with psv_ray_slab for all axes at once.
PSV_TREE_FN uint32_t psvi_slots_of_ray(const psv_tree_node *node, const psvi_slot_ray *ray, __m256 t_most) {
    const char *const bytes = (const char *)node;
    const __m128 at = _mm_mul_ps(_mm_sub_ps(_mm_loadu_ps(node->origin), ray->origin), ray->slab);
    const __m128i exponents = _mm_cvtepu8_epi32(_mm_loadu_si32(&node->grid));
    const __m128 step = _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(exponents, 23)), ray->slab);
    const __m128 positive = _mm_castsi128_ps(_mm_set1_epi32(0x7fffffff));
    const __m128 error = _mm_fmadd_ps(_mm_and_ps(at, positive), _mm_set1_ps(0x1p-19f),
                                      _mm_mul_ps(_mm_and_ps(step, positive), _mm_set1_ps(0x1.2p-8f)));
    const __m128 low = _mm_sub_ps(at, error), high = _mm_add_ps(_mm_add_ps(at, error), ray->pad);
#define PSVI_ENTER(axis)                                                                                               \
    _mm256_fmadd_ps(psvi_slot_bytes(bytes + ray->enter[axis]), PSVI_SPREAD(step, axis), PSVI_SPREAD(low, axis))
#define PSVI_LEAVE(axis)                                                                                               \
    _mm256_fmadd_ps(psvi_slot_bytes(bytes + ray->enter[3 + (axis)]), PSVI_SPREAD(step, axis), PSVI_SPREAD(high, axis))
    const __m256 near =
        _mm256_max_ps(_mm256_max_ps(ray->t_min, PSVI_ENTER(0)), _mm256_max_ps(PSVI_ENTER(1), PSVI_ENTER(2)));
    const __m256 far = _mm256_min_ps(_mm256_min_ps(t_most, PSVI_LEAVE(0)), _mm256_min_ps(PSVI_LEAVE(1), PSVI_LEAVE(2)));
#undef PSVI_ENTER
#undef PSVI_LEAVE
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(near, far, _CMP_LE_OQ)) & psv_node_used(node);
}

PSV_TREE_FN uint32_t psvi_ray_slots_avx2(const psv_tree_node *node, const psv_tree_ray *ray, float t_most) {
    const psvi_slot_ray made = psvi_make_slot_ray(ray);
    return psvi_slots_of_ray(node, &made, _mm256_set1_ps(t_most));
}

#endif
