// Lists of items for each target: item numbers in ascending order, one list after another.
#ifndef PAIRSIEVE_PART_LISTS_H
#define PAIRSIEVE_PART_LISTS_H

#include "../../../core/context.h"

// The lists that an item belongs to: writes them in ascending order and returns how many there are, 0 to list_count.
typedef uint32_t psvi_choose_lists(const void *data, uint64_t item, uint32_t *lists);

typedef struct psvi_list_maker {
    psvi_choose_lists *choose;
    const void *data;
    uint64_t count; // items, below 2^32
    uint32_t list_count;
    uint32_t workers;
    uint64_t written; // entries of all lists, once they are counted
    uint64_t *tally;  // list_count for each worker
    uint32_t *chosen; // the same
} psvi_list_maker;

// Memory for a maker of so many lists; false when there is none.
bool psvi_open_list_maker(const psv_context *context, psvi_list_maker *maker, uint32_t list_count);
void psvi_close_list_maker(psvi_list_maker *maker);

// counts[l] is the length of list l. `choose`, `data` and `count` are set before.
void psvi_cpu_count_lists(psv_context *context, psvi_list_maker *maker, uint64_t *counts);

// After that, with the same maker: writes the lists.
void psvi_cpu_write_lists(psv_context *context, psvi_list_maker *maker, uint32_t *index);

#endif
