// Linear bounding volume hierarchy: keys along a space-filling curve, sorted by our own sorter, leaves in their order,
// and the boxes of runs of 8, 64, 512, ... of them.
#include "../src/tree_build.h"
#include "common.cuh"
#include "launch_cuda.h"
#include "lbvh_kernels.h"

// By selection, so that arrays stay in registers.
__device__ __forceinline__ uint32_t pick_bits(const uint32_t v[3], uint32_t axis) {
    return axis == 0 ? v[0] : axis == 1 ? v[1] : v[2];
}

// How the bits of places are dealt: the longest side of the scene's box is halved again and again.
__device__ __forceinline__ void deal_bits(psvi_lbvh_plan &plan, const float side[3], uint32_t place_bits) {
    // In registers: a chain of dependent steps through memory would take longer than the whole kernel.
    float x = side[0], y = side[1], z = side[2];
    uint32_t bits[3] = {0, 0, 0};
    for (uint32_t b = 0; b < place_bits; ++b) {
        const uint32_t longest = z > fmaxf(x, y) ? 2 : y > x ? 1 : 0;
        bits[0] += longest == 0, bits[1] += longest == 1, bits[2] += longest == 2;
        x *= longest == 0 ? 0.5f : 1.0f, y *= longest == 1 ? 0.5f : 1.0f, z *= longest == 2 ? 0.5f : 1.0f;
    }
    const uint32_t common = min(bits[0], min(bits[1], bits[2]));
    uint32_t left[3] = {bits[0], bits[1], bits[2]}, halvings = 0;
    x = side[0], y = side[1], z = side[2];
    while (left[0] + left[1] + left[2] > 3 * common) {
        uint32_t axis = z > fmaxf(x, y) ? 2 : y > x ? 1 : 0;
        if (pick_bits(left, axis) == common) axis = left[0] > common ? 0 : left[1] > common ? 1 : 2;
        left[0] -= axis == 0, left[1] -= axis == 1, left[2] -= axis == 2;
        x *= axis == 0 ? 0.5f : 1.0f, y *= axis == 1 ? 0.5f : 1.0f, z *= axis == 2 ? 0.5f : 1.0f;
        plan.axes[halvings] = (uint8_t)axis;
        plan.shifts[halvings++] = (uint8_t)pick_bits(left, axis);
    }
    plan.halvings = halvings;
    plan.curve_bits = common;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        plan.bits[axis] = bits[axis];
        plan.inverse[axis] = side[axis] > 0 ? (float)(1u << bits[axis]) / side[axis] : 0.0f;
    }
}

// Writes the plan. One block: samples are ranked against each other by their centres on the three axes and by their
// sizes, by four groups of threads. The scene's box is that of the middle fifteen sixteenths, widened by an eighth on
// both sides, so that a few far boxes do not take the resolution from all others: what is outside gets the key of the
// nearest cell. Two barriers; reads 24 bytes a sample.
__global__ void __launch_bounds__(4 * LBVH_SAMPLES)
    psvk_lbvh_plan(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ __align__(16) uint32_t ranked[4][LBVH_SAMPLES];
    __shared__ float low[4], high[4];
    psvi_lbvh_plan *const plan = memory.plan;
    for (uint32_t i = threadIdx.x; i < memory.ticket_room; i += 4 * LBVH_SAMPLES)
        memory.tickets[i] = 0;
    const uint32_t sample = threadIdx.x % LBVH_SAMPLES, kind = threadIdx.x / LBVH_SAMPLES;
    const psvd_counts counts = psvd_read_counts(input);
    psvd_box box = {};
    const bool good = psvd_load_sample(input, counts, sample, LBVH_SAMPLES, &box);
    float own = fmaxf(box.max[0] - box.min[0], fmaxf(box.max[1] - box.min[1], box.max[2] - box.min[2]));
    if (kind < 3) own = 0.5f * psv_pick(box.min, kind) + 0.5f * psv_pick(box.max, kind);
    if (!good) own = INFINITY;
    // By whole numbers in the same order, whose lowest bits are the sample's: one comparison each.
    const uint32_t number = (psvd_ordered(own) & ~(LBVH_SAMPLES - 1u)) | sample;
    ranked[kind][sample] = number;
    if (threadIdx.x < 4) low[threadIdx.x] = 0, high[threadIdx.x] = 0;
    const uint32_t samples = (uint32_t)__syncthreads_count(good) / 4, aside = samples / 32;
    uint32_t rank = 0;
#pragma unroll 16
    for (uint32_t i = 0; i < LBVH_SAMPLES; ++i)
        rank += ranked[kind][i] < number;
    if (good && rank == (kind < 3 ? aside : samples / 2)) low[kind] = own;
    if (good && rank == samples - 1 - aside) high[kind] = own;
    __syncthreads();
    if (threadIdx.x != 0) return;
    plan->slots = counts.all();
    plan->boxes = 0;
    plan->parts = 0;
    plan->done = 0;
    const float side[3] = {1.25f * (high[0] - low[0]), 1.25f * (high[1] - low[1]), 1.25f * (high[2] - low[2])};
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        plan->low[axis] = low[axis] - 0.1f * side[axis]; // an eighth of what is inside
    float size = low[3];
#pragma unroll
    for (int i = 0; i < (1 << PSVI_LBVH_CLASS_BITS) - 1; ++i)
        plan->class_sizes[i] = size *= LBVH_CLASS_STEP;
    deal_bits(*plan, side, memory.place_bits - PSVI_LBVH_CLASS_BITS);
}

__device__ __forceinline__ uint32_t lbvh_place(const psvi_lbvh_plan &plan, const psvd_box &box, uint32_t place_bits) {
    uint32_t cell[3], rest[3], size_class = 0, place = 0;
    float size = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const float centre = 0.5f * box.min[axis] + 0.5f * box.max[axis]; // NaN for an infinite box: cell 0
        const float at = (centre - plan.low[axis]) * plan.inverse[axis];
        const uint32_t cells = 1u << plan.bits[axis];
        cell[axis] = min((uint32_t)fminf(fmaxf(at, 0.0f), (float)cells), cells - 1);
        rest[axis] = cell[axis] & ((1u << plan.curve_bits) - 1);
        size = fmaxf(size, box.max[axis] - box.min[axis]);
    }
#pragma unroll
    for (int i = 0; i < (1 << PSVI_LBVH_CLASS_BITS) - 1; ++i)
        size_class += size > plan.class_sizes[i];
    for (uint32_t i = 0; i < plan.halvings; ++i)
        place = place << 1 | (pick_bits(cell, plan.axes[i]) >> plan.shifts[i] & 1u);
    if (plan.curve_bits > 0) place = place << (3 * plan.curve_bits) | psvi_short_hilbert_place(rest, plan.curve_bits);
    return size_class << (place_bits - PSVI_LBVH_CLASS_BITS) | place;
}

// One key a slot; boxes that take no part sort last. One thread a slot; reads 24 bytes and writes 4.
__global__ void __launch_bounds__(LBVH_KEY_THREADS)
    psvk_lbvh_keys(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ psvi_lbvh_plan plan;
    __shared__ float2 pieces[LBVH_KEY_THREADS / 32][96];
    if (threadIdx.x < sizeof plan / 4)
        reinterpret_cast<uint32_t *>(&plan)[threadIdx.x] = reinterpret_cast<const uint32_t *>(memory.plan)[threadIdx.x];
    __syncthreads();
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)blockIdx.x * LBVH_KEY_THREADS + threadIdx.x;
    const bool here = slot < counts.all();
    psvd_box box = {};
    uint32_t tag;
    const psvd_state state = psvd_load_following(input, counts, here, slot, &box, &tag, pieces[threadIdx.x / 32]);
    uint32_t key = 1u << (memory.place_bits + memory.world_bits);
    if (state == PSVD_BOX_GOOD) {
        const uint32_t world = slot < counts.a ? psvd_world_of(input.a, slot) : psvd_world_of(input.b, slot - counts.a);
        key = lbvh_place(plan, box, memory.place_bits);
        if (memory.world_bits != 0) key |= (world >> memory.world_shift) << memory.place_bits;
    }
    if (here) memory.keys[slot] = key;
    if (state == PSVD_BOX_BAD) psvd_report_bad(input, counts, slot);
    const int good = __syncthreads_count(state == PSVD_BOX_GOOD);
    if (threadIdx.x == 0 && good != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)good);
}

// --- leaves and runs -------------------------------------------------------------------------------------------------

struct run_box {
    float low[3], high[3];
};

__device__ __forceinline__ run_box no_box() {
    return {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
}

__device__ __forceinline__ void merge_eight(run_box &box) {
#pragma unroll
    for (int step = 1; step < 8; step *= 2)
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            box.low[axis] = fminf(box.low[axis], __shfl_xor_sync(PSVD_FULL, box.low[axis], step));
            box.high[axis] = fmaxf(box.high[axis], __shfl_xor_sync(PSVD_FULL, box.high[axis], step));
        }
}

__device__ __forceinline__ float4 *box_at(const psvi_lbvh_memory &memory, uint32_t level, uint32_t number) {
    return reinterpret_cast<float4 *>(memory.boxes) + 2 * (memory.start[level] + number);
}

// The block has 512 boxes of LEVEL in a row, one a thread, the first of them number `first` of `count`; writes those of
// the three levels above. All threads together; `runs` has room for 64.
template <uint32_t LEVEL>
__device__ __forceinline__ void merge_levels(const psvi_lbvh_memory &memory, run_box box, uint32_t first,
                                             uint32_t count, run_box *runs) {
    uint32_t threads = LBVH_LEAF_THREADS;
#pragma unroll
    for (uint32_t level = LEVEL + 1; level <= LEVEL + 3; ++level) {
        if (threadIdx.x / 32 * 32 < threads) merge_eight(box);
        const uint32_t child = first + threadIdx.x;
        if (threadIdx.x < threads && threadIdx.x % 8 == 0) {
            runs[threadIdx.x / 8] = box;
            if (child < count) {
                float4 *const to = box_at(memory, level, child / 8);
                __stcg(to, make_float4(box.low[0], box.low[1], box.low[2], 0));
                __stcg(to + 1, make_float4(box.high[0], box.high[1], box.high[2], 0));
            }
        }
        first /= 8, count = (count + 7) / 8, threads /= 8;
        __syncthreads();
        box = threadIdx.x < threads ? runs[threadIdx.x] : no_box();
        __syncthreads();
    }
}

// Whether the block is the last of `all` to come, and then sees what the others wrote. All threads together.
__device__ __forceinline__ bool is_last_block(uint32_t *ticket, uint32_t all, bool *last) {
    if (threadIdx.x == 0) {
        __threadfence();
        *last = atomicAdd(ticket, 1u) + 1 == all;
    }
    __syncthreads();
    if (*last) __threadfence();
    return *last;
}

// 512 runs of LEVEL in a row, from number `first` on, and the three levels above.
template <uint32_t LEVEL>
__device__ __forceinline__ void merge_runs(const psvi_lbvh_memory &memory, uint32_t first, uint32_t count,
                                           run_box *runs) {
    const uint32_t number = first + threadIdx.x;
    run_box box = no_box();
    if (number < count) {
        const float4 low = __ldcg(box_at(memory, LEVEL, number)), high = __ldcg(box_at(memory, LEVEL, number) + 1);
        box = {{low.x, low.y, low.z}, {high.x, high.y, high.z}};
    }
    merge_levels<LEVEL>(memory, box, first, count, runs);
}

// Leaves in sorted order, and the runs. One thread a leaf; a block makes 512 leaves and three levels above them, the
// last of 512 blocks the next three, and so on. Reads 28 bytes a leaf, scattered, and writes 37.
__global__ void __launch_bounds__(LBVH_LEAF_THREADS)
    psvk_lbvh_leaves(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ float2 pieces[LBVH_LEAF_THREADS / 32][96];
    __shared__ run_box runs[LBVH_LEAF_THREADS / 8];
    __shared__ bool last;
    const psvd_counts counts = psvd_read_counts(input);
    const uint32_t boxes = (uint32_t)input.result->boxes;
    uint32_t top = 0, at_top = boxes;
    for (; at_top > 32; ++top)
        at_top = (at_top + 7) / 8;
    const uint32_t block = blockIdx.x, first = block * LBVH_LEAF_THREADS, i = first + threadIdx.x;
    if (i == 0) {
        memory.plan->boxes = boxes;
        memory.plan->top = top;
        input.result->rows = (boxes + 7) / 8;
    }
    if (first >= boxes) return;
    const bool here = i < boxes;
    const uint32_t slot = here ? memory.order[i] : 0;
    psvd_box box = {};
    uint32_t tag;
    (void)psvd_load_together(input, counts, here, slot, &box, &tag, pieces[threadIdx.x / 32]);
    run_box own = no_box();
    if (here) {
        float4 *const leaf = box_at(memory, 0, i);
        leaf[0] = make_float4(box.min[0], box.min[1], box.min[2], __uint_as_float(slot));
        leaf[1] = make_float4(box.max[0], box.max[1], box.max[2], __uint_as_float(tag));
        own = {{box.min[0], box.min[1], box.min[2]}, {box.max[0], box.max[1], box.max[2]}};
    }
    merge_levels<0>(memory, own, first, boxes, runs);
    if (top <= 3) return;
    const uint32_t runs_3 = (boxes - 1) / 512 + 1, runs_6 = (runs_3 - 1) / 512 + 1;
    if (!is_last_block(memory.tickets + block / 512, min(512u, runs_3 - block / 512 * 512), &last)) return;
    merge_runs<3>(memory, block / 512 * 512, runs_3, runs);
    if (top <= 6) return;
    const uint32_t six = block / 512;
    uint32_t *const ticket = memory.tickets + memory.ticket_room - 1 - six / 512;
    if (!is_last_block(ticket, min(512u, runs_6 - six / 512 * 512), &last)) return;
    merge_runs<6>(memory, six / 512 * 512, runs_6, runs);
}

extern "C" cudaError_t psvi_launch_lbvh_keys(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                             cudaStream_t stream) {
    psvk_lbvh_plan<<<1, 4 * LBVH_SAMPLES, 0, stream>>>(*input, *memory);
    psvk_lbvh_keys<<<psvi_block_count(psvi_most_boxes(input), LBVH_KEY_THREADS), LBVH_KEY_THREADS, 0, stream>>>(
        *input, *memory);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_lbvh_build(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                              cudaStream_t stream) {
    psvk_lbvh_leaves<<<psvi_block_count(psvi_most_boxes(input), LBVH_LEAF_THREADS), LBVH_LEAF_THREADS, 0, stream>>>(
        *input, *memory);
    return cudaGetLastError();
}
