// The bucket sort of `hybrid`: Sintorn & Assarsson, «Fast parallel GPU-sorting using a hybrid algorithm», 2007, section
// IV: range, histogram, refined pivots, count with an atomic that also gives each element its place, repositioning to
// sublists that start at multiples of four.
//
// Chosen otherwise than in the paper, because the card is another:
//   - the sublist sizes are not read back to the host: a kernel judges them and refines the pivots (Figure 5, as one
//     search per pivot in the cumulated sizes, which is the same interpolation);
//   - a block counts its elements in shared memory and adds to the device's counters once per bucket, so that ordered
//     input does not serialize on a counter as it did in 2007;
//   - keys are the order-preserving unsigned form of request_staging.h, so pivots are interpolated between integers;
//   - the optional shuffle is a pseudo-random permutation that is computed, instead of atomic exchanges.
#include "../../../core/cuda/cuda_backend.h"
#include "../../../core/cuda/warp_reduce.cuh"
#include "../../../sort/cuda/element_count.cuh"
#include "../../../sort/cuda/last_not_above.cuh"
#include "../../../sort/cuda/launch.h"
#include "../../../sort/cuda/select_buffer.cuh"
#include "hybrid.h"

namespace {

constexpr uint32_t threads = 256;
constexpr uint32_t items = 8;
constexpr uint32_t sweep_blocks = 512;   // of the kernels that reduce: each block goes over many elements
constexpr uint32_t count_threads = 1024; // few large blocks, so that a bucket is added to once for many elements
constexpr uint32_t count_items = 8;
constexpr uint32_t plan_threads = 1024; // of the single block that plans pivots and offsets
constexpr uint32_t plan_items = PSVI_HYBRID_MOST_BUCKETS / plan_threads;
constexpr uint32_t uneven_factor = 2; // sizes up to twice the mean count as even

__device__ __forceinline__ uint64_t elements(const psvi_hybrid_data &data) {
    return psvi::element_count(data.count, data.count_device);
}

// One permutation of [0, 2^bits): multiplications by odd numbers and shifted xors can all be undone.
__device__ __forceinline__ uint32_t mixed(uint32_t x, uint32_t bits) {
    const uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1, half = bits / 2 + 1;
    x = (x * 0x9e3779b1u + 0x7f4a7c15u) & mask;
    x ^= x >> half;
    x = (x * 0x85ebca6bu + 0x165667b1u) & mask;
    x ^= x >> half;
    x = (x * 0xc2b2ae35u + 0x27d4eb2fu) & mask;
    return x ^ (x >> half);
}

// Input: elements. Output: the same in another order; slot i takes element p(i), where p walks the permutation of the
// next power of two until it is inside. No barrier; reads are random.
template <typename Field>
__global__ void __launch_bounds__(threads)
    psvk_hybrid_shuffle(psvi_hybrid_data data, const Field *fields_from, const uint32_t *index_from) {
    const uint64_t count = elements(data);
    const uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x;
    if (i >= count) return;
    const uint32_t bits = count <= 2 ? 1 : 64 - (uint32_t)__clzll((long long)(count - 1));
    uint32_t from = mixed((uint32_t)i, bits);
    while (from >= count)
        from = mixed(from, bits);
    ((Field *)data.fields)[i] = fields_from[from];
    data.index[i] = index_from[from];
}

__global__ void __launch_bounds__(threads) psvk_hybrid_clear(psvi_hybrid_data data) {
    for (uint32_t b = threadIdx.x; b < data.buckets; b += threads)
        data.histogram[b] = data.sizes[b] = 0;
    if (threadIdx.x != 0) return;
    data.state->min = UINT64_MAX;
    data.state->max = 0;
    data.state->even = 0;
    data.state->merge_passes = 0;
}

// Output: smallest and greatest field. Each block sweeps over the input and ends with two atomics per warp.
template <typename Field> __global__ void __launch_bounds__(threads) psvk_hybrid_range(psvi_hybrid_data data) {
    const uint64_t count = elements(data);
    const Field *fields = (const Field *)data.fields;
    Field low = (Field) ~(Field)0, high = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x; i < count; i += (uint64_t)gridDim.x * threads) {
        low = min(low, fields[i]);
        high = max(high, fields[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = min(low, __shfl_down_sync(0xffffffffu, low, offset));
        high = max(high, __shfl_down_sync(0xffffffffu, high, offset));
    }
    if (threadIdx.x % 32 != 0 || low > high) return;
    atomicMin((unsigned long long *)&data.state->min, (unsigned long long)low);
    atomicMax((unsigned long long *)&data.state->max, (unsigned long long)high);
}

// Figure 7. Output: elements per equal part of the range. Each block counts in shared memory and adds its counts at the
// end. Two barriers.
template <typename Field> __global__ void __launch_bounds__(threads) psvk_hybrid_histogram(psvi_hybrid_data data) {
    extern __shared__ uint32_t counts[];
    for (uint32_t b = threadIdx.x; b < data.buckets; b += threads)
        counts[b] = 0;
    __syncthreads();
    const uint64_t count = elements(data);
    const uint64_t low = data.state->min, width = data.state->max - low;
    const float scale = (float)data.buckets / ((float)width + 1.0f);
    for (uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x; i < count; i += (uint64_t)gridDim.x * threads) {
        const uint32_t bin = (uint32_t)((float)(((const Field *)data.fields)[i] - (Field)low) * scale);
        atomicAdd(&counts[min(bin, data.buckets - 1)], 1u);
    }
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < data.buckets; b += threads)
        if (counts[b] != 0) atomicAdd(&data.histogram[b], counts[b]);
}

// Exclusive scan of `own` over the planning block; *total gets the sum. Two barriers.
__device__ __forceinline__ uint32_t scan_block(uint32_t own, uint32_t *warp_sums, uint32_t *total) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t sum = psvd_sum_up_to(own);
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    const uint32_t warps_sum = psvd_sum_up_to(warp_sums[lane]);
    *total = __shfl_sync(0xffffffffu, warps_sum, 31);
    const uint32_t warps_before = __shfl_sync(0xffffffffu, warps_sum, warp == 0 ? 0 : warp - 1);
    __syncthreads();
    return (warp == 0 ? 0 : warps_before) + sum - own;
}

// Writes the exclusive prefix sums of sizes[0..buckets) (each rounded up to a multiple of `round`) and their total.
__device__ __forceinline__ void scan_sizes(const uint32_t *sizes, uint32_t buckets, uint32_t round, uint32_t *prefix,
                                           uint32_t *warp_sums) {
    uint32_t own[plan_items], sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < plan_items; ++k) {
        const uint32_t b = threadIdx.x * plan_items + k;
        own[k] = b < buckets ? (sizes[b] + round - 1) / round * round : 0;
        sum += own[k];
    }
    uint32_t total;
    uint32_t before = scan_block(sum, warp_sums, &total);
#pragma unroll
    for (uint32_t k = 0; k < plan_items; ++k) {
        const uint32_t b = threadIdx.x * plan_items + k;
        if (b < buckets) prefix[b] = before;
        before += own[k];
    }
    if (threadIdx.x == 0) prefix[buckets] = total;
    __syncthreads();
}

// Figure 5. Input: sizes of the parts between `edges`. Output: `refined`, which would divide the input evenly if every
// part were uniform inside.
__device__ __forceinline__ void refine_edges(const psvi_hybrid_data &data, const uint32_t *sizes, const uint64_t *edges,
                                             uint64_t *refined, uint32_t *warp_sums) {
    scan_sizes(sizes, data.buckets, 1, data.ranks, warp_sums);
    const uint32_t *cumulated = data.ranks;
    const uint64_t count = cumulated[data.buckets];
    for (uint32_t j = threadIdx.x; j <= data.buckets; j += plan_threads) {
        if (j == 0 || j == data.buckets) {
            refined[j] = edges[j];
            continue;
        }
        const uint32_t wanted = (uint32_t)(count * j / data.buckets);
        const uint32_t part = last_not_above(cumulated, data.buckets, wanted);
        const uint64_t width = edges[part + 1] - edges[part];
        const double share = sizes[part] == 0 ? 0.0 : (double)(wanted - cumulated[part]) / (double)sizes[part];
        refined[j] = edges[part] + min((uint64_t)((double)width * share), width);
    }
    __syncthreads();
}

// One block. Input: range and histogram. Output: the first pivots in edges[0]; edges[1] is where the histogram's equal
// parts are written on the way.
__global__ void __launch_bounds__(plan_threads) psvk_hybrid_first_pivots(psvi_hybrid_data data) {
    __shared__ uint32_t warp_sums[32];
    const uint64_t low = data.state->min, high = data.state->max;
    const double width = high >= low ? (double)(high - low) + 1.0 : 0.0;
    for (uint32_t b = threadIdx.x; b <= data.buckets; b += plan_threads) {
        const uint64_t part = (uint64_t)(width * b / data.buckets);
        data.edges[1][b] = high >= low ? low + min(part, high - low) : 0;
    }
    __syncthreads();
    refine_edges(data, data.histogram, data.edges[1], data.edges[0], warp_sums);
}

// Figure 4. Input: elements and pivots. Output: bucket and place of every element, sizes of the buckets. A block of
// 1,024 threads takes 8,192 elements: binary search, a count in shared memory that gives the place among the block's,
// one atomic per bucket and block on the device's counter. Three barriers. Reads each field once, writes 6 bytes for
// it.
template <typename Field>
__global__ void __launch_bounds__(count_threads) psvk_hybrid_count(psvi_hybrid_data data, uint32_t which) {
    if (data.state->even != 0) return;
    extern __shared__ uint32_t counts[];
    for (uint32_t b = threadIdx.x; b < data.buckets; b += count_threads)
        counts[b] = 0;
    __syncthreads();
    const uint64_t count = elements(data);
    const uint64_t first = (uint64_t)blockIdx.x * (count_threads * count_items) + threadIdx.x;
    const uint64_t *edges = psvi::select_buffer(data.edges, which);
    uint32_t bucket[count_items], place[count_items];
#pragma unroll
    for (uint32_t k = 0; k < count_items; ++k) {
        const uint64_t i = first + k * count_threads;
        if (i >= count) continue;
        const uint64_t field = ((const Field *)data.fields)[i];
        bucket[k] = last_not_above(edges, data.buckets, field);
        place[k] = atomicAdd(&counts[bucket[k]], 1u);
    }
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < data.buckets; b += count_threads)
        if (counts[b] != 0) counts[b] = atomicAdd(&data.sizes[b], counts[b]);
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < count_items; ++k) {
        const uint64_t i = first + k * count_threads;
        if (i >= count) continue;
        data.place[i] = counts[bucket[k]] + place[k];
        data.bucket[i] = (uint16_t)bucket[k];
    }
}

// One block. Decides whether the sizes are even; if not, refines the pivots and clears the sizes for another count.
__global__ void __launch_bounds__(plan_threads) psvk_hybrid_refine(psvi_hybrid_data data, uint32_t which) {
    __shared__ uint32_t warp_sums[32];
    if (data.state->even != 0) return;
    const uint64_t limit = uneven_factor * (elements(data) / data.buckets + 1);
    bool large = false;
    for (uint32_t b = threadIdx.x; b < data.buckets; b += plan_threads)
        large |= data.sizes[b] > limit;
    const bool uneven = __syncthreads_or(large) != 0;
    if (!uneven) {
        if (threadIdx.x == 0) data.state->even = 1;
        return;
    }
    refine_edges(data, data.sizes, psvi::select_buffer(data.edges, which), psvi::select_buffer(data.edges, 1 - which),
                 warp_sums);
    for (uint32_t b = threadIdx.x; b < data.buckets; b += plan_threads)
        data.sizes[b] = 0;
}

// One block. Input: sizes. Output: first slot and rank of each sublist, padding behind each, and the number of merge
// passes. Padding is the greatest field with the greatest index: it stays behind every element (the paper pads with
// values below the minimum, which unsigned fields do not have).
template <typename Field> __global__ void __launch_bounds__(plan_threads) psvk_hybrid_offsets(psvi_hybrid_data data) {
    __shared__ uint32_t warp_sums[32];
    __shared__ uint32_t largest;
    if (threadIdx.x == 0) largest = 0;
    scan_sizes(data.sizes, data.buckets, 1, data.ranks, warp_sums);
    scan_sizes(data.sizes, data.buckets, 4, data.starts, warp_sums);
    for (uint32_t b = threadIdx.x; b < data.buckets; b += plan_threads) {
        atomicMax(&largest, data.starts[b + 1] - data.starts[b]);
        for (uint32_t slot = data.starts[b] + data.sizes[b]; slot < data.starts[b + 1]; ++slot) {
            ((Field *)data.slot_fields[0])[slot] = (Field) ~(Field)0;
            data.slot_index[0][slot] = UINT32_MAX;
        }
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    uint32_t passes = 0;
    while (((uint64_t)4 << passes) < largest)
        ++passes;
    data.state->merge_passes = passes;
}

// Figure 6. Each element goes to its sublist's first slot plus its place. Reads are in order, writes scattered.
template <typename Field> __global__ void __launch_bounds__(threads) psvk_hybrid_reposition(psvi_hybrid_data data) {
    const uint64_t count = elements(data);
    const uint64_t first = (uint64_t)blockIdx.x * (threads * items) + threadIdx.x;
#pragma unroll
    for (uint32_t k = 0; k < items; ++k) {
        const uint64_t i = first + k * threads;
        if (i >= count) return;
        const uint32_t slot = data.starts[data.bucket[i]] + data.place[i];
        ((Field *)data.slot_fields[0])[slot] = ((const Field *)data.fields)[i];
        data.slot_index[0][slot] = data.index[i];
    }
}

// Each slot that is not padding goes to its sublist's rank plus its place.
template <typename Field> __global__ void __launch_bounds__(threads) psvk_hybrid_compact(psvi_hybrid_data data) {
    const uint32_t slots = data.starts[data.buckets], from = data.state->merge_passes % 2;
    const Field *fields_from = (const Field *)psvi::select_buffer(data.slot_fields, from);
    const uint32_t *index_from = psvi::select_buffer(data.slot_index, from);
    const uint64_t first = (uint64_t)blockIdx.x * (threads * items) + threadIdx.x;
#pragma unroll
    for (uint32_t k = 0; k < items; ++k) {
        const uint64_t slot = first + k * threads;
        if (slot >= slots) return;
        const uint32_t bucket = last_not_above(data.starts, data.buckets, (uint32_t)slot);
        const uint32_t place = (uint32_t)slot - data.starts[bucket];
        if (place >= data.sizes[bucket]) continue;
        const uint32_t to = data.ranks[bucket] + place;
        ((Field *)data.fields)[to] = fields_from[slot];
        data.index[to] = index_from[slot];
    }
}

template <typename Field> void first_pivots(const psvi_hybrid_data *data, cudaStream_t stream) {
    const uint32_t most = psvi_blocks_for(data->count, threads);
    const uint32_t blocks = most < sweep_blocks ? most : sweep_blocks;
    psvk_hybrid_clear<<<1, threads, 0, stream>>>(*data);
    psvk_hybrid_range<Field><<<blocks, threads, 0, stream>>>(*data);
    psvk_hybrid_histogram<Field><<<blocks, threads, data->buckets * 4, stream>>>(*data);
    psvk_hybrid_first_pivots<<<1, plan_threads, 0, stream>>>(*data);
}

template <typename Field> void reposition(const psvi_hybrid_data *data, cudaStream_t stream) {
    psvk_hybrid_offsets<Field><<<1, plan_threads, 0, stream>>>(*data);
    psvk_hybrid_reposition<Field><<<psvi_blocks_for(data->count, threads * items), threads, 0, stream>>>(*data);
}

} // namespace

extern "C" psv_status psvi_hybrid_shuffle(psv_context *context, const psvi_hybrid_data *data, const void *fields_from,
                                          const uint32_t *index_from) {
    const uint32_t blocks = psvi_blocks_for(data->count, threads);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_hybrid_shuffle<<<blocks, threads, 0, stream>>>(*data, (const uint64_t *)fields_from, index_from);
    else
        psvk_hybrid_shuffle<<<blocks, threads, 0, stream>>>(*data, (const uint32_t *)fields_from, index_from);
    return psvi_cuda_status(context, cudaGetLastError(), "hybrid shuffle launch");
}

extern "C" psv_status psvi_hybrid_first_pivots(psv_context *context, const psvi_hybrid_data *data) {
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        first_pivots<uint64_t>(data, stream);
    else
        first_pivots<uint32_t>(data, stream);
    return psvi_cuda_status(context, cudaGetLastError(), "hybrid histogram launch");
}

extern "C" psv_status psvi_hybrid_count(psv_context *context, const psvi_hybrid_data *data, uint32_t which) {
    const uint32_t blocks = psvi_blocks_for(data->count, count_threads * count_items);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_hybrid_count<uint64_t><<<blocks, count_threads, data->buckets * 4, stream>>>(*data, which);
    else
        psvk_hybrid_count<uint32_t><<<blocks, count_threads, data->buckets * 4, stream>>>(*data, which);
    return psvi_cuda_status(context, cudaGetLastError(), "hybrid count launch");
}

extern "C" psv_status psvi_hybrid_refine(psv_context *context, const psvi_hybrid_data *data, uint32_t which) {
    psvk_hybrid_refine<<<1, plan_threads, 0, (cudaStream_t)context->stream>>>(*data, which);
    return psvi_cuda_status(context, cudaGetLastError(), "hybrid refinement launch");
}

extern "C" psv_status psvi_hybrid_reposition(psv_context *context, const psvi_hybrid_data *data) {
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        reposition<uint64_t>(data, stream);
    else
        reposition<uint32_t>(data, stream);
    return psvi_cuda_status(context, cudaGetLastError(), "hybrid repositioning launch");
}

extern "C" psv_status psvi_hybrid_compact(psv_context *context, const psvi_hybrid_data *data) {
    const uint32_t blocks = psvi_blocks_for(data->slots, threads * items);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_hybrid_compact<uint64_t><<<blocks, threads, 0, stream>>>(*data);
    else
        psvk_hybrid_compact<uint32_t><<<blocks, threads, 0, stream>>>(*data);
    return psvi_cuda_status(context, cudaGetLastError(), "hybrid compaction launch");
}
