// Sweep and prune of Ha, Krueger, Silva 2009, section 6.1: every box gives two records, the coordinates of its ends
// with its number and a min/max bit; the records are sorted on x and scanned in parallel for boxes whose ends do not
// follow each other directly; of these a new list is made, sorted and scanned on y, and again on z.
//
// «Out of order» taken by the letter (a minimum that its own maximum does not follow) would lose a box that lies inside
// another one on the axis, its two ends next to each other. So the scan also counts how many boxes are open before the
// minimum: twice the minimums before it less its place. On z the same scan gives each box the minimums between its own
// ends: its partners, each pair from the side of the box that begins first («by the min/max bit every collision is
// detected only once»), which pass the exact test on all axes.
#include "../../../collision/cuda/common.cuh"
#include "../../../collision/cuda/launch_cuda.h"
#include "sap3_kernels.h"

static float4 *second_half(const psvi_sap3_memory &memory) {
    return reinterpret_cast<float4 *>(memory.records) + memory.room;
}

// Not by index: if a parameter array is indexed by a variable, each thread copies it to its local memory.
__device__ __forceinline__ uint32_t *sap3_list(const psvi_sap3_memory &memory, uint32_t list) {
    return list == 0 ? memory.lists[0] : memory.lists[1];
}

// The list of all boxes that take part, in slot order within a block and blocks as they come. One atomic a block.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_sap3_begin(const psvi_find_input input, const psvi_sap3_memory memory) {
    __shared__ uint32_t warp_counts[PSVI_BLOCK_THREADS / 32];
    __shared__ unsigned long long base;
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    psvd_state state = PSVD_BOX_OFF;
    psvd_box box;
    uint32_t tag;
    if (slot < counts.all()) state = psvd_load_slot(input, counts, slot, &box, &tag);
    if (state == PSVD_BOX_BAD) psvd_report_bad(input, counts, slot);
    __syncwarp();
    const unsigned good = __ballot_sync(PSVD_FULL, state == PSVD_BOX_GOOD);
    if (threadIdx.x % 32 == 0) warp_counts[threadIdx.x / 32] = (uint32_t)__popc(good);
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t total = 0;
        for (uint32_t w = 0; w < PSVI_BLOCK_THREADS / 32; ++w) {
            const uint32_t own = warp_counts[w];
            warp_counts[w] = total;
            total += own;
        }
        base = atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)total);
    }
    __syncthreads();
    if (state != PSVD_BOX_GOOD) return;
    const uint64_t place =
        base + warp_counts[threadIdx.x / 32] + (uint32_t)__popc(good & ((1u << (threadIdx.x % 32)) - 1));
    memory.lists[0][place] = (uint32_t)slot;
}

// The list is complete: its length for the sorter. One thread.
__global__ void psvk_sap3_count(const psvi_find_input input, psvi_sap3_plan *plan) {
    plan->boxes = input.result->boxes;
    plan->endpoints = 2 * plan->boxes;
}

// Two keys a box. Adding 0 makes -0 to +0, so that ends that touch are equal; the stable sort then leaves minimums
// before maximums, because they come first: touching counts. Reads 28 bytes a box, writes 8.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_sap3_keys(const psvi_find_input input, const psvi_sap3_memory memory, uint32_t list, int axis) {
    const uint64_t i = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    const uint64_t boxes = memory.plan->boxes;
    if (i >= boxes) return;
    const psvd_counts counts = psvd_read_counts(input);
    psvd_box box;
    uint32_t tag;
    (void)psvd_load_slot(input, counts, sap3_list(memory, list)[i], &box, &tag);
    const float low = axis == 0 ? box.min[0] : axis == 1 ? box.min[1] : box.min[2];
    const float high = axis == 0 ? box.max[0] : axis == 1 ? box.max[1] : box.max[2];
    memory.keys[i] = psvd_ordered(low + 0.0f);
    memory.keys[boxes + i] = psvd_ordered(high + 0.0f);
}

// 1 for every sorted endpoint that is a minimum, 0 for maximums and behind the last one (one entry more than there is
// room for endpoints, so that the scan ends with the sum).
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_sap3_flags(const psvi_sap3_memory memory) {
    const uint64_t p = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (p > 2 * memory.room) return;
    memory.minimums[p] = p < memory.plan->endpoints && memory.endpoints[p] < memory.plan->boxes;
}

// Where the ends of each box of the list are.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_sap3_places(const psvi_sap3_memory memory) {
    const uint64_t p = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (p >= memory.plan->endpoints) return;
    const uint64_t boxes = memory.plan->boxes;
    const uint32_t endpoint = memory.endpoints[p];
    if (endpoint < boxes)
        memory.first[endpoint] = (uint32_t)p;
    else
        memory.last[endpoint - boxes] = (uint32_t)p;
}

// 1 for every box that another one overlaps on this axis: something lies between its ends, or something is open where
// it begins.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_sap3_mark(const psvi_sap3_memory memory) {
    const uint64_t i = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (i > memory.room) return;
    uint32_t keep = 0;
    if (i < memory.plan->boxes) {
        const uint32_t first = memory.first[i];
        const uint32_t open = 2 * memory.minimums[first] - first;
        keep = memory.last[i] != first + 1 || open > 0;
    }
    memory.keep[i] = keep;
}

__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_sap3_compact(const psvi_sap3_memory memory, uint32_t list) {
    const uint64_t i = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (i >= memory.plan->boxes) return;
    const uint32_t place = memory.keep[i];
    if (memory.keep[i + 1] != place) sap3_list(memory, 1 - list)[place] = sap3_list(memory, list)[i];
}

__global__ void psvk_sap3_shrink(const psvi_sap3_memory memory) {
    memory.plan->boxes = memory.keep[memory.room];
    memory.plan->endpoints = 2 * memory.plan->boxes;
}

// Boxes in the order of their minimums on z, z first in the record, and the end of each one's range.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_sap3_gather(const psvi_find_input input, const psvi_sap3_memory memory, uint32_t list, float4 *second) {
    const uint64_t i = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (i >= memory.plan->boxes) return;
    const psvd_counts counts = psvd_read_counts(input);
    const uint32_t slot = sap3_list(memory, list)[i], place = memory.minimums[memory.first[i]];
    psvd_box box;
    uint32_t tag;
    (void)psvd_load_slot(input, counts, slot, &box, &tag);
    const psvd_record record = psvd_make_record(box, 2, 0, 1, slot, tag);
    reinterpret_cast<float4 *>(memory.records)[place] = record.first;
    second[place] = record.second;
    memory.ends[place] = memory.minimums[memory.last[i]];
}

struct sap3_job {
    const psvi_find_input &input;
    psvd_counts counts;
    psvd_sink sink;
    const float4 *first, *second;
};

// The partner overlaps on z already; x and y are left.
template <bool ASKS, class Stage>
__device__ __forceinline__ void sap3_test(const sap3_job &job, Stage &stage, const psvd_record &own, uint64_t place) {
    const float4 first = __ldg(job.first + place);
    if (first.z > own.first.w || own.first.z > first.w) return;
    const float4 second = __ldg(job.second + place);
    if (second.x > own.second.y || own.second.x > second.y) return;
    const uint32_t slot = __float_as_uint(own.second.z), other = __float_as_uint(second.z);
    if (psvd_slots_pair<ASKS>(job.input, job.counts, slot, __float_as_uint(own.second.w), other,
                              __float_as_uint(second.w)))
        stage.emit(job.sink, slot, other);
}

__device__ __forceinline__ float4 shuffle4(const float4 &value, int lane) {
    return make_float4(__shfl_sync(PSVD_FULL, value.x, lane), __shfl_sync(PSVD_FULL, value.y, lane),
                       __shfl_sync(PSVD_FULL, value.z, lane), __shfl_sync(PSVD_FULL, value.w, lane));
}

// The pairs. One thread a box for its first SWEEP_OWN_STEPS partners on z; what is left of a long range is gone through
// by the whole warp, box after box. Reads 16 bytes a partner, neighbours from the cache.
template <bool ASKS>
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_sap3_pairs(const psvi_find_input input, const psvi_sap3_memory memory, const float4 *second) {
    const uint64_t boxes = memory.plan->boxes;
    if ((uint64_t)blockIdx.x * PSVI_BLOCK_THREADS >= boxes) return;
    __shared__ psvd_pair_stage<PSVI_BLOCK_THREADS / 32> stage;
    sap3_job job = {input, psvd_read_counts(input), {}, reinterpret_cast<const float4 *>(memory.records), second};
    job.sink = psvd_make_sink(input, job.counts);
    const uint64_t place = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    stage.begin();
    __syncthreads();
    psvd_record own = {};
    uint32_t next = (uint32_t)place + 1, end = 0;
    uint64_t tested = 0;
    if (place < boxes) {
        own.first = job.first[place], own.second = job.second[place];
        end = memory.ends[place];
        if (end > next) tested = end - next;
    }
    for (int round = 0; round < SWEEP_OWN_STEPS / 8 && __any_sync(PSVD_FULL, next < end); ++round) {
        for (int step = 0; step < 8 && next < end; ++step)
            sap3_test<ASKS>(job, stage, own, next++);
        stage.settle(job.sink);
    }
    for (unsigned left = __ballot_sync(PSVD_FULL, next < end); left != 0; left &= left - 1) {
        const int owner = __ffs(left) - 1;
        const psvd_record theirs = {shuffle4(own.first, owner), shuffle4(own.second, owner)};
        const uint32_t theirs_end = __shfl_sync(PSVD_FULL, end, owner);
        for (uint32_t at = __shfl_sync(PSVD_FULL, next, owner); at < theirs_end; at += 32) {
            const uint32_t lane = threadIdx.x & 31;
            if (lane < theirs_end - at) sap3_test<ASKS>(job, stage, theirs, at + lane);
            stage.settle(job.sink);
            if (theirs_end - at <= 32) break; // at + 32 may not be a number
        }
    }
    stage.finish(job.sink);
    psvd_warp_add(&input.result->candidates, (uint32_t)tested);
}

static uint32_t box_blocks(const psvi_find_input *input) {
    return psvi_block_count(psvi_most_boxes(input), PSVI_BLOCK_THREADS);
}

extern "C" cudaError_t psvi_launch_sap3_begin(const psvi_find_input *input, const psvi_sap3_memory *memory,
                                              cudaStream_t stream) {
    psvk_sap3_begin<<<box_blocks(input), PSVI_BLOCK_THREADS, 0, stream>>>(*input, *memory);
    psvk_sap3_count<<<1, 1, 0, stream>>>(*input, memory->plan);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_sap3_keys(const psvi_find_input *input, const psvi_sap3_memory *memory,
                                             uint32_t list, int axis, cudaStream_t stream) {
    psvk_sap3_keys<<<box_blocks(input), PSVI_BLOCK_THREADS, 0, stream>>>(*input, *memory, list, axis);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_sap3_flags(const psvi_find_input *input, const psvi_sap3_memory *memory,
                                              cudaStream_t stream) {
    (void)input;
    psvk_sap3_flags<<<psvi_block_count(2 * memory->room + 1, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        *memory);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_sap3_mark(const psvi_find_input *input, const psvi_sap3_memory *memory,
                                             cudaStream_t stream) {
    psvk_sap3_places<<<psvi_block_count(2 * psvi_most_boxes(input), PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0,
                       stream>>>(*memory);
    psvk_sap3_mark<<<psvi_block_count(memory->room + 1, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(*memory);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_sap3_compact(const psvi_find_input *input, const psvi_sap3_memory *memory,
                                                uint32_t list, cudaStream_t stream) {
    psvk_sap3_compact<<<box_blocks(input), PSVI_BLOCK_THREADS, 0, stream>>>(*memory, list);
    psvk_sap3_shrink<<<1, 1, 0, stream>>>(*memory);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_sap3_gather(const psvi_find_input *input, const psvi_sap3_memory *memory,
                                               uint32_t list, cudaStream_t stream) {
    psvk_sap3_gather<<<box_blocks(input), PSVI_BLOCK_THREADS, 0, stream>>>(*input, *memory, list, second_half(*memory));
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_sap3_pairs(const psvi_find_input *input, const psvi_sap3_memory *memory,
                                              cudaStream_t stream) {
    auto kernel = psvd_overlap_decides(*input) ? psvk_sap3_pairs<false> : psvk_sap3_pairs<true>;
    kernel<<<box_blocks(input), PSVI_BLOCK_THREADS, 0, stream>>>(*input, *memory, second_half(*memory));
    return cudaGetLastError();
}
