// The sorting calls: checks of their buffers, and the way to the method.
#include <string.h>

#include "sort_method.h"

static psv_status check_count(psv_sorter *sorter, uint64_t count) {
    if (count > sorter->def.max_count)
        return psvi_fail(sorter->context, PSV_ERROR_CAPACITY, "count is %llu; the sorter's def.max_count is %llu",
                         (unsigned long long)count, (unsigned long long)sorter->def.max_count);
    return PSV_OK;
}

static psv_status check_apart(psv_context *context, psv_buffer a, uint64_t a_bytes, const char *a_name, psv_buffer b,
                              uint64_t b_bytes, const char *b_name) {
    uintptr_t a_begin = (uintptr_t)psvi_buffer_address(a), b_begin = (uintptr_t)psvi_buffer_address(b);
    if (a_bytes == 0 || b_bytes == 0 || a_begin + a_bytes <= b_begin || b_begin + b_bytes <= a_begin) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s and %s overlap", a_name, b_name);
}

// keys, and values of `value_bytes` (0: none), hold `count` elements each and are apart.
static psv_status check_arrays(psv_sorter *sorter, psv_buffer keys, psv_buffer values, uint32_t value_bytes,
                               const char *values_name, uint64_t count) {
    uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    psv_status status =
        psvi_check_buffer(sorter->context, keys, count * key_bytes, key_bytes < 8 ? key_bytes : 8, "keys");
    if (status != PSV_OK || value_bytes == 0) return status;
    status = psvi_check_buffer(sorter->context, values, count * value_bytes, value_bytes, values_name);
    if (status != PSV_OK) return status;
    return check_apart(sorter->context, keys, count * key_bytes, "keys", values, count * value_bytes, values_name);
}

static psv_status check_index_form(psv_sorter *sorter, psv_index_keys keep, uint64_t most) {
    if (sorter->def.value_bytes < 4)
        return psvi_fail(sorter->context, PSV_ERROR_ARGUMENT,
                         "psv_sort_index needs a sorter with def.value_bytes of 4 or 8; this one has %u",
                         sorter->def.value_bytes);
    if ((unsigned)keep > PSV_INDEX_KEYS_UNDEFINED)
        return psvi_fail(sorter->context, PSV_ERROR_ARGUMENT,
                         "keep is %d; it must be PSV_INDEX_KEYS_SORTED, _KEPT or _UNDEFINED", (int)keep);
    if (most > UINT32_MAX)
        return psvi_fail(sorter->context, PSV_ERROR_CAPACITY,
                         "count is %llu; an index of 4 bytes numbers at most 4294967295", (unsigned long long)most);
    return PSV_OK;
}

// The sorts that move nothing: fewer than two keys, or no bits to compare. All that is left are copies.
static psv_status run_trivial(psv_sorter *sorter, const psvi_sort_request *request) {
    psv_context *context = sorter->context;
    uint64_t count = request->count;
    uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    psv_status status = PSV_OK;
    if (count == 0) return PSV_OK;
    if (request->keys_out != NULL && request->keys_out != request->keys_in)
        status = context->ops->copy(context, request->keys_out, request->keys_in, count * key_bytes, PSVI_COPY_INSIDE);
    if (status != PSV_OK || request->value_bytes == 0) return status;
    if (request->implicit_index) return psvi_sort_module_of(context->backend)->write_identity(context, request);
    if (request->values_out != request->values_in)
        status = context->ops->copy(context, request->values_out, request->values_in, count * request->value_bytes,
                                    PSVI_COPY_INSIDE);
    return status;
}

psv_status psvi_sort_run(psv_sorter *sorter, const psvi_sort_request *request) {
    psv_context *context = sorter->context;
    sorter->hint = (psv_sort_hint){0};
    sorter->statistics = (psv_sort_statistics){.route = NULL}; // the method's, when it is asked for
    bool trivial = request->count < 2 || sorter->order.begin_bit == sorter->order.end_bit;
    psvi_frame_begin(context);
    psvi_phase_begin(context, PSV_PHASE_SORT);
    if (trivial) sorter->statistics.route = "copy";
    psv_status status = trivial ? run_trivial(sorter, request) : sorter->method->run(sorter, request);
    psvi_phase_end(context, PSV_PHASE_SORT);
    psvi_frame_end(context);
    return status;
}

// Fills in the count or its address and the hint, then runs.
static psv_status run_with_hint(psv_sorter *sorter, psvi_sort_request *request) {
    request->histograms = psvi_buffer_address(sorter->hint.histograms);
    request->likely_sorted = sorter->hint.likely_sorted;
    return psvi_sort_run(sorter, request);
}

static psv_status check_count_buffer(psv_sorter *sorter, psv_buffer count) {
    return psvi_check_buffer(sorter->context, count, sizeof(uint64_t), sizeof(uint64_t), "count");
}

static psv_status sort_pairs(psv_sorter *sorter, psv_buffer keys, psv_buffer values, uint32_t value_bytes,
                             uint64_t count, const uint64_t *count_device) {
    psv_status status = check_arrays(sorter, keys, values, value_bytes, "values", count);
    if (status != PSV_OK) return status;
    void *value_address = value_bytes == 0 ? NULL : psvi_buffer_address(values);
    psvi_sort_request request = {
        .keys_in = psvi_buffer_address(keys),
        .keys_out = psvi_buffer_address(keys),
        .values_in = value_address,
        .values_out = value_address,
        .value_bytes = value_bytes,
        .count = count,
        .count_device = count_device,
    };
    return run_with_hint(sorter, &request);
}

static psv_status sort_index(psv_sorter *sorter, psv_buffer keys, psv_buffer index, uint64_t count,
                             const uint64_t *count_device, psv_index_keys keep) {
    psv_status status = check_index_form(sorter, keep, count);
    if (status == PSV_OK) status = check_arrays(sorter, keys, index, 4, "index", count);
    if (status != PSV_OK) return status;
    psvi_sort_request request = {
        .keys_in = psvi_buffer_address(keys),
        .keys_out = keep == PSV_INDEX_KEYS_SORTED ? psvi_buffer_address(keys) : NULL,
        .values_out = psvi_buffer_address(index),
        .value_bytes = 4,
        .implicit_index = true,
        .keep_keys_in = keep == PSV_INDEX_KEYS_KEPT,
        .count = count,
        .count_device = count_device,
    };
    return run_with_hint(sorter, &request);
}

psv_status psv_sort_pairs(psv_sorter *sorter, psv_buffer keys, psv_buffer values, uint64_t count) {
    psv_status status = psvi_check_sorter(sorter);
    if (status == PSV_OK) status = check_count(sorter, count);
    return status != PSV_OK ? status : sort_pairs(sorter, keys, values, sorter->def.value_bytes, count, NULL);
}

psv_status psv_sort_keys(psv_sorter *sorter, psv_buffer keys, uint64_t count) {
    psv_status status = psvi_check_sorter(sorter);
    if (status == PSV_OK) status = check_count(sorter, count);
    return status != PSV_OK ? status : sort_pairs(sorter, keys, (psv_buffer){0}, 0, count, NULL);
}

psv_status psv_sort_index(psv_sorter *sorter, psv_buffer keys, psv_buffer index, uint64_t count, psv_index_keys keep) {
    psv_status status = psvi_check_sorter(sorter);
    if (status == PSV_OK) status = check_count(sorter, count);
    return status != PSV_OK ? status : sort_index(sorter, keys, index, count, NULL, keep);
}

psv_status psv_sort_pairs_indirect(psv_sorter *sorter, psv_buffer keys, psv_buffer values, psv_buffer count) {
    psv_status status = psvi_check_sorter(sorter);
    if (status == PSV_OK) status = check_count_buffer(sorter, count);
    if (status != PSV_OK) return status;
    return sort_pairs(sorter, keys, values, sorter->def.value_bytes, sorter->def.max_count, psvi_buffer_address(count));
}

psv_status psv_sort_keys_indirect(psv_sorter *sorter, psv_buffer keys, psv_buffer count) {
    psv_status status = psvi_check_sorter(sorter);
    if (status == PSV_OK) status = check_count_buffer(sorter, count);
    if (status != PSV_OK) return status;
    return sort_pairs(sorter, keys, (psv_buffer){0}, 0, sorter->def.max_count, psvi_buffer_address(count));
}

psv_status psv_sort_index_indirect(psv_sorter *sorter, psv_buffer keys, psv_buffer index, psv_buffer count,
                                   psv_index_keys keep) {
    psv_status status = psvi_check_sorter(sorter);
    if (status == PSV_OK) status = check_count_buffer(sorter, count);
    if (status != PSV_OK) return status;
    return sort_index(sorter, keys, index, sorter->def.max_count, psvi_buffer_address(count), keep);
}

psv_status psv_set_sort_hint(psv_sorter *sorter, const psv_sort_hint *hint) {
    psv_status status = psvi_check_sorter(sorter);
    if (status != PSV_OK) return status;
    if (hint == NULL) return psvi_fail(sorter->context, PSV_ERROR_ARGUMENT, "hint is NULL");
    uint32_t digit_bits = sorter->method->digit_bits;
    if (hint->histograms.bytes != 0 && digit_bits == 0)
        return psvi_fail(sorter->context, PSV_ERROR_UNSUPPORTED,
                         "hint.histograms is given; sorting method '%s' takes none (psv_sorter_digit_bits is 0)",
                         sorter->method->name);
    if (hint->histograms.bytes != 0) {
        uint64_t digits = (sorter->def.end_bit - sorter->def.begin_bit + digit_bits - 1) / digit_bits;
        status = psvi_check_buffer(sorter->context, hint->histograms, (digits << digit_bits) * sizeof(uint32_t),
                                   sizeof(uint32_t), "hint.histograms");
    }
    if (status == PSV_OK) sorter->hint = *hint;
    return status;
}
