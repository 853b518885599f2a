// Splitters from samples: which block gets an item. A sample is a key with its place in the input. The sorted samples
// cut the sorted order into chunks of nearly equal size. Equal keys do no harm, because no two elements agree in both
// key and place.
#ifndef PAIRSIEVE_RADIX_SAMPLES_CUH
#define PAIRSIEVE_RADIX_SAMPLES_CUH

#include "radix_onchip.cuh"

namespace samples {

// The place of sample j of 2^bits in an input of `count` items, at least 2^bits: at random in the j-th part of it.
__device__ __forceinline__ uint32_t place(uint32_t j, uint32_t bits, uint32_t count, uint32_t seed) {
    uint32_t random = (j + 1 + seed) * 0x9e3779b9u;
    random ^= random >> 15;
    random *= 0x85ebca6bu;
    random ^= random >> 13;
    return (uint32_t)((uint64_t)j * count >> bits) + __umulhi(random, count >> bits);
}

// Smallest items of the chunks 1, 2, ... of at most CHUNKS.
template <typename K, int CHUNKS> struct splitters {
    K keys[CHUNKS];
    uint32_t places[CHUNKS];

    // Takes the sample of rank `rank` of 2^bits. Chunk c begins at rank ceil(c * 2^bits / chunks); where there are
    // fewer samples than chunks, some chunks stay empty.
    __device__ __forceinline__ void offer(uint32_t rank, uint32_t bits, uint32_t chunks, K part, uint32_t place) {
        for (uint32_t chunk = (rank * chunks) >> bits; chunk > 0; --chunk) {
            if (((chunk << bits) + chunks - 1) / chunks != rank) break;
            keys[chunk - 1] = part;
            places[chunk - 1] = place;
        }
    }

    // Fills up behind the last, where every search ends. Called by CHUNKS threads at least.
    __device__ __forceinline__ void clear() {
        if (threadIdx.x >= CHUNKS) return;
        keys[threadIdx.x] = (K) ~(K)0;
        places[threadIdx.x] = 0xffffffff;
    }

    // The chunk of an item: how many splitters are not greater.
    __device__ __forceinline__ uint32_t chunk_of(K part, uint32_t place) const {
        uint32_t found = 0;
#pragma unroll
        for (int step = CHUNKS / 2; step > 0; step /= 2) {
            const K key = keys[found + step - 1];
            if (key < part || (key == part && places[found + step - 1] <= place)) found += step;
        }
        return found;
    }
};

} // namespace samples

#endif
