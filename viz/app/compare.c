#include "compare.h"

#include "measure.h"

#include <SDL.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 5
#define ENOUGH_MS 200.0 // then fewer runs will do

typedef struct timing {
    psv_context *context;
    psv_status (*run)(void *job);
    void *job;
} timing;

static bool time_once(const timing *t, double *ms) {
    const Uint64 start = SDL_GetPerformanceCounter();
    const bool good = t->run(t->job) == PSV_OK && psv_synchronize(t->context) == PSV_OK;
    *ms = (double)(SDL_GetPerformanceCounter() - start) * 1000.0 / (double)SDL_GetPerformanceFrequency();
    return good;
}

static int compare_ms(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The first run makes room and looks at its input for the first time.
static void take_time(const timing *t, view_timed *timed) {
    double ms[RUNS], sum = 0.0;
    uint32_t runs = 0;
    bool good = time_once(t, &ms[0]);
    while (good && runs < RUNS && (runs == 0 || sum < ENOUGH_MS)) {
        good = time_once(t, &ms[runs]);
        sum += ms[runs++];
    }
    if (!good) {
        snprintf(timed->note, sizeof timed->note, "%s", psv_last_error(t->context));
        return;
    }
    qsort(ms, runs, sizeof ms[0], compare_ms);
    timed->ms = ms[runs / 2];
}

static view_timed *add_method(view_comparison *comparison, const char *name) {
    view_timed *timed = &comparison->methods[comparison->count++];
    *timed = (view_timed){.name = name};
    return timed;
}

static void find_best(view_comparison *comparison) {
    for (uint32_t i = 0; i < comparison->count; ++i) {
        const view_timed *timed = &comparison->methods[i];
        if (timed->note[0] == '\0' && (comparison->best_ms == 0.0 || timed->ms < comparison->best_ms))
            comparison->best_ms = timed->ms;
    }
}

static void begin(view_comparison *comparison, psv_world *world, uint64_t elements) {
    psv_world_counters counters;
    memset(comparison, 0, sizeof *comparison);
    comparison->elements = elements;
    if (psv_read_world_counters(world, &counters) == PSV_OK) comparison->frame = counters.frame;
}

// --- sorters --------------------------------------------------------------------------------------------------------

typedef struct sort_job {
    psv_sorter *sorter;
    psv_buffer keys, index;
    uint64_t count;
} sort_job;

static psv_status run_sort(void *job) {
    const sort_job *s = job;
    return psv_sort_index(s->sorter, s->keys, s->index, s->count, PSV_INDEX_KEYS_KEPT);
}

// The order of the first sorter that worked is kept in `first`, for the others to be compared with.
static void time_sorter(psv_context *context, sort_job *job, view_timed *timed, uint32_t **first) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = timed->name;
    def.key_type = PSV_KEY_U32;
    def.max_count = job->count;
    uint32_t *order = malloc(4 * job->count);
    job->sorter = NULL;
    if (order == NULL || psv_create_sorter(context, &def, &job->sorter) != PSV_OK) {
        snprintf(timed->note, sizeof timed->note, "%s", order == NULL ? "no memory" : psv_last_error(context));
    } else {
        take_time(&(timing){context, run_sort, job}, timed);
        if (timed->note[0] == '\0' && psv_download(context, order, job->index, 4 * job->count) == PSV_OK)
            timed->result = *first == NULL || memcmp(order, *first, 4 * job->count) == 0;
    }
    psv_destroy_sorter(job->sorter);
    if (*first == NULL && timed->result == 1)
        *first = order;
    else
        free(order);
}

static uint32_t *row_keys(psv_world *world, const float row_origin[4], uint64_t count) {
    float(*positions)[4] = view_read_array(world, psv_world_positions(world), 0, 16 * count);
    uint32_t *keys = malloc(4 * count);
    for (uint64_t i = 0; positions != NULL && keys != NULL && i < count; ++i)
        keys[i] = view_row_key(positions[i], row_origin);
    if (positions == NULL) {
        free(keys);
        keys = NULL;
    }
    free(positions);
    return keys;
}

bool view_time_sorts(view_order *order, psv_world *world, const float row_origin[4], view_comparison *comparison,
                     view_message *message) {
    psv_context *context = order->context;
    sort_job job = {.count = psv_world_slot_count(world)};
    uint32_t *first = NULL;
    const char *name = NULL;
    begin(comparison, world, job.count);
    if (job.count == 0) return true;
    uint32_t *keys = row_keys(world, row_origin, job.count);
    const bool good = keys != NULL && psv_alloc_buffer(context, 4 * job.count, &job.keys) == PSV_OK &&
                      psv_alloc_buffer(context, 4 * job.count, &job.index) == PSV_OK &&
                      psv_upload(context, job.keys, keys, 4 * job.count) == PSV_OK;
    const psv_backend backend = psv_context_backend(context);
    for (uint32_t i = 0; good && i < VIEW_MOST_METHODS && (name = psv_sort_method_name(backend, i)) != NULL; ++i)
        time_sorter(context, &job, add_method(comparison, name), &first);
    if (!good) view_say(message, "the bodies' keys could not be sorted: %s", psv_last_error(context));
    find_best(comparison);
    psv_free_buffer(context, &job.keys);
    psv_free_buffer(context, &job.index);
    free(keys);
    free(first);
    return good;
}

// --- broad phases ---------------------------------------------------------------------------------------------------

typedef struct pairs_job {
    psv_pair_finder *finder;
    psv_box_set boxes;
    uint64_t pairs;
} pairs_job;

static psv_status run_pairs(void *job) {
    pairs_job *p = job;
    const psv_status status = psv_find_pairs(p->finder, &p->boxes);
    return status == PSV_OK ? psv_finish_pairs(p->finder, &p->pairs) : status;
}

bool view_time_broad_phases(view_order *order, psv_world *world, const char *sort_method, view_comparison *comparison,
                            view_message *message) {
    psv_context *context = order->context;
    pairs_job job = {.boxes = psv_world_box_set(world)};
    const psv_backend backend = psv_context_backend(context);
    const char *name = NULL;
    begin(comparison, world, job.boxes.count);
    for (uint32_t i = 0; i < VIEW_MOST_METHODS && (name = psv_broad_phase_name(backend, i)) != NULL; ++i) {
        view_timed *timed = add_method(comparison, name);
        if (strcmp(name, "brute") == 0 && job.boxes.count > VIEW_SLOW_BODIES) {
            snprintf(timed->note, sizeof timed->note, "not tried above %u bodies", VIEW_SLOW_BODIES);
            continue;
        }
        if (view_create_finder(context, &job.boxes, name, sort_method, &job.finder) == PSV_OK)
            take_time(&(timing){context, run_pairs, &job}, timed);
        else
            snprintf(timed->note, sizeof timed->note, "%s", psv_last_error(context));
        timed->result = job.pairs;
        psv_destroy_pair_finder(job.finder);
        job.finder = NULL;
    }
    find_best(comparison);
    if (comparison->best_ms == 0.0) view_say(message, "no broad phase found pairs: %s", psv_last_error(context));
    return comparison->best_ms > 0.0;
}
