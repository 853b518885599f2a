// Every sorting method of a backend against the plain reference.
//   test_sort cpu|cuda [--seed N] [--method NAME] [--device PROFILE] [--every N]
//             [--part I/N] [--big] [--largest COUNT] [--kernel-case N [--kernel-count N]]
// --part: of N parts of the cases the one with number I, 0 to N - 1, for processes side by side. --device: the kernels
// that this method has for lesser devices (device_profiles.h). --kernel-case: only this one of the cases of each
// kernel, for sanitizers that take long; --kernel-count: with another count than its own.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/sort_reference.h"
#include "../test_scale.h"
#include "sort_big.h"
#include "sort_harness.h"

static long kernel_case = -1;
static uint32_t kernel_count; // 0: the case's own
static sort_harness harness = {.seed = 20261121, .largest = UINT64_MAX};

static sort_case base_case(psv_key_type type, key_distribution distribution, uint32_t count) {
    sort_case test = {.def = psv_default_sorter_def(), .distribution = distribution, .count = count};
    test.def.key_type = type;
    return test;
}

// Every key type, direction, NaN policy, value size and form, at the counts where edges are.
static void test_kinds(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 31, 32, 33, 1000};
    for (uint32_t kind = 0; kind < 6 * 2 * 2 * 3 * FORM_COUNT; ++kind) {
        sort_case test = base_case((psv_key_type)(kind % 6), KEYS_SPECIAL, 0);
        test.def.descending = kind / 6 % 2 != 0;
        test.def.nan_policy = kind / 12 % 2 != 0 ? PSV_NAN_BITWISE : PSV_NAN_LAST;
        test.def.value_bytes = 4 * (kind / 24 % 3);
        test.form = (sort_form)(kind / 72);
        if (test.form >= FORM_INDEX_SORTED && test.def.value_bytes == 0) continue;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            test.count = counts[c];
            test.indirect = c % 3 == 2;
            run_sort_case(&harness, &test);
        }
    }
}

// The same kinds at counts that take the parallel paths.
static void test_kinds_in_parallel(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 6 * 3 * FORM_COUNT; ++kind) {
        sort_case test = base_case((psv_key_type)(kind % 6), kind % 4 == 0 ? KEYS_SPECIAL : KEYS_UNIFORM, 100003);
        test.def.value_bytes = 4 * (kind / 6 % 3);
        test.form = (sort_form)(kind / 18);
        test.def.descending = kind % 5 == 0;
        test.indirect = kind % 7 == 0;
        if (test.form >= FORM_INDEX_SORTED && test.def.value_bytes == 0) continue;
        run_sort_case(&harness, &test);
    }
}

// Edges of tiles, blocks, warps and of the paths that methods choose by count.
static void test_counts(void **state) {
    (void)state;
    static const uint32_t odd[] = {4,    5,    7,     61,    96,    97,    127,    4863,  4864,
                                   4865, 9973, 14336, 14337, 32749, 65521, 104729, 131101};
    for (uint32_t power = 6; power <= 17; ++power) {
        for (uint32_t off = 0; off < 3; ++off) {
            sort_case test = base_case(PSV_KEY_U32, KEYS_UNIFORM, (1u << power) + off - 1);
            run_sort_case(&harness, &test);
        }
    }
    for (uint32_t tile = 1152; tile <= 9216; tile += 1152) {
        for (uint32_t off = 0; off < 3; ++off) {
            sort_case test = base_case(off == 1 ? PSV_KEY_U64 : PSV_KEY_U32, KEYS_UNIFORM, tile + off - 1);
            test.form = off == 2 ? FORM_INDEX_KEPT : FORM_PAIRS;
            run_sort_case(&harness, &test);
        }
    }
    for (size_t c = 0; c < sizeof odd / sizeof *odd; ++c) {
        sort_case test = base_case(c % 2 == 0 ? PSV_KEY_F32 : PSV_KEY_I64, KEYS_GAUSSIAN, odd[c]);
        run_sort_case(&harness, &test);
    }
}

static void test_distributions(void **state) {
    (void)state;
    static const uint32_t counts[] = {4099, 100003};
    for (uint32_t d = 0; d < KEYS_END; ++d) {
        if (d >= KEYS_DISTRIBUTIONS && d < KEYS_BLOB) continue; // those with some order have a test of their own
        for (uint32_t type = PSV_KEY_U32; type <= PSV_KEY_F64; ++type) {
            for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
                sort_case test = base_case((psv_key_type)type, (key_distribution)d, counts[c]);
                test.def.order_check = (d + type + c) % 3 != 0;
                test.def.descending = (d + type) % 4 == 3;
                run_sort_case(&harness, &test);
            }
        }
    }
    for (uint32_t d = 0; d < KEYS_DISTRIBUTIONS; ++d) {
        sort_case test = base_case(PSV_KEY_F32, (key_distribution)d, 300007);
        run_sort_case(&harness, &test);
        test.form = FORM_INDEX_UNDEFINED;
        test.def.key_type = PSV_KEY_U32;
        run_sort_case(&harness, &test);
    }
    for (uint32_t i = 0; i < 20; ++i) { // the lower digits need no passes; enough cases for runs that take few of all
        sort_case test = base_case((psv_key_type)(i % 4), KEYS_UPPER, i / 4 % 2 == 0 ? 100003 : 300007);
        test.form = (sort_form)(i % FORM_COUNT);
        test.def.descending = i % 3 == 1;
        if (i % 8 > 5) test.def.begin_bit = 11;
        run_sort_case(&harness, &test);
    }
}

static void test_bit_ranges(void **state) {
    (void)state;
    static const uint32_t counts[] = {33, 5003, 100003};
    uint64_t random = harness.seed;
    for (uint32_t r = 0; r < 48; ++r) {
        sort_case test = base_case((psv_key_type)(r % 6), r % 5 == 0 ? KEYS_SPECIAL : KEYS_UNIFORM, 0);
        const uint32_t width = 8 * psv_key_type_bytes(test.def.key_type);
        test.def.end_bit = 1 + (uint32_t)(next_random(&random) % width);
        test.def.begin_bit = (uint32_t)(next_random(&random) % (test.def.end_bit + 1));
        if (r % 8 == 7) test.def.begin_bit = test.def.end_bit; // nothing to compare
        test.def.descending = r % 3 == 1;
        test.form = (sort_form)(r / 6 % FORM_COUNT);
        test.indirect = r % 4 == 3;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            test.count = counts[c];
            run_sort_case(&harness, &test);
        }
    }
}

static void test_a_million(void **state) {
    (void)state;
    for (uint32_t off = 0; off < 3; ++off) {
        static const psv_key_type types[] = {PSV_KEY_F32, PSV_KEY_U32, PSV_KEY_U64};
        sort_case test = base_case(types[off], KEYS_UNIFORM, (1u << 20) - 1 + off);
        run_sort_case(&harness, &test);
    }
    sort_case nearly = base_case(PSV_KEY_U32, KEYS_NEARLY, 1000003);
    run_sort_case(&harness, &nearly);
}

static void run_options(const char *method, uint32_t count, uint32_t options) {
    const char *only = harness.only_method;
    if (only != NULL && strcmp(only, method) != 0) return;
    harness.only_method = method;
    for (uint32_t o = 0; o < options; ++o) {
        sort_case test = base_case(PSV_KEY_U32, o % 4 == 3 ? KEYS_NEARLY : KEYS_UNIFORM, count);
        test.def.radix4 = (psv_radix4_options){
            .digit_bits = 1 + o % 3, .scattered_mapping = o / 3 % 2 != 0, .order_check = (psv_order_check)(o / 2 % 3)};
        test.def.hybrid =
            (psv_hybrid_options){.buckets = 2u << 2 * o, .refine_steps = 1 + o % 2, .shuffle = o % 2 != 0};
        test.every_time = true;
        run_sort_case(&harness, &test);
    }
    harness.only_method = only;
}

// Each kernel at a small count that takes it; only radix has several by count.
static void test_every_kernel(void **state) {
    (void)state;
    static const struct {
        uint32_t count;
        psv_key_type type;
        sort_form form;
    } cases[] = {{33, PSV_KEY_U32, FORM_PAIRS},   {3001, PSV_KEY_U32, FORM_PAIRS},
                 {33, PSV_KEY_F32, FORM_KEYS},    {3001, PSV_KEY_U64, FORM_INDEX_UNDEFINED},
                 {20011, PSV_KEY_U32, FORM_KEYS}, {20011, PSV_KEY_U64, FORM_PAIRS},
                 {40009, PSV_KEY_F32, FORM_KEYS}, {40009, PSV_KEY_U64, FORM_PAIRS}};
    const char *only = harness.only_method;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        sort_case test = base_case(cases[c].type, KEYS_UNIFORM, cases[c].count);
        test.form = cases[c].form;
        test.every_time = true;
        if (kernel_case >= 0 && kernel_case != (long)c) continue;
        if (kernel_count != 0) test.count = kernel_count;
        if (test.count > 5000 && only != NULL && strcmp(only, "radix") != 0) continue;
        if (test.count > 5000) harness.only_method = "radix";
        run_sort_case(&harness, &test);
    }
    harness.only_method = only;
    if (harness.backend == PSV_BACKEND_CPU || kernel_case >= 0) return;
    run_options("radix4", 1001, 6);
    run_options("hybrid", 3001, 4);
}

// Around the counts at which the CUDA methods change kernels on devices of 132 multiprocessors.
static void test_path_edges(void **state) {
    (void)state;
    if (harness.backend != PSV_BACKEND_CUDA || harness.device != NULL) skip();
    static const uint32_t edges[] = {8192,   12288,  16384,   24576,   32768,   65536,   135168,  270336,
                                     540672, 811008, 1000000, 1081344, 1216512, 1622016, 2097152, 2162688};
    for (size_t e = 0; e < 3 * sizeof edges / sizeof *edges; ++e) {
        sort_case test = base_case(PSV_KEY_U32, e % 7 == 6 ? KEYS_CLUSTERED : KEYS_UNIFORM, edges[e / 3] + e % 3 - 1);
        test.form = e % 4 == 3 ? FORM_INDEX_UNDEFINED : FORM_PAIRS;
        if (e / 3 % 5 == 4) test.def.key_type = PSV_KEY_U64;
        run_sort_case(&harness, &test);
    }
}

// Counts that go digit by digit through all of device memory, in every kind.
static void test_large_counts(void **state) {
    (void)state;
    if (harness.backend != PSV_BACKEND_CUDA || test_thinning() > 1) skip();
    static const uint32_t counts[] = {2500009, 1500007, 4194304, 3000017};
    for (uint32_t kind = 0; kind < 30; ++kind) {
        sort_case test =
            base_case((psv_key_type)(kind % 6), (key_distribution)(kind % KEYS_DISTRIBUTIONS), counts[kind % 4]);
        if (kind < 12) test.distribution = KEYS_UNIFORM;
        if (kind == 24 || kind == 25) test.distribution = KEYS_UPPER;
        if (kind >= 26) test.distribution = kind % 2 == 0 ? KEYS_VALUES : KEYS_HALF;
        test.def.value_bytes = kind % 7 == 6 ? 8 : 4;
        test.form = kind % 7 == 6 ? FORM_PAIRS : (sort_form)(kind % FORM_COUNT);
        test.def.descending = kind % 8 == 5;
        test.def.order_check = kind % 9 != 8;
        test.indirect = kind % 11 == 3;
        test.histograms = kind % 13 == 4;
        if (kind % 10 == 7) {
            test.def.begin_bit = kind % 5;
            test.def.end_bit = 24 + kind % 8;
        }
        run_sort_case(&harness, &test);
    }
}

static void test_options(void **state) {
    (void)state;
    for (uint32_t o = 0; o < 36; ++o) {
        sort_case test = base_case(o % 2 == 0 ? PSV_KEY_U32 : PSV_KEY_F32,
                                   o % 5 == 0   ? KEYS_NEARLY
                                   : o % 5 == 1 ? KEYS_FEW
                                                : KEYS_UNIFORM,
                                   o % 3 == 0 ? 20011 : 3001);
        static const uint32_t buckets[] = {2, 3, 64, 1024, 8192};
        test.def.radix4 = (psv_radix4_options){
            .digit_bits = 1 + o % 3, .scattered_mapping = o / 3 % 2 != 0, .order_check = (psv_order_check)(o / 6 % 3)};
        test.def.radix4.separate_positions = test.def.radix4.scattered_mapping && o >= 18;
        test.def.hybrid =
            (psv_hybrid_options){.buckets = buckets[o % 5], .refine_steps = 1 + o % 4, .shuffle = o / 2 % 2 != 0};
        run_sort_case(&harness, &test);
    }
}

static void test_hints_and_scratch(void **state) {
    (void)state;
    static const uint32_t counts[] = {2, 1000, 20011, 100003};
    for (uint32_t i = 0; i < 24; ++i) {
        sort_case test = base_case((psv_key_type)(i % 6), i % 7 == 0 ? KEYS_SPECIAL : KEYS_UNIFORM, counts[i % 4]);
        test.histograms = i % 2 == 0;
        test.own_scratch = i % 3 != 0;
        test.def.descending = i % 5 == 0;
        if (i % 3 == 1) {
            test.def.begin_bit = 3;
            test.def.end_bit = 28;
        }
        run_sort_case(&harness, &test);
    }
}

static void test_workers(void **state) {
    (void)state;
    if (harness.backend != PSV_BACKEND_CPU) skip();
    static const int workers[] = {1, 2, 3, 8};
    for (size_t w = 0; w < sizeof workers / sizeof *workers; ++w) {
        for (uint32_t d = 0; d < KEYS_END; ++d) {
            if (d >= KEYS_DISTRIBUTIONS && d < KEYS_BLOB) continue;
            sort_case test = base_case(d % 2 == 0 ? PSV_KEY_U32 : PSV_KEY_F64, (key_distribution)d, 150001);
            test.worker_count = workers[w];
            run_sort_case(&harness, &test);
        }
        // Most keys of a bucket are equal: in every kind of element, also where positions are gathered.
        for (uint32_t i = 0; i < 6 * FORM_COUNT; ++i) {
            sort_case test = base_case((psv_key_type)(i % 6), i % 4 == 3 ? KEYS_CLUSTERED : KEYS_HALF, 120011);
            test.form = (sort_form)(i / 6);
            test.def.value_bytes = i % 5 == 4 && test.form == FORM_PAIRS ? 8 : 4;
            test.def.descending = i % 7 == 3;
            test.worker_count = workers[w];
            run_sort_case(&harness, &test);
        }
    }
}

// Arrays that begin anywhere, large enough for the CPU to write whole cache lines of them at once.
static void test_unaligned(void **state) {
    (void)state;
    enum { COUNT = 600011 };
    if (harness.backend != PSV_BACKEND_CPU) skip();
    psv_context *context = harness_context(&harness, 0);
    uint32_t *order = malloc(COUNT * sizeof *order);
    for (uint32_t i = 0; i<12; i += test_scale()> 1 ? 5 : 1) {
        psv_sorter_def def = psv_default_sorter_def();
        def.key_type = (psv_key_type)(i % 6);
        def.method = "radix";
        def.value_bytes = i % 4 == 3 ? 8 : 4;
        def.max_count = COUNT;
        const uint32_t key_bytes = psv_key_type_bytes(def.key_type), value_bytes = def.value_bytes;
        const uint32_t key_offset = key_bytes * (1 + i), value_offset = value_bytes * (i % 5);
        char *fresh = malloc((size_t)COUNT * key_bytes), *keys = malloc((size_t)COUNT * key_bytes + 128),
             *values = calloc(COUNT + 32, value_bytes);
        make_keys(def.key_type, KEYS_UNIFORM, harness.seed + i, COUNT, fresh);
        memcpy(keys + key_offset, fresh, (size_t)COUNT * key_bytes);
        for (uint32_t e = 0; e < COUNT; ++e)
            memcpy(values + value_offset + (size_t)e * value_bytes, &e, sizeof e);
        reference_order(&def, fresh, COUNT, order);
        psv_sorter *sorter;
        assert_int_equal(psv_create_sorter(context, &def, &sorter), PSV_OK);
        if (psv_sort_pairs(sorter, psv_buffer_of(keys + key_offset, (uint64_t)COUNT * key_bytes),
                           psv_buffer_of(values + value_offset, (uint64_t)COUNT * value_bytes), COUNT) != PSV_OK)
            fail_msg("%s", psv_last_error(context));
        for (uint32_t e = 0; e < COUNT; ++e)
            if (memcmp(values + value_offset + (size_t)e * value_bytes, &order[e], sizeof e) != 0 ||
                memcmp(keys + key_offset + (size_t)e * key_bytes, fresh + (size_t)order[e] * key_bytes, key_bytes) != 0)
                fail_msg("%s, values of %u: element %u differs", psv_key_type_name(def.key_type), value_bytes, e);
        psv_destroy_sorter(sorter);
        free(fresh);
        free(keys);
        free(values);
    }
    free(order);
}

// Keys that crowd: many equal ones, few values, a heavy tail, few bits, at counts that one block or cluster sorts.
static void test_crowds(void **state) {
    (void)state;
    static const key_distribution kinds[] = {KEYS_FEW,  KEYS_CLUSTERED, KEYS_BLOB,   KEYS_ZIPF,
                                             KEYS_HALF, KEYS_VALUES,    KEYS_FLOATS, KEYS_BITS};
    static const uint32_t counts[] = {70, 1000, 1500, 2049, 4096, 20011};
    enum { KINDS = sizeof kinds / sizeof *kinds, COUNTS = sizeof counts / sizeof *counts };
    for (uint32_t i = 0; i < 6 * KINDS * COUNTS; ++i) {
        sort_case test = base_case((psv_key_type)(i % 6), kinds[i / 6 % KINDS], counts[i / (6 * KINDS)]);
        test.def.value_bytes = i % 5 == 4 ? 8 : 4;
        test.def.descending = i % 7 == 3;
        test.form = i % 5 == 4 ? FORM_PAIRS : (sort_form)(i % 11 % FORM_COUNT);
        if (i % 4 == 3) {
            test.def.begin_bit = i % 13;
            test.def.end_bit = 20 + i % 12;
        }
        run_sort_case(&harness, &test);
    }
}

// Keys that differ in few bits, and now and then in others: calls of one sorter, so that it knows keys of both kinds.
static void test_rare_bits(void **state) {
    (void)state;
    static const uint32_t counts[] = {3000, 60000, 1500000};
    static const psv_key_type types[] = {PSV_KEY_U32, PSV_KEY_I32, PSV_KEY_U64};
    psv_context *context = harness_context(&harness, 0);
    for (uint32_t n = 0; n < 9; ++n) {
        const uint32_t count = counts[n / 3];
        psv_sorter_def def = psv_default_sorter_def();
        def.key_type = types[n % 3];
        def.method = "radix";
        def.max_count = count;
        def.descending = n % 2 != 0;
        const uint32_t key_bytes = psv_key_type_bytes(def.key_type);
        char *keys = malloc((size_t)count * key_bytes), *sorted = malloc((size_t)count * key_bytes);
        uint32_t *order = malloc(count * sizeof *order), *index = malloc(count * sizeof *index);
        psv_buffer key_buffer, index_buffer;
        psv_sorter *sorter;
        assert_int_equal(psv_create_sorter(context, &def, &sorter), PSV_OK);
        assert_int_equal(psv_alloc_buffer(context, (uint64_t)count * key_bytes, &key_buffer), PSV_OK);
        assert_int_equal(psv_alloc_buffer(context, count * sizeof *index, &index_buffer), PSV_OK);
        for (uint32_t call = 0; call < 6; ++call) {
            make_keys(def.key_type, KEYS_BITS, harness.seed + 10 * n + call, count, keys);
            for (uint32_t at = 1234 + call; call % 2 != 0 && at < count; at += 50021)
                keys[(size_t)at * key_bytes + call / 2] ^= 8;
            for (uint32_t i = 0; i < count; ++i)
                index[i] = i;
            reference_order(&def, keys, count, order);
            assert_int_equal(psv_upload(context, key_buffer, keys, (uint64_t)count * key_bytes), PSV_OK);
            assert_int_equal(psv_upload(context, index_buffer, index, count * sizeof *index), PSV_OK);
            if (psv_sort_pairs(sorter, key_buffer, index_buffer, count) != PSV_OK)
                fail_msg("%s", psv_last_error(context));
            assert_int_equal(psv_download(context, sorted, key_buffer, (uint64_t)count * key_bytes), PSV_OK);
            assert_int_equal(psv_download(context, index, index_buffer, count * sizeof *index), PSV_OK);
            for (uint32_t i = 0; i < count; ++i)
                if (index[i] != order[i] ||
                    memcmp(sorted + (size_t)i * key_bytes, keys + (size_t)order[i] * key_bytes, key_bytes) != 0)
                    fail_msg("%s, %u items, call %u: item %u differs", psv_key_type_name(def.key_type), count, call, i);
        }
        psv_free_buffer(context, &key_buffer);
        psv_free_buffer(context, &index_buffer);
        psv_destroy_sorter(sorter);
        free(keys);
        free(sorted);
        free(order);
        free(index);
    }
}

// An order of the context's own memory for psv_check_order, and records of odd sizes.
static void test_check_order(void **state) {
    (void)state;
    psv_context *context = harness_context(&harness, 0);
    static const uint32_t counts[] = {0, 1, 2, 255, 256, 257, 5003, 200003};
    const uint32_t step = test_kernels_only() ? 44 : test_thinning() > 1 ? 5 : 1;
    for (uint32_t i = 0; i < 6 * KEYS_DISTRIBUTIONS; i += step) {
        psv_sorter_def def = psv_default_sorter_def();
        def.key_type = (psv_key_type)(i % 6);
        def.method = psv_sort_method_name(harness.backend, 0);
        def.max_count = 1;
        def.descending = i % 4 == 3;
        if (i % 3 == 2) def.begin_bit = 9;
        psv_sorter *sorter;
        assert_int_equal(psv_create_sorter(context, &def, &sorter), PSV_OK);
        const uint32_t count = counts[i % 8], bytes = psv_key_type_bytes(def.key_type);
        void *keys = malloc((size_t)count * bytes + 1);
        make_keys(def.key_type, (key_distribution)(i / 6), harness.seed, count, keys);
        psv_buffer buffer, result;
        assert_int_equal(psv_alloc_buffer(context, (uint64_t)count * bytes, &buffer), PSV_OK);
        assert_int_equal(psv_alloc_buffer(context, sizeof(psv_order_result), &result), PSV_OK);
        assert_int_equal(psv_upload(context, buffer, keys, (uint64_t)count * bytes), PSV_OK);
        if (psv_check_order(sorter, buffer, count, result) != PSV_OK) fail_msg("%s", psv_last_error(context));
        psv_order_result found;
        assert_int_equal(psv_download(context, &found, result, sizeof found), PSV_OK);
        const psv_order_result expected = reference_descents(&def, keys, count);
        assert_int_equal(found.descents, expected.descents);
        assert_int_equal(found.first, expected.first);
        psv_free_buffer(context, &buffer);
        psv_free_buffer(context, &result);
        psv_destroy_sorter(sorter);
        free(keys);
    }
}

static void test_gather_records(void **state) {
    (void)state;
    psv_context *context = harness_context(&harness, 0);
    static const uint32_t strides[] = {1, 2, 3, 4, 7, 8, 12, 16, 20, 24, 32, 33, 64, 100, 256, 1000};
    static const uint32_t counts[] = {0, 1, 33, 1000, 30011};
    uint64_t random = harness.seed;
    const uint32_t step = test_kernels_only() ? 37 : test_thinning() > 1 ? 7 : 1;
    for (uint32_t i = 0; i < 16 * 5; i += step) {
        const uint32_t stride = strides[i % 16], count = counts[i / 16], records = count / 2 + 1;
        uint8_t *source = malloc((size_t)records * stride), *target = malloc((size_t)count * stride + 64);
        uint32_t *index = malloc(count * sizeof *index + 4);
        for (size_t b = 0; b < (size_t)records * stride; ++b)
            source[b] = (uint8_t)next_random(&random);
        for (uint32_t r = 0; r < count; ++r)
            index[r] = (uint32_t)(next_random(&random) % records);
        psv_buffer buffers[3];
        const uint64_t bytes[3] = {(uint64_t)records * stride, (uint64_t)count * stride + 64, count * sizeof *index};
        for (int b = 0; b < 3; ++b)
            assert_int_equal(psv_alloc_buffer(context, bytes[b], &buffers[b]), PSV_OK);
        memset(target, 0x5a, bytes[1]);
        assert_int_equal(psv_upload(context, buffers[0], source, bytes[0]), PSV_OK);
        assert_int_equal(psv_upload(context, buffers[1], target, bytes[1]), PSV_OK);
        assert_int_equal(psv_upload(context, buffers[2], index, bytes[2]), PSV_OK);
        if (psv_gather_records(context, buffers[0], buffers[1], stride, buffers[2], count) != PSV_OK)
            fail_msg("%s", psv_last_error(context));
        assert_int_equal(psv_download(context, target, buffers[1], bytes[1]), PSV_OK);
        for (uint32_t r = 0; r < count; ++r)
            if (memcmp(target + (size_t)r * stride, source + (size_t)index[r] * stride, stride) != 0)
                fail_msg("record %u of %u bytes is not the one that was asked for (seed %llu)", r, stride,
                         (unsigned long long)harness.seed);
        for (uint32_t b = 0; b < 64; ++b)
            assert_int_equal(target[(size_t)count * stride + b], 0x5a);
        for (int b = 0; b < 3; ++b)
            psv_free_buffer(context, &buffers[b]);
        free(source);
        free(target);
        free(index);
    }
}

// A count in the backend's memory that is larger than max_count is taken as max_count.
static void test_indirect_over_max(void **state) {
    (void)state;
    psv_context *context = harness_context(&harness, 0);
    for (uint32_t m = 0; psv_sort_method_name(harness.backend, m) != NULL; ++m) {
        enum { COUNT = 1000 };
        psv_sorter_def def = psv_default_sorter_def();
        def.method = psv_sort_method_name(harness.backend, m);
        def.max_count = COUNT;
        psv_sorter *sorter;
        assert_int_equal(psv_create_sorter(context, &def, &sorter), PSV_OK);
        uint32_t keys[COUNT + 1], sorted[COUNT + 1];
        make_keys(PSV_KEY_U32, KEYS_UNIFORM, harness.seed, COUNT, keys);
        keys[COUNT] = 0; // would come first if it were sorted
        const uint64_t count = UINT64_MAX;
        psv_buffer key_buffer, count_buffer;
        assert_int_equal(psv_alloc_buffer(context, sizeof keys, &key_buffer), PSV_OK);
        assert_int_equal(psv_alloc_buffer(context, sizeof count, &count_buffer), PSV_OK);
        assert_int_equal(psv_upload(context, key_buffer, keys, sizeof keys), PSV_OK);
        assert_int_equal(psv_upload(context, count_buffer, &count, sizeof count), PSV_OK);
        if (psv_sort_keys_indirect(sorter, key_buffer, count_buffer) != PSV_OK)
            fail_msg("%s: %s", def.method, psv_last_error(context));
        assert_int_equal(psv_download(context, sorted, key_buffer, sizeof sorted), PSV_OK);
        for (uint32_t i = 0; i + 1 < COUNT; ++i)
            if (sorted[i] > sorted[i + 1]) fail_msg("%s: not sorted at %u", def.method, i);
        assert_int_equal(sorted[COUNT], 0);
        psv_free_buffer(context, &key_buffer);
        psv_free_buffer(context, &count_buffer);
        psv_destroy_sorter(sorter);
    }
}

static void test_big(void **state) {
    (void)state;
    run_big_sorts(&harness);
}

static int usage(void) {
    fprintf(stderr, "usage: test_sort cpu|cuda [--seed N] [--method NAME] [--device PROFILE]\n"
                    "       [--every N] [--part I/N] [--big] [--largest COUNT] [--kernel-case N [--kernel-count N]]\n");
    return 2;
}

static bool parse_part(const char *text) {
    char *end = NULL;
    harness.part = (uint32_t)strtoul(text, &end, 10);
    harness.parts = *end == '/' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
    return harness.part < harness.parts;
}

static bool parse_device(const char *name) {
    harness.device = find_device_profile(name);
    return harness.device != NULL;
}

int main(int argc, char **argv) {
    bool big = false;
    if (argc < 2 || psv_parse_backend(argv[1], &harness.backend) != PSV_OK || harness.backend == PSV_BACKEND_AUTO)
        return usage();
    for (int a = 2; a < argc; ++a) {
        if (strcmp(argv[a], "--big") == 0)
            big = true;
        else if (strcmp(argv[a], "--seed") == 0 && a + 1 < argc)
            harness.seed = strtoull(argv[++a], NULL, 0);
        else if (strcmp(argv[a], "--method") == 0 && a + 1 < argc)
            harness.only_method = argv[++a];
        else if (strcmp(argv[a], "--kernel-case") == 0 && a + 1 < argc)
            kernel_case = strtol(argv[++a], NULL, 10);
        else if (strcmp(argv[a], "--kernel-count") == 0 && a + 1 < argc)
            kernel_count = (uint32_t)strtoul(argv[++a], NULL, 10);
        else if (strcmp(argv[a], "--largest") == 0 && a + 1 < argc)
            harness.largest = strtoull(argv[++a], NULL, 0);
        else if (strcmp(argv[a], "--every") == 0 && a + 1 < argc)
            harness.every = (uint32_t)strtoul(argv[++a], NULL, 10);
        else if (strcmp(argv[a], "--device") == 0 && a + 1 < argc && parse_device(argv[a + 1]))
            ++a;
        else if (strcmp(argv[a], "--part") == 0 && a + 1 < argc && parse_part(argv[a + 1]))
            ++a;
        else
            return usage();
    }
    if (!psv_backend_available(harness.backend)) {
        printf("skipped: no usable %s device\n", argv[1]);
        return 77;
    }
    if (big && test_thinning() > 1) {
        printf("skipped: large counts are not thinned out\n");
        return 77;
    }
    printf("backend %s, seed %llu\n", argv[1], (unsigned long long)harness.seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_kinds_in_parallel),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_crowds),
        cmocka_unit_test(test_rare_bits),
        cmocka_unit_test(test_bit_ranges),
        cmocka_unit_test(test_a_million),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_hints_and_scratch),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_check_order),
        cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_gather_records),
        cmocka_unit_test(test_indirect_over_max),
        cmocka_unit_test(test_path_edges),
        cmocka_unit_test(test_large_counts),
        cmocka_unit_test(test_every_kernel),
    };
    const struct CMUnitTest kernel_tests[] = {
        cmocka_unit_test(test_every_kernel),
        cmocka_unit_test(test_check_order),
        cmocka_unit_test(test_gather_records),
    };
    const struct CMUnitTest big_tests[] = {cmocka_unit_test(test_big)};
    const struct CMUnitTest case_tests[] = {cmocka_unit_test(test_every_kernel)};
    const int failures = kernel_case >= 0      ? cmocka_run_group_tests_name("sort_case", case_tests, NULL, NULL)
                         : big                 ? cmocka_run_group_tests_name("sort_big", big_tests, NULL, NULL)
                         : test_kernels_only() ? cmocka_run_group_tests_name("sort_kernels", kernel_tests, NULL, NULL)
                                               : cmocka_run_group_tests_name("sort", tests, NULL, NULL);
    printf("%llu sorts compared; %llu cases refused by methods that do not serve them\n",
           (unsigned long long)harness.runs, (unsigned long long)harness.refusals);
    close_harness(&harness);
    return failures;
}
