// Keys of 8, 16 and 128 bits and the words that stand for them, on CUDA. Each kernel is one read of the keys and one
// write of words, or the way back, without synchronization.
#include "../../core/cuda/cuda_backend.h"
#include "../src/word_keys.h"
#include "element_count.cuh"
#include "gather_records.h"
#include "launch.h"

namespace {

constexpr uint32_t block_threads = 256;
constexpr uint32_t keys_per_thread = 4; // independent loads in flight, a block's width apart
constexpr uint32_t block_keys = block_threads * keys_per_thread;

// Calls f(i) for the places of this thread.
template <typename F> __device__ __forceinline__ void for_places(uint64_t count, const uint64_t *count_device, F f) {
    const uint64_t given = psvi::element_count(count, count_device);
    const uint64_t begin = (uint64_t)blockIdx.x * block_keys + threadIdx.x;
#pragma unroll
    for (uint32_t k = 0; k < keys_per_thread; ++k)
        if (begin + k * block_threads < given) f(begin + k * block_threads);
}

// Input: keys. Output: words. Moves sizeof(Key) + 4 bytes a key.
template <typename Key>
__global__ void __launch_bounds__(block_threads)
    psvk_write_narrow_words(psvi_word_form form, const Key *__restrict__ keys, uint32_t *__restrict__ words,
                            uint64_t count, const uint64_t *count_device) {
    for_places(count, count_device, [&](uint64_t i) { words[i] = psvi_narrow_word(keys[i], form); });
}

// Input: words. Output: the keys in their lower bits. Moves sizeof(Key) + 4 bytes a key.
template <typename Key>
__global__ void __launch_bounds__(block_threads)
    psvk_read_narrow_words(const uint32_t *__restrict__ words, Key *__restrict__ keys, uint64_t count,
                           const uint64_t *count_device) {
    for_places(count, count_device, [&](uint64_t i) { keys[i] = (Key)words[i]; });
}

// Input: keys of two words, and the order in which to read them or NULL. Output: one word of each. Moves 24 bytes a
// key; with an index 4 more, and the key's in whole sectors of 32.
__global__ void __launch_bounds__(block_threads)
    psvk_write_wide_words(psvi_word_form form, const uint64_t *__restrict__ keys, const uint32_t *__restrict__ index,
                          uint32_t upper, uint64_t *__restrict__ words, uint64_t count, const uint64_t *count_device) {
    // The word that counts lies first or second: the other one is not loaded.
    const uint64_t *from = keys + ((upper != 0) != (form.is_text != 0) ? 1 : 0);
    for_places(count, count_device, [&](uint64_t i) {
        const uint64_t word = from[2 * (index == nullptr ? i : (uint64_t)index[i])];
        words[i] = psvi_wide_word(word, word, form, upper);
    });
}

psv_status write_words(psv_context *context, psvi_word_form form, const void *keys, const uint32_t *index,
                       uint32_t upper, void *words, uint64_t count, const uint64_t *count_device) {
    if (count == 0) return PSV_OK;
    const uint32_t blocks = psvi_blocks_for(count, block_keys);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (form.key_bytes == 1)
        psvk_write_narrow_words<<<blocks, block_threads, 0, stream>>>(form, (const uint8_t *)keys, (uint32_t *)words,
                                                                      count, count_device);
    else if (form.key_bytes == 2)
        psvk_write_narrow_words<<<blocks, block_threads, 0, stream>>>(form, (const uint16_t *)keys, (uint32_t *)words,
                                                                      count, count_device);
    else
        psvk_write_wide_words<<<blocks, block_threads, 0, stream>>>(form, (const uint64_t *)keys, index, upper,
                                                                    (uint64_t *)words, count, count_device);
    return psvi_cuda_status(context, cudaGetLastError(), "launch of the words of keys");
}

psv_status read_words(psv_context *context, psvi_word_form form, const uint32_t *words, void *keys, uint64_t count,
                      const uint64_t *count_device) {
    if (count == 0) return PSV_OK;
    const uint32_t blocks = psvi_blocks_for(count, block_keys);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (form.key_bytes == 1)
        psvk_read_narrow_words<<<blocks, block_threads, 0, stream>>>(words, (uint8_t *)keys, count, count_device);
    else
        psvk_read_narrow_words<<<blocks, block_threads, 0, stream>>>(words, (uint16_t *)keys, count, count_device);
    return psvi_cuda_status(context, cudaGetLastError(), "launch of the keys of words");
}

} // namespace

extern "C" const psvi_word_ops psvi_cuda_words = {write_words, read_words, psvi_cuda_gather_counted};
