// Segmented sorts against the plain stable sort, segment by segment: mixtures of lengths, key types, forms, counts in
// device memory, memory of the caller's, and offsets that are wrong in every way, after which nothing may have been
// written.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/backend_main.h"
#include "../cases/sort_reference.h"
#include "../test_scale.h"
#include "sort_calls.h"

static psv_backend backend;
static psv_context *context;
static uint64_t seed = 20261126, cases = 400, elements = 60000;
#define MOST_ELEMENTS ((uint32_t)elements)

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s: %s", what, #call, psv_last_error(context));                            \
    } while (0)

typedef enum lengths_kind {
    LENGTHS_ANY,    // 0 to 70
    LENGTHS_TINY,   // 0 to 4
    LENGTHS_EDGES,  // about the lengths at which a way ends
    LENGTHS_ZIPF,   // a few long ones, many short ones
    LENGTHS_EMPTY,  // nearly all empty
    LENGTHS_ONE,    // one segment
    LENGTHS_MIDDLE, // 100 to 1,100
    LENGTHS_LONG,   // 3,000 to 20,000
    LENGTHS_EQUAL,  // all alike
    LENGTHS_KINDS
} lengths_kind;

static const char *const lengths_names[] = {"any", "tiny", "edges", "zipf", "empty", "one", "middle", "long", "equal"};

typedef struct segment_case {
    psv_segment_sorter_def def;
    lengths_kind lengths;
    key_distribution keys_kind;
    sort_form form;
    bool indirect, own_scratch;
    uint32_t segments, room_segments, count;
    uint32_t *offsets; // room_segments + 1
    char what[200];
} segment_case;

static uint32_t edge_length(uint64_t *state) {
    static const uint32_t edges[] = {0, 1, 2, 31, 32, 33, 64, 65, 128, 129, 256, 257, 512, 1024, 1025, 2048, 2049};
    const uint32_t pick = random_below(state, 22), far = random_below(state, 3);
    if (pick >= 17) return 4095 + far + (pick == 17) * 4096 + (pick == 18) * 28673;
    return edges[pick] + (far == 2);
}

static uint32_t draw_length(lengths_kind kind, uint64_t *state, uint32_t equal) {
    switch (kind) {
    case LENGTHS_ANY: return random_below(state, 71);
    case LENGTHS_TINY: return random_below(state, 5);
    case LENGTHS_EDGES: return edge_length(state);
    case LENGTHS_ZIPF: return MOST_ELEMENTS / 4 / (1 + random_below(state, 1 + random_below(state, 20000)));
    case LENGTHS_EMPTY: return random_below(state, 50) == 0 ? random_below(state, 100) : 0;
    case LENGTHS_MIDDLE: return 100 + random_below(state, 1001);
    case LENGTHS_LONG: return 3000 + random_below(state, 17001);
    default: return equal;
    }
}

// Offsets with a gap before the first segment and one behind the last.
static void draw_offsets(segment_case *test, uint64_t *state) {
    const uint32_t equal = 1 + random_below(state, 1 + random_below(state, 300));
    uint32_t most = test->lengths == LENGTHS_EMPTY ? 20000 : 3000;
    if (test->lengths == LENGTHS_ONE) most = 1;
    test->room_segments = most + random_below(state, 3);
    test->offsets = grab((test->room_segments + 1) * sizeof(uint32_t));
    memset(test->offsets, 0xa5, (test->room_segments + 1) * sizeof(uint32_t)); // those behind the last segment too
    uint32_t at = random_below(state, 3) == 0 ? random_below(state, 600) : 0, segments = 0;
    const uint32_t whole = random_below(state, MOST_ELEMENTS);
    for (test->offsets[0] = at; segments < most; ++segments) {
        const uint32_t length = test->lengths == LENGTHS_ONE ? whole : draw_length(test->lengths, state, equal);
        if (at + length > MOST_ELEMENTS) break;
        at += length;
        test->offsets[segments + 1] = at;
    }
    test->segments = segments;
    test->count = at + (random_below(state, 3) == 0 ? random_below(state, 600) : 0);
    if (test->indirect) return;
    test->room_segments = segments;
}

static segment_case draw_case(uint32_t number) {
    uint64_t state = seed + number;
    segment_case test = {.def = psv_default_segment_sorter_def()};
    test.lengths = number % LENGTHS_KINDS;
    test.form = number / LENGTHS_KINDS % FORM_COUNT;
    test.def.key_type = (psv_key_type)random_below(&state, PSV_KEY_BF16 + 1);
    test.keys_kind = (key_distribution)random_below(&state, KEYS_DISTRIBUTIONS);
    test.def.value_bytes = test.form == FORM_PAIRS ? 4 + 4 * random_below(&state, 2) : 4 * random_below(&state, 3);
    if (test.form >= FORM_INDEX_SORTED && test.def.value_bytes == 0) test.def.value_bytes = 4;
    test.def.descending = random_below(&state, 2);
    test.def.nan_policy = (psv_nan_policy)random_below(&state, 2);
    if (random_below(&state, 3) == 0) {
        const uint32_t bits = 8 * psv_key_type_bytes(test.def.key_type);
        test.def.end_bit = 1 + random_below(&state, bits);
        test.def.begin_bit = random_below(&state, test.def.end_bit + 1);
    }
    test.indirect = random_below(&state, 3) == 0;
    test.own_scratch = random_below(&state, 3) == 0;
    draw_offsets(&test, &state);
    test.def.max_count = test.count + random_below(&state, 100) + 1;
    test.def.max_segments = test.room_segments + random_below(&state, 5) + 1;
    (void)snprintf(
        test.what, sizeof test.what,
        "seed %llu case %u: %s, lengths %s, form %d, keys %s, bits [%u,%u), values %u, %u segments, %u elements%s%s",
        (unsigned long long)seed, number, psv_key_type_name(test.def.key_type), lengths_names[test.lengths],
        (int)test.form, key_distribution_name(test.keys_kind), test.def.begin_bit, test.def.end_bit,
        test.def.value_bytes, test.segments, test.count, test.indirect ? ", indirect" : "",
        test.def.descending ? ", descending" : "");
    return test;
}

static psv_sorter_def plain_def(const psv_segment_sorter_def *def) {
    psv_sorter_def plain = psv_default_sorter_def();
    plain.key_type = def->key_type;
    plain.descending = def->descending;
    plain.nan_policy = def->nan_policy;
    plain.begin_bit = def->begin_bit;
    plain.end_bit = def->end_bit;
    return plain;
}

// What a call gets, and what it must leave. The index of elements outside of segments stays as it was.
static sort_arrays make_arrays(const segment_case *test, uint64_t keys_seed) {
    const psv_sorter_def plain = plain_def(&test->def);
    sort_arrays a = allocate_arrays(test->def.key_type, test->form, test->def.value_bytes, test->count);
    make_keys(test->def.key_type, test->keys_kind, keys_seed, test->count, a.keys);
    for (size_t i = 0; i < test->count * a.value_bytes / 4; ++i)
        ((uint32_t *)(void *)a.values)[i] = (uint32_t)next_random(&keys_seed);
    expect_unchanged(&a, test->count);
    uint32_t *order = grab(test->count * sizeof *order);
    for (uint32_t s = 0; s < test->segments; ++s) {
        const size_t begin = test->offsets[s], length = test->offsets[s + 1] - begin;
        reference_order(&plain, a.keys + begin * a.key_bytes, (uint32_t)length, order);
        expect_order(&a, test->form, begin, order, length);
    }
    free(order);
    return a;
}

typedef struct device_case {
    psv_buffer keys, values, offsets, device_count;
    psv_segments segments;
} device_case;

static device_case upload_case(const segment_case *test, const sort_arrays *a, const uint32_t *offsets) {
    const char *what = test->what;
    const uint64_t segments = test->segments;
    device_case on = {.keys = make_guarded(context, a->keys, test->count * a->key_bytes, 0, what),
                      .values = make_guarded(context, a->values, test->count * a->value_bytes, 0, what),
                      .offsets = make_guarded(context, offsets, (test->room_segments + 1) * sizeof *offsets, 0, what)};
    if (test->indirect) on.device_count = make_count(context, segments, what);
    on.segments = (psv_segments){on.offsets, test->indirect ? test->room_segments : segments, on.device_count};
    return on;
}

static void free_case(device_case *on) {
    psv_free_buffer(context, &on->keys);
    psv_free_buffer(context, &on->values);
    psv_free_buffer(context, &on->offsets);
    psv_free_buffer(context, &on->device_count);
}

static void check_sorted(const segment_case *test, const sort_arrays *a, const device_case *on) {
    compare_guarded(context, on->keys, test->form == FORM_INDEX_UNDEFINED ? NULL : a->sorted_keys,
                    test->count * a->key_bytes, 0, a->key_bytes, "keys", test->what);
    if (a->value_bytes != 0)
        compare_guarded(context, on->values, a->sorted_values, test->count * a->value_bytes, 0, a->value_bytes,
                        "values", test->what);
}

static void call_and_check(psv_segment_sorter *sorter, const segment_case *test, uint64_t keys_seed) {
    const char *what = test->what;
    sort_arrays a = make_arrays(test, keys_seed);
    device_case on = upload_case(test, &a, test->offsets);
    OK(call_segment_sorter(sorter, test->form, on.keys, on.values, test->count, &on.segments));
    OK(psv_read_segments_status(sorter));
    check_sorted(test, &a, &on);
    compare_guarded(context, on.offsets, test->offsets, (test->room_segments + 1) * sizeof(uint32_t), 0, 4, "offsets",
                    what);
    free_case(&on);
    release_arrays(&a);
}

static uint32_t first_bad_segment(const segment_case *test, const uint32_t *offsets) {
    uint32_t first = 0;
    while (first < test->segments && offsets[first] <= offsets[first + 1] && offsets[first + 1] <= test->count)
        ++first;
    return first;
}

// Where one of the offsets is wrong, nothing may be written, and the status names the first segment that shows it.
static void call_with_bad_offsets(psv_segment_sorter *sorter, const segment_case *test, const uint32_t *offsets,
                                  uint64_t keys_seed) {
    const char *what = test->what;
    const uint32_t first = first_bad_segment(test, offsets);
    if (first < test->segments) {
        sort_arrays a = make_arrays(test, keys_seed);
        device_case on = upload_case(test, &a, offsets);
        const psv_status status =
            call_segment_sorter(sorter, test->form, on.keys, on.values, test->count, &on.segments);
        if (backend == PSV_BACKEND_CPU)
            assert_int_equal(status, PSV_ERROR_ARGUMENT);
        else
            OK(status);
        assert_int_equal(psv_read_segments_status(sorter), PSV_ERROR_ARGUMENT);
        char sentence[32];
        (void)snprintf(sentence, sizeof sentence, "segment %u:", first);
        if (strstr(psv_last_error(context), sentence) == NULL)
            fail_msg("%s: '%s' does not name segment %u", what, psv_last_error(context), first);
        compare_guarded(context, on.keys, a.keys, test->count * a.key_bytes, 0, a.key_bytes, "keys of bad offsets",
                        what);
        if (a.value_bytes != 0)
            compare_guarded(context, on.values, a.values, test->count * a.value_bytes, 0, a.value_bytes,
                            "values of bad offsets", what);
        free_case(&on);
        release_arrays(&a);
    }
}

// A few good offsets become wrong.
static void spoil_offsets(const segment_case *test, uint32_t *offsets, uint64_t *state) {
    for (uint32_t changes = 1 + random_below(state, 3); changes > 0; --changes) {
        const uint32_t at = random_below(state, test->segments + 1), kind = random_below(state, 4);
        offsets[at] = kind == 0   ? test->count + 1 + random_below(state, 100)
                      : kind == 1 ? UINT32_MAX - random_below(state, 100)
                      : kind == 2 ? random_below(state, test->count + 1)
                                  : offsets[at] - 1;
    }
}

typedef enum wrong_kind {
    WRONG_FEW,      // some are wrong
    WRONG_ANYTHING, // each is any number of 32 bits
    WRONG_WITHIN,   // each is any place of the array
    WRONG_FALLING,  // from the end to the front
    WRONG_WRAPPED,  // sums of lengths that are over 2^32 together, so that later offsets are small again
    WRONG_FAR,      // good ones, all moved beyond the end
    WRONG_LAST,     // only the last one is beyond the end, by one or by nearly 2^32
    WRONG_KINDS
} wrong_kind;

static uint32_t draw_wrong_offset(const segment_case *test, wrong_kind kind, uint32_t i, uint32_t before,
                                  uint64_t *state) {
    const uint32_t end = test->offsets[test->segments];
    switch (kind) {
    case WRONG_ANYTHING: return (uint32_t)next_random(state);
    case WRONG_WITHIN: return random_below(state, test->count + 1);
    case WRONG_FALLING: return end - test->offsets[i];
    case WRONG_WRAPPED: return before + UINT32_MAX / 3 + random_below(state, 1000);
    case WRONG_FAR: return test->offsets[i] + test->count + 1;
    case WRONG_LAST:
        return i < test->segments ? test->offsets[i] : random_below(state, 2) ? test->count + 1 : UINT32_MAX;
    default: return test->offsets[i];
    }
}

static void draw_wrong_offsets(const segment_case *test, wrong_kind kind, uint32_t *offsets, uint64_t *state) {
    memcpy(offsets, test->offsets, (test->room_segments + 1) * sizeof *offsets);
    for (uint32_t i = 0, before = 0; i <= test->segments; before = offsets[i++])
        offsets[i] = draw_wrong_offset(test, kind, i, before, state);
    if (kind == WRONG_FEW) spoil_offsets(test, offsets, state);
}

static psv_segment_sorter *make_sorter(segment_case *test, psv_buffer *scratch) {
    const char *what = test->what;
    psv_segment_sorter *sorter = NULL;
    *scratch = (psv_buffer){0};
    const uint64_t bytes = psv_segment_sorter_bytes(backend, &test->def);
    if (bytes == 0) fail_msg("%s: no scratch bytes", what);
    if (test->own_scratch) {
        *scratch = make_guarded(context, NULL, bytes + 16, 0, what);
        test->def.scratch = psv_sub_buffer(*scratch, 16, bytes);
    }
    OK(psv_create_segment_sorter(context, &test->def, &sorter));
    return sorter;
}

static void test_random_segments(void **state) {
    (void)state;
    const uint32_t all = test_thinned((unsigned)cases, 45);
    for (uint32_t c = 0; c < all; ++c) {
        segment_case test = draw_case(c);
        const char *what = test.what;
        uint64_t random = seed ^ c;
        psv_buffer scratch;
        psv_segment_sorter *sorter = make_sorter(&test, &scratch);
        OK(psv_read_segments_status(sorter));
        call_and_check(sorter, &test, seed + c);
        uint32_t *wrong = grab((test.room_segments + 1) * sizeof *wrong);
        draw_wrong_offsets(&test, WRONG_FEW, wrong, &random);
        call_with_bad_offsets(sorter, &test, wrong, next_random(&random));
        free(wrong);
        call_and_check(sorter, &test, seed - c); // the counters are clear again
        psv_destroy_segment_sorter(sorter);
        if (test.own_scratch)
            compare_guarded(context, scratch, NULL, scratch.bytes - GUARD_BYTES, 0, 1, "scratch", what);
        psv_free_buffer(context, &scratch);
        free(test.offsets);
    }
}

// One sorter for many calls of other shapes.
static void test_one_sorter(void **state) {
    (void)state;
    psv_segment_sorter_def def = psv_default_segment_sorter_def();
    def.max_count = MOST_ELEMENTS + 1000;
    def.max_segments = 30000;
    psv_segment_sorter *sorter;
    const char *what = "one sorter";
    OK(psv_create_segment_sorter(context, &def, &sorter));
    for (uint32_t c = 0; c < test_thinned(60, 18); ++c) {
        segment_case test = draw_case(1000 + c);
        test.def = def;
        call_and_check(sorter, &test, c);
        free(test.offsets);
    }
    psv_destroy_segment_sorter(sorter);
}

// Fuzz: offsets that are wrong in every way, many times with one sorter, and good ones now and then.
static void test_wrong_offsets(void **state) {
    (void)state;
    uint32_t refused = 0;
    for (uint32_t c = 0; c < test_thinned((unsigned)cases / 4, 18); ++c) {
        segment_case test = draw_case(2000 + c);
        uint64_t random = seed ^ (2000 + c);
        psv_buffer scratch;
        psv_segment_sorter *sorter = make_sorter(&test, &scratch);
        uint32_t *wrong = grab((test.room_segments + 1) * sizeof *wrong);
        for (wrong_kind kind = WRONG_FEW; kind < WRONG_KINDS; ++kind) {
            draw_wrong_offsets(&test, kind, wrong, &random);
            refused += first_bad_segment(&test, wrong) < test.segments;
            call_with_bad_offsets(sorter, &test, wrong, next_random(&random));
            if (kind % 3 == 2) call_and_check(sorter, &test, next_random(&random));
        }
        psv_destroy_segment_sorter(sorter);
        psv_free_buffer(context, &scratch);
        free(wrong);
        free(test.offsets);
    }
    printf("%u calls with wrong offsets\n", refused);
    assert_true(refused > 18);
}

static void test_refusals(void **state) {
    (void)state;
    const char *what = "refusals";
    psv_segment_sorter *sorter;
    psv_segment_sorter_def def = psv_default_segment_sorter_def(), wrong;
    def.max_count = 1000;
    def.max_segments = 10;
    OK(psv_create_segment_sorter(context, &def, &sorter));
    psv_buffer keys, values, offsets;
    OK(psv_alloc_buffer(context, 4004, &keys));
    OK(psv_alloc_buffer(context, 4004, &values));
    OK(psv_alloc_buffer(context, 44, &offsets));
    const psv_segments good = {offsets, 10, {0}}, many = {offsets, 11, {0}}, none = {offsets, 0, {0}};
    const psv_segments small = {psv_sub_buffer(offsets, 0, 40), 10, {0}},
                       odd = {psv_sub_buffer(offsets, 2, 42), 9, {0}};
    const psv_segments inside = {psv_sub_buffer(keys, 0, 44), 10, {0}};
    expect_refusal(context, psv_sort_segments(sorter, keys, values, 1001, &good), PSV_ERROR_CAPACITY,
                   "max_count is 1000");
    expect_refusal(context, psv_sort_segments(sorter, keys, values, 1000, &many), PSV_ERROR_CAPACITY,
                   "max_segments is 10");
    expect_refusal(context, psv_sort_segments(sorter, keys, values, 1000, &small), PSV_ERROR_ARGUMENT,
                   "segments.offsets");
    expect_refusal(context, psv_sort_segments(sorter, keys, values, 1000, &odd), PSV_ERROR_ARGUMENT,
                   "segments.offsets");
    expect_refusal(context, psv_sort_segments(sorter, keys, values, 1000, &inside), PSV_ERROR_ARGUMENT, "overlaps");
    expect_refusal(context, psv_sort_segments(sorter, keys, keys, 1000, &good), PSV_ERROR_ARGUMENT, "overlap");
    expect_refusal(context, psv_sort_segments(sorter, keys, (psv_buffer){0}, 1000, &good), PSV_ERROR_ARGUMENT,
                   "values");
    expect_refusal(context, psv_sort_segments(sorter, keys, values, 1000, NULL), PSV_ERROR_ARGUMENT,
                   "segments is NULL");
    expect_refusal(context, psv_sort_segments_index(sorter, keys, values, 1000, &good, (psv_index_keys)7),
                   PSV_ERROR_ARGUMENT, "keep is 7");
    OK(psv_sort_segments(sorter, keys, values, 1000, &none));
    OK(psv_read_segments_status(sorter));
    assert_int_equal(psv_sort_segments(NULL, keys, values, 1, &good), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_read_segments_status(NULL), PSV_ERROR_ARGUMENT);
    psv_destroy_segment_sorter(sorter);
    psv_destroy_segment_sorter(NULL);
    wrong = def;
    wrong.max_segments = 0;
    expect_refusal(context, psv_create_segment_sorter(context, &wrong, &sorter), PSV_ERROR_ARGUMENT,
                   "max_segments is 0");
    assert_null(sorter);
    wrong = def;
    wrong.cookie = 0;
    expect_refusal(context, psv_create_segment_sorter(context, &wrong, &sorter), PSV_ERROR_ARGUMENT, "psv_default");
    wrong = def;
    wrong.end_bit = 33;
    expect_refusal(context, psv_create_segment_sorter(context, &wrong, &sorter), PSV_ERROR_ARGUMENT, "end_bit is 33");
    assert_int_equal(psv_segment_sorter_bytes(backend, &wrong), 0);
    wrong = def;
    wrong.scratch = psv_sub_buffer(keys, 0, 100);
    expect_refusal(context, psv_create_segment_sorter(context, &wrong, &sorter), PSV_ERROR_CAPACITY, "are needed");
    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &values);
    psv_free_buffer(context, &offsets);
}

int main(int argc, char **argv) {
    const number_option options[] = {{"--seed", &seed}, {"--cases", &cases}, {"--elements", &elements}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    printf("seed %llu\n", (unsigned long long)seed);
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals), cmocka_unit_test(test_random_segments),
                                       cmocka_unit_test(test_one_sorter), cmocka_unit_test(test_wrong_offsets)};
    return RUN_BACKEND_TESTS("segments", &def, &context, tests);
}
