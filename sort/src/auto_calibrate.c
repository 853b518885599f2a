// Measures the candidates of `auto` on uniform keys, smallest count first, within a time budget. At each count they run
// in turns, and the least time of each counts. So other work on the machine affects all of them or none. On a device
// all runs of a count are enqueued together and timed by events; work of another process between them is not measured.
// A candidate that is far behind at two counts in a row is not measured at larger ones, so slow methods cost little.
#include <stdlib.h>
#include <string.h>

#include "auto.h"

#define MAX_CANDIDATES 8
#define BUDGET_SECONDS 1.2
#define TIMED_RUNS 7
#define FAR_BEHIND 2.0
#define LONG_SECONDS 0.1 // a method that takes this long is not run again
// A candidate must be this much faster than the ones before it. Smaller gains are within the error, and the first one,
// `radix`, loses the least on sorts unlike the measured ones (counts in device memory, sorted keys).
#define WORTH_TAKING 0.93

static const uint64_t sizes[] = {256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};
#define SIZES (sizeof sizes / sizeof *sizes)
// A CPU takes tens of milliseconds beyond.

// A moment: an event of the device, or on the CPU the time.
typedef struct moment {
    void *event;
    double seconds;
} moment;

typedef struct candidate {
    const char *method;
    psv_sorter *sorter; // for the count that is being measured
    int behind;         // counts in a row at which it was far behind
    double seconds;
    moment begin[TIMED_RUNS], end[TIMED_RUNS];
} candidate;

typedef struct calibration {
    psv_context *context;
    psv_sorter_def def;
    psv_buffer fresh, keys, values, scratch; // scratch: of all candidates
    candidate candidates[MAX_CANDIDATES];
    uint32_t candidate_count;
    double started;
} calibration;

static uint64_t next_key(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Uniform integers, or floats of all exponents without NaN: the number of distinct digits decides the time.
static psv_status fill_keys(calibration *c, uint64_t count) {
    const uint64_t bytes = count * psv_key_type_bytes(c->def.key_type);
    uint64_t *host = malloc(bytes + 8), state = 1;
    if (host == NULL) return PSV_ERROR_MEMORY;
    for (uint64_t i = 0; i < (bytes + 7) / 8; ++i)
        host[i] = next_key(&state) & 0xbfffffffbfffffffu;
    const psv_status status = psv_upload(c->context, c->fresh, host, bytes);
    free(host);
    return status;
}

static bool create_moments(calibration *c) {
    const psvi_backend_ops *ops = c->context->ops;
    for (uint32_t i = 0; ops->create_event != NULL && i < c->candidate_count; ++i)
        for (int run = 0; run < TIMED_RUNS; ++run)
            if (ops->create_event(c->context, &c->candidates[i].begin[run].event) != PSV_OK ||
                ops->create_event(c->context, &c->candidates[i].end[run].event) != PSV_OK)
                return false;
    return true;
}

static void destroy_moments(calibration *c) {
    for (uint32_t i = 0; i < c->candidate_count; ++i)
        for (int run = 0; run < TIMED_RUNS; ++run) {
            candidate *one = &c->candidates[i];
            if (one->begin[run].event != NULL) c->context->ops->destroy_event(c->context, one->begin[run].event);
            if (one->end[run].event != NULL) c->context->ops->destroy_event(c->context, one->end[run].event);
        }
}

static void mark(calibration *c, moment *now) {
    if (now->event != NULL)
        c->context->ops->record_event(c->context, now->event);
    else
        now->seconds = psvi_seconds_now();
}

static double seconds_between(calibration *c, const moment *begin, const moment *end) {
    return begin->event != NULL ? 1e-3 * c->context->ops->event_ms(c->context, begin->event, end->event)
                                : end->seconds - begin->seconds;
}

// Enqueues one sort between two moments. A candidate that fails is out of the race at this count.
static void enqueue_sort(calibration *c, candidate *one, uint64_t count, int run) {
    psv_context *context = c->context;
    const uint64_t bytes = count * psv_key_type_bytes(c->def.key_type);
    psv_status status = context->ops->copy(context, psvi_buffer_address(c->keys), psvi_buffer_address(c->fresh), bytes,
                                           PSVI_COPY_INSIDE);
    mark(c, &one->begin[run]);
    if (status == PSV_OK)
        status = c->def.value_bytes == 0 ? psv_sort_keys(one->sorter, c->keys, count)
                                         : psv_sort_pairs(one->sorter, c->keys, c->values, count);
    mark(c, &one->end[run]);
    if (status == PSV_OK) return;
    psv_destroy_sorter(one->sorter);
    one->sorter = NULL;
}

static psv_sorter_def candidate_def(const calibration *c, const candidate *one, uint64_t count) {
    psv_sorter_def def = c->def;
    def.method = one->method;
    def.max_count = count;
    return def;
}

static bool alloc_buffers(calibration *c, uint64_t count) {
    const uint64_t key_bytes = count * psv_key_type_bytes(c->def.key_type);
    const uint64_t value_bytes = count * c->def.value_bytes;
    uint64_t scratch_bytes = 0;
    for (uint32_t i = 0; i < c->candidate_count; ++i) {
        const psv_sorter_def def = candidate_def(c, &c->candidates[i], count);
        const uint64_t bytes = psv_sorter_scratch_bytes(c->context->backend, &def);
        if (c->candidates[i].behind < 2 && bytes > scratch_bytes) scratch_bytes = bytes;
    }
    return psv_alloc_buffer(c->context, scratch_bytes, &c->scratch) == PSV_OK &&
           psv_alloc_buffer(c->context, key_bytes, &c->fresh) == PSV_OK &&
           psv_alloc_buffer(c->context, key_bytes, &c->keys) == PSV_OK &&
           psv_alloc_buffer(c->context, value_bytes, &c->values) == PSV_OK && fill_keys(c, count) == PSV_OK &&
           c->context->ops->fill(c->context, psvi_buffer_address(c->values), 0, value_bytes) == PSV_OK;
}

static void free_buffers(calibration *c) {
    psv_free_buffer(c->context, &c->fresh);
    psv_free_buffer(c->context, &c->keys);
    psv_free_buffer(c->context, &c->values);
    psv_free_buffer(c->context, &c->scratch);
}

// Makes a candidate's sorter and runs it once, which loads its code and shows whether it takes long.
static void prepare_candidate(calibration *c, candidate *one, uint64_t count) {
    psv_sorter_def def = candidate_def(c, one, count);
    def.scratch = c->scratch;
    one->seconds = -1;
    one->sorter = NULL;
    if (one->behind >= 2 || psv_create_sorter(c->context, &def, &one->sorter) != PSV_OK) return;
    const double begin = psvi_seconds_now();
    enqueue_sort(c, one, count, 0);
    if (one->sorter != NULL && c->context->ops->synchronize(c->context) == PSV_OK)
        one->seconds = psvi_seconds_now() - begin;
}

// Measures all candidates at one count; NULL when none could be.
static const char *fastest_at(calibration *c, uint64_t count) {
    for (uint32_t i = 0; i < c->candidate_count; ++i)
        prepare_candidate(c, &c->candidates[i], count);
    for (int run = 0; run < TIMED_RUNS; ++run)
        for (uint32_t i = 0; i < c->candidate_count; ++i)
            if (c->candidates[i].sorter != NULL && c->candidates[i].seconds < LONG_SECONDS)
                enqueue_sort(c, &c->candidates[i], count, run);
    const bool done = c->context->ops->synchronize(c->context) == PSV_OK;
    for (uint32_t i = 0; i < c->candidate_count; ++i) {
        candidate *one = &c->candidates[i];
        if (one->sorter == NULL || !done) one->seconds = -1;
        if (one->seconds >= LONG_SECONDS) continue; // the one run stands
        for (int run = 0; run < TIMED_RUNS && one->seconds >= 0; ++run) {
            const double seconds = seconds_between(c, &one->begin[run], &one->end[run]);
            if (!(seconds > 0)) // an event that was not recorded
                one->seconds = -1;
            else if (run == 0 || seconds < one->seconds)
                one->seconds = seconds;
        }
    }
    double best = -1;
    const char *fastest = NULL;
    for (uint32_t i = 0; i < c->candidate_count; ++i) {
        const candidate *one = &c->candidates[i];
        psv_destroy_sorter(one->sorter);
        if (one->seconds < 0 || (best >= 0 && one->seconds >= WORTH_TAKING * best)) continue;
        best = one->seconds;
        fastest = one->method;
    }
    for (uint32_t i = 0; i < c->candidate_count; ++i) {
        candidate *one = &c->candidates[i];
        one->behind = one->seconds >= 0 && one->seconds < FAR_BEHIND * best ? 0 : one->behind + 1;
    }
    return fastest;
}

static void find_candidates(calibration *c) {
    for (const char *const *name = psvi_sort_module_of(c->context->backend)->auto_candidates; *name != NULL; ++name) {
        const psvi_sort_method *method = psvi_find_sort_method(c->context->backend, *name);
        char why[160];
        if (method == NULL || (method->supports != NULL && !method->supports(&c->def, why, sizeof why))) continue;
        c->candidates[c->candidate_count++] = (candidate){.method = method->name};
    }
}

psv_status psvi_auto_calibrate(psv_context *context, const psv_sorter_def *def, psvi_auto_table *table) {
    calibration c = {.context = context, .def = *def, .started = psvi_seconds_now()};
    const psvi_profiler profiler = context->profiler;
    context->profiler.enabled = false; // these sorts are no frames of the user's
    c.def.scratch = (psv_buffer){0};
    find_candidates(&c);
    const bool ready = create_moments(&c);
    *table = (psvi_auto_table){0};
    const char *last = NULL;
    for (size_t s = 0; ready && s < SIZES && psvi_seconds_now() - c.started < BUDGET_SECONDS; ++s) {
        if (sizes[s] > psvi_sort_module_of(context->backend)->auto_largest) break;
        const char *fastest = alloc_buffers(&c, sizes[s]) ? fastest_at(&c, sizes[s]) : NULL;
        free_buffers(&c);
        if (fastest == NULL) break; // no memory for more
        if (last != NULL && strcmp(last, fastest) == 0) continue;
        // Measured counts are four times apart: the winner at one count serves from the middle between it and the
        // previous count.
        table->sizes[table->size_count].count = last == NULL ? sizes[s] : sizes[s] / 2;
        (void)strncpy(table->sizes[table->size_count].method, fastest, sizeof table->sizes[0].method - 1);
        table->size_count++;
        last = fastest;
    }
    destroy_moments(&c);
    context->profiler = profiler;
    if (table->size_count == 0)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no sorting method could be measured for 'auto': %.200s",
                         context->error);
    return PSV_OK;
}
