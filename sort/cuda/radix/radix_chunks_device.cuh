// Device code shared by the ways in which the chunk kernel of the `radix` method sorts (radix_chunks.cu,
// radix_splitters.cuh).
#ifndef PAIRSIEVE_RADIX_CHUNKS_DEVICE_CUH
#define PAIRSIEVE_RADIX_CHUNKS_DEVICE_CUH

#include "../../../core/cuda/async_copies.cuh"
#include "radix_chunks.h"
#include "radix_device.cuh"

namespace {

constexpr int THREADS = PSVI_RADIX_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int BINS = 1 << PSVI_RADIX_CHUNKS_BIN_BITS;
constexpr int LOCAL_BITS = 9; // of a digit that is sorted on chip
constexpr int LOCAL_DIGITS = 1 << LOCAL_BITS;
constexpr int FINE_BITS = 13; // of the fine bins of a chunk: their items are compared each with each
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

// Grid barriers: a counter of arrivals that only grows.
struct grid_barrier {
    uint64_t *arrivals;
    uint64_t &expected; // once all blocks have come to the last barrier; thread 0's, in shared memory

    // Every thread calls it. What any block wrote before is seen by all after it, past the first-level cache.
    __device__ __forceinline__ void wait() {
        __syncthreads();
        if (threadIdx.x == 0) {
            const uint64_t all = expected + gridDim.x;
            expected = all;
            __threadfence();
            atomicAdd((unsigned long long *)arrivals, 1ull);
            while (load_acquire(arrivals) < all) {
            }
        }
        __syncthreads();
    }
};

// What a key is compared by: its bits in the range, at their places.
template <int KIND>
__device__ __forceinline__ typename radix_key<KIND>::type part_of(typename radix_key<KIND>::type raw,
                                                                  const psvi_key_order &order) {
    using K = typename radix_key<KIND>::type;
    const uint32_t unused = (uint32_t)sizeof(K) * 8 - order.end_bit;
    return transform<KIND>(raw, order) & (K)((K)((K) ~(K)0 << unused) >> unused) >> order.begin_bit << order.begin_bit;
}

// Crowds: keys so frequent that they fit in no chunk. All blocks look at the same keys, each at random in its part of
// the input, so they agree without a barrier of the grid. The samples go to shared memory on their own, where nothing
// else may lie until the look is over: registers are scarce.
constexpr uint32_t LOOK_SAMPLES = 256;

template <typename K>
__device__ __forceinline__ void begin_look(const psvi_radix_job &job, uint32_t count, K *samples) {
    const uint32_t part = count / LOOK_SAMPLES, random = (threadIdx.x + 1) * 0x9e3779b9u;
    const uint32_t place = threadIdx.x * part + __umulhi(random ^ random >> 15, part);
    if (threadIdx.x < LOOK_SAMPLES && part != 0) copy_async(&samples[threadIdx.x], (const K *)job.keys_in + place);
}

// A barrier of the block. Counts the samples that share their key with another of their warp: none where keys differ, a
// tenth of all where one key in twenty is the same. Where all are the same, the input may be in order: no crowds.
template <typename K> __device__ __forceinline__ bool has_crowds(uint32_t count, const K *samples) {
    bool shared_key = false;
    if (threadIdx.x < LOOK_SAMPLES && count >= LOOK_SAMPLES) {
        wait_for_copies();
        const uint32_t same = __match_any_sync(PSVI_RADIX_FULL_WARP, samples[threadIdx.x]);
        shared_key = (same & (same - 1)) != 0;
    }
    if (__syncthreads_count(shared_key) < PSVI_RADIX_CHUNKS_CROWDED) return false;
    return !__syncthreads_and(threadIdx.x >= LOOK_SAMPLES || samples[threadIdx.x] == samples[0]);
}

template <typename K> __device__ __forceinline__ int bits_of(K number) {
    return sizeof(K) == 8 ? 64 - __clzll((long long)number) : 32 - __clz((int)number);
}

// Which items of a sorted chunk are the first of an even share, and so splitters for the next call.
struct splitter_marks {
    uint64_t *splitters; // NULL: nothing is to be remembered
    uint32_t begin, quota, first;

    // For a chunk that begins at rank `begin` of `count` items, which the splitters cut into `chunks` shares.
    __device__ __forceinline__ splitter_marks(uint64_t *splitters, uint32_t chunks, uint32_t begin, uint32_t count)
        : splitters(worth_it(chunks, count) ? splitters : nullptr), begin(begin), quota((count + chunks - 1) / chunks) {
        first = max((begin + quota - 1) / quota, 1u) * quota - begin;
    }

    // So many items have one at the begin of each share.
    __device__ static __forceinline__ bool worth_it(uint32_t chunks, uint32_t count) {
        return chunks > 1 && count > chunks * chunks;
    }

    // The item of rank begin + at.
    template <typename K> __device__ __forceinline__ void offer(uint32_t at, K part) const {
        const uint32_t past = at - first;
        if (at < first || splitters == nullptr || (past != 0 && (past < quota || past % quota != 0))) return;
        splitters[(begin + at) / quota - 1] = part;
    }
};

// One block, behind a sort: takes the splitters of `chunks` shares from the sorted keys, or by the sorted index.
template <int KIND>
__device__ __forceinline__ void take_splitters(const psvi_radix_job &job, uint64_t *splitters, uint32_t chunks,
                                               uint32_t count) {
    using K = typename radix_key<KIND>::type;
    const uint32_t quota = (count + chunks - 1) / chunks;
    for (uint32_t chunk = threadIdx.x + 1; chunk < chunks; chunk += blockDim.x) {
        const uint32_t rank = chunk * quota;
        const K raw = job.keys_out != nullptr ? ((const K *)job.keys_out)[rank]
                                              : ((const K *)job.keys_in)[((const uint32_t *)job.values_out)[rank]];
        splitters[chunk - 1] = part_of<KIND>(raw, job.order);
    }
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

} // namespace

#endif
