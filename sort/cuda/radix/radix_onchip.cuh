// Sorts some thousand items inside one block. The range of the keys is cut into bins of equal width; the items go to
// their bins in any order (shared atomics), and each finds its place in its bin by comparing itself with the others
// there, ties by the items' numbers. So the order of arrival does not matter and the result is stable. Where a bin is
// too full for this, the block leaves equal keys as they are, makes one stable pass over all of a few different keys,
// or one for each digit.
#ifndef PAIRSIEVE_RADIX_ONCHIP_CUH
#define PAIRSIEVE_RADIX_ONCHIP_CUH

#include "../../core/cuda/async_copies.cuh"
#include "radix_device.cuh"

namespace onchip {

constexpr int THREADS = PSVI_RADIX_ONCHIP_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int BINS = 8192; // two bytes each: as many bytes as the counters of all warps for digits of 8 bits

// A bin of so many items is still compared each with each, where a thread has `rows` items.
__device__ __forceinline__ uint32_t fullest_bin(uint32_t rows) { return rows <= 2 ? 96 : rows <= 4 ? 64 : 48; }

// Shared memory of the block for at most CAPACITY items, which lie there bin by bin.
template <int KIND, int VALUE_BYTES, int CAPACITY> struct memory {
    using key = typename radix_key<KIND>::type;
    using value = typename radix_value<VALUE_BYTES>::type;
    union {
        alignas(16) uint16_t bins[BINS]; // counts, then first places
        alignas(16) radix_counter counters[WARPS][PSVI_RADIX_DIGITS];
    };
    uint32_t sums[WARPS];
    key least[WARPS], greatest[WARPS];
    key values_found[PSVI_RADIX_DIGITS]; // where there are few different keys: all of them, in order
    key keys[CAPACITY];
    uint32_t ids[CAPACITY];
    value values[VALUE_BYTES == 0 ? 1 : CAPACITY];
};

__device__ __forceinline__ uint32_t warp_max(uint32_t own) { return ~psvd_reduce_min(~own); }

__device__ __forceinline__ uint64_t warp_max(uint64_t own) { return ~psvd_reduce_min(~own); }

// The bits that a key is compared by, as a number.
template <int KIND>
__device__ __forceinline__ typename radix_key<KIND>::type part_of(typename radix_key<KIND>::type raw,
                                                                  const psvi_key_order &order) {
    using K = typename radix_key<KIND>::type;
    uint32_t unused = (uint32_t)sizeof(K) * 8 - order.end_bit;
    return (K)((K)(transform<KIND>(raw, order) << unused) >> unused) >> order.begin_bit;
}

// Cuts a range of keys into BINS bins; never decreasing from one key to a greater.
template <typename K> struct key_bins {
    K least;
    uint32_t up, scale;

    __device__ __forceinline__ key_bins(K from, K to) : least(from) {
        const K range = to - from;
        up = sizeof(K) == 8 ? (uint32_t)__clzll((long long)range) : (uint32_t)__clz((int)range);
        if (range == 0) up = 0;
        // At most BINS * 2^32 / (1 + top): rounded down, and less than it by more than a float's error.
        const uint32_t top = (uint32_t)((K)(range << up) >> (8 * (sizeof(K) - 4)));
        scale = (uint32_t)__fdividef(BINS * 4294967296.0f * (1 - 1e-6f), (float)top + 1.0f);
        if (range == 0) scale = 0;
    }

    __device__ __forceinline__ uint32_t operator()(K part) const {
        return __umulhi((uint32_t)((K)((K)(part - least) << up) >> (8 * (sizeof(K) - 4))), scale);
    }
};

// Sorts the items that the block's threads hold. A thread has items place(0), place(1), ..., those below `length`,
// in `keys`, `values` and `ids` (no two the same). `emit(place, key, value, id)` is
// called once for every item with its place in the sorted order, for neighbours in a warp at nearly neighbouring
// places. Every thread of the block calls it with the same length; it starts and ends without a barrier.
template <int KIND, int VALUE_BYTES, int ITEMS, int CAPACITY> struct sorter {
    using K = typename radix_key<KIND>::type;
    using V = typename radix_value<VALUE_BYTES>::type;
    using memory_t = memory<KIND, VALUE_BYTES, CAPACITY>;

    memory_t &shared;
    const psvi_key_order &order;
    uint32_t length, rows, first; // items of the block, of a thread, and a thread's first
    bool ordered = true;          // ids rise with the place
    bool with_values = true;      // false: only keys and ids are moved, and no memory of values is touched
    K keys[ITEMS];
    V values[VALUE_BYTES == 0 ? 1 : ITEMS];
    uint32_t ids[ITEMS];

    __device__ __forceinline__ sorter(memory_t &m, const psvi_key_order &o, uint32_t count)
        : shared(m), order(o), length(count), rows((count + THREADS - 1) / THREADS),
          first((threadIdx.x >> 5) * 32 * ((count + THREADS - 1) / THREADS) + (threadIdx.x & 31)) {}

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

    template <typename F> __device__ __forceinline__ void sort(F emit) {
        sort(emit, [](bool, const key_bins<K> &) { return true; });
    }

    // The same, but asks confirm(binned, bins) before anything is emitted: binned says whether place_of() can be asked.
    // Emits nothing where that answers false, to all threads.
    template <typename F, typename C> __device__ __forceinline__ bool sort(F emit, C confirm) {
        K least = (K) ~(K)0, greatest = 0;
        for_items([&](int row, uint32_t) {
            const K own = part(keys[row]);
            least = min(least, own);
            greatest = max(greatest, own);
        });
        const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        least = psvd_reduce_min(least);
        greatest = warp_max(greatest);
        if (lane == 0) {
            shared.least[warp] = least;
            shared.greatest[warp] = greatest;
        }
        static_assert(BINS * sizeof(uint16_t) == THREADS * sizeof(uint4), "a thread clears eight bins");
        reinterpret_cast<uint4 *>(shared.bins)[threadIdx.x] = make_uint4(0, 0, 0, 0);
        __syncthreads();
        least = psvd_reduce_min(shared.least[lane]);
        greatest = warp_max(shared.greatest[lane]);
        const key_bins<K> bin_of(least, greatest);
        const bool binned = to_bins(bin_of);
        if (!confirm(binned, bin_of)) return false;
        if (binned) {
#pragma unroll 2
            for (uint32_t at = threadIdx.x; at < length; at += THREADS) {
                const K raw = shared.keys[at];
                const uint32_t id = shared.ids[at];
                emit(place_of(raw, id, bin_of), raw, VALUE_BYTES != 0 && with_values ? shared.values[at] : (V)0, id);
            }
            return true;
        }
        if (least == greatest && ordered) { // as they are
        } else if (find_values(bin_of)) {
            order_by_ids();
            pass([&](int row) { return value_number(part(keys[row])); });
        } else {
            sort_by_digits();
        }
        for_items([&](int row, uint32_t at) { emit(at, keys[row], VALUE_BYTES != 0 ? values[row] : (V)0, ids[row]); });
        return true;
    }

    // Brings the items to their bins. False, with nothing changed but shared memory, when a bin is too full.
    __device__ __forceinline__ bool to_bins(const key_bins<K> &bin_of) {
        uint32_t *pairs = reinterpret_cast<uint32_t *>(shared.bins);
        uint32_t places[ITEMS];
        for_items([&](int row, uint32_t) {
            const uint32_t bin = bin_of(part(keys[row])), high = 16 * (bin & 1);
            places[row] = bin << 16 | (atomicAdd(&pairs[bin / 2], 1u << high) >> high & 0xffff);
        });
        __syncthreads();
        const uint4 counts = reinterpret_cast<uint4 *>(pairs)[threadIdx.x];
        const uint32_t words[4] = {counts.x, counts.y, counts.z, counts.w};
        uint32_t own = 0;
        bool full = false;
        const uint32_t fullest = fullest_bin(rows);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            own += (words[i] & 0xffff) + (words[i] >> 16);
            full |= (words[i] & 0xffff) > fullest || words[i] >> 16 > fullest;
        }
        if (__syncthreads_or(full)) return false;
        reinterpret_cast<uint4 *>(pairs)[threadIdx.x] = first_places(words, block_scan(own, shared.sums));
        __syncthreads();
        for_items([&](int row, uint32_t) {
            const uint32_t target = shared.bins[places[row] >> 16] + (places[row] & 0xffff);
            put(row, target);
        });
        __syncthreads();
        return true;
    }

    // The place in the sorted order of an item among the bins.
    __device__ __forceinline__ uint32_t place_of(K raw, uint32_t id, const key_bins<K> &bin_of) const {
        const K mine = part(raw);
        const uint32_t bin = bin_of(mine);
        const uint32_t begin = shared.bins[bin];
        const uint32_t end = bin + 1 < (uint32_t)BINS ? shared.bins[bin + 1] : length;
        uint32_t target = begin;
        for (uint32_t other = begin; other < end; ++other) {
            const K theirs = part(shared.keys[other]);
            target += theirs < mine || (theirs == mine && shared.ids[other] < id);
        }
        return target;
    }

    __device__ __forceinline__ void put(int row, uint32_t target) {
        shared.keys[target] = keys[row];
        shared.ids[target] = ids[row];
        if (VALUE_BYTES != 0 && with_values) shared.values[target] = values[row];
    }

    // Which of the keys found a key is.
    __device__ __forceinline__ uint32_t value_number(K own) const {
        uint32_t found = 0;
#pragma unroll
        for (int step = PSVI_RADIX_DIGITS / 2; step > 0; step /= 2)
            if (shared.values_found[found + step - 1] < own) found += step;
        return found;
    }

    // Lists the different keys, where there is one in each bin in use and no more than a pass can tell apart.
    __device__ __forceinline__ bool find_values(const key_bins<K> &bin_of) {
        uint32_t *pairs = reinterpret_cast<uint32_t *>(shared.bins);
        const uint4 counts = reinterpret_cast<uint4 *>(pairs)[threadIdx.x];
        const uint32_t words[4] = {counts.x, counts.y, counts.z, counts.w};
        uint32_t used = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            used += ((words[i] & 0xffff) != 0) + (words[i] >> 16 != 0);
        uint32_t number = block_scan(used, shared.sums);
        if (__syncthreads_or(number + used > PSVI_RADIX_DIGITS)) return false;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint32_t next = number + ((words[i] & 0xffff) != 0);
            pairs[4 * threadIdx.x + i] = number | next << 16;
            number = next + (words[i] >> 16 != 0);
        }
        if (threadIdx.x < PSVI_RADIX_DIGITS) shared.values_found[threadIdx.x] = (K) ~(K)0;
        __syncthreads();
        for_items([&](int row, uint32_t) {
            const K own = part(keys[row]);
            exchange(&shared.values_found[shared.bins[bin_of(own)]], own); // any of the bin: they should be the same
        });
        __syncthreads();
        bool other = false;
        for_items([&](int row, uint32_t) {
            const K own = part(keys[row]);
            other |= shared.values_found[shared.bins[bin_of(own)]] != own;
        });
        return !__syncthreads_or(other);
    }

    __device__ __forceinline__ static void exchange(uint32_t *address, uint32_t word) { atomicExch(address, word); }
    __device__ __forceinline__ static void exchange(uint64_t *address, uint64_t word) {
        atomicExch((unsigned long long *)address, (unsigned long long)word);
    }

    // Items that come in any order: stable passes start from the order of the ids.
    __device__ __forceinline__ void order_by_ids() {
        if (ordered) return;
        uint32_t bits = 0;
        for_items([&](int row, uint32_t) { bits |= ids[row]; });
        bits = (uint32_t)block_or(bits);
#pragma unroll 1
        for (int shift = 0; shift < 32 && bits >> shift != 0; shift += PSVI_RADIX_BITS)
            pass([&](int row) { return ids[row] >> shift & (PSVI_RADIX_DIGITS - 1); });
    }

    // Stable passes over the digits in which keys differ.
    __device__ __forceinline__ void sort_by_digits() {
        order_by_ids();
        __syncthreads();
        if (threadIdx.x == 0) shared.keys[0] = part(keys[0]);
        __syncthreads();
        const K some = shared.keys[0];
        K varying = 0;
        for_items([&](int row, uint32_t) { varying |= part(keys[row]) ^ some; });
        varying = block_or(varying);
#pragma unroll 1
        while (varying != 0) {
            const int shift = sizeof(K) == 8 ? __ffsll((long long)varying) - 1 : __ffs((int)varying) - 1;
            varying &= ~((K)(PSVI_RADIX_DIGITS - 1) << shift);
            pass([&](int row) { return (uint32_t)(part(keys[row]) >> shift) & (PSVI_RADIX_DIGITS - 1); });
        }
    }

    __device__ __forceinline__ K block_or(K own) {
        const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            own |= __shfl_xor_sync(PSVI_RADIX_FULL_WARP, own, step);
        __syncthreads();
        if (lane == 0) shared.least[warp] = own;
        __syncthreads();
        K all = shared.least[lane];
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            all |= __shfl_xor_sync(PSVI_RADIX_FULL_WARP, all, step);
        return all;
    }

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
            put(row, target);
        });
        __syncthreads();
        for_items([&](int row, uint32_t at) {
            keys[row] = shared.keys[at];
            ids[row] = shared.ids[at];
            if (VALUE_BYTES != 0 && with_values) values[row] = shared.values[at];
        });
    }
};

} // namespace onchip

#endif
