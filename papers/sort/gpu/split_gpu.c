// `split` in compute shaders: García, Alvizo, Olivares, Ramos, «Fast data parallel radix sort implementation in DirectX
// 11 compute shader», 2014, section IV, on the API that they had in mind. Digits of 4 bits; three dispatches a pass:
// sort blocks of 512, prefix sum over the bucket matrix, scatter.
#include "../../../sort/gpu/gpu_methods.h"

#define BLOCK 512u
#define BUCKETS 16u
#define DIGIT_BITS 4u

// Parts of a pass, for the benchmark of the paper's stages: where sorter->state is not NULL it points to events of the
// context's backend, one at the beginning and one at the end of each part of each pass.
#define PARTS 3u

static void mark(const psv_sorter *sorter, uint32_t number) {
    void *const *events = sorter->state;
    if (events != NULL) sorter->context->ops->record_event(sorter->context, events[number]);
}

typedef struct split_memory {
    char *state, *totals, *table;
    char *sorted_keys, *sorted_values; // blocks
    char *keys, *values;               // what a pass leaves
} split_memory;

static uint64_t layout(const psv_sorter_def *def, char *scratch, split_memory *memory) {
    const uint64_t n = def->max_count, key_bytes = psv_key_type_bytes(def->key_type);
    char *at = scratch;
    memory->state = psvi_next_part(&at, PSVI_GPU_STATE_BYTES);
    memory->totals = psvi_next_part(&at, 4 * BUCKETS);
    memory->table = psvi_next_part(&at, 4 * BUCKETS * ((n + BLOCK - 1) / BLOCK));
    memory->sorted_keys = psvi_next_part(&at, key_bytes * n);
    memory->sorted_values = psvi_next_part(&at, (uint64_t)def->value_bytes * n);
    memory->keys = psvi_next_part(&at, key_bytes * n);
    memory->values = psvi_next_part(&at, (uint64_t)def->value_bytes * n);
    return (uint64_t)(at - scratch);
}

static uint64_t split_scratch_bytes(const psv_sorter_def *def) {
    split_memory memory;
    return layout(def, (char *)256, &memory);
}

static psv_status run_dispatch(psv_sorter *sorter, const psvi_sort_request *request, const split_memory *memory,
                               const psvi_gpu_pass *pass, uint32_t blocks, const psvi_gpu_source *source) {
    char defines[PSVI_GPU_DEFINES];
    const uint64_t key_bytes = psv_key_type_bytes(sorter->def.key_type) * request->count;
    const uint64_t value_bytes = request->value_bytes * request->count;
    psvi_gpu_pass plain = *pass;
    plain.first = false;
    psvi_gpu_pass_defines(defines, sorter, request, &plain, "");
    psvi_gpu_call call = {
        .source = source,
        .defines = defines,
        .blocks = {{memory->state, PSVI_GPU_STATE_BYTES},
                   {memory->table, (uint64_t)4 * BUCKETS * blocks},
                   {memory->totals, 4 * BUCKETS},
                   {pass->keys, key_bytes},
                   [5] = {pass->keys_out, key_bytes},
                   [6] = {pass->values, value_bytes},
                   [7] = {pass->values_out, value_bytes}},
        .groups = blocks,
        .indirect = request->count_device != NULL ? memory->state + 8 : NULL,
    };
    psvi_gpu_pass_params(&sorter->order, pass, blocks, call.params);
    return psvi_gpu_run(sorter->context, &call);
}

// Source to sorted blocks to target. `marks`: events before the pass.
static psv_status run_pass(psv_sorter *sorter, const psvi_sort_request *request, const split_memory *memory,
                           const psvi_gpu_pass *pass, uint32_t blocks, uint32_t marks) {
    psvi_gpu_pass sort = *pass, scatter = *pass;
    sort.keys_out = memory->sorted_keys;
    scatter.keys = memory->sorted_keys;
    scatter.implicit = false;
    if (request->value_bytes != 0) {
        sort.values_out = memory->sorted_values;
        scatter.values = memory->sorted_values;
    }
    psv_status status = run_dispatch(sorter, request, memory, &sort, blocks, &psvi_glsl_split_sort);
    mark(sorter, marks);
    if (status == PSV_OK)
        status = psvi_gpu_scan(sorter->context, memory->state, memory->table, memory->totals, BUCKETS, blocks, BLOCK);
    mark(sorter, marks + 1);
    if (status == PSV_OK) status = run_dispatch(sorter, request, memory, &scatter, blocks, &psvi_glsl_split_scatter);
    mark(sorter, marks + 2);
    return status;
}

static psv_status split_run(psv_sorter *sorter, const psvi_sort_request *request) {
    split_memory memory;
    const uint32_t blocks = (uint32_t)((request->count + BLOCK - 1) / BLOCK);
    const uint32_t passes = (sorter->order.end_bit - sorter->order.begin_bit + DIGIT_BITS - 1) / DIGIT_BITS;
    (void)layout(&sorter->def, sorter->scratch, &memory);
    char *const keys[2] = {memory.keys, memory.keys}, *const values[2] = {memory.values, memory.values};
    psv_status status = psvi_gpu_begin_sort(sorter->context, request, memory.state, BLOCK, blocks, 1, false);
    mark(sorter, 0);
    for (uint32_t p = 0; p < passes && status == PSV_OK; ++p) {
        const psvi_gpu_pass pass = psvi_gpu_pass_of(sorter, request, p, passes, DIGIT_BITS, keys, values);
        status = run_pass(sorter, request, &memory, &pass, blocks, 1 + PARTS * p);
    }
    sorter->statistics = (psv_sort_statistics){.passes_run = passes};
    return status == PSV_OK ? psvi_gpu_finish_sorted(sorter, request, memory.state) : status;
}

const psvi_sort_method psvi_sort_split_gpu = {
    .name = "split",
    .description = "4-bit digits by 1-bit splits in shared memory (Garcia et al. 2014)",
    .scratch_bytes = split_scratch_bytes,
    .create = psvi_gpu_prepare,
    .run = split_run,
};
