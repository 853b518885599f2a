#include "rows_sweep.h"

static inline void add_pair(psvi_pair_sink *sink, uint32_t a, uint32_t b) {
    sink->pairs[sink->count++] = a < b ? (psv_pair){a, b} : (psv_pair){b, a};
}

// Room for a whole vector of pairs.
static inline void make_room(psvi_pair_sink *sink) {
    if (sink->count > PSVI_SINK_PAIRS - PSVI_LANES) psvi_flush_sink(sink);
}

#define ROWS_TOLD_TESTS 65536 // that a sweeper makes before it tells the others
#define ROWS_PAIR_TESTS 8     // a pair's worth in tests: a test that finds a pair is no waste

// Adds tests to those of all sweepers. Returns whether the sweep has to end.
__attribute__((noinline)) static bool rows_is_over(const rows_sweeper *sweeper, const rows_sorted *sorted,
                                                   uint64_t tests) {
    const uint64_t all = __atomic_add_fetch(sorted->tests, tests, __ATOMIC_RELAXED);
    const uint64_t pairs = __atomic_load_n(&sweeper->sink.input->result->pair_count, __ATOMIC_RELAXED);
    return all > sorted->most_tests && all - sorted->most_tests > ROWS_PAIR_TESTS * pairs;
}

#define ROWS_SEARCH 64 // boxes in reach, from which on those that are there are searched for by their keys

// Boxes that are unevenly spread can lie in few cells: the part of [*p, *end), of one row, with steps [from, to].
__attribute__((noinline)) static void rows_narrow(const rows_sorted *sorted, uint64_t *p, uint64_t *end, uint32_t from,
                                                  uint32_t to) {
    const uint32_t mask = (1u << sorted->grid->x_bits) - 1;
    uint64_t low = *p, high = *end;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if ((sorted->keys[middle] & mask) < from)
            low = middle + 1;
        else
            high = middle;
    }
    *p = low;
    high = *end;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if ((sorted->keys[middle] & mask) <= to)
            low = middle + 1;
        else
            high = middle;
    }
    *end = low;
}

// The partners of sorted box i.
static inline void rows_take_partners(rows_sweeper *sweeper, const rows_sorted *sorted, uint64_t i) {
    const psvi_partners list = sorted->partners[i];
    sweeper->has_partners = (list.words[0] & list.words[1]) != UINT64_MAX;
    sweeper->many_partners = (list.words[0] & PSVI_ALL_PARTNERS) == 0;
    for (uint32_t k = 0; k < PSVI_PARTNERS; ++k) {
        const uint64_t name = list.words[k / 3] >> k % 3 * PSVI_PARTNER_BITS & PSVI_NO_PARTNER;
        sweeper->partners[k] = (uint32_t)name - sorted->input->first_name;
    }
}

// --- any processor ---------------------------------------------------------------------------------------------------

#define SWEEP_TARGET
#define SWEEP_NAME(f) portable_##f
#define SWEEP_LANES 8

typedef struct portable_box {
    float min[3], max[3];
} portable_box;

static inline portable_box portable_spread_bounds(const float low[3], const float high[3]) {
    return (portable_box){{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}

static inline uint32_t portable_test(const psvi_lanes *lanes, uint64_t p, const portable_box *box) {
    uint32_t hits = 0;
    for (uint32_t k = 0; k < SWEEP_LANES; ++k) {
        uint32_t hit = (lanes->min[0][p + k] <= box->max[0]) & (lanes->max[0][p + k] >= box->min[0]) &
                       (lanes->min[1][p + k] <= box->max[1]) & (lanes->max[1][p + k] >= box->min[1]) &
                       (lanes->min[2][p + k] <= box->max[2]) & (lanes->max[2][p + k] >= box->min[2]);
        hits |= hit << k;
    }
    return hits;
}

static inline uint32_t portable_second(const psvi_lanes *lanes, uint64_t p, uint32_t limit) {
    uint32_t bits = 0;
    for (uint32_t k = 0; k < SWEEP_LANES; ++k)
        bits |= (uint32_t)(lanes->id[p + k] >= limit) << k;
    return bits;
}

static inline uint32_t portable_partners(const psvi_lanes *lanes, uint64_t p, const uint32_t names[PSVI_PARTNERS]) {
    uint32_t bits = 0;
    for (uint32_t k = 0; k < SWEEP_LANES; ++k)
        for (uint32_t n = 0; n < PSVI_PARTNERS; ++n)
            bits |= (uint32_t)(lanes->id[p + k] == names[n]) << k;
    return bits;
}

#include "rows_sweep_body.h"

#if defined(__x86_64__)
#include <immintrin.h>

// --- AVX2: 8 boxes at a time -----------------------------------------------------------------------------------------

#define SWEEP_TARGET __attribute__((target("avx2,bmi,popcnt")))
#define SWEEP_NAME(f) avx2_##f
#define SWEEP_LANES 8

typedef struct avx2_box {
    __m256 min[3], max[3];
} avx2_box;

SWEEP_TARGET static inline avx2_box avx2_spread_bounds(const float low[3], const float high[3]) {
    avx2_box box;
    for (int k = 0; k < 3; ++k) {
        box.min[k] = _mm256_set1_ps(low[k]);
        box.max[k] = _mm256_set1_ps(high[k]);
    }
    return box;
}

SWEEP_TARGET static inline uint32_t avx2_test(const psvi_lanes *lanes, uint64_t p, const avx2_box *box) {
    __m256 hit[3];
    for (int k = 0; k < 3; ++k)
        hit[k] = _mm256_and_ps(_mm256_cmp_ps(_mm256_loadu_ps(lanes->min[k] + p), box->max[k], _CMP_LE_OQ),
                               _mm256_cmp_ps(_mm256_loadu_ps(lanes->max[k] + p), box->min[k], _CMP_GE_OQ));
    return (uint32_t)_mm256_movemask_ps(_mm256_and_ps(hit[0], _mm256_and_ps(hit[1], hit[2])));
}

SWEEP_TARGET static inline uint32_t avx2_second(const psvi_lanes *lanes, uint64_t p, uint32_t limit) {
    // Ids are below 2^31: a signed comparison serves.
    __m256i ids = _mm256_loadu_si256((const __m256i *)(const void *)(lanes->id + p));
    __m256i first = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)limit), ids);
    return ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(first));
}

SWEEP_TARGET static inline uint32_t avx2_partners(const psvi_lanes *lanes, uint64_t p,
                                                  const uint32_t names[PSVI_PARTNERS]) {
    __m256i ids = _mm256_loadu_si256((const __m256i *)(const void *)(lanes->id + p)), found = _mm256_setzero_si256();
    for (int n = 0; n < PSVI_PARTNERS; ++n)
        found = _mm256_or_si256(found, _mm256_cmpeq_epi32(ids, _mm256_set1_epi32((int)names[n])));
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(found));
}

#include "rows_sweep_body.h"

// --- AVX-512: 16 boxes at a time -------------------------------------------------------------------------------------

#define SWEEP_TARGET __attribute__((target("avx512f,avx512vl,bmi,popcnt")))
#define SWEEP_NAME(f) avx512_##f
#define SWEEP_LANES 16

typedef struct avx512_box {
    __m512 min[3], max[3];
} avx512_box;

SWEEP_TARGET static inline avx512_box avx512_spread_bounds(const float low[3], const float high[3]) {
    avx512_box box;
    for (int k = 0; k < 3; ++k) {
        box.min[k] = _mm512_set1_ps(low[k]);
        box.max[k] = _mm512_set1_ps(high[k]);
    }
    return box;
}

#define SWEEP_UNITES
SWEEP_TARGET static inline void avx512_unite(const psvi_lanes *lanes, uint64_t first, uint32_t mask, float low[3],
                                             float high[3]) {
    for (int k = 0; k < 3; ++k) {
        low[k] = _mm512_mask_reduce_min_ps((__mmask16)mask, _mm512_loadu_ps(lanes->min[k] + first));
        high[k] = _mm512_mask_reduce_max_ps((__mmask16)mask, _mm512_loadu_ps(lanes->max[k] + first));
    }
}

SWEEP_TARGET static inline uint32_t avx512_test(const psvi_lanes *lanes, uint64_t p, const avx512_box *box) {
    __mmask16 a = 0xffff, b = 0xffff;
    for (int k = 0; k < 3; ++k) {
        a = _mm512_mask_cmp_ps_mask(a, _mm512_loadu_ps(lanes->min[k] + p), box->max[k], _CMP_LE_OQ);
        b = _mm512_mask_cmp_ps_mask(b, _mm512_loadu_ps(lanes->max[k] + p), box->min[k], _CMP_GE_OQ);
    }
    return (uint32_t)(a & b);
}

SWEEP_TARGET static inline uint32_t avx512_second(const psvi_lanes *lanes, uint64_t p, uint32_t limit) {
    return (uint32_t)_mm512_cmpge_epu32_mask(_mm512_loadu_si512(lanes->id + p), _mm512_set1_epi32((int)limit));
}

SWEEP_TARGET static inline uint32_t avx512_partners(const psvi_lanes *lanes, uint64_t p,
                                                    const uint32_t names[PSVI_PARTNERS]) {
    __m512i ids = _mm512_loadu_si512(lanes->id + p);
    __mmask16 found = 0;
    for (int n = 0; n < PSVI_PARTNERS; ++n)
        found |= _mm512_cmpeq_epu32_mask(ids, _mm512_set1_epi32((int)names[n]));
    return (uint32_t)found;
}

#define SWEEP_APPENDS
// Hit ids are pressed together, ordered against the box's own id, and widened to pairs: 8 bytes each.
SWEEP_TARGET static inline void avx512_append(psvi_pair_sink *sink, const psvi_lanes *lanes, uint64_t p, uint32_t hits,
                                              uint32_t id) {
    make_room(sink);
    __m512i ids = _mm512_maskz_compress_epi32((__mmask16)hits, _mm512_loadu_si512(lanes->id + p));
    __m512i own = _mm512_set1_epi32((int)id);
    __m512i low = _mm512_min_epu32(ids, own), high = _mm512_max_epu32(ids, own);
    __m512i first = _mm512_or_si512(_mm512_cvtepu32_epi64(_mm512_castsi512_si256(low)),
                                    _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm512_castsi512_si256(high)), 32));
    _mm512_storeu_si512(sink->pairs + sink->count, first);
    uint32_t count = (uint32_t)_mm_popcnt_u32(hits);
    if (count > 8) {
        __m512i second =
            _mm512_or_si512(_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(low, 1)),
                            _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(high, 1)), 32));
        _mm512_storeu_si512(sink->pairs + sink->count + 8, second);
    }
    sink->count += count;
}

#include "rows_sweep_body.h"
#endif

rows_sweep_function rows_best_sweep(uint32_t *lanes) {
#if defined(__x86_64__)
    *lanes = 16;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return avx512_sweep;
    *lanes = 8;
    if (__builtin_cpu_supports("avx2")) return avx2_sweep;
#endif
    *lanes = 8;
    return portable_sweep;
}
