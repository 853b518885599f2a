// Input with some order on the CPU's `radix`, which looks for it: every shape in every kind, counts about its limits,
// one to eight threads, against the plain reference; and whether it took the way that is meant for the shape.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../sort/cpu/radix_near_kernels.h"
#include "../../sort/cpu/sort_cpu_tuning.h"
#include "../test_scale.h"
#include "sort_harness.h"

static sort_harness harness = {.backend = PSV_BACKEND_CPU, .only_method = "radix", .seed = 20261122};

static const key_distribution shapes[] = {KEYS_NEARLY, KEYS_MOVED,   KEYS_MOVED_FAR, KEYS_REPLACED,
                                          KEYS_MIXED,  KEYS_HALVES,  KEYS_PILED,     KEYS_SAWTOOTH,
                                          KEYS_STEPS,  KEYS_SWAPPED, KEYS_FALLING,   KEYS_REVERSED};
#define SHAPES (sizeof shapes / sizeof *shapes)

static sort_case base_case(psv_key_type type, key_distribution distribution, uint32_t count) {
    sort_case test = {
        .def = psv_default_sorter_def(), .distribution = distribution, .count = count, .every_time = true};
    test.def.key_type = type;
    return test;
}

// Key types, directions, value sizes, forms, with memory of the caller's and counts in memory.
static void test_shapes(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 6 * SHAPES * 4; ++kind) {
        sort_case test =
            base_case((psv_key_type)(kind % 6), shapes[kind / 6 % SHAPES], kind % 11 == 0 ? 120011 : 10007);
        const uint32_t turn = kind / 6 + kind / (6 * SHAPES);
        test.form = (sort_form)(turn % FORM_COUNT);
        test.def.value_bytes = turn % FORM_COUNT == FORM_PAIRS ? 4 * (kind % 3) : 4;
        test.def.descending = turn % 3 == 1;
        test.def.nan_policy = kind % 2 == 0 ? PSV_NAN_LAST : PSV_NAN_BITWISE;
        test.own_scratch = kind % 5 == 0;
        test.indirect = kind % 7 == 0;
        run_sort_case(&harness, &test);
    }
}

// Few bits make most keys equal, and equal keys lie at the borders of chunks.
static void test_bit_ranges(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 6 * SHAPES; ++kind) {
        sort_case test = base_case((psv_key_type)(kind % 6), shapes[kind / 6], kind % 4 == 0 ? 100003 : 9001);
        const uint32_t width = 8 * psv_key_type_bytes(test.def.key_type), turn = kind / 6 + kind % 6;
        test.def.end_bit = width - turn % 3;
        test.def.begin_bit = width - 3 - turn % 20;
        test.def.value_bytes = 4 + kind % 2 * 4;
        test.def.descending = kind % 4 == 1;
        run_sort_case(&harness, &test);
    }
}

// About multiples of a chunk, the least count and the counts at which threads join in.
static void test_counts(void **state) {
    (void)state;
    uint32_t counts[64], number = 0;
    for (uint32_t chunks = 7; chunks < 17; ++chunks)
        for (uint32_t off = 0; off < 3; ++off)
            counts[number++] = chunks * NEAR_CHUNK + off - 1;
    for (uint32_t chunks = 32; chunks <= 64; chunks *= 2)
        for (uint32_t off = 0; off < 3; ++off)
            counts[number++] = chunks * NEAR_CHUNK + off * (NEAR_CHUNK / 2) - 1;
    for (uint32_t off = 0; off < 3; ++off) {
        counts[number++] = RADIX_CACHED_MAX + off - 1;
        counts[number++] = 2 * RADIX_CACHED_MAX + off - 1;
    }
    for (uint32_t c = 0; c < number; ++c)
        for (uint32_t s = 0; s < SHAPES; ++s) {
            sort_case test = base_case((c + s) % 3 == 2 ? PSV_KEY_F64 : PSV_KEY_U32, shapes[s], counts[c]);
            test.form = (c + s) % 4 == 1 ? FORM_KEYS : FORM_PAIRS;
            run_sort_case(&harness, &test);
        }
}

static void test_workers(void **state) {
    (void)state;
    static const int workers[] = {1, 2, 3, 8};
    for (uint32_t w = 0; w < sizeof workers / sizeof *workers; ++w)
        for (uint32_t s = 0; s < SHAPES; ++s) {
            sort_case test = base_case(s % 3 == 1 ? PSV_KEY_I64 : PSV_KEY_U32, shapes[s], 450001 - 1000 * s);
            test.worker_count = workers[w];
            test.form = (w + s) % 3 == 1 ? FORM_INDEX_SORTED : FORM_PAIRS;
            run_sort_case(&harness, &test);
        }
}

// Codes out of any order, in one group of columns and in several.
static void test_codes(void **state) {
    (void)state;
    if (!psvi_near_can_order()) skip();
    uint64_t random = harness.seed;
    enum { MOST = 4 * NEAR_GROUP };
    uint32_t codes[MOST], rows[NEAR_ROWS * (MOST / NEAR_ROWS + 8)];
    for (uint32_t turn = 0; turn < 400; ++turn) {
        const uint32_t count = 1 + (uint32_t)(next_random(&random) % MOST), places = psvi_near_place_bits(count);
        // Key bits from none, so that all agree, to all, where hardly any do.
        const uint32_t key_bits = turn % (33 - places), last = turn % 5;
        for (uint32_t i = 0; i < count; ++i) {
            uint64_t key = next_random(&random) & (((uint64_t)1 << key_bits) - 1);
            if (last == 1) key = ((uint64_t)(count - i) << key_bits) / (count + 1); // falling
            if (last == 2) key = ((uint64_t)(i ^ 40) << key_bits) / (count + 64);   // near
            codes[i] = (uint32_t)key << places | i;
        }
        const bool differ = psvi_near_order(codes, count, rows);
        const size_t columns = psvi_near_columns(count);
        bool seen[MOST] = {false};
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t code = rows[i % NEAR_ROWS * columns + i / NEAR_ROWS];
            const uint32_t before = i == 0 ? 0 : rows[(i - 1) % NEAR_ROWS * columns + (i - 1) / NEAR_ROWS];
            const uint32_t place = code & ((1u << places) - 1);
            if (place >= count || seen[place]) fail_msg("turn %u, %u codes: place %u at %u", turn, count, place, i);
            if (i > 0 && before >= code) fail_msg("turn %u, %u codes: not in order at %u", turn, count, i);
            if (i > 0 && before >> places == code >> places && differ)
                fail_msg("turn %u, %u codes: the keys of %u and %u agree", turn, count, i - 1, i);
            seen[place] = true;
        }
    }
}

// Which way was taken, and that ways by order make no digit passes.
static void test_ways(void **state) {
    (void)state;
    static const struct {
        key_distribution distribution;
        bool ordered, order_check;
    } ways[] = {{KEYS_NEARLY, true, true},     {KEYS_MOVED, true, true},    {KEYS_REPLACED, true, true},
                {KEYS_MIXED, true, true},      {KEYS_STEPS, true, true},    {KEYS_REVERSED, true, true},
                {KEYS_FALLING, true, true},    {KEYS_UNIFORM, false, true}, {KEYS_HALVES, false, true},
                {KEYS_MOVED_FAR, false, true}, {KEYS_NEARLY, false, false}, {KEYS_REVERSED, false, false}};
    static const uint32_t counts[] = {10007, 250007};
    for (uint32_t i = 0; i < 2 * sizeof ways / sizeof *ways; ++i) {
        const uint32_t count = counts[i % 2];
        const key_distribution distribution = ways[i / 2].distribution;
        psv_context *context = harness_context(&harness, 2);
        psv_sorter_def def = psv_default_sorter_def();
        def.method = "radix";
        def.value_bytes = 0;
        def.max_count = count;
        def.order_check = ways[i / 2].order_check;
        psv_sorter *sorter;
        assert_int_equal(psv_create_sorter(context, &def, &sorter), PSV_OK);
        uint32_t *keys = malloc(count * sizeof *keys);
        assert_non_null(keys);
        make_keys(PSV_KEY_U32, distribution, harness.seed, count, keys);
        assert_int_equal(psv_sort_keys(sorter, psv_buffer_of(keys, count * sizeof *keys), count), PSV_OK);
        psv_sort_statistics statistics;
        assert_int_equal(psv_read_sort_statistics(sorter, &statistics), PSV_OK);
        const bool mixed = distribution == KEYS_MIXED; // digits are as fast in the cache
        const bool moved = mixed || distribution == KEYS_NEARLY || distribution == KEYS_MOVED;
        const bool ordered =
            ways[i / 2].ordered && (!moved || psvi_near_can_order()) && (!mixed || count > RADIX_CACHED_MAX);
        const char *route = ordered ? "nearly" : count <= RADIX_CACHED_MAX ? "cached" : "split";
        if ((statistics.passes_run == 0) != ordered || strcmp(statistics.route, route) != 0)
            fail_msg("%s, count %u: route %s of %u passes, where %s is expected", key_distribution_name(distribution),
                     count, statistics.route, statistics.passes_run, route);
        for (uint32_t k = 1; k < count; ++k)
            if (keys[k - 1] > keys[k]) fail_msg("%s: not sorted at %u", key_distribution_name(distribution), k);
        psv_destroy_sorter(sorter);
        free(keys);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) harness.seed = strtoull(argv[1], NULL, 0);
    printf("seed %llu\n", (unsigned long long)harness.seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),  cmocka_unit_test(test_bit_ranges), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_workers), cmocka_unit_test(test_codes),      cmocka_unit_test(test_ways),
    };
    const int failures = cmocka_run_group_tests_name("sort_near", tests, NULL, NULL);
    printf("%llu sorts compared\n", (unsigned long long)harness.runs);
    close_harness(&harness);
    return failures;
}
