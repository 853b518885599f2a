#include "sort_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GUARD_BYTE 0xa5

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s: %s", what, #call, psv_last_error(context));                            \
    } while (0)

uint32_t random_below(uint64_t *state, uint32_t bound) { return (uint32_t)(next_random(state) % bound); }

void *grab(size_t bytes) {
    void *memory = malloc(bytes + 1);
    assert_non_null(memory);
    return memory;
}

sort_arrays allocate_arrays(psv_key_type type, sort_form form, uint32_t value_bytes, size_t count) {
    sort_arrays a = {.key_bytes = psv_key_type_bytes(type)};
    a.value_bytes = form == FORM_KEYS ? 0 : form == FORM_PAIRS ? value_bytes : 4;
    a.keys = grab(count * a.key_bytes);
    a.values = grab(count * a.value_bytes);
    a.sorted_keys = grab(count * a.key_bytes);
    a.sorted_values = grab(count * a.value_bytes);
    return a;
}

void expect_unchanged(sort_arrays *arrays, size_t count) {
    memcpy(arrays->sorted_keys, arrays->keys, count * arrays->key_bytes);
    memcpy(arrays->sorted_values, arrays->values, count * arrays->value_bytes);
}

void expect_order(sort_arrays *arrays, sort_form form, size_t begin, const uint32_t *order, size_t length) {
    const size_t key_bytes = arrays->key_bytes, value_bytes = arrays->value_bytes;
    for (size_t i = 0; i < length; ++i) {
        const size_t to = begin + i, from = begin + order[i];
        if (form != FORM_INDEX_KEPT)
            memcpy(arrays->sorted_keys + to * key_bytes, arrays->keys + from * key_bytes, key_bytes);
        if (form >= FORM_INDEX_SORTED)
            memcpy(arrays->sorted_values + to * 4, &order[i], 4);
        else
            memcpy(arrays->sorted_values + to * value_bytes, arrays->values + from * value_bytes, value_bytes);
    }
}

void release_arrays(sort_arrays *arrays) {
    free(arrays->keys);
    free(arrays->values);
    free(arrays->sorted_keys);
    free(arrays->sorted_values);
}

psv_buffer make_guarded(psv_context *context, const void *contents, size_t bytes, size_t spare, const char *what) {
    const size_t all = bytes + spare + GUARD_BYTES;
    psv_buffer buffer;
    OK(psv_alloc_buffer(context, all, &buffer));
    char *host = grab(all);
    memset(host, GUARD_BYTE, all);
    if (contents != NULL) memcpy(host, contents, bytes);
    OK(psv_upload(context, buffer, host, all));
    free(host);
    return buffer;
}

void compare_guarded(psv_context *context, psv_buffer buffer, const void *expected, size_t bytes, size_t spare,
                     size_t element_bytes, const char *name, const char *what) {
    const size_t all = bytes + spare + GUARD_BYTES;
    unsigned char *host = grab(all);
    OK(psv_download(context, host, buffer, all));
    for (size_t i = 0; expected != NULL && i < bytes; ++i)
        if (host[i] != ((const unsigned char *)expected)[i])
            fail_msg("%s: %s differ from the reference, first at element %zu", what, name, i / element_bytes);
    for (size_t i = bytes; i < all; ++i)
        if (host[i] != GUARD_BYTE) fail_msg("%s: %s: byte %zu behind the elements was written", what, name, i - bytes);
    free(host);
}

psv_buffer make_count(psv_context *context, uint64_t count, const char *what) {
    psv_buffer buffer;
    OK(psv_alloc_buffer(context, sizeof count, &buffer));
    OK(psv_upload(context, buffer, &count, sizeof count));
    return buffer;
}

static psv_index_keys keys_of_index(sort_form form) {
    return form == FORM_INDEX_SORTED ? PSV_INDEX_KEYS_SORTED
           : form == FORM_INDEX_KEPT ? PSV_INDEX_KEYS_KEPT
                                     : PSV_INDEX_KEYS_UNDEFINED;
}

psv_status call_sorter(psv_sorter *sorter, sort_form form, psv_buffer keys, psv_buffer values, uint64_t count,
                       const psv_buffer *device_count) {
    if (form == FORM_PAIRS)
        return device_count != NULL ? psv_sort_pairs_indirect(sorter, keys, values, *device_count)
                                    : psv_sort_pairs(sorter, keys, values, count);
    if (form == FORM_KEYS)
        return device_count != NULL ? psv_sort_keys_indirect(sorter, keys, *device_count)
                                    : psv_sort_keys(sorter, keys, count);
    return device_count != NULL ? psv_sort_index_indirect(sorter, keys, values, *device_count, keys_of_index(form))
                                : psv_sort_index(sorter, keys, values, count, keys_of_index(form));
}

psv_status call_segment_sorter(psv_segment_sorter *sorter, sort_form form, psv_buffer keys, psv_buffer values,
                               uint64_t count, const psv_segments *segments) {
    if (form == FORM_PAIRS) return psv_sort_segments(sorter, keys, values, count, segments);
    if (form == FORM_KEYS) return psv_sort_segments_keys(sorter, keys, count, segments);
    return psv_sort_segments_index(sorter, keys, values, count, segments, keys_of_index(form));
}
