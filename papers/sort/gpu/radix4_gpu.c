// `radix4` in compute shaders: Ha, Krueger, Silva, «Fast 4-way parallel radix sorting on GPUs», 2009, Algorithm 1. For
// each digit of def.radix4.digit_bits bits: order check, count and shuffle of tiles, scan of the counts, mapping. A
// thread has four elements instead of two, and a group 256 threads, which every device has.
#include <stdio.h>

#include "../../../sort/gpu/gpu_methods.h"

#define TILE 1024u
#define MOST_DIGITS 8u
#define MOST_PASSES 64u
#define SETTLE 3u      // radix4_check.comp
#define ENTRY_BYTES 8u // of a pass

typedef struct radix4_memory {
    char *state, *totals, *table;
    char *passes;                  // an entry each, and two more
    char *tile_keys, *tile_values; // shuffled tiles, or where every other pass writes
    char *keys, *values, *ranks;   // what a pass leaves; ranks: of the scattered mapping
} radix4_memory;

static uint64_t layout(const psv_sorter_def *def, char *scratch, radix4_memory *memory) {
    const uint64_t n = def->max_count, key_bytes = psv_key_type_bytes(def->key_type), value_bytes = def->value_bytes;
    char *at = scratch;
    memory->state = psvi_next_part(&at, PSVI_GPU_STATE_BYTES);
    memory->passes = psvi_next_part(&at, (MOST_PASSES + 2) * ENTRY_BYTES + PSVI_GPU_STATE_BYTES); // bound as states
    memory->totals = psvi_next_part(&at, 4 * MOST_DIGITS);
    memory->table = psvi_next_part(&at, 4 * MOST_DIGITS * ((n + TILE - 1) / TILE));
    memory->tile_keys = psvi_next_part(&at, key_bytes * n);
    memory->tile_values = psvi_next_part(&at, value_bytes * n);
    memory->keys = psvi_next_part(&at, key_bytes * n);
    memory->values = psvi_next_part(&at, value_bytes * n);
    memory->ranks = psvi_next_part(&at, def->radix4.scattered_mapping ? 4 * n : 0);
    return (uint64_t)(at - scratch);
}

static uint64_t radix4_scratch_bytes(const psv_sorter_def *def) {
    radix4_memory memory;
    return layout(def, (char *)256, &memory);
}

static uint32_t pass_count(const psv_sorter *sorter) {
    const uint32_t bits = sorter->order.end_bit - sorter->order.begin_bit;
    return (bits + sorter->def.radix4.digit_bits - 1) / sorter->def.radix4.digit_bits;
}

// How the order is checked before pass `number`, or SETTLE behind the last one.
static psv_status check(psv_sorter *sorter, const psvi_sort_request *request, const radix4_memory *memory,
                        const char *keys, uint32_t number, uint32_t how) {
    char defines[64];
    const uint64_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    const bool looks = how == PSV_ORDER_CHECK_FULL || how == PSV_ORDER_CHECK_QUICK_FULL;
    (void)snprintf(defines, sizeof defines, "#define KEY_WORDS %d\n#define FLOAT %d\n", sorter->order.is_wide ? 2 : 1,
                   sorter->order.is_float ? 1 : 0);
    psvi_gpu_call call = {
        .source = &psvi_glsl_radix4_check,
        .defines = defines,
        .blocks = {{memory->state, PSVI_GPU_STATE_BYTES},
                   {memory->passes, (MOST_PASSES + 2) * ENTRY_BYTES},
                   [3] = {keys, key_bytes * request->count}},
        .groups = looks ? (request->count + TILE - 1) / TILE : 1,
    };
    psvi_gpu_order_params(&sorter->order, call.params);
    call.params[5] = number;
    call.params[6] = how;
    return psvi_gpu_run(sorter->context, &call);
}

static psv_status run_kernel(psv_sorter *sorter, const psvi_sort_request *request, const radix4_memory *memory,
                             const psvi_gpu_pass *pass, uint32_t number, const psvi_gpu_source *source) {
    char defines[PSVI_GPU_DEFINES], more[64];
    const uint64_t n = request->count, key_bytes = psv_key_type_bytes(sorter->def.key_type) * n;
    const uint32_t blocks = (uint32_t)((n + TILE - 1) / TILE), radix = 1u << sorter->def.radix4.digit_bits;
    const bool scattered = sorter->def.radix4.scattered_mapping, placed = sorter->def.radix4.separate_positions;
    psvi_gpu_pass plain = *pass;
    plain.first = false;
    (void)snprintf(more, sizeof more, "#define RADIX %u\n#define SCATTERED %d\n#define PLACED %d\n", radix, scattered,
                   placed);
    psvi_gpu_pass_defines(defines, sorter, request, &plain, more);
    psvi_gpu_call call = {
        .source = source,
        .defines = defines,
        .blocks = {{memory->passes + (uint64_t)ENTRY_BYTES * number, ENTRY_BYTES},
                   {memory->table, (uint64_t)4 * radix * blocks},
                   {memory->totals, 4 * MOST_DIGITS},
                   {pass->keys, key_bytes},
                   {scattered ? memory->ranks : NULL, 4 * n},
                   {pass->keys_out, key_bytes},
                   {pass->values, request->value_bytes * n},
                   {pass->values_out, request->value_bytes * n}},
        .groups = blocks,
        .indirect = request->count_device != NULL ? memory->state + 8 : NULL,
    };
    psvi_gpu_pass_params(&sorter->order, pass, blocks, call.params);
    return psvi_gpu_run(sorter->context, &call);
}

static psv_status run_pass(psv_sorter *sorter, const psvi_sort_request *request, const radix4_memory *memory,
                           const psvi_gpu_pass *pass, uint32_t number) {
    psvi_gpu_pass local = *pass, map = *pass;
    const uint32_t blocks = (uint32_t)((request->count + TILE - 1) / TILE);
    local.keys_out = sorter->def.radix4.scattered_mapping ? memory->ranks : memory->tile_keys;
    if (!sorter->def.radix4.scattered_mapping) {
        local.values_out = request->value_bytes != 0 ? memory->tile_values : NULL;
        map.keys = memory->tile_keys;
        map.values = local.values_out;
        map.implicit = false;
    }
    psv_status status = run_kernel(sorter, request, memory, &local, number, &psvi_glsl_radix4_local);
    if (status == PSV_OK)
        status = psvi_gpu_scan(sorter->context, memory->passes + (uint64_t)ENTRY_BYTES * number, memory->table,
                               memory->totals, 1u << sorter->def.radix4.digit_bits, blocks, TILE);
    if (status == PSV_OK && sorter->def.radix4.separate_positions)
        status = run_kernel(sorter, request, memory, &map, number, &psvi_glsl_radix4_places);
    return status == PSV_OK ? run_kernel(sorter, request, memory, &map, number, &psvi_glsl_radix4_map) : status;
}

// Where a pass found its keys in order, the result is what the pass before it left.
static psv_status settle(psv_sorter *sorter, const psvi_sort_request *request, const radix4_memory *memory,
                         char *const keys[2], char *const values[2], uint32_t passes) {
    const uint32_t key_words = psv_key_type_bytes(sorter->def.key_type) / 4;
    psv_context *context = sorter->context;
    psv_status status = check(sorter, request, memory, NULL, passes, SETTLE);
    for (uint32_t i = 0; i < 2 && status == PSV_OK; ++i) {
        const char *entry = memory->passes + (uint64_t)ENTRY_BYTES * (passes + i);
        if (request->keys_out != NULL)
            status = psvi_gpu_copy_elements(context, PSVI_GPU_SORTED, entry, keys[i], request->keys_out, key_words,
                                            request->count);
        if (status == PSV_OK && request->value_bytes != 0)
            status = psvi_gpu_copy_elements(context, PSVI_GPU_SORTED, entry, values[i], request->values_out,
                                            request->value_bytes / 4, request->count);
    }
    return status == PSV_OK ? psvi_gpu_finish_sorted(sorter, request, memory->passes) : status;
}

static psv_status radix4_run(psv_sorter *sorter, const psvi_sort_request *request) {
    radix4_memory memory;
    psv_context *context = sorter->context;
    const uint32_t blocks = (uint32_t)((request->count + TILE - 1) / TILE), passes = pass_count(sorter);
    const bool scattered = sorter->def.radix4.scattered_mapping;
    (void)layout(&sorter->def, sorter->scratch, &memory);
    char *const keys[2] = {memory.keys, scattered ? memory.tile_keys : memory.keys};
    char *const values[2] = {memory.values, scattered ? memory.tile_values : memory.values};
    psv_status status = psvi_gpu_begin_sort(context, request, memory.state, TILE, blocks, 1, false);
    if (status == PSV_OK) status = context->ops->fill(context, memory.passes, 0, (MOST_PASSES + 2) * ENTRY_BYTES);
    for (uint32_t p = 0; p < passes && status == PSV_OK; ++p) {
        const psvi_gpu_pass pass =
            psvi_gpu_pass_of(sorter, request, p, passes, sorter->def.radix4.digit_bits, keys, values);
        status = check(sorter, request, &memory, pass.keys, p, (uint32_t)sorter->def.radix4.order_check);
        if (status == PSV_OK) status = run_pass(sorter, request, &memory, &pass, p);
    }
    return status == PSV_OK ? settle(sorter, request, &memory, keys, values, passes) : status;
}

static psv_status radix4_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    radix4_memory memory;
    uint32_t entries[MOST_PASSES][ENTRY_BYTES / 4] = {{0}};
    const uint32_t passes = pass_count(sorter);
    psv_context *context = sorter->context;
    (void)layout(&sorter->def, sorter->scratch, &memory);
    psv_status status =
        context->ops->copy(context, entries, memory.passes, (uint64_t)passes * ENTRY_BYTES, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK) return status;
    *statistics = (psv_sort_statistics){0};
    for (uint32_t p = 0; p < passes; ++p)
        ++*(entries[p][0] != 0 ? &statistics->passes_run : &statistics->passes_skipped);
    return PSV_OK;
}

const psvi_sort_method psvi_sort_radix4_gpu = {
    .name = "radix4",
    .description = "4-way radix sort with order check and coalesced mapping (Ha, Krueger, Silva 2009)",
    .scratch_bytes = radix4_scratch_bytes,
    .create = psvi_gpu_prepare,
    .run = radix4_run,
    .statistics = radix4_statistics,
};
