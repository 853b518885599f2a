// Keys of few values, at most 64 different ones: digits that do not decide are left out.
//
// Let v0 < v1 < ... be all values. Two neighbours vi < vi+1 are told apart by the highest bit in which they differ, and
// so are any two values by the highest such bit between them. So the digits that hold one of these bits give the whole
// order, and the others need no pass. 37 values anywhere in 32 bits are sorted by two digits most often, not by four.
//
// Samples say which values there may be, and every key is then looked up among them. One look of a warp, at 32 keys, is
// enough to know that there are many values, so other keys pay nothing.
#ifndef PAIRSIEVE_RADIX_VALUES_CUH
#define PAIRSIEVE_RADIX_VALUES_CUH

#include "radix_plan.cuh"

namespace {

constexpr uint32_t FEW_MOST = 64;      // values
constexpr uint32_t FEW_TABLE = 256;    // places of the hash table in which equal samples meet
constexpr uint32_t FEW_SAMPLES = 1024; // with 64 values as frequent as each other, all of them are met
constexpr uint32_t FEW_LAST = 32;      // of the samples are the last items
constexpr uint32_t FEW_OF_WARP = 27;   // different ones of 32 samples: 64 values have 25 on average

// The place of sample j in an input of `count` items, at least FEW_SAMPLES: at random in the j-th part of it. The last
// ones are the last items, for in input with some order rare keys lie at its end, a few places apart.
__device__ __forceinline__ uint64_t few_place(uint32_t j, uint64_t count) {
    constexpr uint32_t PARTS = FEW_SAMPLES - FEW_LAST;
    if (j >= PARTS) return count - FEW_SAMPLES + j;
    const uint32_t part = (uint32_t)(count / PARTS), random = (j + 1) * 0x9e3779b9u;
    return (uint64_t)j * part + __umulhi(random ^ random >> 15, part);
}

// What a lane of the first warp looks at: pairs of neighbours, for in input with some order equal keys lie side by
// side.
__device__ __forceinline__ uint64_t few_look_place(uint64_t count) {
    return few_place((threadIdx.x & ~1u) * (FEW_SAMPLES / 32), count) + (threadIdx.x & 1);
}

// Shared memory while the values are found; it may lie where other things will.
template <typename K> struct few_samples {
    K keys[FEW_SAMPLES];
    uint32_t owners[FEW_TABLE]; // of a place: the number of a sample, from 1 on
};

// Shared memory of a block: the values, as the numbers that keys are compared by, in order.
template <typename K> struct few_values {
    K values[FEW_MOST];
    uint32_t number;   // of the values; more than FEW_MOST: not few
    uint32_t deciding; // bits: the digits that give their order

    // The first warp, before a barrier: whether it is worth while to find the values. `key`: that at few_look_place().
    __device__ __forceinline__ void look(K key, bool enough) {
        const uint32_t lane = threadIdx.x & 31, same = __match_any_sync(PSVI_RADIX_FULL_WARP, key);
        const uint32_t different = __popc(__ballot_sync(PSVI_RADIX_FULL_WARP, lane == (uint32_t)__ffs(same) - 1));
        if (lane == 0) number = enough && different <= FEW_OF_WARP ? 0 : FEW_MOST + 1;
    }
    // After it.
    __device__ __forceinline__ bool may_be_few() const { return number <= FEW_MOST; }

    // All threads of the block, between barriers of its own; `key(j)` gives the number of sample j. False: not few.
    template <int THREADS, typename F> __device__ __forceinline__ bool find(few_samples<K> &samples, F key) {
        for (uint32_t j = threadIdx.x; j < FEW_SAMPLES; j += THREADS)
            samples.keys[j] = key(j);
        for (uint32_t place = threadIdx.x; place < FEW_TABLE; place += THREADS)
            samples.owners[place] = 0;
        __shared__ uint32_t found;
        __shared__ K some[FEW_MOST];
        if (threadIdx.x == 0) {
            found = 0;
            deciding = 0;
        }
        __syncthreads();
        for (uint32_t j = threadIdx.x; j < FEW_SAMPLES; j += THREADS) {
            const K own = samples.keys[j];
            uint32_t place = (uint32_t)((own * (K)0x9e3779b97f4a7c15u) >> (8 * sizeof(K) - 8)) % FEW_TABLE;
            for (volatile uint32_t *all = &found; *all <= FEW_MOST; place = (place + 1) % FEW_TABLE) {
                uint32_t owner = *(volatile uint32_t *)&samples.owners[place]; // so that equal samples need not wait
                if (owner == 0) owner = atomicCAS(&samples.owners[place], 0u, j + 1);
                if (owner == 0) {
                    const uint32_t at = atomicAdd(&found, 1u);
                    if (at < FEW_MOST) some[at] = own;
                    break;
                }
                if (samples.keys[owner - 1] == own) break;
            }
        }
        __syncthreads();
        const uint32_t all = found;
        if (all <= FEW_MOST) {
            if (threadIdx.x < all) {
                uint32_t rank = 0;
                for (uint32_t other = 0; other < all; ++other)
                    rank += some[other] < some[threadIdx.x];
                values[rank] = some[threadIdx.x];
            } else if (threadIdx.x < FEW_MOST) {
                values[threadIdx.x] = (K) ~(K)0; // behind all; not found, as `number` tells
            }
        }
        if (threadIdx.x == 0) number = all;
        __syncthreads();
        if (all > FEW_MOST) return false;
        if (threadIdx.x + 1 < all) {
            const K differ = values[threadIdx.x] ^ values[threadIdx.x + 1];
            const uint32_t bit = sizeof(K) == 8 ? 63 - __clzll((long long)differ) : 31 - __clz((int)differ);
            atomicOr(&deciding, 1u << bit / PSVI_RADIX_BITS);
        }
        __syncthreads();
        return true;
    }

    // Where a key is among the values, if it is; else FEW_MOST.
    __device__ __forceinline__ uint32_t index_of(K own) const {
        uint32_t at = 0;
#pragma unroll
        for (uint32_t step = FEW_MOST / 2; step > 0; step /= 2)
            if (values[at + step - 1] < own) at += step;
        return at < number && values[at] == own ? at : FEW_MOST;
    }
};

} // namespace

#endif
