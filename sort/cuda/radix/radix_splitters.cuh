// Route SPLITTERS, from the second call on. Each call leaves splitters: the keys that cut its sorted output into equal
// shares. The next call sends every item to the chunk that they say, with its place in the input. Each chunk has a
// region of fixed size in memory, where its items arrive in any order. After one grid barrier each block sorts its
// chunk by key and place.
//
// Any splitters give the right order. If the keys are spread otherwise now, some chunk does not fit in its region; all
// blocks see that after the barrier, and the launch sorts in another way (radix_chunks.cu).
#ifndef PAIRSIEVE_RADIX_SPLITTERS_CUH
#define PAIRSIEVE_RADIX_SPLITTERS_CUH

#include "../../../core/cuda/async_copies.cuh"
#include "radix_chunks_device.cuh"

namespace {

// A chunk whose bins hold more is sorted digit by digit: items of a bin, comparisons for each item on average.
constexpr uint32_t MOST_IN_BIN = 512, MOST_COMPARISONS = 24;

template <bool MORE_THAN_256> struct chunk_index { using type = uint8_t; };
template <> struct chunk_index<true> { using type = uint16_t; };

// A key and its place in the input.
template <typename K> struct placed_key;
template <> struct alignas(8) placed_key<uint32_t> {
    uint32_t place, low;
    __device__ __forceinline__ uint32_t key() const { return low; }
    __device__ __forceinline__ static placed_key make(uint32_t key, uint32_t place) { return {place, key}; }
};
template <> struct placed_key<uint64_t> { // 12 bytes, for the sake of shared memory
    uint32_t place, low, high;
    __device__ __forceinline__ uint64_t key() const { return (uint64_t)high << 32 | low; }
    __device__ __forceinline__ static placed_key make(uint64_t key, uint32_t place) {
        return {place, (uint32_t)key, (uint32_t)(key >> 32)};
    }
};

// Reads what other blocks have written.
__device__ __forceinline__ placed_key<uint32_t> load_placed(const placed_key<uint32_t> *from) {
    const uint2 words = __ldcg((const uint2 *)from);
    return {words.x, words.y};
}
__device__ __forceinline__ placed_key<uint64_t> load_placed(const placed_key<uint64_t> *from) {
    const uint32_t *words = (const uint32_t *)from;
    return {__ldcg(words), __ldcg(words + 1), __ldcg(words + 2)};
}

// The order by what keys are compared by, then by places.
__device__ __forceinline__ bool is_before(uint32_t a, uint32_t a_place, uint32_t b, uint32_t b_place) {
    return ((uint64_t)a << 32 | a_place) < ((uint64_t)b << 32 | b_place);
}
__device__ __forceinline__ bool is_before(uint64_t a, uint32_t a_place, uint64_t b, uint32_t b_place) {
    return a < b || (a == b && a_place < b_place);
}

// Shared memory of a block, for at most MOST chunks.
template <int KIND, int VALUE_BYTES, int MOST> struct splitter_shared {
    using types = chunks_types<KIND, VALUE_BYTES>;
    static constexpr int TABLE_BITS = MOST <= 256 ? 13 : 14, TABLE = 1 << TABLE_BITS;
    using index = typename chunk_index<(MOST > 256)>::type;
    placed_key<typename types::key> items[types::TILE];
    typename types::value values[VALUE_BYTES == 0 ? 1 : types::TILE];
    static constexpr bool STAGES = MOST > 256 && VALUE_BYTES != 0;
    union {
        struct {                               // of items on their way to the chunks
            alignas(16) uint32_t counts[MOST]; // items of this block for each chunk
            alignas(16) uint32_t starts[MOST]; // where they begin in the block
            uint32_t goals[MOST];              // where they begin in the regions, less `starts`
            index chunk_at[types::TILE];
            // Values of the next tile or chunk. Each lies at the place of the thread that copies it and reads it later.
            typename types::value staged[STAGES ? types::TILE : 1];
        } out;
        struct {                            // of a chunk whose bins are too full
            uint16_t order[2][types::TILE]; // items by what has been sorted so far
            uint16_t ranks[types::TILE];
        } slow;
    };
    union {
        radix_counter counters[WARPS][LOCAL_DIGITS];
        alignas(16) uint16_t bins[FINE_BINS + 8]; // counts, then first places; of one past the last too
        alignas(16) index chunk_of[TABLE + 1];    // splitters in the bins before
    };
    typename types::key splitters[MOST];
    uint32_t digit_start[LOCAL_DIGITS];
    uint32_t quarters[4][LOCAL_DIGITS / 2];
    uint32_t sums[WARPS];
    typename types::key least[WARPS], greatest[WARPS];
    uint32_t begin, length; // of this block's chunk
    uint32_t unordered, overflow;
    uint32_t comparisons; // of items with all items of their bins
};

enum splitter_outcome { SPLITTERS_SORTED, SPLITTERS_IN_ORDER, SPLITTERS_OVERFLOW };

// A block's share of the input, then of the chunks: its items in registers and on their way through shared memory.
template <int KIND, int VALUE_BYTES, int MOST> struct splitter_share {
    using types = chunks_types<KIND, VALUE_BYTES>;
    using K = typename types::key;
    using V = typename types::value;
    using item = placed_key<K>;
    using shared_t = splitter_shared<KIND, VALUE_BYTES, MOST>;
    using index = typename shared_t::index;
    static constexpr int TABLE = shared_t::TABLE;
    static constexpr int ROWS = types::TILE / THREADS;
    // With many chunks the keys of the next chunk take the registers, so values are copied to shared memory. As spilled
    // registers each value would be waited for as soon as it was read.
    static constexpr bool STAGES = shared_t::STAGES;

    const psvi_radix_job &job;
    const psvi_radix_chunks_call &call;
    uint64_t *splitters; // in device memory
    shared_t &shared;
    uint32_t chunks, capacity;     // of a region
    uint32_t begin, length, count; // of this block's share of the input; of all
    K keys[ROWS];                  // of the share, then of the chunk
    V values[STAGES ? 1 : ROWS];
    uint32_t places[ROWS]; // of the chunk
    K after;               // lane r: the key after those of row r of this warp
    K low;                 // the table's range
    uint32_t shift;        // and the width of its bins
    uint32_t gathered;     // places of the region that have been read
    bool crowded = false;  // some chunk took sort_by_passes(): other routes are faster

    __device__ __forceinline__ splitter_share(const psvi_radix_job &j, const psvi_radix_chunks_call &r,
                                              uint64_t *splitters, shared_t &sh, uint32_t chunks, uint32_t capacity,
                                              uint32_t c)
        : job(j), call(r), splitters(splitters), shared(sh), chunks(chunks), capacity(capacity), count(c) {}

    __device__ __forceinline__ K part(K raw) const { return part_of<KIND>(raw, job.order); }

    __device__ __forceinline__ static bool is_row(int row, uint32_t items) { return row * THREADS < (int)items; }

    __device__ __forceinline__ bool sends_values() const { return VALUE_BYTES != 0 && !job.implicit; }

    // Reads a share, everything at once. The key after it comes with it.
    __device__ __forceinline__ void load(uint32_t share_begin, uint32_t share_length) {
        begin = share_begin;
        length = share_length;
        const uint32_t readable = min(length + 1, count - begin), lane = threadIdx.x & 31;
        const K *keys_in = (const K *)job.keys_in + begin;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            const uint32_t at = row * THREADS + threadIdx.x;
            keys[row] = at < readable ? __ldcg(keys_in + at) : (K)0;
        }
        const uint32_t next = lane * THREADS + (threadIdx.x | 31) + 1;
        after = lane < ROWS && next < readable ? __ldcg(keys_in + next) : (K)0;
        if constexpr (STAGES) {
            if (!job.implicit) stage((const V *)job.values_in + begin, 0, length);
        } else if constexpr (VALUE_BYTES != 0) {
            const V *values_in = (const V *)job.values_in + begin;
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                const uint32_t at = row * THREADS + threadIdx.x;
                values[row] = !job.implicit && at < length ? __ldcg(values_in + at) : (V)(begin + at);
            }
        }
    }

    // Starts to copy values to shared memory; see wait_for_staged. A thread reads what it copied: no barrier.
    __device__ __forceinline__ void stage(const V *from, uint32_t begin_at, uint32_t end_at) {
        if constexpr (STAGES) {
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                const uint32_t at = row * THREADS + threadIdx.x;
                if (at >= begin_at && at < end_at) copy_async(&shared.out.staged[at], from + at);
            }
        }
    }

    __device__ __forceinline__ void wait_for_staged() const {
        if (STAGES && sends_values()) wait_for_copies();
    }

    // Of the item of a row that has been loaded.
    __device__ __forceinline__ V value_of(int row) const {
        if constexpr (STAGES)
            return shared.out.staged[row * THREADS + threadIdx.x];
        else
            return values[row];
    }

    // Copies the input to the output where it is in order already.
    __device__ __forceinline__ void copy_through() {
        const bool moves_keys = job.keys_out != nullptr && job.keys_out != job.keys_in;
        const bool moves_values = VALUE_BYTES != 0 && (job.implicit || job.values_out != job.values_in);
        for (uint32_t at = begin + threadIdx.x; at < begin + length; at += THREADS) {
            if (moves_keys) ((K *)job.keys_out)[at] = ((const K *)job.keys_in)[at];
            if (moves_values) ((V *)job.values_out)[at] = job.implicit ? (V)at : ((const V *)job.values_in)[at];
        }
    }

    // The share as load() has read it.
    __device__ __forceinline__ void leave(K *keys_to, V *values_to) const {
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            const uint32_t at = row * THREADS + threadIdx.x;
            if (at < length) {
                keys_to[at] = keys[row];
                if constexpr (VALUE_BYTES != 0) values_to[at] = values[row];
            }
        }
    }
};

// Which chunk an item belongs to.
template <int KIND, int VALUE_BYTES, int MOST> struct splitter_table : splitter_share<KIND, VALUE_BYTES, MOST> {
    using base = splitter_share<KIND, VALUE_BYTES, MOST>;
    using base::base;
    using base::splitters, base::shared, base::chunks, base::low, base::shift, base::TABLE;
    using typename base::index;
    using typename base::K;
    using typename base::shared_t;

    // Both run before the block's first barrier: load_splitter before anything that takes long, publish_splitter after
    // it. Where there are no splitters yet, what is read means nothing.
    __device__ __forceinline__ K load_splitter() const {
        static_assert(MOST <= THREADS, "a thread for each splitter");
        return threadIdx.x < chunks - 1 ? (K)__ldcg(&splitters[threadIdx.x]) : (K)0;
    }

    __device__ __forceinline__ void publish_splitter(K splitter) {
        if (threadIdx.x < MOST) {
            shared.splitters[threadIdx.x] = splitter;
            shared.out.counts[threadIdx.x] = 0;
        }
    }

    __device__ __forceinline__ uint32_t table_bin(K own) const {
        return own < low ? 0 : (uint32_t)min((K)((K)(own - low) >> shift), (K)(TABLE - 1));
    }

    // How many splitters lie in the bins before each bin. It is the same up to the next splitter's.
    __device__ __forceinline__ void fill_table() {
        const uint32_t lane = threadIdx.x & 31, last = chunks - 1;
        low = shared.splitters[0];
        shift = max(bits_of<K>((K)(shared.splitters[last - 1] - low)) - shared_t::TABLE_BITS, 0);
        for (uint32_t chunk = threadIdx.x >> 5; chunk <= last; chunk += WARPS) {
            const uint32_t from = chunk == 0 ? 0 : table_bin(shared.splitters[chunk - 1]) + 1;
            const uint32_t to = chunk == last ? TABLE : table_bin(shared.splitters[chunk]);
            for (uint32_t bin = from + lane; bin <= to; bin += 32)
                shared.chunk_of[bin] = (index)chunk;
        }
    }

    // How many splitters are not greater.
    __device__ __forceinline__ uint32_t chunk_of(K own) const {
        const uint32_t bin = table_bin(own);
        uint32_t least = shared.chunk_of[bin], most = shared.chunk_of[bin + 1];
        while (least < most) {
            const uint32_t middle = (least + most) / 2;
            if (shared.splitters[middle] <= own)
                least = middle + 1;
            else
                most = middle;
        }
        return least;
    }
};

// Sends the share to the regions of the chunks, and gathers the block's own chunk from its region.
template <int KIND, int VALUE_BYTES, int MOST> struct splitter_regions : splitter_table<KIND, VALUE_BYTES, MOST> {
    using base = splitter_table<KIND, VALUE_BYTES, MOST>;
    using base::base;
    using base::job, base::call, base::shared, base::chunks, base::capacity, base::begin, base::length, base::count,
        base::keys, base::values, base::places, base::after, base::gathered, base::ROWS, base::STAGES, base::part,
        base::is_row, base::sends_values, base::stage, base::wait_for_staged, base::value_of, base::fill_table,
        base::chunk_of;
    using typename base::index;
    using typename base::item;
    using typename base::K;
    using typename base::V;

    // Finds each item's chunk, and a place among the block's items for it. Whether some key is greater than the next.
    __device__ __forceinline__ bool rank_in_block() {
        const uint32_t lane = threadIdx.x & 31;
        bool descent = !job.order_check;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            if (!is_row(row, length)) break;
            const uint32_t at = row * THREADS + threadIdx.x;
            const K last = __shfl_sync(PSVI_RADIX_FULL_WARP, after, row);
            K next = __shfl_down_sync(PSVI_RADIX_FULL_WARP, keys[row], 1);
            if (lane == 31) next = last;
            if (at < length) {
                const K own = part(keys[row]);
                descent |= begin + at + 1 < count && part(next) < own;
                const uint32_t chunk = chunk_of(own);
                places[row] = chunk << 16 | atomicAdd(&shared.out.counts[chunk], 1u);
            }
        }
        return descent;
    }

    // Brings the items together by chunks, once `starts` is there.
    __device__ __forceinline__ void move_in_block() {
        wait_for_staged();
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            if (!is_row(row, length)) break;
            const uint32_t at = row * THREADS + threadIdx.x;
            if (at < length) {
                const uint32_t place = shared.out.starts[places[row] >> 16] + (places[row] & 0xffff);
                shared.items[place] = item::make(keys[row], begin + at);
                if (sends_values()) shared.values[place] = value_of(row);
                shared.out.chunk_at[place] = (index)(places[row] >> 16);
            }
        }
    }

    // Writes them to the regions, once `goals` is there.
    __device__ __forceinline__ void write_to_regions(uint32_t items) {
        constexpr int AT_ONCE = MOST <= 256 ? ROWS : 3; // with many chunks, registers hold the next tile
#pragma unroll AT_ONCE
        for (int row = 0; row < ROWS; ++row) {
            const uint32_t place = row * THREADS + threadIdx.x;
            if (place < items) {
                const uint32_t target = shared.out.goals[shared.out.chunk_at[place]] + place;
                ((item *)call.items)[target] = shared.items[place];
                if (sends_values()) ((V *)call.values)[target] = shared.values[place];
            }
        }
    }

    // One warp: where the items for each chunk begin in the block.
    __device__ __forceinline__ void start_counts() {
        const uint32_t lane = threadIdx.x;
        uint4 words[2] = {reinterpret_cast<uint4 *>(shared.out.counts)[2 * lane],
                          reinterpret_cast<uint4 *>(shared.out.counts)[2 * lane + 1]};
        uint32_t *counts = &words[0].x;
        uint32_t own = 0;
#pragma unroll
        for (int i = 0; i < 8; ++i)
            own += counts[i];
        const uint32_t sum = psvd_sum_up_to(own);
        uint32_t start = sum - own;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const uint32_t count_here = counts[i];
            counts[i] = start;
            start += count_here;
        }
        reinterpret_cast<uint4 *>(shared.out.starts)[2 * lane] = words[0];
        reinterpret_cast<uint4 *>(shared.out.starts)[2 * lane + 1] = words[1];
    }

    // Sends the share to the regions of at most 256 chunks. Begins after the barrier behind publish_splitter.
    __device__ __forceinline__ void send(psvi_radix_chunks_meeting *meeting) {
        fill_table();
        __syncthreads();
        const bool descent = rank_in_block();
        const bool unordered = __syncthreads_or(descent);
        if (threadIdx.x == 0 && unordered) meeting->unordered = 1;
        uint32_t goal = 0;
        bool overflow = false;
        const uint32_t chunk = threadIdx.x - 32;
        if (threadIdx.x < 32) {
            start_counts();
        } else if (chunk < chunks) {
            const uint32_t own = shared.out.counts[chunk];
            const uint32_t claimed = own != 0 ? atomicAdd(&meeting->filled[chunk], own) : 0;
            overflow = claimed + own > capacity;
            goal = chunk * capacity + claimed;
        }
        __syncthreads();
        if (threadIdx.x >= 32 && chunk < chunks) shared.out.goals[chunk] = goal - shared.out.starts[chunk];
        move_in_block();
        if (__syncthreads_or(overflow)) {
            if (threadIdx.x == 0) meeting->overflow = 1;
            return;
        }
        write_to_regions(length);
    }

    // Reads the places from..to of a chunk's region, everything at once.
    __device__ __forceinline__ void gather(uint32_t chunk, uint32_t from, uint32_t to) {
        const uint32_t region = chunk * capacity;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            const uint32_t at = row * THREADS + threadIdx.x;
            if (at < from || at >= to) continue;
            const item one = load_placed((const item *)call.items + region + at);
            keys[row] = one.key();
            places[row] = one.place;
        }
        if (!sends_values()) return;
        if constexpr (STAGES) {
            stage((const V *)call.values + region, from, to);
        } else {
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                const uint32_t at = row * THREADS + threadIdx.x;
                if (at >= from && at < to) values[row] = __ldcg((const V *)call.values + region + at);
            }
        }
    }

    // The chunk's items, before it is known how many there are: a few more than there should be.
    __device__ __forceinline__ void gather_expected(uint32_t chunk) {
        gathered = min(capacity, (count + chunks - 1) / chunks * 9 / 8 + 64);
        gather(chunk, 0, gathered);
    }

    // After the grid barrier: what all blocks have found, and where this block's chunk lies.
    __device__ __forceinline__ splitter_outcome meet(const psvi_radix_chunks_meeting *meeting) {
        if (threadIdx.x < 32) {
            uint32_t before = 0, own = 0;
            const uint32_t unordered = __ldcg(&meeting->unordered), overflow = __ldcg(&meeting->overflow);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const uint32_t chunk = 32 * i + threadIdx.x;
                const uint32_t filled = chunk <= blockIdx.x ? __ldcg(&meeting->filled[chunk]) : 0;
                if (chunk < blockIdx.x)
                    before += filled;
                else
                    own += filled;
            }
            before = psvd_reduce_add(before);
            own = psvd_reduce_add(own);
            if (threadIdx.x == 0) {
                shared.begin = before;
                shared.length = own;
                shared.unordered = unordered;
                shared.overflow = overflow;
            }
        }
        __syncthreads();
        if (!shared.unordered) return SPLITTERS_IN_ORDER;
        return shared.overflow ? SPLITTERS_OVERFLOW : SPLITTERS_SORTED;
    }
};

// Places: every item finds its own among those of its bin.
template <int KIND, int VALUE_BYTES, int MOST> struct chunk_places : splitter_regions<KIND, VALUE_BYTES, MOST> {
    using base = splitter_regions<KIND, VALUE_BYTES, MOST>;
    using base::base;
    using base::job, base::shared, base::begin, base::keys, base::values, base::places, base::ROWS, base::part,
        base::is_row, base::sends_values, base::wait_for_staged, base::value_of;
    using typename base::item;
    using typename base::K;
    using typename base::V;

    // Brings the chunk's items to their bins, or leaves them in the order in which they came.
    __device__ __forceinline__ void put(uint32_t items, bool as_they_are, const uint16_t *starts,
                                        const uint32_t (&ranks)[ROWS]) {
        wait_for_staged();
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            if (!is_row(row, items)) break;
            const uint32_t at = row * THREADS + threadIdx.x;
            if (at < items) {
                const uint32_t target = as_they_are ? at : starts[ranks[row] >> 16] + (ranks[row] & 0xffff);
                shared.items[target] = item::make(keys[row], places[row]);
                if (sends_values()) shared.values[target] = value_of(row);
            }
        }
    }

    __device__ __forceinline__ void write(uint32_t rank, const item &one, uint32_t at) {
        if (job.keys_out != nullptr) ((K *)job.keys_out)[rank] = one.key();
        if (VALUE_BYTES != 0) ((V *)job.values_out)[rank] = job.implicit ? (V)one.place : shared.values[at];
    }

    // Every item finds its place among those of its bin.
    template <typename F>
    __device__ __forceinline__ void place_in_bins(uint32_t items, const splitter_marks &marks, const uint16_t *starts,
                                                  F bin_of) {
#pragma unroll 1
        for (uint32_t at = threadIdx.x; at < items; at += THREADS) {
            const item one = shared.items[at];
            const K mine = part(one.key());
            const uint32_t bin = bin_of(mine, one.place), to = starts[bin + 1];
            uint32_t target = starts[bin];
            for (uint32_t other = target; other < to; ++other) {
                const item theirs = shared.items[other];
                target += is_before(part(theirs.key()), theirs.place, mine, one.place);
            }
            write(marks.begin + target, one, at);
            marks.offer(target, mine);
        }
    }
};

// Bins of a chunk, of its keys' range, and their parts.
template <int KIND, int VALUE_BYTES, int MOST> struct chunk_bins : chunk_places<KIND, VALUE_BYTES, MOST> {
    using base = chunk_places<KIND, VALUE_BYTES, MOST>;
    using base::base;
    using base::shared, base::begin, base::keys, base::places, base::low, base::ROWS, base::STAGES, base::part,
        base::is_row;
    using typename base::types;

    // A bin of n items, which begin at b, has the parts b, b + 1, ... b + n - 1 of equal width.
    __device__ __forceinline__ uint32_t part_of_bin(uint32_t number, uint32_t scale) const {
        const uint64_t scaled = (uint64_t)number * scale;
        const uint32_t bin = (uint32_t)(scaled >> 32), begin = shared.bins[bin];
        return begin + __umulhi((uint32_t)scaled, shared.bins[bin + 1] - begin);
    }

    // Where bins are too full: divides each into as many parts as it has items. False when parts are too full as well.
    // Leaves their first places in slow.order[0].
    template <typename F>
    __device__ __forceinline__ bool divide_bins(uint32_t items, F part_of_key, uint32_t (&ranks)[ROWS]) {
        uint32_t *pairs = reinterpret_cast<uint32_t *>(shared.slow.order[0]);
        constexpr int SHARE = ROWS / 2 + 1; // words of a thread: TILE parts and one past the last
        static_assert(SHARE * THREADS * 2 <= 2 * types::TILE, "parts lie in two arrays of the size of a tile");
        static_assert(!STAGES || SHARE * THREADS * sizeof(uint32_t) <= offsetof(decltype(shared.out), staged),
                      "the parts lie before what is staged");
        if (threadIdx.x == 0) shared.comparisons = 0;
#pragma unroll
        for (int i = 0; i < SHARE; ++i)
            pairs[threadIdx.x * SHARE + i] = 0;
        __syncthreads();
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            if (!is_row(row, items)) break;
            if (row * THREADS + threadIdx.x < items) {
                const uint32_t bin = part_of_key(part(keys[row]), places[row]), high = 16 * (bin & 1);
                ranks[row] = bin << 16 | (atomicAdd(&pairs[bin / 2], 1u << high) >> high & 0xffff);
            }
        }
        __syncthreads();
        uint32_t own = 0, comparisons = 0;
        bool full = false;
#pragma unroll
        for (int i = 0; i < SHARE; ++i) {
            const uint32_t word = pairs[threadIdx.x * SHARE + i], low = word & 0xffff, high = word >> 16;
            own += low + high;
            full |= max(low, high) > MOST_IN_BIN;
            comparisons += low * low + high * high;
        }
        comparisons = psvd_reduce_add(comparisons);
        if ((threadIdx.x & 31) == 0) atomicAdd(&shared.comparisons, comparisons);
        const bool too_full = __syncthreads_or(full) || shared.comparisons > MOST_COMPARISONS * items;
        uint32_t start = block_scan(own, shared.sums);
#pragma unroll
        for (int i = 0; i < SHARE; ++i) {
            const uint32_t word = pairs[threadIdx.x * SHARE + i];
            pairs[threadIdx.x * SHARE + i] = start | (start + (word & 0xffff)) << 16;
            start += (word & 0xffff) + (word >> 16);
        }
        __syncthreads();
        return !too_full;
    }
};

// Digits, for a chunk whose bins are too full.
template <int KIND, int VALUE_BYTES, int MOST> struct chunk_digits : chunk_bins<KIND, VALUE_BYTES, MOST> {
    using base = chunk_bins<KIND, VALUE_BYTES, MOST>;
    using base::base;
    using base::shared, base::begin, base::length, base::part, base::write;
    using typename base::item;
    using typename base::K;

    template <typename F> __device__ __forceinline__ void pass(const tile_rows &tile, int half, F digit_of_item) {
        radix_counter *counters = shared.counters[threadIdx.x >> 5];
        const uint32_t below = lanemask_lt(), above = lanemask_gt();
        clear_digits(counters);
#pragma unroll 1
        for (uint32_t row = 0; row < tile.rows; ++row) {
            const uint32_t place = tile.place(row);
            const uint32_t digits[1] = {place < tile.length ? digit_of_item(shared.slow.order[half][place])
                                                            : LOCAL_DIGITS - 1};
            uint32_t same[1];
            match_rows(digits, LOCAL_BITS, same);
            volatile radix_counter *counter = counters + digits[0];
            const uint32_t rank = *counter + __popc(same[0] & below);
            __syncwarp();
            if ((same[0] & above) == 0) *counter = (radix_counter)(rank + 1);
            __syncwarp();
            if (place < tile.length) shared.slow.ranks[place] = (uint16_t)rank;
        }
        __syncthreads();
        place_in_block(shared);
        __syncthreads();
#pragma unroll 1
        for (uint32_t row = 0; row < tile.rows; ++row) {
            const uint32_t place = tile.place(row);
            if (place >= tile.length) break;
            const uint32_t which = shared.slow.order[half][place];
            shared.slow.order[half ^ 1][shared.slow.ranks[place] + counters[digit_of_item(which)]] = (uint16_t)which;
        }
        __syncthreads();
    }

    // Digit by digit, first of the places, then of the keys; only the order moves.
    __device__ __forceinline__ void sort_by_passes(uint32_t items, K least, int bits, int place_bits,
                                                   const splitter_marks &marks) {
        const tile_rows tile(items);
        for (uint32_t at = threadIdx.x; at < items; at += THREADS)
            shared.slow.order[0][at] = (uint16_t)at;
        int half = 0;
        __syncthreads();
        for (int from = 0; from < place_bits; from += LOCAL_BITS, half ^= 1)
            pass(tile, half, [&](uint32_t which) { return shared.items[which].place >> from & (LOCAL_DIGITS - 1); });
        for (int from = 0; from < bits; from += LOCAL_BITS, half ^= 1)
            pass(tile, half, [&](uint32_t which) {
                return (uint32_t)((K)(part(shared.items[which].key()) - least) >> from) & (LOCAL_DIGITS - 1);
            });
        for (uint32_t rank = threadIdx.x; rank < items; rank += THREADS) {
            const uint32_t which = shared.slow.order[half][rank];
            const item one = shared.items[which];
            write(marks.begin + rank, one, which);
            marks.offer(rank, part(one.key()));
        }
    }
};

// All of it.
template <int KIND, int VALUE_BYTES, int MOST> struct splitter_sort : chunk_digits<KIND, VALUE_BYTES, MOST> {
    using base = chunk_digits<KIND, VALUE_BYTES, MOST>;
    using base::base;
    using base::splitters, base::shared, base::chunks, base::count, base::keys, base::places, base::gathered,
        base::crowded, base::ROWS, base::STAGES, base::part, base::is_row, base::gather, base::put, base::place_in_bins,
        base::part_of_bin, base::divide_bins, base::sort_by_passes;
    using typename base::K;

    // Sorts this block's chunk: 13 bits of the keys' range in any order, then each item finds its place by comparing
    // itself with the others of its bin. Where the keys' range is narrow, places count as lower bits of the keys.
    // `ahead` runs when the registers are free again.
    template <typename F>
    __device__ __forceinline__ void sort_chunk(uint32_t chunk, uint32_t first, uint32_t items, F ahead) {
        const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        if (items > gathered) gather(chunk, gathered, items);
        if (threadIdx.x == 0) shared.comparisons = 0;
        uint32_t *pairs = reinterpret_cast<uint32_t *>(shared.bins); // two bins of 16 bits in a word
        static_assert(FINE_BINS == 8 * THREADS, "eight bins for each thread");
        reinterpret_cast<uint4 *>(pairs)[threadIdx.x] = make_uint4(0, 0, 0, 0);
        K inverted = 0, greatest = 0;
#pragma unroll
        for (int row = 0; row < ROWS; ++row)
            if (row * THREADS + threadIdx.x < items) {
                const K own = part(keys[row]);
                inverted = max(inverted, (K)~own);
                greatest = max(greatest, own);
            }
        inverted = psvd_reduce_max(inverted);
        greatest = psvd_reduce_max(greatest);
        if (lane == 0) {
            shared.least[warp] = inverted;
            shared.greatest[warp] = greatest;
        }
        __syncthreads();
        static_assert(WARPS == 32, "one lane for each warp");
        const K least = (K)~psvd_reduce_max(shared.least[lane]);
        greatest = psvd_reduce_max(shared.greatest[lane]);
        // A number of at most 32 bits from key and place, and its share of the bins.
        const int bits = bits_of<K>((K)(greatest - least)), place_bits = bits_of<uint32_t>(count - 1);
        const int narrow = max(bits - 32, 0), up = min(max(31 - bits, 0), place_bits);
        const int place_shift = place_bits - up; // 31 at most
        const uint32_t most = (uint32_t)((K)(greatest - least) >> narrow) << up | ((1u << up) - 1);
        const uint32_t scale =
            (uint32_t)fminf(__fdividef((float)FINE_BINS * 4294967296.f * .999999f, (float)most + 1), 4294967040.f);
        auto bin_of = [&](K own, uint32_t place) -> uint32_t {
            return __umulhi((uint32_t)((K)(own - least) >> narrow) << up | place >> place_shift, scale);
        };
        uint32_t ranks[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            if (!is_row(row, items)) break;
            if (row * THREADS + threadIdx.x < items) {
                const uint32_t bin = bin_of(part(keys[row]), places[row]), high = 16 * (bin & 1);
                ranks[row] = bin << 16 | (atomicAdd(&pairs[bin / 2], 1u << high) >> high & 0xffff);
            }
        }
        __syncthreads();
        const uint4 counts = reinterpret_cast<uint4 *>(pairs)[threadIdx.x];
        const uint32_t words[4] = {counts.x, counts.y, counts.z, counts.w};
        uint32_t own = 0, comparisons = 0;
        bool full = false;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            own += (words[i] & 0xffff) + (words[i] >> 16);
            full |= (words[i] & 0xffff) > MOST_IN_BIN || words[i] >> 16 > MOST_IN_BIN;
            comparisons += (words[i] & 0xffff) * (words[i] & 0xffff) + (words[i] >> 16) * (words[i] >> 16);
        }
        comparisons = psvd_reduce_add(comparisons);
        if (lane == 0) atomicAdd(&shared.comparisons, comparisons);
        const bool too_full = __syncthreads_or(full) || shared.comparisons > MOST_COMPARISONS * items;
        reinterpret_cast<uint4 *>(pairs)[threadIdx.x] = first_places(words, block_scan(own, shared.sums));
        if (threadIdx.x == 0) shared.bins[FINE_BINS] = (uint16_t)items;
        __syncthreads();
        if (!too_full) {
            put(items, false, shared.bins, ranks);
            __syncthreads();
            ahead();
            place_in_bins(items, splitter_marks(splitters, chunks, first, count), shared.bins, bin_of);
            return;
        }
        auto part_of_key = [&](K own, uint32_t place) -> uint32_t {
            return part_of_bin((uint32_t)((K)(own - least) >> narrow) << up | place >> place_shift, scale);
        };
        const bool by_parts = divide_bins(items, part_of_key, ranks);
        put(items, !by_parts, shared.slow.order[0], ranks);
        __syncthreads();
        const splitter_marks marks(splitters, chunks, first, count);
        if (by_parts) {
            ahead();
            place_in_bins(items, marks, shared.slow.order[0], part_of_key);
            return;
        }
        sort_by_passes(items, least, bits, place_bits, marks);
        crowded = true;
        if (STAGES) __syncthreads(); // what is staged lies where the order was
        ahead();
    }
};

} // namespace

#endif
