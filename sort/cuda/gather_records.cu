// Record sort, second half: the permutation moves whole records once, instead of every digit pass moving them
// (Ha, Krueger, Silva 2009, section 4: sorting indices and moving the records afterwards).
//
// A record is moved in words of the widest type (1 to 16 bytes) that divides the stride and both addresses.
#include "../../core/cuda/cuda_backend.h"
#include "element_count.cuh"
#include "gather_records.h"
#include "launch.h"

namespace {

constexpr uint32_t block_threads = 256;
constexpr uint32_t records_per_thread = 4; // independent loads in flight
constexpr uint32_t words_per_block = 4096; // for records of several words
constexpr uint32_t grid_limit = 1u << 30;

// Input: source records of one word each, index. Output: target. Each block moves 1,024 records, each thread 4 of them
// a block width apart, so that index reads and target writes coalesce. No synchronization.
// Moves 4 + 2 * sizeof(Word) bytes a record, the source's in whole 32-byte sectors.
template <typename Word>
__global__ void __launch_bounds__(block_threads)
    psvk_gather_words(const Word *__restrict__ source, Word *__restrict__ target, const uint32_t *__restrict__ index,
                      uint64_t most, const uint64_t *count_device) {
    const uint64_t count = psvi::element_count(most, count_device);
    const uint64_t begin = (uint64_t)blockIdx.x * (block_threads * records_per_thread) + threadIdx.x;
    uint32_t from[records_per_thread];
#pragma unroll
    for (uint32_t k = 0; k < records_per_thread; ++k)
        if (begin + k * block_threads < count) from[k] = index[begin + k * block_threads];
    Word word[records_per_thread];
#pragma unroll
    for (uint32_t k = 0; k < records_per_thread; ++k)
        if (begin + k * block_threads < count) word[k] = source[from[k]];
#pragma unroll
    for (uint32_t k = 0; k < records_per_thread; ++k)
        if (begin + k * block_threads < count) target[begin + k * block_threads] = word[k];
}

// Input: source records of `words` words, index. Output: target. Each block moves `block_records` records; neighbouring
// threads move neighbouring words, so that writes coalesce and a record is read by as few sectors as it has.
// No synchronization.
template <typename Word>
__global__ void __launch_bounds__(block_threads)
    psvk_gather_records(const Word *__restrict__ source, Word *__restrict__ target, const uint32_t *__restrict__ index,
                        uint64_t most, const uint64_t *count_device, uint32_t words, uint32_t block_records) {
    const uint64_t count = psvi::element_count(most, count_device);
    for (uint64_t first = (uint64_t)blockIdx.x * block_records; first < count;
         first += (uint64_t)gridDim.x * block_records) {
        const uint64_t left = count - first;
        const uint32_t records = left < block_records ? (uint32_t)left : block_records;
        // A record of more than 2^32 words cannot be: the stride is a u32 of bytes.
        const uint64_t total = (uint64_t)records * words;
        for (uint64_t w = threadIdx.x; w < total; w += block_threads) {
            const uint32_t record = total <= UINT32_MAX ? (uint32_t)w / words : (uint32_t)(w / words);
            const uint32_t word = (uint32_t)(w - (uint64_t)record * words);
            target[first * words + w] = source[(uint64_t)index[first + record] * words + word];
        }
    }
}

template <typename Word>
void launch(const void *source, void *target, uint32_t stride, const uint32_t *index, uint64_t count,
            const uint64_t *count_device, cudaStream_t stream) {
    const uint32_t words = stride / (uint32_t)sizeof(Word);
    if (words == 1) {
        psvk_gather_words<Word>
            <<<psvi_blocks_for(count, block_threads * records_per_thread), block_threads, 0, stream>>>(
                (const Word *)source, (Word *)target, index, count, count_device);
        return;
    }
    const uint32_t block_records = words >= words_per_block ? 1 : words_per_block / words;
    const uint64_t blocks = (count + block_records - 1) / block_records;
    psvk_gather_records<Word><<<(uint32_t)(blocks < grid_limit ? blocks : grid_limit), block_threads, 0, stream>>>(
        (const Word *)source, (Word *)target, index, count, count_device, words, block_records);
}

} // namespace

extern "C" psv_status psvi_cuda_gather_counted(psv_context *context, const void *source, void *target, uint32_t stride,
                                               const uint32_t *index, uint64_t count, const uint64_t *count_device) {
    if (count == 0) return PSV_OK;
    const uint64_t common = (uint64_t)stride | (uint64_t)(uintptr_t)source | (uint64_t)(uintptr_t)target;
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (common % 16 == 0)
        launch<uint4>(source, target, stride, index, count, count_device, stream);
    else if (common % 8 == 0)
        launch<uint2>(source, target, stride, index, count, count_device, stream);
    else if (common % 4 == 0)
        launch<uint32_t>(source, target, stride, index, count, count_device, stream);
    else if (common % 2 == 0)
        launch<uint16_t>(source, target, stride, index, count, count_device, stream);
    else
        launch<uint8_t>(source, target, stride, index, count, count_device, stream);
    return psvi_cuda_status(context, cudaGetLastError(), "gather_records launch");
}

extern "C" psv_status psvi_cuda_gather_records(psv_context *context, const void *source, void *target, uint32_t stride,
                                               const uint32_t *index, uint64_t count) {
    return psvi_cuda_gather_counted(context, source, target, stride, index, count, NULL);
}
