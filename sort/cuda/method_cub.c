// The reference method: CUB's DeviceRadixSort from the CUDA Toolkit, under the same rules as every other method.
//
// CUB sorts integers by their bits. What pairsieve promises beyond that is made around it:
//   unsigned ascending integers          CUB alone
//   signed or descending integers        keys xor flip, CUB, keys xor flip: two light passes more
//   floats, counts in device memory      staged (request_staging.h): CUB sorts (field, index), then keys and values
//                                        are gathered. CUB has no device count: the padding is sorted too, so the time
//                                        is that of max_count.
#include "../../core/cuda/cuda_backend.h"
#include "cub_radix.h"
#include "cuda_methods.h"
#include "request_staging.h"

typedef struct cub_layout {
    uint64_t keys[2], values[2]; // working buffers; with staging: fields and indices
    uint64_t fixed;              // CUB's look-back and histograms, and copies when its input must be kept
    uint64_t total;
    uint32_t key_bytes, value_bytes;
} cub_layout;

// CUB's own memory beside copies of the data: at most 1 KB for each tile, and no tile is below 1,024 elements.
static uint64_t fixed_bytes(uint64_t count) { return psvi_align(count + (count >> 28) * 65536u + 131072u); }

static cub_layout layout_of(const psv_sorter_def *def) {
    cub_layout layout = {0};
    layout.key_bytes = psv_key_type_bytes(def->key_type);
    layout.value_bytes = def->value_bytes == 8 ? 8 : 4; // staging always needs an index
    uint64_t keys = psvi_align(def->max_count * layout.key_bytes);
    uint64_t values = psvi_align(def->max_count * layout.value_bytes);
    layout.keys[0] = 0;
    layout.keys[1] = keys;
    layout.values[0] = 2 * keys;
    layout.values[1] = 2 * keys + values;
    layout.fixed = 2 * (keys + values);
    layout.total = layout.fixed + fixed_bytes(def->max_count) + keys + values;
    return layout;
}

static bool cub_supports(const psv_sorter_def *def, char *why, size_t why_bytes) {
    (void)def;
    (void)why;
    (void)why_bytes;
    return true;
}

static uint64_t cub_scratch_bytes(const psv_sorter_def *def) { return layout_of(def).total; }

static cudaError_t cub_call(psvi_cub_sort *sort, cudaStream_t stream) {
    return sort->key_bytes == 8 ? psvi_cub_sort_u64(sort, stream) : psvi_cub_sort_u32(sort, stream);
}

// The memory that CUB asks for on this device has to fit what scratch_bytes promised without a device.
static psv_status cub_create(psv_sorter *sorter) {
    const cub_layout layout = layout_of(&sorter->def);
    psvi_cub_sort query = {.key_bytes = layout.key_bytes,
                           .value_bytes = layout.value_bytes,
                           .count = sorter->def.max_count,
                           .end_bit = (int)(8 * layout.key_bytes)};
    psv_status status = psvi_cuda_status(sorter->context, cub_call(&query, NULL), "cub size query");
    if (status != PSV_OK) return status;
    if (query.temporary_bytes > layout.total - layout.fixed)
        return psvi_fail(sorter->context, PSV_ERROR_INTERNAL,
                         "cub: this toolkit's radix sort wants %llu bytes for %llu keys; %llu are set aside",
                         (unsigned long long)query.temporary_bytes, (unsigned long long)sorter->def.max_count,
                         (unsigned long long)(layout.total - layout.fixed));
    return PSV_OK;
}

static psv_status enqueue(psv_sorter *sorter, psvi_cub_sort *sort, const cub_layout *layout) {
    sort->temporary = (char *)sorter->scratch + layout->fixed;
    sort->temporary_bytes = layout->total - layout->fixed;
    return psvi_cuda_status(sorter->context, cub_call(sort, sorter->context->stream), "cub::DeviceRadixSort");
}

static psv_status copy_if_apart(psv_context *context, void *target, const void *source, uint64_t bytes) {
    if (target == source || target == NULL) return PSV_OK;
    return context->ops->copy(context, target, source, bytes, PSVI_COPY_INSIDE);
}

// Integers without a device count: CUB on the keys themselves.
static psv_status run_direct(psv_sorter *sorter, const psvi_sort_request *request, const cub_layout *layout) {
    psv_context *context = sorter->context;
    char *scratch = sorter->scratch;
    const psvi_key_order order = sorter->order;
    const uint64_t key_bytes = request->count * layout->key_bytes;
    const uint64_t value_bytes = request->count * request->value_bytes;
    psvi_cub_sort sort = {.key_bytes = layout->key_bytes,
                          .value_bytes = request->value_bytes,
                          .count = request->count,
                          .begin_bit = (int)order.begin_bit,
                          .end_bit = (int)order.end_bit,
                          .overwrite = !(request->keep_keys_in && order.flip == 0)};
    psv_status status = PSV_OK;
    void *own_values[2] = {scratch + layout->values[0], scratch + layout->values[1]};
    sort.keys[0] = request->keep_keys_in && order.flip != 0 ? scratch + layout->keys[0] : request->keys_in;
    sort.keys[1] = request->keys_out != NULL && request->keys_out != request->keys_in ? request->keys_out
                                                                                      : scratch + layout->keys[1];
    if (order.flip != 0)
        status =
            psvi_flip_words(context, request->keys_in, sort.keys[0], order.flip, layout->key_bytes, request->count);
    if (request->value_bytes != 0) {
        const bool in_place = request->values_in == request->values_out;
        sort.values[0] = request->implicit_index ? own_values[0] : request->values_in;
        sort.values[1] = in_place && !request->implicit_index ? own_values[1] : request->values_out;
        if (status == PSV_OK && request->implicit_index)
            status = psvi_write_iota(context, sort.values[0], request->count);
    }
    if (status == PSV_OK) status = enqueue(sorter, &sort, layout);
    if (status == PSV_OK && request->value_bytes != 0)
        status = copy_if_apart(context, request->values_out, sort.values[sort.result], value_bytes);
    if (status != PSV_OK || request->keys_out == NULL) return status;
    if (order.flip != 0)
        return psvi_flip_words(context, sort.keys[sort.result], request->keys_out, order.flip, layout->key_bytes,
                               request->count);
    return copy_if_apart(context, request->keys_out, sort.keys[sort.result], key_bytes);
}

// Floats and device counts: CUB on staged fields and indices.
static psv_status run_staged(psv_sorter *sorter, const psvi_sort_request *request, const cub_layout *layout) {
    psv_context *context = sorter->context;
    char *scratch = sorter->scratch;
    const psvi_key_order order = sorter->order;
    psvi_cub_sort sort = {.key_bytes = psvi_order_field_bytes(order),
                          .value_bytes = 4,
                          .count = request->count,
                          .end_bit = (int)(order.end_bit - order.begin_bit),
                          .overwrite = true};
    for (int i = 0; i < 2; ++i) {
        sort.keys[i] = scratch + layout->keys[i];
        sort.values[i] = scratch + layout->values[i];
    }
    psv_status status = psvi_stage_request(context, order, request, sort.keys[0], sort.values[0], request->count);
    if (status == PSV_OK) status = enqueue(sorter, &sort, layout);
    if (status != PSV_OK) return status;
    // The copies that CUB did not need are behind its look-back memory: room for the larger of key and value.
    void *temporary = scratch + layout->fixed;
    return psvi_stage_finish(context, order, request, sort.keys[sort.result], sort.values[sort.result], temporary);
}

static psv_status cub_run(psv_sorter *sorter, const psvi_sort_request *request) {
    const cub_layout layout = layout_of(&sorter->def);
    sorter->statistics.passes_run = (sorter->order.end_bit - sorter->order.begin_bit + 7) / 8;
    sorter->statistics.passes_skipped = 0;
    if (sorter->order.is_float || request->count_device != NULL) return run_staged(sorter, request, &layout);
    return run_direct(sorter, request, &layout);
}

const psvi_sort_method psvi_sort_cub = {
    .name = "cub",
    .description = "reference: CUB's DeviceRadixSort from the CUDA Toolkit",
    .supports = cub_supports,
    .scratch_bytes = cub_scratch_bytes,
    .create = cub_create,
    .run = cub_run,
};
