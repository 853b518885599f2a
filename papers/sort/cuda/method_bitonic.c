// `bitonic`: the papers' baseline, on staged pairs. Any count: slots up to the next power of two are padded with the
// greatest field and greater indices, which stay behind. The kernels are in bitonic.cu.
#include "../../../sort/cuda/cuda_methods.h"
#include "../../../sort/cuda/staged_pairs.h"
#include "bitonic.h"

#include <stdio.h>

#define MOST_COUNT ((uint64_t)1 << 31)

static uint64_t slots_for(uint64_t count) {
    uint64_t slots = PSVI_BITONIC_TILE;
    while (slots < count)
        slots *= 2;
    return slots;
}

static bool bitonic_supports(const psv_sorter_def *def, char *why, size_t why_bytes) {
    if (def->max_count <= MOST_COUNT) return true;
    (void)snprintf(why, why_bytes, "bitonic: def.max_count is %llu; it pads to a power of two, %llu at most",
                   (unsigned long long)def->max_count, (unsigned long long)MOST_COUNT);
    return false;
}

// Fields and indices that are sorted in place, and the temporary memory of the last step.
static uint64_t bitonic_scratch_bytes(const psv_sorter_def *def) {
    return psvi_staged_half(slots_for(def->max_count), psv_key_type_bytes(def->key_type)) +
           psvi_stage_finish_bytes(def->max_count, psv_key_type_bytes(def->key_type), def->value_bytes);
}

static psv_status bitonic_run(psv_sorter *sorter, const psvi_sort_request *request) {
    psv_context *context = sorter->context;
    const uint64_t room = slots_for(sorter->def.max_count);
    const uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    char *scratch = sorter->scratch;
    psvi_bitonic_data data = {.fields = scratch,
                              .index = (uint32_t *)(scratch + psvi_align(room * key_bytes)),
                              .field_bytes = psvi_order_field_bytes(sorter->order),
                              .slots = slots_for(request->count)};
    psv_status status = psvi_stage_request(context, sorter->order, request, data.fields, data.index, data.slots);
    if (status == PSV_OK) status = psvi_bitonic_sort_tiles(context, &data);
    uint32_t launches = 1;
    for (uint64_t length = 2 * PSVI_BITONIC_TILE; length <= data.slots && status == PSV_OK; length *= 2) {
        for (uint64_t step = length / 2; step >= PSVI_BITONIC_TILE && status == PSV_OK; step /= 2, ++launches)
            status = psvi_bitonic_exchange(context, &data, length, step);
        if (status == PSV_OK) status = psvi_bitonic_merge_tiles(context, &data, length);
        ++launches;
    }
    sorter->statistics = (psv_sort_statistics){.passes_run = launches};
    if (status != PSV_OK) return status;
    return psvi_stage_finish(context, sorter->order, request, data.fields, data.index,
                             scratch + psvi_staged_half(room, key_bytes));
}

const psvi_sort_method psvi_sort_bitonic = {
    .name = "bitonic",
    .description = "bitonic sorting network (Batcher 1968), the papers' baseline",
    .supports = bitonic_supports,
    .scratch_bytes = bitonic_scratch_bytes,
    .run = bitonic_run,
};
