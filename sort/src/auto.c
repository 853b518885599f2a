// `auto`: picks by measured calibration (count, key bits, key and value size), the future work of Ha, Krueger, Silva
// 2009. A sorter holds one sorter for each method that its table names; they share its scratch memory.
#include "auto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_hash.h"
#include "word_keys.h"

typedef struct auto_state {
    psvi_auto_table table;
    psv_sorter *sorters[PSVI_AUTO_SIZES]; // of the table's sizes; equal methods share one
    psv_sorter *last;                     // that ran
} auto_state;

uint32_t psvi_auto_size_of(const psvi_auto_table *table, uint64_t count) {
    uint32_t i = 0;
    while (i + 1 < table->size_count && table->sizes[i + 1].count <= count)
        ++i;
    return i;
}

// Sorts that take the same time have the same kind: one line of text without tabs. Changed kernels, another driver and
// another device give another kind.
static void make_kind(psv_context *context, const psv_sorter_def *def, char *kind, size_t bytes) {
    char device[128];
    (void)snprintf(device, sizeof device, "%.127s", psv_context_device_name(context));
    for (char *at = device; *at != '\0'; ++at)
        if (*at < ' ') *at = ' ';
    const uint32_t bits = (def->end_bit - def->begin_bit + 7) / 8 * 8;
    (void)snprintf(kind, bytes, "%d.%d.%d kernels %s %s %s driver %d runtime %d workers %d keys %s bits %u values %u",
                   PSV_VERSION_MAJOR, PSV_VERSION_MINOR, PSV_VERSION_PATCH, PSVI_KERNEL_HASH,
                   psv_backend_name(context->backend), device,
                   context->info.driver_version + (int)context->info.driver_hash, context->info.runtime_version,
                   psv_context_worker_count(context), psv_key_type_name(def->key_type), bits, def->value_bytes);
}

psv_status psvi_auto_find_table(psv_context *context, const psv_sorter_def *def, psvi_auto_table *table) {
    char kind[384];
    make_kind(context, def, kind, sizeof kind);
    if (psvi_auto_read_cache(kind, context->backend, table)) return PSV_OK;
    // Nothing can be measured while the stream is captured: take the best method on most machines, and keep nothing.
    if (psvi_is_captured(context)) {
        *table = (psvi_auto_table){.size_count = 1, .sizes = {{.count = 1}}};
        const char *first = psvi_sort_module_of(context->backend)->auto_candidates[0];
        (void)snprintf(table->sizes[0].method, sizeof table->sizes[0].method, "%s", first);
        return PSV_OK;
    }
    const psv_status status = psvi_auto_calibrate(context, def, table);
    if (status == PSV_OK) psvi_auto_write_cache(kind, table);
    return status;
}

static bool serves(psv_backend backend, const char *name, const psv_sorter_def *def) {
    const psvi_sort_method *method = psvi_find_sort_method(backend, name);
    char why[160];
    return method != NULL && (method->supports == NULL || method->supports(def, why, sizeof why));
}

// The most that a candidate needs: the table may name any of them.
uint64_t psvi_auto_scratch_bytes(psv_backend backend, const psv_sorter_def *def) {
    uint64_t most = 0;
    for (const char *const *name = psvi_sort_module_of(backend)->auto_candidates; *name != NULL; ++name) {
        if (!serves(backend, *name, def)) continue;
        const uint64_t bytes = psvi_align(psvi_find_sort_method(backend, *name)->scratch_bytes(def));
        if (bytes > most) most = bytes;
    }
    return most + PSVI_SCRATCH_SLACK;
}

bool psvi_auto_supports(psv_backend backend, const psv_sorter_def *def, char *why, size_t why_bytes) {
    for (const char *const *name = psvi_sort_module_of(backend)->auto_candidates; *name != NULL; ++name)
        if (serves(backend, *name, def)) return true;
    (void)snprintf(why, why_bytes, "none of the methods that it chooses between does");
    return false;
}

void psvi_auto_destroy(psv_sorter *sorter) {
    auto_state *state = sorter->state;
    for (uint32_t i = 0; state != NULL && i < state->table.size_count; ++i) {
        bool shared = false; // with a later size, which destroys it
        for (uint32_t k = i + 1; k < state->table.size_count; ++k)
            shared |= state->sorters[k] == state->sorters[i];
        if (!shared) psv_destroy_sorter(state->sorters[i]);
    }
    free(state);
    sorter->state = NULL;
}

// The sorter of table size i: a new one, or that of a smaller size with the same method.
static psv_status make_sorter(psv_sorter *sorter, auto_state *state, uint32_t i) {
    for (uint32_t k = 0; k < i; ++k) {
        if (strcmp(state->table.sizes[k].method, state->table.sizes[i].method) != 0) continue;
        state->sorters[i] = state->sorters[k];
        return PSV_OK;
    }
    psv_sorter_def def = sorter->def;
    def.method = state->table.sizes[i].method;
    def.scratch = psvi_buffer_at(sorter->context, sorter->scratch, sorter->scratch_bytes);
    return psv_create_sorter(sorter->context, &def, &state->sorters[i]);
}

psv_status psvi_auto_create(psv_sorter *sorter) {
    auto_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return psvi_fail(sorter->context, PSV_ERROR_MEMORY, "no memory for a sorter (%zu bytes)", sizeof *state);
    sorter->state = state;
    psv_status status = psvi_auto_find_table(sorter->context, &sorter->def, &state->table);
    // Sizes beyond the sorter's largest count would only make sorters that never run.
    while (status == PSV_OK && state->table.size_count > 1 &&
           state->table.sizes[state->table.size_count - 1].count > sorter->def.max_count)
        state->table.size_count--;
    for (uint32_t i = 0; i < state->table.size_count && status == PSV_OK; ++i)
        status = make_sorter(sorter, state, i);
    if (status != PSV_OK) psvi_auto_destroy(sorter);
    return status;
}

psv_status psvi_auto_run(psv_sorter *sorter, const psvi_sort_request *request) {
    auto_state *state = sorter->state;
    psv_sorter *chosen = state->sorters[psvi_auto_size_of(&state->table, request->count)];
    // Only radix leaves early when the input is in order.
    for (uint32_t i = 0; request->likely_sorted && i < state->table.size_count; ++i)
        if (strcmp(state->table.sizes[i].method, "radix") == 0) chosen = state->sorters[i];
    state->last = chosen;
    chosen->statistics = (psv_sort_statistics){.route = NULL};
    return chosen->method->run(chosen, request);
}

psv_status psvi_auto_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    const auto_state *state = sorter->state;
    if (state->last == NULL) return PSV_OK;
    return psv_read_sort_statistics(state->last, statistics);
}

const char *psvi_auto_choice(const psv_sorter *sorter, uint64_t count) {
    const auto_state *state = sorter->state;
    return state->sorters[psvi_auto_size_of(&state->table, count)]->method->name;
}

psv_status psv_read_sort_choices(psv_context *context, const psv_sorter_def *def, psv_sort_choice *choices,
                                 uint32_t capacity, uint32_t *choice_count) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (choice_count == NULL || (choices == NULL && capacity > 0))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", choice_count == NULL ? "choice_count" : "choices");
    psv_sorter_def resolved;
    const psvi_sort_method *method;
    status = psvi_resolve_sorter_def(context, context->backend, def, &resolved, &method);
    psvi_auto_table table;
    if (status == PSV_OK) resolved = psvi_judged_def(&resolved);
    if (status == PSV_OK) status = psvi_auto_find_table(context, &resolved, &table);
    if (status != PSV_OK) return status;
    *choice_count = table.size_count;
    for (uint32_t i = 0; i < table.size_count && i < capacity; ++i) {
        choices[i].count = i == 0 ? 0 : table.sizes[i].count;
        choices[i].method = psvi_find_sort_method(context->backend, table.sizes[i].method)->name;
    }
    if (table.size_count > capacity)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "choices holds %u; %u are needed", capacity, table.size_count);
    return PSV_OK;
}
