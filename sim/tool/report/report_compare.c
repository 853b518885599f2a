// Two reports beside each other: the ratio of each time, and whether it is more than the scatter.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "report.h"

#define LEAST_DIFFERENCE 0.05 // of the mean ratio; below it two runs of one build differ by themselves
#define STANDARD_ERRORS 4.0
#define BLOCKS 8 // of rows that were measured one after the other
#define MOST_RATIOS 4096

typedef struct ratio_list {
    double logs[MOST_RATIOS]; // of the ratios, in the order in which they were measured
    uint64_t count, slower, faster, missing;
} ratio_list;

static json_t *read_report(const char *path) {
    json_error_t error;
    json_t *report = json_load_file(path, 0, &error);
    if (report == NULL) {
        tool_fail(TOOL_REFUSED, "%s: %s (line %d)", path, error.text, error.line);
        return NULL;
    }
    const char *schema = json_string_value(json_object_get(report, "schema"));
    if (schema != NULL && strcmp(schema, REPORT_SCHEMA) == 0) return report;
    tool_fail(TOOL_REFUSED, "%s is no report: its schema is %s, wanted is %s", path,
              schema != NULL ? schema : "missing", REPORT_SCHEMA);
    json_decref(report);
    return NULL;
}

static bool same_keys(const json_t *keys, const json_t *a, const json_t *b) {
    size_t i;
    const json_t *key;
    json_array_foreach(keys, i, key) {
        const char *name = json_string_value(key);
        if (!json_equal(json_object_get(a, name), json_object_get(b, name))) return false;
    }
    return true;
}

static const json_t *find_row(const json_t *keys, const json_t *rows, const json_t *like) {
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) if (same_keys(keys, row, like)) return row;
    return NULL;
}

static double value_of(const json_t *row, const char *stem, const char *ending) {
    char column[64];
    (void)snprintf(column, sizeof column, "%s_%s", stem, ending);
    return json_number_value(json_object_get(row, column));
}

static void print_keys(const json_t *keys, const json_t *row) {
    size_t i;
    const json_t *key;
    json_array_foreach(keys, i, key) {
        const json_t *value = json_object_get(row, json_string_value(key));
        if (json_is_string(value)) printf(" %s", json_string_value(value));
        if (json_is_integer(value)) printf(" %lld", (long long)json_integer_value(value));
    }
}

// One time of a row. What lies outside the other's quartiles, and by more than the least difference, is printed.
static void compare_time(const json_t *keys, const json_t *a, const json_t *b, const char *stem, ratio_list *list) {
    const double old = value_of(a, stem, "ms"), now = value_of(b, stem, "ms");
    if (!(old > 0) || !(now > 0)) return;
    const double ratio = now / old;
    if (list->count < MOST_RATIOS) list->logs[list->count++] = log(ratio);
    const bool slower = value_of(b, stem, "q1") > value_of(a, stem, "q3") && ratio > 1 + LEAST_DIFFERENCE;
    const bool faster = value_of(b, stem, "q3") < value_of(a, stem, "q1") && ratio < 1 - LEAST_DIFFERENCE;
    if (!slower && !faster) return;
    *(slower ? &list->slower : &list->faster) += 1;
    printf("  %s %-6s %6.3f ", slower ? "slower" : "faster", stem, ratio);
    print_keys(keys, b);
    printf("  (%.4g to %.4g ms)\n", old, now);
}

static void compare_rows(const json_t *table_a, const json_t *table_b, ratio_list *list) {
    static const char *const stems[] = {"frame", "find", "sort"};
    const json_t *keys = json_object_get(table_b, "keys"), *row;
    size_t i;
    json_array_foreach(json_object_get(table_b, "rows"), i, row) {
        const json_t *old = find_row(keys, json_object_get(table_a, "rows"), row);
        list->missing += old == NULL;
        for (size_t s = 0; old != NULL && s < sizeof stems / sizeof *stems; ++s)
            compare_time(keys, old, row, stems[s], list);
    }
}

static double mean_of(const double *values, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; ++i)
        sum += values[i];
    return count > 0 ? sum / (double)count : 0;
}

static double deviation_of(const double *values, uint64_t count) {
    const double mean = mean_of(values, count);
    double squares = 0;
    for (uint64_t i = 0; i < count; ++i)
        squares += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

// Standard error of the mean, from the means of blocks: times that were measured one after the other lie together,
// since a burst of other work meets many of them. The times of one row are parts of one another.
static double error_of(const ratio_list *list) {
    double means[BLOCKS];
    const uint64_t blocks = list->count < BLOCKS ? list->count : BLOCKS;
    for (uint64_t b = 0; b < blocks; ++b) {
        const uint64_t from = b * list->count / blocks, to = (b + 1) * list->count / blocks;
        means[b] = mean_of(list->logs + from, to - from);
    }
    return blocks > 0 ? deviation_of(means, blocks) / sqrt((double)blocks) : 0;
}

// «no difference» where the mean of the logarithms is within four standard errors, or within the least difference.
static void print_verdict(const char *name, const ratio_list *list) {
    if (list->count == 0) return;
    const double mean = mean_of(list->logs, list->count), error = error_of(list);
    const bool differs = fabs(mean) > log(1 + LEAST_DIFFERENCE) && fabs(mean) > STANDARD_ERRORS * error;
    printf("%-6s mean ratio %.3f, error %.3f, spread %.3f, %llu times: %llu slower, %llu faster, %llu new: %s\n", name,
           exp(mean), error, deviation_of(list->logs, list->count), (unsigned long long)list->count,
           (unsigned long long)list->slower, (unsigned long long)list->faster, (unsigned long long)list->missing,
           !differs   ? "no difference"
           : mean > 0 ? "slower"
                      : "faster");
}

// A run beside other programs may differ as a whole from the next one.
static void warn_busy(const char *path, const json_t *report) {
    const json_t *machine = json_object_get(report, "machine");
    const double load = page_number(machine, "load_average"), cores = page_number(machine, "cores");
    if (load > PAGE_BUSY_LOAD * cores)
        fprintf(stderr, "pairsieve: %s was measured on a busy machine (load %.2f a processor)\n", path, load / cores);
}

int report_compare(const char *path_a, const char *path_b) {
    static const char *const tables[] = {"runs", "sorts"};
    json_t *a = read_report(path_a), *b = a != NULL ? read_report(path_b) : NULL;
    ratio_list *list = calloc(1, sizeof *list);
    if (b != NULL) warn_busy(path_a, a);
    if (b != NULL) warn_busy(path_b, b);
    for (size_t t = 0; b != NULL && list != NULL && t < sizeof tables / sizeof *tables; ++t) {
        list->count = list->slower = list->faster = list->missing = 0;
        compare_rows(json_object_get(json_object_get(a, "tables"), tables[t]),
                     json_object_get(json_object_get(b, "tables"), tables[t]), list);
        print_verdict(tables[t], list);
    }
    int code = b != NULL ? TOOL_DONE : TOOL_REFUSED;
    if (list == NULL) code = tool_fail(TOOL_FAILED, "no memory for the ratios");
    free(list);
    json_decref(a);
    json_decref(b);
    return code;
}
