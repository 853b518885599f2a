// The `radix` method for large counts: one read makes the histograms of all digits and the plan of the passes; then
// each pass reads and writes every item once, with the tiles' counts chained by decoupled look-back.
// After Adinets & Merrill, «Onesweep» (2022), and Merrill & Garland, «Single-pass parallel prefix scan» (2016).
#include "radix_device.cuh"
#include "radix_plan.cuh"

namespace {

constexpr int THREADS = PSVI_RADIX_LARGE_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int LOOK = PSVI_RADIX_LOOK_WIDTH;

// A word of the chained scan: two bits say what the other 30 hold.
constexpr uint32_t STATE_TILE = 1u << 30;  // the tile's own count
constexpr uint32_t STATE_UP_TO = 2u << 30; // the count of all tiles up to this one
constexpr uint32_t STATE_COUNT = STATE_TILE - 1;

__device__ __forceinline__ uint32_t load_state(const uint32_t *state) {
    uint32_t word;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(word) : "l"(state) : "memory");
    return word;
}

__device__ __forceinline__ void store_state(uint32_t *state, uint32_t word) {
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(state), "r"(word) : "memory");
}

// Count of a digit in all tiles before `tile`. `states` points to the digit's column. Several predecessors are read at
// once, so that a long walk costs few round trips.
__device__ __forceinline__ uint32_t look_back(const uint32_t *states, int64_t tile) {
    uint32_t sum = 0;
    for (int64_t last = tile - 1;; last -= LOOK) {
        uint32_t words[LOOK];
#pragma unroll
        for (int i = 0; i < LOOK; ++i)
            words[i] = last - i >= 0 ? load_state(states + (last - i) * PSVI_RADIX_DIGITS) : STATE_UP_TO;
#pragma unroll
        for (int i = 0; i < LOOK; ++i) {
            while ((words[i] & ~STATE_COUNT) == 0)
                words[i] = load_state(states + (last - i) * PSVI_RADIX_DIGITS);
            sum += words[i] & STATE_COUNT;
            if (words[i] & STATE_UP_TO) return sum;
        }
    }
}

// Portion of the input that one launch of a pass sorts.
template <int TILE> struct portion_range {
    static constexpr uint64_t ITEMS = PSVI_RADIX_PORTION_ITEMS / TILE * TILE;
    static __host__ __device__ uint32_t portions(uint64_t count) {
        return count == 0 ? 1 : (uint32_t)((count + ITEMS - 1) / ITEMS);
    }
    static __host__ __device__ uint32_t tiles(uint64_t count, uint32_t portion) {
        uint64_t begin = portion * ITEMS;
        if (begin >= count) return 0;
        uint64_t left = count - begin < ITEMS ? count - begin : ITEMS;
        return (uint32_t)((left + TILE - 1) / TILE);
    }
};

// Reads keys 16 bytes at a time where they are aligned for it.
template <typename K> struct key_pack {
    static constexpr int SIZE = 16 / sizeof(K);
    K keys[SIZE];
};

template <typename K>
__device__ __forceinline__ void load_pack(key_pack<K> &pack, const K *keys, uint64_t first, uint64_t count,
                                          bool aligned) {
    if (aligned && first + pack.SIZE <= count) {
        *reinterpret_cast<uint4 *>(pack.keys) = *reinterpret_cast<const uint4 *>(keys + first);
        return;
    }
#pragma unroll
    for (int i = 0; i < pack.SIZE; ++i)
        pack.keys[i] = first + i < count ? keys[first + i] : 0;
}

// In: keys. Out: the plan of all passes with the first place of each digit; zeroed tile counters and first array of
// states. One block counts digits of a grid-strided share of the keys in shared memory, adds them to the global
// histogram, and the block that finishes last makes the plan. Also says whether the keys are in order already.
// Bytes: one read of the keys; none when the histograms are given and the order is not asked for.
template <int KIND>
__global__ void __launch_bounds__(PSVI_RADIX_HISTOGRAM_THREADS)
    psvk_radix_histogram(psvi_radix_job job, uint32_t state_rows, bool check_order) {
    using K = typename radix_key<KIND>::type;
    using pack_type = key_pack<K>;
    constexpr int MAX_DIGITS = sizeof(K);
    __shared__ uint32_t histogram[MAX_DIGITS][PSVI_RADIX_DIGITS];
    __shared__ uint32_t block_ticket;

    uint32_t *flat = &histogram[0][0];
    for (uint32_t i = threadIdx.x; i < MAX_DIGITS * PSVI_RADIX_DIGITS; i += blockDim.x)
        flat[i] = 0;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < (uint64_t)state_rows * PSVI_RADIX_DIGITS;
         i += (uint64_t)gridDim.x * blockDim.x)
        job.states[i] = 0;
    __syncthreads();

    const uint64_t count = job_count(job);
    const K *keys = static_cast<const K *>(job.keys_in);
    const bool counting = job.histograms == nullptr;
    const bool aligned = ((uintptr_t)keys & 15) == 0;
    const uint32_t digits = (job.order.end_bit - job.order.begin_bit + PSVI_RADIX_BITS - 1) / PSVI_RADIX_BITS;
    bool unordered = false, checking = check_order;
    if (counting || checking) {
        const uint64_t stride = (uint64_t)gridDim.x * blockDim.x * pack_type::SIZE;
        // Whole warps stay in the loop together: neighbours exchange keys below.
        for (uint64_t warp_first = (blockIdx.x * (uint64_t)blockDim.x + (threadIdx.x & ~31u)) * pack_type::SIZE;
             warp_first < count; warp_first += stride) {
            uint64_t first = warp_first + (threadIdx.x & 31) * pack_type::SIZE;
            pack_type pack;
            load_pack(pack, keys, first, count, aligned);
            K parts[pack_type::SIZE];
#pragma unroll
            for (int i = 0; i < pack_type::SIZE; ++i)
                parts[i] = transform<KIND>(pack.keys[i], job.order);
            if (counting) {
#pragma unroll
                for (int i = 0; i < pack_type::SIZE; ++i) {
#pragma unroll
                    for (int digit = 0; digit < MAX_DIGITS; ++digit) {
                        digit_field field = field_of_slot(job.order, digit);
                        if (digit < digits && first + i < count)
                            atomicAdd(&histogram[digit][(uint32_t)(parts[i] >> field.shift) & field.mask], 1u);
                    }
                }
            }
            if (checking) {
                K next = __shfl_down_sync(PSVI_RADIX_FULL_WARP, pack.keys[0], 1);
                uint64_t after = first + pack_type::SIZE;
                if ((threadIdx.x & 31) == 31 && after < count) next = keys[after];
                K successor = transform<KIND>(next, job.order);
#pragma unroll
                for (int i = 0; i < pack_type::SIZE; ++i) {
                    K right = i + 1 < pack_type::SIZE ? parts[i + 1 < pack_type::SIZE ? i + 1 : 0] : successor;
                    if (first + i + 1 < count && sorted_part(parts[i], job.order) > sorted_part(right, job.order))
                        unordered = true;
                }
                checking = !__any_sync(PSVI_RADIX_FULL_WARP, unordered);
            }
        }
    }
    if (unordered) job.control->unordered = 1;
    __syncthreads();
    if (counting)
        for (uint32_t i = threadIdx.x; i < digits * PSVI_RADIX_DIGITS; i += blockDim.x)
            if (flat[i] != 0) atomicAdd(&job.control->histogram[0][0] + i, flat[i]);

    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) block_ticket = atomicAdd(&job.control->ticket, 1u);
    __syncthreads();
    if (block_ticket != gridDim.x - 1) return;
    __threadfence();
    make_plan(job, count, digits, check_order);
}

template <int PAIR_BYTES> constexpr uint32_t pass_shared_bytes() {
    return PSVI_RADIX_LARGE_TILE(PAIR_BYTES) * PAIR_BYTES + WARPS * PSVI_RADIX_DIGITS * sizeof(radix_counter) +
           PSVI_RADIX_DIGITS * sizeof(uint32_t);
}

// One digit pass over one portion. In: items of the plan's input. Out: the same items in the plan's output, ordered
// stably by the digit. Persistent blocks take tiles in order from a counter; a tile is ranked in shared memory, its
// digit counts are published, those of all tiles before it are collected by look-back, and the items go out in runs
// of equal digits. Synchronization: words of `states`; no block waits for one that started later. Also clears the
// states that the next pass uses. Bytes: one read and one write of every item.
template <int KIND, int VALUE_BYTES>
__global__ void __launch_bounds__(THREADS, PSVI_RADIX_LARGE_BLOCKS)
    psvk_radix_pass(psvi_radix_job job, uint32_t slot, uint32_t portion, uint32_t portions, uint32_t state_rows) {
    using K = typename radix_key<KIND>::type;
    using V = typename radix_value<VALUE_BYTES>::type;
    constexpr int PAIR_BYTES = sizeof(K) + VALUE_BYTES;
    constexpr int ITEMS = PSVI_RADIX_LARGE_ITEMS(PAIR_BYTES);
    constexpr uint32_t TILE = THREADS * ITEMS;
    using range = portion_range<TILE>;

    extern __shared__ __align__(16) unsigned char shared[];
    K *tile_keys = reinterpret_cast<K *>(shared);
    V *tile_values = reinterpret_cast<V *>(tile_keys + TILE);
    radix_counter *counters = reinterpret_cast<radix_counter *>(shared + TILE * PAIR_BYTES);
    uint32_t *goal = reinterpret_cast<uint32_t *>(counters + WARPS * PSVI_RADIX_DIGITS);
    __shared__ uint32_t sums[4];
    __shared__ uint32_t next_tile;

    const psvi_radix_pass pass = job.control->passes[slot];
    if (!pass.active) return;
    const uint64_t count = job_count(job);
    const uint32_t tiles = range::tiles(count, portion);
    const digit_field field = pass.copy ? digit_field{0, 0} : field_of_slot(job.order, slot);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t below = lanemask_lt(), above = lanemask_gt();
    const uint32_t step = pass.step * portions + portion;
    uint32_t *states = job.states + (step & 1) * (uint64_t)state_rows * PSVI_RADIX_DIGITS;
    uint32_t *other_states = job.states + (~step & 1) * (uint64_t)state_rows * PSVI_RADIX_DIGITS;
    uint32_t *bases = job.control->bases[slot][portion];
    radix_counter *warp_counters = counters + warp * PSVI_RADIX_DIGITS;

    for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x;
         i < (uint64_t)range::tiles(count, 0) * PSVI_RADIX_DIGITS; i += (uint64_t)gridDim.x * THREADS)
        other_states[i] = 0;

    for (;;) {
        if (threadIdx.x == 0) next_tile = atomicAdd(&job.control->tile_counter[slot][portion], 1u);
        clear_counters(warp_counters);
        __syncthreads();
        const uint32_t tile = next_tile;
        if (tile >= tiles) return;
        const uint64_t first = portion * range::ITEMS + tile * (uint64_t)TILE;
        const uint32_t valid = (uint32_t)(count - first < TILE ? count - first : TILE);

        // A warp's items lie one after the other, so that their order is (warp, item, lane).
        const uint32_t warp_first = warp * (32 * ITEMS) + lane;
        const K *keys_in = static_cast<const K *>(pass.keys_in) + first;
        const V *values_in = static_cast<const V *>(pass.values_in) + first;
        K keys[ITEMS];
        V values[ITEMS];
        uint32_t places[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            keys[i] = warp_first + i * 32 < valid ? keys_in[warp_first + i * 32] : 0;
        if constexpr (VALUE_BYTES != 0) {
            if (pass.implicit) {
#pragma unroll
                for (int i = 0; i < ITEMS; ++i)
                    values[i] = (V)(first + warp_first + i * 32);
            } else {
#pragma unroll
                for (int i = 0; i < ITEMS; ++i)
                    values[i] = warp_first + i * 32 < valid ? values_in[warp_first + i * 32] : 0;
            }
        }

        // Places past the end count as the last digit: they come last of all, and are not written.
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            uint32_t digit = digit_of<KIND>(keys[i], job.order, field);
            if (warp_first + i * 32 >= valid) digit = PSVI_RADIX_DIGITS - 1;
            places[i] = rank_in_warp(warp_counters, digit, below, above) | digit << 16;
        }
        __syncthreads();
        uint32_t starts, counts = place_digits<WARPS>(counters, sums, starts);
        if (threadIdx.x < PSVI_RADIX_DIGITS / 2) {
            uint2 word = make_uint2(counts & 0xffff, counts >> 16);
            uint32_t kind = tile == 0 ? STATE_UP_TO : STATE_TILE;
            uint32_t *mine = states + tile * (uint64_t)PSVI_RADIX_DIGITS + 2 * threadIdx.x;
            store_state(mine, word.x | kind);
            store_state(mine + 1, word.y | kind);
            // Kept for the look-back, where one thread serves one digit.
            goal[2 * threadIdx.x] = starts & 0xffff | word.x << 16;
            goal[2 * threadIdx.x + 1] = starts >> 16 | word.y << 16;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            uint32_t place = warp_counters[places[i] >> 16] + (places[i] & 0xffff);
            tile_keys[place] = keys[i];
            if constexpr (VALUE_BYTES != 0) tile_values[place] = values[i];
        }
        if (threadIdx.x < PSVI_RADIX_DIGITS) {
            uint32_t start = goal[threadIdx.x] & 0xffff, own = goal[threadIdx.x] >> 16;
            uint32_t before = tile == 0 ? 0 : look_back(states + threadIdx.x, tile);
            if (tile != 0)
                store_state(states + tile * (uint64_t)PSVI_RADIX_DIGITS + threadIdx.x, (before + own) | STATE_UP_TO);
            uint32_t base = bases[threadIdx.x];
            goal[threadIdx.x] = base + before - start; // where the item at place 0 of the tile would go
            if (tile == tiles - 1) bases[PSVI_RADIX_DIGITS + threadIdx.x] = base + before + own;
        }
        __syncthreads();
        K *keys_out = static_cast<K *>(pass.keys_out);
        V *values_out = static_cast<V *>(pass.values_out);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            uint32_t place = i * THREADS + threadIdx.x;
            if (place < valid) {
                K key = tile_keys[place];
                uint32_t target = goal[digit_of<KIND>(key, job.order, field)] + place;
                if (keys_out != nullptr) keys_out[target] = key;
                if constexpr (VALUE_BYTES != 0) values_out[target] = tile_values[place];
            }
        }
    }
}

uint32_t min_u32(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }

template <int KIND, int VALUE_BYTES> cudaError_t run_passes(const psvi_radix_job *job, cudaStream_t stream) {
    constexpr int PAIR_BYTES = sizeof(typename radix_key<KIND>::type) + VALUE_BYTES;
    using range = portion_range<PSVI_RADIX_LARGE_TILE(PAIR_BYTES)>;
    constexpr uint32_t shared_bytes = pass_shared_bytes<PAIR_BYTES>();
    auto pass = psvk_radix_pass<KIND, VALUE_BYTES>;
    cudaError_t error = cudaFuncSetAttribute(pass, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (error != cudaSuccess) return error;
    uint32_t portions = range::portions(job->count);
    uint32_t rows = range::tiles(job->count, 0);
    for (uint32_t slot = 0; slot < job->slots; ++slot)
        for (uint32_t portion = 0; portion < portions; ++portion) {
            uint32_t tiles = range::tiles(job->count, portion);
            uint32_t blocks = min_u32(tiles, (uint64_t)PSVI_RADIX_LARGE_BLOCKS * job->multiprocessors);
            pass<<<blocks, THREADS, shared_bytes, stream>>>(*job, slot, portion, portions, rows);
        }
    return cudaGetLastError();
}

template <int KIND> cudaError_t run(const psvi_radix_job *job, cudaStream_t stream) {
    constexpr uint32_t KEY_BYTES = sizeof(typename radix_key<KIND>::type);
    uint32_t tile = PSVI_RADIX_LARGE_TILE(KEY_BYTES + job->value_bytes);
    uint64_t portion_items = (uint64_t)PSVI_RADIX_PORTION_ITEMS / tile * tile;
    uint64_t rows = ((job->count < portion_items ? job->count : portion_items) + tile - 1) / tile;
    // Who hands in histograms saves the read: then the order is looked at only when it is probably good.
    bool check_order = job->order_check && (job->histograms == nullptr || job->likely_sorted);
    uint64_t items_per_block = 8 * PSVI_RADIX_HISTOGRAM_THREADS;
    uint64_t wanted = job->histograms != nullptr && !check_order ? (rows + 15) / 16
                                                                 : (job->count + items_per_block - 1) / items_per_block;
    uint32_t blocks = min_u32(wanted, (uint64_t)PSVI_RADIX_HISTOGRAM_BLOCKS * job->multiprocessors);
    psvk_radix_histogram<KIND><<<blocks, PSVI_RADIX_HISTOGRAM_THREADS, 0, stream>>>(*job, (uint32_t)rows, check_order);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    if (job->value_bytes == 0) return run_passes<KIND, 0>(job, stream);
    return job->value_bytes == 4 ? run_passes<KIND, 4>(job, stream) : run_passes<KIND, 8>(job, stream);
}

} // namespace

cudaError_t psvi_radix_large(const psvi_radix_job *job, cudaStream_t stream) {
    if (job->order.is_wide)
        return job->order.is_float ? run<PSVI_RADIX_FLOAT64>(job, stream) : run<PSVI_RADIX_INT64>(job, stream);
    return job->order.is_float ? run<PSVI_RADIX_FLOAT32>(job, stream) : run<PSVI_RADIX_INT32>(job, stream);
}
