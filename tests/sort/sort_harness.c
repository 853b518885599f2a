#include "sort_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#include "../../core/context.h"
#include "../cases/sort_reference.h"
#include "../take_profile.h"
#include "../test_scale.h"

// Bytes behind every buffer that no call may write, and how many elements an indirect sorter holds beyond the count.
#define GUARD_BYTES 256u
#define GUARD_BYTE 0xa5
#define SPARE_ELEMENTS 5u

// Cases above this count are large, see test_scale.h.
#define LARGE_CASE 20000u

// What goes in and what must come out.
typedef struct expectation {
    void *keys, *values;               // input
    void *sorted_keys, *sorted_values; // by the reference
    uint32_t *order;
} expectation;

static void *grab(size_t bytes) {
    void *memory = malloc(bytes + 1);
    assert_non_null(memory);
    return memory;
}

// Thousands of small sorts would spend their time in cudaMalloc and cudaFree, which waits for the device: blocks are
// kept by size, to be taken again. All work is on one stream, so a block's last use comes before its next. Sanitizers
// are to see every block by itself.
#if PSV_HAVE_CUDA
#define POOL_SIZES 17 // powers of two from 256 bytes to 16 MB; larger blocks are not kept
#define POOL_MOST 16
static struct {
    void *blocks[POOL_MOST];
    uint32_t count;
} pool[POOL_SIZES];

static uint32_t pool_size(uint64_t bytes) {
    uint32_t size = 0;
    while (size < POOL_SIZES && (uint64_t)256 << size < bytes)
        ++size;
    return size;
}

static void *pool_allocate(uint64_t bytes, void *user) {
    (void)user;
    const uint32_t size = pool_size(bytes);
    if (size < POOL_SIZES && pool[size].count > 0) return pool[size].blocks[--pool[size].count];
    void *block = NULL;
    return cudaMalloc(&block, size < POOL_SIZES ? (uint64_t)256 << size : bytes) == cudaSuccess ? block : NULL;
}

static void pool_release(void *block, uint64_t bytes, void *user) {
    (void)user;
    const uint32_t size = pool_size(bytes);
    if (size < POOL_SIZES && pool[size].count < POOL_MOST)
        pool[size].blocks[pool[size].count++] = block;
    else
        (void)cudaFree(block);
}
#endif

static psv_allocator harness_allocator(psv_backend backend) {
#if PSV_HAVE_CUDA
    if (backend == PSV_BACKEND_CUDA && test_thinning() == 1)
        return (psv_allocator){.allocate = pool_allocate, .release = pool_release};
#endif
    (void)backend;
    return (psv_allocator){NULL, NULL, NULL};
}

psv_context *harness_context(sort_harness *harness, int worker_count) {
    if (harness->backend != PSV_BACKEND_CPU) worker_count = 0;
    psv_context **context = &harness->contexts[worker_count];
    if (*context == NULL) {
        psv_context_def def = psv_default_context_def();
        def.backend = harness->backend;
        def.worker_count = worker_count;
        def.check_buffers = true;
        def.allocator = harness_allocator(harness->backend);
        if (psv_create_context(&def, context) != PSV_OK) fail_msg("%s", psv_last_error(NULL));
        psvi_device_info *info = &(*context)->info;
        if (harness->device != NULL) take_device_for(info, harness->device);
    }
    return *context;
}

void close_harness(sort_harness *harness) {
    for (size_t c = 0; c < sizeof harness->contexts / sizeof *harness->contexts; ++c)
        psv_destroy_context(harness->contexts[c]);
#if PSV_HAVE_CUDA
    for (uint32_t size = 0; size < POOL_SIZES; ++size)
        while (pool[size].count > 0)
            (void)cudaFree(pool[size].blocks[--pool[size].count]);
#endif
}

static void describe(const sort_harness *harness, const sort_case *test, const char *method, char *text, size_t bytes) {
    static const char *const forms[FORM_COUNT] = {"pairs", "keys", "index sorted", "index kept", "index undefined"};
    (void)snprintf(text, bytes, "%s/%s %s %s%s%s bits [%u,%u) values %u %s%s%s%s, count %u, workers %d, %s, seed %llu",
                   psv_backend_name(harness->backend), method, psv_key_type_name(test->def.key_type),
                   key_distribution_name(test->distribution), test->def.descending ? " descending" : "",
                   test->def.nan_policy == PSV_NAN_BITWISE ? " nan-bitwise" : "", test->def.begin_bit,
                   test->def.end_bit, test->def.value_bytes, forms[test->form], test->indirect ? " indirect" : "",
                   test->histograms ? " histograms" : "", test->own_scratch ? " own-scratch" : "", test->count,
                   test->worker_count, test->def.order_check ? "order check" : "no order check",
                   (unsigned long long)harness->seed);
}

static uint32_t value_bytes_of(const sort_case *test) {
    if (test->form == FORM_PAIRS) return test->def.value_bytes;
    return test->form == FORM_KEYS ? 0 : 4;
}

static void permute(const void *from, const uint32_t *order, uint32_t count, uint32_t bytes, void *to) {
    for (uint32_t i = 0; i < count; ++i)
        memcpy((char *)to + (size_t)i * bytes, (const char *)from + (size_t)order[i] * bytes, bytes);
}

static expectation expect(const sort_harness *harness, const sort_case *test) {
    const uint32_t key_bytes = psv_key_type_bytes(test->def.key_type), value_bytes = value_bytes_of(test);
    const size_t count = test->count;
    expectation e = {grab(count * key_bytes), grab(count * 8), grab(count * key_bytes), grab(count * 8),
                     grab(count * sizeof(uint32_t))};
    make_keys(test->def.key_type, test->distribution, harness->seed, count, e.keys);
    uint64_t state = harness->seed;
    for (size_t i = 0; i < count * value_bytes / 4; ++i)
        ((uint32_t *)e.values)[i] = (uint32_t)next_random(&state);
    reference_order(&test->def, e.keys, test->count, e.order);
    permute(e.keys, e.order, test->count, key_bytes, e.sorted_keys);
    if (test->form == FORM_PAIRS)
        permute(e.values, e.order, test->count, value_bytes, e.sorted_values);
    else
        memcpy(e.sorted_values, e.order, count * sizeof(uint32_t));
    return e;
}

static void release(expectation *e) {
    free(e->keys);
    free(e->values);
    free(e->sorted_keys);
    free(e->sorted_values);
    free(e->order);
}

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s: %s", what, #call, psv_last_error(context));                            \
    } while (0)

// A buffer of `spare` + `bytes` bytes with `bytes` of contents and guard bytes behind them.
static psv_buffer make_buffer(psv_context *context, const void *contents, size_t bytes, size_t spare,
                              const char *what) {
    psv_buffer buffer;
    CHECK(psv_alloc_buffer(context, bytes + spare + GUARD_BYTES, &buffer));
    char *host = grab(bytes + spare + GUARD_BYTES);
    memset(host, GUARD_BYTE, bytes + spare + GUARD_BYTES);
    if (contents != NULL) memcpy(host, contents, bytes);
    CHECK(psv_upload(context, buffer, host, bytes + spare + GUARD_BYTES));
    free(host);
    return buffer;
}

// Compares a buffer with what it must hold (NULL: anything), and what lies behind it with the guard.
static void compare_buffer(psv_context *context, psv_buffer buffer, const void *expected, size_t bytes, size_t spare,
                           uint32_t element_bytes, const char *name, const char *what) {
    unsigned char *host = grab(bytes + spare + GUARD_BYTES);
    CHECK(psv_download(context, host, buffer, bytes + spare + GUARD_BYTES));
    for (size_t i = 0; expected != NULL && memcmp(host, expected, bytes) != 0 && i < bytes; ++i) {
        if (host[i] == ((const unsigned char *)expected)[i]) continue;
        fail_msg("%s: %s differ from the reference, first at element %zu", what, name, i / element_bytes);
    }
    for (size_t i = bytes; i < bytes + spare + GUARD_BYTES; ++i)
        if (host[i] != GUARD_BYTE) fail_msg("%s: %s: byte %zu behind the elements was written", what, name, i - bytes);
    free(host);
}

// Digit counts of the transformed keys, made as the producer of the keys would.
static psv_buffer make_histograms(psv_context *context, const sort_case *test, const void *keys, uint32_t digit_bits,
                                  const char *what) {
    const uint32_t width = 8 * psv_key_type_bytes(test->def.key_type);
    const uint32_t end = test->def.end_bit == 0 ? width : test->def.end_bit;
    const uint32_t digits = (end - test->def.begin_bit + digit_bits - 1) / digit_bits;
    const size_t bytes = sizeof(uint32_t) * ((size_t)digits << digit_bits);
    uint32_t *counts = grab(bytes);
    memset(counts, 0, bytes);
    for (uint32_t i = 0; i < test->count; ++i) {
        const uint64_t key = reference_unsigned_form(&test->def, keys, i);
        for (uint32_t d = 0; d < digits; ++d) {
            const uint32_t low = test->def.begin_bit + d * digit_bits;
            const uint32_t bits = end - low < digit_bits ? end - low : digit_bits;
            counts[((size_t)d << digit_bits) + (key >> low & (((uint64_t)1 << bits) - 1))]++;
        }
    }
    psv_buffer buffer;
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    CHECK(psv_upload(context, buffer, counts, bytes));
    free(counts);
    return buffer;
}

static psv_status call(psv_sorter *sorter, const sort_case *test, psv_buffer keys, psv_buffer values,
                       psv_buffer count) {
    const psv_index_keys keep = test->form == FORM_INDEX_SORTED ? PSV_INDEX_KEYS_SORTED
                                : test->form == FORM_INDEX_KEPT ? PSV_INDEX_KEYS_KEPT
                                                                : PSV_INDEX_KEYS_UNDEFINED;
    switch (test->form) {
    case FORM_PAIRS:
        return test->indirect ? psv_sort_pairs_indirect(sorter, keys, values, count)
                              : psv_sort_pairs(sorter, keys, values, test->count);
    case FORM_KEYS:
        return test->indirect ? psv_sort_keys_indirect(sorter, keys, count) : psv_sort_keys(sorter, keys, test->count);
    default:
        return test->indirect ? psv_sort_index_indirect(sorter, keys, values, count, keep)
                              : psv_sort_index(sorter, keys, values, test->count, keep);
    }
}

static void run_sorter(psv_sorter *sorter, psv_context *context, const sort_case *test, const expectation *e,
                       const char *what) {
    const uint32_t key_bytes = psv_key_type_bytes(test->def.key_type), value_bytes = value_bytes_of(test);
    const size_t count = test->count, spare = test->indirect ? SPARE_ELEMENTS : 0;
    psv_buffer keys = make_buffer(context, e->keys, count * key_bytes, spare * key_bytes, what);
    psv_buffer values = make_buffer(context, test->form == FORM_PAIRS ? e->values : NULL, count * value_bytes,
                                    spare * value_bytes, what);
    psv_buffer device_count = {0}, histograms = {0};
    if (test->indirect) {
        const uint64_t number = count;
        CHECK(psv_alloc_buffer(context, sizeof number, &device_count));
        CHECK(psv_upload(context, device_count, &number, sizeof number));
    }
    const uint32_t digit_bits = psv_sorter_digit_bits(sorter);
    if (test->histograms && digit_bits != 0) {
        histograms = make_histograms(context, test, e->keys, digit_bits, what);
        CHECK(psv_set_sort_hint(sorter, &(psv_sort_hint){.histograms = histograms}));
    }
    CHECK(call(sorter, test, keys, values, device_count));
    CHECK(psv_synchronize(context));
    const void *expected_keys = test->form == FORM_INDEX_KEPT ? e->keys : e->sorted_keys;
    if (test->form == FORM_INDEX_UNDEFINED) expected_keys = NULL;
    compare_buffer(context, keys, expected_keys, count * key_bytes, spare * key_bytes, key_bytes, "keys", what);
    if (value_bytes != 0)
        compare_buffer(context, values, e->sorted_values, count * value_bytes, spare * value_bytes, value_bytes,
                       "values", what);
    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &values);
    psv_free_buffer(context, &device_count);
    psv_free_buffer(context, &histograms);
}

static void run_method(sort_harness *harness, const sort_case *test, const expectation *e, const char *method) {
    char what[320];
    describe(harness, test, method, what, sizeof what);
    psv_context *context = harness_context(harness, test->worker_count);
    psv_sorter_def def = test->def;
    def.method = method;
    def.max_count = (uint64_t)test->count + (test->indirect ? SPARE_ELEMENTS : 0);
    if (def.max_count == 0) def.max_count = 1;
    psv_buffer scratch = {0};
    if (test->own_scratch) {
        const uint64_t bytes = psv_sorter_scratch_bytes(harness->backend, &def);
        if (bytes != 0) scratch = make_buffer(context, NULL, bytes + 16, 0, what);
        def.scratch = psv_sub_buffer(scratch, 16, bytes);
    }
    psv_sorter *sorter = NULL;
    const psv_status status = psv_create_sorter(context, &def, &sorter);
    if (status == PSV_ERROR_UNSUPPORTED) {
        harness->refusals++;
        return;
    }
    if (status != PSV_OK) fail_msg("%s: psv_create_sorter: %s", what, psv_last_error(context));
    run_sorter(sorter, context, test, e, what);
    harness->runs++;
    psv_destroy_sorter(sorter);
    if (test->own_scratch) compare_buffer(context, scratch, NULL, scratch.bytes - GUARD_BYTES, 0, 1, "scratch", what);
    psv_free_buffer(context, &scratch);
}

void run_sort_case(sort_harness *harness, const sort_case *test) {
    if (harness->parts != 0 && harness->asked++ % harness->parts != harness->part) return;
    if (!test->every_time && harness->cases++ % (test_thinning() * (harness->every + (harness->every == 0))) != 0)
        return;
    if (test_thinning() == 1 && test->count > LARGE_CASE && harness->large_cases++ % test_scale() != 0) return;
    expectation e = expect(harness, test);
    for (uint32_t m = 0;; ++m) {
        const char *method = psv_sort_method_name(harness->backend, m);
        if (method == NULL) break;
        if (harness->only_method == NULL || strcmp(harness->only_method, method) == 0)
            run_method(harness, test, &e, method);
    }
    release(&e);
}
