// Pairs of mesh elements on the CPU: boxes of elements, and the pairs that are no neighbours.
#include <string.h>

#include "../../core/cpu/workers.h"
#include "../src/elements/element_ops.h"

enum { BOX_GRAIN = 4096, PAIR_GRAIN = 2048, ROW_GRAIN = 4096 };

static void box_range(void *data, uint64_t first, uint64_t end) {
    const psvi_element_boxes_job *job = data;
    for (uint32_t s = 0; s < PSVI_ELEMENT_SETS; ++s) {
        const psvi_element_set *set = &job->sets[s];
        const uint64_t from = first > set->first_box ? first - set->first_box : 0;
        for (uint64_t i = from; job->wanted[s] && i < set->count && set->first_box + i < end; ++i)
            job->boxes[set->first_box + i] = psvi_element_box(job, set, i);
    }
}

static uint64_t boxes_of(const psvi_element_set *sets) { return sets[PSVI_FACES].first_box + sets[PSVI_FACES].count; }

static psv_status compute_boxes(psv_context *context, const psvi_element_boxes_job *job) {
    psvi_run_ranges(context, boxes_of(job->sets), BOX_GRAIN, box_range, (void *)job);
    return PSV_OK;
}

// A range writes its pairs where the count stands when it is done: in any order, but each range side by side.
__attribute__((always_inline)) static inline void filter_sized(const psvi_element_filter_job *job, uint64_t first,
                                                               uint64_t end, uint32_t a_size, uint32_t b_size) {
    psv_pair kept[PAIR_GRAIN];
    uint64_t count = 0;
    if (job->rings == NULL)
        for (uint64_t i = first; i < end; ++i) {
            kept[count] = job->pairs[i];
            count += !psvi_are_neighbours(job, job->pairs[i], a_size, b_size, false);
        }
    else
        for (uint64_t i = first; i < end; ++i) {
            kept[count] = job->pairs[i];
            count += !psvi_are_neighbours(job, job->pairs[i], a_size, b_size, true);
        }
    const uint64_t at = __atomic_fetch_add(job->kept_count, count, __ATOMIC_RELAXED);
    memcpy(job->kept + at, kept, count * sizeof *kept);
}

static void filter_range(void *data, uint64_t first, uint64_t end) {
    const psvi_element_filter_job *job = data;
    if (job->a.size == 1)
        filter_sized(job, first, end, 1, 3);
    else if (job->b.size == 2)
        filter_sized(job, first, end, 2, 2);
    else if (job->a.size == 2)
        filter_sized(job, first, end, 2, 3);
    else
        filter_sized(job, first, end, 3, 3);
}

static psv_status filter_pairs(psv_context *context, const psvi_element_filter_job *job) {
    const uint64_t count = *job->count < job->room ? *job->count : job->room;
    *job->kept_count = 0;
    psvi_run_ranges(context, count, PAIR_GRAIN, filter_range, (void *)job);
    return PSV_OK;
}

typedef struct rows_job {
    const psv_pair *pairs;
    uint64_t count;
    uint32_t *offsets;
} rows_job;

static void row_range(void *data, uint64_t first, uint64_t end) {
    const rows_job *job = data;
    uint64_t at = psvi_row_begin(job->pairs, job->count, (uint32_t)first);
    for (uint64_t row = first; row < end; ++row) {
        while (at < job->count && job->pairs[at].a < row)
            ++at;
        job->offsets[row] = (uint32_t)at;
    }
}

static psv_status begin_rows(psv_context *context, const psv_pair *pairs, const uint64_t *count, uint64_t room,
                             uint32_t *offsets, uint64_t rows) {
    rows_job job = {pairs, *count < room ? *count : room, offsets};
    psvi_run_ranges(context, rows + 1, ROW_GRAIN, row_range, &job);
    return PSV_OK;
}

static psv_status name_bodies(psv_context *context, const psvi_element_bodies_job *job) {
    (void)context;
    for (uint32_t s = 0; s < PSVI_ELEMENT_SETS; ++s) {
        const psvi_element_set *set = &job->sets[s];
        for (uint64_t i = 0; i < set->count; ++i) {
            const uint32_t body = job->bodies[psvi_element_vertex(set, i, 0)];
            job->owners[set->first_box + i] = body;
            if (job->body_filters != NULL) job->filters[set->first_box + i] = job->body_filters[body];
        }
    }
    return PSV_OK;
}

static psv_status check_indices(psv_context *context, const psvi_index_check *check, uint64_t *bad) {
    (void)context;
    *bad = UINT64_MAX;
    for (uint64_t i = 0; i < check->count && *bad == UINT64_MAX; ++i)
        if (check->indices[i] >= check->limit) *bad = i;
    return PSV_OK;
}

const psvi_element_ops psvi_element_ops_cpu = {
    .compute_boxes = compute_boxes,
    .filter_pairs = filter_pairs,
    .begin_rows = begin_rows,
    .name_bodies = name_bodies,
    .check_indices = check_indices,
};
