// One-axis sweep and prune: boxes in the order of their lower ends on one axis; each looks ahead until a box begins
// behind its own upper end. Simple and good for scenes that are long on one axis.
#include "../../../collision/cuda/broad_phase_tuning.h"
#include "../../../collision/cuda/common.cuh"
#include "../../../collision/cuda/launch_cuda.h"
#include "sweep_kernels.h"

#define SWEEP_SAMPLES 1024 // boxes that the axis is chosen from; one block

__device__ __forceinline__ float block_sum(float value, float *shared) {
    for (int step = 16; step > 0; step >>= 1)
        value += __shfl_xor_sync(PSVD_FULL, value, step);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) shared[threadIdx.x >> 5] = value;
    __syncthreads();
    float sum = 0;
    for (int warp = 0; warp < SWEEP_SAMPLES / 32; ++warp)
        sum += shared[warp];
    return sum;
}

// Writes the plan. One block: every thread samples one box, evenly spread over the slots; the axis of the largest
// variance of finite centres is swept. Two block-wide sums an axis; reads 24 bytes a sample.
__global__ void __launch_bounds__(SWEEP_SAMPLES) psvk_sweep_plan(const psvi_find_input input, psvi_sweep_plan *plan) {
    __shared__ float shared[SWEEP_SAMPLES / 32];
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slots = counts.all();
    psvd_box box = {};
    uint32_t tag;
    bool good =
        slots > 0 && psvd_load_slot(input, counts, slots * threadIdx.x / SWEEP_SAMPLES, &box, &tag) == PSVD_BOX_GOOD;
    float centre[3];
    for (int axis = 0; axis < 3; ++axis) {
        centre[axis] = 0.5f * box.min[axis] + 0.5f * box.max[axis];
        good = good && fabsf(centre[axis]) < 1e15f;
    }
    const float samples = fmaxf(block_sum(good ? 1.0f : 0.0f, shared), 1.0f);
    float best = -1.0f;
    uint32_t chosen = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const float mean = block_sum(good ? centre[axis] : 0.0f, shared) / samples;
        const float away = good ? centre[axis] - mean : 0.0f;
        const float variance = block_sum(away * away, shared);
        if (variance > best) best = variance, chosen = axis;
    }
    if (threadIdx.x == 0) plan->slots = slots, plan->axis = chosen;
}

// One key a slot: the order-preserving form of the lower end on the swept axis; boxes that take no part sort last. One
// thread a slot; reads 24 bytes and writes 4.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_sweep_keys(const psvi_find_input input, const psvi_sweep_plan *plan, uint32_t *keys) {
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    const uint32_t axis = plan->axis;
    psvd_state state = PSVD_BOX_OFF;
    if (slot < counts.all()) {
        psvd_box box;
        uint32_t tag, key = 0xffffffffu; // above the form of +infinity
        state = psvd_load_slot(input, counts, slot, &box, &tag);
        if (state == PSVD_BOX_GOOD) key = psvd_ordered(axis == 0 ? box.min[0] : axis == 1 ? box.min[1] : box.min[2]);
        keys[slot] = key;
    }
    if (state == PSVD_BOX_BAD) psvd_report_bad(input, counts, slot);
    const int good = __syncthreads_count(state == PSVD_BOX_GOOD);
    if (threadIdx.x == 0 && good != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)good);
}

// Records in sorted order, the swept axis first. One thread a place; reads 28 bytes (24 of them scattered), writes 32.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_sweep_gather(const psvi_find_input input, const psvi_sweep_plan *plan, const uint32_t *order, float4 *first,
                      float4 *second) {
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t place = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (place >= input.result->boxes) return;
    const uint32_t slot = order[place];
    psvd_box box;
    uint32_t tag;
    (void)psvd_load_slot(input, counts, slot, &box, &tag);
    const uint32_t axis = plan->axis;
    psvd_record record;
    if (axis == 0)
        record = psvd_make_record(box, 0, 1, 2, slot, tag);
    else if (axis == 1)
        record = psvd_make_record(box, 1, 0, 2, slot, tag);
    else
        record = psvd_make_record(box, 2, 0, 1, slot, tag);
    first[place] = record.first;
    second[place] = record.second;
}

struct sweep_job {
    const psvi_find_input &input;
    psvd_counts counts;
    psvd_sink sink;
    const float4 *first, *second;
};

// Tests the record at `place` against `own`; false when it begins behind own's upper end.
template <bool ASKS, class Stage>
__device__ __forceinline__ bool sweep_test(const sweep_job &job, Stage &stage, const psvd_record &own, uint64_t place) {
    const float4 first = __ldg(job.first + place);
    if (first.x > own.first.y) return false;
    if (first.z > own.first.w || own.first.z > first.w) return true;
    const float4 second = __ldg(job.second + place);
    if (second.x > own.second.y || own.second.x > second.y) return true;
    const uint32_t slot = __float_as_uint(own.second.z), other = __float_as_uint(second.z);
    if (psvd_slots_pair<ASKS>(job.input, job.counts, slot, __float_as_uint(own.second.w), other,
                              __float_as_uint(second.w)))
        stage.emit(job.sink, slot, other);
    return true;
}

__device__ __forceinline__ float4 shuffle4(const float4 &value, int lane) {
    return make_float4(__shfl_sync(PSVD_FULL, value.x, lane), __shfl_sync(PSVD_FULL, value.y, lane),
                       __shfl_sync(PSVD_FULL, value.z, lane), __shfl_sync(PSVD_FULL, value.w, lane));
}

// The pairs. One thread a box for its first SWEEP_OWN_STEPS candidates; what is left of a long range is swept by the
// whole warp, box after box. Candidates come through the first-level cache, neighbours share them.
template <bool ASKS>
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_sweep(const psvi_find_input input, const float4 *first, const float4 *second) {
    __shared__ psvd_pair_stage<PSVI_BLOCK_THREADS / 32> stage;
    sweep_job job = {input, psvd_read_counts(input), {}, first, second};
    job.sink = psvd_make_sink(input, job.counts);
    const uint64_t boxes = input.result->boxes;
    const uint64_t place = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if ((uint64_t)blockIdx.x * PSVI_BLOCK_THREADS >= boxes) return;
    stage.begin();
    __syncthreads();
    psvd_record own = {};
    bool active = place + 1 < boxes;
    if (active) own.first = first[place], own.second = second[place];
    uint64_t next = place + 1;
    uint32_t tested = 0;
    for (int round = 0; round < SWEEP_OWN_STEPS / 8 && __any_sync(PSVD_FULL, active); ++round) {
        for (int step = 0; step < 8 && active; ++step) {
            ++tested;
            active = sweep_test<ASKS>(job, stage, own, next) && ++next < boxes;
        }
        stage.settle(job.sink);
    }
    for (unsigned left = __ballot_sync(PSVD_FULL, active); left != 0; left &= left - 1) {
        const int owner = __ffs(left) - 1;
        const psvd_record theirs = {shuffle4(own.first, owner), shuffle4(own.second, owner)};
        uint64_t at = __shfl_sync(PSVD_FULL, next, owner) + (threadIdx.x & 31);
        bool more = true;
        while (__all_sync(PSVD_FULL, more)) {
            more = at < boxes && sweep_test<ASKS>(job, stage, theirs, at);
            at += 32;
            ++tested;
            stage.settle(job.sink);
        }
    }
    stage.finish(job.sink);
    psvd_warp_add(&input.result->candidates, tested);
}

static float4 *second_half(const psvi_sweep_memory *memory) {
    return reinterpret_cast<float4 *>(memory->records) + memory->room;
}

extern "C" cudaError_t psvi_launch_sweep_keys(const psvi_find_input *input, const psvi_sweep_memory *memory,
                                              cudaStream_t stream) {
    psvk_sweep_plan<<<1, SWEEP_SAMPLES, 0, stream>>>(*input, memory->plan);
    psvk_sweep_keys<<<psvi_block_count(psvi_most_boxes(input), PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        *input, memory->plan, memory->keys);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_sweep_gather(const psvi_find_input *input, const psvi_sweep_memory *memory,
                                                cudaStream_t stream) {
    psvk_sweep_gather<<<psvi_block_count(psvi_most_boxes(input), PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        *input, memory->plan, memory->order, reinterpret_cast<float4 *>(memory->records), second_half(memory));
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_sweep(const psvi_find_input *input, const psvi_sweep_memory *memory,
                                         cudaStream_t stream) {
    auto kernel = psvd_overlap_decides(*input) ? psvk_sweep<false> : psvk_sweep<true>;
    kernel<<<psvi_block_count(psvi_most_boxes(input), PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        *input, reinterpret_cast<const float4 *>(memory->records), second_half(memory));
    return cudaGetLastError();
}
