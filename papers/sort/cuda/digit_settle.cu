// Brings the result of digit passes to its place. Which buffer it is in is known on the device only when passes may
// have been skipped.
#include "../../../core/cuda/cuda_backend.h"
#include "../../../sort/cuda/element_count.cuh"
#include "../../../sort/cuda/launch.h"
#include "../../../sort/cuda/select_buffer.cuh"
#include "digit_passes.h"

namespace {

constexpr uint32_t block_threads = 256;
constexpr uint32_t items_per_thread = 8;
constexpr uint32_t block_items = block_threads * items_per_thread;

// Input: both buffers and the flags. Output: targets; nothing is moved when the result is there already. Each block
// moves 2,048 elements. One barrier, after the block has counted the passes that ran.
template <typename Key>
__global__ void __launch_bounds__(block_threads)
    psvk_settle(psvi_digit_passes passes, Key *keys_target, const uint32_t *flags, uint32_t pass_count) {
    uint32_t run = pass_count;
    if (flags != nullptr) run = (uint32_t)__syncthreads_count(threadIdx.x < pass_count && flags[threadIdx.x] != 0);
    const Key *keys = (const Key *)psvi::select_buffer(passes.keys, run % 2);
    const uint32_t *values = psvi::select_buffer(passes.values, run % 2);
    const bool iota = run == 0 && passes.implicit;
    const bool move_keys = keys_target != nullptr && keys_target != keys;
    const bool move_values = passes.values_target != nullptr && (iota || passes.values_target != values);
    if (!move_keys && !move_values) return;
    const uint64_t count = psvi::element_count(passes.count, passes.count_device);
    const uint64_t begin = (uint64_t)blockIdx.x * block_items + threadIdx.x;
#pragma unroll
    for (uint32_t k = 0; k < items_per_thread; ++k) {
        const uint64_t i = begin + k * block_threads;
        if (i >= count) return;
        if (move_keys) keys_target[i] = keys[i];
        if (move_values) passes.values_target[i] = iota ? (uint32_t)i : values[i];
    }
}

} // namespace

extern "C" psv_status psvi_settle_digit_passes(psv_context *context, const psvi_digit_passes *passes, void *keys_target,
                                               uint32_t key_bytes, const uint32_t *flags, uint32_t pass_count) {
    const void *keys = passes->keys[pass_count % 2];
    const bool settled = flags == NULL && (keys_target == NULL || keys_target == keys) &&
                         (passes->values_target == NULL || passes->values_target == passes->values[pass_count % 2]);
    if (settled) return PSV_OK;
    const uint32_t blocks = psvi_blocks_for(passes->count, block_items);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (key_bytes == 8)
        psvk_settle<<<blocks, block_threads, 0, stream>>>(*passes, (uint64_t *)keys_target, flags, pass_count);
    else
        psvk_settle<<<blocks, block_threads, 0, stream>>>(*passes, (uint32_t *)keys_target, flags, pass_count);
    return psvi_cuda_status(context, cudaGetLastError(), "sort settling launch");
}
