// Keys of a group's sort on CUDA.
#include <stdlib.h>

#include "../../core/cuda/cuda_backend.h"
#include "../../cuda/launch.h"
#include "../group_keys.h"
#include "part_lists.cuh"

namespace {

constexpr uint32_t block_threads = 256;

struct keys_state {
    psvi_list_room lists;
    psvi_room splitters, samples;
};

// The part of a key: how many splitters are not after it.
struct part_of_key {
    psvi_key_order order;
    const void *keys;
    uint64_t first;
    const psvi_place *splitters;
    uint32_t parts;

    __device__ uint32_t operator()(uint64_t item) const {
        const psvi_place own = {psvi_group_key(order, keys, item), first + item};
        uint32_t low = 0, high = parts - 1;
        while (low < high) {
            const uint32_t middle = (low + high) / 2;
            if (psvi_place_before(own, splitters[middle]))
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }
};

// samples[i]: the key at psvi_sample_place(i). A thread has one.
__global__ void psvk_sample_keys(psvi_group_keys keys, psvi_place *samples, uint64_t sample_count) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= sample_count) return;
    const uint64_t place = psvi_sample_place(i, sample_count, keys.count);
    samples[i] = psvi_place{psvi_group_key(keys.order, keys.keys, place), keys.first + place};
}

// values[i] = first + index[i]. A thread has one.
template <typename Value>
__global__ void psvk_number_values(Value *values, uint64_t first, const uint32_t *index, uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = (Value)(first + index[i]);
}

void close_keys(psv_context *context, void *state) {
    keys_state *own = static_cast<keys_state *>(state);
    if (own == nullptr) return;
    psvi_free_list_room(context, &own->lists);
    psvi_free_room(context, &own->splitters);
    psvi_free_room(context, &own->samples);
    free(own);
}

psv_status open_keys(psv_context *context, uint32_t parts, void **state) {
    keys_state *own = static_cast<keys_state *>(calloc(1, sizeof(keys_state)));
    *state = own;
    if (own == nullptr) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for the parts of %u ranks", parts);
    return psvi_make_room(context, &own->splitters, parts * sizeof(psvi_place), "splitters");
}

psv_status sample_keys(psv_context *context, void *state, const psvi_group_keys *keys, psvi_place *samples,
                       uint64_t sample_count) {
    keys_state *own = static_cast<keys_state *>(state);
    const uint64_t bytes = sample_count * sizeof *samples;
    psv_status status = psvi_make_room(context, &own->samples, bytes, "samples");
    if (status != PSV_OK) return status;
    psvk_sample_keys<<<psvi_blocks_for(sample_count, block_threads), block_threads, 0, (cudaStream_t)context->stream>>>(
        *keys, (psvi_place *)own->samples.memory, sample_count);
    status = psvi_cuda_status(context, cudaGetLastError(), "psvk_sample_keys");
    if (status == PSV_OK) status = context->ops->copy(context, samples, own->samples.memory, bytes, PSVI_COPY_DOWNLOAD);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

psv_status split_keys(psv_context *context, void *state, const psvi_group_keys *keys, uint32_t *index,
                      uint64_t *counts) {
    keys_state *own = static_cast<keys_state *>(state);
    const psvi::one_list<part_of_key> choice = {
        {keys->order, keys->keys, keys->first, (const psvi_place *)own->splitters.memory, keys->parts}};
    psv_status status = PSV_OK;
    if (keys->parts > 1)
        status = context->ops->copy(context, own->splitters.memory, keys->splitters,
                                    (keys->parts - 1) * sizeof(psvi_place), PSVI_COPY_UPLOAD);
    if (status == PSV_OK) status = psvi::count_lists(context, &own->lists, choice, keys->count, keys->parts, counts);
    return status == PSV_OK ? psvi::write_lists(context, &own->lists, choice, keys->count, keys->parts, index) : status;
}

psv_status number_values(psv_context *context, void *values, uint32_t value_bytes, uint64_t first,
                         const uint32_t *index, uint64_t count) {
    if (count == 0) return PSV_OK;
    const uint32_t blocks = psvi_blocks_for(count, block_threads);
    const cudaStream_t stream = (cudaStream_t)context->stream;
    if (value_bytes == 4)
        psvk_number_values<<<blocks, block_threads, 0, stream>>>((uint32_t *)values, first, index, count);
    else
        psvk_number_values<<<blocks, block_threads, 0, stream>>>((uint64_t *)values, first, index, count);
    return psvi_cuda_status(context, cudaGetLastError(), "psvk_number_values");
}

} // namespace

extern "C" const psvi_group_key_ops psvi_cuda_group_key_ops = {open_keys, close_keys, sample_keys, split_keys,
                                                               number_values};
