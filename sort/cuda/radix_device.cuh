// Device code shared by the kernels of the `radix` method: digits of keys, and ranks of items in a block.
#ifndef PAIRSIEVE_RADIX_DEVICE_CUH
#define PAIRSIEVE_RADIX_DEVICE_CUH

#include "radix.h"

#define PSVI_RADIX_FULL_WARP 0xffffffffu

// Kinds of keys: what the kernels are compiled for. Signed and descending integers are one xor away from u32 and u64.
enum { PSVI_RADIX_INT32 = 0, PSVI_RADIX_FLOAT32 = 1, PSVI_RADIX_INT64 = 2, PSVI_RADIX_FLOAT64 = 3 };

template <int KIND> struct radix_key { using type = uint32_t; };
template <> struct radix_key<PSVI_RADIX_INT64> { using type = uint64_t; };
template <> struct radix_key<PSVI_RADIX_FLOAT64> { using type = uint64_t; };

template <int BYTES> struct radix_value { using type = uint32_t; };
template <> struct radix_value<8> { using type = uint64_t; };

// The order-preserving unsigned form of a raw key.
template <int KIND>
__device__ __forceinline__ typename radix_key<KIND>::type transform(typename radix_key<KIND>::type raw,
                                                                    const psvi_key_order &order) {
    if constexpr (KIND == PSVI_RADIX_INT32) return raw ^ (uint32_t)order.flip;
    if constexpr (KIND == PSVI_RADIX_FLOAT32) return psvi_transform_f32(raw, (uint32_t)order.flip, order.nan_last);
    if constexpr (KIND == PSVI_RADIX_INT64) return raw ^ order.flip;
    if constexpr (KIND == PSVI_RADIX_FLOAT64) return psvi_transform_f64(raw, order.flip, order.nan_last);
}

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

// Lanes of the warp with the same digit: one vote for each bit.
__device__ __forceinline__ uint32_t match_digit(uint32_t digit) {
    uint32_t same = PSVI_RADIX_FULL_WARP;
#pragma unroll
    for (int bit = 0; bit < PSVI_RADIX_BITS; ++bit) {
        bool one = (digit >> bit) & 1;
        uint32_t ones = __ballot_sync(PSVI_RADIX_FULL_WARP, one);
        same &= one ? ones : ~ones;
    }
    return same;
}

// Counters of a block: [warp][digit], 16 bits each. First the counts of a warp; after block_offsets the place in the
// block of the warp's first item of the digit.
typedef uint16_t radix_counter;

__device__ __forceinline__ void clear_counters(radix_counter *warp_counters) {
    static_assert(PSVI_RADIX_DIGITS * sizeof(radix_counter) == 32 * sizeof(uint4),
                  "one store clears a warp's counters");
    reinterpret_cast<uint4 *>(warp_counters)[threadIdx.x & 31] = make_uint4(0, 0, 0, 0);
    __syncwarp();
}

// Ranks one item per lane among the items of its digit that the warp has ranked before; counts them. The highest lane
// of each digit writes the counter, so no leader has to be found and nothing has to be shuffled.
__device__ __forceinline__ uint32_t rank_in_warp(radix_counter *warp_counters, uint32_t digit, uint32_t below,
                                                 uint32_t above) {
    volatile radix_counter *counter = warp_counters + digit;
    uint32_t same = match_digit(digit);
    uint32_t rank = *counter + __popc(same & below);
    bool highest = (same & above) == 0;
    __syncwarp();
    if (highest) *counter = (radix_counter)(rank + 1);
    __syncwarp();
    return rank;
}

// Exclusive sum over the 256 digits of a block, two digits (packed in 16 bits) for each of the first 128 threads.
// `sums` holds 4 words. Every thread of the block has to call it.
__device__ __forceinline__ uint32_t scan_digit_pairs(uint32_t pair, uint32_t *sums) {
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t both = (pair & 0xffff) + (pair >> 16), sum = both;
    if (warp < 4) {
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            uint32_t left = __shfl_up_sync(PSVI_RADIX_FULL_WARP, sum, step);
            if (lane >= step) sum += left;
        }
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
    uint32_t *words = reinterpret_cast<uint32_t *>(counters) + threadIdx.x;
    uint32_t counts[WARPS], total = 0;
    if (threadIdx.x < PSVI_RADIX_DIGITS / 2) {
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) {
            counts[warp] = words[warp * (PSVI_RADIX_DIGITS / 2)];
            total += counts[warp];
        }
    }
    start = scan_digit_pairs(total, sums);
    if (threadIdx.x < PSVI_RADIX_DIGITS / 2) {
        uint32_t place = start;
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) {
            words[warp * (PSVI_RADIX_DIGITS / 2)] = place;
            place += counts[warp];
        }
    }
    return total;
}

#endif
