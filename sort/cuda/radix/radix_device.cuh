// Device code shared by the kernels of the `radix` method: digits of keys, and ranks of items in a block.
#ifndef PAIRSIEVE_RADIX_DEVICE_CUH
#define PAIRSIEVE_RADIX_DEVICE_CUH

#include "../../../core/cuda/warp_reduce.cuh"
#include "radix_launch.h"

#define PSVI_RADIX_FULL_WARP 0xffffffffu

// What the kernels are compiled for. Signed and descending integers differ from u32 and u64 by one xor. All 64-bit keys
// are one kind: to ask each key whether it is a float costs less than a second set of kernels.
enum { PSVI_RADIX_INT32 = 0, PSVI_RADIX_FLOAT32 = 1, PSVI_RADIX_WIDE = 2 };

template <int KIND> struct radix_key { using type = uint32_t; };
template <> struct radix_key<PSVI_RADIX_WIDE> { using type = uint64_t; };

template <int BYTES> struct radix_value { using type = uint32_t; };
template <> struct radix_value<8> { using type = uint64_t; };

// A number that a function template takes from an argument: decltype(argument)::value.
template <int VALUE> struct constant { static constexpr int value = VALUE; };

// The three below call `launch` with a constant<>: the kind of a 32-bit key, the kind of any key, the bytes of a value.
template <typename F> cudaError_t with_narrow_kind(const psvi_radix_job *job, F launch) {
    return job->order.is_float ? launch(constant<PSVI_RADIX_FLOAT32>()) : launch(constant<PSVI_RADIX_INT32>());
}

template <typename F> cudaError_t with_kind(const psvi_radix_job *job, F launch) {
    return job->order.is_wide ? launch(constant<PSVI_RADIX_WIDE>()) : with_narrow_kind(job, launch);
}

template <typename F> cudaError_t with_values(const psvi_radix_job *job, F launch) {
    if (job->value_bytes == 0) return launch(constant<0>());
    return job->value_bytes == 4 ? launch(constant<4>()) : launch(constant<8>());
}

// Launches for the types of the job: launch(kind, bytes of a value).
template <typename F> cudaError_t with_types(const psvi_radix_job *job, F launch) {
    return with_kind(job, [&](auto kind) { return with_values(job, [&](auto bytes) { return launch(kind, bytes); }); });
}

// The order-preserving unsigned form of a raw key.
template <int KIND>
__device__ __forceinline__ typename radix_key<KIND>::type transform(typename radix_key<KIND>::type raw,
                                                                    const psvi_key_order &order) {
    if constexpr (KIND == PSVI_RADIX_INT32) return raw ^ (uint32_t)order.flip;
    if constexpr (KIND == PSVI_RADIX_FLOAT32) return psvi_transform_f32(raw, (uint32_t)order.flip, order.nan_last);
    if constexpr (KIND == PSVI_RADIX_WIDE) return psvi_transform_u64(raw, order);
}

// Keeps the compiler from holding what it has computed from a key in registers: a digit is cheap to compute again.
// `zero` is 0, but the compiler must not know that.
__device__ __forceinline__ void forget(uint32_t &key, uint32_t zero) { key ^= zero; }
__device__ __forceinline__ void forget(uint64_t &key, uint32_t zero) { key ^= zero; }

// Which bits a pass sorts by. The last digit may be narrower; a slot past the last has no bits at all.
struct digit_field {
    uint32_t shift, mask;
};

__device__ __forceinline__ digit_field field_of_slot(const psvi_key_order &order, uint32_t slot) {
    uint32_t shift = order.begin_bit + slot * PSVI_RADIX_BITS;
    if (shift >= order.end_bit) return {0, 0};
    uint32_t width = min(order.end_bit - shift, (uint32_t)PSVI_RADIX_BITS);
    return {shift, (1u << width) - 1};
}

template <int KIND>
__device__ __forceinline__ uint32_t digit_of(typename radix_key<KIND>::type raw, const psvi_key_order &order,
                                             digit_field field) {
    return (uint32_t)(transform<KIND>(raw, order) >> field.shift) & field.mask;
}

// For pointers that were read from memory: tells the compiler that they are global, so that it makes no generic access.
template <typename T> __device__ __forceinline__ T *global(T *address) {
    __builtin_assume(__isGlobal(address));
    return address;
}

// For kernels launched so that they may come to the device while the one before them still runs (compute capability 9.0
// or more; no effect on others).
__device__ __forceinline__ void let_next_kernel_come() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Called by one thread of the grid. Tells the host how the input was ordered, unless the host knows that already.
__device__ __forceinline__ void tell_order(const psvi_radix_job &job, uint32_t seen) {
    if (job.order_seen != nullptr && job.order_known != seen) *(volatile uint32_t *)job.order_seen = seen;
}

// Why no faster route has sorted. An earlier kernel of this call has left the reason; without one it is the host's.
__device__ __forceinline__ uint32_t veto_of(const psvi_radix_job &job) {
    return job.before != 0 ? job.control->veto : job.veto;
}

// One thread of the grid: what psv_read_sort_statistics is to tell of this call.
__device__ __forceinline__ void tell_outcome(const psvi_radix_job &job, uint32_t route, uint32_t veto,
                                             uint32_t passes) {
    const uint32_t digits = (job.order.end_bit - job.order.begin_bit + PSVI_RADIX_BITS - 1) / PSVI_RADIX_BITS;
    job.control->outcome = {passes, digits > passes ? digits - passes : 0, route, veto};
}

// Whether a kernel before this one has sorted.
__device__ __forceinline__ bool is_done(const psvi_radix_job &job) {
    return job.before != 0 && __ldcg(&job.control->done) != 0;
}

// What the code of this architecture has, see radix_tuning.h.
#if defined(__CUDA_ARCH__)
constexpr psvi_radix_policy CODE_POLICY = psvi_radix_policy_of(__CUDA_ARCH__ / 10);
#else
constexpr psvi_radix_policy CODE_POLICY = psvi_radix_policy_of(~0u);
#endif

// Whether a block can have so much shared memory on some device of the code's architecture. Kernels for which no device
// has enough are compiled empty. (The template parameter KIND is there so that their bodies are not compiled at all.)
template <int KIND> __device__ constexpr bool code_holds(uint32_t shared_bytes) {
    return KIND >= 0 && shared_bytes <= CODE_POLICY.shared_kb * 1024;
}

__device__ __forceinline__ uint64_t job_count(const psvi_radix_job &job) {
    if (job.count_device == nullptr) return job.count;
    uint64_t count = *job.count_device;
    return count < job.count ? count : job.count;
}

__device__ __forceinline__ uint32_t lanemask_lt() {
    uint32_t mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

__device__ __forceinline__ uint32_t lanemask_gt() {
    uint32_t mask;
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(mask));
    return mask;
}

// Counters of a block, [warp][digit], 16 bits each. At first they count a warp's items. Once place_digits has run they
// hold the place in the block of the warp's first item of that digit.
typedef uint16_t radix_counter;

// What a warp ranks with: its counters, and two tables of [digit], one word of lanes each, where the lanes of a warp
// find those with the same digit. The tables are zero between uses and may lie in memory that later holds the tile.
// (A vote for each bit of the digit takes longer, although it does without the tables: see
// experiments/log-radix-h200.md.)
struct warp_ranker {
    uint32_t *lanes[2];
    radix_counter *counters;
    uint32_t below, above; // lanes
};

constexpr uint32_t RANK_TABLE_BYTES = 2 * PSVI_RADIX_DIGITS * sizeof(uint32_t); // of one warp

__device__ __forceinline__ warp_ranker make_ranker(void *tables, radix_counter *counters) {
    uint32_t warp = threadIdx.x / 32;
    uint32_t *own = reinterpret_cast<uint32_t *>(tables) + warp * 2 * PSVI_RADIX_DIGITS;
    return {{own, own + PSVI_RADIX_DIGITS}, counters + warp * PSVI_RADIX_DIGITS, lanemask_lt(), lanemask_gt()};
}

__device__ __forceinline__ void clear_counters(const warp_ranker &ranker) {
    static_assert(PSVI_RADIX_DIGITS * sizeof(radix_counter) == 32 * sizeof(uint4),
                  "one store clears a warp's counters");
    reinterpret_cast<uint4 *>(ranker.counters)[threadIdx.x & 31] = make_uint4(0, 0, 0, 0);
}

__device__ __forceinline__ void clear_tables(const warp_ranker &ranker) {
#pragma unroll
    for (int i = 0; i < (int)RANK_TABLE_BYTES / (32 * 16); ++i)
        reinterpret_cast<uint4 *>(ranker.lanes[0])[i * 32 + (threadIdx.x & 31)] = make_uint4(0, 0, 0, 0);
}

// Ranks ITEMS items a lane, stably in the order (item, lane), among the items of the same digit in the warp, and counts
// them. digit_at(i) gives the digits; two ranks share a word of `ranks`. The highest lane of each digit writes the
// counter, so no leader has to be found and nothing has to be shuffled. Two items at a time, to overlap their waits.
// Lanes that write one word wait for each other: where equal digits lie side by side, items are first asked whether all
// their lanes agree.
template <int ITEMS, typename DIGIT>
__device__ __forceinline__ void rank_in_warp(const warp_ranker &ranker, DIGIT digit_at, uint32_t *ranks) {
    static_assert(ITEMS % 2 == 0, "items are ranked in twos");
    volatile uint32_t *lanes0 = ranker.lanes[0], *lanes1 = ranker.lanes[1];
    volatile radix_counter *counters = ranker.counters;
    const uint32_t own_bit = ranker.below + 1;
    auto all_agree = [](uint32_t digit) {
        return __all_sync(PSVI_RADIX_FULL_WARP, digit == __shfl_sync(PSVI_RADIX_FULL_WARP, digit, 0));
    };
    const bool crowded = all_agree(digit_at(0)) || all_agree(digit_at(ITEMS - 1));
#pragma unroll
    for (int i = 0; i < ITEMS; i += 2) {
        const uint32_t digit0 = digit_at(i), digit1 = digit_at(i + 1);
        const bool agree = crowded && all_agree(digit0) && all_agree(digit1);
        if (!agree) {
            atomicOr(ranker.lanes[0] + digit0, own_bit);
            atomicOr(ranker.lanes[1] + digit1, own_bit);
        }
        __syncwarp();
        const uint32_t same0 = agree ? PSVI_RADIX_FULL_WARP : lanes0[digit0];
        const uint32_t same1 = agree ? PSVI_RADIX_FULL_WARP : lanes1[digit1];
        const uint32_t rank0 = counters[digit0] + __popc(same0 & ranker.below);
        __syncwarp();
        if ((same0 & ranker.above) == 0) {
            counters[digit0] = (radix_counter)(rank0 + 1);
            lanes0[digit0] = 0;
        }
        if ((same1 & ranker.above) == 0) lanes1[digit1] = 0;
        __syncwarp();
        const uint32_t rank1 = counters[digit1] + __popc(same1 & ranker.below);
        __syncwarp();
        if ((same1 & ranker.above) == 0) counters[digit1] = (radix_counter)(rank1 + 1);
        ranks[i / 2] = rank0 | rank1 << 16;
    }
}

// Items that a thread moves at once: reads of shared memory wait for earlier writes, so all reads come first.
constexpr int move_batch(int items) { return items % 8 == 0 ? 8 : items % 4 == 0 ? 4 : 2; }

// The place in the block of item i, once place_digits has run.
__device__ __forceinline__ uint32_t place_in_block(const warp_ranker &ranker, const uint32_t *ranks, int i,
                                                   uint32_t digit) {
    return ranker.counters[digit] + (i % 2 != 0 ? ranks[i / 2] >> 16 : ranks[i / 2] & 0xffff);
}

// Calls put(place, i) for all items, once place_digits has run.
template <int ITEMS, typename DIGIT, typename PUT>
__device__ __forceinline__ void put_in_places(const warp_ranker &ranker, const uint32_t *ranks, DIGIT digit_at,
                                              PUT put) {
    constexpr int MOVE = move_batch(ITEMS);
#pragma unroll
    for (int at = 0; at < ITEMS; at += MOVE) {
        uint32_t places[MOVE];
#pragma unroll
        for (int i = 0; i < MOVE; ++i)
            places[i] = place_in_block(ranker, ranks, at + i, digit_at(at + i));
#pragma unroll
        for (int i = 0; i < MOVE; ++i)
            put(places[i], at + i);
    }
}

// Exclusive sum over the 256 digits of a block, two digits (packed in 16 bits) for each of the first 128 threads.
// `sums` holds 4 words. Every thread of the block has to call it.
__device__ __forceinline__ uint32_t scan_digit_pairs(uint32_t pair, uint32_t *sums) {
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t both = (pair & 0xffff) + (pair >> 16), sum = both;
    if (warp < 4) {
        sum = psvd_sum_up_to(both);
        if (lane == 31) sums[warp] = sum;
    }
    __syncthreads();
    uint32_t start = sum - both;
#pragma unroll
    for (int before = 0; before < 3; ++before)
        if (before < (int)warp) start += sums[before];
    return start | (start + (pair & 0xffff)) << 16; // the second digit begins after the first
}

// Turns the counts of all warps into places in the block: digit by digit, in a digit warp by warp. Returns, to the
// first 128 threads, the block's count of digits 2t (low half) and 2t + 1, and where they start. Every thread of the
// block has to call it; ends without a barrier.
template <int WARPS>
__device__ __forceinline__ uint32_t place_digits(radix_counter *counters, uint32_t *sums, uint32_t &start) {
    volatile uint32_t *words = reinterpret_cast<uint32_t *>(counters) + threadIdx.x;
    uint32_t total = 0;
    if (threadIdx.x < PSVI_RADIX_DIGITS / 2) {
#pragma unroll 8
        for (int warp = 0; warp < WARPS; ++warp)
            total += words[warp * (PSVI_RADIX_DIGITS / 2)];
    }
    start = scan_digit_pairs(total, sums);
    if (threadIdx.x < PSVI_RADIX_DIGITS / 2) {
        uint32_t place = start;
        for (int first = 0; first < WARPS; first += 8) { // read again: registers are scarce where this is called
            uint32_t counts[8];
#pragma unroll
            for (int i = 0; i < 8; ++i)
                counts[i] = words[(first + i) * (PSVI_RADIX_DIGITS / 2)];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                words[(first + i) * (PSVI_RADIX_DIGITS / 2)] = place;
                place += counts[i];
            }
        }
    }
    return total;
}

// Before a digit is ranked: the warp's counters and tables, and the block's sums of the digit's counts.
__device__ __forceinline__ void clear_for_digit(const warp_ranker &ranker, uint32_t *before, uint32_t *total) {
    clear_counters(ranker);
    clear_tables(ranker);
    if (threadIdx.x < PSVI_RADIX_DIGITS) before[threadIdx.x] = total[threadIdx.x] = 0;
    __syncwarp();
}

// The slots whose digits are not the same in all keys. `different`: the bits in which some keys differ.
__device__ __forceinline__ uint32_t slots_that_differ(const psvi_radix_job &job, const uint32_t *different) {
    const uint64_t bits = (uint64_t)different[1] << 32 | different[0];
    uint32_t slots = 0;
    for (uint32_t slot = 0; slot < job.slots; ++slot) {
        const digit_field field = field_of_slot(job.order, slot);
        if (((uint32_t)(bits >> field.shift) & field.mask) != 0) slots |= 1u << slot;
    }
    return slots;
}

// Where a block's items go. In, by digit: `total`, the count in all blocks; `before`, that in blocks before this one;
// `starts`, its first place in the tile, two to a word. Out: `before` plus an item's place in the tile is its place in
// the output. `sums`: 8 words. All threads call it; ends with a barrier.
__device__ __forceinline__ void find_goals(const uint32_t *total, const uint32_t *starts, uint32_t *sums,
                                           uint32_t *before) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t own = 0, sum = 0;
    if (threadIdx.x < PSVI_RADIX_DIGITS) {
        own = total[threadIdx.x];
        sum = psvd_sum_up_to(own);
        if (lane == 31) sums[warp] = sum;
    }
    __syncthreads();
    if (threadIdx.x < PSVI_RADIX_DIGITS) {
        uint32_t base = sum - own;
        for (uint32_t w = 0; w < warp; ++w)
            base += sums[w];
        const uint32_t pair = starts[threadIdx.x / 2];
        before[threadIdx.x] += base - (threadIdx.x % 2 != 0 ? pair >> 16 : pair & 0xffff);
    }
    __syncthreads();
}

// Copies items that need no sorting from registers to the output. The block's items begin at place `begin`, `valid` of
// them exist, and a thread's lie 32 places apart, the first at `own`.
template <int VALUE_BYTES, int ITEMS, typename K, typename V>
__device__ __forceinline__ void copy_held(const psvi_radix_job &job, const K (&keys)[ITEMS], const V (&values)[ITEMS],
                                          uint64_t begin, uint32_t own, uint32_t valid) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t at = own + i * 32;
        if (at >= valid) break;
        if (job.keys_out != nullptr && job.keys_out != job.keys_in)
            static_cast<K *>(job.keys_out)[begin + at] = keys[i];
        if constexpr (VALUE_BYTES != 0)
            if (job.values_out != job.values_in) static_cast<V *>(job.values_out)[begin + at] = values[i];
    }
}

// Exclusive sum over the block of one number per thread. Ends without a barrier after the last read of `sums`, which
// holds a word for each warp.
__device__ __forceinline__ uint32_t block_scan(uint32_t own, uint32_t *sums) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, sum = psvd_sum_up_to(own);
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    return sum - own + psvd_reduce_add(lane < warp ? sums[lane] : 0);
}

// Counts of eight bins, two to a word, to their first places, of which the first is `start`.
__device__ __forceinline__ uint4 first_places(const uint32_t (&counts)[4], uint32_t start) {
    uint32_t starts[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        starts[i] = start | (start + (counts[i] & 0xffff)) << 16;
        start += (counts[i] & 0xffff) + (counts[i] >> 16);
    }
    return make_uint4(starts[0], starts[1], starts[2], starts[3]);
}

// Words that blocks exchange while they run. Each says by its bits whether it was written: no fence.
__device__ __forceinline__ uint32_t load_word(const uint32_t *word) {
    uint32_t value;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ uint64_t load_word(const uint64_t *word) {
    uint64_t value;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ void store_word(uint32_t *word, uint32_t value) {
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ __forceinline__ void store_word(uint64_t *word, uint64_t value) {
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

#endif
