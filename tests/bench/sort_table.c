#include "sort_table.h"

#include <stdio.h>

#define MANY_COUNTS 32
#define MANY_INPUTS_MOST 2000000 // as in bench_sort.c

static const key_distribution kinds[BENCH_KINDS] = {KEYS_UNIFORM,  KEYS_SORTED, KEYS_NEARLY, KEYS_REVERSED,
                                                    KEYS_BLOB,     KEYS_ZIPF,   KEYS_HALF,   KEYS_VALUES,
                                                    KEYS_CONSTANT, KEYS_FLOATS, KEYS_BITS,   KEYS_STEPS};

int bench_repetitions(const bench_config *config, double budget_ms) {
    // Guessed at 5 Gpairs/s on a GPU and 0.2 on a CPU, with the yardstick and the restoring beside it.
    const double guess_ms = (double)config->count / (config->backend == PSV_BACKEND_CUDA ? 5e6 : 2e5) + 0.02;
    const double repetitions = budget_ms / guess_ms / 2;
    return repetitions < 5 ? 5 : repetitions > 101 ? 101 : (int)repetitions | 1;
}

// Columns of the table are counts, but they are measured count by count: keys are made once.
typedef struct table_cells {
    double steady[BENCH_KINDS][MANY_COUNTS];
    char routes[BENCH_KINDS][MANY_COUNTS][32];
    bench_mixed mixed[MANY_COUNTS];
} table_cells;

static bool measure_count(bench_device *device, bench_config config, int column, double budget_ms, table_cells *cells) {
    bool right = true;
    config.repetitions = bench_repetitions(&config, budget_ms);
    if (config.count > MANY_INPUTS_MOST) bench_make_kinds(&config, kinds, BENCH_KINDS);
    config.kinds = kinds;
    config.inputs = BENCH_KINDS;
    cells->mixed[column] = bench_sort_mixed(device, &config);
    if (cells->mixed[column].served && !cells->mixed[column].right) {
        printf("%llu keys, kinds that change: WRONG RESULT\n", (unsigned long long)config.count);
        right = false;
    }
    config.kinds = NULL;
    config.inputs = config.count <= MANY_INPUTS_MOST ? BENCH_INPUTS : 1;
    for (int k = 0; k < BENCH_KINDS; ++k) {
        config.distribution = kinds[k];
        const bench_result result = bench_sort_once(device, &config);
        if (!result.served) continue;
        cells->steady[k][column] = result.right ? result.yardstick_ms / result.median_ms : 0;
        (void)snprintf(cells->routes[k][column], sizeof cells->routes[k][column], "%.31s", result.route);
        if (result.right) continue;
        printf("%llu keys, %s: WRONG RESULT\n", (unsigned long long)config.count, key_distribution_name(kinds[k]));
        right = false;
    }
    return right;
}

static void print_counts(const char *first, const uint64_t *counts, int number) {
    printf("| %-18s |", first);
    for (int c = 0; c < number; ++c)
        printf(" %llu |", (unsigned long long)counts[c]);
    printf("\n|---|");
    for (int c = 0; c < number; ++c)
        printf("---|");
    printf("\n");
}

static void print_mixed(const table_cells *cells, int number) {
    printf("| %-18s |", "mixed, sum / worst");
    for (int c = 0; c < number; ++c)
        printf(" %.2f / %.2f |", cells->mixed[c].sum, cells->mixed[c].worst);
    printf("\n| %-18s |", "worst mixed call");
    for (int c = 0; c < number; ++c)
        printf(" %s %s |", key_distribution_name(cells->mixed[c].worst_kind), cells->mixed[c].worst_route);
    printf("\n| %-18s |", "first call, worst");
    for (int c = 0; c < number; ++c)
        printf(" %.2f / %.2f %s |", cells->mixed[c].first, cells->mixed[c].first_worst,
               key_distribution_name(cells->mixed[c].first_worst_kind));
    printf("\n");
}

bool bench_print_table(bench_device *device, const bench_config *config, const uint64_t *counts, int count_number,
                       double budget_ms) {
    static table_cells cells;
    bool right = true;
    if (count_number > MANY_COUNTS) count_number = MANY_COUNTS;
    for (int c = 0; c < count_number; ++c) {
        bench_config mine = *config;
        mine.count = counts[c];
        right &= measure_count(device, mine, c, budget_ms, &cells);
    }
    printf("%s's time over ours, by calls; 0: not measured or wrong\n", bench_yardstick(device));
    print_counts("steady", counts, count_number);
    for (int k = 0; k < BENCH_KINDS; ++k) {
        printf("| %-18s |", key_distribution_name(kinds[k]));
        for (int c = 0; c < count_number; ++c)
            printf(" %.2f |", cells.steady[k][c]);
        printf("\n");
    }
    print_mixed(&cells, count_number);
    print_counts("routes", counts, count_number);
    for (int k = 0; k < BENCH_KINDS; ++k) {
        printf("| %-18s |", key_distribution_name(kinds[k]));
        for (int c = 0; c < count_number; ++c)
            printf(" %s |", cells.routes[k][c]);
        printf("\n");
    }
    return right;
}
