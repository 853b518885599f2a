// The first two kernels of `rows`: the plan of this frame's levels and cells, and the keys.
#include <stddef.h>

#include "launch_cuda.h"
#include "rows_cells.cuh"

#define WARPS (ROWS_SAMPLES / 32)

struct plan_shared {
    float low[3][WARPS], high[3][WARPS]; // of each warp's samples, then their medians in [axis][0]
    float reduced[WARPS];
    uint32_t members[ROWS_LEVELS + 1];
    psvi_rows_plan plan;
};

__device__ __forceinline__ float block_max(float value, plan_shared *shared) {
    for (int step = 16; step > 0; step >>= 1)
        value = fmaxf(value, __shfl_xor_sync(PSVD_FULL, value, step));
    if ((threadIdx.x & 31) == 0) shared->reduced[threadIdx.x >> 5] = value;
    __syncthreads();
    value = shared->reduced[threadIdx.x & (WARPS - 1)];
    for (int step = 16; step > 0; step >>= 1)
        value = fmaxf(value, __shfl_xor_sync(PSVD_FULL, value, step));
    __syncthreads();
    return value;
}

// Medians over the lanes of the finite ones of two values; 0 when there is none.
__device__ __forceinline__ float2 warp_medians(float2 value) {
    const int own = threadIdx.x & 31;
    const bool counts = fabsf(value.x) <= FLT_MAX && fabsf(value.y) <= FLT_MAX;
    const unsigned valid = __ballot_sync(PSVD_FULL, counts);
    if (valid == 0) return make_float2(0, 0);
    int rank_x = 0, rank_y = 0;
#pragma unroll
    for (int lane = 0; lane < 32; ++lane) {
        const float x = __shfl_sync(PSVD_FULL, value.x, lane), y = __shfl_sync(PSVD_FULL, value.y, lane);
        const bool counted = valid >> lane & 1;
        rank_x += counted && (x < value.x || (x == value.x && lane < own));
        rank_y += counted && (y < value.y || (y == value.y && lane < own));
    }
    const int middle = __popc(valid) / 2;
    const int at_x = __ffs(__ballot_sync(PSVD_FULL, counts && rank_x == middle)) - 1;
    const int at_y = __ffs(__ballot_sync(PSVD_FULL, counts && rank_y == middle)) - 1;
    return make_float2(__shfl_sync(PSVD_FULL, value.x, at_x), __shfl_sync(PSVD_FULL, value.y, at_y));
}

// Where most boxes are: the medians over the warps of their samples' least and greatest corners. A few boxes far away
// do not move them.
__device__ __forceinline__ void sample_range(const psvd_box &box, bool good, plan_shared *shared) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (int axis = 0; axis < 3; ++axis) {
        const bool finite = good && fabsf(box.min[axis]) < 1e30f;
        float low = finite ? box.min[axis] : INFINITY, high = finite ? box.min[axis] : -INFINITY;
        for (int step = 16; step > 0; step >>= 1) {
            low = fminf(low, __shfl_xor_sync(PSVD_FULL, low, step));
            high = fmaxf(high, __shfl_xor_sync(PSVD_FULL, high, step));
        }
        if (lane == 0) shared->low[axis][warp] = low, shared->high[axis][warp] = high;
    }
    __syncthreads();
    if (warp < 3) {
        const float2 range = warp_medians(make_float2(shared->low[warp][lane], shared->high[warp][lane]));
        __syncwarp();
        if (lane == 0) shared->low[warp][0] = range.x, shared->high[warp][0] = range.y;
    }
    __syncthreads();
}

__device__ __forceinline__ void choose_axes(plan_shared *shared) {
    psvi_rows_plan &plan = shared->plan;
    int longest = 0;
    for (int axis = 1; axis < 3; ++axis)
        if (shared->high[axis][0] - shared->low[axis][0] > shared->high[longest][0] - shared->low[longest][0])
            longest = axis;
    plan.axis[0] = longest;
    plan.axis[1] = longest == 0 ? 1 : 0;
    plan.axis[2] = longest == 2 ? 1 : 2;
}

// Splits `budget` cells of a level over its axes. Rows as wide as the level's limit where the budget allows, else as
// many rows as an even split gives, wrapping around; what is left divides x. `low` and `spread` tell where most boxes
// are; the cells cover a little more, so that few boxes wrap.
__device__ void divide_level(psvi_rows_level *level, const float *low, const float *spread, float budget,
                             uint32_t world_count) {
    level->worlds = (uint32_t)fminf((float)world_count, fmaxf(budget, 1.0f));
    budget = fmaxf(budget / (float)level->worlds, 1.0f);
    float wanted[3], range[3];
    for (int axis = 0; axis < 3; ++axis) {
        level->origin[axis] = low[axis] - 0.05f * spread[axis] - 1.5f * level->limit;
        range[axis] = 1.1f * spread[axis] + 3.0f * level->limit;
        wanted[axis] = fminf(range[axis] / level->limit + 1.0f, 1e9f);
    }
    if (spread[1] < 0.5f * level->limit) wanted[1] = 1.0f;
    if (spread[2] < 0.5f * level->limit) wanted[2] = 1.0f;
    // Axes in ascending order of what they want: what one does not need goes to the others.
    float left = budget;
    for (int turn = 0; turn < 2; ++turn) { // y and z
        const int axis = (wanted[1] <= wanted[2]) == (turn == 0) ? 1 : 2;
        const float others = turn == 0 ? fminf(wanted[0], wanted[3 - axis]) : wanted[0];
        float share = turn == 0 ? cbrtf(left) : sqrtf(left);
        if (others < share) share = fmaxf(share, left / fmaxf(wanted[0] * (turn == 0 ? wanted[3 - axis] : 1.0f), 1.0f));
        float rows = floorf(fminf(wanted[axis], share));
        if (rows < 4.0f) rows = 1.0f;
        level->cells[axis] = (int32_t)rows;
        level->inverse[axis] = 1.0f / level->limit;
        left = fmaxf(left / rows, 1.0f);
    }
    const float most = fminf(range[0] / level->limit * ROWS_X_STEPS + 2.0f, 1e9f);
    const float steps = floorf(fmaxf(fminf(most, left), 1.0f));
    // Cells that just cover the range, unless they would be much longer than a box: then they wrap.
    const float pitch = steps > 2.0f ? range[0] / (steps - 2.0f) : INFINITY;
    level->cells[0] = (int32_t)steps;
    level->inverse[0] = 1.0f / fmaxf(fminf(pitch, 2.0f * level->limit), level->limit / ROWS_X_STEPS);
}

// Level limits from the sampled extents: the largest, then the largest that is a level's step below it, and so on, so
// that every level fits boxes that are there. Returns the number of sampled levels; limits go coarse to fine.
__device__ __forceinline__ uint32_t choose_limits(float extent, float least, float *limits, plan_shared *shared) {
    uint32_t count = 0;
    float bound = INFINITY;
    while (count < ROWS_LEVELS - ROWS_UPPER_LEVELS) {
        const float largest = block_max(extent < bound ? extent : -1.0f, shared);
        if (largest < 0) break;
        const float limit = fmaxf(largest * ROWS_LIMIT_PAD, least);
        if (threadIdx.x == 0) limits[count] = limit;
        ++count;
        bound = limit / ROWS_LEVEL_STEP;
        if (bound <= least) break;
    }
    if (count > 0) return count;
    if (threadIdx.x == 0) limits[0] = fmaxf(least, 1.0f);
    return 1;
}

__device__ void lay_out(plan_shared *shared, uint32_t sampled, const float *limits, uint32_t world_count, float budget,
                        uint32_t samples) {
    psvi_rows_plan &plan = shared->plan;
    plan.levels = min(sampled + ROWS_UPPER_LEVELS, (uint32_t)ROWS_LEVELS);
    float low[3], spread[3];
    for (int axis = 0; axis < 3; ++axis) {
        low[axis] = shared->low[plan.axis[axis]][0];
        spread[axis] = shared->high[plan.axis[axis]][0] - low[axis];
    }
    const uint32_t own = threadIdx.x;
    if (own < plan.levels) {
        psvi_rows_level *const level = &plan.level[own];
        level->limit =
            own < sampled ? limits[sampled - 1 - own] : limits[0] * powf(ROWS_LEVEL_STEP, (float)(own - sampled + 1));
        const float members = own < sampled ? (float)shared->members[own] / (float)samples : 0.0f;
        divide_level(level, low, spread, fmaxf(budget * members, 32.0f), world_count);
    } else if (own == plan.levels) { // huge boxes: one cell
        psvi_rows_level *const level = &plan.level[own];
        level->limit = INFINITY;
        for (int axis = 0; axis < 3; ++axis)
            level->cells[axis] = 1, level->inverse[axis] = level->origin[axis] = 0.0f;
        level->worlds = 1;
    }
}

// The plan of a frame, from ROWS_SAMPLES boxes spread evenly over the slots: axes (the longest is x), size levels,
// cells. One block, one box a thread. Never decides what is found, only how fast.
__global__ void __launch_bounds__(ROWS_SAMPLES)
    psvk_rows_plan(const psvi_find_input input, psvi_rows_plan *target, uint32_t key_bits) {
    __shared__ plan_shared shared;
    psvi_rows_plan &plan = shared.plan;
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slots = counts.all();
    psvd_box box = {};
    uint32_t tag;
    bool good =
        slots > 0 && psvd_load_slot(input, counts, slots * threadIdx.x / ROWS_SAMPLES, &box, &tag) == PSVD_BOX_GOOD;
    if (threadIdx.x <= ROWS_LEVELS) {
        shared.members[threadIdx.x] = 0;
        plan.longest[threadIdx.x] = plan.longest[threadIdx.x + ROWS_LEVELS + 1] = 0;
    }
    sample_range(box, good, &shared);
    if (threadIdx.x == 0) choose_axes(&shared);
    __syncthreads();
    const int x = plan.axis[0], y = plan.axis[1], z = plan.axis[2];
    const float extent = rows_extent(box.min[x], box.max[x], box.min[y], box.max[y], box.min[z], box.max[z]);
    good = good && extent <= 1e30f;
    // Coordinates have 24 bits: a level much finer than their spacing would split equal boxes by rounding.
    float reach = 0;
    for (int axis = 0; axis < 3; ++axis)
        reach = fmaxf(reach, fmaxf(fabsf(shared.low[axis][0]), fabsf(shared.high[axis][0])));
    const float least = fmaxf(reach * 1e-6f, 1e-30f);
    __shared__ float limits[ROWS_LEVELS];
    const uint32_t sampled = choose_limits(good ? extent : -1.0f, least, limits, &shared);
    __syncthreads();
    if (good) {
        uint32_t level = sampled - 1; // coarse to fine
        while (level > 0 && extent > limits[level])
            --level;
        atomicAdd(&shared.members[sampled - 1 - level], 1u);
    }
    const int samples = __syncthreads_count(good);
    const float room = (float)((1u << key_bits) - 2) * 0.98f - 128.0f * (ROWS_LEVELS + 1);
    const float budget = fminf(room, fmaxf(2.0f * (float)slots, 4096.0f)) * (input.between ? 0.5f : 1.0f);
    lay_out(&shared, sampled, limits, input.world_count, budget, (uint32_t)max(samples, 1));
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t base = 0;
        for (uint32_t i = 0; i <= plan.levels; ++i) {
            psvi_rows_level &level = plan.level[i];
            level.base = base;
            level.set_cells =
                level.worlds * (uint32_t)level.cells[0] * (uint32_t)level.cells[1] * (uint32_t)level.cells[2];
            base += level.set_cells * (input.between ? 2 : 1);
        }
        plan.cells = base;
        plan.slots = slots;
        plan.populated = 0;
        plan.epoch = target->epoch + 1;
        // Boxes with many candidates each, by the last frame's count: more warps, so that they can hide latency.
        const uint64_t each = target->candidates / (slots == 0 ? 1 : slots);
        plan.boxes_per_warp = each < ROWS_MANY_CANDIDATES        ? 32
                              : each < 16 * ROWS_MANY_CANDIDATES ? 8
                                                                 : ROWS_LEAST_A_WARP;
        plan.candidates = 0;
        input.result->key_bits = key_bits;
    }
    __syncthreads();
    const uint32_t *const from = reinterpret_cast<const uint32_t *>(&plan);
    for (uint32_t i = threadIdx.x; i < sizeof plan / 4; i += ROWS_SAMPLES)
        reinterpret_cast<uint32_t *>(target)[i] = from[i];
}

struct key_shared {
    psvi_rows_plan plan; // its longest and populated are the block's own
    uint32_t boxes, huge;
    float2 pieces[ROWS_KEY_THREADS / 32][ROWS_KEY_ITEMS][96];
};

__device__ __forceinline__ uint32_t key_of(const psvi_rows_plan &plan, const psvd_box &box, uint32_t tag,
                                           uint32_t *level, float *length) {
    const bool first_x = plan.axis[0] == 0, last_x = plan.axis[0] == 2;
    const float min_x = first_x ? box.min[0] : last_x ? box.min[2] : box.min[1];
    const float max_x = first_x ? box.max[0] : last_x ? box.max[2] : box.max[1];
    const float min_y = first_x ? box.min[1] : box.min[0], max_y = first_x ? box.max[1] : box.max[0];
    const float min_z = last_x ? box.min[1] : box.min[2], max_z = last_x ? box.max[1] : box.max[2];
    *length = __fsub_ru(max_x, min_x);
    *level = rows_level_of(plan, rows_extent(min_x, max_x, min_y, max_y, min_z, max_z));
    const psvi_rows_level &own = plan.level[*level];
    const int32_t y = rows_cell(min_y, own.origin[1], own.inverse[1], own.cells[1]);
    const int32_t z = rows_cell(min_z, own.origin[2], own.inverse[2], own.cells[2]);
    const int32_t x = rows_cell(min_x, own.origin[0], own.inverse[0], own.cells[0]);
    return rows_base(own, rows_world(own, tag >> PSVD_TAG_WORLD_SHIFT), rows_wrap(y, own.cells[1]),
                     rows_wrap(z, own.cells[2])) +
           (uint32_t)rows_wrap(x, own.cells[0]) + (tag & PSVD_TAG_SET_B ? own.set_cells : 0u);
}

// Rank of a box within its cell. A warp whose boxes all share one cell counts them with one atomic. All lanes together.
__device__ __forceinline__ uint32_t take_rank(uint32_t *cell_counts, uint32_t key, bool good) {
    const uint32_t lane = threadIdx.x & 31;
    __syncwarp();
    const uint32_t first = __shfl_sync(PSVD_FULL, key, 0);
    if (!__all_sync(PSVD_FULL, good && key == first)) return good ? atomicAdd(&cell_counts[key], 1u) : 0;
    uint32_t base = 0;
    if (lane == 0) base = atomicAdd(&cell_counts[key], 32u);
    return __shfl_sync(PSVD_FULL, base, 0) + lane;
}

// Counts of a block and what it saw, to global memory; atomics only where they change something.
__device__ __forceinline__ void report_block(const psvi_find_input &input, psvi_rows_plan *plan,
                                             const key_shared &shared) {
    if (threadIdx.x == 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)shared.boxes);
        if (shared.huge != 0)
            atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->huge_count),
                      (unsigned long long)shared.huge);
        if ((*(volatile uint32_t *)&plan->populated & shared.plan.populated) != shared.plan.populated)
            atomicOr(&plan->populated, shared.plan.populated);
    }
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1) && shared.plan.longest[threadIdx.x] != 0)
        if (*(volatile uint32_t *)&plan->longest[threadIdx.x] < shared.plan.longest[threadIdx.x])
            atomicMax(&plan->longest[threadIdx.x], shared.plan.longest[threadIdx.x]);
}

// One key a slot. Boxes that take no part get the key behind all cells. A
// thread takes ROWS_KEY_ITEMS slots, a block's width apart; what the block saw is collected in shared memory. Reads 24
// bytes a slot, writes 4; one atomic a block and level at most.
// With COUNT also counts the boxes of every cell; the count before a box is its rank within the cell.
template <bool COUNT>
__global__ void __launch_bounds__(ROWS_KEY_THREADS)
    psvk_rows_keys(const psvi_find_input input, psvi_rows_plan *plan, uint32_t *keys, uint32_t *ranks,
                   uint32_t *cell_counts) {
    __shared__ key_shared shared;
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t all = counts.all();
    const uint64_t first = (uint64_t)blockIdx.x * (ROWS_KEY_THREADS * ROWS_KEY_ITEMS) + threadIdx.x;
    psvd_box box[ROWS_KEY_ITEMS];
    uint32_t tag[ROWS_KEY_ITEMS];
    psvd_state state[ROWS_KEY_ITEMS];
#pragma unroll
    for (int i = 0; i < ROWS_KEY_ITEMS; ++i) {
        const uint64_t slot = first + i * ROWS_KEY_THREADS;
        state[i] =
            psvd_load_together(input, counts, slot < all, slot, &box[i], &tag[i], shared.pieces[threadIdx.x >> 5][i]);
    }
    const uint32_t *const words = reinterpret_cast<const uint32_t *>(plan);
    for (uint32_t i = threadIdx.x; i < offsetof(psvi_rows_plan, populated) / 4; i += ROWS_KEY_THREADS)
        reinterpret_cast<uint32_t *>(&shared.plan)[i] = words[i];
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1)) shared.plan.longest[threadIdx.x] = 0;
    if (threadIdx.x == 0) shared.plan.populated = shared.boxes = shared.huge = 0;
    __syncthreads();
    const uint32_t cells = shared.plan.cells;
    uint32_t present = 0, good = 0, huge = 0;
#pragma unroll
    for (int i = 0; i < ROWS_KEY_ITEMS; ++i) {
        const uint64_t slot = first + i * ROWS_KEY_THREADS;
        uint32_t key = cells;
        if (state[i] == PSVD_BOX_GOOD) {
            uint32_t level;
            float length; // not negative: its bits are ordered as integers
            key = key_of(shared.plan, box[i], tag[i], &level, &length);
            ++good;
            huge += level == shared.plan.levels;
            const bool second = tag[i] & PSVD_TAG_SET_B;
            present |= 1u << (level + (second ? 16 : 0));
            uint32_t *const longest = &shared.plan.longest[level + (second ? ROWS_LEVELS + 1 : 0)];
            if (__float_as_uint(length) > *(volatile uint32_t *)longest) atomicMax(longest, __float_as_uint(length));
        } else if (state[i] == PSVD_BOX_BAD) {
            psvd_report_bad(input, counts, slot);
        }
        if (slot < all) keys[slot] = key;
        if (COUNT) {
            const uint32_t rank = take_rank(cell_counts, key, state[i] == PSVD_BOX_GOOD);
            if (slot < all) ranks[slot] = rank;
        }
    }
    __syncwarp();
    present = psvd_reduce_or(present);
    good = psvd_reduce_add(good);
    huge = psvd_reduce_add(huge);
    if ((threadIdx.x & 31) == 0) {
        atomicOr(&shared.plan.populated, present);
        atomicAdd(&shared.boxes, good);
        if (huge != 0) atomicAdd(&shared.huge, huge);
    }
    __syncthreads();
    report_block(input, plan, shared);
}

extern "C" cudaError_t psvi_launch_rows_keys(const psvi_find_input *input, const psvi_rows_memory *memory,
                                             cudaStream_t stream) {
    psvk_rows_plan<<<1, ROWS_SAMPLES, 0, stream>>>(*input, memory->plan, memory->key_bits);
    const uint32_t blocks = psvi_block_count(psvi_most_boxes(input), ROWS_KEY_THREADS * ROWS_KEY_ITEMS);
    if (memory->counted)
        psvk_rows_keys<true><<<blocks, ROWS_KEY_THREADS, 0, stream>>>(*input, memory->plan, memory->keys, memory->order,
                                                                      memory->cell_counts);
    else
        psvk_rows_keys<false><<<blocks, ROWS_KEY_THREADS, 0, stream>>>(*input, memory->plan, memory->keys, NULL, NULL);
    return cudaGetLastError();
}
