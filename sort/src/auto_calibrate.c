// Measures the candidates of `auto` on uniform keys, smallest count first, within a time budget. A candidate that is
// far behind at two counts in a row is not measured at larger ones, so slow methods cost little.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auto.h"

#define MAX_CANDIDATES 8
#define BUDGET_SECONDS 1.5
#define TIMED_RUNS 3
#define FAR_BEHIND 2.0

static const uint64_t sizes[] = {256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};
#define SIZES (sizeof sizes / sizeof *sizes)
// A CPU takes tens of milliseconds beyond.
#define CPU_LARGEST 1048576u

typedef struct candidate {
    const char *method;
    psv_sorter *sorter; // for the count that is being measured
    int behind;         // counts in a row at which it was far behind
    double seconds;
} candidate;

typedef struct calibration {
    psv_context *context;
    psv_sorter_def def;
    psv_buffer fresh, keys, values;
    candidate candidates[MAX_CANDIDATES];
    uint32_t candidate_count;
    double started;
} calibration;

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t next_key(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Uniform integers, or floats of all exponents without NaN: what matters is the number of distinct digits.
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

// One sort, enqueued and awaited; negative when it failed.
static double time_sort(calibration *c, psv_sorter *sorter, uint64_t count) {
    psv_context *context = c->context;
    const uint64_t bytes = count * psv_key_type_bytes(c->def.key_type);
    if (context->ops->copy(context, c->keys.address, c->fresh.address, bytes, PSVI_COPY_INSIDE) != PSV_OK ||
        context->ops->synchronize(context) != PSV_OK)
        return -1;
    const double begin = seconds_now();
    const psv_status status = c->def.value_bytes == 0 ? psv_sort_keys(sorter, c->keys, count)
                                                      : psv_sort_pairs(sorter, c->keys, c->values, count);
    if (status != PSV_OK || context->ops->synchronize(context) != PSV_OK) return -1;
    return seconds_now() - begin;
}

static double measure(calibration *c, candidate *one, uint64_t count) {
    psv_sorter_def def = c->def;
    def.method = one->method;
    def.max_count = count;
    psv_sorter *sorter;
    if (psv_create_sorter(c->context, &def, &sorter) != PSV_OK) return -1;
    double best = time_sort(c, sorter, count); // warms up; counts only when it is very slow
    for (int run = 0; run < TIMED_RUNS && best >= 0 && best < 0.1; ++run) {
        const double seconds = time_sort(c, sorter, count);
        if (seconds < 0 || seconds < best) best = seconds;
    }
    psv_destroy_sorter(sorter);
    return best;
}

static bool alloc_buffers(calibration *c, uint64_t count) {
    const uint64_t key_bytes = count * psv_key_type_bytes(c->def.key_type);
    const uint64_t value_bytes = count * c->def.value_bytes;
    return psv_alloc_buffer(c->context, key_bytes, &c->fresh) == PSV_OK &&
           psv_alloc_buffer(c->context, key_bytes, &c->keys) == PSV_OK &&
           psv_alloc_buffer(c->context, value_bytes, &c->values) == PSV_OK && fill_keys(c, count) == PSV_OK &&
           c->context->ops->fill(c->context, c->values.address, 0, value_bytes) == PSV_OK;
}

static void free_buffers(calibration *c) {
    psv_free_buffer(c->context, &c->fresh);
    psv_free_buffer(c->context, &c->keys);
    psv_free_buffer(c->context, &c->values);
}

// Measures all candidates at one count; NULL when none could be.
static const char *fastest_at(calibration *c, uint64_t count) {
    double best = -1;
    const char *fastest = NULL;
    for (uint32_t i = 0; i < c->candidate_count; ++i) {
        candidate *one = &c->candidates[i];
        one->seconds = one->behind < 2 ? measure(c, one, count) : -1;
        if (one->seconds < 0 || (best >= 0 && one->seconds >= best)) continue;
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
    for (const char *const *name = psvi_auto_candidates(c->context->backend); *name != NULL; ++name) {
        const psvi_sort_method *method = psvi_find_sort_method(c->context->backend, *name);
        char why[160];
        if (method == NULL || (method->supports != NULL && !method->supports(&c->def, why, sizeof why))) continue;
        c->candidates[c->candidate_count++] = (candidate){.method = method->name};
    }
}

psv_status psvi_auto_calibrate(psv_context *context, const psv_sorter_def *def, psvi_auto_table *table) {
    calibration c = {.context = context, .def = *def, .started = seconds_now()};
    const psvi_profiler profiler = context->profiler;
    context->profiler.enabled = false; // these sorts are no frames of the user's
    c.def.scratch = (psv_buffer){0};
    find_candidates(&c);
    *table = (psvi_auto_table){0};
    const char *last = NULL;
    for (size_t s = 0; s < SIZES && seconds_now() - c.started < BUDGET_SECONDS; ++s) {
        if (context->backend == PSV_BACKEND_CPU && sizes[s] > CPU_LARGEST) break;
        const char *fastest = alloc_buffers(&c, sizes[s]) ? fastest_at(&c, sizes[s]) : NULL;
        free_buffers(&c);
        if (fastest == NULL) break; // no memory for more
        if (last != NULL && strcmp(last, fastest) == 0) continue;
        table->sizes[table->size_count].count = sizes[s];
        (void)strncpy(table->sizes[table->size_count].method, fastest, sizeof table->sizes[0].method - 1);
        table->size_count++;
        last = fastest;
    }
    context->profiler = profiler;
    if (table->size_count == 0)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no sorting method could be measured for 'auto': %.200s",
                         context->error);
    return PSV_OK;
}
