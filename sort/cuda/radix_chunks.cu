// The `radix` method for middle counts: one cooperative launch in which every multiprocessor keeps a tile of the items
// on chip. One step from the most significant side (a histogram over the keys' range, cut into as many chunks of nearly
// equal size as there are blocks: the bucket sort of Sintorn & Assarsson 2007 with exact counts) sends each item to the
// block that will finish it; that block sorts its chunk by the remaining bits in shared memory. Where the keys are too
// uneven for this (a chunk would not fit on chip), the same launch sorts digit by digit, least significant first.
//
// Grid-wide steps wait on a counter in device memory, so the launch is cooperative. Items move through L2 once.
#include "radix_chunks.h"
#include "radix_device.cuh"

namespace {

constexpr int THREADS = PSVI_RADIX_CHUNKS_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int BINS = PSVI_RADIX_CHUNKS_BINS;
constexpr int LOCAL_BITS = PSVI_RADIX_CHUNKS_LOCAL_BITS;
constexpr int LOCAL_DIGITS = 1 << LOCAL_BITS;
constexpr int FINE_BITS = PSVI_RADIX_CHUNKS_FINE_BITS;
constexpr int FINE_BINS = 1 << FINE_BITS;
constexpr uint32_t PRESENT = 1u << 15; // marks a count that has been published
constexpr int BATCH = 5;               // digits that a warp reads at once: all chunks of 160 blocks
constexpr int GROUP = 4;               // rows ranked together

static_assert(THREADS == 2 * LOCAL_DIGITS, "thread roles below");

template <int KIND, int VALUE_BYTES> struct chunks_types {
    using key = typename radix_key<KIND>::type;
    using value = typename radix_value<VALUE_BYTES>::type;
    static constexpr int TILE = PSVI_RADIX_CHUNKS_TILE((int)sizeof(key) + VALUE_BYTES);
    static_assert(TILE % THREADS == 0 && TILE < (1 << 15), "a tile has whole rows, and its counts fit in 15 bits");
};

// Shared memory of a block. Items lie in one half of `keys` and `values` and move to the other. Loops over them stay
// rolled: most code runs once in a launch, and fetching it costs more than the registers would save.
template <int KIND, int VALUE_BYTES> struct chunks_shared {
    using types = chunks_types<KIND, VALUE_BYTES>;
    typename types::key keys[2][types::TILE];
    typename types::value values[2][VALUE_BYTES == 0 ? 1 : types::TILE];
    uint16_t places[types::TILE];  // place of an item among those of its digit in its warp, or in its bin
    uint16_t sources[types::TILE]; // where the item at a place of the other half came from
    union {
        radix_counter counters[WARPS][LOCAL_DIGITS];
        alignas(16) uint32_t bins[BINS];
        alignas(16) uint16_t fine[FINE_BINS]; // counts, then first places
    };
    uint32_t digit_start[LOCAL_DIGITS];                           // place in the block of a digit's first item
    uint32_t digit_target[LOCAL_DIGITS];                          // its place in the output less digit_start
    uint32_t before[PSVI_RADIX_DIGITS], whole[PSVI_RADIX_DIGITS]; // of a digit: in earlier blocks, in all
    uint32_t quarters[4][LOCAL_DIGITS / 2];
    uint32_t sums[WARPS];
    uint64_t reduce[4][WARPS];
    uint64_t range[5];
    alignas(4) uint8_t chunk_of_bin[BINS];
    uint64_t first_generation;
    uint32_t chunk_begin, chunk_end, chunk_first_bin, chunk_last_bin;
    uint32_t largest_chunk;
};

__device__ __forceinline__ uint64_t load_acquire(const uint64_t *address) {
    uint64_t word;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(word) : "l"(address) : "memory");
    return word;
}

// Eight counts of 16 bits. Each of them is whole; they need not be of one moment.
__device__ __forceinline__ uint4 load_relaxed(const uint16_t *address) {
    uint4 words;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "l"(address)
                 : "memory");
    return words;
}

__device__ __forceinline__ void store_relaxed(uint16_t *address, uint16_t word) {
    asm volatile("st.relaxed.gpu.u16 [%0], %1;" ::"l"(address), "h"(word) : "memory");
}

__device__ __forceinline__ uint32_t warp_sum(uint32_t own) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(PSVI_RADIX_FULL_WARP, own);
#else
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        own += __shfl_xor_sync(PSVI_RADIX_FULL_WARP, own, step);
    return own;
#endif
}

// Waits until all blocks have come here. The counter only grows, by gridDim.x for each generation.
__device__ __forceinline__ void wait_for_grid(psvi_radix_chunks_state *state, uint64_t &generation) {
    ++generation;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd((unsigned long long *)&state->arrivals, 1ull);
        while (load_acquire(&state->arrivals) < generation * gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
}

template <int KIND>
__device__ __forceinline__ typename radix_key<KIND>::type part_of(typename radix_key<KIND>::type raw,
                                                                  const psvi_key_order &order) {
    using K = typename radix_key<KIND>::type;
    uint32_t unused = (uint32_t)sizeof(K) * 8 - order.end_bit;
    return (K)((K)(transform<KIND>(raw, order) << unused) >> unused) >> order.begin_bit;
}

template <typename K> __device__ __forceinline__ int bits_of(K number) {
    return sizeof(K) == 8 ? 64 - __clzll((long long)number) : 32 - __clz((int)number);
}

__device__ __forceinline__ uint32_t warp_max(uint32_t own) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(PSVI_RADIX_FULL_WARP, own);
#else
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        own = max(own, __shfl_xor_sync(PSVI_RADIX_FULL_WARP, own, step));
    return own;
#endif
}
__device__ __forceinline__ uint32_t warp_or(uint32_t own) { return ::warp_or(own); }
__device__ __forceinline__ uint64_t warp_max(uint64_t own) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        own = max(own, __shfl_xor_sync(PSVI_RADIX_FULL_WARP, own, step));
    return own;
}
__device__ __forceinline__ uint64_t warp_or(uint64_t own) {
    return (uint64_t)warp_or((uint32_t)(own >> 32)) << 32 | warp_or((uint32_t)own);
}

// Where the items of a thread lie: warp after warp, in a warp `rows` rows of 32.
struct tile_rows {
    uint32_t rows;   // of each warp
    uint32_t first;  // this lane's first item in the tile
    uint32_t length; // items of the tile
    __device__ explicit tile_rows(uint32_t count) {
        rows = (count + THREADS - 1) / THREADS;
        first = (threadIdx.x >> 5) * 32 * rows + (threadIdx.x & 31);
        length = count;
    }
    __device__ __forceinline__ uint32_t place(uint32_t row) const { return first + 32 * row; }
};

// Lanes of the warp with the same digit, for GROUP rows at once: the votes of one row do not wait for another's.
template <int GROUP>
__device__ __forceinline__ void match_rows(const uint32_t (&digits)[GROUP], int bits, uint32_t (&same)[GROUP]) {
#pragma unroll
    for (int row = 0; row < GROUP; ++row)
        same[row] = PSVI_RADIX_FULL_WARP;
#pragma unroll
    for (int bit = 0; bit < LOCAL_BITS; ++bit) {
        if (bit >= bits) break;
#pragma unroll
        for (int row = 0; row < GROUP; ++row) {
            const bool one = (digits[row] >> bit) & 1;
            const uint32_t ones = __ballot_sync(PSVI_RADIX_FULL_WARP, one);
            same[row] &= one ? ones : ~ones;
        }
    }
}

__device__ __forceinline__ void clear_digits(radix_counter *warp_counters) {
    uint4 *words = reinterpret_cast<uint4 *>(warp_counters) + (threadIdx.x & 31);
#pragma unroll
    for (int i = 0; i < LOCAL_DIGITS * (int)sizeof(radix_counter) / 512; ++i)
        words[32 * i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
}

// Exclusive sum over the block of one number per thread. Ends without a barrier after the last read of `sums`.
__device__ __forceinline__ uint32_t block_scan(uint32_t own, uint32_t *sums) {
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, sum = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        uint32_t left = __shfl_up_sync(PSVI_RADIX_FULL_WARP, sum, step);
        if (lane >= (uint32_t)step) sum += left;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    uint32_t other = lane < WARPS ? sums[lane] : 0;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        uint32_t left = __shfl_up_sync(PSVI_RADIX_FULL_WARP, other, step);
        if (lane >= (uint32_t)step) other += left;
    }
    uint32_t before = __shfl_sync(PSVI_RADIX_FULL_WARP, other, warp == 0 ? 0 : (int)warp - 1);
    return sum - own + (warp == 0 ? 0 : before);
}

// Turns the counters of all warps into places in the block, and leaves each digit's first place in digit_start. A
// thread has two digits (packed in one word) of a quarter of the warps. Needs a barrier before (counters complete) and
// after.
template <typename S> __device__ __forceinline__ void place_in_block(S &shared) {
    constexpr int SHARE = WARPS / 4;
    const uint32_t pair = threadIdx.x & 255, quarter = threadIdx.x >> 8;
    uint32_t *words = reinterpret_cast<uint32_t *>(shared.counters[quarter * SHARE]) + pair;
    uint32_t counts[SHARE], own = 0;
#pragma unroll
    for (int w = 0; w < SHARE; ++w) {
        counts[w] = words[w * (LOCAL_DIGITS / 2)];
        own += counts[w];
    }
    shared.quarters[quarter][pair] = own;
    __syncthreads();
    uint32_t before = 0, total = 0; // of the two digits: in the quarters before this one, in all
#pragma unroll
    for (int q = 0; q < 4; ++q) {
        const uint32_t part = shared.quarters[q][pair];
        if (q < (int)quarter) before += part;
        total += part;
    }
    const uint32_t start = block_scan(quarter == 0 ? (total & 0xffff) + (total >> 16) : 0, shared.sums);
    if (quarter == 0) {
        shared.digit_start[2 * pair] = start;
        shared.digit_start[2 * pair + 1] = start + (total & 0xffff);
    }
    __syncthreads();
    uint32_t place = (shared.digit_start[2 * pair] | shared.digit_start[2 * pair + 1] << 16) + before;
#pragma unroll
    for (int w = 0; w < SHARE; ++w) {
        words[w * (LOCAL_DIGITS / 2)] = place;
        place += counts[w];
    }
}

// The keys' range and order, of the whole input.
template <typename K> struct key_range {
    K least, greatest, varying; // varying: bits that are not the same in all keys
    bool sorted;
};

template <int KIND, int VALUE_BYTES> struct chunks_sort {
    using types = chunks_types<KIND, VALUE_BYTES>;
    using K = typename types::key;
    using V = typename types::value;
    using shared_t = chunks_shared<KIND, VALUE_BYTES>;
    static constexpr int TILE = types::TILE;

    const psvi_radix_job &job;
    psvi_radix_chunks_state *state;
    shared_t &shared;
    uint64_t generation;
    uint32_t half; // of shared.keys and shared.values that holds the items

    __device__ chunks_sort(const psvi_radix_job &j, psvi_radix_chunks_state *s, shared_t &sh)
        : job(j), state(s), shared(sh), half(0) {}

    __device__ __forceinline__ K part(K raw) const { return part_of<KIND>(raw, job.order); }

    // Both end without a barrier. Buffers that other blocks have written are read past the first-level cache.
    __device__ void load_keys(const void *from, uint32_t begin, uint32_t length) {
#pragma unroll 9
        for (uint32_t place = threadIdx.x; place < length; place += THREADS)
            shared.keys[half][place] = __ldcg((const K *)from + begin + place);
    }

    __device__ void load_values(const void *from, bool implicit, uint32_t begin, uint32_t length) {
        if constexpr (VALUE_BYTES != 0) {
#pragma unroll 9
            for (uint32_t place = threadIdx.x; place < length; place += THREADS)
                shared.values[half][place] = implicit ? (V)(begin + place) : __ldcg((const V *)from + begin + place);
        }
    }

    // Adds the block's part of the range to the slot of this call and reads the whole after a grid barrier.
    __device__ key_range<K> find_range(uint32_t begin, uint32_t count, uint32_t length) {
        K inverted = 0, greatest = 0, zeros = 0, any = 0; // zero is neutral for all
        bool descent = false;
#pragma unroll 2
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const K own = part(shared.keys[half][place]);
            inverted = max(inverted, (K)~own);
            greatest = max(greatest, own);
            zeros |= (K)~own;
            any |= own;
            K next = own;
            if (place + 1 < length)
                next = part(shared.keys[half][place + 1]);
            else if (begin + length < count)
                next = part(__ldcg((const K *)job.keys_in + begin + length));
            descent |= next < own;
        }
        reduce_range(inverted, greatest, zeros, any, descent);
        wait_for_grid(state, generation);
        if (threadIdx.x < 5) shared.range[threadIdx.x] = __ldcg(&state->ranges[slot()].words[threadIdx.x]);
        __syncthreads();
        key_range<K> whole;
        whole.least = (K)~shared.range[0];
        whole.greatest = (K)shared.range[1];
        whole.varying = (K)(shared.range[2] & shared.range[3]);
        whole.sorted = shared.range[4] == 0;
        return whole;
    }

    __device__ uint32_t slot() const { return (uint32_t)(shared.first_generation % PSVI_RADIX_CHUNKS_SLOTS); }

    // Zero is the neutral element of all accumulators, so that a slot is ready when it is cleared: the least key and
    // the bits that are one in all keys are kept inverted.
    __device__ void reduce_range(K inverted, K greatest, K zeros, K any, bool descent) {
        const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        inverted = warp_max(inverted);
        greatest = warp_max(greatest);
        zeros = warp_or(zeros);
        any = warp_or(any);
        if (lane == 0) {
            shared.reduce[0][warp] = inverted;
            shared.reduce[1][warp] = greatest;
            shared.reduce[2][warp] = zeros;
            shared.reduce[3][warp] = any;
        }
        const int descents = __syncthreads_or(descent);
        if (warp < 4) {
            const K mine = lane < WARPS ? (K)shared.reduce[warp][lane] : (K)0;
            const K sum = warp < 2 ? warp_max(mine) : warp_or(mine);
            psvi_radix_chunks_range *range = &state->ranges[slot()];
            if (lane == 0) {
                if (warp < 2)
                    atomicMax((unsigned long long *)&range->words[warp], (unsigned long long)sum);
                else
                    atomicOr((unsigned long long *)&range->words[warp], (unsigned long long)sum);
                if (warp == 0 && descents) range->words[4] = 1;
            }
        }
    }

    // Copies the input to the output where it is in order already.
    __device__ void copy_through(uint32_t begin, uint32_t length) {
        const bool keys = job.keys_out != nullptr && job.keys_out != job.keys_in;
        const bool values = VALUE_BYTES != 0 && (job.implicit || job.values_out != job.values_in);
#pragma unroll 4
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            if (keys) ((K *)job.keys_out)[begin + place] = shared.keys[half][place];
            if (values) ((V *)job.values_out)[begin + place] = shared.values[half][place];
        }
    }

    // Counts the input in bins of the key range, and cuts the bins into chunks of about `quota` items. False when a
    // chunk would not fit in a block.
    __device__ bool cut_chunks(const key_range<K> &range, uint32_t shift, uint32_t count, uint32_t length) {
        for (int bin = threadIdx.x; bin < BINS; bin += THREADS)
            shared.bins[bin] = 0;
        __syncthreads();
#pragma unroll 4
        for (uint32_t place = threadIdx.x; place < length; place += THREADS)
            atomicAdd(&shared.bins[(uint32_t)((K)(part(shared.keys[half][place]) - range.least) >> shift)], 1u);
        __syncthreads();
        for (int bin = threadIdx.x; bin < BINS; bin += THREADS)
            if (shared.bins[bin] != 0) atomicAdd(&state->bins[bin], shared.bins[bin]);
        wait_for_grid(state, generation);

        static_assert(BINS == 2 * THREADS, "two bins for each thread");
        const uint2 own = __ldcg((const uint2 *)state->bins + threadIdx.x);
        if (threadIdx.x == 0) {
            shared.largest_chunk = 0;
            shared.chunk_begin = shared.chunk_end = 0;
        }
        const uint32_t before = block_scan(own.x + own.y, shared.sums);
        const uint32_t quota = (count + gridDim.x - 1) / gridDim.x;
        reinterpret_cast<uint2 *>(shared.bins)[threadIdx.x] = make_uint2(before, before + own.x);
        reinterpret_cast<uchar2 *>(shared.chunk_of_bin)[threadIdx.x] =
            make_uchar2(before / quota, (before + own.x) / quota);
        uint32_t *chunk_begin = shared.digit_target; // a chunk's first place is where its first bin begins
        __syncthreads();
        for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
            uint32_t mine = shared.chunk_of_bin[bin];
            bool first = bin == 0 || shared.chunk_of_bin[bin - 1] != mine;
            bool last = bin == BINS - 1 || shared.chunk_of_bin[bin + 1] != mine;
            if (first) chunk_begin[mine] = shared.bins[bin];
            if (first && mine == blockIdx.x) {
                shared.chunk_begin = shared.bins[bin];
                shared.chunk_first_bin = bin;
            }
            if (last && mine == blockIdx.x) {
                shared.chunk_end = bin == BINS - 1 ? count : shared.bins[bin + 1];
                shared.chunk_last_bin = bin;
            }
        }
        __syncthreads();
        for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
            uint32_t mine = shared.chunk_of_bin[bin];
            bool last = bin == BINS - 1 || shared.chunk_of_bin[bin + 1] != mine;
            if (last)
                atomicMax(&shared.largest_chunk, (bin == BINS - 1 ? count : shared.bins[bin + 1]) - chunk_begin[mine]);
        }
        __syncthreads();
        return shared.largest_chunk <= (uint32_t)TILE;
    }

    // Sorts the tile by the digit of `bits` bits that digit_at(key) gives: the items move to the other half. Leaves
    // digit_start. Ends with a barrier. `between` runs as soon as digit_start is there.
    template <typename F, typename G>
    __device__ void sort_tile(const tile_rows &tile, int bits, F digit_at, G between) {
        radix_counter *counters = shared.counters[threadIdx.x >> 5];
        const uint32_t below = lanemask_lt(), above = lanemask_gt(), last = (1u << bits) - 1;
        const K *keys = shared.keys[half];
        clear_digits(counters);
#pragma unroll 1
        for (uint32_t row = 0; row < tile.rows; row += GROUP) {
            uint32_t digits[GROUP], same[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                const uint32_t place = tile.place(row + i);
                digits[i] = row + i < tile.rows && place < tile.length ? digit_at(keys[place]) : last;
            }
            match_rows(digits, bits, same);
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                if (row + i >= tile.rows) break;
                volatile radix_counter *counter = counters + digits[i];
                const uint32_t place = *counter + __popc(same[i] & below);
                const bool highest = (same[i] & above) == 0;
                __syncwarp();
                if (highest) *counter = (radix_counter)(place + 1);
                __syncwarp();
                shared.places[tile.place(row + i)] = (uint16_t)place;
            }
        }
        __syncthreads();
        place_in_block(shared);
        __syncthreads();
        between();
#pragma unroll 3
        for (uint32_t row = 0; row < tile.rows; ++row) {
            const uint32_t place = tile.place(row);
            if (place >= tile.length) break;
            const K raw = keys[place];
            const uint32_t target = shared.places[place] + counters[digit_at(raw)];
            shared.keys[half ^ 1][target] = raw;
            if (VALUE_BYTES != 0) shared.values[half ^ 1][target] = shared.values[half][place];
        }
        half ^= 1;
        __syncthreads();
    }

    // Publishes the block's count of each of `digits` digits.
    __device__ void publish_counts(psvi_radix_chunks_counts *counts, uint32_t digits, uint32_t length) {
        if (threadIdx.x >= digits) return;
        // Items that are not there lie behind the others, in the last digit.
        const uint32_t own =
            min(shared.digit_start[threadIdx.x + 1], length) - min(shared.digit_start[threadIdx.x], length);
        store_relaxed(&counts->of[threadIdx.x][blockIdx.x], (uint16_t)(own | PRESENT));
    }

    // Leaves in shared.before the sum of the counts of the blocks before this one, in shared.whole that of all (where
    // wanted). The counts of a digit lie together, so a warp reads them all at once, eight to a lane. Ends with a
    // barrier.
    __device__ void sum_blocks(psvi_radix_chunks_counts *counts, uint32_t digits, bool all) {
        const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        const uint32_t last = all ? gridDim.x : blockIdx.x, first_block = 8 * lane;
        uint32_t mask[4]; // of the counts of blocks before this one
#pragma unroll
        for (int pair = 0; pair < 4; ++pair)
            mask[pair] = (first_block + 2 * pair < blockIdx.x ? PRESENT - 1 : 0) |
                         (first_block + 2 * pair + 1 < blockIdx.x ? (PRESENT - 1) << 16 : 0);
        for (uint32_t digit = warp; digit < digits; digit += BATCH * WARPS) {
            uint4 words[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; ++i)
                if (digit + i * WARPS < digits && first_block < last)
                    words[i] = load_relaxed(&counts->of[digit + i * WARPS][first_block]);
#pragma unroll
            for (int i = 0; i < BATCH; ++i) {
                if (digit + i * WARPS >= digits) break;
                uint32_t before = 0, whole = 0;
                if (first_block < last) {
                    while (!all_present(words[i], last - first_block))
                        words[i] = load_relaxed(&counts->of[digit + i * WARPS][first_block]);
                    const uint32_t pairs[4] = {words[i].x, words[i].y, words[i].z, words[i].w};
#pragma unroll
                    for (int pair = 0; pair < 4; ++pair) {
                        const uint32_t counts_before = pairs[pair] & mask[pair];
                        before += (counts_before & 0xffff) + (counts_before >> 16);
                        if (all) whole += (pairs[pair] & PRESENT - 1) + (pairs[pair] >> 16 & PRESENT - 1);
                    }
                }
                before = warp_sum(before);
                if (all) whole = warp_sum(whole);
                if (lane == 0) {
                    shared.before[digit + i * WARPS] = before;
                    if (all) shared.whole[digit + i * WARPS] = whole;
                }
            }
        }
        __syncthreads();
    }

    // The first `blocks` of the eight counts have been published.
    __device__ static __forceinline__ bool all_present(const uint4 &words, uint32_t blocks) {
        const uint32_t flags = PRESENT | PRESENT << 16;
        auto missing = [&](uint32_t word, uint32_t from) {
            uint32_t wanted = blocks >= from + 2 ? flags : blocks == from + 1 ? PRESENT : 0;
            return ~word & wanted;
        };
        return (missing(words.x, 0) | missing(words.y, 2) | missing(words.z, 4) | missing(words.w, 6)) == 0;
    }

    __device__ void forget_counts(psvi_radix_chunks_counts *counts, uint32_t digits) {
        if (threadIdx.x < digits) counts->of[threadIdx.x][blockIdx.x] = 0;
    }

    // Writes the items, which lie in shared memory digit by digit, to digit_target[digit] + place.
    template <typename F> __device__ void scatter(void *keys_to, void *values_to, uint32_t length, F digit_at) {
#pragma unroll 4
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const K raw = shared.keys[half][place];
            const uint32_t target = shared.digit_target[digit_at(raw)] + place;
            if (keys_to != nullptr) ((K *)keys_to)[target] = raw;
            if (VALUE_BYTES != 0) ((V *)values_to)[target] = shared.values[half][place];
        }
    }

    // One chunk for each block: to the chunk's block, then on chip by the bits in which its keys differ.
    __device__ void sort_by_chunks(const key_range<K> &range, uint32_t shift, const tile_rows &tile) {
        const uint32_t chunk_begin = threadIdx.x < PSVI_RADIX_DIGITS ? shared.digit_target[threadIdx.x] : 0;
        auto chunk_of = [&](K raw) -> uint32_t {
            return shared.chunk_of_bin[(uint32_t)((K)(part(raw) - range.least) >> shift)];
        };
        __syncthreads(); // the bins' memory becomes the counters
        psvi_radix_chunks_counts *counts = &state->counts[0];
        sort_tile(tile, 8, chunk_of, [&] { publish_counts(counts, gridDim.x, tile.length); });
        sum_blocks(counts, gridDim.x, false);
        if (threadIdx.x < gridDim.x)
            shared.digit_target[threadIdx.x] =
                chunk_begin + shared.before[threadIdx.x] - shared.digit_start[threadIdx.x];
        __syncthreads();
        scatter(job.keys_spare[0], job.values_spare[0], tile.length, chunk_of);
        wait_for_grid(state, generation);

        forget_counts(counts, gridDim.x);
        const uint32_t own = shared.chunk_begin, length = shared.chunk_end - own;
        if (length == 0) return;
        const K base = range.least + ((K)shared.chunk_first_bin << shift);
        const K span = ((K)(shared.chunk_last_bin - shared.chunk_first_bin + 1) << shift) - 1;
        sort_on_chip(own, length, base, bits_of<K>(span));
    }

    // Sorts the chunk that begins at `begin` by the low `bits` of a key less `base`.
    __device__ void sort_on_chip(uint32_t begin, uint32_t length, K base, int bits) {
        const tile_rows tile(length);
        load_keys(job.keys_spare[0], begin, length);
        load_values(job.values_spare[0], false, begin, length);
        __syncthreads();

        if (bits > LOCAL_BITS && sort_by_bins(begin, length, base, bits)) return;
        const int passes = (bits + LOCAL_BITS - 1) / LOCAL_BITS;
        int shift = 0;
#pragma unroll 1
        for (int pass = 0; pass < passes; ++pass) {
            const int width = (bits - shift + passes - pass - 1) / (passes - pass);
            const uint32_t mask = (1u << width) - 1;
            sort_tile(
                tile, width, [&](K raw) -> uint32_t { return (uint32_t)((K)(part(raw) - base) >> shift) & mask; },
                [] {});
            shift += width;
        }
#pragma unroll 4
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            if (job.keys_out != nullptr) ((K *)job.keys_out)[begin + place] = shared.keys[half][place];
            if (VALUE_BYTES != 0) ((V *)job.values_out)[begin + place] = shared.values[half][place];
        }
    }

    // Sorts the chunk in one step where its keys are spread well: by the leading FINE_BITS bits in any order, and
    // within each of these small bins by comparing every item with every other (ties by place, so stable). False, with
    // nothing changed, when a bin is too full for this.
    __device__ bool sort_by_bins(uint32_t begin, uint32_t length, K base, int bits) {
        const int shift = bits > FINE_BITS ? bits - FINE_BITS : 0;
        auto bin_of = [&](K raw) -> uint32_t { return (uint32_t)((K)(part(raw) - base) >> shift); };
        uint32_t *pairs = reinterpret_cast<uint32_t *>(shared.fine); // two bins of 16 bits in a word
        static_assert(FINE_BINS == 8 * THREADS, "eight bins for each thread");
        reinterpret_cast<uint4 *>(pairs)[threadIdx.x] = make_uint4(0, 0, 0, 0);
        __syncthreads();
        const K *keys = shared.keys[half];
#pragma unroll 3
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const uint32_t bin = bin_of(keys[place]), high = 16 * (bin & 1);
            shared.places[place] = (uint16_t)(atomicAdd(&pairs[bin / 2], 1u << high) >> high);
        }
        __syncthreads();
        const uint4 counts = reinterpret_cast<uint4 *>(pairs)[threadIdx.x];
        const uint32_t words[4] = {counts.x, counts.y, counts.z, counts.w};
        uint32_t own = 0;
        bool full = false;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            own += (words[i] & 0xffff) + (words[i] >> 16);
            full |= (words[i] & 0xffff) > PSVI_RADIX_CHUNKS_FULL_BIN || words[i] >> 16 > PSVI_RADIX_CHUNKS_FULL_BIN;
        }
        if (__syncthreads_or(full)) return false;
        uint32_t start = block_scan(own, shared.sums), starts[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            starts[i] = start | (start + (words[i] & 0xffff)) << 16;
            start += (words[i] & 0xffff) + (words[i] >> 16);
        }
        reinterpret_cast<uint4 *>(pairs)[threadIdx.x] = make_uint4(starts[0], starts[1], starts[2], starts[3]);
        __syncthreads();
        K *binned = shared.keys[half ^ 1];
#pragma unroll 3
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const K raw = keys[place];
            const uint32_t target = shared.fine[bin_of(raw)] + shared.places[place];
            binned[target] = raw;
            shared.sources[target] = (uint16_t)place;
        }
        __syncthreads();
#pragma unroll 3
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const K raw = binned[place], mine = part(raw);
            const uint32_t source = shared.sources[place], bin = bin_of(raw);
            const uint32_t first = shared.fine[bin],
                           last = bin + 1 < (uint32_t)FINE_BINS ? shared.fine[bin + 1] : length;
            uint32_t target = first;
            for (uint32_t other = first; other < last; ++other) {
                const K theirs = part(binned[other]);
                target += theirs < mine || (theirs == mine && shared.sources[other] < source);
            }
            if (job.keys_out != nullptr) ((K *)job.keys_out)[begin + target] = raw;
            if (VALUE_BYTES != 0) ((V *)job.values_out)[begin + target] = shared.values[half][source];
        }
        return true;
    }

    // Digit by digit from the least significant, all blocks together; the items of a pass rest on chip while others
    // write, so one buffer is enough.
    __device__ void sort_by_digits(const key_range<K> &range, uint32_t begin, const tile_rows &tile) {
        const void *keys_from = job.keys_in, *values_from = job.values_in;
        K left = range.varying;
#pragma unroll 1
        for (int pass = 0; left != 0; ++pass) {
            const int shift = sizeof(K) == 8 ? __ffsll((long long)left) - 1 : __ffs((int)left) - 1;
            left &= ~((K)0xff << shift);
            if (pass > 0) {
                load_keys(keys_from, begin, tile.length);
                load_values(values_from, false, begin, tile.length);
            }
            auto digit = [&](K raw) -> uint32_t { return (uint32_t)(part(raw) >> shift) & 0xff; };
            __syncthreads();
            psvi_radix_chunks_counts *counts = &state->counts[pass & 1];
            sort_tile(tile, 8, digit, [&] { publish_counts(counts, PSVI_RADIX_DIGITS, tile.length); });
            sum_blocks(counts, PSVI_RADIX_DIGITS, true);
            const bool is_digit = threadIdx.x < PSVI_RADIX_DIGITS;
            const uint32_t first = block_scan(is_digit ? shared.whole[threadIdx.x] : 0, shared.sums);
            if (is_digit)
                shared.digit_target[threadIdx.x] = first + shared.before[threadIdx.x] - shared.digit_start[threadIdx.x];
            __syncthreads();
            void *keys_to = left == 0 ? job.keys_out : job.keys_spare[0];
            void *values_to = left == 0 ? job.values_out : job.values_spare[0];
            if (keys_to == keys_from || values_to == values_from) wait_for_grid(state, generation);
            scatter(keys_to, values_to, tile.length, digit);
            wait_for_grid(state, generation);
            forget_counts(counts, PSVI_RADIX_DIGITS);
            keys_from = keys_to;
            values_from = values_to;
        }
    }

    __device__ void run() {
        const uint32_t count = (uint32_t)job_count(job);
        if (threadIdx.x == 0) shared.first_generation = load_acquire(&state->arrivals) / gridDim.x;
        __syncthreads();
        generation = shared.first_generation;
        clear_other_slots();
        const uint32_t share = max((count + gridDim.x - 1) / gridDim.x, 256u);
        const uint32_t begin = min(blockIdx.x * share, count);
        const tile_rows tile(min(share, count - begin));
        load_keys(job.keys_in, begin, tile.length);
        load_values(job.values_in, job.implicit, begin, tile.length);
        __syncthreads();
        const key_range<K> range = find_range(begin, count, tile.length);
        if (count < 2 || (range.sorted && job.order_check) || range.varying == 0) {
            copy_through(begin, tile.length);
            report(0);
            return;
        }
        const int bits = bits_of<K>((K)(range.greatest - range.least));
        const uint32_t shift = bits > PSVI_RADIX_CHUNKS_BIN_BITS ? bits - PSVI_RADIX_CHUNKS_BIN_BITS : 0;
        if (cut_chunks(range, shift, count, tile.length)) {
            sort_by_chunks(range, shift, tile);
            report(1);
        } else {
            sort_by_digits(range, begin, tile);
            report((bits_of<K>(range.varying) + 7) / 8);
        }
        // All blocks have read the bins: a grid barrier has passed since.
        for (int bin = blockIdx.x * THREADS + threadIdx.x; bin < BINS; bin += gridDim.x * THREADS)
            state->bins[bin] = 0;
    }

    // The ranges of earlier calls; this call's slot was cleared by one of them.
    __device__ void clear_other_slots() {
        if (blockIdx.x == 0 && threadIdx.x < PSVI_RADIX_CHUNKS_SLOTS && threadIdx.x != slot())
            state->ranges[threadIdx.x] = {};
    }

    __device__ void report(uint32_t passes) {
        if (blockIdx.x != 0 || threadIdx.x != 0) return;
        const uint32_t digits = (job.order.end_bit - job.order.begin_bit + 7) / 8;
        job.control->passes_run = passes;
        job.control->passes_skipped = digits > passes ? digits - passes : 0;
    }
};

// In: keys and values of the job, at most gridDim.x tiles. Out: sorted. Every block keeps one tile; blocks meet at grid
// barriers (3 for the usual way). Moves 2 reads and 2 writes of each item, through L2.
template <int KIND, int VALUE_BYTES>
__global__ void __launch_bounds__(THREADS, 1)
    psvk_radix_chunks(const psvi_radix_job job, psvi_radix_chunks_state *state) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto &shared = *reinterpret_cast<chunks_shared<KIND, VALUE_BYTES> *>(memory);
    chunks_sort<KIND, VALUE_BYTES> sort(job, state, shared);
    sort.run();
}

template <int KIND, int VALUE_BYTES>
cudaError_t launch(const psvi_radix_job *job, psvi_radix_chunks_state *state, cudaStream_t stream) {
    auto kernel = psvk_radix_chunks<KIND, VALUE_BYTES>;
    constexpr int bytes = (int)sizeof(chunks_shared<KIND, VALUE_BYTES>);
    static_assert(bytes <= 227 * 1024, "shared memory of a block");
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    psvi_radix_job copy = *job;
    void *arguments[] = {&copy, &state};
    return cudaLaunchCooperativeKernel((const void *)kernel, dim3(job->multiprocessors), dim3(THREADS), arguments,
                                       bytes, stream);
}

template <int KIND>
cudaError_t launch_values(const psvi_radix_job *job, psvi_radix_chunks_state *state, cudaStream_t stream) {
    if (job->value_bytes == 8) return launch<KIND, 8>(job, state, stream);
    if (job->value_bytes == 4) return launch<KIND, 4>(job, state, stream);
    return launch<KIND, 0>(job, state, stream);
}

} // namespace

extern "C" cudaError_t psvi_radix_chunks(const psvi_radix_job *job, psvi_radix_chunks_state *state,
                                         cudaStream_t stream) {
    if (job->order.is_wide)
        return job->order.is_float ? launch_values<PSVI_RADIX_FLOAT64>(job, state, stream)
                                   : launch_values<PSVI_RADIX_INT64>(job, state, stream);
    return job->order.is_float ? launch_values<PSVI_RADIX_FLOAT32>(job, state, stream)
                               : launch_values<PSVI_RADIX_INT32>(job, state, stream);
}
