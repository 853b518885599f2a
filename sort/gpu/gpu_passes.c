// What the methods in compute shaders share on the host.
#include <stdio.h>

#include "gpu_methods.h"

void psvi_gpu_order_params(const psvi_key_order *order, uint32_t params[5]) {
    params[0] = (uint32_t)order->flip;
    params[1] = (uint32_t)(order->flip >> 32);
    params[2] = order->nan_last;
    params[3] = order->begin_bit;
    params[4] = order->end_bit - order->begin_bit;
}

void psvi_gpu_pass_params(const psvi_key_order *order, const psvi_gpu_pass *pass, uint32_t row, uint32_t params[8]) {
    psvi_gpu_order_params(order, params);
    params[5] = pass->shift;
    params[6] = pass->mask;
    params[7] = row;
}

psvi_gpu_pass psvi_gpu_pass_of(const psv_sorter *sorter, const psvi_sort_request *request, uint32_t pass,
                               uint32_t passes, uint32_t digit_bits, char *const keys[2], char *const values[2]) {
    const bool first = pass == 0, last = pass + 1 == passes;
    const uint32_t shift = sorter->order.begin_bit + pass * digit_bits, left = sorter->order.end_bit - shift;
    psvi_gpu_pass made = {
        .keys = first ? (const char *)request->keys_in : keys[(pass - 1) % 2],
        .keys_out = last ? (char *)request->keys_out : keys[pass % 2],
        .shift = shift,
        .mask = (1u << (left < digit_bits ? left : digit_bits)) - 1,
        .first = first,
        .implicit = first && request->implicit_index,
    };
    if (request->value_bytes == 0) return made;
    made.values = first ? (const char *)request->values_in : values[(pass - 1) % 2];
    made.values_out = last ? (char *)request->values_out : values[pass % 2];
    if (made.implicit) made.values = NULL;
    return made;
}

void psvi_gpu_pass_defines(char *text, const psv_sorter *sorter, const psvi_sort_request *request,
                           const psvi_gpu_pass *pass, const char *more) {
    (void)snprintf(
        text, PSVI_GPU_DEFINES,
        "#define KEY_WORDS %d\n#define FLOAT %d\n#define FIRST %d\n#define VALUE_WORDS %u\n#define IMPLICIT %d\n"
        "#define KEYS_OUT %d\n%s",
        sorter->order.is_wide ? 2 : 1, sorter->order.is_float ? 1 : 0, pass->first, request->value_bytes / 4,
        pass->implicit, pass->keys_out != NULL, more);
}

psv_status psvi_gpu_begin_sort(psv_context *context, const psvi_sort_request *request, const void *state, uint32_t tile,
                               uint32_t tiles_a_part, uint32_t parts, bool check_order) {
    const psvi_gpu_call call = {
        .source = &psvi_glsl_radix_begin,
        .blocks = {{state, PSVI_GPU_STATE_BYTES}, {request->count_device, 8}},
        .params = {(uint32_t)request->count, request->count_device != NULL, tile, tiles_a_part, parts, !check_order},
        .groups = 1,
    };
    return psvi_gpu_run(context, &call);
}

psv_status psvi_gpu_scan(psv_context *context, const void *state, const void *table, const void *totals, uint32_t rows,
                         uint32_t row, uint32_t column_items) {
    const bool software = psvi_gpu_of(context)->software;
    const psvi_gpu_call call = {
        .source = software ? &psvi_glsl_radix_scan_serial : &psvi_glsl_radix_scan,
        .defines = software ? "" : "#define THREADS 256u\n",
        .blocks = {{state, PSVI_GPU_STATE_BYTES}, {table, (uint64_t)4 * rows * row}, {totals, (uint64_t)4 * rows}},
        .params = {column_items, row, rows},
        .groups = software ? (rows + 7) / 8 : rows,
    };
    return psvi_gpu_run(context, &call);
}

psv_status psvi_gpu_copy_elements(psv_context *context, psvi_gpu_guard guard, const void *state, const char *from,
                                  char *to, uint32_t words, uint64_t count) {
    const uint64_t most = (psvi_gpu_of(context)->block_bytes - 512) / 4 / words;
    psv_status status = PSV_OK;
    char defines[64];
    (void)snprintf(defines, sizeof defines, "#define NUMBERS %d\n#define GUARD %d\n", from == NULL, (int)guard);
    for (uint64_t first = 0; first < count && status == PSV_OK; first += most) {
        const uint64_t items = count - first < most ? count - first : most, bytes = 4 * words * items;
        const uint64_t begin = 4 * words * first;
        const psvi_gpu_call call = {
            .source = &psvi_glsl_copy_words,
            .defines = defines,
            .blocks = {{state, guard == PSVI_GPU_GIVEN ? 8 : PSVI_GPU_STATE_BYTES},
                       {from == NULL ? NULL : from + begin, bytes},
                       {to + begin, bytes}},
            .params = {(uint32_t)(items * words), words, (uint32_t)first},
            .groups = (items * words + 255) / 256,
        };
        status = psvi_gpu_run(context, &call);
    }
    return status;
}

psv_status psvi_gpu_finish_sorted(psv_sorter *sorter, const psvi_sort_request *request, const void *state) {
    psv_context *context = sorter->context;
    const uint32_t key_words = psv_key_type_bytes(sorter->def.key_type) / 4;
    psv_status status = PSV_OK;
    if (request->keys_out != NULL && request->keys_out != request->keys_in)
        status = psvi_gpu_copy_elements(context, PSVI_GPU_SORTED, state, request->keys_in, request->keys_out, key_words,
                                        request->count);
    if (status != PSV_OK || request->value_bytes == 0) return status;
    if (request->implicit_index)
        return psvi_gpu_copy_elements(context, PSVI_GPU_SORTED, state, NULL, request->values_out, 1, request->count);
    if (request->values_out == request->values_in) return PSV_OK;
    return psvi_gpu_copy_elements(context, PSVI_GPU_SORTED, state, request->values_in, request->values_out,
                                  request->value_bytes / 4, request->count);
}

// to[i] = from[index[i]] for elements of `bytes` bytes.
static psv_status gather(psv_context *context, const void *state, const char *index, const char *moved,
                         const void *from, void *to, uint32_t bytes, uint64_t count) {
    const psvi_gpu_call call = {
        .source = &psvi_glsl_gather_words,
        .blocks = {{state, PSVI_GPU_STATE_BYTES}, {from, bytes * count}, {moved, bytes * count}, {index, 4 * count}},
        .params = {bytes / 4},
        .groups = (count + 255) / 256,
    };
    psv_status status = psvi_gpu_run(context, &call);
    if (status != PSV_OK) return status;
    return psvi_gpu_copy_elements(context, PSVI_GPU_COUNTED, state, moved, to, bytes / 4, count);
}

psv_status psvi_gpu_finish_by_number(psv_sorter *sorter, const psvi_sort_request *request, const void *state,
                                     const char *index, const char *moved) {
    psv_context *context = sorter->context;
    psv_status status = PSV_OK;
    if (request->implicit_index)
        status =
            psvi_gpu_copy_elements(context, PSVI_GPU_COUNTED, state, index, request->values_out, 1, request->count);
    else if (request->value_bytes != 0)
        status = gather(context, state, index, moved, request->values_in, request->values_out, request->value_bytes,
                        request->count);
    if (status == PSV_OK && request->keys_out != NULL)
        status = gather(context, state, index, moved, request->keys_in, request->keys_out,
                        psv_key_type_bytes(sorter->def.key_type), request->count);
    return status;
}

psv_status psvi_gpu_write_identity(psv_context *context, const psvi_sort_request *request) {
    return psvi_gpu_copy_elements(context, request->count_device != NULL ? PSVI_GPU_GIVEN : PSVI_GPU_ALL,
                                  request->count_device, NULL, request->values_out, 1, request->count);
}

psv_status psvi_gpu_prepare(psv_sorter *sorter) {
    psvi_gpu *gpu = psvi_gpu_of(sorter->context);
    char *some = sorter->scratch; // never followed
    psv_status status = PSV_OK;
    gpu->prepare_only = true;
    for (int form = 0; form < 5 && status == PSV_OK; ++form) {
        const uint32_t value_bytes = form == 0 ? sorter->def.value_bytes : form == 1 ? 0 : 4;
        if (form >= 2 && sorter->def.value_bytes < 4) break;
        const psvi_sort_request request = {
            .keys_in = some,
            .keys_out = form < 3 ? some : NULL,
            .values_in = value_bytes != 0 && form < 2 ? some : NULL,
            .values_out = value_bytes != 0 ? some : NULL,
            .value_bytes = value_bytes,
            .implicit_index = form >= 2,
            .keep_keys_in = form == 3,
            .count = sorter->def.max_count < 2 ? 2 : sorter->def.max_count,
        };
        status = sorter->method->run(sorter, &request);
    }
    gpu->prepare_only = false;
    return status;
}
