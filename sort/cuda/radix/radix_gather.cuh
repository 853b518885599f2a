// Chosen bits of a number, side by side: keys that use few of their bits, wherever these lie, get digits of the bits in
// use alone.
#ifndef PAIRSIEVE_RADIX_GATHER_CUH
#define PAIRSIEVE_RADIX_GATHER_CUH

#include "radix_device.cuh"

// Which bits move in each step: by 1, 2, 4, ... places to the right. A bit has to move by as many places as there are
// bits below it that were not chosen; the steps are the binary digits of that number.
template <typename K> struct bit_gather {
    static constexpr int STEPS = sizeof(K) == 8 ? 6 : 5;
    K chosen, moves[STEPS];

    __device__ __forceinline__ void choose(K bits) {
        chosen = bits;
        K unchosen = (K)~bits << 1; // at the place of each bit: whether the one below it is left out
        for (int step = 0; step < STEPS; ++step) {
            K odd = unchosen; // whether the number of those at and below a place is odd
            for (int by = 1; by < (int)sizeof(K) * 8; by *= 2)
                odd ^= odd << by;
            moves[step] = bits & odd;
            bits = (bits ^ moves[step]) | moves[step] >> (1 << step);
            unchosen &= (K)~odd; // every second one is left: half of the number
        }
    }

    __device__ __forceinline__ K operator()(K number) const {
        number &= chosen;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const K moving = number & moves[step];
            number = (number ^ moving) | moving >> (1 << step);
        }
        return number;
    }

    // The other way: the bits to their places.
    __device__ __forceinline__ K back(K gathered) const {
#pragma unroll
        for (int step = STEPS - 1; step >= 0; --step)
            gathered = (gathered & ~moves[step]) | (gathered << (1 << step) & moves[step]);
        return gathered & chosen;
    }
};

// The lowest bits of a number, at most `most` of them.
template <typename K> __device__ __forceinline__ K lowest_bits(K bits, int most) {
    K left = bits;
    for (int i = 0; i < most; ++i)
        left &= left - 1;
    return bits ^ left;
}

__device__ __forceinline__ int number_of_bits(uint32_t bits) { return __popc(bits); }
__device__ __forceinline__ int number_of_bits(uint64_t bits) { return __popcll(bits); }

#endif
