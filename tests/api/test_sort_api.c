// Misuse of pairsieve/sort.h, each with its status and sentence.
#include <stdlib.h>

#include "expect.h"
#include "pairsieve/sort.h"

#define COUNT 100u

typedef struct fixture {
    psv_context *context;
    psv_sorter *sorter;
    uint32_t keys[COUNT + 1], values[COUNT + 1];
    psv_buffer key_buffer, value_buffer;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_CPU;
    EXPECT_OK(psv_create_context(&context_def, &f->context), NULL);
    psv_sorter_def def = psv_default_sorter_def();
    def.max_count = COUNT;
    EXPECT_OK(psv_create_sorter(f->context, &def, &f->sorter), f->context);
    f->key_buffer = psv_buffer_of(f->keys, COUNT * sizeof *f->keys);
    f->value_buffer = psv_buffer_of(f->values, COUNT * sizeof *f->values);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    psv_destroy_sorter(f->sorter);
    psv_destroy_context(f->context);
    free(f);
    return 0;
}

static psv_sorter_def good_def(void) {
    psv_sorter_def def = psv_default_sorter_def();
    def.max_count = COUNT;
    return def;
}

#define EXPECT_REFUSED_DEF(def, status, word, other_word)                                                              \
    do {                                                                                                               \
        psv_sorter *refused = (psv_sorter *)f;                                                                         \
        EXPECT_FAILURE(psv_create_sorter(f->context, &def, &refused), status, f->context, word, other_word);           \
        assert_null(refused);                                                                                          \
        assert_int_equal(psv_sorter_scratch_bytes(PSV_BACKEND_CPU, &def), 0);                                          \
    } while (0)

static void test_defs(void **state) {
    fixture *f = *state;
    psv_sorter *sorter;
    psv_sorter_def def = good_def();
    EXPECT_FAILURE(psv_create_sorter(NULL, &def, &sorter), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    EXPECT_FAILURE(psv_create_sorter(f->context, NULL, &sorter), PSV_ERROR_ARGUMENT, f->context, "def", "NULL");
    EXPECT_FAILURE(psv_create_sorter(f->context, &def, NULL), PSV_ERROR_ARGUMENT, f->context, "sorter", "NULL");
    def = (psv_sorter_def){.method = "radix", .max_count = COUNT};
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def", "psv_default_sorter_def");
    def = good_def(), def.method = NULL;
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def.method", "NULL");
    def = good_def(), def.key_type = (psv_key_type)15;
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def.key_type", "15");
    def = good_def(), def.value_bytes = 5;
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def.value_bytes", "5");
    def = good_def(), def.nan_policy = (psv_nan_policy)9;
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def.nan_policy", "9");
    def = good_def(), def.end_bit = 33;
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def.end_bit", "33");
    def = good_def(), def.begin_bit = 20, def.end_bit = 10;
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def.begin_bit", "20");
    def = good_def(), def.begin_bit = 40;
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def.begin_bit", "32");
    def = good_def(), def.max_count = 0;
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def.max_count", "4294967295");
    def = good_def(), def.max_count = (uint64_t)1 << 50;
    EXPECT_REFUSED_DEF(def, PSV_ERROR_ARGUMENT, "def.max_count", "1125899906842624");
}

static void test_unknown_method(void **state) {
    fixture *f = *state;
    psv_sorter_def def = good_def();
    def.method = "bogo";
    EXPECT_REFUSED_DEF(def, PSV_ERROR_UNSUPPORTED, "bogo", "cpu");
    // The sentence lists every method that works.
    for (uint32_t m = 0; psv_sort_method_name(PSV_BACKEND_CPU, m) != NULL; ++m)
        assert_non_null(strstr(psv_last_error(f->context), psv_sort_method_name(PSV_BACKEND_CPU, m)));
    // A name that is listed works, and has a description.
    for (uint32_t m = 0; psv_sort_method_name(PSV_BACKEND_CPU, m) != NULL; ++m) {
        psv_sorter *sorter;
        def.method = psv_sort_method_name(PSV_BACKEND_CPU, m);
        EXPECT_OK(psv_create_sorter(f->context, &def, &sorter), f->context);
        assert_string_equal(psv_sorter_method(sorter, COUNT), def.method);
        assert_non_null(psv_sort_method_description(PSV_BACKEND_CPU, def.method));
        psv_destroy_sorter(sorter);
    }
    assert_null(psv_sort_method_description(PSV_BACKEND_CPU, "bogo"));
    assert_null(psv_sort_method_description(PSV_BACKEND_CPU, NULL));
    assert_null(psv_sort_method_name(PSV_BACKEND_AUTO, 0));
    psv_destroy_sorter(NULL);
}

static void test_names(void **state) {
    (void)state;
    psv_key_type type = PSV_KEY_F64;
    EXPECT_FAILURE(psv_parse_key_type("u12", &type), PSV_ERROR_ARGUMENT, NULL, "u12", "u32, i32, f32, u64, i64, f64");
    EXPECT_FAILURE(psv_parse_key_type(NULL, &type), PSV_ERROR_ARGUMENT, NULL, "name", "NULL");
    EXPECT_FAILURE(psv_parse_key_type("u32", NULL), PSV_ERROR_ARGUMENT, NULL, "type", "NULL");
    assert_int_equal(type, PSV_KEY_F64);
    static const uint32_t bytes[] = {4, 4, 4, 8, 8, 8, 1, 1, 2, 2, 2, 2, 16, 16, 16};
    for (int t = PSV_KEY_U32; t <= PSV_KEY_BYTES16; ++t) {
        EXPECT_OK(psv_parse_key_type(psv_key_type_name((psv_key_type)t), &type), NULL);
        assert_int_equal(type, t);
        assert_int_equal(psv_key_type_bytes(type), bytes[t]);
    }
    assert_non_null(psv_key_type_name((psv_key_type)99));
}

static void test_scratch(void **state) {
    fixture *f = *state;
    psv_sorter_def def = good_def();
    const uint64_t bytes = psv_sorter_scratch_bytes(PSV_BACKEND_CPU, &def);
    assert_true(bytes > 0);
    char *memory = malloc(bytes), number[32];
    psv_sorter *sorter;
    def.scratch = psv_buffer_of(memory, bytes - 1);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)bytes);
    EXPECT_FAILURE(psv_create_sorter(f->context, &def, &sorter), PSV_ERROR_CAPACITY, f->context, "def.scratch", number);
    def.scratch = (psv_buffer){.gl_name = 7, .bytes = bytes};
    EXPECT_FAILURE(psv_create_sorter(f->context, &def, &sorter), PSV_ERROR_UNSUPPORTED, f->context, "def.scratch",
                   "GL");
    def.scratch = psv_buffer_of(memory, bytes);
    EXPECT_OK(psv_create_sorter(f->context, &def, &sorter), f->context);
    EXPECT_OK(psv_sort_pairs(sorter, f->key_buffer, f->value_buffer, COUNT), f->context);
    psv_destroy_sorter(sorter);
    free(memory);
    assert_int_equal(psv_sorter_scratch_bytes(PSV_BACKEND_CPU, NULL), 0);
}

static void *allocate_nothing(uint64_t bytes, void *user) {
    *(uint64_t *)user += bytes;
    return NULL;
}

static void release_nothing(void *address, uint64_t bytes, void *user) {
    (void)address;
    (void)bytes;
    (void)user;
}

static void test_no_memory(void **state) {
    fixture *f = *state;
    uint64_t asked = 0;
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_CPU;
    context_def.allocator = (psv_allocator){allocate_nothing, release_nothing, &asked};
    psv_context *context;
    EXPECT_OK(psv_create_context(&context_def, &context), NULL);
    psv_sorter *sorter = (psv_sorter *)f;
    psv_sorter_def def = good_def();
    EXPECT_FAILURE(psv_create_sorter(context, &def, &sorter), PSV_ERROR_MEMORY, context, "scratch", "100");
    assert_null(sorter);
    assert_true(asked > 0);
    psv_destroy_context(context);
}

static void test_sort_calls(void **state) {
    fixture *f = *state;
    const psv_buffer keys = f->key_buffer, values = f->value_buffer;
    EXPECT_FAILURE(psv_sort_pairs(NULL, keys, values, 1), PSV_ERROR_ARGUMENT, NULL, "sorter", "NULL");
    EXPECT_FAILURE(psv_sort_keys(NULL, keys, 1), PSV_ERROR_ARGUMENT, NULL, "sorter", "NULL");
    EXPECT_FAILURE(psv_sort_index(NULL, keys, values, 1, PSV_INDEX_KEYS_KEPT), PSV_ERROR_ARGUMENT, NULL, "sorter",
                   "NULL");
    EXPECT_FAILURE(psv_sort_pairs(f->sorter, keys, values, COUNT + 1), PSV_ERROR_CAPACITY, f->context, "101", "100");
    EXPECT_FAILURE(psv_sort_keys(f->sorter, keys, UINT64_MAX), PSV_ERROR_CAPACITY, f->context, "18446744073709551615",
                   "100");
    EXPECT_FAILURE(psv_sort_pairs(f->sorter, (psv_buffer){0}, values, 4), PSV_ERROR_ARGUMENT, f->context, "keys", "16");
    EXPECT_FAILURE(psv_sort_pairs(f->sorter, keys, (psv_buffer){0}, 4), PSV_ERROR_ARGUMENT, f->context, "values", "16");
    EXPECT_FAILURE(psv_sort_pairs(f->sorter, psv_sub_buffer(keys, 0, 12), values, 4), PSV_ERROR_ARGUMENT, f->context,
                   "keys holds 12", "16");
    EXPECT_FAILURE(psv_sort_pairs(f->sorter, keys, psv_sub_buffer(values, 4, 12), 4), PSV_ERROR_ARGUMENT, f->context,
                   "values holds 12", "16");
    EXPECT_FAILURE(psv_sort_pairs(f->sorter, psv_sub_buffer(keys, 2, 80), values, 4), PSV_ERROR_ARGUMENT, f->context,
                   "keys", "aligned to 4");
    EXPECT_FAILURE(psv_sort_pairs(f->sorter, keys, psv_sub_buffer(keys, 8, 80), 4), PSV_ERROR_ARGUMENT, f->context,
                   "keys and values", "overlap");
    EXPECT_FAILURE(psv_sort_pairs(f->sorter, (psv_buffer){.gl_name = 1, .bytes = 400}, values, 4),
                   PSV_ERROR_UNSUPPORTED, f->context, "keys", "GL");
    EXPECT_OK(psv_sort_pairs(f->sorter, keys, psv_sub_buffer(keys, 16, 80), 4), f->context); // side by side is fine
    EXPECT_OK(psv_sort_pairs(f->sorter, (psv_buffer){0}, (psv_buffer){0}, 0), f->context);
    EXPECT_OK(psv_sort_keys(f->sorter, keys, COUNT), f->context);
}

static void test_index_calls(void **state) {
    fixture *f = *state;
    const psv_buffer keys = f->key_buffer, index = f->value_buffer;
    EXPECT_FAILURE(psv_sort_index(f->sorter, keys, (psv_buffer){0}, 4, PSV_INDEX_KEYS_KEPT), PSV_ERROR_ARGUMENT,
                   f->context, "index", "16");
    EXPECT_FAILURE(psv_sort_index(f->sorter, keys, index, 4, (psv_index_keys)3), PSV_ERROR_ARGUMENT, f->context, "keep",
                   "3");
    EXPECT_FAILURE(psv_sort_index(f->sorter, keys, keys, 4, PSV_INDEX_KEYS_KEPT), PSV_ERROR_ARGUMENT, f->context,
                   "keys and index", "overlap");
    psv_sorter *keys_only;
    psv_sorter_def def = good_def();
    def.value_bytes = 0;
    EXPECT_OK(psv_create_sorter(f->context, &def, &keys_only), f->context);
    EXPECT_FAILURE(psv_sort_index(keys_only, keys, index, 4, PSV_INDEX_KEYS_KEPT), PSV_ERROR_ARGUMENT, f->context,
                   "def.value_bytes", "0");
    EXPECT_OK(psv_sort_pairs(keys_only, keys, (psv_buffer){0}, 4), f->context); // no values: nothing to give
    psv_destroy_sorter(keys_only);
}

static void test_indirect_calls(void **state) {
    fixture *f = *state;
    uint64_t number[2] = {4, 0};
    const psv_buffer keys = f->key_buffer, values = f->value_buffer, count = psv_buffer_of(number, sizeof number);
    EXPECT_FAILURE(psv_sort_keys_indirect(f->sorter, keys, (psv_buffer){0}), PSV_ERROR_ARGUMENT, f->context, "count",
                   "8");
    EXPECT_FAILURE(psv_sort_keys_indirect(f->sorter, keys, psv_sub_buffer(count, 4, 8)), PSV_ERROR_ARGUMENT, f->context,
                   "count", "aligned to 8");
    EXPECT_FAILURE(psv_sort_keys_indirect(f->sorter, psv_sub_buffer(keys, 0, 16), count), PSV_ERROR_ARGUMENT,
                   f->context, "keys", "400");
    EXPECT_FAILURE(psv_sort_pairs_indirect(NULL, keys, values, count), PSV_ERROR_ARGUMENT, NULL, "sorter", "NULL");
    EXPECT_FAILURE(psv_sort_index_indirect(f->sorter, keys, values, count, (psv_index_keys)7), PSV_ERROR_ARGUMENT,
                   f->context, "keep", "7");
    EXPECT_OK(psv_sort_pairs_indirect(f->sorter, keys, values, count), f->context);
}

static void test_hints(void **state) {
    fixture *f = *state;
    psv_sort_hint hint = {.likely_sorted = true};
    EXPECT_FAILURE(psv_set_sort_hint(NULL, &hint), PSV_ERROR_ARGUMENT, NULL, "sorter", "NULL");
    EXPECT_FAILURE(psv_set_sort_hint(f->sorter, NULL), PSV_ERROR_ARGUMENT, f->context, "hint", "NULL");
    EXPECT_OK(psv_set_sort_hint(f->sorter, &hint), f->context);
    hint.histograms = f->key_buffer;
    if (psv_sorter_digit_bits(f->sorter) == 0)
        EXPECT_FAILURE(psv_set_sort_hint(f->sorter, &hint), PSV_ERROR_UNSUPPORTED, f->context, "hint.histograms",
                       "radix");
    assert_int_equal(psv_sorter_digit_bits(NULL), 0);
    assert_string_equal(psv_sorter_method(NULL, 1), "");
}

static void test_gather_and_check(void **state) {
    fixture *f = *state;
    const psv_buffer keys = f->key_buffer, values = f->value_buffer;
    uint32_t order[COUNT] = {0};
    const psv_buffer index = psv_buffer_of(order, sizeof order);
    EXPECT_FAILURE(psv_gather_records(NULL, keys, values, 4, index, 4), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    EXPECT_FAILURE(psv_gather_records(f->context, keys, values, 0, index, 4), PSV_ERROR_ARGUMENT, f->context, "stride",
                   "0");
    EXPECT_FAILURE(psv_gather_records(f->context, keys, values, 400, index, 4), PSV_ERROR_ARGUMENT, f->context,
                   "target", "1600");
    EXPECT_FAILURE(psv_gather_records(f->context, (psv_buffer){0}, values, 4, index, 4), PSV_ERROR_ARGUMENT, f->context,
                   "source", "4");
    EXPECT_FAILURE(psv_gather_records(f->context, keys, keys, 4, index, 4), PSV_ERROR_ARGUMENT, f->context, "overlap",
                   "source");
    EXPECT_FAILURE(psv_gather_records(f->context, keys, values, 1, index, 101), PSV_ERROR_ARGUMENT, f->context, "index",
                   "404");
    EXPECT_OK(psv_gather_records(f->context, (psv_buffer){0}, (psv_buffer){0}, 4, index, 0), f->context);
    psv_order_result result[2];
    const psv_buffer target = psv_buffer_of(result, sizeof result);
    EXPECT_FAILURE(psv_check_order(NULL, keys, 4, target), PSV_ERROR_ARGUMENT, NULL, "sorter", "NULL");
    EXPECT_FAILURE(psv_check_order(f->sorter, keys, 101, target), PSV_ERROR_ARGUMENT, f->context, "keys", "404");
    EXPECT_FAILURE(psv_check_order(f->sorter, keys, UINT64_MAX / 2, target), PSV_ERROR_CAPACITY, f->context, "count",
                   "9223372036854775807");
    EXPECT_FAILURE(psv_check_order(f->sorter, keys, 4, psv_sub_buffer(target, 0, 8)), PSV_ERROR_ARGUMENT, f->context,
                   "result", "16");
    EXPECT_OK(psv_check_order(f->sorter, keys, 4, target), f->context);
    psv_sort_statistics statistics;
    EXPECT_FAILURE(psv_read_sort_statistics(NULL, &statistics), PSV_ERROR_ARGUMENT, NULL, "sorter", "NULL");
    EXPECT_FAILURE(psv_read_sort_statistics(f->sorter, NULL), PSV_ERROR_ARGUMENT, f->context, "statistics", "NULL");
}

// A sorted input takes no pass, and the sort shows up in the profile.
static void test_statistics_and_profile(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < COUNT; ++i)
        f->keys[i] = (i * 7919u) % 101u << 20 | i;
    EXPECT_OK(psv_enable_profile(f->context, true), f->context);
    psv_sort_statistics statistics;
    EXPECT_OK(psv_read_sort_statistics(f->sorter, &statistics), f->context);
    assert_string_equal(statistics.route, "none");
    assert_string_equal(statistics.veto, "none");
    EXPECT_OK(psv_sort_pairs(f->sorter, f->key_buffer, f->value_buffer, COUNT), f->context);
    EXPECT_OK(psv_read_sort_statistics(f->sorter, &statistics), f->context);
    assert_true(statistics.passes_run > 0);
    assert_string_equal(statistics.route, "cached");
    EXPECT_OK(psv_sort_pairs(f->sorter, f->key_buffer, f->value_buffer, COUNT), f->context);
    EXPECT_OK(psv_read_sort_statistics(f->sorter, &statistics), f->context);
    assert_int_equal(statistics.passes_run, 0);
    assert_true(statistics.passes_skipped > 0);
    assert_string_equal(statistics.route, "in_order");
    assert_string_equal(statistics.veto, "none");
    psv_profile profile;
    EXPECT_OK(psv_wait_profile(f->context, &profile), f->context);
    assert_int_equal(profile.frame, 2);
    assert_true(profile.phase_ms[PSV_PHASE_SORT] > 0 && profile.phase_ms[PSV_PHASE_SORT] <= profile.frame_ms);
    EXPECT_OK(psv_sort_pairs(f->sorter, f->key_buffer, f->value_buffer, 1), f->context);
    EXPECT_OK(psv_read_sort_statistics(f->sorter, &statistics), f->context);
    assert_string_equal(statistics.route, "copy");
    assert_int_equal(statistics.passes_run + statistics.passes_skipped, 0);
}

int main(void) {
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(test_defs),
        WITH_FIXTURE(test_unknown_method),
        WITH_FIXTURE(test_names),
        WITH_FIXTURE(test_scratch),
        WITH_FIXTURE(test_no_memory),
        WITH_FIXTURE(test_sort_calls),
        WITH_FIXTURE(test_index_calls),
        WITH_FIXTURE(test_indirect_calls),
        WITH_FIXTURE(test_hints),
        WITH_FIXTURE(test_gather_and_check),
        WITH_FIXTURE(test_statistics_and_profile),
    };
    return cmocka_run_group_tests_name("sort_api", tests, NULL, NULL);
}
