// `bitonic` in compute shaders: Batcher's network over (sorted bits, element's number), padded to a power of two; steps
// of up to 256 in shared memory. Then keys and values are gathered by number.
#include <stdio.h>

#include "../../../sort/gpu/gpu_methods.h"

#define TILE 512u
#define MOST_COUNT ((uint64_t)1 << 31)

typedef struct bitonic_memory {
    char *state, *fields, *index, *moved;
} bitonic_memory;

static uint64_t slots_for(uint64_t count) {
    uint64_t slots = TILE;
    while (slots < count)
        slots *= 2;
    return slots;
}

static uint64_t layout(const psv_sorter_def *def, char *scratch, bitonic_memory *memory) {
    const uint64_t key_bytes = psv_key_type_bytes(def->key_type), slots = slots_for(def->max_count);
    char *at = scratch;
    memory->state = psvi_next_part(&at, PSVI_GPU_STATE_BYTES);
    memory->fields = psvi_next_part(&at, key_bytes * slots);
    memory->index = psvi_next_part(&at, 4 * slots);
    memory->moved = psvi_next_part(&at, (key_bytes > def->value_bytes ? key_bytes : def->value_bytes) * def->max_count);
    return (uint64_t)(at - scratch);
}

static uint64_t bitonic_scratch_bytes(const psv_sorter_def *def) {
    bitonic_memory memory;
    return layout(def, (char *)256, &memory);
}

static bool bitonic_supports(const psv_sorter_def *def, char *why, size_t why_bytes) {
    if (def->max_count <= MOST_COUNT) return true;
    (void)snprintf(why, why_bytes, "bitonic: def.max_count is %llu; it pads to a power of two, %llu at most",
                   (unsigned long long)def->max_count, (unsigned long long)MOST_COUNT);
    return false;
}

static psv_status run_kernel(psv_sorter *sorter, const psvi_sort_request *request, const bitonic_memory *memory,
                             const psvi_gpu_source *source, uint64_t slots, const uint32_t params[3], uint64_t groups) {
    char defines[64];
    const uint64_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    (void)snprintf(defines, sizeof defines, "#define KEY_WORDS %d\n#define FLOAT %d\n", sorter->order.is_wide ? 2 : 1,
                   sorter->order.is_float ? 1 : 0);
    psvi_gpu_call call = {
        .source = source,
        .defines = defines,
        .blocks = {{memory->state, PSVI_GPU_STATE_BYTES},
                   {memory->fields, key_bytes * slots},
                   {memory->index, 4 * slots},
                   {request->keys_in, key_bytes * request->count}},
        .groups = groups,
    };
    psvi_gpu_order_params(&sorter->order, call.params);
    for (int i = 0; i < 3; ++i)
        call.params[5 + i] = params[i];
    return psvi_gpu_run(sorter->context, &call);
}

static psv_status run_network(psv_sorter *sorter, const psvi_sort_request *request, const bitonic_memory *memory,
                              uint64_t slots, uint32_t *launches) {
    const uint32_t all = (uint32_t)slots, tiles = (uint32_t)(slots / TILE), halves = (uint32_t)(slots / 2);
    psv_status status = run_kernel(sorter, request, memory, &psvi_glsl_stage_elements, slots, (uint32_t[]){all, 0, 0},
                                   (slots + 255) / 256);
    if (status == PSV_OK)
        status =
            run_kernel(sorter, request, memory, &psvi_glsl_bitonic_tiles, slots, (uint32_t[]){2, TILE, all}, tiles);
    *launches = 2;
    for (uint64_t merge = 2 * TILE; merge <= slots && status == PSV_OK; merge *= 2) {
        const uint32_t length = (uint32_t)merge;
        for (uint32_t step = length / 2; step >= TILE && status == PSV_OK; step /= 2, ++*launches)
            status = run_kernel(sorter, request, memory, &psvi_glsl_bitonic_step, slots,
                                (uint32_t[]){length, step, halves}, (halves + 255) / 256);
        if (status == PSV_OK)
            status = run_kernel(sorter, request, memory, &psvi_glsl_bitonic_tiles, slots,
                                (uint32_t[]){length, length, all}, tiles);
        ++*launches;
    }
    return status;
}

static psv_status bitonic_run(psv_sorter *sorter, const psvi_sort_request *request) {
    bitonic_memory memory;
    psv_context *context = sorter->context;
    uint32_t launches = 0;
    (void)layout(&sorter->def, sorter->scratch, &memory);
    psv_status status = psvi_gpu_begin_sort(context, request, memory.state, TILE, 0, 1, false);
    if (status == PSV_OK) status = run_network(sorter, request, &memory, slots_for(request->count), &launches);
    sorter->statistics = (psv_sort_statistics){.passes_run = launches};
    return status == PSV_OK ? psvi_gpu_finish_by_number(sorter, request, memory.state, memory.index, memory.moved)
                            : status;
}

const psvi_sort_method psvi_sort_bitonic_gpu = {
    .name = "bitonic",
    .description = "bitonic sorting network (Batcher 1968), the papers' baseline",
    .supports = bitonic_supports,
    .scratch_bytes = bitonic_scratch_bytes,
    .create = psvi_gpu_prepare,
    .run = bitonic_run,
};
