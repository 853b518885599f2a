// bench_sort --table: one table of kinds of keys by counts.
#ifndef SORT_TABLE_H
#define SORT_TABLE_H

#include "sort_timing.h"

// The yardstick's time over ours in every cell, for each kind of keys that users have, for kinds that change from call
// to call, and for the first call of a sorter. False when some result was wrong. `config` gives all but the kinds and
// the count.
bool bench_print_table(bench_device *device, const bench_config *config, const uint64_t *counts, int count_number,
                       double budget_ms);

// How often a configuration is timed within a budget.
int bench_repetitions(const bench_config *config, double budget_ms);

#endif
