#include "sort_table.h"

#include <string.h>

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

// Columns of a table are counts, but they are measured count by count: keys are made once.
typedef struct table_cells {
    double steady[BENCH_KINDS][BENCH_MANY_COUNTS];
    char routes[BENCH_KINDS][BENCH_MANY_COUNTS][32];
    bench_mixed mixed[BENCH_MANY_COUNTS];
} table_cells;

static const char *operation_name(bench_operation operation) {
    static const char *const names[] = {"pairs", "keys", "index"};
    return names[operation];
}

static void write_row(const bench_table_plan *plan, const bench_config *config, const char *kind, const char *calls,
                      double ms, double ratio, const char *route) {
    if (plan->csv == NULL) return;
    (void)fprintf(plan->csv, "%s,%s,%s,%s,%s,%s,%s,%s,%llu,", plan->commit, plan->card, plan->yardstick, plan->device,
                  psv_key_type_name(config->key_type), operation_name(config->operation), kind, calls,
                  (unsigned long long)config->count);
    if (ms > 0) (void)fprintf(plan->csv, "%.5f", ms);
    (void)fprintf(plan->csv, ",%.3f,%s\n", ratio, route);
    (void)fflush(plan->csv);
}

static bool measure_mixed(bench_device *device, const bench_table_plan *plan, bench_config config, bench_mixed *mixed) {
    config.kinds = kinds;
    config.inputs = BENCH_KINDS;
    *mixed = bench_sort_mixed(device, &config);
    if (!mixed->served) return true;
    if (!mixed->right) {
        printf("%llu keys, kinds that change: WRONG RESULT\n", (unsigned long long)config.count);
        return false;
    }
    write_row(plan, &config, "all", "mixed", 0, mixed->sum, "");
    for (int k = 0; k < BENCH_KINDS; ++k) {
        const char *kind = key_distribution_name(kinds[k]);
        const bool worst = kinds[k] == mixed->worst_kind;
        if (mixed->worst_of[k] > 0)
            write_row(plan, &config, kind, "mixed", 0, mixed->worst_of[k], worst ? mixed->worst_route : "");
        write_row(plan, &config, kind, "first", 0, mixed->first_of[k], "");
    }
    return true;
}

static bool measure_cells(bench_device *device, const bench_table_plan *plan, bench_config config, int column,
                          table_cells *cells) {
    config.repetitions = bench_repetitions(&config, plan->budget_ms);
    bool right = measure_mixed(device, plan, config, &cells->mixed[column]);
    for (int k = 0; k < BENCH_KINDS; ++k) {
        config.distribution = kinds[k];
        const char *kind = key_distribution_name(kinds[k]);
        const bench_result result = bench_sort_once(device, &config);
        if (!result.served) continue;
        const double ratio = result.right ? result.yardstick_ms / result.median_ms : 0;
        cells->steady[k][column] = ratio;
        (void)snprintf(cells->routes[k][column], sizeof cells->routes[k][column], "%.31s", result.route);
        write_row(plan, &config, kind, "steady", result.median_ms, ratio, result.route);
        if (!result.right) printf("%llu keys, %s: WRONG RESULT\n", (unsigned long long)config.count, kind);
        right &= result.right;
    }
    return right;
}

// `more`: heads of columns behind the counts.
static void print_counts(const char *first, const bench_table_plan *plan, const char *more, int more_columns) {
    printf("| %-18s |", first);
    for (int c = 0; c < plan->count_number; ++c)
        printf(" %llu |", (unsigned long long)plan->counts[c]);
    printf("%s\n|---|", more);
    for (int c = 0; c < plan->count_number + more_columns; ++c)
        printf("---|");
    printf("\n");
}

// The lesser of two ratios, where 0 is none.
static double lesser(double a, double b) { return a <= 0 || (b > 0 && b < a) ? b : a; }

// A kind's ratios by counts, the least of them, and the least where kinds change or the call is the sorter's first.
static void print_kind(const table_cells *cells, int kind, int number) {
    double least = 0, worst = 0;
    printf("| %-18s |", key_distribution_name(kinds[kind]));
    for (int c = 0; c < number; ++c) {
        printf(" %.2f |", cells->steady[kind][c]);
        least = lesser(least, cells->steady[kind][c]);
        worst = lesser(worst, lesser(cells->mixed[c].worst_of[kind], cells->mixed[c].first_of[kind]));
    }
    printf(" %.2f | %.2f |\n", least, worst);
}

// The least ratio of all kinds at each count, and of all.
static void print_least(const table_cells *cells, int number) {
    double least = 0, worst = 0;
    printf("| %-18s |", "least of all kinds");
    for (int c = 0; c < number; ++c) {
        double here = 0;
        for (int k = 0; k < BENCH_KINDS; ++k) {
            here = lesser(here, cells->steady[k][c]);
            worst = lesser(worst, lesser(cells->mixed[c].worst_of[k], cells->mixed[c].first_of[k]));
        }
        printf(" %.2f |", here);
        least = lesser(least, here);
    }
    printf(" %.2f | %.2f |\n", least, worst);
}

static int worst_first(const bench_mixed *mixed) {
    int worst = 0;
    for (int k = 1; k < BENCH_KINDS; ++k)
        if (mixed->first_of[k] < mixed->first_of[worst]) worst = k;
    return worst;
}

static void print_mixed(const table_cells *cells, int number) {
    printf("| %-18s |", "mixed, sum / worst");
    for (int c = 0; c < number; ++c)
        printf(" %.2f / %.2f |", cells->mixed[c].sum, cells->mixed[c].worst);
    printf("\n| %-18s |", "worst mixed call");
    for (int c = 0; c < number; ++c)
        printf(" %s %s |", key_distribution_name(cells->mixed[c].worst_kind), cells->mixed[c].worst_route);
    printf("\n| %-18s |", "first call, worst");
    for (int c = 0; c < number; ++c) {
        const int worst = worst_first(&cells->mixed[c]);
        printf(" %.2f / %.2f %s |", cells->mixed[c].first_of[0], cells->mixed[c].first_of[worst],
               key_distribution_name(kinds[worst]));
    }
    printf("\n");
}

static void print_table(bench_device *device, const bench_table_plan *plan, const bench_keys *keys,
                        const table_cells *cells) {
    printf("%s, %s %s: %s's time over ours, by calls; 0: not measured or wrong\n", plan->device,
           psv_key_type_name(keys->type), operation_name(keys->operation), bench_yardstick(device));
    print_counts("steady", plan, " least | worst mixed or first call |", 2);
    for (int k = 0; k < BENCH_KINDS; ++k)
        print_kind(cells, k, plan->count_number);
    print_least(cells, plan->count_number);
    print_mixed(cells, plan->count_number);
    print_counts("routes", plan, "", 0);
    for (int k = 0; k < BENCH_KINDS; ++k) {
        printf("| %-18s |", key_distribution_name(kinds[k]));
        for (int c = 0; c < plan->count_number; ++c)
            printf(" %s |", cells->routes[k][c]);
        printf("\n");
    }
}

bool bench_print_tables(bench_device *device, const bench_table_plan *plan) {
    static table_cells cells[BENCH_MANY_TABLES];
    bool right = true;
    if (plan->csv != NULL)
        (void)fprintf(plan->csv,
                      "commit,card,yardstick,device,keys,op,distribution,calls,count,median_ms,ratio,route\n");
    for (int c = 0; c < plan->count_number; ++c)
        for (int t = 0; t < plan->table_number; ++t) {
            bench_config mine = plan->config;
            mine.count = plan->counts[c];
            mine.inputs = mine.count <= MANY_INPUTS_MOST ? BENCH_INPUTS : 1;
            mine.key_type = plan->tables[t].type;
            mine.operation = plan->tables[t].operation;
            if (t == 0 || plan->tables[t - 1].type != mine.key_type)
                bench_make_kinds(&mine, kinds, BENCH_KINDS, mine.inputs);
            right &= measure_cells(device, plan, mine, c, &cells[t]);
        }
    for (int t = 0; t < plan->table_number; ++t)
        print_table(device, plan, &plan->tables[t], &cells[t]);
    return right;
}
