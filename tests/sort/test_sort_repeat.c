// One sorter of each method, many calls: keys like those of the call before, and suddenly others; other counts, forms,
// counts in the backend's memory. What a sorter keeps from call to call must never show in a result.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../core/context.h"
#include "../cases/sort_inputs.h"
#include "../cases/sort_reference.h"
#include "../test_scale.h"

#define CALLS_AHEAD 8 // of a sequence, whose results are made side by side and held
#define MOST_METHODS 32

static psv_backend backend;
static psv_context *context;
static const char *only_method;
static uint64_t seed = 20251121;
static uint32_t scale = 1; // counts are divided by it
static bool few_blocks;    // counts at which kernels change are small: under a sanitizer, too, all of them are run
static long only_kind = -1;
static uint32_t most_calls = 1000;
static bool large_on_cpu;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s: %s", what, #call, psv_last_error(context));                            \
    } while (0)

typedef struct sequence {
    psv_sorter_def def;
    uint32_t calls;
    uint32_t most, least; // counts
    // NULL, or a letter for each call: uniform, nearly, sorted, gaussian, few distinct; x: nearly with exceptions.
    const char *turns;
} sequence;

// What every method gets and has to answer.
typedef struct call {
    const psv_sorter_def *def;
    key_distribution distribution;
    uint32_t exceptions; // keys that change places with any others
    uint32_t count;
    int form; // 0: pairs, 1: keys, 2: index with the keys sorted, 3: index with the keys kept
    bool indirect;
    uint64_t seed;
    size_t keys_bytes, values_bytes;
    uint32_t *order;
    char *keys, *sorted, *values, *expected, *got;
} call;

typedef struct device_arrays {
    psv_buffer keys, values, count;
} device_arrays;

// The calls that the letters name, of about the largest count.
static void choose_turns(const sequence *plan, uint64_t number, call *calls) {
    for (uint32_t i = 0; i < plan->calls; ++i) {
        const char letter = plan->turns[i];
        const uint32_t count = plan->most - (i % 3 == 2 ? i : 0);
        const int form = plan->def.value_bytes == 4 ? (int)((number + i / 2) % 4) : 0;
        const size_t value_bytes = form == 0 ? plan->def.value_bytes : form == 1 ? 0 : 4;
        calls[i] = (call){.def = &plan->def,
                          .distribution = letter == 'u'   ? KEYS_UNIFORM
                                          : letter == 's' ? KEYS_SORTED
                                          : letter == 'g' ? KEYS_GAUSSIAN
                                          : letter == 'f' ? KEYS_FEW
                                          : letter == 'c' ? KEYS_CLUSTERED
                                                          : KEYS_NEARLY,
                          .exceptions = letter == 'x' ? 1 + i % 3 : 0,
                          .count = count,
                          .form = form,
                          .indirect = i % 4 == 3,
                          .seed = seed + 7000 * number + i,
                          .keys_bytes = count * (size_t)psv_key_type_bytes(plan->def.key_type),
                          .values_bytes = count * value_bytes};
    }
}

static void choose_calls(const sequence *plan, uint64_t number, call *calls) {
    if (plan->turns != NULL) {
        choose_turns(plan, number, calls);
        return;
    }
    uint64_t random = seed + number;
    key_distribution distribution = KEYS_UNIFORM;
    uint32_t count = plan->most;
    for (uint32_t i = 0; i < plan->calls; ++i) {
        // Mostly as before. Keys without order come more often, so that others follow on them too.
        const uint64_t dice = next_random(&random);
        if (dice % 4 == 0 && i > 1) distribution = (key_distribution)(dice / 4 % KEYS_DISTRIBUTIONS);
        if (dice % 4 == 1 && i > 1) distribution = dice / 4 % 2 == 0 ? KEYS_UNIFORM : KEYS_GAUSSIAN;
        if (dice / 64 % 3 == 0) count = plan->least + (uint32_t)(dice / 1024 % (plan->most - plan->least + 1));
        if (dice / 256 % 29 == 0) count = (uint32_t)(dice / 1024 % 3);
        int form = (int)(dice >> 40 & 7);
        if (form > 3 || (form > 1 && plan->def.value_bytes != 4)) form = 0;
        const size_t value_bytes = form == 0 ? plan->def.value_bytes : form == 1 ? 0 : 4;
        calls[i] = (call){.def = &plan->def,
                          .distribution = distribution,
                          .count = count,
                          .form = form,
                          .indirect = dice >> 50 & 1,
                          .seed = seed + 1000 * number + i,
                          .keys_bytes = count * (size_t)psv_key_type_bytes(plan->def.key_type),
                          .values_bytes = count * value_bytes};
    }
}

// Writes the keys, the values, and what has to come out.
static void *fill_call(void *argument) {
    call *c = argument;
    const size_t key_bytes = psv_key_type_bytes(c->def->key_type),
                 value_bytes = c->count ? c->values_bytes / c->count : 0;
    uint64_t random = c->seed;
    make_keys(c->def->key_type, c->distribution, c->seed, c->count, c->keys);
    for (uint32_t e = 0; e < c->exceptions && c->count > 0; ++e) {
        char *one = c->keys + next_random(&random) % c->count * key_bytes, kept[8];
        char *other = c->keys + next_random(&random) % c->count * key_bytes;
        memcpy(kept, one, key_bytes);
        memmove(one, other, key_bytes);
        memcpy(other, kept, key_bytes);
    }
    reference_order(c->def, c->keys, c->count, c->order);
    for (size_t i = 0; i < c->values_bytes; i += 4) {
        const uint32_t word = (uint32_t)next_random(&random);
        memcpy(c->values + i, &word, sizeof word);
    }
    for (uint32_t i = 0; i < c->count; ++i) {
        memcpy(c->sorted + i * key_bytes, c->keys + c->order[i] * key_bytes, key_bytes);
        if (c->form == 0) memcpy(c->expected + i * value_bytes, c->values + c->order[i] * value_bytes, value_bytes);
        if (c->form > 1) memcpy(c->expected + i * value_bytes, &c->order[i], value_bytes);
    }
    return NULL;
}

static void *grab(size_t bytes) {
    void *memory = malloc(bytes + 1);
    assert_non_null(memory);
    return memory;
}

// Fills some calls, each by a thread: sorting them plainly takes far longer than anything else here.
static void make_calls(call *calls, uint32_t count) {
    pthread_t threads[CALLS_AHEAD];
    for (uint32_t i = 0; i < count; ++i) {
        call *c = &calls[i];
        c->order = grab(c->count * sizeof *c->order);
        c->keys = grab(c->keys_bytes);
        c->sorted = grab(c->keys_bytes);
        c->values = grab(c->values_bytes);
        c->expected = grab(c->values_bytes);
        c->got = grab(c->keys_bytes > c->values_bytes ? c->keys_bytes : c->values_bytes);
    }
    for (uint32_t i = 0; i < count; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, fill_call, &calls[i]), 0);
    for (uint32_t i = 0; i < count; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void free_calls(call *calls, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        free(calls[i].order);
        free(calls[i].keys);
        free(calls[i].sorted);
        free(calls[i].values);
        free(calls[i].expected);
        free(calls[i].got);
    }
}

static void compare(psv_buffer buffer, const void *expected, void *got, size_t bytes, const char *name,
                    const char *what) {
    if (bytes == 0) return;
    OK(psv_download(context, got, buffer, bytes));
    if (memcmp(got, expected, bytes) != 0) fail_msg("%s: %s differ from the reference", what, name);
}

static void run_call(psv_sorter *sorter, const call *c, const device_arrays *on, const char *what) {
    const uint64_t device_count = c->count;
    if (c->keys_bytes > 0) OK(psv_upload(context, on->keys, c->keys, c->keys_bytes));
    if (c->values_bytes > 0) OK(psv_upload(context, on->values, c->values, c->values_bytes));
    OK(psv_upload(context, on->count, &device_count, sizeof device_count));
    const psv_index_keys keep = c->form == 2 ? PSV_INDEX_KEYS_SORTED : PSV_INDEX_KEYS_KEPT;
    if (c->form == 0)
        OK(c->indirect ? psv_sort_pairs_indirect(sorter, on->keys, on->values, on->count)
                       : psv_sort_pairs(sorter, on->keys, on->values, c->count));
    else if (c->form == 1)
        OK(c->indirect ? psv_sort_keys_indirect(sorter, on->keys, on->count)
                       : psv_sort_keys(sorter, on->keys, c->count));
    else
        OK(c->indirect ? psv_sort_index_indirect(sorter, on->keys, on->values, on->count, keep)
                       : psv_sort_index(sorter, on->keys, on->values, c->count, keep));
    compare(on->keys, c->form == 3 ? c->keys : c->sorted, c->got, c->keys_bytes, "keys", what);
    compare(on->values, c->expected, c->got, c->values_bytes, "values", what);
}

// A sorter of each method that takes the def; NULL for the others.
static uint32_t make_sorters(const sequence *plan, psv_sorter **sorters, const char *what) {
    uint32_t methods = 0;
    for (const char *name; (name = psv_sort_method_name(backend, methods)) != NULL; ++methods) {
        assert_true(methods < MOST_METHODS);
        sorters[methods] = NULL;
        if (only_method != NULL && strcmp(only_method, name) != 0) continue;
        psv_sorter_def def = plan->def;
        def.method = name;
        def.max_count = plan->most;
        const psv_status status = psv_create_sorter(context, &def, &sorters[methods]);
        if (status != PSV_ERROR_UNSUPPORTED) OK(status);
    }
    return methods;
}

// The calls of a sequence, one after another, each on the sorters of all methods.
static void run_sequence(const sequence *plan, uint64_t number) {
    char what[256];
    (void)snprintf(what, sizeof what, "%s sequence %llu seed %llu", psv_backend_name(backend),
                   (unsigned long long)number, (unsigned long long)seed);
    psv_sorter *sorters[MOST_METHODS];
    const uint32_t methods = make_sorters(plan, sorters, what);
    device_arrays on;
    const size_t most = plan->most;
    OK(psv_alloc_buffer(context, most * 8, &on.keys));
    OK(psv_alloc_buffer(context, most * 8, &on.values));
    OK(psv_alloc_buffer(context, 8, &on.count));
    call *calls = grab(plan->calls * sizeof *calls);
    choose_calls(plan, number, calls);
    for (uint32_t first = 0; first < plan->calls; first += CALLS_AHEAD) {
        const uint32_t ahead = plan->calls - first < CALLS_AHEAD ? plan->calls - first : CALLS_AHEAD;
        make_calls(calls + first, ahead);
        for (uint32_t i = first; i < first + ahead; ++i)
            for (uint32_t m = 0; m < methods; ++m) {
                if (sorters[m] == NULL) continue;
                const call *c = &calls[i];
                (void)snprintf(what, sizeof what,
                               "%s/%s sequence %llu call %u: %s %s count %u form %d bits [%u,%u) values %u seed %llu",
                               psv_backend_name(backend), psv_sort_method_name(backend, m), (unsigned long long)number,
                               i, psv_key_type_name(c->def->key_type), key_distribution_name(c->distribution), c->count,
                               c->form, c->def->begin_bit, c->def->end_bit, c->def->value_bytes,
                               (unsigned long long)seed);
                run_call(sorters[m], c, &on, what);
            }
        free_calls(calls + first, ahead);
    }
    free(calls);
    psv_free_buffer(context, &on.keys);
    psv_free_buffer(context, &on.values);
    psv_free_buffer(context, &on.count);
    for (uint32_t m = 0; m < methods; ++m)
        psv_destroy_sorter(sorters[m]);
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
        if (kind % test_thinning() != 0 || (only_kind >= 0 && (long)kind != only_kind)) continue;
        const sequence plan = plan_for(kind, cuda ? 30000 : 100, cuda ? 60000 + 3000 * kind : 5000, 20);
        run_sequence(&plan, kind);
    }
}

// Counts up to what one chunk for each multiprocessor of an H200 holds, and beyond.
static void test_million(void **state) {
    (void)state;
    if ((backend != PSV_BACKEND_CUDA && !large_on_cpu) || test_thinning() > 1) skip();
    static const struct {
        uint32_t kind, most, calls;
    } plans[] = {{0, 1216512, 10}, {1, 1300000, 10}, {2, 600000, 10}, {3, 820000, 10},
                 {4, 1000003, 10}, {0, 1210000, 10}, {0, 4200000, 6}, {2, 2700000, 6}};
    for (uint32_t p = 0; p < sizeof plans / sizeof *plans; ++p) {
        if (only_kind >= 0 && only_kind != 100 + (long)p) continue;
        const sequence plan = plan_for(plans[p].kind, plans[p].most / 2, plans[p].most, plans[p].calls);
        run_sequence(&plan, 100 + p);
    }
}

// Keys nearly in order, in order and without order in turn, which a sorter takes for what the calls before had, at the
// counts around which the CUDA `radix` changes kernels.
static void test_orders(void **state) {
    (void)state;
    if (backend != PSV_BACKEND_CUDA || test_kernels_only()) skip();
    if (only_method != NULL && strcmp(only_method, "radix") != 0) skip();
    const char *method = only_method;
    only_method = "radix";
    // Chunks that several for each multiprocessor begin at, that one holds; of the middle kernel; several at most.
    const uint32_t blocks = (uint32_t)context->info.multiprocessors;
    const uint32_t edges[] = {blocks * 9216 / 13 * 12, blocks * 9216, blocks * 16384, 5 * blocks * 7800, 12000000 - 1};
    static const char *const turns[] = {"nnnuunnnunss", "uunnnssnnuun", "ssunnxxxxnns", "nnuunngnnfnn", "unnuunnn"};
    for (uint32_t o = 0; o < 11; ++o) {
        const bool thinned = test_thinning() > 1;
        if (only_kind >= 0 && only_kind != 200 + (long)o) continue;
        if (thinned && !few_blocks && o % test_thinning() != 0) continue;
        if (o >= 8 && (scale > 1 || (thinned && few_blocks))) continue;
        // Floats, and values of 8 bytes, which have fewer kernels.
        sequence plan = plan_for(o == 3 ? 8 : o == 5 ? 19 : 0, 0, 0, (uint32_t)strlen(turns[o % 5]));
        // Last, pairs in the largest tiles: digits that most keys share, and others.
        plan.most = o == 10 ? 12000100 : edges[o / 2] + o % 2;
        plan.turns = o == 10 ? "cucu" : turns[o % 5];
        plan.def.order_check = true;
        // Fewer calls where the reference takes long.
        const uint32_t most = 12000000 / plan.most < 4 ? 4 : 12000000 / plan.most;
        if (plan.calls > most) plan.calls = most;
        run_sequence(&plan, o == 10 ? 212 : 200 + o);
    }
    only_method = method;
}

int main(int argc, char **argv) {
    static const char usage[] = "usage: test_sort_repeat cpu|cuda [--method NAME] [--seed N] [--scale N] [--kind N]\n"
                                "                        [--calls N] [--blocks N] [--large]\n"
                                "--kind: only one sequence; --calls: of a sequence, at most; --blocks: as on a device "
                                "of so many multiprocessors without\n"
                                "clusters, counts divided by the scale; --large: on the CPU too, the sequences of up "
                                "to 4.2 million\n";
    int blocks = 0;
    if (argc < 2 || psv_parse_backend(argv[1], &backend) != PSV_OK || backend == PSV_BACKEND_AUTO) {
        fprintf(stderr, "%s", usage);
        return 2;
    }
    for (int a = 2; a < argc; a += 2) {
        if (strcmp(argv[a], "--large") == 0) {
            large_on_cpu = true;
            --a;
        } else if (a + 1 < argc && strcmp(argv[a], "--method") == 0)
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
        few_blocks = true;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_orders),
                                       cmocka_unit_test(test_million)};
    const int failures = cmocka_run_group_tests_name("sort_repeat", tests, NULL, NULL);
    psv_destroy_context(context);
    return failures;
}
