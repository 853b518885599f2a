// `merge` on the CPU: parallel merge sort. Each thread sorts its part; then all threads together merge pairs of runs,
// each thread the same number of places of the output, whose beginnings in both runs a binary search finds (merge path:
// Odeh, Green, Mwassi, Shmueli, Birk 2012). Sorts elements of the compared key bits and the position, so that none are
// equal and the result is stable; keys and values then follow by position.
#include "merge_cpu.h"

#include <string.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "key_bits.h"
#include "records_cpu.h"
#include "sort_cpu_tuning.h"
#include "team.h"

typedef struct merge_element {
    uint64_t key, position;
} merge_element;

// Compared bits of at most 32: one number, bits above the position.
#define ELEMENT uint64_t
#define NAME(x) x##_narrow
#define BEFORE(a, b) ((a) < (b))
#include "merge_passes.h"

#define ELEMENT merge_element
#define NAME(x) x##_wide
#define BEFORE(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).position < (b).position))
#include "merge_passes.h"

typedef struct merge_job {
    const psv_sorter *sorter;
    const psvi_sort_request *request;
    uint64_t count;
    uint32_t team;
    psvi_team *meeting; // shared
    bool wide;
    void *from, *to;
} merge_job;

static bool is_wide(const psv_sorter_def *def) { return def->end_bit - def->begin_bit > 32; }

static uint64_t array_bytes(const psv_sorter_def *def) {
    return psvi_align(def->max_count * (is_wide(def) ? sizeof(merge_element) : sizeof(uint64_t)));
}

static uint64_t merge_scratch_bytes(const psv_sorter_def *def) { return 2 * array_bytes(def); }

static uint64_t part(const merge_job *job, uint32_t worker) {
    return worker >= job->team ? job->count : job->count * worker / job->team;
}

static void load_part(const merge_job *job, uint64_t begin, uint64_t end) {
    const psvi_key_bits bits = psvi_make_key_bits(job->sorter->order);
    for (uint64_t i = begin; i < end; ++i) {
        const uint64_t key = psvi_load_key_bits(bits, job->request->keys_in, i);
        if (job->wide)
            ((merge_element *)job->from)[i] = (merge_element){.key = key, .position = i};
        else
            ((uint64_t *)job->from)[i] = key << 32 | i;
    }
}

// The thread's places of all merges of a round: runs of `width` parts each.
static void merge_round(const merge_job *job, uint32_t w, uint32_t width) {
    const uint64_t begin = part(job, w), end = part(job, w + 1);
    for (uint32_t run = 0; run < job->team; run += 2 * width) {
        const uint64_t first = part(job, run), middle = part(job, run + width), last = part(job, run + 2 * width);
        const uint64_t from = begin > first ? begin : first, to = end < last ? end : last;
        if (from >= to) continue;
        if (job->wide)
            merge_places_wide(job->from, job->to, first, middle, last, from, to);
        else
            merge_places_narrow(job->from, job->to, first, middle, last, from, to);
    }
}

static uint32_t position_at(const merge_job *job, uint64_t i) {
    return job->wide ? (uint32_t)((const merge_element *)job->from)[i].position
                     : (uint32_t)((const uint64_t *)job->from)[i];
}

// out[i] = in[position i], which may be the same memory: through the array that holds no elements.
static void move_by_position(const merge_job *job, uint32_t w, const void *in, void *out, uint32_t bytes) {
    const uint64_t begin = part(job, w), end = part(job, w + 1);
    uint32_t index[256];
    for (uint64_t i = begin; i < end;) {
        const uint64_t block = end - i < 256 ? end - i : 256;
        for (uint64_t k = 0; k < block; ++k)
            index[k] = position_at(job, i + k);
        psvi_cpu_gather_part(in, (char *)job->to + i * bytes, bytes, index, 0, block);
        i += block;
    }
    psvi_team_meet(job->meeting, job->team);
    memcpy((char *)out + begin * bytes, (const char *)job->to + begin * bytes, (end - begin) * bytes);
    psvi_team_meet(job->meeting, job->team);
}

// What thread w of the team does; each has its own job, with the same contents.
static void run_worker(merge_job *job, uint32_t w) {
    const psvi_sort_request *request = job->request;
    const uint64_t begin = part(job, w), end = part(job, w + 1);
    load_part(job, begin, end);
    if (job->wide)
        sort_run_wide((merge_element *)job->from + begin, (merge_element *)job->to + begin, end - begin, false);
    else
        sort_run_narrow((uint64_t *)job->from + begin, (uint64_t *)job->to + begin, end - begin, false);
    for (uint32_t width = 1; width < job->team; width *= 2) {
        psvi_team_meet(job->meeting, job->team);
        merge_round(job, w, width);
        void *swap = job->from;
        job->from = job->to;
        job->to = swap;
    }
    psvi_team_meet(job->meeting, job->team);
    if (request->keys_out != NULL)
        move_by_position(job, w, request->keys_in, request->keys_out, job->sorter->order.is_wide ? 8 : 4);
    if (request->value_bytes == 0) return;
    if (!request->implicit_index) {
        move_by_position(job, w, request->values_in, request->values_out, request->value_bytes);
        return;
    }
    for (uint64_t i = begin; i < end; ++i)
        ((uint32_t *)request->values_out)[i] = position_at(job, i);
}

static psv_status merge_run(psv_sorter *sorter, const psvi_sort_request *request) {
    merge_job job = {.sorter = sorter, .request = request, .count = psvi_request_count(request), .team = 1};
    psvi_team meeting = {0};
    job.meeting = &meeting;
    job.wide = is_wide(&sorter->def);
    job.from = sorter->scratch;
    job.to = (char *)sorter->scratch + array_bytes(&sorter->def);
#if defined(_OPENMP)
    uint64_t workers = job.count / MERGE_COUNT_PER_WORKER;
    if (workers > (uint64_t)sorter->context->worker_count) workers = (uint64_t)sorter->context->worker_count;
    if (workers > 1) {
#pragma omp parallel num_threads((int)workers)
        {
            merge_job own = job;
            own.team = (uint32_t)omp_get_num_threads();
            run_worker(&own, (uint32_t)omp_get_thread_num());
        }
        return PSV_OK;
    }
#endif
    run_worker(&job, 0);
    return PSV_OK;
}

const psvi_sort_method psvi_sort_merge_cpu = {
    .name = "merge",
    .description = "parallel merge sort, merges shared out by merge path",
    .scratch_bytes = merge_scratch_bytes,
    .run = merge_run,
};
