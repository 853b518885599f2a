// Segmented sort on the CPU. Workers share out the elements; a segment belongs to the range that it begins in. Up to
// SHORT elements it is a merge sort of compared key bits and positions in the worker's cache. Longer ones are merge
// sorted in the sorter's memory, and those over LONG, one after another, by all workers with `radix`.
#include <stdlib.h>
#include <string.h>

#include "../../core/cpu/workers.h"
#include "../src/segment_method.h"
#include "key_bits.h"
#include "records_cpu.h"
#include "sort_cpu_tuning.h"

typedef struct segment_element {
    uint64_t key, position;
} segment_element;

// Compared bits of at most 32: one number, bits above the position.
#define ELEMENT uint64_t
#define NAME(x) x##_narrow
#define BEFORE(a, b) ((a) < (b))
#include "merge_passes.h"

#define ELEMENT segment_element
#define NAME(x) x##_wide
#define BEFORE(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).position < (b).position))
#include "merge_passes.h"

enum { SHORT = 512, LONG = 1 << 15, GRAIN = 1 << 14 }; // elements

typedef struct segment_job {
    const psv_segment_sorter *sorter;
    const psvi_segment_request *request;
    psvi_key_bits bits;
    uint32_t key_bytes;
    uint64_t segments;
    uint64_t bad; // first segment whose offsets are wrong: atomic minimum
    bool has_long;
    bool wide;
} segment_job;

typedef struct segments_state {
    psv_sorter *radix; // sorts the long ones; its scratch is the sorter's
    uint64_t bad;      // of the last call
} segments_state;

static uint64_t element_bytes(const psv_segment_sorter_def *def) {
    return def->end_bit - def->begin_bit > 32 ? sizeof(segment_element) : sizeof(uint64_t);
}

static psv_sorter_def radix_def(const psv_segment_sorter_def *def) {
    psv_sorter_def radix = psv_default_sorter_def();
    radix.key_type = def->key_type;
    radix.value_bytes = def->value_bytes;
    radix.max_count = def->max_count;
    radix.descending = def->descending;
    radix.nan_policy = def->nan_policy;
    radix.begin_bit = def->begin_bit;
    radix.end_bit = def->end_bit;
    return radix;
}

// Two arrays of elements for segments that are merge sorted; or the scratch of `radix`.
static uint64_t segments_scratch_bytes(const psv_segment_sorter_def *def) {
    const psv_sorter_def radix = radix_def(def);
    const uint64_t merge = 2 * psvi_align(def->max_count * element_bytes(def));
    const uint64_t rest = psv_sorter_scratch_bytes(PSV_BACKEND_CPU, &radix);
    return merge > rest ? merge : rest;
}

static void note_bad(segment_job *job, uint64_t segment) {
    uint64_t seen = __atomic_load_n(&job->bad, __ATOMIC_RELAXED);
    while (segment < seen &&
           !__atomic_compare_exchange_n(&job->bad, &seen, segment, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void check_offsets(void *data, uint64_t first, uint64_t end) {
    segment_job *job = data;
    const uint32_t *offsets = job->request->offsets;
    bool has_long = false;
    for (uint64_t i = first; i < end; ++i) {
        if (offsets[i] > offsets[i + 1] || offsets[i + 1] > job->request->count) {
            note_bad(job, i);
            return;
        }
        has_long |= offsets[i + 1] - offsets[i] > LONG;
    }
    if (has_long) __atomic_store_n(&job->has_long, true, __ATOMIC_RELAXED);
}

// The elements of a segment while it is sorted: their memory, twice, and room for a copy of its keys or values.
static void sort_elements(const segment_job *job, uint64_t begin, uint32_t count, void *from, void *to) {
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t key = psvi_load_key_bits(job->bits, job->request->keys, begin + i);
        if (job->wide)
            ((segment_element *)from)[i] = (segment_element){.key = key, .position = i};
        else
            ((uint64_t *)from)[i] = key << 32 | i;
    }
    if (job->wide)
        sort_run_wide(from, to, count, false);
    else
        sort_run_narrow(from, to, count, false);
}

static uint32_t position_at(const segment_job *job, const void *elements, uint32_t i) {
    return job->wide ? (uint32_t)((const segment_element *)elements)[i].position
                     : (uint32_t)((const uint64_t *)elements)[i];
}

// array[i] = array[position i], through `copy`.
static void permute(const segment_job *job, const void *elements, uint32_t count, void *array, uint32_t bytes,
                    void *copy) {
    memcpy(copy, array, (size_t)count * bytes);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t position = position_at(job, elements, i);
        if (bytes == 4)
            ((uint32_t *)array)[i] = ((const uint32_t *)copy)[position];
        else
            ((uint64_t *)array)[i] = ((const uint64_t *)copy)[position];
    }
}

static void sort_segment(const segment_job *job, uint64_t begin, uint32_t count, void *from, void *to) {
    const psvi_segment_request *request = job->request;
    sort_elements(job, begin, count, from, to);
    if (!request->implicit_index || request->keep == PSV_INDEX_KEYS_SORTED)
        permute(job, from, count, (char *)request->keys + begin * job->key_bytes, job->key_bytes, to);
    if (request->implicit_index) {
        for (uint32_t i = 0; i < count; ++i)
            ((uint32_t *)request->values)[begin + i] = position_at(job, from, i);
    } else if (request->value_bytes != 0) {
        permute(job, from, count, (char *)request->values + begin * request->value_bytes, request->value_bytes, to);
    }
}

// The first segment that begins at `place` or behind it.
static uint64_t first_from(const segment_job *job, uint64_t place) {
    uint64_t low = 0, high = job->segments;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (job->request->offsets[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Segments of up to LONG elements that begin among these.
static void sort_range(void *data, uint64_t first, uint64_t end) {
    const segment_job *job = data;
    const uint32_t *offsets = job->request->offsets;
    segment_element near[2][SHORT];
    const uint64_t bytes = element_bytes(&job->sorter->def);
    char *far = job->sorter->scratch, *far_to = far + psvi_align(job->sorter->def.max_count * bytes);
    for (uint64_t s = first_from(job, first); s < job->segments && offsets[s] < end; ++s) {
        const uint32_t begin = offsets[s], count = offsets[s + 1] - begin;
        if (count == 0 || count > LONG || (count == 1 && !job->request->implicit_index)) continue;
        if (count <= SHORT)
            sort_segment(job, begin, count, near[0], near[1]);
        else
            sort_segment(job, begin, count, far + begin * bytes, far_to + begin * bytes);
    }
}

static psv_status sort_long(segment_job *job) {
    const psvi_segment_request *request = job->request;
    psv_sorter *radix = ((segments_state *)job->sorter->state)->radix;
    const bool keys_wanted = !request->implicit_index || request->keep == PSV_INDEX_KEYS_SORTED;
    psv_status status = PSV_OK;
    for (uint64_t s = 0; s < job->segments && status == PSV_OK; ++s) {
        const uint64_t begin = request->offsets[s], count = request->offsets[s + 1] - begin;
        if (count <= LONG) continue;
        char *keys = (char *)request->keys + begin * job->key_bytes;
        char *values = request->values == NULL ? NULL : (char *)request->values + begin * request->value_bytes;
        const psvi_sort_request long_one = {
            .keys_in = keys,
            .keys_out = keys_wanted ? keys : NULL,
            .values_in = request->implicit_index ? NULL : values,
            .values_out = values,
            .value_bytes = request->value_bytes,
            .implicit_index = request->implicit_index,
            .keep_keys_in = request->implicit_index && request->keep == PSV_INDEX_KEYS_KEPT,
            .count = count,
        };
        status = psvi_sort_run(radix, &long_one);
    }
    return status;
}

static psv_status segments_run(psv_segment_sorter *sorter, const psvi_segment_request *request) {
    segments_state *state = sorter->state;
    segment_job job = {.sorter = sorter,
                       .request = request,
                       .bits = psvi_make_key_bits(sorter->order),
                       .key_bytes = psv_key_type_bytes(sorter->def.key_type),
                       .segments = request->segments,
                       .bad = UINT64_MAX,
                       .wide = element_bytes(&sorter->def) == sizeof(segment_element)};
    if (request->segments_device != NULL && *request->segments_device < job.segments)
        job.segments = *request->segments_device;
    psvi_run_ranges(sorter->context, job.segments, GRAIN, check_offsets, &job);
    state->bad = job.bad;
    if (job.bad != UINT64_MAX) return psvi_fail_segment(sorter, job.bad);
    psvi_run_ranges(sorter->context, request->count, GRAIN, sort_range, &job);
    return job.has_long ? sort_long(&job) : PSV_OK;
}

static psv_status segments_create(psv_segment_sorter *sorter) {
    segments_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(sorter->context, PSV_ERROR_MEMORY, "no memory for a segment sorter");
    state->bad = UINT64_MAX;
    psv_sorter_def def = radix_def(&sorter->def);
    def.scratch = psvi_buffer_at(sorter->context, sorter->scratch, sorter->scratch_bytes);
    const psv_status status = psv_create_sorter(sorter->context, &def, &state->radix);
    if (status == PSV_OK)
        sorter->state = state;
    else
        free(state);
    return status;
}

static void segments_destroy(psv_segment_sorter *sorter) {
    segments_state *state = sorter->state;
    psv_destroy_sorter(state->radix);
    free(state);
}

static psv_status segments_read_bad(psv_segment_sorter *sorter, uint64_t *bad) {
    *bad = ((const segments_state *)sorter->state)->bad;
    return PSV_OK;
}

const psvi_segment_ops psvi_segments_cpu = {
    .scratch_bytes = segments_scratch_bytes,
    .create = segments_create,
    .destroy = segments_destroy,
    .run = segments_run,
    .read_bad = segments_read_bad,
};
