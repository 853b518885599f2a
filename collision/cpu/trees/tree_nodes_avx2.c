// Making nodes and keys of trees with AVX2: the children of a node, or eight items, side by side. Compiled for that
// alone; nothing here runs before the processor was asked. The same nodes and keys, bit for bit, as psvi_make_node and
// psvi_tree_place make.
#include <immintrin.h>

#include "tree_cpu.h"

static inline __m256 least_of(__m256 v) {
    v = _mm256_min_ps(v, _mm256_permute2f128_ps(v, v, 1));
    v = _mm256_min_ps(v, _mm256_permute_ps(v, _MM_SHUFFLE(1, 0, 3, 2)));
    return _mm256_min_ps(v, _mm256_permute_ps(v, _MM_SHUFFLE(2, 3, 0, 1)));
}

static inline __m256 greatest_of(__m256 v) {
    v = _mm256_max_ps(v, _mm256_permute2f128_ps(v, v, 1));
    v = _mm256_max_ps(v, _mm256_permute_ps(v, _MM_SHUFFLE(1, 0, 3, 2)));
    return _mm256_max_ps(v, _mm256_permute_ps(v, _MM_SHUFFLE(2, 3, 0, 1)));
}

static inline uint32_t all_bits_of(__m256i v) {
    __m128i half = _mm_or_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    half = _mm_or_si128(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(1, 0, 3, 2)));
    return (uint32_t)_mm_cvtsi128_si32(_mm_or_si128(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(2, 3, 0, 1))));
}

static inline __m256 clamp(__m256 v, float low, float high) {
    return _mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(low)), _mm256_set1_ps(high));
}

static inline __m256i lane_numbers(void) { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }

// psvi_choose_slots; `there`: lanes that have a child.
static inline __m256i choose_slots(const __m256 centre[3], __m256 there) {
    float extent[3];
    for (int axis = 0; axis < 3; ++axis) {
        const __m256 low = least_of(_mm256_blendv_ps(_mm256_set1_ps(INFINITY), centre[axis], there));
        const __m256 high = greatest_of(_mm256_blendv_ps(_mm256_set1_ps(-INFINITY), centre[axis], there));
        extent[axis] = _mm256_cvtss_f32(high) - _mm256_cvtss_f32(low);
    }
    const int first = extent[0] >= extent[1] && extent[0] >= extent[2] ? 0 : extent[1] >= extent[2] ? 1 : 2;
    const int a = first == 2 ? 0 : first + 1, b = a == 2 ? 0 : a + 1;
    const int axes[3] = {first, extent[a] >= extent[b] ? a : b, extent[a] >= extent[b] ? b : a};
    // Lanes without a child are in a group of their own.
    __m256i slot = _mm256_andnot_si256(_mm256_castps_si256(there), _mm256_set1_epi32(8));
    for (int step = 0; step < 3; ++step) {
        const __m256 own = centre[axes[step]];
        __m256i rank = _mm256_setzero_si256(), group = rank;
        for (int j = 0; j < 8; ++j) {
            const __m256i from = _mm256_set1_epi32(j);
            const __m256 other = _mm256_permutevar8x32_ps(own, from);
            const __m256i same = _mm256_cmpeq_epi32(_mm256_permutevar8x32_epi32(slot, from), slot);
            const __m256 before = _mm256_castsi256_ps(_mm256_cmpgt_epi32(lane_numbers(), from));
            const __m256 less = _mm256_or_ps(_mm256_cmp_ps(other, own, _CMP_LT_OQ),
                                             _mm256_and_ps(_mm256_cmp_ps(other, own, _CMP_EQ_OQ), before));
            group = _mm256_sub_epi32(group, same);
            rank = _mm256_sub_epi32(rank, _mm256_and_si256(same, _mm256_castps_si256(less)));
        }
        const __m256i half = _mm256_srli_epi32(_mm256_add_epi32(group, _mm256_set1_epi32(1)), 1);
        const __m256i lower = _mm256_cmpgt_epi32(half, rank);
        slot = _mm256_or_si256(slot, _mm256_andnot_si256(lower, _mm256_set1_epi32(1 << axes[step])));
    }
    return slot;
}

// Gathers bytes 0 to 2 of the eight numbers by axis, one byte a slot.
static inline void store_bytes(__m256i numbers, uint32_t to[3][2]) {
    const __m256i gather = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9,
                                            13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i sorted = _mm256_shuffle_epi8(numbers, gather);
    const __m128i low = _mm256_castsi256_si128(sorted), high = _mm256_extracti128_si256(sorted, 1);
    _mm_storeu_si128((__m128i *)to[0], _mm_unpacklo_epi32(low, high));
    _mm_storel_epi64((__m128i *)to[2], _mm_unpackhi_epi32(low, high));
}

void psvi_make_node_avx2(const psvi_node_children *children, uint32_t count, psv_tree_node *node, psv_aabb *box) {
    const __m256 there = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lane_numbers()));
    __m256 low[3], high[3], centre[3], here = there;
    for (int axis = 0; axis < 3; ++axis) {
        low[axis] = _mm256_blendv_ps(_mm256_set1_ps(INFINITY), _mm256_loadu_ps(children->min[axis]), there);
        high[axis] = _mm256_blendv_ps(_mm256_set1_ps(-INFINITY), _mm256_loadu_ps(children->max[axis]), there);
        if (axis == 0) here = _mm256_cmp_ps(low[0], high[0], _CMP_LE_OQ);
        box->min[axis] = _mm256_cvtss_f32(least_of(low[axis]));
        box->max[axis] = _mm256_cvtss_f32(greatest_of(high[axis]));
        low[axis] = clamp(low[axis], -PSV_TREE_LIMIT, PSV_TREE_LIMIT);
        high[axis] = clamp(high[axis], -PSV_TREE_LIMIT, PSV_TREE_LIMIT);
        centre[axis] = _mm256_add_ps(_mm256_mul_ps(low[axis], _mm256_set1_ps(0.5f)),
                                     _mm256_mul_ps(high[axis], _mm256_set1_ps(0.5f)));
    }
    const bool empty = box->min[0] > box->max[0];
    const __m256i slot = choose_slots(centre, there);
    __m256i lows = _mm256_setzero_si256(), highs = lows;
    uint32_t grid = 0;
    for (int axis = 0; axis < 3; ++axis) {
        uint32_t exponent;
        const float origin = psvi_make_grid(empty ? 0 : psv_tree_clamp(box->min[axis]),
                                            empty ? 0 : psv_tree_clamp(box->max[axis]), &exponent);
        const __m256 origins = _mm256_set1_ps(origin), steps = _mm256_set1_ps(psv_grid_step(exponent));
        const __m256 inverse = _mm256_set1_ps(psvi_grid_inverse(exponent)), one = _mm256_set1_ps(1);
        node->origin[axis] = origin;
        grid |= exponent << (8 * axis);
        // psvi_grid_interval
        __m256 from = clamp(_mm256_floor_ps(_mm256_mul_ps(_mm256_sub_ps(low[axis], origins), inverse)), 0, 255);
        __m256 to = clamp(_mm256_ceil_ps(_mm256_mul_ps(_mm256_sub_ps(high[axis], origins), inverse)), 0, 255);
        const __m256 above = _mm256_cmp_ps(_mm256_add_ps(origins, _mm256_mul_ps(from, steps)), low[axis], _CMP_GT_OQ);
        const __m256 below = _mm256_cmp_ps(_mm256_add_ps(origins, _mm256_mul_ps(to, steps)), high[axis], _CMP_LT_OQ);
        from = clamp(_mm256_sub_ps(from, _mm256_and_ps(above, one)), 0, 255);
        to = clamp(_mm256_add_ps(to, _mm256_and_ps(below, one)), 0, 255);
        lows = _mm256_or_si256(lows, _mm256_slli_epi32(_mm256_cvtps_epi32(from), 8 * axis));
        highs = _mm256_or_si256(highs, _mm256_slli_epi32(_mm256_cvtps_epi32(to), 8 * axis));
    }
    const __m256i full = _mm256_castps_si256(here);
    lows = _mm256_or_si256(lows, _mm256_andnot_si256(full, _mm256_set1_epi32(0xffffff)));
    highs = _mm256_and_si256(highs, full);
    // Which child is in a slot; where none is, the last lane, which then has none.
    uint32_t slots[8];
    uint8_t child_of[8];
    _mm256_storeu_si256((__m256i *)slots, slot);
    memset(child_of, 7, sizeof child_of);
    for (uint32_t i = 0; i < count; ++i)
        child_of[slots[i]] = (uint8_t)i;
    const __m256i from = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)child_of));
    store_bytes(_mm256_permutevar8x32_epi32(lows, from), node->low);
    store_bytes(_mm256_permutevar8x32_epi32(highs, from), node->high);
    const __m256i bit = _mm256_sllv_epi32(_mm256_set1_epi32(1 << 24), slot);
    const __m256i thrice = _mm256_add_epi32(_mm256_add_epi32(slot, slot), slot);
    const __m256i offsets = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)children->offset));
    const __m256i order = _mm256_or_si256(_mm256_sllv_epi32(offsets, thrice), _mm256_and_si256(bit, full));
    const __m256i lane_bit = _mm256_sllv_epi32(_mm256_set1_epi32(1), lane_numbers());
    const __m256i inner =
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)children->inner), lane_bit), lane_bit);
    node->order = all_bits_of(_mm256_and_si256(order, _mm256_castps_si256(there)));
    node->grid = grid | all_bits_of(_mm256_and_si256(_mm256_and_si256(bit, inner), _mm256_castps_si256(there)));
}

// --- keys ------------------------------------------------------------------------------------------------------------

static inline __m256i cells_of(const float at[8], float low, float scale, uint32_t bits) {
    const float cells = (float)(1u << bits);
    const __m256 x =
        _mm256_mul_ps(_mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(at), _mm256_set1_ps(low)), _mm256_set1_ps(scale)),
                      _mm256_set1_ps(cells));
    // Of NaN the second.
    return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(x, _mm256_setzero_ps()), _mm256_set1_ps(cells - 0.5f)));
}

// psvi_hilbert_bits.
static inline void hilbert_bits(__m256i x, __m256i y, __m256i z, uint32_t bits, __m256i place[3]) {
    for (uint32_t q = 1u << (bits - 1); q > 1; q >>= 1) {
        const __m256i one = _mm256_set1_epi32((int)q), p = _mm256_set1_epi32((int)(q - 1));
        const __m256i has_x = _mm256_cmpeq_epi32(_mm256_and_si256(x, one), one);
        const __m256i has_y = _mm256_cmpeq_epi32(_mm256_and_si256(y, one), one);
        const __m256i has_z = _mm256_cmpeq_epi32(_mm256_and_si256(z, one), one);
        x = _mm256_xor_si256(x, _mm256_and_si256(has_x, p));
        const __m256i s = _mm256_andnot_si256(has_y, _mm256_and_si256(_mm256_xor_si256(x, y), p));
        x = _mm256_xor_si256(x, _mm256_blendv_epi8(s, p, has_y));
        y = _mm256_xor_si256(y, s);
        const __m256i t = _mm256_andnot_si256(has_z, _mm256_and_si256(_mm256_xor_si256(x, z), p));
        x = _mm256_xor_si256(x, _mm256_blendv_epi8(t, p, has_z));
        z = _mm256_xor_si256(z, t);
    }
    y = _mm256_xor_si256(y, x);
    z = _mm256_xor_si256(z, y);
    __m256i flip = _mm256_srli_epi32(z, 1);
    flip = _mm256_xor_si256(flip, _mm256_srli_epi32(flip, 1));
    flip = _mm256_xor_si256(flip, _mm256_srli_epi32(flip, 2));
    flip = _mm256_xor_si256(flip, _mm256_srli_epi32(flip, 4));
    flip = _mm256_xor_si256(flip, _mm256_srli_epi32(flip, 8));
    flip = _mm256_xor_si256(flip, _mm256_srli_epi32(flip, 16));
    place[0] = _mm256_xor_si256(x, flip);
    place[1] = _mm256_xor_si256(y, flip);
    place[2] = _mm256_xor_si256(z, flip);
}

// The 21 bits of each number, two places apart.
static inline __m256i spread_bits(__m128i numbers) {
    __m256i v = _mm256_cvtepu32_epi64(numbers);
    v = _mm256_and_si256(_mm256_or_si256(v, _mm256_slli_epi64(v, 32)), _mm256_set1_epi64x(0x1f00000000ffff));
    v = _mm256_and_si256(_mm256_or_si256(v, _mm256_slli_epi64(v, 16)), _mm256_set1_epi64x(0x1f0000ff0000ff));
    v = _mm256_and_si256(_mm256_or_si256(v, _mm256_slli_epi64(v, 8)), _mm256_set1_epi64x(0x100f00f00f00f00f));
    v = _mm256_and_si256(_mm256_or_si256(v, _mm256_slli_epi64(v, 4)), _mm256_set1_epi64x(0x10c30c30c30c30c3));
    return _mm256_and_si256(_mm256_or_si256(v, _mm256_slli_epi64(v, 2)), _mm256_set1_epi64x(0x1249249249249249));
}

void psvi_tree_places_avx2(const psv_tree_head *head, const float centre[3][8], uint32_t bits, uint32_t most,
                           uint64_t places[8]) {
    __m256i apart[3];
    hilbert_bits(cells_of(centre[0], head->low[0], head->scale, bits),
                 cells_of(centre[1], head->low[1], head->scale, bits),
                 cells_of(centre[2], head->low[2], head->scale, bits), bits, apart);
    for (int half = 0; half < 2; ++half) {
        __m256i place = _mm256_setzero_si256();
        for (int i = 0; i < 3; ++i) {
            const __m128i part = half == 0 ? _mm256_castsi256_si128(apart[i]) : _mm256_extracti128_si256(apart[i], 1);
            place = _mm256_or_si256(place, _mm256_slli_epi64(spread_bits(part), 2 - i));
        }
        _mm256_storeu_si256((__m256i *)(places + 4 * half),
                            _mm256_sll_epi64(place, _mm_cvtsi32_si128((int)(3 * (most - bits)))));
    }
}
