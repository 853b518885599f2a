// Each worker has a fixed share of the items. It counts them by list; the counts say where it writes.
#include "part_lists.h"

#include <stdlib.h>
#include <string.h>

#include "../../../core/cpu/workers.h"

typedef struct list_task {
    psvi_list_maker *maker;
    uint32_t *index; // NULL: only count
} list_task;

bool psvi_open_list_maker(const psv_context *context, psvi_list_maker *maker, uint32_t list_count) {
    maker->list_count = list_count;
    maker->workers = psvi_workers_for(context, UINT32_MAX);
    maker->tally = malloc((uint64_t)maker->workers * list_count * sizeof *maker->tally);
    maker->chosen = malloc((uint64_t)maker->workers * list_count * sizeof *maker->chosen);
    return maker->tally != NULL && maker->chosen != NULL;
}

void psvi_close_list_maker(psvi_list_maker *maker) {
    free(maker->tally);
    free(maker->chosen);
    *maker = (psvi_list_maker){0};
}

static void run_share(void *data, uint32_t worker) {
    const list_task *task = data;
    const psvi_list_maker *maker = task->maker;
    uint64_t *tally = maker->tally + (uint64_t)worker * maker->list_count;
    uint32_t *chosen = maker->chosen + (uint64_t)worker * maker->list_count;
    const uint64_t begin = maker->count * worker / maker->workers, end = maker->count * (worker + 1) / maker->workers;
    for (uint64_t i = begin; i < end; ++i) {
        const uint32_t count = maker->choose(maker->data, i, chosen);
        for (uint32_t c = 0; c < count; ++c) {
            const uint64_t place = tally[chosen[c]]++;
            if (task->index != NULL) task->index[place] = (uint32_t)i;
        }
    }
}

void psvi_cpu_count_lists(psv_context *context, psvi_list_maker *maker, uint64_t *counts) {
    memset(maker->tally, 0, (uint64_t)maker->workers * maker->list_count * sizeof *maker->tally);
    psvi_run_tasks(context, maker->workers, run_share, &(list_task){maker, NULL});
    uint64_t first = 0; // from here on the tally says where each worker's part of a list begins
    for (uint32_t l = 0; l < maker->list_count; ++l) {
        const uint64_t begin = first;
        for (uint32_t w = 0; w < maker->workers; ++w) {
            uint64_t *place = &maker->tally[(uint64_t)w * maker->list_count + l];
            const uint64_t length = *place;
            *place = first;
            first += length;
        }
        counts[l] = first - begin;
    }
    maker->written = first;
}

void psvi_cpu_write_lists(psv_context *context, psvi_list_maker *maker, uint32_t *index) {
    psvi_run_tasks(context, maker->workers, run_share, &(list_task){maker, index});
}
