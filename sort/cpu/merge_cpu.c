// `merge` on the CPU: parallel merge sort. Each worker sorts its part; then all of them together merge pairs of runs.
// Each writes the same number of places of the output; a binary search finds where these begin in both runs (merge
// path: Odeh, Green, Mwassi, Shmueli, Birk 2012). Sorts elements of the compared key bits and the position, so that
// none are equal and the result is stable; keys and values then follow by position.
#include "merge_cpu.h"

#include <string.h>

#include "../../core/cpu/workers.h"
#include "key_bits.h"
#include "records_cpu.h"
#include "sort_cpu_tuning.h"

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
    uint32_t team;  // workers, each with its part of the input
    uint32_t width; // parts in a run of this round
    bool wide;
    void *from, *to;
    const void *in; // keys or values that follow the positions
    void *out;
    uint32_t bytes; // of one of them
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

// The worker's places of all merges of a round: runs of `width` parts each.
static void merge_round(void *data, uint32_t w) {
    const merge_job *job = data;
    const uint64_t begin = part(job, w), end = part(job, w + 1);
    for (uint32_t run = 0; run < job->team; run += 2 * job->width) {
        const uint64_t first = part(job, run), middle = part(job, run + job->width),
                       last = part(job, run + 2 * job->width);
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

// in[position i] to the array that holds no elements.
static void gather_part(void *data, uint32_t w) {
    const merge_job *job = data;
    const uint64_t begin = part(job, w), end = part(job, w + 1);
    uint32_t index[256];
    for (uint64_t i = begin; i < end;) {
        const uint64_t block = end - i < 256 ? end - i : 256;
        for (uint64_t k = 0; k < block; ++k)
            index[k] = position_at(job, i + k);
        psvi_cpu_gather_part(job->in, (char *)job->to + i * job->bytes, job->bytes, index, 0, block);
        i += block;
    }
}

static void copy_part(void *data, uint32_t w) {
    const merge_job *job = data;
    const uint64_t begin = part(job, w), end = part(job, w + 1);
    memcpy((char *)job->out + begin * job->bytes, (const char *)job->to + begin * job->bytes,
           (end - begin) * job->bytes);
}

// out[i] = in[position i], which may be the same memory.
static void move_by_position(psvi_crew *crew, merge_job *job, const void *in, void *out, uint32_t bytes) {
    job->in = in;
    job->out = out;
    job->bytes = bytes;
    psvi_run_stage(crew, job->team, gather_part, job);
    psvi_run_stage(crew, job->team, copy_part, job);
}

static void write_positions(void *data, uint32_t w) {
    const merge_job *job = data;
    for (uint64_t i = part(job, w), end = part(job, w + 1); i < end; ++i)
        ((uint32_t *)job->request->values_out)[i] = position_at(job, i);
}

static void sort_part(void *data, uint32_t w) {
    const merge_job *job = data;
    const uint64_t begin = part(job, w), end = part(job, w + 1);
    load_part(job, begin, end);
    if (job->wide)
        sort_run_wide((merge_element *)job->from + begin, (merge_element *)job->to + begin, end - begin, false);
    else
        sort_run_narrow((uint64_t *)job->from + begin, (uint64_t *)job->to + begin, end - begin, false);
}

static void run_stages(psvi_crew *crew, void *data) {
    merge_job *job = data;
    const psvi_sort_request *request = job->request;
    psvi_run_stage(crew, job->team, sort_part, job);
    for (job->width = 1; job->width < job->team; job->width *= 2) {
        psvi_run_stage(crew, job->team, merge_round, job);
        void *swap = job->from;
        job->from = job->to;
        job->to = swap;
    }
    if (request->keys_out != NULL)
        move_by_position(crew, job, request->keys_in, request->keys_out, job->sorter->order.is_wide ? 8 : 4);
    if (request->value_bytes == 0) return;
    if (request->implicit_index)
        psvi_run_stage(crew, job->team, write_positions, job);
    else
        move_by_position(crew, job, request->values_in, request->values_out, request->value_bytes);
}

static psv_status merge_run(psv_sorter *sorter, const psvi_sort_request *request) {
    merge_job job = {.sorter = sorter, .request = request, .count = psvi_request_count(request)};
    job.wide = is_wide(&sorter->def);
    job.from = sorter->scratch;
    job.to = (char *)sorter->scratch + array_bytes(&sorter->def);
    job.team = psvi_workers_for(sorter->context, job.count / MERGE_COUNT_PER_WORKER);
    psvi_run_crew(sorter->context, job.team, run_stages, &job);
    return PSV_OK;
}

const psvi_sort_method psvi_sort_merge_cpu = {
    .name = "merge",
    .description = "parallel merge sort, merges shared out by merge path",
    .scratch_bytes = merge_scratch_bytes,
    .run = merge_run,
};
