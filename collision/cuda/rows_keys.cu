// The first two kernels of `rows`: the plan of this frame's levels and cells, and the keys.
#include <stddef.h>

#include "launch_cuda.h"
#include "rows_plan.cuh"

// The plan of a frame. One block, one box a thread.
__global__ void __launch_bounds__(ROWS_SAMPLES)
    psvk_rows_plan(const psvi_find_input input, psvi_rows_plan *target, uint32_t key_bits) {
    __shared__ rows_plan_shared<ROWS_SAMPLES> shared;
    psvi_rows_plan &plan = shared.plan;
    rows_make_plan(input, psvd_read_counts(input), (1u << key_bits) - 2, ROWS_CELLS_A_BOX, &shared);
    if (threadIdx.x == 0) {
        plan.epoch = target->epoch + 1;
        // Boxes with many candidates each, by the last frame's count: more warps, so that they can hide latency.
        const uint64_t each = target->candidates / (plan.slots == 0 ? 1 : plan.slots);
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

extern "C" cudaError_t psvi_launch_rows_plan(const psvi_find_input *input, const psvi_rows_memory *memory,
                                             cudaStream_t stream) {
    psvk_rows_plan<<<1, ROWS_SAMPLES, 0, stream>>>(*input, memory->plan, memory->key_bits);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_rows_keys(const psvi_find_input *input, const psvi_rows_memory *memory,
                                             cudaStream_t stream) {
    const cudaError_t error = psvi_launch_rows_plan(input, memory, stream);
    if (error != cudaSuccess) return error;
    const uint32_t blocks = psvi_block_count(psvi_most_boxes(input), ROWS_KEY_THREADS * ROWS_KEY_ITEMS);
    if (memory->counted)
        psvk_rows_keys<true><<<blocks, ROWS_KEY_THREADS, 0, stream>>>(*input, memory->plan, memory->keys, memory->order,
                                                                      memory->cell_counts);
    else
        psvk_rows_keys<false><<<blocks, ROWS_KEY_THREADS, 0, stream>>>(*input, memory->plan, memory->keys, NULL, NULL);
    return cudaGetLastError();
}
