// Boxes as two registers of four floats, of which the last one counts for nothing.
#ifndef PAIRSIEVE_BOX4_H
#define PAIRSIEVE_BOX4_H

#include <math.h>
#include <string.h>

#include "pairsieve/collision.h"

#if defined(__SSE2__)
#include <emmintrin.h>
typedef __m128 psvi_four;
static inline psvi_four psvi_four_of(float a) { return _mm_set1_ps(a); }
static inline psvi_four psvi_load_four(const float *a) { return _mm_loadu_ps(a); }
static inline void psvi_store_four(float *to, psvi_four a) { _mm_storeu_ps(to, a); }
static inline psvi_four psvi_least(psvi_four a, psvi_four b) { return _mm_min_ps(a, b); }
static inline psvi_four psvi_greatest(psvi_four a, psvi_four b) { return _mm_max_ps(a, b); }
static inline psvi_four psvi_plus(psvi_four a, psvi_four b) { return _mm_add_ps(a, b); }
static inline psvi_four psvi_minus(psvi_four a, psvi_four b) { return _mm_sub_ps(a, b); }
static inline psvi_four psvi_times(psvi_four a, psvi_four b) { return _mm_mul_ps(a, b); }
// Lane by lane: whether a >= b; a where `which` says so, else b.
static inline psvi_four psvi_not_below(psvi_four a, psvi_four b) { return _mm_cmpge_ps(a, b); }
static inline psvi_four psvi_choose(psvi_four which, psvi_four a, psvi_four b) {
    return _mm_or_ps(_mm_and_ps(which, a), _mm_andnot_ps(which, b));
}
static inline uint32_t psvi_any(psvi_four which) { return (uint32_t)_mm_movemask_ps(which) & 1u; }
// One lane in all of them.
static inline psvi_four psvi_lane(psvi_four a, int lane) {
    return lane == 0   ? _mm_shuffle_ps(a, a, _MM_SHUFFLE(0, 0, 0, 0))
           : lane == 1 ? _mm_shuffle_ps(a, a, _MM_SHUFFLE(1, 1, 1, 1))
                       : _mm_shuffle_ps(a, a, _MM_SHUFFLE(2, 2, 2, 2));
}
// Truncated.
static inline void psvi_store_numbers(int32_t *to, psvi_four a) {
    _mm_storeu_si128((__m128i *)to, _mm_cvttps_epi32(a));
}
static inline psvi_four psvi_box_max(const psv_aabb *box) {
    const __m128 last = _mm_loadu_ps(box->min + 2);
    return _mm_shuffle_ps(last, last, _MM_SHUFFLE(3, 3, 2, 1));
}
#else
typedef struct psvi_four {
    float at[4];
} psvi_four;
#define PSVI_FOUR(name, parameters, value)                                                                             \
    static inline psvi_four name parameters {                                                                          \
        psvi_four r;                                                                                                   \
        for (int k = 0; k < 4; ++k)                                                                                    \
            r.at[k] = value;                                                                                           \
        return r;                                                                                                      \
    }
PSVI_FOUR(psvi_four_of, (float a), a)
PSVI_FOUR(psvi_load_four, (const float *a), a[k])
PSVI_FOUR(psvi_least, (psvi_four a, psvi_four b), a.at[k] < b.at[k] ? a.at[k] : b.at[k])
PSVI_FOUR(psvi_greatest, (psvi_four a, psvi_four b), a.at[k] > b.at[k] ? a.at[k] : b.at[k])
PSVI_FOUR(psvi_plus, (psvi_four a, psvi_four b), a.at[k] + b.at[k])
PSVI_FOUR(psvi_minus, (psvi_four a, psvi_four b), a.at[k] - b.at[k])
PSVI_FOUR(psvi_times, (psvi_four a, psvi_four b), a.at[k] * b.at[k])
PSVI_FOUR(psvi_not_below, (psvi_four a, psvi_four b), (float)(a.at[k] >= b.at[k]))
PSVI_FOUR(psvi_choose, (psvi_four which, psvi_four a, psvi_four b), which.at[k] != 0 ? a.at[k] : b.at[k])
PSVI_FOUR(psvi_lane, (psvi_four a, int lane), a.at[lane])
static inline uint32_t psvi_any(psvi_four which) { return which.at[0] != 0; }
PSVI_FOUR(psvi_box_max, (const psv_aabb *box), box->max[k < 3 ? k : 2])
static inline void psvi_store_four(float *to, psvi_four a) { memcpy(to, a.at, sizeof a.at); }
static inline void psvi_store_numbers(int32_t *to, psvi_four a) {
    for (int k = 0; k < 3; ++k)
        to[k] = (int32_t)a.at[k];
    to[3] = 0;
}
#endif

static inline psvi_four psvi_box_min(const psv_aabb *box) { return psvi_load_four(box->min); }

typedef struct psvi_box4 {
    psvi_four min, max;
} psvi_box4;

static inline psvi_box4 psvi_no_box4(void) { return (psvi_box4){psvi_four_of(INFINITY), psvi_four_of(-INFINITY)}; }

static inline void psvi_grow4(psvi_box4 *box, psvi_four min, psvi_four max) {
    box->min = psvi_least(box->min, min);
    box->max = psvi_greatest(box->max, max);
}

static inline psv_aabb psvi_box_of_box4(const psvi_box4 *box) {
    float min[4], max[4];
    psvi_store_four(min, box->min);
    psvi_store_four(max, box->max);
    return (psv_aabb){{min[0], min[1], min[2]}, {max[0], max[1], max[2]}};
}

#endif
