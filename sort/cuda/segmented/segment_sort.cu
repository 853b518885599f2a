// A segmented sort as one cooperative kernel.
#include <algorithm>

#include "segment_classify.cuh"
#include "segment_large.cuh"

using namespace psvi_segments;

namespace {

template <typename Key> union kernel_memory {
    block_counts counts;
    block_memory<Key> small;
    scatter_memory<Key> large;
};

// The last block leaves the result for the host, and clears the counters for the next call.
__device__ __forceinline__ void finish_call(psvi_segment_control *control) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(&control->finished, 1u) != gridDim.x - 1) return;
    const uint32_t bad = __ldcg(&control->bad);
    uint32_t *words = reinterpret_cast<uint32_t *>(control);
    for (uint32_t word = 0; word < sizeof *control / sizeof *words; ++word)
        words[word] = 0;
    control->last_bad = bad;
}

// In: offsets, keys, values. Out: each segment sorted in place; nothing when an offset is wrong. All blocks are on the
// device at once: one grid barrier, and four for each digit where there are large segments.
template <typename Key> __global__ void __launch_bounds__(THREADS, 3) psvk_sort_segments(const psvi_segment_job job) {
    __shared__ kernel_memory<Key> memory;
    __shared__ uint32_t next_ticket;
    psvi_segment_control *control = job.control;
    const uint32_t all = segment_count(job);
    uint32_t expected = 0;
    for (uint64_t first = (uint64_t)blockIdx.x * THREADS; first < all; first += (uint64_t)gridDim.x * THREADS)
        classify(job, memory.counts, (uint32_t)first + threadIdx.x, all);
    wait_for_blocks(&control->arrivals, &expected);
    if (__ldcg(&control->bad) == 0) {
        sort_small<Key>(job, memory.small, &next_ticket);
        if (control->large != 0) sort_large<Key>(job, memory.large, &expected);
    } else {
        for (uint32_t t = blockIdx.x * THREADS + threadIdx.x; t < control->tiles; t += gridDim.x * THREADS)
            job.tile_counts[job.tile_list[t]] = 0;
    }
    finish_call(control);
}

} // namespace

extern "C" uint32_t psvi_segment_block_length(const psvi_key_order *order) {
    const bool wide = order->end_bit - order->begin_bit > 32;
    return PSVI_SEGMENT_BLOCK_BYTES / (uint32_t)(wide ? sizeof(wide_item) : sizeof(narrow_item));
}

extern "C" cudaError_t psvi_segment_blocks(psvi_segment_job *job, uint32_t multiprocessors) {
    int blocks = 0;
    const cudaError_t error = with_key(*job, [&](auto key) {
        return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, psvk_sort_segments<decltype(key)>, THREADS, 0);
    });
    job->blocks = (uint32_t)blocks * multiprocessors;
    return error;
}

extern "C" cudaError_t psvi_sort_segments(const psvi_segment_job *job, cudaStream_t stream) {
    const uint64_t useful = std::max(job->count / 128, job->segments / PSVI_SEGMENT_THREADS) + 1;
    const uint32_t blocks = (uint32_t)std::min<uint64_t>(useful, job->blocks);
    psvi_segment_job copy = *job;
    void *arguments[] = {&copy};
    return with_key(*job, [&](auto key) {
        return cudaLaunchCooperativeKernel((const void *)psvk_sort_segments<decltype(key)>, dim3(blocks), dim3(THREADS),
                                           arguments, 0, stream);
    });
}
