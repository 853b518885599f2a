// `auto` is not slower than any method named: of the keys that it measures with, and of others that suit the method it
// takes. Median of rounds in which all take their turn, so that a busy machine slows all.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../cases/sort_inputs.h"
#include "../test_scale.h"

#define ROUNDS 9
#define ALLOWED 1.15   // times the time of a method named
#define FLOOR_MS 0.003 // what a call may vary by, whatever it sorts
#define METHODS 4

static const char *const methods[METHODS] = {"auto", "radix", "cub", "merge"};
static const uint64_t counts[] = {1000, 4096, 32768, 300000, 1200000, 4000000};
static const key_distribution kinds[] = {KEYS_UNIFORM, KEYS_SORTED, KEYS_NEARLY, KEYS_BLOB};

static psv_context *context;

static double now_ms(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void check(psv_status status) {
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
}

static int compare_times(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *times) {
    qsort(times, ROUNDS, sizeof *times, compare_times);
    return times[ROUNDS / 2];
}

// One sort of the keys by `sorter`, in ms; the first rounds of all warm the sorters up.
static double time_sort(psv_sorter *sorter, psv_buffer keys, psv_buffer values, const uint32_t *from, uint64_t count) {
    check(psv_upload(context, keys, from, count * sizeof *from));
    check(psv_synchronize(context));
    const double begin = now_ms();
    check(psv_sort_pairs(sorter, keys, values, count));
    check(psv_synchronize(context));
    return now_ms() - begin;
}

// Medians of all methods, in turns. The method that `auto` is slower than by more than is allowed; 0: none.
static int measure(psv_sorter *const *sorters, psv_buffer keys, psv_buffer values, const uint32_t *input,
                   uint64_t count, double *medians) {
    double times[METHODS][ROUNDS];
    for (int round = -3; round < ROUNDS; ++round)
        for (int m = 0; m < METHODS; ++m) {
            const double time = time_sort(sorters[m], keys, values, input, count);
            if (round >= 0) times[m][round] = time;
        }
    int slower = 0;
    for (int m = 0; m < METHODS; ++m) {
        medians[m] = median(times[m]);
        if (medians[0] > ALLOWED * medians[m] + FLOOR_MS) slower = m;
    }
    return slower;
}

static void check_count(uint64_t count) {
    psv_sorter *sorters[METHODS];
    psv_buffer keys, values;
    check(psv_alloc_buffer(context, count * sizeof(uint32_t), &keys));
    check(psv_alloc_buffer(context, count * sizeof(uint32_t), &values));
    uint32_t *input = malloc(count * sizeof *input);
    assert_non_null(input);
    for (int m = 0; m < METHODS; ++m) {
        psv_sorter_def def = psv_default_sorter_def();
        def.method = methods[m];
        def.max_count = count;
        check(psv_create_sorter(context, &def, &sorters[m]));
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        double medians[METHODS];
        make_keys(PSV_KEY_U32, kinds[k], 7000 + count, count, input);
        // A host that is slow to launch for a moment makes short sorts long: what is slower is so three times in a row.
        int slower = 1;
        for (int tries = 0; tries < 3 && slower > 0; ++tries)
            slower = measure(sorters, keys, values, input, count, medians);
        if (slower > 0)
            fail_msg("%llu keys, %s: auto takes %.4f ms, %s %.4f", (unsigned long long)count,
                     key_distribution_name(kinds[k]), medians[0], methods[slower], medians[slower]);
        print_message("%llu %s: auto %.4f, radix %.4f, cub %.4f, merge %.4f ms\n", (unsigned long long)count,
                      key_distribution_name(kinds[k]), medians[0], medians[1], medians[2], medians[3]);
    }
    for (int m = 0; m < METHODS; ++m)
        psv_destroy_sorter(sorters[m]);
    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &values);
    free(input);
}

static void test_auto_is_as_fast(void **state) {
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
        check_count(counts[c]);
}

int main(void) {
    if (!psv_backend_available(PSV_BACKEND_CUDA)) {
        printf("skipped: no usable CUDA device\n");
        return 77;
    }
    if (test_kernels_only()) {
        printf("skipped: a sanitizer changes all times\n");
        return 77;
    }
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CUDA;
    if (psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(NULL));
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_auto_is_as_fast)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    psv_destroy_context(context);
    return failed;
}
