// Two reports beside each other: the ratio of each time, and whether it is more than the scatter.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define LEAST_DIFFERENCE 0.05 // of the mean ratio; below it two runs of one build differ by themselves
#define STANDARD_ERRORS 3.0

typedef struct ratio_sum {
    double sum, squares;
    uint64_t count, slower, faster, missing;
} ratio_sum;

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
static void compare_time(const json_t *keys, const json_t *a, const json_t *b, const char *stem, ratio_sum *sum) {
    const double old = value_of(a, stem, "ms"), now = value_of(b, stem, "ms");
    if (!(old > 0) || !(now > 0)) return;
    const double ratio = now / old;
    sum->sum += log(ratio);
    sum->squares += log(ratio) * log(ratio);
    ++sum->count;
    const bool slower = value_of(b, stem, "q1") > value_of(a, stem, "q3") && ratio > 1 + LEAST_DIFFERENCE;
    const bool faster = value_of(b, stem, "q3") < value_of(a, stem, "q1") && ratio < 1 - LEAST_DIFFERENCE;
    if (!slower && !faster) return;
    *(slower ? &sum->slower : &sum->faster) += 1;
    printf("  %s %-6s %6.3f ", slower ? "slower" : "faster", stem, ratio);
    print_keys(keys, b);
    printf("  (%.4g to %.4g ms)\n", old, now);
}

static void compare_rows(const json_t *table_a, const json_t *table_b, ratio_sum *sum) {
    static const char *const stems[] = {"frame", "find", "sort"};
    const json_t *keys = json_object_get(table_b, "keys"), *row;
    size_t i;
    json_array_foreach(json_object_get(table_b, "rows"), i, row) {
        const json_t *old = find_row(keys, json_object_get(table_a, "rows"), row);
        sum->missing += old == NULL;
        for (size_t s = 0; old != NULL && s < sizeof stems / sizeof *stems; ++s)
            compare_time(keys, old, row, stems[s], sum);
    }
}

// «no difference» where the mean of the logarithms is within three standard errors, or within the least difference.
static void print_verdict(const char *name, const ratio_sum *sum) {
    if (sum->count == 0) return;
    const double n = (double)sum->count, mean = sum->sum / n;
    const double variance = fmax(0, sum->squares / n - mean * mean), error = sqrt(variance / n);
    const bool differs = fabs(mean) > log(1 + LEAST_DIFFERENCE) && fabs(mean) > STANDARD_ERRORS * error;
    printf("%-6s mean ratio %.3f, spread %.3f, %llu times: %llu slower, %llu faster, %llu new: %s\n", name, exp(mean),
           sqrt(variance), (unsigned long long)sum->count, (unsigned long long)sum->slower,
           (unsigned long long)sum->faster, (unsigned long long)sum->missing,
           !differs   ? "no difference"
           : mean > 0 ? "slower"
                      : "faster");
}

int report_compare(const char *path_a, const char *path_b) {
    static const char *const tables[] = {"runs", "sorts"};
    json_t *a = read_report(path_a), *b = a != NULL ? read_report(path_b) : NULL;
    for (size_t t = 0; b != NULL && t < sizeof tables / sizeof *tables; ++t) {
        ratio_sum sum = {0};
        compare_rows(json_object_get(json_object_get(a, "tables"), tables[t]),
                     json_object_get(json_object_get(b, "tables"), tables[t]), &sum);
        print_verdict(tables[t], &sum);
    }
    const int code = b != NULL ? TOOL_DONE : TOOL_REFUSED;
    json_decref(a);
    json_decref(b);
    return code;
}
