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

// How many elements an indirect sorter holds beyond the count.
#define SPARE_ELEMENTS 5u

// Cases above this count are large, see test_scale.h.
#define LARGE_CASE 20000u

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

static sort_arrays expect(const sort_harness *harness, const sort_case *test) {
    const size_t count = test->count;
    sort_arrays a = allocate_arrays(test->def.key_type, test->form, test->def.value_bytes, count);
    make_keys(test->def.key_type, test->distribution, harness->seed, count, a.keys);
    uint64_t state = harness->seed;
    for (size_t i = 0; i < count * a.value_bytes / 4; ++i)
        ((uint32_t *)(void *)a.values)[i] = (uint32_t)next_random(&state);
    uint32_t *order = grab(count * sizeof *order);
    reference_order(&test->def, a.keys, test->count, order);
    if (test->form == FORM_INDEX_KEPT) expect_unchanged(&a, count);
    expect_order(&a, test->form, 0, order, count);
    free(order);
    return a;
}

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s: %s", what, #call, psv_last_error(context));                            \
    } while (0)

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

static void run_sorter(psv_sorter *sorter, psv_context *context, const sort_case *test, const sort_arrays *a,
                       const char *what) {
    const size_t count = test->count, spare = test->indirect ? SPARE_ELEMENTS : 0;
    psv_buffer keys = make_guarded(context, a->keys, count * a->key_bytes, spare * a->key_bytes, what);
    psv_buffer values = make_guarded(context, test->form == FORM_PAIRS ? a->values : NULL, count * a->value_bytes,
                                     spare * a->value_bytes, what);
    psv_buffer device_count = {0}, histograms = {0};
    if (test->indirect) device_count = make_count(context, count, what);
    const uint32_t digit_bits = psv_sorter_digit_bits(sorter);
    if (test->histograms && digit_bits != 0) {
        histograms = make_histograms(context, test, a->keys, digit_bits, what);
        CHECK(psv_set_sort_hint(sorter, &(psv_sort_hint){.histograms = histograms}));
    }
    CHECK(call_sorter(sorter, test->form, keys, values, count, test->indirect ? &device_count : NULL));
    CHECK(psv_synchronize(context));
    compare_guarded(context, keys, test->form == FORM_INDEX_UNDEFINED ? NULL : a->sorted_keys, count * a->key_bytes,
                    spare * a->key_bytes, a->key_bytes, "keys", what);
    if (a->value_bytes != 0)
        compare_guarded(context, values, a->sorted_values, count * a->value_bytes, spare * a->value_bytes,
                        a->value_bytes, "values", what);
    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &values);
    psv_free_buffer(context, &device_count);
    psv_free_buffer(context, &histograms);
}

static void run_method(sort_harness *harness, const sort_case *test, const sort_arrays *a, const char *method) {
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
        if (bytes != 0) scratch = make_guarded(context, NULL, bytes + 16, 0, what);
        def.scratch = psv_sub_buffer(scratch, 16, bytes);
    }
    psv_sorter *sorter = NULL;
    const psv_status status = psv_create_sorter(context, &def, &sorter);
    if (status == PSV_ERROR_UNSUPPORTED) {
        harness->refusals++;
        return;
    }
    if (status != PSV_OK) fail_msg("%s: psv_create_sorter: %s", what, psv_last_error(context));
    run_sorter(sorter, context, test, a, what);
    harness->runs++;
    psv_destroy_sorter(sorter);
    if (test->own_scratch) compare_guarded(context, scratch, NULL, scratch.bytes - GUARD_BYTES, 0, 1, "scratch", what);
    psv_free_buffer(context, &scratch);
}

void run_sort_case(sort_harness *harness, const sort_case *test) {
    if (harness->parts != 0 && harness->asked++ % harness->parts != harness->part) return;
    if (!test->every_time && harness->cases++ % (test_thinning() * (harness->every + (harness->every == 0))) != 0)
        return;
    if (test_thinning() == 1 && test->count > LARGE_CASE && harness->large_cases++ % test_scale() != 0) return;
    sort_arrays a = expect(harness, test);
    for (uint32_t m = 0;; ++m) {
        const char *method = psv_sort_method_name(harness->backend, m);
        if (method == NULL) break;
        if (harness->only_method == NULL || strcmp(harness->only_method, method) == 0)
            run_method(harness, test, &a, method);
    }
    release_arrays(&a);
}
