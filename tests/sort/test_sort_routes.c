// Which route the CUDA `radix` sorter takes for each distribution of keys at each range of counts, in its first call
// and once it knows such keys: a silent fall back to a slower route fails here. test_radix_route.c covers the choice
// itself, for any device; this is what the device then makes of the keys.
//
//   test_sort_routes [--print] [--range N]
//     --print: writes the table of what ran instead of comparing it
//     --range: only the range of counts with this number
//
// Skips (77) without a GPU, and on one that is not as the table is for: clusters of 16, cooperative launches, 227 KB.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../core/context.h"
#include "../cases/sort_inputs.h"
#include "../cases/sort_reference.h"

#define CALLS 6
#define DISTRIBUTIONS KEYS_END // all that bench_sort names

static psv_context *context;
static bool print_only;
static size_t only_range = SIZE_MAX;

// Counts by what has to hold them: items in all, or for each multiprocessor.
typedef struct count_range {
    const char *name;
    uint32_t items, each;
} count_range;

static const count_range ranges[] = {
    {"1000", 1000, 0},      {"4096", 4096, 0},        {"20000", 20000, 0},      {"4000 each", 0, 4000},
    {"8200 each", 0, 8200}, {"12000 each", 0, 12000}, {"30000 each", 0, 30000}, {"60000 each", 0, 60000},
};
#define RANGES (sizeof ranges / sizeof *ranges)

// What has to run, first and last call, «route» or «route/veto»: a row for each range and each pair of routes, with the
// names of the distributions.
typedef struct expected_row {
    size_t range;
    const char *distributions, *first, *last;
} expected_row;

static const expected_row rows[] = {
    {0,
     "uniform gaussian sorted reversed nearly few constant one_digit clustered special moved moved_far replaced mixed "
     "halves sawtooth piled steps swapped falling upper blob zipf half values floats bits splats",
     "block", "block"},
    {1,
     "uniform gaussian sorted reversed nearly few constant one_digit clustered special moved moved_far replaced mixed "
     "halves sawtooth piled steps swapped falling upper blob zipf half values floats bits splats",
     "block", "block"},
    {2,
     "uniform gaussian sorted reversed nearly few constant one_digit clustered special moved moved_far replaced mixed "
     "halves sawtooth piled steps swapped falling upper blob zipf half values floats bits splats",
     "cluster", "cluster"},
    {3, "uniform gaussian reversed nearly moved moved_far replaced mixed halves swapped upper blob floats splats",
     "chunks/no_splitters", "splitters"},
    {3, "sorted constant", "in_order", "in_order"},
    {3, "few one_digit clustered special steps zipf half values", "resident/crowds", "resident/crowds"},
    {3, "bits", "resident/uneven", "resident/waiting"},
    {3, "sawtooth falling", "chunks/no_splitters", "resident/waiting"},
    {3, "piled", "chunks/no_splitters", "chunks/misfit"},
    {4, "uniform reversed nearly moved moved_far replaced mixed halves swapped upper floats splats",
     "chunks/no_splitters", "splitters"},
    {4, "gaussian blob", "resident/uneven", "splitters"},
    {4, "sorted constant", "in_order", "in_order"},
    {4, "few one_digit clustered special steps zipf half values", "resident/crowds", "resident/crowds"},
    {4, "piled falling bits", "resident/uneven", "resident/waiting"},
    {4, "sawtooth", "chunks/no_splitters", "resident/waiting"},
    {5, "uniform gaussian reversed moved moved_far replaced mixed halves swapped blob floats splats",
     "resident/no_splitters", "rounds"},
    {5, "sorted constant", "in_order/no_splitters", "in_order"},
    {5, "nearly", "resident/no_splitters", "windows"},
    {5, "few one_digit clustered special sawtooth piled steps falling upper zipf half values bits",
     "resident/no_splitters", "resident/waiting"},
    {6, "uniform gaussian reversed moved_far replaced mixed halves swapped blob floats splats", "passes/not_in_order",
     "rounds"},
    {6, "sorted constant", "in_order", "in_order"},
    {6, "nearly", "windows", "windows"},
    {6, "few one_digit clustered special sawtooth piled steps falling upper zipf half values bits",
     "passes/not_in_order", "passes/waiting"},
    {6, "moved", "passes/not_in_order", "windows"},
    {7,
     "uniform gaussian reversed few one_digit clustered special moved_far replaced mixed halves sawtooth piled steps "
     "swapped falling upper blob zipf half values floats bits splats",
     "passes", "passes"},
    {7, "sorted constant", "in_order", "in_order"},
    {7, "nearly", "windows", "windows"},
    {7, "moved", "passes", "passes/not_in_order"},
};
#define ROWS (sizeof rows / sizeof *rows)

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s", #call, psv_last_error(context));                                      \
    } while (0)

typedef struct arrays {
    uint32_t *keys, *sorted, *order, *got;
    psv_buffer device_keys, device_values;
} arrays;

static void open_arrays(arrays *a, uint32_t most) {
    a->keys = malloc(most * sizeof(uint32_t));
    a->sorted = malloc(most * sizeof(uint32_t));
    a->order = malloc(most * sizeof(uint32_t));
    a->got = malloc(most * sizeof(uint32_t));
    assert_true(a->keys != NULL && a->sorted != NULL && a->order != NULL && a->got != NULL);
    OK(psv_alloc_buffer(context, most * sizeof(uint32_t), &a->device_keys));
    OK(psv_alloc_buffer(context, most * sizeof(uint32_t), &a->device_values));
}

static void close_arrays(arrays *a) {
    psv_free_buffer(context, &a->device_keys);
    psv_free_buffer(context, &a->device_values);
    free(a->keys);
    free(a->sorted);
    free(a->order);
    free(a->got);
}

// Sorts keys of one seed and says by which route.
static psv_sort_statistics sort_once(psv_sorter *sorter, arrays *a, key_distribution distribution, uint32_t count,
                                     uint64_t seed) {
    psv_sort_statistics statistics;
    make_keys(PSV_KEY_U32, distribution, seed, count, a->keys);
    OK(psv_upload(context, a->device_keys, a->keys, count * sizeof(uint32_t)));
    OK(psv_sort_pairs(sorter, a->device_keys, a->device_values, count));
    OK(psv_synchronize(context));
    OK(psv_read_sort_statistics(sorter, &statistics));
    return statistics;
}

static void check_order(arrays *a, uint32_t count) {
    const psv_sorter_def def = psv_default_sorter_def();
    reference_order(&def, a->keys, count, a->order);
    OK(psv_download(context, a->got, a->device_keys, count * sizeof(uint32_t)));
    for (uint32_t i = 0; i < count; ++i)
        assert_int_equal(a->got[i], a->keys[a->order[i]]);
}

static bool names(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    return false;
}

// The row for a distribution at a range of counts: exactly one.
static const expected_row *find_row(size_t range, key_distribution distribution) {
    const expected_row *found = NULL;
    for (size_t r = 0; r < ROWS; ++r) {
        if (rows[r].range != range || !names(rows[r].distributions, key_distribution_name(distribution))) continue;
        if (found != NULL) fail_msg("%s, %s: two rows", ranges[range].name, key_distribution_name(distribution));
        found = &rows[r];
    }
    if (found == NULL) fail_msg("%s, %s: no row", ranges[range].name, key_distribution_name(distribution));
    return found;
}

// Writes «route» or «route/veto».
static void describe(const psv_sort_statistics *statistics, char *text, size_t bytes) {
    const bool vetoed = strcmp(statistics->veto, "none") != 0;
    (void)snprintf(text, bytes, "%s%s%s", statistics->route, vetoed ? "/" : "", vetoed ? statistics->veto : "");
}

static void test_routes(void **state) {
    (void)state;
    const uint32_t multiprocessors = (uint32_t)context->info.multiprocessors;
    arrays a;
    open_arrays(&a, ranges[RANGES - 1].each * multiprocessors);
    for (size_t r = 0; r < RANGES; ++r) {
        if (only_range != SIZE_MAX && r != only_range) continue;
        const uint32_t count = ranges[r].items + ranges[r].each * multiprocessors;
        for (int d = 0; d < DISTRIBUTIONS; ++d) {
            psv_sorter_def def = psv_default_sorter_def();
            psv_sorter *sorter = NULL;
            def.max_count = count;
            OK(psv_create_sorter(context, &def, &sorter));
            psv_sort_statistics first = {0}, last = {0};
            for (int call = 0; call < CALLS; ++call) {
                last = sort_once(sorter, &a, (key_distribution)d, count, 1000 + (uint64_t)call);
                if (call == 0) first = last;
            }
            check_order(&a, count);
            psv_destroy_sorter(sorter);
            char ran_first[80], ran_last[80];
            describe(&first, ran_first, sizeof ran_first);
            describe(&last, ran_last, sizeof ran_last);
            const char *name = key_distribution_name((key_distribution)d);
            if (print_only) {
                printf("%zu %s %s %s\n", r, name, ran_first, ran_last);
                (void)fflush(stdout);
                continue;
            }
            const expected_row *row = find_row(r, (key_distribution)d);
            if (strcmp(ran_first, row->first) != 0 || strcmp(ran_last, row->last) != 0)
                fail_msg("%s keys, %s: routes %s and %s, expected %s and %s", name, ranges[r].name, ran_first, ran_last,
                         row->first, row->last);
        }
    }
    close_arrays(&a);
}

// Where `cluster` takes its first 1,024 samples (radix_samples.cuh).
static uint32_t sample_place(uint32_t j, uint32_t count) {
    uint32_t random = (j + 1) * 0x9e3779b9u;
    random ^= random >> 15;
    random *= 0x85ebca6bu;
    random ^= random >> 13;
    return (uint32_t)((uint64_t)j * count >> 10) + (uint32_t)((uint64_t)random * (count >> 10) >> 32);
}

// Keys whose samples are the least of all: nearly all others would go to one block, so the cluster takes new samples.
static void test_misleading_samples(void **state) {
    (void)state;
    if (print_only || (only_range != SIZE_MAX && only_range != 2)) skip();
    static const uint32_t counts[] = {9500, 20000, 32768};
    arrays a;
    open_arrays(&a, 32768);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        const uint32_t count = counts[c];
        uint64_t random = c;
        for (uint32_t i = 0; i < count; ++i)
            a.keys[i] = 0x40000000u | (uint32_t)next_random(&random);
        for (uint32_t j = 0; j < 1024; ++j)
            a.keys[sample_place(j, count)] = (uint32_t)next_random(&random) >> 8;
        psv_sorter_def def = psv_default_sorter_def();
        psv_sorter *sorter = NULL;
        psv_sort_statistics statistics;
        def.max_count = count;
        OK(psv_create_sorter(context, &def, &sorter));
        OK(psv_upload(context, a.device_keys, a.keys, count * sizeof(uint32_t)));
        OK(psv_sort_pairs(sorter, a.device_keys, a.device_values, count));
        OK(psv_read_sort_statistics(sorter, &statistics));
        assert_string_equal(statistics.route, "cluster");
        assert_true(statistics.passes_run >= 2);
        check_order(&a, count);
        psv_destroy_sorter(sorter);
    }
    close_arrays(&a);
}

int main(int argc, char **argv) {
    for (int a = 1; a < argc; ++a) {
        if (strcmp(argv[a], "--print") == 0) print_only = true;
        if (strcmp(argv[a], "--range") == 0 && a + 1 < argc) only_range = (size_t)strtoul(argv[++a], NULL, 10);
    }
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CUDA;
    if (psv_create_context(&def, &context) != PSV_OK) {
        printf("skipped: %s\n", psv_last_error(NULL));
        return 77;
    }
    const psvi_device_info *info = &context->info;
    if (!info->cluster_launch || !info->cooperative_launch || info->shared_bytes_per_block < 227 * 1024) {
        printf("skipped: the table of routes is for devices with clusters and 227 KB of shared memory\n");
        psv_destroy_context(context);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_routes), cmocka_unit_test(test_misleading_samples)};
    const int failures = cmocka_run_group_tests_name("sort_routes", tests, NULL, NULL);
    psv_destroy_context(context);
    return failures;
}
