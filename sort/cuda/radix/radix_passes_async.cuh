// Route PASSES, asynchronous tiles: the chained digit pass of radix_passes.cuh with values of at most 4 bytes, from
// compute capability 9.0 on.
//
// The pass of radix_passes.cuh is bound by accesses to shared memory, half of them to rank items, and its phases follow
// one another. Here the threads of a block have three tasks, and the tasks overlap. Some threads rank a tile, some look
// back for it, some write the tile before it. Meanwhile a bulk copy brings the tile after it. To rank an item takes one
// atomic addition. Items do not move in shared memory: 16-bit places move, and items are read by them.
//
// When lanes of a warp add to one word, they get the old values in the order of lanes. All devices measured do that,
// but nothing promises it. So every tile is checked while it is written: (digit, place in the input) has to rise
// strictly. If it does not, one warp orders the tile again by votes, and it is written again.
#ifndef PAIRSIEVE_RADIX_PASSES_ASYNC_CUH
#define PAIRSIEVE_RADIX_PASSES_ASYNC_CUH

#include "../../../core/cuda/async_copies.cuh"
#include "radix_copy.cuh"
#include "radix_device.cuh"
#include "radix_windows.cuh"

// 31 in a test: items are ranked as if the additions of a warp came in the wrong order.
#ifndef PSVI_RADIX_TURNED_LANES
#define PSVI_RADIX_TURNED_LANES 0
#endif

// 1 in a test: the three tasks follow one another, and all barriers are of the whole block, which racecheck can follow.
#ifndef PSVI_RADIX_WHOLE_BARRIERS
#define PSVI_RADIX_WHOLE_BARRIERS 0
#endif

namespace {

// How many items a thread has on their way at once.
constexpr int async_batch(int items) {
    for (int batch = 8; batch > 1; --batch)
        if (items % batch == 0) return batch;
    return 1;
}

// Tiles of keys with VALUE_BYTES (0 or 4) of value each. RANKERS threads rank ITEMS items each, WRITERS write them,
// LOOKERS look back for one digit or two each.
template <typename K, int VALUE_BYTES_, int RANKERS_, int ITEMS_, int WRITERS_, int LOOKERS_, int LOOK_>
struct async_shape {
    using key = K;
    static constexpr int VALUE_BYTES = VALUE_BYTES_, RANKERS = RANKERS_, ITEMS = ITEMS_, WRITERS = WRITERS_,
                         LOOKERS = LOOKERS_, LOOK = LOOK_;
    static constexpr int THREADS = WRITERS + RANKERS + LOOKERS, LOOKER_DIGITS = PSVI_RADIX_DIGITS / LOOKERS;
    static constexpr int WARPS = RANKERS / 32, WARP_ITEMS = 32 * ITEMS, BATCH = async_batch(ITEMS);
    static constexpr uint32_t TILE = RANKERS * ITEMS;
    static constexpr uint32_t KEY_BYTES = TILE * sizeof(K), ITEM_BYTES = TILE * (sizeof(K) + VALUE_BYTES);
    static constexpr bool PACKS = VALUE_BYTES == sizeof(K); // pairs lie side by side between passes
    static constexpr int WRITE_ITEMS = TILE / WRITERS, WRITE_BATCH = async_batch(WRITE_ITEMS);
    // Only these shapes have registers to spare for two things. One is to bring the tile after the next to L2 while one
    // is written. The other is to rank digits of few values in their own way. The other shapes would spill.
    static constexpr bool LARGE_PAIRS = LOOKERS == 256;
    // Shared memory: two tiles, their orders, a counter for each of the rankers' warps and digit, one for each tile and
    // digit.
    static constexpr uint32_t ORDER = 2 * ITEM_BYTES, COUNTERS = ORDER + 2 * TILE * 2,
                              GOAL = COUNTERS + WARPS * PSVI_RADIX_DIGITS * 4, BYTES = GOAL + 2 * PSVI_RADIX_DIGITS * 4;
    static_assert(TILE <= 65535 && WARPS % 4 == 0 && RANKERS >= PSVI_RADIX_DIGITS && WRITE_ITEMS * WRITERS == TILE,
                  "16-bit places, equal shares");
};

__device__ __forceinline__ uint2 load_two_states(const uint32_t *states) {
    uint2 words;
    asm volatile("ld.relaxed.gpu.v2.u32 {%0, %1}, [%2];" : "=r"(words.x), "=r"(words.y) : "l"(states) : "memory");
    return words;
}

// Named barriers of a block. Those of tiles come in twos, for the two tiles in shared memory.
enum { BARRIER_RANKERS = 1, BARRIER_WRITERS = 2, BARRIER_COUNTED = 3, BARRIER_ORDERED = 5 };

template <int THREADS> __device__ __forceinline__ void barrier_wait(uint32_t barrier) {
#if PSVI_RADIX_WHOLE_BARRIERS
    if (barrier < BARRIER_COUNTED) __syncthreads(); // the others stand between the tasks
#else
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
#endif
}

template <int THREADS> __device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
#if !PSVI_RADIX_WHOLE_BARRIERS
    asm volatile("barrier.cta.arrive %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
#endif
}

// Whether all threads say so.
template <int THREADS> __device__ __forceinline__ bool barrier_and(uint32_t barrier, bool own) {
#if PSVI_RADIX_WHOLE_BARRIERS
    return __syncthreads_and(own) != 0;
#else
    uint32_t all;
    asm volatile("{\n\t.reg .pred own, all;\n\tsetp.ne.u32 own, %1, 0;\n\t"
                 "barrier.cta.red.and.pred all, %2, %3, own;\n\tselp.u32 %0, 1, 0, all;\n\t}"
                 : "=r"(all)
                 : "r"((uint32_t)own), "r"(barrier), "n"(THREADS)
                 : "memory");
    return all != 0;
#endif
}

// Two barriers, each for one arrival: the bulk load.
__device__ __forceinline__ void init_arrivals(uint64_t *barriers) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
                 "mbarrier.init.shared::cta.b64 [%0+8], 1;\n\t"
                 "fence.mbarrier_init.release.cluster;" ::"r"(shared_address(barriers))
                 : "memory");
}

__device__ __forceinline__ void arrive(uint64_t *barrier) {
    asm volatile(
        "{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared::cta.b64 state, [%0];\n\t}" ::"r"(shared_address(barrier))
        : "memory");
}

__device__ __forceinline__ void expect_bytes(uint64_t *barrier, uint32_t bytes) {
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;\n\t}" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void bulk_load(void *to, const void *from, uint32_t bytes, uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

__device__ __forceinline__ void bulk_prefetch(const void *from, uint32_t bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait_bytes(uint64_t *barrier, uint32_t parity) {
    asm volatile("{\n\t.reg .pred done;\n\t"
                 "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

__device__ __forceinline__ uint32_t add_shared(uint32_t *word, uint32_t number) {
    uint32_t old;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(shared_address(word)), "r"(number) : "memory");
    return old;
}

// What a block knows of its pass, kept in shared memory because registers are scarce. In the first pass keys and values
// are two arrays, or values are implicit; later passes have them packed side by side.
template <typename SHAPE> struct async_work {
    psvi_radix_pass pass;
    uint64_t count;
    uint32_t tiles, tile[2]; // all there are, those in shared memory
    bool packed, implicit, two_arrays, aligned;

    __device__ __forceinline__ void set(const psvi_radix_job &job, uint32_t slot, uint32_t portion) {
        pass = job.control->passes.plan[slot];
        if (!pass.active) return;
        count = job_count(job);
        tiles = portion_range<SHAPE::TILE>::tiles(count, portion);
        packed = SHAPE::PACKS && !pass.first;
        implicit = job.implicit && pass.first;
        two_arrays = SHAPE::VALUE_BYTES != 0 && !packed && !implicit;
        aligned = ((uintptr_t)pass.keys_in & 15) == 0 && (!two_arrays || ((uintptr_t)pass.values_in & 15) == 0);
    }
    __device__ __forceinline__ uint32_t valid(uint64_t first) const {
        return (uint32_t)(count - first < SHAPE::TILE ? count - first : SHAPE::TILE);
    }
    __device__ __forceinline__ const char *first_part(uint64_t first) const {
        return static_cast<const char *>(pass.keys_in) + first * (packed ? 8 : sizeof(typename SHAPE::key));
    }
    __device__ __forceinline__ const char *value_part(uint64_t first) const {
        return static_cast<const char *>(pass.values_in) + first * 4;
    }
    // Words of the keys of a tile, or of its pairs, and of values in an array of their own. How many of some words are
    // copied in bulk, by multiples of 16 bytes.
    __device__ __forceinline__ uint32_t words(uint64_t first) const {
        return valid(first) * (packed ? 2 : (uint32_t)sizeof(typename SHAPE::key) / 4);
    }
    __device__ __forceinline__ uint32_t value_words(uint64_t first) const {
        return sizeof(typename SHAPE::key) == 4 ? words(first) : valid(first);
    }
    __device__ __forceinline__ uint32_t bulk_of(uint32_t words) const { return aligned ? words & ~3u : 0; }
    __device__ __forceinline__ bool is_all_bulk(uint64_t first) const {
        return aligned && (words(first) & 3) == 0 && (!two_arrays || (value_words(first) & 3) == 0);
    }

    // One thread: the number of the next tile, and its items as far as they can be copied in bulk. Arrives on the
    // barrier.
    __device__ __forceinline__ void begin(uint32_t number, uint32_t place, void *items, uint64_t begin_of_portion,
                                          uint64_t *barrier) {
        const uint64_t first = begin_of_portion + number * (uint64_t)SHAPE::TILE;
        tile[place] = number;
        const uint32_t bytes = number < tiles ? 4 * bulk_of(words(first)) : 0;
        if (bytes == 0) {
            arrive(barrier);
            return;
        }
        const uint32_t value_bytes = two_arrays ? 4 * bulk_of(value_words(first)) : 0;
        expect_bytes(barrier, bytes + value_bytes);
        bulk_load(items, first_part(first), bytes, barrier);
        if (value_bytes != 0)
            bulk_load(static_cast<char *>(items) + SHAPE::KEY_BYTES, value_part(first), value_bytes, barrier);
    }
    // One thread: brings a tile to L2. Its copy to shared memory, once there is room for it, then takes less time.
    __device__ __forceinline__ void prefetch(uint32_t number, uint64_t begin_of_portion) const {
        const uint64_t first = begin_of_portion + number * (uint64_t)SHAPE::TILE;
        const uint32_t bytes = number < tiles ? 4 * bulk_of(words(first)) : 0;
        if (bytes == 0) return;
        bulk_prefetch(first_part(first), bytes);
        const uint32_t value_bytes = two_arrays ? 4 * bulk_of(value_words(first)) : 0;
        if (value_bytes != 0) bulk_prefetch(value_part(first), value_bytes);
    }
    // The rankers: the rest. Ends without a barrier.
    __device__ __forceinline__ void load_rest(typename SHAPE::key *items, uint64_t first, uint32_t ranker) const {
        load_words(reinterpret_cast<uint32_t *>(items), reinterpret_cast<const uint32_t *>(first_part(first)),
                   bulk_of(words(first)) + ranker, words(first));
        if (two_arrays)
            load_words(reinterpret_cast<uint32_t *>(items + SHAPE::TILE),
                       reinterpret_cast<const uint32_t *>(value_part(first)), bulk_of(value_words(first)) + ranker,
                       value_words(first));
    }
    static __device__ __forceinline__ void load_words(uint32_t *to, const uint32_t *from, uint32_t begin,
                                                      uint32_t end) {
        constexpr int BATCH = 8; // reads in flight
        from = global(from);
#pragma unroll 1
        for (uint32_t at = begin; at < end; at += BATCH * SHAPE::RANKERS) {
            uint32_t moved[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; ++i)
                if (at + i * SHAPE::RANKERS < end) moved[i] = from[at + i * SHAPE::RANKERS];
#pragma unroll
            for (int i = 0; i < BATCH; ++i)
                if (at + i * SHAPE::RANKERS < end) to[at + i * SHAPE::RANKERS] = moved[i];
        }
    }
};

// Ranks the items of a warp among those of the same digit in it, in the order (item, lane), and counts them. In
// `places`: the rank, and the digit from bit 16 on. All lanes add at once. Full tiles.
template <int KIND, typename SHAPE, int STRIDE>
__device__ __forceinline__ void rank_by_additions(const typename SHAPE::key *keys, uint32_t *counters,
                                                  uint32_t own_first, const psvi_key_order &order, digit_field field,
                                                  uint32_t one, uint32_t *places) {
#pragma unroll
    for (int done = 0; done < SHAPE::ITEMS; done += SHAPE::BATCH) {
        uint32_t digits[SHAPE::BATCH];
#pragma unroll
        for (int i = 0; i < SHAPE::BATCH; ++i)
            digits[i] = digit_of<KIND>(keys[(own_first + (done + i) * 32) * STRIDE], order, field);
#pragma unroll
        for (int i = 0; i < SHAPE::BATCH; ++i)
            places[done + i] = add_shared(counters + digits[i], one) | digits[i] << 16;
    }
}

// The same where one or two digits are so frequent that lanes would wait for each other. Lanes with the digit of the
// first lane add together, through one of them; so do, of the rest, those with the digit of their first lane.
template <int KIND, typename SHAPE>
__device__ __forceinline__ void rank_crowded(const typename SHAPE::key *keys, uint32_t stride, uint32_t *counters,
                                             uint32_t own_first, const psvi_key_order &order, digit_field field,
                                             uint32_t *places) {
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < SHAPE::ITEMS; ++i) {
        const uint32_t digit = digit_of<KIND>(keys[(own_first + i * 32) * stride], order, field);
        const uint32_t first =
            __ballot_sync(PSVI_RADIX_FULL_WARP, digit == __shfl_sync(PSVI_RADIX_FULL_WARP, digit, 0));
        const uint32_t other = __ffs(~first) - 1; // 31 where there is none: then its lanes are those of the first
        const uint32_t second =
            __ballot_sync(PSVI_RADIX_FULL_WARP, digit == __shfl_sync(PSVI_RADIX_FULL_WARP, digit, min(other, 31u)));
        uint32_t same = 1u << lane;
        if (first >> lane & 1)
            same = first;
        else if (second >> lane & 1)
            same = second;
        const uint32_t before = __popc(same & lanemask_lt()), adder = __ffs(same) - 1;
        uint32_t old = 0;
        if (before == 0) old = add_shared(counters + digit, __popc(same));
        places[i] = __shfl_sync(PSVI_RADIX_FULL_WARP, old, adder) + before | digit << 16;
    }
}

// Moves the places in the input to the places in the order. `counters` are where the warp's items of each digit begin.
// Full tiles.
template <typename SHAPE>
__device__ __forceinline__ void order_by_ranks(const uint32_t *places, const uint32_t *counters, uint16_t *order,
                                               uint32_t own_first) {
#pragma unroll
    for (int done = 0; done < SHAPE::ITEMS; done += SHAPE::BATCH) {
        uint32_t targets[SHAPE::BATCH];
#pragma unroll
        for (int i = 0; i < SHAPE::BATCH; ++i)
            targets[i] = counters[places[done + i] >> 16] + (places[done + i] & 0xffff);
#pragma unroll
        for (int i = 0; i < SHAPE::BATCH; ++i)
            order[targets[i]] = (uint16_t)(own_first + (done + i) * 32);
    }
}

// Only counts.
template <int KIND, typename SHAPE>
__device__ __forceinline__ void count_digits(const typename SHAPE::key *keys, uint32_t stride, uint32_t *counters,
                                             uint32_t own_first, uint32_t valid, const psvi_key_order &order,
                                             digit_field field) {
    const uint32_t end = min(own_first + SHAPE::WARP_ITEMS, valid);
#pragma unroll 1
    for (uint32_t at = own_first; at < end; at += 32)
        atomicAdd(counters + digit_of<KIND>(keys[at * stride], order, field), 1u);
}

// The same by votes, of any tile. The counters are used up.
template <int KIND, typename K>
__device__ __forceinline__ void order_by_votes(const K *keys, uint32_t stride, uint32_t *counters, uint16_t *order,
                                               uint32_t own_first, uint32_t items, uint32_t valid,
                                               const psvi_key_order &key_order, digit_field field) {
#pragma unroll 1
    for (uint32_t at = own_first; at < own_first + items; at += 32) {
        // What is past the end has a digit that no key has.
        const uint32_t digit =
            at < valid ? digit_of<KIND>(keys[at * stride], key_order, field) : (uint32_t)PSVI_RADIX_DIGITS;
        const uint32_t same = __match_any_sync(PSVI_RADIX_FULL_WARP, digit);
        const uint32_t place = at < valid ? counters[digit] + __popc(same & lanemask_lt()) : 0;
        __syncwarp();
        if (at < valid && (same & lanemask_gt()) == 0) counters[digit] = place + 1;
        __syncwarp();
        if (at < valid) order[place] = (uint16_t)at;
    }
}

// The same for a whole tile by one warp, from nothing but the keys.
template <int KIND, typename SHAPE>
__device__ __forceinline__ void order_exactly(const typename SHAPE::key *keys, uint32_t stride, uint32_t *counters,
                                              uint16_t *order, uint32_t valid, const psvi_key_order &key_order,
                                              digit_field field) {
    constexpr int EACH = PSVI_RADIX_DIGITS / 32;
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = 0; i < EACH; ++i)
        counters[lane * EACH + i] = 0;
    __syncwarp();
#pragma unroll 1
    for (uint32_t at = lane; at < valid; at += 32)
        atomicAdd(counters + digit_of<KIND>(keys[at * stride], key_order, field), 1u);
    __syncwarp();
    uint32_t sum = 0, place = 0;
#pragma unroll 1
    for (int i = 0; i < EACH; ++i)
        sum += counters[lane * EACH + i];
#pragma unroll 1
    for (uint32_t other = 0; other < 32; ++other) {
        const uint32_t others = __shfl_sync(PSVI_RADIX_FULL_WARP, sum, other);
        if (other < lane) place += others;
    }
#pragma unroll 1
    for (int i = 0; i < EACH; ++i) {
        const uint32_t number = counters[lane * EACH + i];
        counters[lane * EACH + i] = place;
        place += number;
    }
    __syncwarp();
    order_by_votes<KIND>(keys, stride, counters, order, lane, SHAPE::TILE, valid, key_order, field);
}

// Writes the tile in its order, each warp a share of the places. Calls `ahead` after the first writes. Returns whether
// (digit, place in the input) rises strictly, that is, whether the order was right.
template <int KIND, typename SHAPE, typename AHEAD>
__device__ __forceinline__ bool write_in_order(const async_work<SHAPE> &work, uint32_t writer,
                                               const typename SHAPE::key *tile, const uint16_t *order,
                                               const uint32_t *goal, uint32_t first, uint32_t valid,
                                               const psvi_key_order &key_order, digit_field field, AHEAD ahead) {
    using K = typename SHAPE::key;
    constexpr int BATCH = SHAPE::WRITE_BATCH;
    const uint32_t *tile_values = reinterpret_cast<const uint32_t *>(tile + SHAPE::TILE);
    const uint32_t lane = writer % 32, begin = writer / 32 * (32 * SHAPE::WRITE_ITEMS);
    const bool packed = work.packed, implicit = work.implicit, packing = SHAPE::PACKS && !work.pass.last;
    const uint32_t end = min(begin + 32 * SHAPE::WRITE_ITEMS, valid), stride = packed ? 2 : 1;
    K *keys_out = global(static_cast<K *>(work.pass.keys_out));
    uint32_t *values_out = global(static_cast<uint32_t *>(work.pass.values_out));
    int32_t left = -1; // of lane 0: digit and place in the input of the item before
    if (begin > 0 && begin < valid) {
        const uint32_t at = order[begin - 1];
        left = (int32_t)(digit_of<KIND>(tile[at * stride], key_order, field) << 16 | at);
    }
    bool rises = true;
#pragma unroll 1
    for (uint32_t place = begin + lane; place < end + lane; place += BATCH * 32) {
        if (SHAPE::LARGE_PAIRS && place == begin + lane + BATCH * 32) ahead();
        K keys[BATCH];
        uint32_t from[BATCH], values[BATCH], targets[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; ++i)
            from[i] = order[min(place + i * 32, valid - 1)];
        if (packed) {
#pragma unroll
            for (int i = 0; i < BATCH; ++i) {
                const uint2 item = reinterpret_cast<const uint2 *>(tile)[from[i]];
                keys[i] = item.x;
                values[i] = item.y;
            }
        } else {
#pragma unroll
            for (int i = 0; i < BATCH; ++i) {
                keys[i] = tile[from[i]];
                if (SHAPE::VALUE_BYTES != 0) values[i] = implicit ? first + from[i] : tile_values[from[i]];
            }
        }
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
            const uint32_t digit = digit_of<KIND>(keys[i], key_order, field);
            targets[i] = goal[digit] + place + i * 32;
            const int32_t own = (int32_t)(digit << 16 | from[i]);
            const int32_t turned = __shfl_sync(PSVI_RADIX_FULL_WARP, own, (lane + 31) % 32);
            if (place + i * 32 < valid && (lane == 0 ? left : turned) >= own) rises = false;
            left = turned;
        }
        if (packing) {
#pragma unroll
            for (int i = 0; i < BATCH; ++i)
                if (place + i * 32 < valid)
                    reinterpret_cast<uint2 *>(keys_out)[targets[i]] = make_uint2((uint32_t)keys[i], values[i]);
            continue;
        }
        if (keys_out != nullptr) {
#pragma unroll
            for (int i = 0; i < BATCH; ++i)
                if (place + i * 32 < valid) keys_out[targets[i]] = keys[i];
        }
        if (SHAPE::VALUE_BYTES != 0) {
#pragma unroll
            for (int i = 0; i < BATCH; ++i)
                if (place + i * 32 < valid) values_out[targets[i]] = values[i];
        }
    }
    return rises;
}

// What a block's threads share.
template <typename SHAPE> struct async_block {
    async_work<SHAPE> *work;
    uint64_t *loaded; // for each tile in shared memory: its number is there, and its items if copied in bulk
    unsigned char *shared;
    uint32_t *states;
    uint32_t *warp_sums;
    uint64_t begin_of_portion;
    digit_field field;

    __device__ __forceinline__ typename SHAPE::key *items(uint32_t place) const {
        return reinterpret_cast<typename SHAPE::key *>(shared + place * SHAPE::ITEM_BYTES);
    }
    __device__ __forceinline__ uint16_t *order(uint32_t place) const {
        return reinterpret_cast<uint16_t *>(shared + SHAPE::ORDER) + place * SHAPE::TILE;
    }
    __device__ __forceinline__ uint32_t *counters() const {
        return reinterpret_cast<uint32_t *>(shared + SHAPE::COUNTERS);
    }
    // For each digit: its first place in the tile, and in the other half its count. Afterwards: the place in the output
    // to which the item at place 0 of the tile would go, if it had that digit.
    __device__ __forceinline__ uint32_t *goal(uint32_t place) const {
        return reinterpret_cast<uint32_t *>(shared + SHAPE::GOAL) + place * PSVI_RADIX_DIGITS;
    }
    __device__ __forceinline__ uint64_t first(uint32_t tile) const {
        return begin_of_portion + tile * (uint64_t)SHAPE::TILE;
    }
};

constexpr bool ONE_ROUND = PSVI_RADIX_WHOLE_BARRIERS != 0; // of a task; else until there are no more tiles

// Ranks tiles and publishes their counts.
template <int KIND, typename SHAPE>
__device__ __forceinline__ void rank_tiles(const psvi_radix_job &job, const async_block<SHAPE> &block, uint32_t ranker,
                                           uint32_t begin = 0) {
    constexpr uint32_t DIGITS = PSVI_RADIX_DIGITS;
    // A warp's items lie one after the other, so that their order is (warp, item, lane).
    const uint32_t own_first = ranker / 32 * SHAPE::WARP_ITEMS + ranker % 32;
    uint32_t *own_counters = block.counters() + ranker / 32 * DIGITS;
    for (uint32_t round = begin;; ++round) {
        const uint32_t place = round % 2;
        wait_bytes(&block.loaded[place], round / 2 & 1);
        const uint32_t tile = block.work->tile[place];
        if (tile >= block.work->tiles) {
            barrier_arrive<SHAPE::RANKERS + SHAPE::LOOKERS>(BARRIER_COUNTED + place);
            return;
        }
        const uint64_t first = block.first(tile);
        typename SHAPE::key *items = block.items(place);
        if (!block.work->is_all_bulk(first)) {
            block.work->load_rest(items, first, ranker);
            barrier_wait<SHAPE::RANKERS>(BARRIER_RANKERS);
        }
#pragma unroll
        for (int i = 0; i < (int)DIGITS / (32 * 4); ++i)
            reinterpret_cast<uint4 *>(own_counters)[i * 32 + ranker % 32] = make_uint4(0, 0, 0, 0);
        __syncwarp();
        uint32_t places[SHAPE::ITEMS];
        const bool full = first + SHAPE::TILE <= block.work->count, packed = block.work->packed;
        const uint32_t turned_first = own_first ^ PSVI_RADIX_TURNED_LANES;
        bool crowd_here = false; // lanes would wait for each other: equal keys lie side by side
        if (SHAPE::LARGE_PAIRS && full) {
            const uint32_t digit = digit_of<KIND>(items[turned_first * (packed ? 2 : 1)], job.order, block.field);
            const uint32_t first_digit = __shfl_sync(PSVI_RADIX_FULL_WARP, digit, 0);
            crowd_here = __popc(__ballot_sync(PSVI_RADIX_FULL_WARP, digit == first_digit)) > 24;
        }
        if (!full)
            count_digits<KIND, SHAPE>(items, packed ? 2 : 1, own_counters, own_first, block.work->valid(first),
                                      job.order, block.field);
        else if (SHAPE::LARGE_PAIRS && (block.work->pass.crowded || crowd_here))
            rank_crowded<KIND, SHAPE>(items, packed ? 2 : 1, own_counters, turned_first, job.order, block.field,
                                      places);
        else if (packed)
            rank_by_additions<KIND, SHAPE, 2>(items, own_counters, turned_first, job.order, block.field, 1 + job.zero,
                                              places);
        else
            rank_by_additions<KIND, SHAPE, 1>(items, own_counters, turned_first, job.order, block.field, 1 + job.zero,
                                              places);
        barrier_wait<SHAPE::RANKERS>(BARRIER_RANKERS);

        volatile uint32_t *counts = block.counters() + ranker;
        uint32_t own_count = 0, sum = 0;
        if (ranker < DIGITS) {
#pragma unroll 4
            for (int w = 0; w < SHAPE::WARPS; ++w)
                own_count += counts[w * DIGITS];
            store_word(block.states + tile * (uint64_t)DIGITS + ranker,
                       own_count | (tile == 0 ? STATE_UP_TO : STATE_TILE));
            sum = own_count;
#pragma unroll
            for (int distance = 1; distance < 32; distance *= 2) { // psvd_sum_up_to() spills a register here
                const uint32_t below = __shfl_up_sync(PSVI_RADIX_FULL_WARP, sum, distance);
                if ((int)(ranker % 32) >= distance) sum += below;
            }
            if (ranker % 32 == 31) block.warp_sums[ranker / 32] = sum;
        }
        barrier_wait<SHAPE::RANKERS>(BARRIER_RANKERS);
        if (ranker < DIGITS) {
            uint32_t start = sum - own_count;
#pragma unroll
            for (int before = 0; before < (int)DIGITS / 32 - 1; ++before)
                if (before < (int)ranker / 32) start += block.warp_sums[before];
            block.goal(place)[ranker] = start | own_count << 16;
#pragma unroll
            for (int w = 0; w < SHAPE::WARPS; w += 4) {
                uint32_t moved[4];
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    moved[i] = counts[(w + i) * DIGITS];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    counts[(w + i) * DIGITS] = start;
                    start += moved[i];
                }
            }
        }
        barrier_wait<SHAPE::RANKERS>(BARRIER_RANKERS);
        barrier_arrive<SHAPE::RANKERS + SHAPE::LOOKERS>(BARRIER_COUNTED + place);
        if (full)
            order_by_ranks<SHAPE>(places, own_counters, block.order(place), turned_first);
        else
            order_by_votes<KIND>(items, packed ? 2 : 1, own_counters, block.order(place), own_first, SHAPE::WARP_ITEMS,
                                 block.work->valid(first), job.order, block.field);
        barrier_arrive<SHAPE::THREADS>(BARRIER_ORDERED + place);
        if (ONE_ROUND) return;
    }
}

// look_back() for two digits that lie together.
template <int WIDTH> __device__ __forceinline__ uint2 look_back_for_two(const uint32_t *states, uint32_t tile) {
    uint32_t low = 0, high = 0;
    bool low_done = false, high_done = false;
    for (uint32_t row = tile; !low_done || !high_done;) {
        uint2 words[WIDTH];
#pragma unroll
        for (int i = 0; i < WIDTH; ++i)
            words[i] = row > i ? load_two_states(states + (row - 1 - i) * PSVI_RADIX_DIGITS)
                               : make_uint2(STATE_UP_TO, STATE_UP_TO);
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            const bool low_there = low_done || (words[i].x & ~STATE_COUNT) != 0;
            const bool high_there = high_done || (words[i].y & ~STATE_COUNT) != 0;
            if (!low_there || !high_there) break;
            if (!low_done) low += words[i].x & STATE_COUNT;
            if (!high_done) high += words[i].y & STATE_COUNT;
            low_done |= (words[i].x & STATE_UP_TO) != 0;
            high_done |= (words[i].y & STATE_UP_TO) != 0;
            --row;
        }
    }
    return make_uint2(low, high);
}

// Finds out where the digits of tiles go.
template <typename SHAPE>
__device__ __forceinline__ void look_back_for_tiles(const async_block<SHAPE> &block, uint32_t *bases, uint32_t looker,
                                                    uint32_t begin = 0) {
    constexpr int EACH = SHAPE::LOOKER_DIGITS;
    static_assert(EACH == 1 || EACH == 2, "digits of a thread");
    const uint32_t digit = looker * EACH;
    uint32_t base[EACH];
#pragma unroll
    for (int d = 0; d < EACH; ++d)
        base[d] = bases[digit + d];
    for (uint32_t round = begin;; ++round) {
        const uint32_t place = round % 2;
        barrier_wait<SHAPE::RANKERS + SHAPE::LOOKERS>(BARRIER_COUNTED + place);
        const uint32_t tile = block.work->tile[place];
        if (tile >= block.work->tiles) return;
        uint32_t *goal = block.goal(place) + digit, *states = block.states + digit;
        uint32_t before[2] = {0, 0}, up_to[EACH];
        if (tile != 0) {
            if constexpr (EACH == 1) {
                before[0] = look_back<SHAPE::LOOK>(states, tile);
            } else {
                const uint2 both = look_back_for_two<SHAPE::LOOK>(states, tile);
                before[0] = both.x, before[1] = both.y;
            }
        }
#pragma unroll
        for (int d = 0; d < EACH; ++d) {
            const uint32_t known = goal[d];
            up_to[d] = before[d] + (known >> 16);
            if (tile != 0) store_word(states + tile * (uint64_t)PSVI_RADIX_DIGITS + d, up_to[d] | STATE_UP_TO);
            goal[d] = base[d] + before[d] - (known & 0xffff);
        }
        barrier_arrive<SHAPE::THREADS>(BARRIER_ORDERED + place);
#pragma unroll
        for (int d = 0; d < EACH; ++d) // where the next portion goes on
            if (tile == block.work->tiles - 1) bases[PSVI_RADIX_DIGITS + digit + d] = base[d] + up_to[d];
        if (ONE_ROUND) return;
    }
}

// Writes tiles, and begins to load the tile after the next. Never waits for another task's work on later tiles.
template <int KIND, typename SHAPE>
__device__ __forceinline__ void write_tiles(const psvi_radix_job &job, const async_block<SHAPE> &block,
                                            uint32_t *tile_counter, uint32_t writer, uint32_t begin = 0) {
    for (uint32_t round = begin;; ++round) {
        const uint32_t place = round % 2;
        if (round == 0 && writer == 0) { // only now: the blocks' first tiles shall be the first of all
            wait_bytes(&block.loaded[0], 0);
            block.work->begin(atomicAdd(tile_counter, 1u), 1, block.items(1), block.begin_of_portion, &block.loaded[1]);
        }
        const uint32_t tile = block.work->tile[place];
        if (tile >= block.work->tiles) return;
        uint32_t upcoming = 0;
        barrier_wait<SHAPE::THREADS>(BARRIER_ORDERED + place);
        if (writer == 0) upcoming = atomicAdd(tile_counter, 1u);
        const uint64_t first = block.first(tile);
        for (bool again = false;; again = true) {
            const bool rises = write_in_order<KIND, SHAPE>(
                *block.work, writer, block.items(place), block.order(place), block.goal(place), (uint32_t)first,
                block.work->valid(first), job.order, block.field, [&] {
                    if (writer == 0) block.work->prefetch(upcoming, block.begin_of_portion);
                });
            if (barrier_and<SHAPE::WRITERS>(BARRIER_WRITERS, rises || again)) break;
            __shared__ uint32_t counters[PSVI_RADIX_DIGITS];
            if (writer < 32)
                order_exactly<KIND, SHAPE>(block.items(place), block.work->packed ? 2 : 1, counters, block.order(place),
                                           block.work->valid(first), job.order, block.field);
            barrier_wait<SHAPE::WRITERS>(BARRIER_WRITERS);
        }
        if (writer == 0)
            block.work->begin(upcoming, place, block.items(place), block.begin_of_portion, &block.loaded[place]);
        if (ONE_ROUND) return;
    }
}

#if PSVI_RADIX_WHOLE_BARRIERS
// The three tasks one after the other, tile by tile. Threads of other tasks come to the same barriers.
template <int KIND, typename SHAPE>
__device__ __forceinline__ void run_in_turn(const psvi_radix_job &job, const async_block<SHAPE> &block,
                                            uint32_t *tile_counter, uint32_t *bases) {
    const bool writes = threadIdx.x < SHAPE::WRITERS, ranks = !writes && threadIdx.x < SHAPE::WRITERS + SHAPE::RANKERS;
    for (uint32_t round = 0;; ++round) {
        __syncthreads();
        const uint32_t tile = block.work->tile[round % 2];
        if (tile >= block.work->tiles) return;
        const uint64_t first = block.first(tile);
        if (ranks)
            rank_tiles<KIND, SHAPE>(job, block, threadIdx.x - SHAPE::WRITERS, round);
        else
            for (int i = block.work->is_all_bulk(first) ? 3 : 4; i > 0; --i)
                __syncthreads();
        __syncthreads();
        if (!writes && !ranks)
            look_back_for_tiles<SHAPE>(block, bases, threadIdx.x - SHAPE::WRITERS - SHAPE::RANKERS, round);
        __syncthreads();
        if (writes)
            write_tiles<KIND, SHAPE>(job, block, tile_counter, threadIdx.x, round);
        else
            while (!barrier_and<SHAPE::THREADS>(BARRIER_WRITERS, true))
                __syncthreads();
    }
}
#endif

// One digit pass over one portion, as psvk_radix_pass: same plan and states.
#if __CUDA_ARCH__ >= 900
template <int KIND, typename SHAPE>
__device__ __forceinline__ void run_async_pass(const psvi_radix_job &job, uint32_t slot, uint32_t portion,
                                               uint32_t portions, uint32_t state_rows) {
    constexpr uint32_t DIGITS = PSVI_RADIX_DIGITS;
    using range = portion_range<SHAPE::TILE>;
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ uint32_t warp_sums[DIGITS / 32];
    __shared__ uint64_t loaded[2];
    __shared__ async_work<SHAPE> work;

    let_next_kernel_come();
    wait_for_kernel_before();
    uint32_t *tile_counter = &job.control->passes.tile_counter[slot][portion];
    const uint64_t begin_of_portion = portion * range::ITEMS;
    if (threadIdx.x == 0) {
        const uint32_t number = atomicAdd(tile_counter, 1u); // on its way while the plan is read
        work.set(job, slot, portion);
        init_arrivals(loaded);
        if (work.pass.active && !only_copies(work.pass)) work.begin(number, 0, shared, begin_of_portion, &loaded[0]);
    }
    __syncthreads();
    if (!work.pass.active) {
        if constexpr (sizeof(typename SHAPE::key) == 4)
            if (slot == 0 && portion == 0 && job.control->windows.state == PSVI_RADIX_NEARLY_DONE)
                bring_back<SHAPE::VALUE_BYTES>(job, job_count(job));
        return;
    }
    if (only_copies(work.pass)) {
        if (portion == 0) copy_request<typename SHAPE::key, uint32_t>(job, work.pass, work.count);
        return;
    }
    const uint32_t launch = work.pass.number * portions + portion;
    uint32_t *other_states = job.states + (~launch & 1) * (uint64_t)state_rows * DIGITS;
    for (uint64_t i = blockIdx.x * (uint64_t)SHAPE::THREADS + threadIdx.x;
         i < (uint64_t)range::tiles(work.count, 0) * DIGITS; i += (uint64_t)gridDim.x * SHAPE::THREADS)
        other_states[i] = 0;
    const async_block<SHAPE> block = {&work,
                                      loaded,
                                      shared,
                                      job.states + (launch & 1) * (uint64_t)state_rows * DIGITS,
                                      warp_sums,
                                      begin_of_portion,
                                      work.pass.copy ? digit_field{0, 0} : field_of_slot(job.order, slot)};
#if PSVI_RADIX_WHOLE_BARRIERS
    run_in_turn<KIND, SHAPE>(job, block, tile_counter, job.control->passes.bases[slot][portion]);
#else
    if (threadIdx.x < SHAPE::WRITERS)
        write_tiles<KIND, SHAPE>(job, block, tile_counter, threadIdx.x);
    else if (threadIdx.x < SHAPE::WRITERS + SHAPE::RANKERS)
        rank_tiles<KIND, SHAPE>(job, block, threadIdx.x - SHAPE::WRITERS);
    else
        look_back_for_tiles<SHAPE>(block, job.control->passes.bases[slot][portion],
                                   threadIdx.x - SHAPE::WRITERS - SHAPE::RANKERS);
#endif
}
#endif

template <int KIND, typename SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, 1)
    psvk_radix_async_pass(psvi_radix_job job, uint32_t slot, uint32_t portion, uint32_t portions, uint32_t state_rows) {
#if __CUDA_ARCH__ >= 900
    if constexpr (code_holds<KIND>(PSVI_RADIX_CHUNK_KB * 1024))
        run_async_pass<KIND, SHAPE>(job, slot, portion, portions, state_rows);
#endif
}

template <int VALUE_BYTES, bool LARGE> struct async_choice {
    using shape = async_shape<uint32_t, VALUE_BYTES, PSVI_RADIX_ASYNC_RANKERS(VALUE_BYTES),
                              PSVI_RADIX_ASYNC_ITEMS(LARGE), PSVI_RADIX_ASYNC_WRITERS(VALUE_BYTES, LARGE),
                              PSVI_RADIX_ASYNC_LOOKERS(VALUE_BYTES, LARGE), PSVI_RADIX_LOOK_WIDTH>;
    static_assert(shape::BYTES + 2048 <= PSVI_RADIX_CHUNK_KB * 1024, "with what the kernel declares itself");
};

// Of 64-bit keys.
template <int VALUE_BYTES>
using async_wide =
    async_shape<uint64_t, VALUE_BYTES, 384, PSVI_RADIX_ASYNC_WIDE_ITEMS(VALUE_BYTES), 384, 256, PSVI_RADIX_LOOK_WIDTH>;
static_assert(async_wide<0>::BYTES + 2048 <= PSVI_RADIX_CHUNK_KB * 1024 &&
                  async_wide<4>::BYTES + 2048 <= PSVI_RADIX_CHUNK_KB * 1024,
              "with what the kernel declares itself");

} // namespace

#endif
