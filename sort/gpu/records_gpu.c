// Operations beside the sort: moving records by a permutation, and the order check.
#include <stdio.h>

#include "gpu_methods.h"

psv_status psvi_gpu_gather_records(psv_context *context, const void *source, void *target, uint32_t stride,
                                   const uint32_t *index, uint64_t count) {
    const uint32_t source_rest = (uint32_t)(psvi_gpu_offset_of(source) % 4);
    const uint32_t target_rest = (uint32_t)(psvi_gpu_offset_of(target) % 4);
    const char *source_word = (const char *)source - source_rest;
    // The source may have more records than are gathered: its whole buffer, up to a block's limit.
    const uint64_t source_bytes = psvi_gpu_rest_of_buffer(context, source_word);
    const uint64_t bytes = stride * count;
    const psvi_gpu_call call = {
        .source = &psvi_glsl_gather_records,
        .blocks = {{source_word, source_bytes},
                   {(const char *)target - target_rest, bytes + target_rest},
                   {index, 4 * count}},
        .params = {stride, (uint32_t)bytes, source_rest, target_rest},
        .groups = (bytes + target_rest + 1023) / 1024,
    };
    return psvi_gpu_run(context, &call);
}

psv_status psvi_gpu_check_order(psv_context *context, psvi_key_order order, const void *keys, uint64_t count,
                                psv_order_result *result) {
    char defines[64];
    const uint64_t key_bytes = order.is_wide ? 8 : 4, none = UINT64_MAX;
    const uint64_t most = (psvi_gpu_of(context)->block_bytes - 512) / key_bytes - 1;
    if (count > UINT32_MAX)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "count is %llu; the %s backend checks at most 4294967295 keys",
                         (unsigned long long)count, context->ops->name);
    (void)snprintf(defines, sizeof defines, "#define KEY_WORDS %d\n#define FLOAT %d\n", order.is_wide ? 2 : 1,
                   order.is_float ? 1 : 0);
    psv_status status = context->ops->fill(context, result, 0, sizeof result->descents);
    if (status == PSV_OK) status = context->ops->fill(context, &result->first, 255, sizeof none);
    if (order.end_bit == order.begin_bit) return status;
    for (uint64_t first = 0; first + 1 < count && status == PSV_OK; first += most) {
        const uint64_t neighbours = count - 1 - first < most ? count - 1 - first : most;
        psvi_gpu_call call = {
            .source = &psvi_glsl_check_order,
            .defines = defines,
            .blocks = {{result, sizeof *result},
                       {(const char *)keys + first * key_bytes, (neighbours + 1) * key_bytes}},
            .groups = (neighbours + 2047) / 2048,
        };
        psvi_gpu_order_params(&order, call.params);
        call.params[5] = (uint32_t)neighbours;
        call.params[6] = (uint32_t)first;
        status = psvi_gpu_run(context, &call);
    }
    return status;
}
