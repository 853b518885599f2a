// Linear bounding volume hierarchy: keys along a space-filling curve, sorted by our own sorter, leaves in their order,
// and the boxes of runs of 8, 64, 512, ... of them.
#include "launch_cuda.h"
#include "lbvh_build.cuh"

__global__ void __launch_bounds__(4 * LBVH_SAMPLES)
    psvk_lbvh_plan(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ lbvh_plan_shared shared;
    lbvh_make_plan<4 * LBVH_SAMPLES>(input, memory, shared);
}

// One key a slot; boxes that take no part sort last. One thread a slot; reads 24 bytes and writes 4.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_lbvh_keys(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ psvi_lbvh_plan plan;
    __shared__ float2 pieces[PSVI_BLOCK_THREADS / 32][96];
    if (threadIdx.x < sizeof plan / 4)
        reinterpret_cast<uint32_t *>(&plan)[threadIdx.x] = reinterpret_cast<const uint32_t *>(memory.plan)[threadIdx.x];
    __syncthreads();
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    const bool here = slot < counts.all();
    psvd_box box = {};
    uint32_t tag;
    const psvd_state state = psvd_load_following(input, counts, here, slot, &box, &tag, pieces[threadIdx.x / 32]);
    uint32_t key = lbvh_last_key(memory);
    if (state == PSVD_BOX_GOOD) key = lbvh_key(input, counts, slot, plan, memory, box);
    if (here) memory.keys[slot] = key;
    if (state == PSVD_BOX_BAD) psvd_report_bad(input, counts, slot);
    const int good = __syncthreads_count(state == PSVD_BOX_GOOD);
    if (threadIdx.x == 0 && good != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)good);
}

__global__ void __launch_bounds__(LBVH_LEAF_THREADS)
    psvk_lbvh_leaves(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ lbvh_leaf_shared<LBVH_LEAF_THREADS> shared;
    lbvh_make_leaves(input, memory, (uint32_t)input.result->boxes, blockIdx.x, shared);
}

extern "C" cudaError_t psvi_launch_lbvh_keys(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                             cudaStream_t stream) {
    psvk_lbvh_plan<<<1, 4 * LBVH_SAMPLES, 0, stream>>>(*input, *memory);
    psvk_lbvh_keys<<<psvi_block_count(psvi_most_boxes(input), PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        *input, *memory);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_lbvh_build(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                              cudaStream_t stream) {
    psvk_lbvh_leaves<<<psvi_block_count(psvi_most_boxes(input), LBVH_LEAF_THREADS), LBVH_LEAF_THREADS, 0, stream>>>(
        *input, *memory);
    return cudaGetLastError();
}
