// Operations beside the sort: moving records by a permutation, and the order check.
#include "word_keys.h"

static psv_status check_gather(psv_context *context, psv_buffer source, psv_buffer target, uint32_t stride,
                               psv_buffer index, uint64_t count) {
    if (stride == 0) return psvi_fail(context, PSV_ERROR_ARGUMENT, "stride is 0; it must be 1 or more");
    if (count > UINT32_MAX)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "count is %llu; an index of 4 bytes numbers at most 4294967295",
                         (unsigned long long)count);
    // The index decides how many records of the source are read: one at least.
    psv_status status = psvi_check_buffer(context, source, stride, 1, "source");
    if (status == PSV_OK) status = psvi_check_buffer(context, target, count * stride, 1, "target");
    if (status == PSV_OK)
        status = psvi_check_buffer(context, index, count * sizeof(uint32_t), sizeof(uint32_t), "index");
    if (status != PSV_OK) return status;
    uintptr_t source_begin = (uintptr_t)psvi_buffer_address(source),
              target_begin = (uintptr_t)psvi_buffer_address(target);
    if (source_begin < target_begin + count * stride && target_begin < source_begin + source.bytes)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "source and target overlap");
    return PSV_OK;
}

psv_status psv_gather_records(psv_context *context, psv_buffer source, psv_buffer target, uint32_t stride,
                              psv_buffer index, uint64_t count) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK || count == 0) return status;
    const psvi_sort_module *module = psvi_sort_module_of(context->backend);
    if (module == NULL || module->gather_records == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend gathers no records", context->ops->name);
    status = check_gather(context, source, target, stride, index, count);
    if (status != PSV_OK) return status;
    psvi_frame_begin(context);
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    status = module->gather_records(context, psvi_buffer_address(source), psvi_buffer_address(target), stride,
                                    psvi_buffer_address(index), count);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    psvi_frame_end(context);
    return status;
}

psv_status psv_check_order(psv_sorter *sorter, psv_buffer keys, uint64_t count, psv_buffer result) {
    psv_status status = psvi_check_sorter(sorter);
    if (status != PSV_OK) return status;
    psv_context *context = sorter->context;
    status = psvi_refuse_words(context, sorter->def.key_type, "psv_check_order");
    if (status != PSV_OK) return status;
    const psvi_sort_module *module = psvi_sort_module_of(context->backend);
    if (module->check_order == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend checks no orders", context->ops->name);
    uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    if (count > UINT64_MAX / key_bytes)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "count is %llu; keys of %u bytes number at most %llu",
                         (unsigned long long)count, key_bytes, (unsigned long long)(UINT64_MAX / key_bytes));
    status = psvi_check_buffer(context, keys, count * key_bytes, key_bytes, "keys");
    if (status == PSV_OK)
        status = psvi_check_buffer(context, result, sizeof(psv_order_result), sizeof(uint64_t), "result");
    if (status != PSV_OK) return status;
    psvi_frame_begin(context);
    psvi_phase_begin(context, PSV_PHASE_SORT);
    status = module->check_order(context, sorter->order, psvi_buffer_address(keys), count, psvi_buffer_address(result));
    psvi_phase_end(context, PSV_PHASE_SORT);
    psvi_frame_end(context);
    return status;
}
