// A ray through a tree of triangles with AVX2: the work of psvi_follow_ray for closest and any hits. The ray is in
// vector registers, and the corners of a triangle lie side by side. The same tests in the same order of operations give
// the same bits. The number of instructions bounds it; two in three are in this file.
#ifndef PAIRSIEVE_TREE_RAYS_AVX2_H
#define PAIRSIEVE_TREE_RAYS_AVX2_H

#include "../../src/queries/tree_query.h"
#include "tree_slots_avx2.h"

#define PSVI_SHUFFLE(a, b, c) _MM_SHUFFLE(3, c, b, a) // lanes 0, 1, 2 of a shuffle

// psv_turn_slots of all slots, by octant.
#define PSVI_SWAP1(s, o) ((o)&1u ? ((s)&0x55u) << 1 | ((s) >> 1 & 0x55u) : (s))
#define PSVI_SWAP2(s, o) ((o)&2u ? ((s)&0x33u) << 2 | ((s) >> 2 & 0x33u) : (s))
#define PSVI_SWAP4(s, o) ((o)&4u ? ((s)&0x0fu) << 4 | (s) >> 4 : (s))
#define PSVI_TURN(s, o) PSVI_SWAP4(PSVI_SWAP2(PSVI_SWAP1((uint32_t)(s), o), o), o)
#define PSVI_TURN4(s, o) PSVI_TURN(s, o), PSVI_TURN((s) + 1, o), PSVI_TURN((s) + 2, o), PSVI_TURN((s) + 3, o)
#define PSVI_TURN16(s, o) PSVI_TURN4(s, o), PSVI_TURN4((s) + 4, o), PSVI_TURN4((s) + 8, o), PSVI_TURN4((s) + 12, o)
#define PSVI_TURN64(s, o)                                                                                              \
    PSVI_TURN16(s, o), PSVI_TURN16((s) + 16, o), PSVI_TURN16((s) + 32, o), PSVI_TURN16((s) + 48, o)
#define PSVI_TURN256(o)                                                                                                \
    { PSVI_TURN64(0, o), PSVI_TURN64(64, o), PSVI_TURN64(128, o), PSVI_TURN64(192, o) }
static const uint8_t psvi_turned_slots[8][256] = {PSVI_TURN256(0u), PSVI_TURN256(1u), PSVI_TURN256(2u),
                                                  PSVI_TURN256(3u), PSVI_TURN256(4u), PSVI_TURN256(5u),
                                                  PSVI_TURN256(6u), PSVI_TURN256(7u)};

// What testing triangles takes of a ray, and its nodes.
typedef struct psvi_vector_ray {
    __m128 origin, inverse;
    __m128 still;    // axes along which it does not move
    __m128i turn;    // x, y, z of the sheared space
    __m128 shear[2]; // in all lanes
    float depth;     // 1 / direction on the sheared z
    float t_min, t_max;
    uint32_t octant;
    int exponent;
    float first; // t_min of the caller's ray
    psvi_slot_ray slots;
} psvi_vector_ray;

PSV_TREE_FN float psvi_greatest_of_three(__m128 v) {
    const __m128 two = _mm_max_ss(v, _mm_permute_ps(v, 1));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_permute_ps(v, 2)));
}

// The largest coordinate of a tree's root.
PSV_TREE_FN float psvi_reach_of_root(const psv_tree_node *root) {
    float most = 0x1p-6f;
    for (int axis = 0; axis < 3; ++axis)
        most = fmaxf(most,
                     fmaxf(fabsf(root->origin[axis]), fabsf(root->origin[axis] + 255.0f * psv_node_step(root, axis))));
    return most;
}

// psv_make_tree_ray. root_reach: psvi_reach_of_root.
PSV_TREE_FN bool psvi_make_vector_ray(const psv_ray *from, float root_reach, psvi_vector_ray *made) {
    const __m128 positive = _mm_castsi128_ps(_mm_set1_epi32(0x7fffffff)), none = _mm_setzero_ps();
    const __m128 origin = _mm_loadu_ps(from->origin), far = _mm_and_ps(origin, positive);
    __m128 direction = _mm_loadu_ps(from->direction), sizes = _mm_and_ps(direction, positive);
    const __m128 good = _mm_and_ps(_mm_cmple_ps(far, _mm_set1_ps(1e37f)), _mm_cmplt_ps(sizes, _mm_set1_ps(INFINITY)));
    float longest = psvi_greatest_of_three(sizes);
    made->exponent = 0;
    made->t_min = made->first = from->t_min > 0 ? from->t_min : 0.0f;
    made->t_max = from->t_max + 0.0f;
    if ((_mm_movemask_ps(good) & 7) != 7 || !(longest > 0) || from->t_min != from->t_min ||
        !(made->t_min <= made->t_max))
        return false;
    if (!(longest >= 0x1p-20f && longest <= 0x1p20f)) {
        psv_tree_ray scaled = {.t_min = made->t_min, .t_max = made->t_max};
        longest = psv_scale_ray(from, longest, &scaled);
        made->t_min = scaled.t_min;
        made->t_max = scaled.t_max;
        made->exponent = scaled.exponent;
        direction = _mm_setr_ps(scaled.direction[0], scaled.direction[1], scaled.direction[2], 0);
        sizes = _mm_and_ps(direction, positive);
    }
    const float most = psv_max(root_reach, psvi_greatest_of_three(far));
    const int scale = (int)(psv_float_bits(most) >> 23) - 126;
    const __m128 bound = _mm_set1_ps(psv_power_of_two(114 - scale));
    const __m128 pad = _mm_set1_ps(psv_power_of_two(scale < 101 ? scale + 25 : 126));
    const __m128 moves = _mm_cmpge_ps(sizes, _mm_set1_ps(longest * 0x1p-80f));
    const __m128 bounded = _mm_and_ps(moves, _mm_cmpge_ps(_mm_mul_ps(sizes, bound), _mm_set1_ps(1)));
    const __m128 back = _mm_cmplt_ps(direction, none);
    made->origin = origin;
    made->inverse = _mm_and_ps(_mm_div_ps(_mm_set1_ps(1), direction), moves);
    made->still = _mm_cmpeq_ps(made->inverse, none);
    made->octant = 7u ^ ((uint32_t)_mm_movemask_ps(back) & 7u);
    made->slots.origin = origin;
    made->slots.slab = _mm_blendv_ps(_mm_or_ps(bound, _mm_andnot_ps(positive, back)), made->inverse, bounded);
    made->slots.pad = _mm_andnot_ps(bounded, pad);
    made->slots.t_min = _mm256_set1_ps(made->t_min);
    made->slots.enter = psvi_ray_sides[made->octant];
    // The longest axis is z; of equal ones the last.
    const __m128 longests = _mm_cmpge_ps(sizes, _mm_set1_ps(longest));
    static const int turns[4][4] = {{1, 2, 0, 3}, {2, 0, 1, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}};
    made->turn = _mm_loadu_si128((const __m128i *)turns[psv_top_bit((uint32_t)_mm_movemask_ps(longests) & 7u)]);
    const __m128 turned = _mm_permutevar_ps(direction, made->turn);
    const __m128 shear = _mm_div_ps(turned, _mm_permute_ps(turned, _MM_SHUFFLE(2, 2, 2, 2)));
    made->shear[0] = _mm_permute_ps(shear, _MM_SHUFFLE(0, 0, 0, 0));
    made->shear[1] = _mm_permute_ps(shear, _MM_SHUFFLE(1, 1, 1, 1));
    made->depth = _mm_cvtss_f32(_mm_permute_ps(_mm_permutevar_ps(made->inverse, made->turn), 2));
    return true;
}

// t within the box of the corners, see psv_ray_meets_triangle.
PSV_TREE_FN float psvi_t_within(const psvi_vector_ray *ray, __m128 a, __m128 b, __m128 c, float t) {
    const __m128 low = _mm_min_ps(a, _mm_min_ps(b, c)), high = _mm_max_ps(a, _mm_max_ps(b, c));
    const __m128 first = _mm_mul_ps(_mm_sub_ps(low, ray->origin), ray->inverse);
    const __m128 second = _mm_mul_ps(_mm_sub_ps(high, ray->origin), ray->inverse);
    float near[4], far[4];
    _mm_storeu_ps(near, _mm_blendv_ps(_mm_min_ps(first, second), _mm_set1_ps(-INFINITY), ray->still));
    _mm_storeu_ps(far, _mm_blendv_ps(_mm_max_ps(first, second), _mm_set1_ps(INFINITY), ray->still));
    const float enter = psv_max(psv_max(near[0], near[1]), near[2]);
    const float leave = psv_min(psv_min(far[0], far[1]), far[2]);
    return psv_add(psv_max(psv_min(t, leave), enter), 0.0f);
}

static float psvi_unscale_t(const psvi_vector_ray *ray, float t) {
    const psv_tree_ray scaled = {.t_min = ray->t_min, .first = ray->first, .exponent = ray->exponent};
    return psv_unscale_t(&scaled, t);
}

// psv_ray_meets_triangle, in the lanes 0 to 2.
PSV_TREE_FN bool psvi_ray_meets_corners(const psv_tree_view *view, const psvi_vector_ray *ray, uint32_t place,
                                        psv_ray_hit *hit) {
    const float *corners = ((const psv_tree_corners *)view->items)[place].a;
    const psv_tree_end *end = view->ends + place;
    const __m128 a = _mm_loadu_ps(corners), b = _mm_loadu_ps(corners + 3);
    const __m128 c = _mm_movelh_ps(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(corners + 6))),
                                   _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)end)));
    const __m128 as = _mm_permutevar_ps(_mm_sub_ps(a, ray->origin), ray->turn);
    const __m128 bs = _mm_permutevar_ps(_mm_sub_ps(b, ray->origin), ray->turn);
    const __m128 cs = _mm_permutevar_ps(_mm_sub_ps(c, ray->origin), ray->turn);
    const __m128 ab = _mm_unpacklo_ps(as, bs);
    const __m128 z = _mm_shuffle_ps(_mm_unpackhi_ps(as, bs), cs, _MM_SHUFFLE(2, 2, 1, 0));
    const __m128 x = _mm_sub_ps(_mm_movelh_ps(ab, cs), _mm_mul_ps(ray->shear[0], z));
    const __m128 y = _mm_sub_ps(_mm_shuffle_ps(ab, cs, _MM_SHUFFLE(1, 1, 3, 2)), _mm_mul_ps(ray->shear[1], z));
    const __m128 x1 = _mm_permute_ps(x, PSVI_SHUFFLE(1, 2, 0)), x2 = _mm_permute_ps(x, PSVI_SHUFFLE(2, 0, 1));
    const __m128 y1 = _mm_permute_ps(y, PSVI_SHUFFLE(1, 2, 0)), y2 = _mm_permute_ps(y, PSVI_SHUFFLE(2, 0, 1));
    const __m128 none = _mm_setzero_ps();
    __m128 weights = _mm_sub_ps(_mm_mul_ps(x2, y1), _mm_mul_ps(y2, x1));
    if ((_mm_movemask_ps(_mm_cmpeq_ps(weights, none)) & 7) != 0) {
        const __m256d exact = _mm256_sub_pd(_mm256_mul_pd(_mm256_cvtps_pd(x2), _mm256_cvtps_pd(y1)),
                                            _mm256_mul_pd(_mm256_cvtps_pd(y2), _mm256_cvtps_pd(x1)));
        weights = _mm256_cvtpd_ps(exact);
    }
    if ((_mm_movemask_ps(_mm_cmplt_ps(weights, none)) & 7) != 0 &&
        (_mm_movemask_ps(_mm_cmpgt_ps(weights, none)) & 7) != 0)
        return false;
    float w[4], along[4];
    _mm_storeu_ps(w, weights);
    float sum = psv_add(psv_add(w[0], w[1]), w[2]);
    if (!(fabsf(sum) > 0)) return false;
    if (__builtin_expect(!psv_is_usual(sum), 0)) {
        const float unit = psv_unit_for(sum);
        weights = _mm_mul_ps(weights, _mm_set1_ps(unit));
        sum = psv_mul(sum, unit);
    }
    const float inverse = psv_div(1.0f, sum);
    _mm_storeu_ps(w, weights);
    _mm_storeu_ps(along, _mm_mul_ps(weights, z));
    const float on_plane = psv_mul(psv_mul(psv_add(psv_add(along[0], along[1]), along[2]), inverse), ray->depth);
    const float t = psvi_t_within(ray, a, b, c, on_plane);
    hit->t = ray->exponent == 0 ? t : psvi_unscale_t(ray, t);
    hit->u = psv_mul(w[1], inverse);
    hit->v = psv_mul(w[2], inverse);
    hit->item = end->item;
    return t >= ray->t_min && t <= ray->t_max;
}

PSV_TREE_FN psv_ray_hit psvi_trace_ray(const psv_tree_view *view, const psv_ray *from, psvi_asker asker,
                                       float root_reach, bool any) {
    psv_ray_hit best = {from->t_max, PSV_NO_ITEM, 0, 0};
    psvi_vector_ray ray;
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, view, asker.world);
    if (walk.group == 0 || !psvi_make_vector_ray(from, root_reach, &ray)) return best;
    const uint8_t *const turned = psvi_turned_slots[ray.octant];
    __m256 most = _mm256_set1_ps(ray.t_max);
    uint32_t base = walk.base, group = walk.group, depth = 0;
    for (;;) {
        const uint32_t bit = psv_top_bit(group);
        group ^= 1u << bit;
        const uint32_t number = base + (group >> (3 * ((bit - 24) ^ ray.octant)) & 7u);
        const psv_tree_node *const node = &view->nodes[number];
        uint32_t slots = psvi_slots_of_ray(node, &ray.slots, most);
        if (view->world_starts != NULL) slots &= psv_world_slots(&walk, number, node->order);
        const uint32_t inner = slots & psv_node_inner(node);
        if (inner != 0) {
            if (group >> 24 != 0) stack.entries[depth++] = (uint64_t)base << 32 | group;
            base = node->first_child;
            group = (node->order & 0xffffffu) | (uint32_t)turned[inner] << 24;
        }
        for (uint32_t left = slots ^ inner; left != 0; left &= left - 1) {
            psv_ray_hit hit;
            const uint32_t place = psv_slot_child(node->first_item, node->order, psv_low_bit(left));
            if (!psvi_ray_meets_corners(view, &ray, place, &hit)) continue;
            if (!any && !psvi_hit_before(&hit, &best)) continue;
            if (!psv_item_passes(view, hit.item, asker.filter)) continue;
            if (any) return hit;
            best = hit;
            most = _mm256_set1_ps(ray.exponent == 0 ? best.t : psv_scale_t(best.t, ray.exponent, true));
        }
        if (group >> 24 != 0) continue;
        if (depth == 0) break;
        const uint64_t entry = stack.entries[--depth];
        base = (uint32_t)(entry >> 32);
        group = (uint32_t)entry;
    }
    return best;
}

// psvi_answer for the closest hit or any, of the queries from `begin` on.
PSV_TREE_FN void psvi_answer_rays(const psvi_tree_query *query, uint64_t begin, uint64_t end, bool any) {
    const psv_tree_view *const view = &query->view;
    const float root_reach = view->head->item_count == 0 ? 0 : psvi_reach_of_root(&view->nodes[0]);
    for (uint64_t i = begin; i < end; ++i) {
        const uint32_t q = query->order == NULL ? (uint32_t)i : query->order[i];
        if (!view->triangles) {
            psvi_answer(query, any ? PSVI_QUERY_ANY_HIT : PSVI_QUERY_CLOSEST_HIT, q);
            continue;
        }
        psv_ray ray;
        psvi_copy_words(query->data + (uint64_t)q * query->stride, &ray, 8);
        const psv_ray_hit hit = psvi_trace_ray(view, &ray, psvi_asker_of(query, q), root_reach, any);
        if (any)
            ((uint32_t *)query->target)[q] = hit.item != PSV_NO_ITEM;
        else
            ((psv_ray_hit *)query->target)[q] = hit;
    }
}

#endif
