// Kernels of `bitonic`: Batcher's bitonic sorting network (1968), the baseline of the papers. A network is not stable;
// pairs are compared by (field, index), which makes all of them different and the result the stable one.
#include "../../../core/cuda/cuda_backend.h"
#include "bitonic.h"

namespace {

constexpr uint32_t tile = PSVI_BITONIC_TILE;
constexpr uint32_t threads = 512;

template <typename Field> struct tile_memory {
    Field fields[tile];
    uint32_t index[tile];
};

template <typename Field> __device__ __forceinline__ bool after(Field a, uint32_t a_index, Field b, uint32_t b_index) {
    return a > b || (a == b && a_index > b_index);
}

// The lower one of the n-th couple of slots that are `step` (a power of two) apart.
template <typename Size> __device__ __forceinline__ Size couple(Size n, Size step) { return 2 * n - (n & (step - 1)); }

template <typename Field>
__device__ __forceinline__ void load_tile(const psvi_bitonic_data &data, tile_memory<Field> &memory) {
    const uint64_t first = (uint64_t)blockIdx.x * tile;
    for (uint32_t i = threadIdx.x; i < tile; i += threads) {
        memory.fields[i] = ((const Field *)data.fields)[first + i];
        memory.index[i] = data.index[first + i];
    }
    __syncthreads();
}

template <typename Field>
__device__ __forceinline__ void store_tile(const psvi_bitonic_data &data, const tile_memory<Field> &memory) {
    const uint64_t first = (uint64_t)blockIdx.x * tile;
    for (uint32_t i = threadIdx.x; i < tile; i += threads) {
        ((Field *)data.fields)[first + i] = memory.fields[i];
        data.index[first + i] = memory.index[i];
    }
}

// One exchange in shared memory; slots with bit `length` clear go up. Ends with a barrier.
template <typename Field>
__device__ __forceinline__ void exchange_in_tile(tile_memory<Field> &memory, uint64_t length, uint32_t step) {
    const uint64_t first = (uint64_t)blockIdx.x * tile;
    for (uint32_t n = threadIdx.x; n < tile / 2; n += threads) {
        const uint32_t low = couple(n, step), high = low + step;
        const bool up = ((first + low) & length) == 0;
        const Field a = memory.fields[low], b = memory.fields[high];
        const uint32_t a_index = memory.index[low], b_index = memory.index[high];
        if (after(a, a_index, b, b_index) != up) continue;
        memory.fields[low] = b;
        memory.fields[high] = a;
        memory.index[low] = b_index;
        memory.index[high] = a_index;
    }
    __syncthreads();
}

// Input and output: one tile per block, sorted up or down by the tile's number. Reads and writes every pair once; 66
// barriers.
template <typename Field> __global__ void __launch_bounds__(threads) psvk_bitonic_sort_tiles(psvi_bitonic_data data) {
    __shared__ tile_memory<Field> memory;
    load_tile(data, memory);
    for (uint32_t length = 2; length <= tile; length *= 2)
        for (uint32_t step = length / 2; step > 0; step /= 2)
            exchange_in_tile(memory, length, step);
    store_tile(data, memory);
}

// Input and output: one tile per block, the last eleven exchanges of a merge. Reads and writes every pair once.
template <typename Field>
__global__ void __launch_bounds__(threads) psvk_bitonic_merge_tiles(psvi_bitonic_data data, uint64_t length) {
    __shared__ tile_memory<Field> memory;
    load_tile(data, memory);
    for (uint32_t step = tile / 2; step > 0; step /= 2)
        exchange_in_tile(memory, length, step);
    store_tile(data, memory);
}

// One thread exchanges one couple in global memory. Reads every pair once, writes those that change. No barrier.
template <typename Field>
__global__ void __launch_bounds__(threads)
    psvk_bitonic_exchange(psvi_bitonic_data data, uint64_t length, uint64_t step) {
    const uint64_t low = couple((uint64_t)blockIdx.x * threads + threadIdx.x, step), high = low + step;
    Field *fields = (Field *)data.fields;
    const Field a = fields[low], b = fields[high];
    const uint32_t a_index = data.index[low], b_index = data.index[high];
    if (after(a, a_index, b, b_index) != ((low & length) == 0)) return;
    fields[low] = b;
    fields[high] = a;
    data.index[low] = b_index;
    data.index[high] = a_index;
}

} // namespace

extern "C" psv_status psvi_bitonic_sort_tiles(psv_context *context, const psvi_bitonic_data *data) {
    const uint32_t blocks = (uint32_t)(data->slots / tile);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_bitonic_sort_tiles<uint64_t><<<blocks, threads, 0, stream>>>(*data);
    else
        psvk_bitonic_sort_tiles<uint32_t><<<blocks, threads, 0, stream>>>(*data);
    return psvi_cuda_status(context, cudaGetLastError(), "bitonic tile sort launch");
}

extern "C" psv_status psvi_bitonic_exchange(psv_context *context, const psvi_bitonic_data *data, uint64_t length,
                                            uint64_t step) {
    const uint32_t blocks = (uint32_t)(data->slots / 2 / threads);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_bitonic_exchange<uint64_t><<<blocks, threads, 0, stream>>>(*data, length, step);
    else
        psvk_bitonic_exchange<uint32_t><<<blocks, threads, 0, stream>>>(*data, length, step);
    return psvi_cuda_status(context, cudaGetLastError(), "bitonic exchange launch");
}

extern "C" psv_status psvi_bitonic_merge_tiles(psv_context *context, const psvi_bitonic_data *data, uint64_t length) {
    const uint32_t blocks = (uint32_t)(data->slots / tile);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_bitonic_merge_tiles<uint64_t><<<blocks, threads, 0, stream>>>(*data, length);
    else
        psvk_bitonic_merge_tiles<uint32_t><<<blocks, threads, 0, stream>>>(*data, length);
    return psvi_cuda_status(context, cudaGetLastError(), "bitonic tile merge launch");
}
