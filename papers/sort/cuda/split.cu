// Kernels of `split`: García, Alvizo, Olivares, Ramos, «Fast data parallel radix sort implementation in DirectX 11
// compute shader», 2014, section IV.
//
// As in the paper: 512 threads sort 512 keys by a 4-bit digit with four 1-bit splits in shared memory, find where each
// of the 16 buckets starts, and write the bucket sizes to a matrix; after a prefix sum over the matrix every key goes
// to its bucket's place plus its place in the block's bucket. Chosen otherwise, because the card is another:
//   - the scan of a warp is a ballot and a population count instead of five shared-memory steps;
//   - the four splits move a 16-bit pair (digit, where the key is) instead of the key, so that keys and values of any
//     width move through shared memory once.
#include "../../../core/cuda/cuda_backend.h"
#include "../../../sort/cuda/element_count.cuh"
#include "../../../sort/cuda/key_field.cuh"
#include "../../../sort/cuda/select_buffer.cuh"
#include "split.h"

namespace {

constexpr uint32_t threads = PSVI_SPLIT_THREADS;
constexpr uint32_t warps = threads / 32;
constexpr uint32_t radix = PSVI_SPLIT_BUCKETS;

// Place of this thread's element after a stable split of the block by `bit`: zeros first. Two barriers.
__device__ __forceinline__ uint32_t split_place(bool bit, uint32_t *warp_ones) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t ones = __ballot_sync(0xffffffffu, bit);
    if (lane == 0) warp_ones[warp] = (uint32_t)__popc(ones);
    __syncthreads();
    uint32_t before = lane < warps ? warp_ones[lane] : 0; // every warp scans the sixteen sums for itself
    for (uint32_t step = 1; step < warps; step *= 2) {
        const uint32_t below = __shfl_up_sync(0xffffffffu, before, step);
        if (lane >= step) before += below;
    }
    const uint32_t all_ones = __shfl_sync(0xffffffffu, before, warps - 1);
    const uint32_t warps_before = __shfl_sync(0xffffffffu, before, warp == 0 ? 0 : warp - 1);
    const uint32_t ones_before = (warp == 0 ? 0 : warps_before) + (uint32_t)__popc(ones & ((1u << lane) - 1));
    __syncthreads();
    return bit ? threads - all_ones + ones_before : threadIdx.x - ones_before;
}

// Dispatch 1. Input: a block of 512 elements. Output: the block in place, sorted by the digit, and its bucket sizes.
// Reads and writes keys and values once; a dozen barriers. Threads past the count carry digit 15 and stay last.
template <typename Key, bool Values>
__global__ void __launch_bounds__(threads) psvk_split_sort_blocks(psvi_split_pass pass, uint32_t blocks) {
    __shared__ Key block_keys[threads];
    __shared__ uint32_t block_values[Values ? threads : 1];
    __shared__ uint16_t carried_at[threads];
    __shared__ uint32_t warp_ones[warps];
    __shared__ uint32_t bucket_first[radix + 1];
    const uint64_t count = psvi::element_count(pass.data.count, pass.data.count_device);
    const uint64_t first = (uint64_t)blockIdx.x * threads;
    const uint32_t valid = count <= first ? 0 : (uint32_t)min((uint64_t)threads, count - first);
    Key *keys = (Key *)psvi::select_buffer(pass.data.keys, pass.source);
    uint32_t *values = psvi::select_buffer(pass.data.values, pass.source);

    uint32_t digit = radix - 1;
    if (threadIdx.x < valid) {
        const Key key = keys[first + threadIdx.x];
        digit = (uint32_t)(psvi::key_field(key, pass.order) >> pass.shift) & (radix - 1);
        block_keys[threadIdx.x] = key;
        if (Values)
            block_values[threadIdx.x] = pass.implicit ? (uint32_t)(first + threadIdx.x) : values[first + threadIdx.x];
    }
    if (threadIdx.x <= radix) bucket_first[threadIdx.x] = valid;
    uint32_t carried = digit * threads + threadIdx.x;
#pragma unroll
    for (uint32_t b = 0; b < PSVI_SPLIT_BITS; ++b) {
        carried_at[split_place((carried / threads >> b) & 1, warp_ones)] = (uint16_t)carried;
        __syncthreads();
        carried = carried_at[threadIdx.x];
    }
    digit = carried / threads;
    const uint32_t from = carried % threads;
    if (threadIdx.x < valid) {
        keys[first + threadIdx.x] = block_keys[from];
        if (Values) values[first + threadIdx.x] = block_values[from];
        // The first element of a bucket marks the start of it and of the empty ones before it.
        const uint32_t previous = threadIdx.x == 0 ? 0 : carried_at[threadIdx.x - 1] / threads + 1;
        for (uint32_t d = previous; d <= digit; ++d)
            bucket_first[d] = threadIdx.x;
    }
    __syncthreads();
    if (threadIdx.x < radix)
        pass.buckets[(uint64_t)threadIdx.x * blocks + blockIdx.x] =
            bucket_first[threadIdx.x + 1] - bucket_first[threadIdx.x];
}

// Dispatch 3. Input: sorted blocks, bucket matrix, its prefix sum. Output: the other buffer. Reads and writes keys and
// values once; one barrier.
template <typename Key, bool Values>
__global__ void __launch_bounds__(threads) psvk_split_scatter(psvi_split_pass pass, uint32_t blocks) {
    __shared__ uint32_t bucket_shift[radix]; // global place minus place in the block
    const uint64_t count = psvi::element_count(pass.data.count, pass.data.count_device);
    const uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x;
    if (threadIdx.x < 32) {
        const uint32_t lane = threadIdx.x;
        const uint64_t at = (uint64_t)lane * blocks + blockIdx.x;
        const uint32_t size = lane < radix ? pass.buckets[at] : 0;
        uint32_t sum = size;
        for (uint32_t step = 1; step < radix; step *= 2) {
            const uint32_t below = __shfl_up_sync(0xffffffffu, sum, step);
            if (lane >= step) sum += below;
        }
        if (lane < radix) bucket_shift[lane] = pass.prefix[at] - (sum - size);
    }
    __syncthreads();
    if (i >= count) return;
    const Key key = ((const Key *)psvi::select_buffer(pass.data.keys, pass.source))[i];
    const uint32_t digit = (uint32_t)(psvi::key_field(key, pass.order) >> pass.shift) & (radix - 1);
    const uint32_t to = bucket_shift[digit] + threadIdx.x;
    ((Key *)psvi::select_buffer(pass.data.keys, 1 - pass.source))[to] = key;
    if (Values)
        psvi::select_buffer(pass.data.values, 1 - pass.source)[to] =
            psvi::select_buffer(pass.data.values, pass.source)[i];
}

template <typename Key, bool Values> void launch(const psvi_split_pass *pass, bool scatter, cudaStream_t stream) {
    const uint32_t blocks = (uint32_t)psvi_split_blocks(pass->data.count);
    if (scatter)
        psvk_split_scatter<Key, Values><<<blocks, threads, 0, stream>>>(*pass, blocks);
    else
        psvk_split_sort_blocks<Key, Values><<<blocks, threads, 0, stream>>>(*pass, blocks);
}

psv_status launch(psv_context *context, const psvi_split_pass *pass, bool scatter) {
    const bool values = pass->data.values[0] != NULL;
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (pass->key_bytes == 8) {
        if (values)
            launch<uint64_t, true>(pass, scatter, stream);
        else
            launch<uint64_t, false>(pass, scatter, stream);
    } else {
        if (values)
            launch<uint32_t, true>(pass, scatter, stream);
        else
            launch<uint32_t, false>(pass, scatter, stream);
    }
    return psvi_cuda_status(context, cudaGetLastError(), scatter ? "split scatter launch" : "split sort launch");
}

} // namespace

extern "C" psv_status psvi_split_sort_blocks(psv_context *context, const psvi_split_pass *pass) {
    return launch(context, pass, false);
}

extern "C" psv_status psvi_split_scatter(psv_context *context, const psvi_split_pass *pass) {
    return launch(context, pass, true);
}
