#include "../../core/cuda/cuda_backend.h"
#include "element_count.cuh"
#include "key_field.cuh"
#include "launch.h"
#include "request_staging.h"

namespace {

constexpr uint32_t block_threads = 256;
constexpr uint32_t items_per_thread = 4;
constexpr uint32_t block_items = block_threads * items_per_thread;

// Input: keys. Output: fields and index, `slots` of each. Each block writes 1,024. No synchronization.
template <typename Key, typename Field>
__global__ void __launch_bounds__(block_threads)
    psvk_stage_fields(const Key *__restrict__ keys, Field *__restrict__ fields, uint32_t *__restrict__ index,
                      psvi_key_order order, uint64_t count, const uint64_t *count_device, uint64_t slots) {
    const uint64_t given = psvi::element_count(count, count_device);
    const Field last = (Field)((Key) ~(Key)0 >> (8 * (uint32_t)sizeof(Key) - (order.end_bit - order.begin_bit)));
    const uint64_t begin = (uint64_t)blockIdx.x * block_items + threadIdx.x;
#pragma unroll
    for (uint32_t k = 0; k < items_per_thread; ++k) {
        const uint64_t i = begin + k * block_threads;
        if (i >= slots) return;
        fields[i] = i < given ? (Field)psvi::key_field(keys[i], order) : last;
        if (index != nullptr) index[i] = (uint32_t)i;
    }
}

// target[i] = source[index[i]] up to the device's count.
template <typename Word>
__global__ void __launch_bounds__(block_threads)
    psvk_gather_counted(const Word *__restrict__ source, Word *__restrict__ target, const uint32_t *__restrict__ index,
                        uint64_t count, const uint64_t *count_device) {
    const uint64_t given = psvi::element_count(count, count_device);
    const uint64_t begin = (uint64_t)blockIdx.x * block_items + threadIdx.x;
    Word word[items_per_thread];
#pragma unroll
    for (uint32_t k = 0; k < items_per_thread; ++k)
        if (begin + k * block_threads < given) word[k] = source[index[begin + k * block_threads]];
#pragma unroll
    for (uint32_t k = 0; k < items_per_thread; ++k)
        if (begin + k * block_threads < given) target[begin + k * block_threads] = word[k];
}

// target[i] = source[i] ^ mask up to the device's count; with mask 0 a copy.
template <typename Word>
__global__ void __launch_bounds__(block_threads)
    psvk_flip_counted(const Word *source, Word *target, Word mask, uint64_t count, const uint64_t *count_device) {
    const uint64_t given = psvi::element_count(count, count_device);
    const uint64_t begin = (uint64_t)blockIdx.x * block_items + threadIdx.x;
#pragma unroll
    for (uint32_t k = 0; k < items_per_thread; ++k)
        if (begin + k * block_threads < given)
            target[begin + k * block_threads] = source[begin + k * block_threads] ^ mask;
}

__global__ void __launch_bounds__(block_threads) psvk_write_iota(uint32_t *index, uint64_t count) {
    const uint64_t begin = (uint64_t)blockIdx.x * block_items + threadIdx.x;
#pragma unroll
    for (uint32_t k = 0; k < items_per_thread; ++k)
        if (begin + k * block_threads < count) index[begin + k * block_threads] = (uint32_t)(begin + k * block_threads);
}

void flip(const void *source, void *target, uint64_t mask, uint32_t bytes, uint64_t count, const uint64_t *count_device,
          cudaStream_t stream) {
    const uint32_t blocks = psvi_blocks_for(count, block_items);
    if (bytes == 8)
        psvk_flip_counted<<<blocks, block_threads, 0, stream>>>((const uint64_t *)source, (uint64_t *)target, mask,
                                                                count, count_device);
    else
        psvk_flip_counted<<<blocks, block_threads, 0, stream>>>((const uint32_t *)source, (uint32_t *)target,
                                                                (uint32_t)mask, count, count_device);
}

void gather(const void *source, void *target, uint32_t bytes, const uint32_t *index, uint64_t count,
            const uint64_t *count_device, cudaStream_t stream) {
    const uint32_t blocks = psvi_blocks_for(count, block_items);
    if (bytes == 8)
        psvk_gather_counted<<<blocks, block_threads, 0, stream>>>((const uint64_t *)source, (uint64_t *)target, index,
                                                                  count, count_device);
    else
        psvk_gather_counted<<<blocks, block_threads, 0, stream>>>((const uint32_t *)source, (uint32_t *)target, index,
                                                                  count, count_device);
}

// Moves one array by the index, through temporary memory when it is sorted in place.
void permute(const void *source, void *target, uint32_t bytes, const uint32_t *index, const psvi_sort_request *request,
             void *temporary, cudaStream_t stream) {
    if (source != target) {
        gather(source, target, bytes, index, request->count, request->count_device, stream);
        return;
    }
    gather(source, temporary, bytes, index, request->count, request->count_device, stream);
    flip(temporary, target, 0, bytes, request->count, request->count_device, stream);
}

} // namespace

extern "C" psv_status psvi_stage_request(psv_context *context, psvi_key_order order, const psvi_sort_request *request,
                                         void *fields, uint32_t *index, uint64_t slots) {
    const uint32_t blocks = psvi_blocks_for(slots, block_items);
    cudaStream_t stream = (cudaStream_t)context->stream;
    const uint64_t count = request->count;
    if (!order.is_wide)
        psvk_stage_fields<<<blocks, block_threads, 0, stream>>>((const uint32_t *)request->keys_in, (uint32_t *)fields,
                                                                index, order, count, request->count_device, slots);
    else if (psvi_order_field_bytes(order) == 4)
        psvk_stage_fields<<<blocks, block_threads, 0, stream>>>((const uint64_t *)request->keys_in, (uint32_t *)fields,
                                                                index, order, count, request->count_device, slots);
    else
        psvk_stage_fields<<<blocks, block_threads, 0, stream>>>((const uint64_t *)request->keys_in, (uint64_t *)fields,
                                                                index, order, count, request->count_device, slots);
    return psvi_cuda_status(context, cudaGetLastError(), "sort staging launch");
}

extern "C" psv_status psvi_stage_finish(psv_context *context, psvi_key_order order, const psvi_sort_request *request,
                                        const void *fields, const uint32_t *index, void *temporary) {
    cudaStream_t stream = (cudaStream_t)context->stream;
    const uint32_t key_bytes = order.is_wide ? 8 : 4;
    if (request->keys_out != NULL) {
        const bool whole = !order.is_float && order.begin_bit == 0 && order.end_bit == 8 * key_bytes;
        if (whole && fields != NULL)
            flip(fields, request->keys_out, order.flip, key_bytes, request->count, request->count_device, stream);
        else
            permute(request->keys_in, request->keys_out, key_bytes, index, request, temporary, stream);
    }
    if (request->implicit_index)
        flip(index, request->values_out, 0, 4, request->count, request->count_device, stream);
    else if (request->value_bytes != 0)
        permute(request->values_in, request->values_out, request->value_bytes, index, request, temporary, stream);
    return psvi_cuda_status(context, cudaGetLastError(), "sort finishing launch");
}

extern "C" psv_status psvi_flip_words(psv_context *context, const void *source, void *target, uint64_t mask,
                                      uint32_t bytes, uint64_t count) {
    flip(source, target, mask, bytes, count, NULL, (cudaStream_t)context->stream);
    return psvi_cuda_status(context, cudaGetLastError(), "flip launch");
}

extern "C" psv_status psvi_write_iota(psv_context *context, uint32_t *index, uint64_t count) {
    psvk_write_iota<<<psvi_blocks_for(count, block_items), block_threads, 0, (cudaStream_t)context->stream>>>(index,
                                                                                                              count);
    return psvi_cuda_status(context, cudaGetLastError(), "iota launch");
}
