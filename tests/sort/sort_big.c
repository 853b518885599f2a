#include "sort_big.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Sum of scrambled keys: the same for every order of the same keys.
static uint64_t key_sum(const uint32_t *keys, uint64_t count) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t z = (keys[i] + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
        sum += z ^ z >> 31;
    }
    return sum;
}

static void fill_keys(uint32_t *keys, uint64_t count, uint64_t seed) {
    uint64_t state = seed;
    for (uint64_t i = 0; i + 1 < count; i += 2) {
        const uint64_t random = next_random(&state);
        memcpy(keys + i, &random, sizeof random);
    }
    if (count % 2 != 0) keys[count - 1] = (uint32_t)next_random(&state);
}

// Keys in order, every value the place of its key in the input, values ascending among equal keys.
static void check_pairs(const uint32_t *before, const uint32_t *keys, const uint32_t *values, uint64_t count,
                        const char *method) {
    for (uint64_t i = 0; i < count; ++i) {
        if (values[i] >= count || before[values[i]] != keys[i])
            fail_msg("%s: key and value part at %llu of %llu", method, (unsigned long long)i,
                     (unsigned long long)count);
        if (i > 0 && (keys[i - 1] > keys[i] || (keys[i - 1] == keys[i] && values[i - 1] >= values[i])))
            fail_msg("%s: wrong order at %llu of %llu", method, (unsigned long long)i, (unsigned long long)count);
    }
}

// True when the method ran; false when there is not enough memory or it does not serve this.
static bool run_big(sort_harness *harness, const char *method, uint64_t count, bool values) {
    psv_context *context = harness_context(harness, 0);
    psv_sorter_def def = psv_default_sorter_def();
    def.method = method;
    def.max_count = count;
    def.value_bytes = values ? 4 : 0;
    uint64_t free_bytes = 0, total_bytes = 0;
    assert_int_equal(psv_memory_info(context, &free_bytes, &total_bytes), PSV_OK);
    const uint64_t arrays = count * (values ? 8 : 4), scratch = psv_sorter_scratch_bytes(harness->backend, &def);
    if (scratch == 0 || scratch + arrays > free_bytes / 10 * 9) return false;
    uint32_t *before = malloc(count * 4), *keys = malloc(count * 4), *order = values ? malloc(count * 4) : NULL;
    if (before == NULL || keys == NULL || (values && order == NULL)) {
        free(before);
        free(keys);
        free(order);
        return false;
    }
    fill_keys(before, count, harness->seed);
    psv_sorter *sorter;
    if (psv_create_sorter(context, &def, &sorter) != PSV_OK) fail_msg("%s: %s", method, psv_last_error(context));
    psv_buffer key_buffer, value_buffer = {0};
    assert_int_equal(psv_alloc_buffer(context, count * 4, &key_buffer), PSV_OK);
    assert_int_equal(psv_upload(context, key_buffer, before, count * 4), PSV_OK);
    if (values) {
        for (uint64_t i = 0; i < count; ++i)
            order[i] = (uint32_t)i;
        assert_int_equal(psv_alloc_buffer(context, count * 4, &value_buffer), PSV_OK);
        assert_int_equal(psv_upload(context, value_buffer, order, count * 4), PSV_OK);
    }
    const psv_status status =
        values ? psv_sort_pairs(sorter, key_buffer, value_buffer, count) : psv_sort_keys(sorter, key_buffer, count);
    if (status != PSV_OK) fail_msg("%s: %s", method, psv_last_error(context));
    assert_int_equal(psv_download(context, keys, key_buffer, count * 4), PSV_OK);
    if (values) {
        assert_int_equal(psv_download(context, order, value_buffer, count * 4), PSV_OK);
        check_pairs(before, keys, order, count, method);
    } else {
        for (uint64_t i = 1; i < count; ++i)
            if (keys[i - 1] > keys[i]) fail_msg("%s: wrong order at %llu", method, (unsigned long long)i);
        assert_true(key_sum(before, count) == key_sum(keys, count));
    }
    psv_destroy_sorter(sorter);
    psv_free_buffer(context, &key_buffer);
    psv_free_buffer(context, &value_buffer);
    free(before);
    free(keys);
    free(order);
    return true;
}

void run_big_sorts(sort_harness *harness) {
    static const struct {
        uint64_t count;
        bool values;
    } sizes[] = {{10000000, true}, {100000000, true}, {((uint64_t)1 << 31) + 1, false}};
    const size_t most = harness->backend == PSV_BACKEND_CPU ? 1 : 3;
    for (size_t s = 0; s < most && sizes[s].count <= harness->largest; ++s) {
        for (uint32_t m = 0; psv_sort_method_name(harness->backend, m) != NULL; ++m) {
            const char *method = psv_sort_method_name(harness->backend, m);
            if (harness->only_method != NULL && strcmp(harness->only_method, method) != 0) continue;
            const bool ran = run_big(harness, method, sizes[s].count, sizes[s].values);
            printf("%-8s %11llu %s: %s\n", method, (unsigned long long)sizes[s].count,
                   sizes[s].values ? "pairs" : "keys", ran ? "right" : "left out (memory, or not served)");
            (void)fflush(stdout);
            harness->runs += ran;
            harness->refusals += !ran;
        }
    }
}
