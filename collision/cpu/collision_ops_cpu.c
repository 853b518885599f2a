// Ordering of pairs, begin and end lists, on the CPU.
#include "../../sort/src/sort_method.h"
#include "bounds_cpu.h"
#include "cpu_boxes.h"
#include "pairsieve/sort.h"

// --- order -----------------------------------------------------------------------------------------------------------

typedef struct pack_job {
    psv_pair *pairs;
    uint32_t bits;
} pack_job;

// A pair as one key: a << bits | b, and back. In place: a pair is as large as a key.
static void pack_pairs(void *data, uint64_t first, uint64_t end) {
    const pack_job *job = data;
    for (uint64_t i = first; i < end; ++i) {
        uint64_t key = (uint64_t)job->pairs[i].a << job->bits | job->pairs[i].b;
        memcpy(&job->pairs[i], &key, sizeof key);
    }
}

static void unpack_pairs(void *data, uint64_t first, uint64_t end) {
    const pack_job *job = data;
    for (uint64_t i = first; i < end; ++i) {
        uint64_t key;
        memcpy(&key, &job->pairs[i], sizeof key);
        job->pairs[i] = (psv_pair){(uint32_t)(key >> job->bits), (uint32_t)(key & (((uint64_t)1 << job->bits) - 1))};
    }
}

static psv_status order_pairs(psv_context *context, void *sorter, psv_pair *pairs, const uint64_t *count,
                              uint64_t capacity, void *scratch) {
    (void)scratch;
    uint64_t n = *count < capacity ? *count : capacity;
    pack_job job = {pairs, ((psv_sorter *)sorter)->def.end_bit / 2};
    if (n < 2) return PSV_OK;
    psvi_run_ranges(context, n, 16384, pack_pairs, &job);
    psv_status status = psv_sort_keys(sorter, psv_buffer_of(pairs, n * sizeof *pairs), n);
    psvi_run_ranges(context, n, 16384, unpack_pairs, &job);
    return status;
}

// --- events ----------------------------------------------------------------------------------------------------------

static uint64_t pair_key(psv_pair pair) { return (uint64_t)pair.a << 32 | pair.b; }

// First place of the ascending list whose pair is not below `key`.
static uint64_t lower_bound(const psv_pair *pairs, uint64_t count, uint64_t key) {
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (pair_key(pairs[middle]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Pairs of `now` that `before` does not have, appended to `begin` (NULL: only counted); likewise `end`.
static void diff_range(const psv_pair *now, uint64_t now_count, const psv_pair *before, uint64_t before_count,
                       psv_pair *begin, uint64_t *begin_count, psv_pair *end, uint64_t *end_count) {
    uint64_t i = 0, j = 0, begins = 0, ends = 0;
    while (i < now_count && j < before_count) {
        uint64_t x = pair_key(now[i]), y = pair_key(before[j]);
        if (begin != NULL && x < y) begin[begins] = now[i];
        if (end != NULL && y < x) end[ends] = before[j];
        begins += x < y;
        ends += y < x;
        i += x <= y;
        j += y <= x;
    }
    if (begin != NULL) memcpy(begin + begins, now + i, (now_count - i) * sizeof *now);
    if (end != NULL) memcpy(end + ends, before + j, (before_count - j) * sizeof *before);
    *begin_count = begins + (now_count - i);
    *end_count = ends + (before_count - j);
}

#define DIFF_PARTS 64

typedef struct diff_job {
    const psv_pair *now, *before;
    uint64_t now_cut[DIFF_PARTS + 1], before_cut[DIFF_PARTS + 1];
    uint64_t begins[DIFF_PARTS], ends[DIFF_PARTS]; // of a part: how many; then where they go
    psv_pair *begin, *end;                         // NULL: only counted
} diff_job;

static void diff_parts(void *data, uint64_t first, uint64_t last) {
    diff_job *job = data;
    for (uint64_t p = first; p < last; ++p)
        diff_range(job->now + job->now_cut[p], job->now_cut[p + 1] - job->now_cut[p], job->before + job->before_cut[p],
                   job->before_cut[p + 1] - job->before_cut[p], job->begin == NULL ? NULL : job->begin + job->begins[p],
                   &job->begins[p], job->end == NULL ? NULL : job->end + job->ends[p], &job->ends[p]);
}

// Both lists are cut at the same pairs; parts are counted, summed, and written side by side.
static psv_status diff_pairs(psv_context *context, const psv_pair *now, const uint64_t *now_count,
                             const psv_pair *before, const uint64_t *before_count, uint64_t capacity, psv_pair *begin,
                             uint64_t *begin_count, psv_pair *end, uint64_t *end_count, void *scratch) {
    (void)scratch;
    *begin_count = *end_count = 0;
    uint64_t n = *now_count, m = *before_count;
    if (n > capacity || capacity == 0) return PSV_OK;
    diff_job job = {.now = now, .before = before};
    uint64_t parts = n < 16384 ? 1 : DIFF_PARTS;
    for (uint64_t p = 0; p <= parts; ++p) {
        job.now_cut[p] = n / parts * p + (p == parts ? n % parts : 0);
        job.before_cut[p] = p == parts ? m : p == 0 ? 0 : lower_bound(before, m, pair_key(now[job.now_cut[p]]));
    }
    psvi_run_ranges(context, parts, 1, diff_parts, &job);
    for (uint64_t p = 0; p < parts; ++p) {
        uint64_t b = job.begins[p], e = job.ends[p];
        job.begins[p] = *begin_count;
        job.ends[p] = *end_count;
        *begin_count += b;
        *end_count += e;
    }
    job.begin = begin;
    job.end = end;
    psvi_run_ranges(context, parts, 1, diff_parts, &job);
    return PSV_OK;
}

static psv_status keep_pairs(psv_context *context, const psv_pair *now, const uint64_t *now_count, psv_pair *before,
                             uint64_t *before_count, uint64_t capacity) {
    (void)context;
    if (*now_count > capacity || capacity == 0) return PSV_OK;
    memcpy(before, now, *now_count * sizeof *now);
    *before_count = *now_count;
    return PSV_OK;
}

const psvi_collision_ops psvi_collision_ops_cpu = {
    .order_pairs = order_pairs,
    .diff_pairs = diff_pairs,
    .keep_pairs = keep_pairs,
    .exclude_pairs = psvi_exclude_pairs_cpu,
    .list_partners = psvi_list_partners_cpu,
    .narrow_boxes = psvi_narrow_boxes_cpu,
    .name_pairs = psvi_name_pairs_cpu,
    .merge_kept = psvi_merge_kept_cpu,
    .widen_boxes = psvi_widen_boxes_cpu,
    .place_boxes = psvi_place_boxes_cpu,
    .are_near = psvi_are_near_cpu,
    .test_again = psvi_test_again_cpu,
    .check_pairs = psvi_check_pairs_cpu,
    .compute_bounds = psvi_compute_bounds_cpu,
};
