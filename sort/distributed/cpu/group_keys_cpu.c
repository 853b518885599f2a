// Keys of a group's sort on the CPU.
#include <stdlib.h>

#include "../../../core/cpu/workers.h"
#include "../group_keys.h"
#include "part_lists.h"

static psv_status open_keys(psv_context *context, uint32_t parts, void **state) {
    psvi_list_maker *maker = calloc(1, sizeof *maker);
    *state = maker;
    if (maker != NULL && psvi_open_list_maker(context, maker, parts)) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for the parts of %u ranks", parts);
}

static void close_keys(psv_context *context, void *state) {
    (void)context;
    if (state != NULL) psvi_close_list_maker(state);
    free(state);
}

static psv_status sample_keys(psv_context *context, void *state, const psvi_group_keys *keys, psvi_place *samples,
                              uint64_t sample_count) {
    (void)context, (void)state;
    for (uint64_t i = 0; i < sample_count; ++i) {
        const uint64_t place = psvi_sample_place(i, sample_count, keys->count);
        samples[i] = (psvi_place){psvi_group_key(keys->order, keys->keys, place), keys->first + place};
    }
    return PSV_OK;
}

// The part of a key: how many splitters are not after it.
static uint32_t choose_part(const void *data, uint64_t item, uint32_t *part) {
    const psvi_group_keys *keys = data;
    const psvi_place own = {psvi_group_key(keys->order, keys->keys, item), keys->first + item};
    uint32_t low = 0, high = keys->parts - 1;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (psvi_place_before(own, keys->splitters[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    *part = low;
    return 1;
}

static psv_status count_parts(psv_context *context, void *state, const psvi_group_keys *keys, uint64_t *counts) {
    psvi_list_maker *maker = state;
    maker->choose = choose_part;
    maker->data = keys;
    maker->count = keys->count;
    maker->list_count = keys->parts;
    psvi_cpu_count_lists(context, maker, counts);
    return PSV_OK;
}

typedef struct write_task {
    psvi_list_maker *maker; // its tally says where each worker's share of a part begins, in all parts
    const psvi_group_keys *keys;
    psvi_part_values values;
    const psvi_part_target *targets;
    const uint64_t *firsts; // of parts
    uint32_t key_bytes;
} write_task;

static void copy_record(void *to, uint64_t place, const void *from, uint64_t i, uint32_t bytes) {
    if (bytes == 4)
        ((uint32_t *)to)[place] = ((const uint32_t *)from)[i];
    else
        ((uint64_t *)to)[place] = ((const uint64_t *)from)[i];
}

static void write_share(void *data, uint32_t worker) {
    const write_task *task = data;
    const psvi_group_keys *keys = task->keys;
    const uint32_t parts = keys->parts, workers = task->maker->workers, value_bytes = task->values.bytes;
    uint64_t *tally = task->maker->tally + (uint64_t)worker * parts;
    const uint64_t begin = keys->count * worker / workers, end = keys->count * (worker + 1) / workers;
    for (uint64_t i = begin; i < end; ++i) {
        uint32_t part;
        (void)choose_part(keys, i, &part);
        const uint64_t place = tally[part]++ - task->firsts[part], number = keys->first + i;
        copy_record(task->targets[part].keys, place, keys->keys, i, task->key_bytes);
        if (value_bytes == 0) continue;
        if (task->values.values != NULL)
            copy_record(task->targets[part].values, place, task->values.values, i, value_bytes);
        else if (value_bytes == 4)
            ((uint32_t *)task->targets[part].values)[place] = (uint32_t)number;
        else
            ((uint64_t *)task->targets[part].values)[place] = number;
    }
}

static psv_status write_parts(psv_context *context, void *state, const psvi_group_keys *keys, psvi_part_values values,
                              const psvi_part_target *targets) {
    psvi_list_maker *maker = state;
    uint64_t *firsts = malloc(keys->parts * sizeof *firsts);
    if (firsts == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %u parts", keys->parts);
    for (uint32_t p = 0; p < keys->parts; ++p)
        firsts[p] = maker->tally[p]; // the first worker's
    const write_task task = {maker, keys, values, targets, firsts, keys->order.is_wide ? 8 : 4};
    psvi_run_tasks(context, maker->workers, write_share, (void *)(uintptr_t)&task);
    free(firsts);
    return PSV_OK;
}

static psv_status number_values(psv_context *context, void *values, uint32_t value_bytes, uint64_t first,
                                const uint32_t *index, uint64_t count) {
    (void)context;
    for (uint64_t i = 0; i < count; ++i) {
        if (value_bytes == 4)
            ((uint32_t *)values)[i] = (uint32_t)(first + index[i]);
        else
            ((uint64_t *)values)[i] = first + index[i];
    }
    return PSV_OK;
}

const psvi_group_key_ops psvi_cpu_group_key_ops = {
    open_keys, close_keys, sample_keys, count_parts, write_parts, number_values,
};
