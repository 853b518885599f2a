// What building the hierarchy of `lbvh` is made of: the plan, places along a Hilbert curve, leaves and the boxes of
// runs of 8, 64, 512, ... of them.
#ifndef PAIRSIEVE_COLLISION_LBVH_BUILD_CUH
#define PAIRSIEVE_COLLISION_LBVH_BUILD_CUH

#include <float.h>

#include "../src/queries/tree_build.h"
#include "common.cuh"
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
    for (int axis = 0; axis < 3; ++axis)
        plan.bits[axis] = bits[axis];
}

// What coordinates are multiplied by: a power of two, so that cells per length of a scene of tiny numbers are a float,
// and the sides of one of the largest numbers.
__device__ __forceinline__ float lbvh_scale_of(const float low[3], const float high[3]) {
    float reach = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        reach = fmaxf(reach, fmaxf(fabsf(low[axis]), fabsf(high[axis])));
    return reach < 1e-20f ? 0x1p100f : reach > 1e30f ? 0x1p-20f : 1.0f;
}

struct lbvh_plan_shared {
    __align__(16) uint32_t ranked[4][LBVH_SAMPLES];
    float low[4], high[4];
    psvi_lbvh_plan plan;
    // Of the samples of a class: how many there are, and their centres, in order as whole numbers.
    float density[PSVI_LBVH_CLASSES];
    uint32_t count[PSVI_LBVH_CLASSES], least[PSVI_LBVH_CLASSES][3], most[PSVI_LBVH_CLASSES][3];
};

// One of `samples` boxes at equal distances; whether it is good and finite.
__device__ __forceinline__ bool lbvh_load_sample(const psvi_find_input &input, const psvd_counts &counts,
                                                 uint32_t sample, uint32_t samples, psvd_box *box) {
    uint32_t tag;
    const uint64_t slots = counts.all();
    bool good = slots > 0 && psvd_load_slot(input, counts, slots * sample / samples, box, &tag) == PSVD_BOX_GOOD;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        good = good && fabsf(box->min[axis]) <= FLT_MAX && fabsf(box->max[axis]) <= FLT_MAX;
    return good;
}

__device__ __forceinline__ float lbvh_size(const psvd_box &box) {
    return fmaxf(box.max[0] - box.min[0], fmaxf(box.max[1] - box.min[1], box.max[2] - box.min[2]));
}

__device__ __forceinline__ uint32_t lbvh_class(const psvi_lbvh_plan &plan, float size) {
    uint32_t size_class = 0;
#pragma unroll
    for (int i = 0; i < PSVI_LBVH_CLASSES - 1; ++i)
        size_class += size > plan.class_sizes[i];
    return size_class;
}

// The number that psvd_ordered has made a whole one.
__device__ __forceinline__ float lbvh_of_order(uint32_t ordered) {
    return __uint_as_float(ordered ^ ((ordered >> 31) ? 0x80000000u : 0xffffffffu));
}

// What most boxes are like, from the ranked samples: the scene's box and its bits, and the sizes of classes. One
// thread.
__device__ __forceinline__ void lbvh_plan_scene(const psvi_lbvh_memory &memory, lbvh_plan_shared &shared) {
    psvi_lbvh_plan &plan = shared.plan;
    float side[3];
    plan.boxes = plan.parts = 0;
    plan.done = plan.top = 0;
    plan.up = lbvh_scale_of(shared.low, shared.high);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        side[axis] = 1.25f * (plan.up * shared.high[axis] - plan.up * shared.low[axis]);
        plan.low[0][axis] = plan.up * shared.low[axis] - 0.1f * side[axis]; // an eighth of what is inside
        plan.inverse[0][axis] = side[axis];
    }
    float size = LBVH_CLASS_LEAST * shared.low[3];
#pragma unroll
    for (int i = 0; i < PSVI_LBVH_CLASSES - 1; ++i) {
        plan.class_sizes[i] = size;
        size *= i + 1 == LBVH_CLASS_USUAL ? LBVH_CLASS_STEP * LBVH_CLASS_WIDE : LBVH_CLASS_STEP;
    }
    deal_bits(plan, side, memory.place_bits - PSVI_LBVH_CLASS_BITS);
}

// Where a sample of its class is.
__device__ __forceinline__ void lbvh_tell_class(lbvh_plan_shared &shared, const psvd_box &box) {
    const uint32_t at = lbvh_class(shared.plan, lbvh_size(box));
    atomicAdd(&shared.count[at], 1u);
    for (int axis = 0; axis < 3; ++axis) {
        const uint32_t centre = psvd_ordered(0.5f * box.min[axis] + 0.5f * box.max[axis]);
        atomicMin(&shared.least[at][axis], centre);
        atomicMax(&shared.most[at][axis], centre);
    }
}

// The box around the samples of a class, a quarter wider. Where there are few samples, it is the scene's box. For a
// class of small boxes it is that of the next larger class, in which they lie if sizes go with the place. The range of
// the usual class ends where the scene's does, so that a few far boxes do not take the resolution from all others. A
// thread for each class and axis, all of one warp.
__device__ __forceinline__ void lbvh_plan_class(lbvh_plan_shared &shared, uint32_t size_class, uint32_t axis) {
    psvi_lbvh_plan &plan = shared.plan;
    float low = plan.low[0][axis], side = plan.inverse[0][axis];
    uint32_t like = size_class;
    while (like < LBVH_CLASS_USUAL && shared.count[like] < LBVH_CLASS_SAMPLES)
        ++like;
    if (shared.count[like] >= LBVH_CLASS_SAMPLES) {
        const float from = plan.up * lbvh_of_order(shared.least[like][axis]);
        const float to = plan.up * lbvh_of_order(shared.most[like][axis]);
        const float first = from - 0.125f * (to - from), last = first + 1.25f * (to - from);
        const bool usual = like == LBVH_CLASS_USUAL;
        const float end = usual ? fminf(low + side, last) : last;
        low = usual ? fmaxf(low, first) : first;
        side = end - low;
    }
    __syncwarp(); // all have read the scene's box
    plan.low[size_class][axis] = low;
    plan.inverse[size_class][axis] = side > 0 ? (float)(1u << plan.bits[axis]) / side : 0.0f;
}

// The order of the classes: dense ones first. A group searches later boxes, and the box around a group of few boxes far
// apart holds many of a dense class. A thread for each class, all of one warp.
__device__ __forceinline__ void lbvh_order_class(lbvh_plan_shared &shared, uint32_t size_class) {
    float density = log2f((float)shared.count[size_class]); // of none -infinite
    for (int axis = 0; axis < 3; ++axis)
        density -= log2f(fmaxf(1.0f / fmaxf(shared.plan.inverse[size_class][axis], 1e-20f), 1e-20f));
    shared.density[size_class] = density;
    __syncwarp();
    uint32_t before = 0;
    for (uint32_t i = 0; i < PSVI_LBVH_CLASSES; ++i)
        before += shared.density[i] > density || (shared.density[i] == density && i < size_class);
    shared.plan.order[size_class] = (uint8_t)before;
}

// Writes the plan. Four groups of LBVH_SAMPLES samples are ranked against each other, by their centres on the three
// axes and by their sizes. The scene's box is that of the middle fifteen sixteenths, an eighth wider on both sides. So
// a few far boxes do not take the resolution from all others: boxes outside get the key of the nearest cell. Other
// samples tell where the boxes of each class are. Reads 24 bytes a sample. All threads of the block.
template <uint32_t THREADS>
__device__ __forceinline__ void lbvh_make_plan(const psvi_find_input &input, const psvi_lbvh_memory &memory,
                                               lbvh_plan_shared &shared) {
    constexpr uint32_t TURNS = 4 * LBVH_SAMPLES / THREADS; // a thread stands for so many
    const psvd_counts counts = psvd_read_counts(input);
    for (uint32_t i = threadIdx.x; i < memory.ticket_room; i += THREADS)
        memory.tickets[i] = 0;
    psvd_box other[TURNS] = {};
    float own[TURNS];
    uint32_t number[TURNS], samples = 0;
    bool good[TURNS], other_good[TURNS];
#pragma unroll
    for (uint32_t turn = 0; turn < TURNS; ++turn) {
        const uint32_t thread = turn * THREADS + threadIdx.x, sample = thread % LBVH_SAMPLES;
        const uint32_t kind = thread / LBVH_SAMPLES;
        psvd_box box = {};
        good[turn] = lbvh_load_sample(input, counts, sample, LBVH_SAMPLES, &box);
        other_good[turn] = lbvh_load_sample(input, counts, thread, 4 * LBVH_SAMPLES, &other[turn]);
        own[turn] = lbvh_size(box);
        if (kind < 3) own[turn] = 0.5f * psv_pick(box.min, kind) + 0.5f * psv_pick(box.max, kind);
        if (!good[turn]) own[turn] = INFINITY;
        // By whole numbers in the same order, whose lowest bits are the sample's: one comparison each.
        number[turn] = (psvd_ordered(own[turn]) & ~(LBVH_SAMPLES - 1u)) | sample;
        shared.ranked[kind][sample] = number[turn];
    }
    if (threadIdx.x < 4) shared.low[threadIdx.x] = shared.high[threadIdx.x] = 0;
    if (threadIdx.x < PSVI_LBVH_CLASSES) {
        shared.count[threadIdx.x] = 0;
        for (int axis = 0; axis < 3; ++axis)
            shared.least[threadIdx.x][axis] = ~0u, shared.most[threadIdx.x][axis] = 0;
    }
#pragma unroll
    for (uint32_t turn = 0; turn < TURNS; ++turn)
        samples += (uint32_t)__syncthreads_count(good[turn]);
    samples /= 4;
    const uint32_t aside = samples / 32;
#pragma unroll
    for (uint32_t turn = 0; turn < TURNS; ++turn) {
        const uint32_t kind = (turn * THREADS + threadIdx.x) / LBVH_SAMPLES;
        uint32_t rank = 0;
#pragma unroll 16
        for (uint32_t i = 0; i < LBVH_SAMPLES; ++i)
            rank += shared.ranked[kind][i] < number[turn];
        if (good[turn] && rank == (kind < 3 ? aside : samples / 2)) shared.low[kind] = own[turn];
        if (good[turn] && rank == samples - 1 - aside) shared.high[kind] = own[turn];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        shared.plan.slots = counts.all();
        lbvh_plan_scene(memory, shared);
    }
    __syncthreads();
#pragma unroll
    for (uint32_t turn = 0; turn < TURNS; ++turn)
        if (other_good[turn]) lbvh_tell_class(shared, other[turn]);
    __syncthreads();
    if (threadIdx.x < 32) lbvh_plan_class(shared, min(threadIdx.x / 3, PSVI_LBVH_CLASSES - 1u), threadIdx.x % 3);
    __syncthreads();
    if (threadIdx.x < 32) lbvh_order_class(shared, threadIdx.x % PSVI_LBVH_CLASSES);
    __syncthreads();
    const uint32_t *const from = reinterpret_cast<const uint32_t *>(&shared.plan);
    for (uint32_t i = threadIdx.x; i < sizeof shared.plan / 4; i += THREADS)
        reinterpret_cast<uint32_t *>(memory.plan)[i] = from[i];
}

__device__ __forceinline__ uint32_t lbvh_place(const psvi_lbvh_plan &plan, const psvd_box &box, uint32_t place_bits) {
    const uint32_t size_class = lbvh_class(plan, lbvh_size(box));
    uint32_t cell[3], rest[3], place = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const float centre = 0.5f * box.min[axis] + 0.5f * box.max[axis]; // NaN for an infinite box: cell 0
        const float at = (plan.up * centre - plan.low[size_class][axis]) * plan.inverse[size_class][axis];
        const uint32_t cells = 1u << plan.bits[axis];
        cell[axis] = min((uint32_t)fminf(fmaxf(at, 0.0f), (float)cells), cells - 1);
        rest[axis] = cell[axis] & ((1u << plan.curve_bits) - 1);
    }
    for (uint32_t i = 0; i < plan.halvings; ++i)
        place = place << 1 | (pick_bits(cell, plan.axes[i]) >> plan.shifts[i] & 1u);
    if (plan.curve_bits > 0) place = place << (3 * plan.curve_bits) | psvi_short_hilbert_place(rest, plan.curve_bits);
    return plan.order[size_class] << (place_bits - PSVI_LBVH_CLASS_BITS) | place;
}

// The key of a box that takes part.
__device__ __forceinline__ uint32_t lbvh_key(const psvi_find_input &input, const psvd_counts &counts, uint64_t slot,
                                             const psvi_lbvh_plan &plan, const psvi_lbvh_memory &memory,
                                             const psvd_box &box) {
    const uint32_t key = lbvh_place(plan, box, memory.place_bits);
    if (memory.world_bits == 0) return key;
    const uint32_t world = slot < counts.a ? psvd_world_of(input.a, slot) : psvd_world_of(input.b, slot - counts.a);
    return key | (world >> memory.world_shift) << memory.place_bits;
}

// The key of one that takes none: it sorts last.
__device__ __forceinline__ uint32_t lbvh_last_key(const psvi_lbvh_memory &memory) {
    return 1u << (memory.place_bits + memory.world_bits);
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

// One of 512 boxes of a level in a row has been merged with those of its run. The first of the 512 is number `first` of
// `count`. The run is written where there is one.
__device__ __forceinline__ void put_run(const psvi_lbvh_memory &memory, uint32_t level, uint32_t at, uint32_t first,
                                        uint32_t count, const run_box &box, run_box *runs) {
    if (at % 8 != 0) return;
    runs[at / 8] = box;
    if (first + at >= count) return;
    float4 *const to = box_at(memory, level, (first + at) / 8);
    __stcg(to, make_float4(box.low[0], box.low[1], box.low[2], 0));
    __stcg(to + 1, make_float4(box.high[0], box.high[1], box.high[2], 0));
}

// The block has 512 boxes of LEVEL in a row, `box_of` each of them, the first of them number `first` of `count`; writes
// those of the three levels above. All threads together; `runs` has room for 64.
template <uint32_t LEVEL, uint32_t THREADS, class Box>
__device__ __forceinline__ void merge_levels(const psvi_lbvh_memory &memory, uint32_t first, uint32_t count,
                                             run_box *runs, Box box_of) {
#pragma unroll
    for (uint32_t at = threadIdx.x; at - threadIdx.x < 512; at += THREADS) {
        run_box box = box_of(at);
        merge_eight(box);
        put_run(memory, LEVEL + 1, at, first, count, box, runs);
    }
    uint32_t threads = 64;
#pragma unroll
    for (uint32_t level = LEVEL + 2; level <= LEVEL + 3; ++level) {
        first /= 8, count = (count + 7) / 8;
        __syncthreads();
        run_box box = threadIdx.x < threads ? runs[threadIdx.x] : no_box();
        __syncthreads();
        if (threadIdx.x / 32 * 32 < threads) merge_eight(box);
        if (threadIdx.x < threads) put_run(memory, level, threadIdx.x, first, count, box, runs);
        threads /= 8;
    }
    __syncthreads();
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
template <uint32_t LEVEL, uint32_t THREADS>
__device__ __forceinline__ void merge_runs(const psvi_lbvh_memory &memory, uint32_t first, uint32_t count,
                                           run_box *runs) {
    merge_levels<LEVEL, THREADS>(memory, first, count, runs, [&](uint32_t at) {
        const uint32_t number = first + at;
        if (number >= count) return no_box();
        const float4 low = __ldcg(box_at(memory, LEVEL, number)), high = __ldcg(box_at(memory, LEVEL, number) + 1);
        return run_box{{low.x, low.y, low.z}, {high.x, high.y, high.z}};
    });
}

// Leaves in sorted order, and the runs. Block number `block` makes 512 leaves and three levels above them, the last of
// 512 blocks the next three, and so on. Reads 28 bytes a leaf, scattered, and writes 37.
template <uint32_t THREADS> struct lbvh_leaf_shared {
    float2 pieces[THREADS / 32][96];
    run_box runs[64];
    bool last;
};

template <uint32_t THREADS>
__device__ __forceinline__ void lbvh_make_leaves(const psvi_find_input &input, const psvi_lbvh_memory &memory,
                                                 uint32_t boxes, uint32_t block, lbvh_leaf_shared<THREADS> &shared) {
    run_box *const runs = shared.runs;
    const psvd_counts counts = psvd_read_counts(input);
    uint32_t top = 0, at_top = boxes;
    for (; at_top > 32; ++top)
        at_top = (at_top + 7) / 8;
    const uint32_t first = block * 512;
    if (first + threadIdx.x == 0) {
        memory.plan->boxes = boxes;
        memory.plan->top = top;
        input.result->rows = (boxes + 7) / 8;
    }
    if (first >= boxes) return;
    merge_levels<0, THREADS>(memory, first, boxes, runs, [&](uint32_t at) {
        const uint32_t i = first + at;
        const bool here = i < boxes;
        const uint32_t slot = here ? memory.order[i] : 0;
        psvd_box box = {};
        uint32_t tag;
        (void)psvd_load_together(input, counts, here, slot, &box, &tag, shared.pieces[threadIdx.x / 32]);
        if (!here) return no_box();
        float4 *const leaf = box_at(memory, 0, i);
        leaf[0] = make_float4(box.min[0], box.min[1], box.min[2], __uint_as_float(slot));
        leaf[1] = make_float4(box.max[0], box.max[1], box.max[2], __uint_as_float(tag));
        return run_box{{box.min[0], box.min[1], box.min[2]}, {box.max[0], box.max[1], box.max[2]}};
    });
    if (top <= 3) return;
    const uint32_t runs_3 = (boxes - 1) / 512 + 1, runs_6 = (runs_3 - 1) / 512 + 1;
    if (!is_last_block(memory.tickets + block / 512, min(512u, runs_3 - block / 512 * 512), &shared.last)) return;
    merge_runs<3, THREADS>(memory, block / 512 * 512, runs_3, runs);
    if (top <= 6) return;
    const uint32_t six = block / 512;
    uint32_t *const ticket = memory.tickets + memory.ticket_room - 1 - six / 512;
    if (!is_last_block(ticket, min(512u, runs_6 - six / 512 * 512), &shared.last)) return;
    merge_runs<6, THREADS>(memory, six / 512 * 512, runs_6, runs);
}

#endif
