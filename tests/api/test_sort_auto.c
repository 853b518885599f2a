// `auto`: what it chooses, what it keeps, and what it does with a damaged or missing cache. The cache folder is one of
// the test's own.
//   test_sort_auto cpu|cuda
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../test_scale.h"
#include "expect.h"
#include "pairsieve/sort.h"

#define COUNT 5000u

static char folder[256], path[300];
static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void set_cache_home(const char *home) { assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0); }

static int set_up(void **state) {
    (void)state;
    const char *temporary = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.200s/pairsieve-test-XXXXXX", temporary != NULL ? temporary : P_tmpdir);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/pairsieve/sort-auto.txt", folder);
    set_cache_home(folder);
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = backend == PSV_BACKEND_CPU ? 1 : 0;
    return psv_create_context(&def, &context) == PSV_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    psv_destroy_context(context);
    (void)unlink(path);
    path[strlen(path) - strlen("/sort-auto.txt")] = '\0';
    (void)rmdir(path);
    return rmdir(folder);
}

static psv_sorter_def auto_def(void) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = "auto";
    def.max_count = COUNT;
    return def;
}

// Creates an auto sorter, sorts with it, and tells its method for COUNT keys.
static const char *sort_with_auto(void) {
    static uint32_t keys[COUNT], values[COUNT];
    psv_sorter_def def = auto_def();
    psv_sorter *sorter;
    EXPECT_OK(psv_create_sorter(context, &def, &sorter), context);
    for (uint32_t i = 0; i < COUNT; ++i) {
        keys[i] = i * 2654435761u >> 4;
        values[i] = i;
    }
    psv_buffer key_buffer, value_buffer;
    EXPECT_OK(psv_alloc_buffer(context, sizeof keys, &key_buffer), context);
    EXPECT_OK(psv_alloc_buffer(context, sizeof values, &value_buffer), context);
    EXPECT_OK(psv_upload(context, key_buffer, keys, sizeof keys), context);
    EXPECT_OK(psv_upload(context, value_buffer, values, sizeof values), context);
    EXPECT_OK(psv_sort_pairs(sorter, key_buffer, value_buffer, COUNT), context);
    EXPECT_OK(psv_download(context, keys, key_buffer, sizeof keys), context);
    EXPECT_OK(psv_download(context, values, value_buffer, sizeof values), context);
    psv_free_buffer(context, &key_buffer);
    psv_free_buffer(context, &value_buffer);
    for (uint32_t i = 0; i < COUNT; ++i) {
        assert_int_equal(keys[i], values[i] * 2654435761u >> 4);
        assert_true(i == 0 || keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && values[i - 1] < values[i]));
    }
    psv_sort_statistics statistics;
    EXPECT_OK(psv_read_sort_statistics(sorter, &statistics), context);
    const char *method = psv_sorter_method(sorter, COUNT);
    assert_string_not_equal(method, "auto");
    psv_destroy_sorter(sorter);
    return method;
}

// The cache file's text; fails when there is none.
static size_t read_cache(char *text, size_t bytes) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t length = fread(text, 1, bytes - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    return length;
}

static void write_cache(const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_measures_and_keeps(void **state) {
    (void)state;
    assert_int_not_equal(access(path, F_OK), 0);
    double begin = seconds_now();
    const char *method = sort_with_auto();
    const double measured = seconds_now() - begin;
    char text[4096];
    assert_true(read_cache(text, sizeof text) > 0);
    assert_non_null(strstr(text, method));
    begin = seconds_now();
    (void)sort_with_auto();
    const double cached = seconds_now() - begin;
    printf("calibrated in %.3f s, from the cache %.4f s, method %s\n", measured, cached, method);
    assert_true(cached < measured);
}

// The file decides: with another method in it, that one runs.
static void test_reads_what_it_kept(void **state) {
    (void)state;
    (void)sort_with_auto();
    char text[4096], *line, *table;
    (void)read_cache(text, sizeof text);
    line = strchr(text, '\n');
    table = line == NULL ? NULL : strchr(line, '\t');
    assert_non_null(table);
    (void)strcpy(table + 1, "256=radix 4096=merge\n");
    write_cache(text);
    assert_string_equal(sort_with_auto(), "merge");
    psv_sort_choice choices[12];
    uint32_t count = 0;
    psv_sorter_def def = auto_def();
    EXPECT_OK(psv_read_sort_choices(context, &def, choices, 12, &count), context);
    assert_int_equal(count, 2);
    assert_string_equal(choices[0].method, "radix");
    assert_int_equal(choices[0].count, 0);
    assert_string_equal(choices[1].method, "merge");
    assert_int_equal(choices[1].count, 4096);
    EXPECT_FAILURE(psv_read_sort_choices(context, &def, choices, 1, &count), PSV_ERROR_CAPACITY, context, "choices",
                   "2");
    EXPECT_FAILURE(psv_read_sort_choices(context, &def, NULL, 1, &count), PSV_ERROR_ARGUMENT, context, "choices",
                   "NULL");
    EXPECT_FAILURE(psv_read_sort_choices(context, &def, choices, 1, NULL), PSV_ERROR_ARGUMENT, context, "choice_count",
                   "NULL");
}

// Damaged lines are measured again, and the file is whole afterwards.
static void test_damaged_cache(void **state) {
    (void)state;
    (void)sort_with_auto();
    char good[4096], kind[1024];
    (void)read_cache(good, sizeof good);
    const char *line = strchr(good, '\n') + 1;
    const size_t kind_length = strcspn(line, "\t") + 1;
    assert_true(kind_length < sizeof kind - 1);
    memcpy(kind, line, kind_length);
    kind[kind_length] = '\0';
    static const char *const tables[] = {"256=bogo\n", "256=\n",
                                         "=radix\n",   "radix\n",
                                         "\n",         "256=radix 100=merge\n",
                                         "256=radix", // no end of line
                                         "256=auto\n", "256=radix;4096=merge\n"};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; ++t) {
        char text[4096];
        (void)snprintf(text, sizeof text, "pairsieve sort auto 2\n%s%s", kind, tables[t]);
        write_cache(text);
        (void)sort_with_auto();
        (void)read_cache(text, sizeof text);
        assert_true(strncmp(text, "pairsieve sort auto 2\n", 22) == 0);
        assert_null(strstr(text, "bogo"));
        assert_int_equal(text[strlen(text) - 1], '\n');
        const char *again = strstr(text, kind);
        assert_non_null(again);
        assert_null(strstr(again + 1, kind)); // replaced, not added
    }
    write_cache("something else\n");
    (void)sort_with_auto();
    (void)read_cache(kind, sizeof kind);
    assert_true(strncmp(kind, "pairsieve sort auto 2\n", 22) == 0);
}

// Lines of other devices stay.
static void test_other_lines_stay(void **state) {
    (void)state;
    write_cache("pairsieve sort auto 2\nanother device\t256=radix\n");
    (void)sort_with_auto();
    char text[4096];
    (void)read_cache(text, sizeof text);
    assert_non_null(strstr(text, "another device\t256=radix\n"));
}

// What other kernels, or the same under another driver, have measured does not count: they are measured anew, beside
// it.
static void test_other_kernels_and_drivers(void **state) {
    (void)state;
    static const char *const parts[] = {" kernels ", " driver ", " runtime "};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; ++p) {
        (void)unlink(path);
        (void)sort_with_auto();
        char text[4096], other[4096], kind[1024];
        (void)read_cache(text, sizeof text);
        const char *line = strchr(text, '\n') + 1;
        (void)snprintf(kind, sizeof kind, "%.*s", (int)strcspn(line, "\t") + 1, line);
        char *part = strstr(text, parts[p]);
        assert_non_null(part);
        part += strlen(parts[p]);
        *part = *part == '1' ? '2' : '1';
        (void)strcpy(strchr(text, '\t') + 1, "256=merge\n");
        write_cache(text);
        (void)snprintf(other, sizeof other, "%s", strchr(text, '\n') + 1);
        assert_null(strstr(text, kind));
        (void)sort_with_auto();
        (void)read_cache(text, sizeof text);
        assert_non_null(strstr(text, other));
        assert_non_null(strstr(text, kind));
    }
}

static void test_no_folder(void **state) {
    (void)state;
    char *home = getenv("HOME");
    char saved[1024] = "";
    if (home != NULL) (void)snprintf(saved, sizeof saved, "%.1000s", home);
    set_cache_home("/dev/null/nowhere");
    (void)sort_with_auto();
    (void)unsetenv("XDG_CACHE_HOME");
    (void)unsetenv("HOME");
    (void)sort_with_auto();
    if (home != NULL) (void)setenv("HOME", saved, 1);
    set_cache_home(folder);
}

static void test_larger_counts_and_kinds(void **state) {
    (void)state;
    static const psv_key_type types[] = {PSV_KEY_F64, PSV_KEY_U32};
    for (size_t t = 0; t < 2; ++t) {
        psv_sorter_def def = auto_def();
        def.key_type = types[t];
        def.value_bytes = t == 0 ? 8 : 0;
        def.max_count = 300000;
        psv_sorter *sorter;
        EXPECT_OK(psv_create_sorter(context, &def, &sorter), context);
        assert_true(strlen(psv_sorter_method(sorter, 300000)) > 0);
        psv_destroy_sorter(sorter);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) {
        printf("skipped: no %s device on this machine\n", psv_backend_name(backend));
        return 77;
    }
    if (test_kernels_only()) {
        printf("skipped: these are the kernels of test_sort\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures_and_keeps),
        cmocka_unit_test(test_reads_what_it_kept),
        cmocka_unit_test(test_damaged_cache),
        cmocka_unit_test(test_other_lines_stay),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_larger_counts_and_kinds),
        cmocka_unit_test(test_other_kernels_and_drivers),
    };
    return cmocka_run_group_tests_name("sort_auto", tests, set_up, tear_down);
}
