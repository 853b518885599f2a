// Sorts of keys of 8, 16 and 128 bits by every method of a backend, against qsort of positions with a comparison that
// reads each key as its type says: pairs, keys alone and argsorts, both orders, bit ranges, counts in device memory,
// segments.
//   test_word_keys cpu|cuda [--cases N] [--seed N] [--elements N]
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/backend_main.h"
#include "../test_scale.h"
#include "pairsieve/stream_sort.h"
#include "sort_calls.h"

static psv_backend backend;
static psv_context *context;
static uint64_t seed = 20261127, cases = 900, most_elements = 60000;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s: %s", what, #call, psv_last_error(context));                            \
    } while (0)

__extension__ typedef unsigned __int128 wide_number;
__extension__ typedef __int128 wide_integer;

typedef enum kind_of_keys {
    KIND_RANDOM,
    KIND_FEW,       // a few distinct keys
    KIND_LOWER,     // the upper halves are equal
    KIND_UPPER,     // the lower halves are equal
    KIND_ASCENDING, // about so: keys that count up
    KIND_SPECIAL,   // extremes; of floats zeros, infinities, NaNs and denormals
    KINDS
} kind_of_keys;

typedef struct word_case {
    psv_sorter_def def;
    sort_form form;
    kind_of_keys kind;
    bool indirect, own_scratch;
    uint32_t count, room;
    char what[200];
} word_case;

// --- The oracle

static const psv_sorter_def *oracle_def;
static const unsigned char *oracle_keys;

static double half_number(uint32_t bits, int exponent_bits) {
    const int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (int)(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
    const double mantissa = bits & ((1u << mantissa_bits) - 1), sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + ldexp(1, mantissa_bits), exponent - bias - mantissa_bits);
}

static bool is_half(psv_key_type type) { return type == PSV_KEY_F16 || type == PSV_KEY_BF16; }

static uint32_t narrow_bits(const unsigned char *key, psv_key_type type) {
    uint16_t two;
    if (psv_key_type_bytes(type) == 1) return *key;
    memcpy(&two, key, sizeof two);
    return two;
}

static wide_number wide_bits(const unsigned char *key, psv_key_type type) {
    wide_number number = 0;
    for (int i = 0; i < 16; ++i)
        number = number << 8 | key[type == PSV_KEY_BYTES16 ? i : 15 - i];
    return number;
}

static wide_integer integer_of(const unsigned char *key, psv_key_type type) {
    const uint32_t bits = psv_key_type_bytes(type) < 16 ? narrow_bits(key, type) : 0;
    switch (type) {
    case PSV_KEY_I8: return (int8_t)bits;
    case PSV_KEY_I16: return (int16_t)bits;
    case PSV_KEY_I128: return (wide_integer)wide_bits(key, type);
    default: return bits;
    }
}

// The key as sort.h defines its order-preserving unsigned form.
static wide_number unsigned_form(const psv_sorter_def *def, const unsigned char *key) {
    const uint32_t width = 8 * psv_key_type_bytes(def->key_type);
    const wide_number sign = (wide_number)1 << (width - 1), all = sign | (sign - 1);
    wide_number form = width == 128 ? wide_bits(key, def->key_type) : narrow_bits(key, def->key_type);
    if (is_half(def->key_type)) {
        const bool nan = isnan(half_number((uint32_t)form, def->key_type == PSV_KEY_F16 ? 5 : 8));
        if (nan && def->nan_policy == PSV_NAN_LAST) return all;
        if (form == sign) form = 0;
        form = form & sign ? all - form : form + sign;
    } else if (def->key_type == PSV_KEY_I8 || def->key_type == PSV_KEY_I16 || def->key_type == PSV_KEY_I128) {
        form = (form + sign) & all;
    }
    return def->descending ? all - form : form;
}

static int compare_halves(const psv_sorter_def *def, const unsigned char *a, const unsigned char *b) {
    const int exponent_bits = def->key_type == PSV_KEY_F16 ? 5 : 8;
    const uint32_t x = narrow_bits(a, def->key_type), y = narrow_bits(b, def->key_type);
    const double p = half_number(x, exponent_bits), q = half_number(y, exponent_bits);
    if (!isnan(p) && !isnan(q)) return def->descending ? (p < q) - (p > q) : (p > q) - (p < q);
    if (def->nan_policy == PSV_NAN_LAST) return isnan(p) - isnan(q);
    const int m = x & 0x8000 ? -(int)(x & 0x7fff) : (int)(x & 0x7fff);
    const int n = y & 0x8000 ? -(int)(y & 0x7fff) : (int)(y & 0x7fff);
    return def->descending ? n - m : m - n;
}

static int compare_keys(const psv_sorter_def *def, const unsigned char *a, const unsigned char *b) {
    const uint32_t width = 8 * psv_key_type_bytes(def->key_type), end = def->end_bit == 0 ? width : def->end_bit;
    int order = 0;
    if (def->begin_bit > 0 || end < width) {
        wide_number x = unsigned_form(def, a), y = unsigned_form(def, b);
        const wide_number below = end == 128 ? ~(wide_number)0 : ((wide_number)1 << end) - 1;
        x = def->begin_bit == end ? 0 : (x & below) >> def->begin_bit;
        y = def->begin_bit == end ? 0 : (y & below) >> def->begin_bit;
        return (x > y) - (x < y);
    }
    if (is_half(def->key_type)) return compare_halves(def, a, b);
    if (def->key_type == PSV_KEY_BYTES16) {
        order = memcmp(a, b, 16);
    } else if (def->key_type == PSV_KEY_U128) {
        const wide_number x = wide_bits(a, def->key_type), y = wide_bits(b, def->key_type);
        order = (x > y) - (x < y);
    } else {
        const wide_integer x = integer_of(a, def->key_type), y = integer_of(b, def->key_type);
        order = (x > y) - (x < y);
    }
    return def->descending ? -order : order;
}

static int compare_positions(const void *a, const void *b) {
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const size_t bytes = psv_key_type_bytes(oracle_def->key_type);
    const int order = compare_keys(oracle_def, oracle_keys + i * bytes, oracle_keys + j * bytes);
    return order != 0 ? order : (i > j) - (i < j);
}

static void oracle_order(const psv_sorter_def *def, const void *keys, uint32_t count, uint32_t *order) {
    for (uint32_t i = 0; i < count; ++i)
        order[i] = i;
    oracle_def = def;
    oracle_keys = keys;
    qsort(order, count, sizeof *order, compare_positions);
}

// --- Cases

static void fill_key(unsigned char *key, uint32_t bytes, kind_of_keys kind, uint32_t i, uint64_t *state) {
    static const uint16_t special[] = {0x0000, 0x8000, 0x7fff, 0xffff, 0x7c00, 0xfc00, 0x7c01, 0xfe00,
                                       0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x0001, 0x8001, 0x0080, 0x3c00};
    uint64_t words[2] = {next_random(state), next_random(state)}, few = kind == KIND_FEW ? words[0] % 7 : 0;
    if (kind == KIND_FEW) words[0] = next_random(&few);
    if (kind == KIND_FEW) words[1] = next_random(&few);
    if (kind == KIND_ASCENDING) words[0] = words[1] = (uint64_t)i << 3;
    if (kind == KIND_SPECIAL)
        for (int part = 0; part < 8; ++part) {
            uint16_t two = special[random_below(state, 16)];
            if (bytes == 16 && random_below(state, 4) != 0) two = (uint16_t)((two & 1) * 0xffff);
            memcpy((char *)words + 2 * part, &two, sizeof two);
        }
    memcpy(key, words, bytes);
    const uint32_t half = bytes / 2;
    if (kind == KIND_LOWER) memset(key + half, 0x41, half);
    if (kind == KIND_UPPER) memset(key, 0x41, half);
}

static uint32_t draw_count(uint64_t *state) {
    static const uint32_t edges[] = {0, 1, 2, 3, 31, 32, 33, 1023, 1024, 1025, 4095, 4096, 4097, 32768, 32769};
    switch (random_below(state, 8)) {
    case 0: return random_below(state, (uint32_t)most_elements);
    case 1: return edges[random_below(state, sizeof edges / sizeof *edges)] % (uint32_t)most_elements;
    case 2: return random_below(state, 5000) % (uint32_t)most_elements;
    default: return random_below(state, 300);
    }
}

static word_case draw_case(uint32_t number) {
    uint64_t state = seed + number;
    word_case test = {.def = psv_default_sorter_def(), .form = number / 9 % FORM_COUNT};
    test.def.key_type = (psv_key_type)(PSV_KEY_U8 + number % 9);
    test.kind = (kind_of_keys)random_below(&state, KINDS);
    test.def.value_bytes = test.form == FORM_PAIRS ? 4 + 4 * random_below(&state, 2) : 4 * random_below(&state, 3);
    if (test.form >= FORM_INDEX_SORTED && test.def.value_bytes == 0) test.def.value_bytes = 4;
    test.def.descending = random_below(&state, 2);
    test.def.nan_policy = (psv_nan_policy)random_below(&state, 2);
    test.def.order_check = random_below(&state, 4) != 0;
    if (random_below(&state, 3) == 0) {
        test.def.end_bit = 1 + random_below(&state, 8 * psv_key_type_bytes(test.def.key_type));
        test.def.begin_bit = random_below(&state, test.def.end_bit + 1);
    }
    test.indirect = random_below(&state, 3) == 0;
    test.own_scratch = random_below(&state, 3) == 0;
    test.count = draw_count(&state);
    test.room = test.count + (test.indirect ? 1 + random_below(&state, 50) : 0);
    test.def.max_count = test.indirect ? test.room : test.room + 1 + random_below(&state, 50);
    return test;
}

static void name_case(word_case *test, uint32_t number) {
    (void)snprintf(test->what, sizeof test->what,
                   "%s seed %llu case %u: %s kind %d form %d bits [%u,%u) values %u, %u of %u%s%s%s", test->def.method,
                   (unsigned long long)seed, number, psv_key_type_name(test->def.key_type), (int)test->kind,
                   (int)test->form, test->def.begin_bit, test->def.end_bit, test->def.value_bytes, test->count,
                   test->room, test->indirect ? ", indirect" : "", test->def.descending ? ", descending" : "",
                   test->def.nan_policy == PSV_NAN_BITWISE ? ", bitwise" : "");
}

// `room` elements, of which `count` are to be sorted.
static sort_arrays make_arrays(const word_case *test, uint64_t keys_seed) {
    sort_arrays a = allocate_arrays(test->def.key_type, test->form, test->def.value_bytes, test->room);
    for (uint32_t i = 0; i < test->room; ++i)
        fill_key(a.keys + i * a.key_bytes, (uint32_t)a.key_bytes, test->kind, i, &keys_seed);
    for (size_t i = 0; i < test->room * a.value_bytes; ++i)
        a.values[i] = (unsigned char)next_random(&keys_seed);
    expect_unchanged(&a, test->room);
    uint32_t *order = grab(test->count * sizeof *order);
    oracle_order(&test->def, a.keys, test->count, order);
    expect_order(&a, test->form, 0, order, test->count);
    free(order);
    return a;
}

static void call_and_check(psv_sorter *sorter, const word_case *test, uint64_t keys_seed) {
    const char *what = test->what;
    sort_arrays a = make_arrays(test, keys_seed);
    const size_t key_bytes = test->room * a.key_bytes, value_bytes = test->room * a.value_bytes;
    psv_buffer keys = make_guarded(context, a.keys, key_bytes, 0, what);
    psv_buffer values = make_guarded(context, a.values, value_bytes, 0, what), number = {0};
    if (test->indirect) number = make_count(context, test->count, what);
    OK(call_sorter(sorter, test->form, keys, values, test->count, test->indirect ? &number : NULL));
    compare_guarded(context, keys, test->form == FORM_INDEX_UNDEFINED ? NULL : a.sorted_keys, key_bytes, 0, a.key_bytes,
                    "keys", what);
    if (value_bytes != 0)
        compare_guarded(context, values, a.sorted_values, value_bytes, 0, a.value_bytes, "values", what);
    psv_sort_statistics statistics;
    OK(psv_read_sort_statistics(sorter, &statistics));
    assert_non_null(statistics.route);
    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &values);
    psv_free_buffer(context, &number);
    release_arrays(&a);
}

// False where the method does not serve the case.
static bool run_case(word_case *test) {
    const char *what = test->what;
    psv_buffer scratch = {0};
    const uint64_t bytes = psv_sorter_scratch_bytes(backend, &test->def);
    if (bytes == 0) return false;
    if (test->own_scratch) {
        scratch = make_guarded(context, NULL, bytes + 16, 0, what);
        test->def.scratch = psv_sub_buffer(scratch, 16, bytes);
    }
    psv_sorter *sorter;
    OK(psv_create_sorter(context, &test->def, &sorter));
    assert_string_equal(psv_sorter_method(sorter, test->count), test->def.method);
    call_and_check(sorter, test, seed + test->count);
    call_and_check(sorter, test, seed - test->count);
    psv_destroy_sorter(sorter);
    if (test->own_scratch) compare_guarded(context, scratch, NULL, scratch.bytes - GUARD_BYTES, 0, 1, "scratch", what);
    psv_free_buffer(context, &scratch);
    return true;
}

static void test_random_cases(void **state) {
    (void)state;
    uint32_t run = 0, refused = 0;
    for (uint32_t c = 0; c < test_thinned((unsigned)cases, 90); ++c) {
        for (uint32_t m = 0; psv_sort_method_name(backend, m) != NULL; ++m) {
            word_case test = draw_case(c);
            test.def.method = psv_sort_method_name(backend, m);
            if (m > 0 && (test.count > 5000 || c % 4 != 0)) continue;
            name_case(&test, c);
            if (run_case(&test))
                ++run;
            else
                ++refused;
        }
    }
    printf("%u cases, %u that methods do not serve\n", run, refused);
    assert_true(run >= 90);
}

// Each type in counts that all workers, or all multiprocessors, share.
static void test_large(void **state) {
    (void)state;
    for (uint32_t c = 0; c < 18 && test_thinning() == 1; ++c) {
        word_case test = draw_case(c);
        test.form = c < 9 ? FORM_PAIRS : FORM_INDEX_KEPT;
        test.def.value_bytes = c < 9 ? 8 : 4;
        test.def.begin_bit = test.def.end_bit = 0;
        test.count = test.room = 300007;
        test.def.max_count = test.room;
        test.kind = c % 2 == 0 ? KIND_RANDOM : KIND_LOWER;
        name_case(&test, c);
        assert_true(run_case(&test));
    }
}

// --- Segments

typedef struct segment_call {
    word_case test;
    uint32_t segments, *offsets;
} segment_call;

// Segments of any lengths, with elements outside of them at both ends.
static segment_call draw_segments(uint32_t number) {
    segment_call call = {.test = draw_case(number)};
    uint64_t state = seed * 3 + number;
    call.test.indirect = false;
    call.test.count += 20;
    call.test.room = call.test.count;
    call.offsets = grab((call.test.count + 1) * sizeof *call.offsets);
    uint32_t at = random_below(&state, 10);
    call.offsets[0] = at;
    const uint32_t most = 1 + random_below(&state, number % 3 == 0 ? 9000 : 60);
    while (call.segments < call.test.count && at < call.test.count - 5) {
        const uint32_t length = random_below(&state, most + 1), left = call.test.count - at;
        at += length < left ? length : left;
        call.offsets[++call.segments] = at;
    }
    call.test.def.method = "segments";
    name_case(&call.test, number);
    return call;
}

// The arrays of the call; the elements of each segment in order, others as they were.
static sort_arrays make_segmented(const segment_call *call, uint64_t keys_seed) {
    word_case nothing = call->test;
    nothing.count = 0;
    sort_arrays a = make_arrays(&nothing, keys_seed);
    uint32_t *order = grab(call->test.count * sizeof *order);
    for (uint32_t s = 0; s < call->segments; ++s) {
        const size_t begin = call->offsets[s], length = call->offsets[s + 1] - begin;
        oracle_order(&call->test.def, a.keys + begin * a.key_bytes, (uint32_t)length, order);
        expect_order(&a, call->test.form, begin, order, length);
    }
    free(order);
    return a;
}

// With `good` false the last offset is wrong, and all stays as it was.
static void call_segments(psv_segment_sorter *sorter, const segment_call *call, bool good, uint64_t keys_seed) {
    const word_case *test = &call->test;
    const char *what = test->what;
    sort_arrays a = make_segmented(call, keys_seed);
    const size_t key_bytes = test->room * a.key_bytes, value_bytes = test->room * a.value_bytes;
    const uint32_t last = call->offsets[call->segments];
    if (!good) call->offsets[call->segments] = test->count + 1;
    psv_buffer keys = make_guarded(context, a.keys, key_bytes, 0, what);
    psv_buffer values = make_guarded(context, a.values, value_bytes, 0, what);
    psv_buffer offsets = make_guarded(context, call->offsets, (call->segments + 1) * sizeof(uint32_t), 0, what);
    call->offsets[call->segments] = last;
    const psv_segments segments = {offsets, call->segments, {0}};
    const psv_status status = call_segment_sorter(sorter, test->form, keys, values, test->count, &segments);
    if (status != PSV_OK && (good || status != PSV_ERROR_ARGUMENT)) fail_msg("%s: %s", what, psv_last_error(context));
    assert_int_equal(psv_read_segments_status(sorter), good ? PSV_OK : PSV_ERROR_ARGUMENT);
    const bool any_keys = good && test->form == FORM_INDEX_UNDEFINED;
    compare_guarded(context, keys,
                    any_keys ? NULL
                    : good   ? a.sorted_keys
                             : a.keys,
                    key_bytes, 0, a.key_bytes, "keys", what);
    if (value_bytes != 0)
        compare_guarded(context, values, good ? a.sorted_values : a.values, value_bytes, 0, a.value_bytes, "values",
                        what);
    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &values);
    psv_free_buffer(context, &offsets);
    release_arrays(&a);
}

static void test_segments(void **state) {
    (void)state;
    for (uint32_t c = 0; c < test_thinned((unsigned)cases / 3, 45); ++c) {
        segment_call call = draw_segments(c);
        const char *what = call.test.what;
        psv_segment_sorter_def def = psv_default_segment_sorter_def();
        def.key_type = call.test.def.key_type;
        def.value_bytes = call.test.def.value_bytes;
        def.max_count = call.test.def.max_count + 20;
        def.max_segments = call.segments + 1;
        def.descending = call.test.def.descending;
        def.nan_policy = call.test.def.nan_policy;
        def.begin_bit = call.test.def.begin_bit;
        def.end_bit = call.test.def.end_bit;
        psv_segment_sorter *sorter;
        OK(psv_create_segment_sorter(context, &def, &sorter));
        assert_true(psv_segment_sorter_bytes(backend, &def) > 0);
        call_segments(sorter, &call, true, seed + c);
        call_segments(sorter, &call, false, seed - c);
        call_segments(sorter, &call, true, seed - c);
        psv_destroy_segment_sorter(sorter);
        free(call.offsets);
    }
}

// One segment without elements, in a call without elements.
static void test_no_elements(void **state) {
    (void)state;
    const char *what = "no elements";
    const uint32_t offsets[2] = {0, 0};
    psv_buffer ends = make_guarded(context, offsets, 8, 0, what), nothing = make_guarded(context, NULL, 0, 0, what);
    const psv_segments segments = {ends, 1, {0}};
    for (psv_key_type type = PSV_KEY_U8; type <= PSV_KEY_BYTES16; ++type) {
        psv_segment_sorter_def def = psv_default_segment_sorter_def();
        def.key_type = type;
        def.max_count = 5;
        def.max_segments = 1;
        psv_segment_sorter *sorter;
        OK(psv_create_segment_sorter(context, &def, &sorter));
        OK(psv_sort_segments_keys(sorter, nothing, 0, &segments));
        OK(psv_sort_segments_index(sorter, nothing, psv_sub_buffer(nothing, 32, 0), 0, &segments,
                                   PSV_INDEX_KEYS_SORTED));
        OK(psv_read_segments_status(sorter));
        psv_destroy_segment_sorter(sorter);
    }
    psv_free_buffer(context, &ends);
    psv_free_buffer(context, &nothing);
}

static void test_refusals(void **state) {
    (void)state;
    const char *what = "refusals";
    psv_sorter *sorter;
    psv_sorter_def def = psv_default_sorter_def();
    psv_buffer keys, result;
    OK(psv_alloc_buffer(context, 1000, &keys));
    OK(psv_alloc_buffer(context, 1000, &result));
    def.max_count = 60;
    def.key_type = PSV_KEY_U128;
    def.end_bit = 129;
    expect_refusal(context, psv_create_sorter(context, &def, &sorter), PSV_ERROR_ARGUMENT, "a u128 key has 128 bits");
    def.end_bit = 0;
    OK(psv_create_sorter(context, &def, &sorter));
    expect_refusal(context, psv_check_order(sorter, keys, 10, result), PSV_ERROR_UNSUPPORTED, "u128");
    expect_refusal(context, psv_sort_keys(sorter, psv_sub_buffer(keys, 4, 996), 10), PSV_ERROR_ARGUMENT, "keys");
    expect_refusal(context, psv_sort_keys(sorter, psv_sub_buffer(keys, 0, 100), 10), PSV_ERROR_ARGUMENT, "keys");
    expect_refusal(context, psv_sort_keys(sorter, keys, 61), PSV_ERROR_CAPACITY, "max_count is 60");
    expect_refusal(context, psv_set_sort_hint(sorter, &(psv_sort_hint){.histograms = result}), PSV_ERROR_UNSUPPORTED,
                   "histograms");
    assert_int_equal(psv_sorter_digit_bits(sorter), 0);
    psv_destroy_sorter(sorter);
    def.key_type = PSV_KEY_U8;
    def.end_bit = 9;
    expect_refusal(context, psv_create_sorter(context, &def, &sorter), PSV_ERROR_ARGUMENT, "a u8 key has 8 bits");
    def.end_bit = 0;
    def.key_type = (psv_key_type)(PSV_KEY_BYTES16 + 1);
    expect_refusal(context, psv_create_sorter(context, &def, &sorter), PSV_ERROR_ARGUMENT, "PSV_KEY_BYTES16");
    psv_stream_def stream = psv_default_stream_def();
    stream.key_type = PSV_KEY_BF16;
    uint16_t unsorted[2] = {2, 1}, sorted[2];
    expect_refusal(context, psv_sort_host(context, &stream, unsorted, NULL, 2, sorted, NULL, NULL),
                   PSV_ERROR_UNSUPPORTED, "bf16");
    def.key_type = PSV_KEY_I16;
    assert_int_equal(psv_sorter_scratch_bytes(PSV_BACKEND_GL, &def), 0);
    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &result);
}

// Names and widths, there and back; strings in the order of strcmp.
static void test_names_and_strings(void **state) {
    (void)state;
    const char *what = "strings";
    for (psv_key_type type = PSV_KEY_U32; type <= PSV_KEY_BYTES16; ++type) {
        psv_key_type parsed;
        OK(psv_parse_key_type(psv_key_type_name(type), &parsed));
        assert_int_equal(parsed, type);
    }
    static const char words[6][16] = {"pear", "apple", "fig", "apples", "", "zebra of sixteen"};
    static const char in_order[6][16] = {"", "apple", "apples", "fig", "pear", "zebra of sixteen"};
    psv_sorter_def def = psv_default_sorter_def();
    def.key_type = PSV_KEY_BYTES16;
    def.max_count = 6;
    psv_sorter *sorter;
    char got[6][16];
    psv_buffer keys;
    OK(psv_create_sorter(context, &def, &sorter));
    OK(psv_alloc_buffer(context, sizeof words, &keys));
    OK(psv_upload(context, keys, words, sizeof words));
    OK(psv_sort_keys(sorter, keys, 6));
    OK(psv_download(context, got, keys, sizeof got));
    assert_memory_equal(got, in_order, sizeof got);
    psv_destroy_sorter(sorter);
    psv_free_buffer(context, &keys);
}

// `auto` measures the words.
static void test_auto(void **state) {
    (void)state;
    const char *what = "auto";
    for (uint32_t c = 0; c < 9 && test_thinning() == 1; c += 4) {
        word_case test = draw_case(c);
        test.def.method = "auto";
        test.form = FORM_PAIRS;
        test.def.value_bytes = 4;
        test.count = test.room = 1000;
        test.indirect = false;
        test.def.max_count = 2000;
        psv_sorter *sorter;
        name_case(&test, c);
        OK(psv_create_sorter(context, &test.def, &sorter));
        assert_string_not_equal(psv_sorter_method(sorter, 1000), "auto");
        call_and_check(sorter, &test, seed);
        psv_destroy_sorter(sorter);
        psv_sort_choice choices[12];
        uint32_t number = 0;
        OK(psv_read_sort_choices(context, &test.def, choices, 12, &number));
        assert_true(number > 0);
    }
}

int main(int argc, char **argv) {
    const number_option options[] = {
        {"--seed", &seed}, {"--cases", &cases}, {"--elements", &most_elements}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    printf("seed %llu\n", (unsigned long long)seed);
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.check_buffers = true;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names_and_strings),
                                       cmocka_unit_test(test_random_cases),
                                       cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_segments),
                                       cmocka_unit_test(test_no_elements),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_auto)};
    return RUN_BACKEND_TESTS("word_keys", &def, &context, tests);
}
