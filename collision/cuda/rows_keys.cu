// The first two kernels of `rows`: the plan of this frame's levels and cells, and the keys.
#include <stddef.h>

#include "launch_cuda.h"
#include "rows_launch.cuh"
#include "rows_many.cuh"
#include "rows_plan.cuh"

// Should the light sweep rest? It does after a frame with more than a pair in doubt a box, such as boxes that touch
// make, the longer the more often that has happened.
__device__ __forceinline__ void rows_pause_light(const psvi_rows_plan &last, psvi_rows_plan *plan) {
    const bool doubted = last.doubted > plan->slots;
    plan->penalty = doubted ? min(max(2 * last.penalty, 8u), 256u) : last.pause > 0 ? last.penalty : 0;
    plan->pause = doubted ? plan->penalty : last.pause - (last.pause > 0);
    plan->doubted = 0;
}

// The plan of a frame. One block, one box a thread.
__global__ void __launch_bounds__(ROWS_SAMPLES)
    psvk_rows_plan(const psvi_find_input input, psvi_rows_plan *target, uint32_t key_bits) {
    rows_let_next_begin();
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
        rows_pause_light(*target, &plan);
        input.result->key_bits = key_bits;
    }
    __syncthreads();
    const uint32_t *const from = reinterpret_cast<const uint32_t *>(&plan);
    for (uint32_t i = threadIdx.x; i < sizeof plan / 4; i += ROWS_SAMPLES)
        reinterpret_cast<uint32_t *>(target)[i] = from[i];
}

struct key_shared {
    psvi_rows_plan plan; // its longest and populated are the block's own
    uint32_t boxes, huge, unusual;
    float2 pieces[ROWS_KEY_THREADS / 32][ROWS_KEY_ITEMS][96];
};

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
        if (shared.unusual != 0) atomicAdd(&plan->unusual, shared.unusual);
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
// With COUNT it counts the boxes of every cell instead; the count before a box is its rank within the cell.
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
            psvd_load_following(input, counts, slot < all, slot, &box[i], &tag[i], shared.pieces[threadIdx.x >> 5][i]);
    }
    rows_wait_for_front(); // the boxes are not of its making
    const uint32_t *const words = reinterpret_cast<const uint32_t *>(plan);
    for (uint32_t i = threadIdx.x; i < offsetof(psvi_rows_plan, populated) / 4; i += ROWS_KEY_THREADS)
        reinterpret_cast<uint32_t *>(&shared.plan)[i] = words[i];
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1)) shared.plan.longest[threadIdx.x] = 0;
    if (threadIdx.x == 0) shared.plan.populated = shared.boxes = shared.huge = shared.unusual = 0;
    __syncthreads();
    const uint32_t cells = shared.plan.cells;
    uint32_t present = 0, good = 0, huge = 0, unusual = 0;
#pragma unroll
    for (int i = 0; i < ROWS_KEY_ITEMS; ++i) {
        const uint64_t slot = first + i * ROWS_KEY_THREADS;
        uint32_t key = cells;
        if (state[i] == PSVD_BOX_GOOD) {
            const psvd_record record = rows_record(shared.plan, box[i], (uint32_t)slot, tag[i]);
            const uint32_t level = rows_record_level(shared.plan, record);
            const uint32_t length = __float_as_uint(__fsub_ru(record.first.y, record.first.x)); // not negative
            const psvi_rows_level &own = shared.plan.level[level];
            ++good;
            huge += level == shared.plan.levels;
            rows_near near;
            const bool plain = COUNT && !input.between && input.world_count <= 1;
            if (plain && rows_near_of(own, own.limit, record, 0, &near)) {
                key = near.own;
            } else {
                key = rows_key(own, record);
                ++unusual;
            }
            const bool second = tag[i] & PSVD_TAG_SET_B;
            present |= 1u << (level + (second ? 16 : 0));
            uint32_t *const longest = &shared.plan.longest[level + (second ? ROWS_LEVELS + 1 : 0)];
            if (length > *(volatile uint32_t *)longest) atomicMax(longest, length);
        } else if (state[i] == PSVD_BOX_BAD) {
            psvd_report_bad(input, counts, slot);
        }
        if (!COUNT) {
            if (slot < all) keys[slot] = key;
        } else {
            const uint32_t rank = take_rank(cell_counts, key, state[i] == PSVD_BOX_GOOD);
            if (slot < all) ranks[slot] = rank;
        }
    }
    __syncwarp();
    present = psvd_reduce_or(present);
    good = psvd_reduce_add(good);
    huge = psvd_reduce_add(huge);
    unusual = psvd_reduce_add(unusual);
    if ((threadIdx.x & 31) == 0) {
        atomicOr(&shared.plan.populated, present);
        atomicAdd(&shared.boxes, good);
        if (huge != 0) atomicAdd(&shared.huge, huge);
        if (unusual != 0) atomicAdd(&shared.unusual, unusual);
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
        return rows_launch_early(memory, stream, psvk_rows_keys<true>, blocks, ROWS_KEY_THREADS, 0, *input,
                                 memory->plan, nullptr, memory->order, memory->cell_counts);
    return rows_launch_early(memory, stream, psvk_rows_keys<false>, blocks, ROWS_KEY_THREADS, 0, *input, memory->plan,
                             memory->keys, nullptr, nullptr);
}
