// bench_sort --table: tables of kinds of keys by counts.
#ifndef SORT_TABLE_H
#define SORT_TABLE_H

#include <stdio.h>

#include "sort_timing.h"

#define BENCH_MANY_COUNTS 32
#define BENCH_MANY_TABLES 18 // types of keys by operations

// What is sorted in one table.
typedef struct bench_keys {
    psv_key_type type;
    bench_operation operation;
} bench_keys;

typedef struct bench_table_plan {
    bench_config config; // all but kinds, count, type and operation
    const char *device;  // the profile
    const char *commit, *card, *yardstick;
    bench_keys tables[BENCH_MANY_TABLES];
    uint64_t counts[BENCH_MANY_COUNTS];
    int table_number, count_number;
    double budget_ms; // for the repetitions of a cell
    FILE *csv;        // NULL: none
} bench_table_plan;

// Prints the yardstick's time over ours in every cell, for each kind of keys that users have, for kinds that change
// from call to call, and for the first call of a sorter. The last columns have the least cell of the row, and the worst
// call of that kind among others or first of a sorter. The same as rows to the CSV file. False when some result was
// wrong.
bool bench_print_tables(bench_device *device, const bench_table_plan *plan);

// How often a configuration is timed within a budget.
int bench_repetitions(const bench_config *config, double budget_ms);

#endif
