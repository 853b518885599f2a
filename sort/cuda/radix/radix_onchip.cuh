// Sorts some thousand items inside one block. The range of the keys is cut into bins of equal width. The items go to
// their bins in any order (shared atomics). Each then finds its place by comparing itself with the others of its bin,
// ties by the items' numbers. So the order of arrival does not matter and the result is stable.
//
// Where a bin is too full for this:
// - keys that are all equal stay as they are;
// - crowds, the equal keys of one bin, are ranked as they stand (rank_crowds);
// - bins have a logarithmic width where the lowest is the fullest;
// - keys that differ in few bits get a bin for each value;
// - bins are divided into as many parts as they have items;
// - and at last there is a stable pass for each digit.
#ifndef PAIRSIEVE_RADIX_ONCHIP_CUH
#define PAIRSIEVE_RADIX_ONCHIP_CUH

#include <cfloat>

#include "../../../core/cuda/async_copies.cuh"
#include "radix_device.cuh"
#include "radix_gather.cuh"

namespace onchip {

constexpr int THREADS = PSVI_RADIX_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int BINS = 8192; // two bytes each: as many bytes as the counters of all warps for digits of 8 bits

// A bin of so many items is still compared each with each, where a thread has `rows` items; likewise with BINS_LOG.
__device__ __forceinline__ uint32_t fullest_bin(uint32_t rows) { return rows <= 2 ? 48 : rows <= 4 ? 32 : 48; }

constexpr uint32_t FULLEST_LOG = 96;

// More items than this in a bin are ranked, where some bin is too full and theirs are equal.
constexpr uint32_t crowd_from(int items) { return items <= 4 ? 17 : 33; }

// What is known of crowds, CROWDS at most.
template <typename K, int CROWDS> struct crowds_memory {
    K keys[CROWDS];
    uint32_t unlike[CROWDS];                   // not 0: other keys are in the bin, too
    uint16_t bins[CROWDS], first[CROWDS];      // first places
    uint16_t full[CROWDS];                     // too full to be compared each with each
    radix_counter counters[WARPS][CROWDS + 2]; // so that a warp reads a column from all banks
};

// Shared memory of the block for at most CAPACITY items, which lie there bin by bin.
template <int KIND, int VALUE_BYTES, int CAPACITY> struct memory {
    using key = typename radix_key<KIND>::type;
    using value = typename radix_value<VALUE_BYTES>::type;
    static constexpr int CROWDS = CAPACITY <= THREADS ? 64 : 256;
    static_assert(CAPACITY / crowd_from(CAPACITY / THREADS) <= CROWDS, "room for all crowds");
    struct items_memory {
        key keys[CAPACITY];
        uint32_t ids[CAPACITY];
        value values[VALUE_BYTES == 0 ? 1 : CAPACITY];
    };
    static_assert(sizeof(crowds_memory<key, CROWDS>) <= sizeof(items_memory), "crowds take no memory of their own");
    union {
        alignas(16) uint16_t bins[BINS]; // counts, then first places
        alignas(16) radix_counter counters[WARPS][PSVI_RADIX_DIGITS];
    };
    uint32_t sums[WARPS];
    key least[WARPS], greatest[WARPS];
    bit_gather<key> gather;
    uint32_t crowds; // how many there are
    union {
        items_memory items;
        crowds_memory<key, CROWDS> crowd; // while items are in registers
    };
};

// The bits that a key is compared by, as a number.
template <int KIND>
__device__ __forceinline__ typename radix_key<KIND>::type part_of(typename radix_key<KIND>::type raw,
                                                                  const psvi_key_order &order) {
    using K = typename radix_key<KIND>::type;
    uint32_t unused = (uint32_t)sizeof(K) * 8 - order.end_bit;
    return (K)((K)(transform<KIND>(raw, order) << unused) >> unused) >> order.begin_bit;
}

// Cuts a range of keys into BINS bins; never decreasing from one key to a greater. Floats are cut by their values where
// all are finite and whole keys are compared: most data are spread by value, and few by exponent.
template <typename K, bool FLOATS> struct key_bins {
    K least;
    uint32_t up, scale;
    float origin, unit; // with by_value: the least key, and what makes numbers of 32 bits of differences
    uint32_t flip;
    bool by_value;

    __device__ __forceinline__ key_bins(K from, K to, const psvi_key_order &order, bool values) : least(from) {
        const K range = to - from;
        by_value = false;
        if constexpr (FLOATS) {
            flip = (uint32_t)order.flip;
            origin = value_of(from);
            const float width = fabsf(value_of(to) - origin);
            unit = 4294967040.0f / width;
            by_value = values && order.end_bit - order.begin_bit == 32 && width <= FLT_MAX && unit <= FLT_MAX;
        }
        up = sizeof(K) == 8 ? (uint32_t)__clzll((long long)range) : (uint32_t)__clz((int)range);
        if (range == 0) up = 0;
        // At most BINS * 2^32 / (1 + top): rounded down, and less than it by more than a float's error.
        scale = (uint32_t)__fdividef(BINS * 4294967296.0f * (1 - 1e-6f), (float)above(to) + 1.0f);
        if (range == 0) scale = 0;
    }

    // The float that a transformed key comes from; NaN for every NaN.
    __device__ __forceinline__ float value_of(K part) const {
        const uint32_t bits = (uint32_t)part ^ flip;
        return __uint_as_float(bits & 0x80000000u ? bits ^ 0x80000000u : ~bits);
    }

    __device__ __forceinline__ uint32_t above(K part) const {
        if (FLOATS && by_value) return __float2uint_rz(fabsf(value_of(part) - origin) * unit); // saturates
        return (uint32_t)((K)((K)(part - least) << up) >> (8 * (sizeof(K) - 4)));
    }

    __device__ __forceinline__ uint32_t operator()(K part) const { return __umulhi(above(part), scale); }
};

// The bins that are taken where some of key_bins are too full.
enum bin_form {
    BINS_EVEN,   // as they are
    BINS_VALUES, // one for each value of the bits that differ
    BINS_PARTS,  // half as many, each divided into parts of equal width, as many as it has items
    BINS_LOG     // 256 for each power of two above the least key
};
constexpr int BIN_BITS = 13;
static_assert(1 << BIN_BITS == BINS, "for BINS_VALUES");

// Negative floats have their bits inverted, so that a few bits in use seem to be all. Folded, they have the bits of the
// positive ones.
template <typename K> constexpr K TOP_BIT = (K)1 << (8 * sizeof(K) - 1);
template <typename K> __device__ __forceinline__ K folded(K part) {
    return part & TOP_BIT<K> ? (K)(part ^ TOP_BIT<K>) : (K)(~part ^ TOP_BIT<K>);
}

// With BINS_PARTS the first half of `places` are the first places of the bins that are divided; the parts are the bins
// of the second half.
template <typename K, bool FLOATS> struct other_bins {
    key_bins<K, FLOATS> &even;
    const bit_gather<K> &gather;
    const uint16_t *places;
    uint32_t length;
    bin_form form;

    __device__ __forceinline__ uint32_t operator()(K part) const {
        if (form == BINS_EVEN) return even(part);
        if (form == BINS_VALUES && !FLOATS) return (uint32_t)gather(part);
        if (form == BINS_VALUES) {
            const uint32_t number = (uint32_t)gather(folded(part));
            return part & TOP_BIT<K> ? BINS / 2 + number : BINS / 2 - 1 - number;
        }
        if (form == BINS_LOG) {
            const uint32_t above = max(even.above(part), 1u), zeros = (uint32_t)__clz((int)above);
            return (31 - zeros) << 8 | above << zeros << 1 >> 24;
        }
        const uint64_t scaled = (uint64_t)even.above(part) * even.scale;
        const uint32_t bin = (uint32_t)(scaled >> 33);
        const uint32_t begin = places[bin], end = bin + 1 < (uint32_t)BINS / 2 ? places[bin + 1] : length;
        const uint32_t number = begin + __umulhi((uint32_t)(scaled >> 1), end - begin);
        return BINS / 2 + (length > (uint32_t)BINS / 2 ? number / 2 : number);
    }

    // The first thread of those that have bins, eight each.
    __device__ __forceinline__ uint32_t first_thread() const { return form == BINS_PARTS ? THREADS / 2 : 0; }
};

// The items that the threads of a block hold. A thread has items place(0), place(1), ..., those below `length`, in
// `keys`, `values` and `ids` (no two the same).
template <int KIND, int VALUE_BYTES, int ITEMS, int CAPACITY> struct chip_items {
    using K = typename radix_key<KIND>::type;
    using V = typename radix_value<VALUE_BYTES>::type;
    using memory_t = memory<KIND, VALUE_BYTES, CAPACITY>;

    memory_t &shared;
    const psvi_key_order &order;
    uint32_t length, rows, first; // items of the block, of a thread, and a thread's first
    uint32_t fullest;             // a bin of so many items is still compared each with each
    bool ordered = true;          // ids rise with the place
    K keys[ITEMS];
    V values[VALUE_BYTES == 0 ? 1 : ITEMS];
    uint32_t ids[ITEMS];

    __device__ __forceinline__ chip_items(memory_t &m, const psvi_key_order &o, uint32_t count)
        : shared(m), order(o), length(count), rows((count + THREADS - 1) / THREADS),
          first((threadIdx.x >> 5) * 32 * ((count + THREADS - 1) / THREADS) + (threadIdx.x & 31)),
          fullest(fullest_bin((count + THREADS - 1) / THREADS)) {}

    static constexpr uint32_t RANKED = 1u << 31; // in an id: the item lies in its place already

    // Counts of a thread's eight bins, and their sum.
    struct bin_counts {
        uint32_t words[4], sum;
    };

    __device__ __forceinline__ uint32_t place(int row) const { return first + 32 * row; }

    __device__ __forceinline__ K part(K raw) const { return part_of<KIND>(raw, order); }

    // Calls work(row, place) for the thread's items.
    template <typename F> __device__ __forceinline__ void for_items(F work) const {
#pragma unroll
        for (int row = 0; row < ITEMS; ++row) {
            if ((uint32_t)row >= rows) break;
            if (place(row) < length) work(row, place(row));
        }
    }

    __device__ __forceinline__ void put(int row, uint32_t target, uint32_t id) {
        shared.items.keys[target] = keys[row];
        shared.items.ids[target] = id;
        if (VALUE_BYTES != 0) shared.items.values[target] = values[row];
    }

    __device__ __forceinline__ K block_or(K own) {
        own = psvd_reduce_or(own);
        __syncthreads();
        if ((threadIdx.x & 31) == 0) shared.least[threadIdx.x >> 5] = own;
        __syncthreads();
        return psvd_reduce_or(shared.least[threadIdx.x & 31]);
    }

    // The bits in which keys differ.
    template <bool FOLDED> __device__ __forceinline__ K varying_bits() {
        K any = 0, zeros = 0;
        for_items([&](int row, uint32_t) {
            const K own = FOLDED ? folded(part(keys[row])) : part(keys[row]);
            any |= own;
            zeros |= (K)~own;
        });
        any = block_or(any);
        return any & block_or(zeros);
    }
};

// Bins: counts items in them, brings items to them, and finds the place of each among those of its bin.
template <int KIND, int VALUE_BYTES, int ITEMS, int CAPACITY>
struct chip_bins : chip_items<KIND, VALUE_BYTES, ITEMS, CAPACITY> {
    using base = chip_items<KIND, VALUE_BYTES, ITEMS, CAPACITY>;
    using base::base;
    using base::shared, base::length, base::fullest, base::keys, base::ids, base::part, base::for_items, base::put;
    using typename base::bin_counts;
    using typename base::K;

    __device__ __forceinline__ void clear_bins() {
        static_assert(BINS * sizeof(uint16_t) == THREADS * sizeof(uint4), "a thread clears eight bins");
        reinterpret_cast<uint4 *>(shared.bins)[threadIdx.x] = make_uint4(0, 0, 0, 0);
    }

    // Counts the items in bins, which are clear. `places`: bin and order of arrival. Threads before `first` have no
    // bins. Whether a bin is too full.
    template <typename B>
    __device__ __forceinline__ bool count_bins(const B &bin_of, uint32_t first_thread, uint32_t (&places)[ITEMS],
                                               bin_counts &counts) {
        uint32_t *pairs = reinterpret_cast<uint32_t *>(shared.bins);
        for_items([&](int row, uint32_t) {
            const uint32_t bin = bin_of(part(keys[row])), high = 16 * (bin & 1);
            places[row] = bin << 16 | (atomicAdd(&pairs[bin / 2], 1u << high) >> high & 0xffff);
        });
        __syncthreads();
        const uint4 read = reinterpret_cast<uint4 *>(pairs)[threadIdx.x];
        const uint32_t words[4] = {read.x, read.y, read.z, read.w};
        counts.sum = 0;
        bool full = false;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            counts.words[i] = threadIdx.x >= first_thread ? words[i] : 0;
            counts.sum += (counts.words[i] & 0xffff) + (counts.words[i] >> 16);
            full |= (counts.words[i] & 0xffff) > fullest || counts.words[i] >> 16 > fullest;
        }
        return __syncthreads_or(full);
    }

    // Brings the items to their bins.
    __device__ __forceinline__ void to_bins(uint32_t first_thread, const uint32_t (&places)[ITEMS],
                                            const bin_counts &counts) {
        const uint4 starts = first_places(counts.words, block_scan(counts.sum, shared.sums));
        if (threadIdx.x >= first_thread) reinterpret_cast<uint4 *>(shared.bins)[threadIdx.x] = starts;
        __syncthreads();
        for_items(
            [&](int row, uint32_t) { put(row, shared.bins[places[row] >> 16] + (places[row] & 0xffff), ids[row]); });
        __syncthreads();
    }

    // For BINS_PARTS, of the counts of the even bins; the parts are cleared. Before a barrier.
    __device__ __forceinline__ void divide_bins(const bin_counts &counts) {
        uint32_t start = block_scan(counts.sum, shared.sums), starts[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            starts[i] = start;
            start += (counts.words[i] & 0xffff) + (counts.words[i] >> 16);
        }
        uint2 *halves = reinterpret_cast<uint2 *>(shared.bins);
        halves[threadIdx.x] = make_uint2(starts[0] | starts[1] << 16, starts[2] | starts[3] << 16);
        halves[THREADS + threadIdx.x] = make_uint2(0, 0);
    }

    // The place in the sorted order of an item among the bins.
    template <typename B> __device__ __forceinline__ uint32_t place_of(K raw, uint32_t id, const B &bin_of) const {
        const K mine = part(raw);
        const uint32_t bin = bin_of(mine);
        const uint32_t begin = shared.bins[bin];
        const uint32_t end = bin + 1 < (uint32_t)BINS ? shared.bins[bin + 1] : length;
        uint32_t target = begin;
        for (uint32_t other = begin; other < end; ++other) {
            const K theirs = part(shared.items.keys[other]);
            target += theirs < mine || (theirs == mine && shared.items.ids[other] < id);
        }
        return target;
    }
};

// Crowds: bins with many equal keys.
template <int KIND, int VALUE_BYTES, int ITEMS, int CAPACITY>
struct chip_crowds : chip_bins<KIND, VALUE_BYTES, ITEMS, CAPACITY> {
    using base = chip_bins<KIND, VALUE_BYTES, ITEMS, CAPACITY>;
    using base::base;
    using base::shared, base::length, base::rows, base::first, base::fullest, base::keys, base::ids, base::RANKED,
        base::place, base::part, base::for_items, base::put;
    using typename base::bin_counts;
    using typename base::K;

    // The lanes of the warp with the same number of `bits` bits.
    __device__ __forceinline__ static uint32_t lanes_of_number(uint32_t number, uint32_t bits) {
        uint32_t same = PSVI_RADIX_FULL_WARP;
#pragma unroll 1
        for (uint32_t bit = 0; bit < bits; ++bit) {
            const bool one = number >> bit & 1;
            const uint32_t ones = __ballot_sync(PSVI_RADIX_FULL_WARP, one);
            same &= one ? ones : ~ones;
        }
        return same;
    }

    // Numbers the crowds: their bins get MARK and the number, the others their first places. Ends without a barrier.
    template <uint32_t MARK>
    __device__ __forceinline__ void find_crowds(uint32_t first_thread, const bin_counts &counts) {
        const uint32_t(&words)[4] = counts.words;
        constexpr uint32_t FROM = crowd_from(ITEMS);
        uint32_t start = block_scan(counts.sum, shared.sums), crowded = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            crowded += ((words[i] & 0xffff) >= FROM) + (words[i] >> 16 >= FROM);
        __syncthreads();
        uint32_t number = block_scan(crowded, shared.sums);
        auto mark = [&](uint32_t count, uint32_t bin) -> uint32_t {
            const uint32_t first = start;
            start += count;
            if (count < FROM) return first;
            shared.crowd.bins[number] = (uint16_t)bin;
            shared.crowd.first[number] = (uint16_t)first;
            shared.crowd.full[number] = count > fullest;
            shared.crowd.unlike[number] = 0;
            return MARK | number++;
        };
        uint32_t *pairs = reinterpret_cast<uint32_t *>(shared.bins) + 4 * threadIdx.x;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint32_t low = mark(words[i] & 0xffff, 8 * threadIdx.x + 2 * i);
            const uint32_t both = low | mark(words[i] >> 16, 8 * threadIdx.x + 2 * i + 1) << 16;
            if (threadIdx.x >= first_thread) pairs[i] = both;
        }
        if (threadIdx.x == THREADS - 1) shared.crowds = number;
    }

    // Where a bin is too full: the items of bins with equal keys only get their places from ranks, and lie there
    // already; the others go to their bins. False, with nothing changed but shared memory, when a bin that is too full
    // has different keys.
    __device__ __forceinline__ bool rank_crowds(uint32_t first_thread, uint32_t (&places)[ITEMS],
                                                const bin_counts &counts) {
        constexpr uint32_t CROWD = 1u << 15; // in the place of a first place: the number of a crowd
        auto &crowd = shared.crowd;
        find_crowds<CROWD>(first_thread, counts);
        uint32_t *counters = reinterpret_cast<uint32_t *>(crowd.counters);
        for (uint32_t i = threadIdx.x; i < sizeof crowd.counters / sizeof(uint32_t); i += THREADS)
            counters[i] = 0;
        __syncthreads();
        const uint32_t crowds = shared.crowds, bits = 32 - __clz((int)(crowds - 1));
        for_items([&](int row, uint32_t) {
            const uint32_t mark = shared.bins[places[row] >> 16];
            if ((mark & CROWD) && (places[row] & 0xffff) == 0) crowd.keys[mark & ~CROWD] = part(keys[row]);
        });
        __syncthreads();
        bool mixed = false;
        for_items([&](int row, uint32_t) {
            const uint32_t mark = shared.bins[places[row] >> 16];
            if (!(mark & CROWD) || crowd.keys[mark & ~CROWD] == part(keys[row])) return;
            atomicExch(&crowd.unlike[mark & ~CROWD], 1u);
            mixed |= crowd.full[mark & ~CROWD] != 0;
        });
        if (__syncthreads_or(mixed)) return false;
        const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        volatile radix_counter *ranks = crowd.counters[warp];
#pragma unroll
        for (int row = 0; row < ITEMS; ++row) {
            if ((uint32_t)row >= rows) break;
            const uint32_t mark = place(row) < length ? shared.bins[places[row] >> 16] : 0, number = mark & ~CROWD;
            const bool crowded = (mark & CROWD) && crowd.unlike[number] == 0;
            const uint32_t same = lanes_of_number(number, bits) & __ballot_sync(PSVI_RADIX_FULL_WARP, crowded);
            if (crowded) places[row] = RANKED | number << 16 | (ranks[number] + __popc(same & lanemask_lt()));
            __syncwarp();
            if (crowded && (same & lanemask_gt()) == 0) ranks[number] = (radix_counter)(places[row] + 1);
            __syncwarp();
        }
        __syncthreads();
        for (uint32_t number = warp; number < crowds; number += WARPS) {
            const uint32_t here = crowd.counters[lane][number], first = crowd.first[number];
            crowd.counters[lane][number] = (radix_counter)(first + psvd_sum_up_to(here) - here);
            if (lane == 0) shared.bins[crowd.bins[number]] = (uint16_t)first;
        }
        __syncthreads();
        for_items([&](int row, uint32_t) {
            const uint32_t which = places[row] >> 16 & 0x7fff;
            const uint32_t first = places[row] & RANKED ? ranks[which] : shared.bins[which];
            places[row] = (places[row] & RANKED) | (first + (places[row] & 0xffff));
        });
        __syncthreads(); // the items take the place of the crowds
        for_items([&](int row, uint32_t) { put(row, places[row] & ~RANKED, ids[row] | (places[row] & RANKED)); });
        __syncthreads();
        return true;
    }

    // A look at neighbours: whether some have different keys in one bin that is too full. `bins` hold counts.
    __device__ __forceinline__ bool keys_are_mixed(uint32_t own_place) const {
        const uint32_t bin = own_place >> 16;
        const bool here = place(0) < length, full = here && shared.bins[bin] > fullest;
        const K own = here ? part(keys[0]) : (K)0;
        const K next = __shfl_down_sync(PSVI_RADIX_FULL_WARP, own, 1);
        const uint32_t next_bin = __shfl_down_sync(PSVI_RADIX_FULL_WARP, full ? bin : (uint32_t)BINS, 1);
        return __syncthreads_or(full && next_bin == bin && next != own);
    }
};

// Digits: stable passes, which sort any keys.
template <int KIND, int VALUE_BYTES, int ITEMS, int CAPACITY>
struct chip_digits : chip_crowds<KIND, VALUE_BYTES, ITEMS, CAPACITY> {
    using base = chip_crowds<KIND, VALUE_BYTES, ITEMS, CAPACITY>;
    using base::base;
    using base::shared, base::length, base::rows, base::ordered, base::keys, base::values, base::ids, base::place,
        base::part, base::for_items, base::put, base::block_or;
    using typename base::K;

    // One stable pass; the items go through shared memory back to registers, in the new order.
    template <typename F> __device__ __forceinline__ void pass(F digit_at) {
        static_assert(sizeof shared.counters == sizeof shared.bins, "the counters take the place of the bins");
        const uint32_t below = lanemask_lt(), above = lanemask_gt();
        radix_counter *own = shared.counters[threadIdx.x >> 5];
        volatile radix_counter *counters = own;
        uint32_t places[ITEMS];
        __syncthreads();
        reinterpret_cast<uint4 *>(own)[threadIdx.x & 31] = make_uint4(0, 0, 0, 0);
        __syncwarp();
#pragma unroll
        for (int row = 0; row < ITEMS; ++row) {
            if ((uint32_t)row >= rows) break;
            const uint32_t lanes = __ballot_sync(PSVI_RADIX_FULL_WARP, place(row) < length);
            const uint32_t digit = place(row) < length ? digit_at(row) : 0;
            uint32_t same = lanes;
#pragma unroll
            for (int bit = 0; bit < PSVI_RADIX_BITS; ++bit) {
                const bool one = digit >> bit & 1;
                const uint32_t ones = __ballot_sync(PSVI_RADIX_FULL_WARP, one);
                same &= one ? ones : ~ones;
            }
            if (place(row) < length) places[row] = digit << 16 | (counters[digit] + __popc(same & below));
            __syncwarp();
            if (place(row) < length && (same & above) == 0) counters[digit] = (radix_counter)(places[row] + 1);
            __syncwarp();
        }
        __syncthreads();
        uint32_t start;
        place_digits<WARPS>(&shared.counters[0][0], shared.sums, start);
        __syncthreads();
        for_items([&](int row, uint32_t) {
            const uint32_t target = counters[places[row] >> 16] + (places[row] & 0xffff);
            put(row, target, ids[row]);
        });
        __syncthreads();
        for_items([&](int row, uint32_t at) {
            keys[row] = shared.items.keys[at];
            ids[row] = shared.items.ids[at];
            if (VALUE_BYTES != 0) values[row] = shared.items.values[at];
        });
    }

    // Items that come in any order: stable passes start from the order of the ids.
    __device__ __forceinline__ void order_by_ids() {
        uint32_t bits = 0;
        for_items([&](int row, uint32_t) { bits |= ids[row]; });
        bits = (uint32_t)block_or(bits);
#pragma unroll 1
        for (int shift = 0; shift < 32 && bits >> shift != 0; shift += PSVI_RADIX_BITS)
            pass([&](int row) { return ids[row] >> shift & (PSVI_RADIX_DIGITS - 1); });
        ordered = true;
    }

    // Stable passes over digits of the bits in which keys differ.
    __device__ __forceinline__ void sort_by_digits() {
        K varying = this->template varying_bits<false>();
#pragma unroll 1
        while (varying != 0) {
            const K digit = lowest_bits(varying, PSVI_RADIX_BITS);
            varying ^= digit;
            if (threadIdx.x == 0) shared.gather.choose(digit);
            pass([&](int row) { return (uint32_t)shared.gather(part(keys[row])); });
        }
    }
};

// Sorts the items. `emit(place, key, value, id)` is called once for every item with its place in the sorted order, for
// neighbours in a warp at nearly neighbouring places. Every thread of the block calls it with the same length; it
// starts and ends without a barrier.
template <int KIND, int VALUE_BYTES, int ITEMS, int CAPACITY>
struct sorter : chip_digits<KIND, VALUE_BYTES, ITEMS, CAPACITY> {
    using base = chip_digits<KIND, VALUE_BYTES, ITEMS, CAPACITY>;
    using base::base;
    using base::shared, base::order, base::length, base::ordered, base::fullest, base::keys, base::values, base::ids,
        base::RANKED, base::part, base::for_items, base::clear_bins, base::count_bins, base::to_bins, base::divide_bins,
        base::place_of, base::rank_crowds, base::keys_are_mixed, base::order_by_ids, base::sort_by_digits;
    static constexpr bool FLOATS = KIND == PSVI_RADIX_FLOAT32;
    using typename base::bin_counts;
    using typename base::K;
    using typename base::V;

    // RANKS: some items may lie in their places already.
    template <bool RANKS, typename B, typename F>
    __device__ __forceinline__ void emit_binned(const B &bin_of, F emit) const {
#pragma unroll 2
        for (uint32_t at = threadIdx.x; at < length; at += THREADS) {
            const K raw = shared.items.keys[at];
            const uint32_t id = shared.items.ids[at];
            emit(RANKS && (id & RANKED) ? at : place_of(raw, id, bin_of), raw,
                 VALUE_BYTES != 0 ? shared.items.values[at] : (V)0, id & ~RANKED);
        }
    }

    // The same where some of the even bins are too full. False where no other bins serve either.
    __device__ __forceinline__ bool to_other_bins(other_bins<K, FLOATS> &bin_of, K greatest, uint32_t (&places)[ITEMS],
                                                  bin_counts &counts) {
        bool low = shared.bins[0] > length / 8; // a heavy tail above the least keys
        bool mixed = keys_are_mixed(places[0]);
#pragma unroll 1
        for (;;) {
            if (!mixed && rank_crowds(bin_of.first_thread(), places, counts)) return true;
            if (bin_of.form != BINS_EVEN) {
                if (!FLOATS || !bin_of.even.by_value) return false;
                if constexpr (FLOATS) bin_of.even = key_bins<K, FLOATS>(bin_of.even.least, greatest, order, false);
                bin_of.form = BINS_EVEN;
                clear_bins();
            } else if (low) {
                bin_of.form = BINS_LOG;
                fullest = FULLEST_LOG; // the upper bins are few, and digits would take longer
                clear_bins();
            } else if (const K varying = this->template varying_bits<FLOATS>();
                       number_of_bits(varying) <= BIN_BITS - FLOATS) {
                bin_of.form = BINS_VALUES;
                if (threadIdx.x == 0) shared.gather.choose(varying);
                clear_bins();
            } else {
                bin_of.form = BINS_PARTS;
                divide_bins(counts);
            }
            __syncthreads();
            if (!count_bins(bin_of, bin_of.first_thread(), places, counts)) {
                to_bins(bin_of.first_thread(), places, counts);
                return true;
            }
            mixed = false;
            if constexpr (FLOATS) low = shared.bins[0] > length / 8;
        }
    }

    template <typename F> __device__ __forceinline__ void sort(F emit) {
        K least = (K) ~(K)0, greatest = 0;
        for_items([&](int row, uint32_t) {
            const K own = part(keys[row]);
            least = min(least, own);
            greatest = max(greatest, own);
        });
        const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        least = psvd_reduce_min(least);
        greatest = psvd_reduce_max(greatest);
        if (lane == 0) {
            shared.least[warp] = least;
            shared.greatest[warp] = greatest;
        }
        clear_bins();
        __syncthreads();
        least = psvd_reduce_min(shared.least[lane]);
        greatest = psvd_reduce_max(shared.greatest[lane]);
        key_bins<K, FLOATS> even(least, greatest, order, true);
        uint32_t places[ITEMS];
        bin_counts counts;
        if (!count_bins(even, 0, places, counts)) {
            to_bins(0, places, counts);
            emit_binned<false>(even, emit);
            return;
        }
        if (!ordered) {
            order_by_ids();
            __syncthreads();
            clear_bins();
            __syncthreads();
            count_bins(even, 0, places, counts);
        }
        other_bins<K, FLOATS> others = {even, shared.gather, shared.bins, length, BINS_EVEN};
        if (least != greatest && to_other_bins(others, greatest, places, counts)) {
            emit_binned<true>(others, emit);
            return;
        }
        if (least != greatest) sort_by_digits();
        for_items([&](int row, uint32_t at) { emit(at, keys[row], VALUE_BYTES != 0 ? values[row] : (V)0, ids[row]); });
    }
};

} // namespace onchip

#endif
