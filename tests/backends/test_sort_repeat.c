// One sorter, many calls: keys like those of the call before, and suddenly others; other counts, forms, counts in the
// backend's memory. What a sorter keeps from call to call must never show in a result.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../sort/core/context.h"
#include "../test_scale.h"
#include "sort_inputs.h"
#include "sort_reference.h"

static psv_backend backend;
static psv_context *context;
static const char *only_method;
static uint64_t seed = 20251121;
static uint32_t scale = 1; // counts are divided by it
static long only_kind = -1;
static uint32_t most_calls = 1000;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s: %s", what, #call, psv_last_error(context));                            \
    } while (0)

typedef struct sequence {
    psv_sorter_def def;
    uint32_t calls;
    uint32_t most, least; // counts
} sequence;

typedef struct arrays {
    uint32_t *order;
    char *keys, *sorted, *values, *expected, *got;
    psv_buffer device_keys, device_values, device_count;
} arrays;

static void *grab(size_t bytes) {
    void *memory = malloc(bytes + 1);
    assert_non_null(memory);
    return memory;
}

static void compare(psv_buffer buffer, const void *expected, void *got, size_t bytes, const char *name,
                    const char *what) {
    if (bytes == 0) return;
    OK(psv_download(context, got, buffer, bytes));
    if (memcmp(got, expected, bytes) != 0) fail_msg("%s: %s differ from the reference", what, name);
}

// form 0: pairs, 1: keys, 2: index with the keys sorted, 3: index with the keys kept.
static void run_call(psv_sorter *sorter, const psv_sorter_def *def, key_distribution distribution, uint32_t count,
                     int form, bool indirect, uint64_t call_seed, arrays *a, const char *what) {
    const size_t key_bytes = psv_key_type_bytes(def->key_type), keys_bytes = count * key_bytes;
    const size_t value_bytes = form == 0 ? def->value_bytes : form == 1 ? 0 : 4;
    const uint64_t device_count = count;
    make_keys(def->key_type, distribution, call_seed, count, a->keys);
    reference_order(def, a->keys, count, a->order);
    uint64_t random = call_seed;
    for (size_t i = 0; i < count * value_bytes; i += 4) {
        const uint32_t word = (uint32_t)next_random(&random);
        memcpy(a->values + i, &word, sizeof word);
    }
    for (uint32_t i = 0; i < count; ++i) {
        memcpy(a->sorted + i * key_bytes, a->keys + a->order[i] * key_bytes, key_bytes);
        if (form == 0) memcpy(a->expected + i * value_bytes, a->values + a->order[i] * value_bytes, value_bytes);
        if (form > 1) memcpy(a->expected + i * value_bytes, &a->order[i], value_bytes);
    }
    if (count > 0) OK(psv_upload(context, a->device_keys, a->keys, keys_bytes));
    if (count > 0 && value_bytes > 0) OK(psv_upload(context, a->device_values, a->values, count * value_bytes));
    OK(psv_upload(context, a->device_count, &device_count, sizeof device_count));
    const psv_index_keys keep = form == 2 ? PSV_INDEX_KEYS_SORTED : PSV_INDEX_KEYS_KEPT;
    if (form == 0)
        OK(indirect ? psv_sort_pairs_indirect(sorter, a->device_keys, a->device_values, a->device_count)
                    : psv_sort_pairs(sorter, a->device_keys, a->device_values, count));
    else if (form == 1)
        OK(indirect ? psv_sort_keys_indirect(sorter, a->device_keys, a->device_count)
                    : psv_sort_keys(sorter, a->device_keys, count));
    else
        OK(indirect ? psv_sort_index_indirect(sorter, a->device_keys, a->device_values, a->device_count, keep)
                    : psv_sort_index(sorter, a->device_keys, a->device_values, count, keep));
    compare(a->device_keys, form == 3 ? a->keys : a->sorted, a->got, keys_bytes, "keys", what);
    compare(a->device_values, a->expected, a->got, count * value_bytes, "values", what);
}

static void run_sequence(const sequence *plan, const char *method, uint64_t number) {
    char what[256];
    (void)snprintf(what, sizeof what, "%s/%s sequence %llu seed %llu", psv_backend_name(backend), method,
                   (unsigned long long)number, (unsigned long long)seed);
    psv_sorter_def def = plan->def;
    def.method = method;
    def.max_count = plan->most;
    psv_sorter *sorter;
    const psv_status status = psv_create_sorter(context, &def, &sorter);
    if (status == PSV_ERROR_UNSUPPORTED) return;
    OK(status);
    const size_t most = plan->most;
    arrays a = {.order = grab(most * 4),
                .keys = grab(most * 8),
                .sorted = grab(most * 8),
                .values = grab(most * 8),
                .expected = grab(most * 8),
                .got = grab(most * 8)};
    OK(psv_alloc_buffer(context, most * 8, &a.device_keys));
    OK(psv_alloc_buffer(context, most * 8, &a.device_values));
    OK(psv_alloc_buffer(context, 8, &a.device_count));
    uint64_t random = seed + number;
    key_distribution distribution = KEYS_UNIFORM;
    uint32_t count = plan->most;
    for (uint32_t call = 0; call < plan->calls; ++call) {
        // Mostly as before. Keys without order come more often, so that others follow on them too.
        const uint64_t dice = next_random(&random);
        if (dice % 4 == 0 && call > 1) distribution = (key_distribution)(dice / 4 % KEYS_DISTRIBUTIONS);
        if (dice % 4 == 1 && call > 1) distribution = dice / 4 % 2 == 0 ? KEYS_UNIFORM : KEYS_GAUSSIAN;
        if (dice / 64 % 3 == 0) count = plan->least + (uint32_t)(dice / 1024 % (plan->most - plan->least + 1));
        if (dice / 256 % 29 == 0) count = (uint32_t)(dice / 1024 % 3);
        int form = (int)(dice >> 40 & 7);
        if (form > 3 || (form > 1 && def.value_bytes != 4)) form = 0;
        (void)snprintf(what, sizeof what,
                       "%s/%s sequence %llu call %u: %s %s count %u form %d bits [%u,%u) values %u seed %llu",
                       psv_backend_name(backend), method, (unsigned long long)number, call,
                       psv_key_type_name(def.key_type), key_distribution_name(distribution), count, form, def.begin_bit,
                       def.end_bit, def.value_bytes, (unsigned long long)seed);
        run_call(sorter, &def, distribution, count, form, dice >> 50 & 1, seed + 1000 * number + call, &a, what);
    }
    psv_free_buffer(context, &a.device_keys);
    psv_free_buffer(context, &a.device_values);
    psv_free_buffer(context, &a.device_count);
    free(a.order);
    free(a.keys);
    free(a.sorted);
    free(a.values);
    free(a.expected);
    free(a.got);
    psv_destroy_sorter(sorter);
}

static void run_methods(const sequence *plan, uint64_t number) {
    for (uint32_t m = 0; psv_sort_method_name(backend, m) != NULL; ++m) {
        const char *method = psv_sort_method_name(backend, m);
        if (only_method == NULL || strcmp(only_method, method) == 0) run_sequence(plan, method, number);
    }
}

static sequence plan_for(uint32_t kind, uint32_t least, uint32_t most, uint32_t calls) {
    sequence plan = {.def = psv_default_sorter_def(),
                     .calls = calls < most_calls ? calls : most_calls,
                     .least = least / scale,
                     .most = most / scale};
    plan.def.key_type = (psv_key_type)(kind % 6);
    plan.def.value_bytes = kind % 4 == 3 ? 8 : 4;
    plan.def.descending = kind % 5 == 2;
    plan.def.order_check = kind % 7 != 4;
    if (kind % 8 == 5) {
        plan.def.begin_bit = 3;
        plan.def.end_bit = 27;
    }
    if (kind % 8 == 7) plan.def.end_bit = 12;
    return plan;
}

// Counts of tens of thousands, in every kind.
static void test_kinds(void **state) {
    (void)state;
    const bool cuda = backend == PSV_BACKEND_CUDA;
    for (uint32_t kind = 0; kind < 24; ++kind) {
        if (kind % test_thinning() != 0 || (only_kind >= 0 && kind != only_kind)) continue;
        const sequence plan = plan_for(kind, cuda ? 30000 : 100, cuda ? 60000 + 3000 * kind : 5000, 20);
        run_methods(&plan, kind);
    }
}

// Counts up to what one chunk for each multiprocessor of an H200 holds, and beyond.
static void test_million(void **state) {
    (void)state;
    if (backend != PSV_BACKEND_CUDA || test_thinning() > 1) skip();
    static const struct {
        uint32_t kind, most, calls;
    } plans[] = {{0, 1216512, 10}, {1, 1300000, 10}, {2, 600000, 10}, {3, 820000, 10},
                 {4, 1000003, 10}, {0, 1210000, 10}, {0, 4200000, 6}, {2, 2700000, 6}};
    for (uint32_t p = 0; p < sizeof plans / sizeof *plans; ++p) {
        if (only_kind >= 0 && only_kind != 100 + (long)p) continue;
        const sequence plan = plan_for(plans[p].kind, plans[p].most / 2, plans[p].most, plans[p].calls);
        run_methods(&plan, 100 + p);
    }
}

int main(int argc, char **argv) {
    static const char usage[] = "usage: test_sort_repeat cpu|cuda [--method NAME] [--seed N] [--scale N] [--kind N]\n"
                                "                        [--calls N] [--blocks N]\n"
                                "--kind: only one sequence; --calls: of a sequence, at most; --blocks: as on a device "
                                "of so many multiprocessors without\n"
                                "clusters, counts divided by the scale\n";
    int blocks = 0;
    if (argc < 2 || psv_parse_backend(argv[1], &backend) != PSV_OK || backend == PSV_BACKEND_AUTO) {
        fprintf(stderr, "%s", usage);
        return 2;
    }
    for (int a = 2; a < argc; a += 2) {
        if (a + 1 < argc && strcmp(argv[a], "--method") == 0)
            only_method = argv[a + 1];
        else if (a + 1 < argc && strcmp(argv[a], "--seed") == 0)
            seed = strtoull(argv[a + 1], NULL, 0);
        else if (a + 1 < argc && strcmp(argv[a], "--scale") == 0)
            scale = (uint32_t)strtoul(argv[a + 1], NULL, 10);
        else if (a + 1 < argc && strcmp(argv[a], "--kind") == 0)
            only_kind = strtol(argv[a + 1], NULL, 10);
        else if (a + 1 < argc && strcmp(argv[a], "--calls") == 0)
            most_calls = (uint32_t)strtoul(argv[a + 1], NULL, 10);
        else if (a + 1 < argc && strcmp(argv[a], "--blocks") == 0)
            blocks = atoi(argv[a + 1]);
        else
            return fprintf(stderr, "%s", usage), 2;
    }
    if (scale == 0) scale = 1;
    if (!psv_backend_available(backend)) {
        printf("skipped: no usable %s device\n", argv[1]);
        return 77;
    }
    printf("backend %s, seed %llu\n", argv[1], (unsigned long long)seed);
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    if (psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(NULL));
        return 1;
    }
    if (blocks > 0 && blocks < context->info.multiprocessors) {
        context->info.multiprocessors = blocks;
        context->info.cluster_launch = false;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_million)};
    const int failures = cmocka_run_group_tests_name("sort_repeat", tests, NULL, NULL);
    psv_destroy_context(context);
    return failures;
}
