// Kernels of `radix4`: order check (Algorithm 3), 4-way prefix sum with in-block shuffle (Algorithms 2, 5, 6) and
// mapping (Algorithm 4) of Ha, Krueger, Silva, «Fast 4-way parallel radix sorting on GPUs», 2009.
//
// As in the paper: a block counts all digits at once, shuffles its elements into clusters of equal digits in shared
// memory, writes the counts digit after digit, and after one scan over these a cluster is written to its place by
// threads that start at an aligned address. Chosen otherwise, because the card is another:
//   - ranks within 32 elements come from warp ballots instead of up- and down-sweep trees in shared memory
//     (Algorithms 5 and 6): the same numbers, with no barrier per level;
//   - a thread has 4 elements instead of 2, and the block size comes from the driver's occupancy query;
//   - the quick and the full order check are one launch, see there;
//   - the order check leaves a flag in device memory and every kernel of the pass looks at it, so the host never waits;
//   - float and signed keys are transformed where a digit is taken (Terdiman 2000 in the paper), not in a pass before.
#include "../../../core/cuda/cuda_backend.h"
#include "../../../core/cuda/warp_reduce.cuh"
#include "../../../sort/cuda/element_count.cuh"
#include "../../../sort/cuda/key_field.cuh"
#include "../../../sort/cuda/launch.h"
#include "../../../sort/cuda/select_buffer.cuh"
#include "radix4.h"

namespace {

constexpr uint32_t items = PSVI_RADIX4_ITEMS;
constexpr uint32_t most_warps = PSVI_RADIX4_MOST_THREADS / 32;
constexpr uint32_t check_threads = 256;
constexpr uint32_t check_items = 8;

template <typename Key> struct typed_pass {
    Key *source_keys, *target_keys;
    uint32_t *source_values, *target_values;
};

template <typename Key> __device__ __forceinline__ typed_pass<Key> typed(const psvi_radix4_pass &pass) {
    return {(Key *)psvi::select_buffer(pass.data.keys, pass.source),
            (Key *)psvi::select_buffer(pass.data.keys, 1 - pass.source),
            psvi::select_buffer(pass.data.values, pass.source), psvi::select_buffer(pass.data.values, 1 - pass.source)};
}

__global__ void psvk_radix4_clear(uint32_t *flags, uint32_t count, uint32_t value) {
    if (threadIdx.x < count) flags[threadIdx.x] = value;
}

// Algorithm 3. Input: the keys. Output: *flag is set when a key is above its successor. A block looks at 2,048 keys and
// ends with one barrier and at most one store: of the paper's sum of descents only «more than none» is wanted. With
// `stop` a block leaves when it sees the flag set. Blocks start in the order of their numbers, so the first ones are
// the paper's quick check of a prefix, and the rest is looked at only when they found nothing. Reads every key once
// (the neighbour comes from the cache).
template <typename Key>
__global__ void __launch_bounds__(check_threads)
    psvk_radix4_check(psvi_radix4_pass pass, const uint32_t *previous, uint32_t *flag, bool stop) {
    if (previous != nullptr && *previous == 0) return;
    if (stop && __syncthreads_or(threadIdx.x == 0 && *(volatile uint32_t *)flag != 0)) return;
    const uint64_t count = psvi::element_count(pass.data.count, pass.data.count_device);
    const Key *keys = typed<Key>(pass).source_keys;
    const uint64_t first = (uint64_t)blockIdx.x * (check_threads * check_items) + threadIdx.x;
    bool descent = false;
#pragma unroll
    for (uint32_t k = 0; k < check_items; ++k) {
        const uint64_t i = first + k * check_threads;
        if (i + 1 < count) descent |= psvi::key_field(keys[i], pass.order) > psvi::key_field(keys[i + 1], pass.order);
    }
    if (!__syncthreads_or(descent) || threadIdx.x != 0) return;
    if (*(volatile uint32_t *)flag == 0) *(volatile uint32_t *)flag = 1;
}

// Lanes of the warp with `valid` set whose digit is `wanted`, from one ballot per digit bit.
template <int Bits>
__device__ __forceinline__ uint32_t lanes_with(const uint32_t *ballots, uint32_t valid, uint32_t wanted) {
    uint32_t lanes = valid;
#pragma unroll
    for (int b = 0; b < Bits; ++b)
        lanes &= (wanted >> b) & 1 ? ballots[b] : ~ballots[b];
    return lanes;
}

// Exclusive scan of `count` words in shared memory by the first warp, in place.
__device__ __forceinline__ void scan_by_warp(uint32_t *words, uint32_t count) {
    const uint32_t lane = threadIdx.x;
    uint32_t carry = 0;
    for (uint32_t first = 0; first < count; first += 32) {
        const uint32_t own = first + lane < count ? words[first + lane] : 0;
        const uint32_t sum = psvd_sum_up_to(own);
        if (first + lane < count) words[first + lane] = carry + sum - own;
        carry += __shfl_sync(0xffffffffu, sum, 31);
    }
}

// Algorithm 2. Input: a tile of 4 elements a thread. Output: the tile in place, clustered by digit, and its counts,
// digit after digit; for the scattered mapping the tile stays as it is and each element's rank is written instead.
// Three barriers. Reads and writes keys and values once.
template <typename Key, bool Values, int Bits>
__global__ void __launch_bounds__(PSVI_RADIX4_MOST_THREADS) psvk_radix4_local(psvi_radix4_pass pass, uint32_t blocks) {
    if (*pass.flag == 0) return;
    constexpr uint32_t radix = 1u << Bits;
    extern __shared__ uint64_t tile_memory[];
    __shared__ uint32_t warp_counts[radix * most_warps + 1];
    const uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t tile = blockDim.x * items;
    const uint64_t count = psvi::element_count(pass.data.count, pass.data.count_device);
    const uint64_t tile_first = (uint64_t)blockIdx.x * tile;
    const uint32_t tile_count = count <= tile_first ? 0 : (uint32_t)min((uint64_t)tile, count - tile_first);
    const typed_pass<Key> data = typed<Key>(pass);

    Key key[items];
    uint32_t digit[items], rank[items];
    uint32_t running = 0; // lane d: elements of the warp with digit d so far
#pragma unroll
    for (uint32_t k = 0; k < items; ++k) {
        const uint32_t i = (warp * items + k) * 32 + lane;
        const bool valid = i < tile_count;
        key[k] = valid ? data.source_keys[tile_first + i] : (Key)0;
        digit[k] = (uint32_t)(psvi::key_field(key[k], pass.order) >> pass.shift) & (radix - 1);
        uint32_t ballots[Bits];
#pragma unroll
        for (int b = 0; b < Bits; ++b)
            ballots[b] = __ballot_sync(0xffffffffu, (digit[k] >> b) & 1);
        const uint32_t valid_lanes = __ballot_sync(0xffffffffu, valid);
        const uint32_t peers = lanes_with<Bits>(ballots, valid_lanes, digit[k]);
        rank[k] = __shfl_sync(0xffffffffu, running, (int)digit[k]) + __popc(peers & ((1u << lane) - 1));
        if (lane < radix) running += __popc(lanes_with<Bits>(ballots, valid_lanes, lane));
    }
    if (lane < radix) warp_counts[lane * warps + warp] = running;
    __syncthreads();
    if (threadIdx.x < 32) scan_by_warp(warp_counts, radix * warps);
    if (threadIdx.x == 0) warp_counts[radix * warps] = tile_count;
    __syncthreads();
    if (threadIdx.x < radix)
        pass.sums[(uint64_t)threadIdx.x * blocks + blockIdx.x] =
            warp_counts[(threadIdx.x + 1) * warps] - warp_counts[threadIdx.x * warps];

    if (pass.scattered) {
#pragma unroll
        for (uint32_t k = 0; k < items; ++k) {
            const uint32_t i = (warp * items + k) * 32 + lane;
            const uint32_t before = warp_counts[digit[k] * warps + warp] - warp_counts[digit[k] * warps];
            if (i < tile_count) pass.ranks[tile_first + i] = (uint16_t)(before + rank[k]);
        }
        return;
    }
    Key *tile_keys = (Key *)tile_memory;
    uint32_t *tile_values = (uint32_t *)(tile_keys + tile);
#pragma unroll
    for (uint32_t k = 0; k < items; ++k) {
        const uint32_t i = (warp * items + k) * 32 + lane;
        if (i >= tile_count) continue;
        const uint32_t place = warp_counts[digit[k] * warps + warp] + rank[k];
        tile_keys[place] = key[k];
        if (Values)
            tile_values[place] = pass.implicit ? (uint32_t)(tile_first + i) : data.source_values[tile_first + i];
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < tile_count; i += blockDim.x) {
        data.source_keys[tile_first + i] = tile_keys[i];
        if (Values) data.source_values[tile_first + i] = tile_values[i];
    }
}

// Algorithm 4. Input: clustered tiles, counts and their prefix sums. Output: the other buffer. A block loads its tile
// to shared memory and writes one cluster after the other, each starting at the aligned address below its first place,
// so that every warp writes whole aligned segments. One barrier. Reads and writes keys and values once.
template <typename Key, bool Values, int Bits>
__global__ void __launch_bounds__(PSVI_RADIX4_MOST_THREADS)
    psvk_radix4_map_clusters(psvi_radix4_pass pass, uint32_t blocks) {
    if (*pass.flag == 0) return;
    constexpr uint32_t radix = 1u << Bits;
    extern __shared__ uint64_t tile_memory[];
    const uint32_t tile = blockDim.x * items;
    const uint64_t count = psvi::element_count(pass.data.count, pass.data.count_device);
    const uint64_t tile_first = (uint64_t)blockIdx.x * tile;
    if (tile_first >= count) return;
    const uint32_t tile_count = (uint32_t)min((uint64_t)tile, count - tile_first);
    const typed_pass<Key> data = typed<Key>(pass);
    Key *tile_keys = (Key *)tile_memory;
    uint32_t *tile_values = (uint32_t *)(tile_keys + tile);
    for (uint32_t i = threadIdx.x; i < tile_count; i += blockDim.x) {
        tile_keys[i] = data.source_keys[tile_first + i];
        if (Values) tile_values[i] = data.source_values[tile_first + i];
    }
    __shared__ uint32_t cluster_size[radix], cluster_place[radix];
    if (threadIdx.x < radix) {
        cluster_size[threadIdx.x] = pass.sums[(uint64_t)threadIdx.x * blocks + blockIdx.x];
        cluster_place[threadIdx.x] = pass.prefix[(uint64_t)threadIdx.x * blocks + blockIdx.x];
    }
    __syncthreads();
    uint32_t first = 0;
#pragma unroll
    for (uint32_t d = 0; d < radix; ++d) {
        const uint32_t size = cluster_size[d], place = cluster_place[d];
        const uint32_t slack = place % 32;
        for (uint32_t t = threadIdx.x; t < size + slack; t += blockDim.x) {
            if (t < slack) continue;
            const uint64_t to = (uint64_t)place + (t - slack);
            data.target_keys[to] = tile_keys[first + t - slack];
            if (Values) data.target_values[to] = tile_values[first + t - slack];
        }
        first += size;
    }
}

// The mapping that the paper improves on, equation (1): place = prefix sum of the block's digit + rank, element by
// element, straight from the unshuffled tile.
// Positions in memory, as before the paper merged this step into the mapping (section 4.5). Reads keys and ranks,
// writes four bytes an element.
template <typename Key, int Bits>
__global__ void __launch_bounds__(PSVI_RADIX4_MOST_THREADS)
    psvk_radix4_place_elements(psvi_radix4_pass pass, uint32_t blocks) {
    if (*pass.flag == 0) return;
    const uint64_t count = psvi::element_count(pass.data.count, pass.data.count_device);
    const uint64_t tile_first = (uint64_t)blockIdx.x * blockDim.x * items;
    const typed_pass<Key> data = typed<Key>(pass);
#pragma unroll
    for (uint32_t k = 0; k < items; ++k) {
        const uint64_t i = tile_first + k * blockDim.x + threadIdx.x;
        if (i >= count) return;
        const uint32_t digit =
            (uint32_t)(psvi::key_field(data.source_keys[i], pass.order) >> pass.shift) & ((1u << Bits) - 1);
        pass.positions[i] = pass.prefix[(uint64_t)digit * blocks + blockIdx.x] + pass.ranks[i];
    }
}

// Placed: positions lie in memory.
template <typename Key, bool Values, int Bits, bool Placed>
__global__ void __launch_bounds__(PSVI_RADIX4_MOST_THREADS)
    psvk_radix4_map_elements(psvi_radix4_pass pass, uint32_t blocks) {
    if (*pass.flag == 0) return;
    const uint64_t count = psvi::element_count(pass.data.count, pass.data.count_device);
    const uint64_t tile_first = (uint64_t)blockIdx.x * blockDim.x * items;
    const typed_pass<Key> data = typed<Key>(pass);
#pragma unroll
    for (uint32_t k = 0; k < items; ++k) {
        const uint64_t i = tile_first + k * blockDim.x + threadIdx.x;
        if (i >= count) return;
        const Key key = data.source_keys[i];
        uint32_t to;
        if (Placed) {
            to = pass.positions[i];
        } else {
            const uint32_t digit = (uint32_t)(psvi::key_field(key, pass.order) >> pass.shift) & ((1u << Bits) - 1);
            to = pass.prefix[(uint64_t)digit * blocks + blockIdx.x] + pass.ranks[i];
        }
        data.target_keys[to] = key;
        if (Values) data.target_values[to] = pass.implicit ? (uint32_t)i : data.source_values[i];
    }
}

typedef void (*pass_kernel)(psvi_radix4_pass, uint32_t);

struct pass_kernels {
    pass_kernel local, clusters, elements, places, placed; // the last two: where positions are kept
};

template <typename Key, bool Values, int Bits> pass_kernels kernels_for() {
    return {psvk_radix4_local<Key, Values, Bits>, psvk_radix4_map_clusters<Key, Values, Bits>,
            psvk_radix4_map_elements<Key, Values, Bits, false>, psvk_radix4_place_elements<Key, Bits>,
            psvk_radix4_map_elements<Key, Values, Bits, true>};
}

template <typename Key, bool Values> pass_kernels kernels_of(uint32_t digit_bits) {
    if (digit_bits == 1) return kernels_for<Key, Values, 1>();
    if (digit_bits == 2) return kernels_for<Key, Values, 2>();
    return kernels_for<Key, Values, 3>();
}

pass_kernels kernels_of(uint32_t key_bytes, bool values, uint32_t digit_bits) {
    if (key_bytes == 8)
        return values ? kernels_of<uint64_t, true>(digit_bits) : kernels_of<uint64_t, false>(digit_bits);
    return values ? kernels_of<uint32_t, true>(digit_bits) : kernels_of<uint32_t, false>(digit_bits);
}

uint32_t tile_bytes(uint32_t threads, uint32_t key_bytes, bool values) {
    return threads * items * (key_bytes + (values ? 4 : 0));
}

} // namespace

extern "C" uint32_t psvi_radix4_choose_threads(uint32_t key_bytes, bool values, uint32_t digit_bits) {
    const pass_kernels kernels = kernels_of(key_bytes, values, digit_bits);
    static const uint32_t choices[] = {256, 512, 128}; // in order of preference among equals
    uint32_t best = PSVI_RADIX4_LEAST_THREADS, best_resident = 0;
    for (uint32_t threads : choices) {
        int blocks = 0;
        cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels.local, (int)threads,
                                                                          tile_bytes(threads, key_bytes, values));
        if (error != cudaSuccess) {
            (void)cudaGetLastError();
            continue;
        }
        if ((uint32_t)blocks * threads > best_resident) {
            best = threads;
            best_resident = (uint32_t)blocks * threads;
        }
    }
    return best;
}

extern "C" psv_status psvi_radix4_clear(psv_context *context, uint32_t *flags, uint32_t count, uint32_t value) {
    psvk_radix4_clear<<<1, 64, 0, (cudaStream_t)context->stream>>>(flags, count, value);
    return psvi_cuda_status(context, cudaGetLastError(), "radix4 flags launch");
}

extern "C" psv_status psvi_radix4_check(psv_context *context, const psvi_radix4_pass *pass, const uint32_t *previous,
                                        uint32_t *flag, bool stop) {
    const uint32_t blocks = psvi_blocks_for(pass->data.count, check_threads * check_items);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (pass->key_bytes == 8)
        psvk_radix4_check<uint64_t><<<blocks, check_threads, 0, stream>>>(*pass, previous, flag, stop);
    else
        psvk_radix4_check<uint32_t><<<blocks, check_threads, 0, stream>>>(*pass, previous, flag, stop);
    return psvi_cuda_status(context, cudaGetLastError(), "radix4 order check launch");
}

extern "C" psv_status psvi_radix4_local(psv_context *context, const psvi_radix4_pass *pass) {
    const bool values = pass->data.values[0] != NULL;
    const uint32_t blocks = (uint32_t)psvi_radix4_blocks(pass->data.count, pass->block_threads);
    const pass_kernels kernels = kernels_of(pass->key_bytes, values, pass->digit_bits);
    kernels.local<<<blocks, pass->block_threads, tile_bytes(pass->block_threads, pass->key_bytes, values),
                    (cudaStream_t)context->stream>>>(*pass, blocks);
    return psvi_cuda_status(context, cudaGetLastError(), "radix4 count launch");
}

extern "C" psv_status psvi_radix4_map(psv_context *context, const psvi_radix4_pass *pass) {
    const bool values = pass->data.values[0] != NULL;
    const uint32_t blocks = (uint32_t)psvi_radix4_blocks(pass->data.count, pass->block_threads);
    const pass_kernels kernels = kernels_of(pass->key_bytes, values, pass->digit_bits);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (pass->positions != NULL) {
        kernels.places<<<blocks, pass->block_threads, 0, stream>>>(*pass, blocks);
        kernels.placed<<<blocks, pass->block_threads, 0, stream>>>(*pass, blocks);
    } else if (pass->scattered)
        kernels.elements<<<blocks, pass->block_threads, 0, stream>>>(*pass, blocks);
    else
        kernels.clusters<<<blocks, pass->block_threads, tile_bytes(pass->block_threads, pass->key_bytes, values),
                           stream>>>(*pass, blocks);
    return psvi_cuda_status(context, cudaGetLastError(), "radix4 mapping launch");
}
