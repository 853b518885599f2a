// Kernels of `merge`: a stable parallel merge sort. Where output element d of a merge comes from is found by a binary
// search along a diagonal of the merge matrix (merge path: Odeh, Green, Mwassi, Shmueli, Birk 2012). The search runs
// first for each block's share of the output in global memory, then for each thread's share in shared memory.
#include "../../core/cuda/cuda_backend.h"
#include "element_count.cuh"
#include "merge_path.h"

namespace {

constexpr uint32_t threads = PSVI_MERGE_THREADS;
constexpr uint32_t items = PSVI_MERGE_ITEMS;
constexpr uint32_t tile = PSVI_MERGE_TILE;

// How many of the first `diagonal` merged elements come from a; elements of a go before equal ones of b.
template <typename Field, typename Size>
__device__ __forceinline__ Size merge_path(const Field *a, Size a_count, const Field *b, Size b_count, Size diagonal) {
    Size low = diagonal > b_count ? diagonal - b_count : 0;
    Size high = diagonal < a_count ? diagonal : a_count;
    while (low < high) {
        const Size middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

template <typename Field> struct tile_memory {
    Field fields[tile];
    uint32_t index[tile];
};

// Merges a = [a_first, a_end) and b = [b_first, b_end) of the tile into `items` pairs of registers per thread, starting
// at output `diagonal` of the merge.
template <typename Field>
__device__ __forceinline__ void merge_in_tile(const tile_memory<Field> &memory, uint32_t a_first, uint32_t a_end,
                                              uint32_t b_first, uint32_t b_end, uint32_t diagonal, Field *field,
                                              uint32_t *index) {
    const uint32_t all = a_end - a_first + b_end - b_first;
    if (diagonal > all) diagonal = all;
    const uint32_t from_a =
        merge_path(memory.fields + a_first, a_end - a_first, memory.fields + b_first, b_end - b_first, diagonal);
    uint32_t a = a_first + from_a, b = b_first + (diagonal - from_a);
#pragma unroll
    for (uint32_t k = 0; k < items; ++k) {
        const bool take_a = a < a_end && (b >= b_end || memory.fields[a] <= memory.fields[b]);
        const uint32_t at = take_a ? a++ : b++;
        const uint32_t safe = at < tile ? at : tile - 1; // past the last element: not written by anyone
        field[k] = memory.fields[safe];
        index[k] = memory.index[safe];
    }
}

// Stable sort of a thread's elements: odd-even transposition only swaps neighbours that are out of order.
template <typename Field> __device__ __forceinline__ void sort_items(Field *field, uint32_t *index) {
#pragma unroll
    for (uint32_t round = 0; round < items; ++round) {
#pragma unroll
        for (uint32_t k = round & 1; k + 1 < items; k += 2) {
            const bool swap = field[k] > field[k + 1];
            const Field low = swap ? field[k + 1] : field[k];
            const uint32_t low_index = swap ? index[k + 1] : index[k];
            field[k + 1] = swap ? field[k] : field[k + 1];
            index[k + 1] = swap ? index[k] : index[k + 1];
            field[k] = low;
            index[k] = low_index;
        }
    }
}

// A thread's elements to their places in the tile.
template <typename Field>
__device__ __forceinline__ void put_items(tile_memory<Field> &memory, const Field (&field)[items],
                                          const uint32_t (&index)[items]) {
#pragma unroll
    for (uint32_t k = 0; k < items; ++k) {
        memory.fields[threadIdx.x * items + k] = field[k];
        memory.index[threadIdx.x * items + k] = index[k];
    }
}

// The tile's first `valid` elements to the output, from `first` on.
template <typename Field>
__device__ __forceinline__ void write_tile(const tile_memory<Field> &memory, const psvi_merge_data &data,
                                           uint64_t first, uint32_t valid) {
    for (uint32_t i = threadIdx.x; i < valid; i += threads) {
        ((Field *)data.fields_out)[first + i] = memory.fields[i];
        data.index_out[first + i] = memory.index[i];
    }
}

// Input: pairs. Output: every 2,048 of them sorted; in place or not. One block sorts one tile: 8 elements in the
// registers of each thread, then eight rounds of merging in shared memory with two barriers each. Reads and writes
// every pair once.
template <typename Field> __global__ void __launch_bounds__(threads) psvk_merge_sort_tiles(psvi_merge_data data) {
    __shared__ tile_memory<Field> memory;
    const uint64_t count = psvi::element_count(data.count, data.count_device);
    const uint64_t first = (uint64_t)blockIdx.x * tile;
    if (first >= count) return;
    const uint32_t valid = (uint32_t)min((uint64_t)tile, count - first);
    for (uint32_t i = threadIdx.x; i < tile; i += threads) {
        memory.fields[i] = i < valid ? ((const Field *)data.fields)[first + i] : (Field) ~(Field)0;
        memory.index[i] = i < valid ? data.index[first + i] : 0;
    }
    __syncthreads();
    Field field[items];
    uint32_t index[items];
#pragma unroll
    for (uint32_t k = 0; k < items; ++k) {
        field[k] = memory.fields[threadIdx.x * items + k];
        index[k] = memory.index[threadIdx.x * items + k];
    }
    sort_items(field, index);
    for (uint32_t run = items; run <= tile; run *= 2) {
        __syncthreads();
        put_items(memory, field, index);
        __syncthreads();
        if (run == tile) break;
        const uint32_t pair = threadIdx.x * items / (2 * run) * (2 * run);
        merge_in_tile(memory, pair, pair + run, pair + run, pair + 2 * run, threadIdx.x * items - pair, field, index);
    }
    write_tile(memory, data, first, valid);
}

// Input: sorted runs. Output: merged runs, in other memory. One block writes one tile: two threads search where it
// starts and ends in both runs, all load that part to shared memory, merge 8 elements each and write. Reads and writes
// every pair once; four barriers.
template <typename Field>
__global__ void __launch_bounds__(threads) psvk_merge_runs(psvi_merge_data data, uint64_t run) {
    __shared__ tile_memory<Field> memory;
    __shared__ uint64_t ends[2];
    const uint64_t count = psvi::element_count(data.count, data.count_device);
    const uint64_t first = (uint64_t)blockIdx.x * tile;
    if (first >= count) return;
    const uint32_t valid = (uint32_t)min((uint64_t)tile, count - first);
    const Field *fields = (const Field *)data.fields;
    const uint64_t a_first = first / (2 * run) * (2 * run);
    const uint64_t b_first = min(a_first + run, count), b_end = min(a_first + 2 * run, count);
    if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
        const uint64_t diagonal = first - a_first + (threadIdx.x == 0 ? 0 : valid);
        ends[threadIdx.x / 32] =
            merge_path(fields + a_first, b_first - a_first, fields + b_first, b_end - b_first, diagonal);
    }
    __syncthreads();
    const uint64_t a_from = a_first + ends[0];
    const uint64_t b_from = b_first + (first - a_first - ends[0]);
    const uint32_t a_count = (uint32_t)(ends[1] - ends[0]);
    for (uint32_t i = threadIdx.x; i < valid; i += threads) {
        const uint64_t from = i < a_count ? a_from + i : b_from + (i - a_count);
        memory.fields[i] = fields[from];
        memory.index[i] = data.index[from];
    }
    __syncthreads();
    Field field[items];
    uint32_t index[items];
    merge_in_tile(memory, 0, a_count, a_count, valid, threadIdx.x * items, field, index);
    __syncthreads();
    put_items(memory, field, index);
    __syncthreads();
    write_tile(memory, data, first, valid);
}

} // namespace

extern "C" psv_status psvi_merge_sort_tiles(psv_context *context, const psvi_merge_data *data) {
    const uint32_t blocks = (uint32_t)((data->count + tile - 1) / tile);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_merge_sort_tiles<uint64_t><<<blocks, threads, 0, stream>>>(*data);
    else
        psvk_merge_sort_tiles<uint32_t><<<blocks, threads, 0, stream>>>(*data);
    return psvi_cuda_status(context, cudaGetLastError(), "merge tile sort launch");
}

extern "C" psv_status psvi_merge_runs(psv_context *context, const psvi_merge_data *data, uint64_t run) {
    const uint32_t blocks = (uint32_t)((data->count + tile - 1) / tile);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_merge_runs<uint64_t><<<blocks, threads, 0, stream>>>(*data, run);
    else
        psvk_merge_runs<uint32_t><<<blocks, threads, 0, stream>>>(*data, run);
    return psvi_cuda_status(context, cudaGetLastError(), "merge pass launch");
}
