// Sorters timed in turns, for the papers' figures.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"

#define LEAST_ROUNDS 3
#define QUICK_MS 120.0 // of rounds, for each sorter and count
#define FULL_MS 500.0
#define QUICK_LONGEST_MS 300.0 // a sort that may take longer at the next count is left out there
#define FULL_LONGEST_MS 4000.0

bool figure_is(const figure_device *device, psv_backend backend) {
    return psv_context_backend(device->context) == backend;
}

bool figure_has_shaders(const figure_device *device) {
    return figure_is(device, PSV_BACKEND_GL) || figure_is(device, PSV_BACKEND_VULKAN);
}

bool figure_has_method(const figure_device *device, const char *method) {
    const char *name;
    for (uint32_t m = 0; (name = psv_sort_method_name(psv_context_backend(device->context), m)) != NULL; ++m)
        if (strcmp(name, method) == 0) return true;
    return false;
}

double figure_longest_ms(const figure_run *run) { return run->job.quick ? QUICK_LONGEST_MS : FULL_LONGEST_MS; }

const uint64_t *figure_counts(const figure_run *run) {
    static const uint64_t quick[] = {1 << 14, 1 << 16, 1 << 18, 1 << 20, 0},
                          full[] = {1 << 14, 1 << 16, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23, 0};
    return run->job.quick ? quick : full;
}

// --- keys -----------------------------------------------------------------------------------------------------------

static double next_unit(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

// Distances from the eye to a bumpy torus in the order of a mesh's rows: neighbours in the list are neighbours on the
// surface, as in the vertex lists of Sintorn & Assarsson's Figure 10.
static float torus_distance(uint64_t i, uint64_t columns) {
    const double turn = 6.283185307179586, u = turn * (double)(i / columns) / (double)columns,
                 v = turn * (double)(i % columns) / (double)columns;
    const double ring = 3 + (1 + 0.05 * sin(23 * u) * sin(17 * v)) * cos(v);
    const double x = ring * cos(u) - 9, y = ring * sin(u) - 2, z = sin(v) - 1;
    return (float)sqrt(x * x + y * y + z * z);
}

static float key_at(const figure_run *run, figure_keys kind, uint64_t i, uint64_t count, uint64_t *state) {
    double sum = 0;
    switch (kind) {
    case KEYS_SORTED: return (float)i;
    case KEYS_DISTANCES:
        return run->distances != NULL ? run->distances[i] : torus_distance(i, (uint64_t)sqrt((double)count));
    case KEYS_GAUSSIAN:
        for (int k = 0; k < 12; ++k)
            sum += next_unit(state);
        return (float)(sum / 12 * (double)count);
    case KEYS_SPIKES: // half of the keys lie in 64 narrow spikes
        sum = next_unit(state);
        if (next_unit(state) < 0.5) return (float)(sum * (double)count);
        return (float)((floor(64 * sum) + 0.5 + 0.01 * next_unit(state)) * (double)count / 64);
    case KEYS_UNIFORM: break;
    }
    return (float)(next_unit(state) * (double)count);
}

void figure_fill_keys(const figure_run *run, figure_keys kind, uint64_t count, float *keys) {
    uint64_t state = 20090201;
    for (uint64_t i = 0; i < count; ++i)
        keys[i] = key_at(run, kind, i, count, &state);
}

// --- one device, one count ------------------------------------------------------------------------------------------

typedef struct sort_place {
    const figure_device *device;
    float *keys, *copy;
    uint64_t *words; // keys with their index in one word, for `word` 64, and u32 for 32
    uint64_t count;
    psv_buffer device_keys, device_values, verdict;
} sort_place;

static void free_place(sort_place *place) {
    psv_context *context = place->device->context;
    psv_free_buffer(context, &place->device_keys);
    psv_free_buffer(context, &place->device_values);
    psv_free_buffer(context, &place->verdict);
    free(place->keys);
    free(place->copy);
    free(place->words);
}

static psv_status make_place(const figure_run *run, figure_keys kind, sort_place *place) {
    place->keys = malloc(4 * place->count);
    place->copy = malloc(4 * place->count);
    place->words = malloc(8 * place->count);
    if (place->keys == NULL || place->copy == NULL || place->words == NULL) return PSV_ERROR_MEMORY;
    figure_fill_keys(run, kind, place->count, place->keys);
    psv_context *context = place->device->context;
    psv_status status = psv_alloc_buffer(context, 8 * place->count, &place->device_keys);
    if (status == PSV_OK) status = psv_alloc_buffer(context, 4 * place->count, &place->device_values);
    if (status == PSV_OK) status = psv_alloc_buffer(context, sizeof(psv_order_result), &place->verdict);
    return status;
}

// The upper bits of the key above the bits of the index.
static void fill_words(sort_place *place, uint32_t word) {
    uint32_t index_bits = 1;
    while ((place->count - 1) >> index_bits != 0)
        ++index_bits;
    for (uint64_t i = 0; i < place->count; ++i) {
        uint32_t key;
        memcpy(&key, &place->keys[i], 4); // not negative: its bits are in order, and the sign is free
        if (word == 64)
            place->words[i] = (uint64_t)key << 32 | i;
        else
            ((uint32_t *)place->words)[i] = (key << 1 >> index_bits << index_bits) | (uint32_t)i;
    }
}

static psv_status make_sorter(const sort_place *place, const figure_sorter *sorter, psv_sorter **made) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = sorter->method;
    def.key_type = sorter->word == 64 ? PSV_KEY_U64 : sorter->word == 32 || sorter->as_u32 ? PSV_KEY_U32 : PSV_KEY_F32;
    def.value_bytes = sorter->index ? 4 : 0;
    def.max_count = place->count;
    def.order_check = !sorter->no_check;
    if (sorter->radix4.digit_bits != 0) def.radix4 = sorter->radix4;
    if (sorter->hybrid.buckets != 0) def.hybrid = sorter->hybrid;
    return psv_create_sorter(place->device->context, &def, made);
}

static psv_status sort_on_device(sort_place *place, const figure_sorter *sorter, psv_sorter *handle, double *ms) {
    psv_context *context = place->device->context;
    psv_profile profile;
    const void *source = sorter->word != 0 ? (const void *)place->words : place->keys;
    if (sorter->word != 0) fill_words(place, sorter->word);
    psv_status status = psv_upload(context, place->device_keys, source, (sorter->word == 64 ? 8 : 4) * place->count);
    if (status == PSV_OK)
        status = sorter->index ? psv_sort_index(handle, place->device_keys, place->device_values, place->count,
                                                PSV_INDEX_KEYS_SORTED)
                               : psv_sort_keys(handle, place->device_keys, place->count);
    if (status == PSV_OK) status = psv_wait_profile(context, &profile);
    if (status == PSV_OK) *ms = profile.frame_ms;
    return status;
}

static double sort_on_host(sort_place *place, const figure_sorter *sorter) {
    memcpy(place->copy, place->keys, 4 * place->count);
    const double begun = tool_seconds_now();
    sorter->host(place->copy, place->count);
    return 1e3 * (tool_seconds_now() - begun);
}

// A time of a wrong order is worth nothing.
static int check_result(sort_place *place, const figure_sorter *sorter, psv_sorter *handle) {
    psv_order_result result = {0, 0};
    psv_context *context = place->device->context;
    for (uint64_t i = 1; handle == NULL && i < place->count; ++i)
        result.descents += place->copy[i - 1] > place->copy[i];
    psv_status status = PSV_OK;
    if (handle != NULL) status = psv_check_order(handle, place->device_keys, place->count, place->verdict);
    if (handle != NULL && status == PSV_OK) status = psv_download(context, &result, place->verdict, sizeof result);
    if (status != PSV_OK) return tool_fail_status(context, status);
    if (result.descents == 0) return TOOL_DONE;
    return tool_fail(TOOL_FAILED, "%s on %s gave a wrong order", sorter->label, place->device->name);
}

static int time_once(sort_place *place, const figure_sorter *sorter, psv_sorter *handle, double *ms) {
    if (sorter->method != NULL)
        return tool_fail_status(place->device->context, sort_on_device(place, sorter, handle, ms));
    *ms = sort_on_host(place, sorter);
    return TOOL_DONE;
}

static int time_in_turns(const figure_run *run, sort_place *place, const figure_sorter *sorters, uint32_t sorter_count,
                         psv_sorter **handles, const bool *out, figure_times *times) {
    const double limit = (run->job.quick ? QUICK_MS : FULL_MS) * sorter_count * 1e-3;
    int code = TOOL_DONE;
    double warm_up;
    for (uint32_t s = 0; s < sorter_count && code == TOOL_DONE; ++s) {
        if (!out[s]) code = time_once(place, &sorters[s], handles[s], &warm_up);
        if (!out[s] && code == TOOL_DONE) code = check_result(place, &sorters[s], handles[s]);
    }
    const double begun = tool_seconds_now();
    for (int r = 0; r < FIGURE_ROUNDS && code == TOOL_DONE; ++r) {
        if (r >= LEAST_ROUNDS && tool_seconds_now() - begun > limit) break;
        for (uint32_t s = 0; s < sorter_count && code == TOOL_DONE; ++s) {
            if (out[s]) continue;
            code = time_once(place, &sorters[s], handles[s], &times[s].ms[r]);
            ++times[s].rounds;
        }
    }
    return code;
}

int figure_time_sorts(figure_run *run, const figure_device *device, const figure_sorter *sorters, uint32_t sorter_count,
                      uint64_t count, figure_keys keys, const bool *skip, figure_times *times) {
    sort_place place = {.device = device, .count = count};
    psv_sorter *handles[FIGURE_SORTERS] = {NULL};
    bool out[FIGURE_SORTERS];
    psv_status status = make_place(run, keys, &place);
    for (uint32_t s = 0; s < sorter_count; ++s) {
        const figure_sorter *sorter = &sorters[s];
        times[s].rounds = 0;
        out[s] = skip[s] || (sorter->method == NULL ? !figure_is(device, PSV_BACKEND_CPU)
                                                    : !figure_has_method(device, sorter->method));
        if (out[s] || sorter->method == NULL || status != PSV_OK) continue;
        status = make_sorter(&place, sorter, &handles[s]);
        if (status != PSV_ERROR_UNSUPPORTED) continue;
        out[s] = true; // not for these keys
        status = PSV_OK;
    }
    int code = tool_fail_status(device->context, status);
    if (code == TOOL_DONE) code = time_in_turns(run, &place, sorters, sorter_count, handles, out, times);
    for (uint32_t s = 0; s < sorter_count; ++s)
        psv_destroy_sorter(handles[s]);
    free_place(&place);
    return code;
}

int figure_contest(figure_run *run, const figure_device *device, const figure_sorter *sorters, uint32_t sorter_count,
                   const uint64_t *counts, figure_keys keys) {
    const double longest = figure_longest_ms(run);
    bool skip[FIGURE_SORTERS] = {false};
    figure_times times[FIGURE_SORTERS];
    for (; *counts != 0; ++counts) {
        const int code = figure_time_sorts(run, device, sorters, sorter_count, *counts, keys, skip, times);
        if (code != TOOL_DONE) return code;
        for (uint32_t s = 0; s < sorter_count; ++s) {
            if (times[s].rounds == 0) continue;
            const double ms = tool_median(times[s].ms, times[s].rounds);
            skip[s] = ms * (double)counts[1] / (double)counts[0] > longest;
            if (!figure_add(run, device->name, sorters[s].label, (double)*counts, times[s].ms, times[s].rounds))
                return figure_no_memory();
        }
    }
    return TOOL_DONE;
}

static int compare_words(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

double figure_misplaced_by_word(figure_run *run, uint64_t count) {
    sort_place place = {.device = &run->devices[0], .count = count};
    double share = NAN;
    if (make_place(run, KEYS_UNIFORM, &place) == PSV_OK) {
        uint64_t descents = 0;
        uint32_t *words = (uint32_t *)place.words, index_mask = 1;
        while (index_mask < count - 1)
            index_mask = 2 * index_mask + 1;
        fill_words(&place, 32);
        qsort(words, count, sizeof *words, compare_words);
        for (uint64_t i = 1; i < count; ++i)
            descents += place.keys[words[i - 1] & index_mask] > place.keys[words[i] & index_mask];
        share = (double)descents / (double)(count - 1);
    }
    free_place(&place);
    return share;
}
