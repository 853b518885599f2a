#include "digit_passes.h"

#include "../../../sort/cuda/request_staging.h"

typedef struct digit_layout {
    uint64_t keys[2], values[2], temporary, total;
} digit_layout;

static digit_layout layout_of(const psv_sorter_def *def) {
    digit_layout layout = {0};
    uint64_t keys = psvi_align(def->max_count * psv_key_type_bytes(def->key_type));
    uint64_t values = def->value_bytes != 0 ? psvi_align(def->max_count * 4) : 0;
    layout.keys[1] = keys;
    layout.values[0] = 2 * keys;
    layout.values[1] = 2 * keys + values;
    layout.temporary = 2 * (keys + values);
    layout.total = layout.temporary + (def->value_bytes == 8 ? psvi_stage_finish_bytes(def->max_count, 0, 8) : 0);
    return layout;
}

uint64_t psvi_digit_passes_bytes(const psv_sorter_def *def) { return layout_of(def).total; }

static void choose_values(const psvi_sort_request *request, char *scratch, const digit_layout *layout,
                          psvi_digit_passes *passes) {
    uint32_t *own[2] = {(uint32_t *)(scratch + layout->values[0]), (uint32_t *)(scratch + layout->values[1])};
    passes->implicit = request->implicit_index || request->value_bytes == 8;
    if (request->value_bytes == 8) {
        passes->values[0] = own[0];
        passes->values[1] = own[1];
        passes->values_target = own[0];
    } else if (request->implicit_index) {
        passes->values[0] = request->values_out;
        passes->values[1] = own[1];
        passes->values_target = request->values_out;
    } else if (request->value_bytes == 4) {
        passes->values[0] = request->values_in;
        passes->values[1] = request->values_out != request->values_in ? request->values_out : own[1];
        passes->values_target = request->values_out;
    }
}

psv_status psvi_begin_digit_passes(psv_sorter *sorter, const psvi_sort_request *request, void *scratch,
                                   psvi_digit_passes *passes) {
    const digit_layout layout = layout_of(&sorter->def);
    psv_context *context = sorter->context;
    *passes = (psvi_digit_passes){.count = request->count, .count_device = request->count_device};
    choose_values(request, scratch, &layout, passes);
    const bool apart = request->keys_out != NULL && request->keys_out != request->keys_in;
    passes->keys[1] = apart ? request->keys_out : (char *)scratch + layout.keys[1];
    if (!request->keep_keys_in) {
        passes->keys[0] = request->keys_in;
        return PSV_OK;
    }
    passes->keys[0] = (char *)scratch + layout.keys[0];
    return context->ops->copy(context, passes->keys[0], request->keys_in,
                              request->count * psv_key_type_bytes(sorter->def.key_type), PSVI_COPY_INSIDE);
}

psv_status psvi_end_digit_passes(psv_sorter *sorter, const psvi_sort_request *request, void *scratch,
                                 const psvi_digit_passes *passes, const uint32_t *flags, uint32_t pass_count) {
    psv_status status = psvi_settle_digit_passes(sorter->context, passes, request->keys_out,
                                                 sorter->order.is_wide ? 8 : 4, flags, pass_count);
    if (status != PSV_OK || request->value_bytes != 8) return status;
    psvi_sort_request values_only = *request;
    values_only.keys_out = NULL;
    return psvi_stage_finish(sorter->context, sorter->order, &values_only, NULL, passes->values_target,
                             (char *)scratch + layout_of(&sorter->def).temporary);
}
