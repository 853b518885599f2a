// The self-check of pairs on the device, see ../src/pair_check.h.
#include "../src/pair_check.h"
#include "broad_phase_tuning.h"
#include "common.cuh"
#include "pair_check_kernels.h"

__device__ __forceinline__ void add_to(uint64_t *number, uint64_t more) {
    atomicAdd(reinterpret_cast<unsigned long long *>(number), (unsigned long long)more);
}

__device__ __forceinline__ void append(psv_pair *list, uint64_t room, uint64_t *count, psv_pair pair) {
    const uint64_t at = atomicAdd(reinterpret_cast<unsigned long long *>(count), 1ull);
    if (at < room) list[at] = pair;
}

// Chooses the samples and makes the filters of their names. One block, one thread a sample.
__global__ void __launch_bounds__(PSV_MOST_SAMPLES)
    psvk_choose_samples(const __grid_constant__ psvi_check_input input) {
    psvi_check_memory *const memory = input.memory;
    const uint32_t s = threadIdx.x;
    for (uint32_t w = s; w < 2 * PSVI_NAME_WORDS; w += PSV_MOST_SAMPLES)
        memory->names[w / PSVI_NAME_WORDS][w % PSVI_NAME_WORDS] = 0;
    __syncthreads();
    if (s >= input.samples) return;
    const psvi_sample sample =
        psvi_choose_sample(&input, s, psvd_count_of(input.a), input.rules.between ? psvd_count_of(input.b) : 0);
    const uint32_t bit = psvi_name_bit(sample.name);
    atomicOr(&memory->names[sample.second][bit / 32], 1u << bit % 32);
    memory->samples[s] = sample;
}

// Tests all boxes of a set with the samples, which lie in shared memory. One thread a box and round; reads each box
// once. Hits are few, so sums go to memory by atomics.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_test_samples(const __grid_constant__ psvi_check_input input, bool second) {
    __shared__ psvi_sample samples[PSV_MOST_SAMPLES];
    psvi_check_memory *const memory = input.memory;
    for (uint32_t s = threadIdx.x; s < input.samples; s += PSVI_BLOCK_THREADS)
        samples[s] = memory->samples[s];
    __syncthreads();
    const uint64_t count = psvd_count_of(second ? input.b : input.a);
    for (uint64_t place = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x; place < count;
         place += (uint64_t)gridDim.x * PSVI_BLOCK_THREADS) {
        double min[3], max[3];
        uint64_t key;
        if (!psvi_read_corners(&input, second, place, min, max)) continue;
        for (uint32_t s = 0; s < input.samples; ++s) {
            if (!psvi_sample_pairs(&input, &samples[s], second, place, min, max, &key)) continue;
            if (input.found == NULL) {
                add_to(&memory->samples[s].found, 1);
                add_to(&memory->samples[s].found_sum, psvi_mix_bits(key));
            } else if (samples[s].differs != 0) {
                append(input.found, input.found_room, &memory->found, {(uint32_t)(key >> 32), (uint32_t)key});
            }
        }
    }
}

// Reads the pair list once. One thread a pair and round; a filter in shared memory answers for nearly all of them.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_read_listed(const __grid_constant__ psvi_check_input input) {
    __shared__ uint32_t names[2][PSVI_NAME_WORDS];
    psvi_check_memory *const memory = input.memory;
    for (uint32_t w = threadIdx.x; w < 2 * PSVI_NAME_WORDS; w += PSVI_BLOCK_THREADS)
        names[w / PSVI_NAME_WORDS][w % PSVI_NAME_WORDS] = memory->names[w / PSVI_NAME_WORDS][w % PSVI_NAME_WORDS];
    __syncthreads();
    const uint64_t count = min((unsigned long long)*input.pair_count, (unsigned long long)input.capacity);
    for (uint64_t p = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x; p < count;
         p += (uint64_t)gridDim.x * PSVI_BLOCK_THREADS) {
        const psv_pair pair = input.pairs[p];
        bool differs = false;
        if (!psvi_may_name_sample(&input, names[0], names[1], pair)) continue;
        for (uint32_t s = 0; s < input.samples; ++s) {
            psvi_sample *const sample = &memory->samples[s];
            if (!psvi_names_sample(&input, sample, pair)) continue;
            differs = differs || sample->differs != 0;
            if (input.found != NULL) continue;
            add_to(&sample->listed, 1);
            add_to(&sample->listed_sum, psvi_mix_bits(psvi_pair_key(pair.a, pair.b)));
        }
        if (differs && input.found != NULL) append(input.listed, input.listed_room, &memory->listed, pair);
    }
}

extern "C" cudaError_t psvi_launch_check_pairs(const psvi_check_input *input, int multiprocessors,
                                               cudaStream_t stream) {
    const uint32_t blocks = (uint32_t)multiprocessors * 4;
    if (input->found == NULL) psvk_choose_samples<<<1, PSV_MOST_SAMPLES, 0, stream>>>(*input);
    psvk_test_samples<<<blocks, PSVI_BLOCK_THREADS, 0, stream>>>(*input, false);
    if (input->rules.between) psvk_test_samples<<<blocks, PSVI_BLOCK_THREADS, 0, stream>>>(*input, true);
    psvk_read_listed<<<blocks, PSVI_BLOCK_THREADS, 0, stream>>>(*input);
    return cudaGetLastError();
}
