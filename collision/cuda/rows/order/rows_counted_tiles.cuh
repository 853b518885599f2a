// The sort of `rows` by counting: one radix pass over a digit as wide as the key. Boxes are counted in cells, the
// counts become starts, and the records go to their places: each a tile at a time, by kernels of their own or by one.
#ifndef PAIRSIEVE_COLLISION_ROWS_COUNTED_TILES_CUH
#define PAIRSIEVE_COLLISION_ROWS_COUNTED_TILES_CUH

#include <stddef.h>

#include "../../look_back.cuh"
#include "../rows_launch.cuh"
#include "../rows_uniform.cuh"

#define ROWS_SCAN_TILE (PSVI_BLOCK_THREADS * ROWS_SCAN_ITEMS)
#define ROWS_SCAN_WARPS (PSVI_BLOCK_THREADS / 32)

struct rows_key_shared {
    psvi_rows_plan plan; // its longest and populated are the block's own
    uint32_t boxes, larger, huge, unusual, filtered;
    float2 pieces[PSVI_BLOCK_THREADS / 32][ROWS_ITEMS][96];
};

// Counts of a tile and what it saw, to global memory; atomics only where they change something.
__device__ __forceinline__ void rows_report_tile(const psvi_find_input &input, psvi_rows_plan *plan,
                                                 const rows_key_shared &shared) {
    if (threadIdx.x == 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)shared.boxes);
        if (shared.huge != 0)
            atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->huge_count),
                      (unsigned long long)shared.huge);
        if (shared.larger != 0) atomicAdd(&plan->larger, shared.larger);
        if (shared.unusual != 0) atomicAdd(&plan->unusual, shared.unusual);
        if (shared.filtered != 0) *(volatile uint32_t *)&plan->filtered = 1;
        if ((*(volatile uint32_t *)&plan->populated & shared.plan.populated) != shared.plan.populated)
            atomicOr(&plan->populated, shared.plan.populated);
    }
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1) && shared.plan.longest[threadIdx.x] != 0)
        if (*(volatile uint32_t *)&plan->longest[threadIdx.x] < shared.plan.longest[threadIdx.x])
            atomicMax(&plan->longest[threadIdx.x], shared.plan.longest[threadIdx.x]);
}

// Keys of a tile of PSVI_BLOCK_THREADS * ROWS_ITEMS slots, one a slot. Boxes that take no part get the key behind all
// cells. A thread takes ROWS_ITEMS slots, a block's width apart; what the block saw is collected in shared memory.
// Reads 24 bytes a slot, writes 4; one atomic a tile and level at most.
// With COUNT it counts the boxes of every cell instead; the count before a box is its rank within the cell.
template <bool COUNT>
__device__ __forceinline__ void rows_key_tile(const psvi_find_input &input, psvi_rows_plan *plan, uint32_t *keys,
                                              uint32_t *ranks, uint32_t *cell_counts, uint32_t tile,
                                              rows_key_shared &shared) {
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t all = counts.all();
    const uint64_t first = (uint64_t)tile * (PSVI_BLOCK_THREADS * ROWS_ITEMS) + threadIdx.x;
    psvd_box box[ROWS_ITEMS];
    uint32_t tag[ROWS_ITEMS];
    psvd_state state[ROWS_ITEMS];
#pragma unroll
    for (int i = 0; i < ROWS_ITEMS; ++i) {
        const uint64_t slot = first + i * PSVI_BLOCK_THREADS;
        state[i] =
            psvd_load_following(input, counts, slot < all, slot, &box[i], &tag[i], shared.pieces[threadIdx.x >> 5][i]);
    }
    psvd_wait_for_front(); // the boxes are not of its making
    const uint32_t *const words = reinterpret_cast<const uint32_t *>(plan);
    for (uint32_t i = threadIdx.x; i < offsetof(psvi_rows_plan, populated) / 4; i += PSVI_BLOCK_THREADS)
        reinterpret_cast<uint32_t *>(&shared.plan)[i] = words[i];
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1)) shared.plan.longest[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        shared.plan.populated = shared.boxes = shared.larger = shared.huge = shared.unusual = shared.filtered = 0;
    __syncthreads();
    if (COUNT && shared.plan.bound.over) return; // to the tree
    const uint32_t cells = shared.plan.cells;
    uint32_t present = 0, good = 0, larger = 0, huge = 0, unusual = 0;
#pragma unroll
    for (int i = 0; i < ROWS_ITEMS; ++i) {
        const uint64_t slot = first + i * PSVI_BLOCK_THREADS;
        uint32_t key = cells;
        if (state[i] == PSVD_BOX_GOOD) {
            const psvd_record record = rows_record(shared.plan, box[i], (uint32_t)slot, tag[i]);
            if (rows_is_too_far(shared.plan, record)) *(volatile uint32_t *)&plan->bound.over = 1;
            const uint32_t level = rows_record_level(shared.plan, record);
            const uint32_t length = __float_as_uint(__fsub_ru(record.first.y, record.first.x)); // not negative
            const psvi_rows_level &own = shared.plan.level[level];
            if (COUNT && input.a.filters != NULL && !input.between && rows_is_filtered(input, slot))
                shared.filtered = 1;
            ++good;
            larger += level != 0;
            huge += level == shared.plan.levels;
            rows_near near;
            const bool plain = COUNT && !input.between && input.world_count <= 1;
            if (plain && rows_near_of<true>(own, own.reach[0], record, 0, &near)) {
                key = near.own;
            } else {
                key = rows_key(own, record);
                unusual += level == 0 || !shared.plan.down;
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
            const uint32_t rank = rows_take_rank(cell_counts, key, state[i] == PSVD_BOX_GOOD);
            if (slot < all) ranks[slot] = rank;
        }
    }
    __syncwarp();
    present = psvd_reduce_or(present);
    good = psvd_reduce_add(good);
    larger = psvd_reduce_add(larger);
    huge = psvd_reduce_add(huge);
    unusual = psvd_reduce_add(unusual);
    if ((threadIdx.x & 31) == 0) {
        atomicOr(&shared.plan.populated, present);
        atomicAdd(&shared.boxes, good);
        if (larger != 0) atomicAdd(&shared.larger, larger);
        if (huge != 0) atomicAdd(&shared.huge, huge);
        if (unusual != 0) atomicAdd(&shared.unusual, unusual);
    }
    __syncthreads();
    rows_report_tile(input, plan, shared);
}

__device__ __forceinline__ uint32_t rows_crowd_of(uint32_t count) { return count >= ROWS_UNIFORM_CROWD ? count : 0u; }

struct rows_scan_shared {
    uint32_t sums[ROWS_SCAN_WARPS];
    uint32_t before_tile;
};

// Starts of a tile of cells, and of the end, from the counts, which it clears for the next frame. The tiles are chained
// by look-back (Merrill & Garland 2016): those before are at work already. Reads and writes 12 bytes a cell. Also
// counts the boxes in crowded cells.
__device__ __forceinline__ void rows_scan_tile(psvi_rows_plan *plan, uint32_t *counts, uint32_t *starts,
                                               uint64_t *states, uint32_t tile, rows_scan_shared &shared) {
    const uint32_t cells = plan->cells + 1, epoch = plan->epoch; // the end is a cell of no boxes
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if ((uint64_t)tile * ROWS_SCAN_TILE >= cells) return;
    const uint64_t first = (uint64_t)tile * ROWS_SCAN_TILE + threadIdx.x * 4;
    uint4 count[ROWS_SCAN_ITEMS / 4];
    uint32_t sum[ROWS_SCAN_ITEMS / 4], total = 0, crowded = 0;
    // Each turn the block takes 4 cells a thread, side by side.
#pragma unroll
    for (int i = 0; i < ROWS_SCAN_ITEMS / 4; ++i) {
        const uint64_t at = first + i * (4 * PSVI_BLOCK_THREADS);
        count[i] = make_uint4(0, 0, 0, 0);
        if (at < cells) {
            count[i] = *reinterpret_cast<const uint4 *>(counts + at);
            *reinterpret_cast<uint4 *>(counts + at) = make_uint4(0, 0, 0, 0);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS_SCAN_ITEMS / 4; ++i) {
        const uint32_t own = count[i].x + count[i].y + count[i].z + count[i].w;
        if (own >= ROWS_UNIFORM_CROWD)
            crowded += rows_crowd_of(count[i].x) + rows_crowd_of(count[i].y) + rows_crowd_of(count[i].z) +
                       rows_crowd_of(count[i].w);
        uint32_t inclusive = own;
#pragma unroll
        for (int step = 1; step < 32; step <<= 1) {
            const uint32_t theirs = __shfl_up_sync(PSVD_FULL, inclusive, step);
            if (lane >= step) inclusive += theirs;
        }
        __syncthreads();
        if (lane == 31) shared.sums[warp] = inclusive;
        __syncthreads();
        uint32_t before = total;
        for (uint32_t w = 0; w < ROWS_SCAN_WARPS; ++w) {
            if (w < warp) before += shared.sums[w];
            total += shared.sums[w];
        }
        sum[i] = before + inclusive - own;
    }
    if (warp == 0) {
        const uint32_t before = psvd_chain_tile(states, tile, epoch, total);
        if (lane == 0) shared.before_tile = before;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ROWS_SCAN_ITEMS / 4; ++i) {
        const uint64_t at = first + i * (4 * PSVI_BLOCK_THREADS);
        uint4 start;
        start.x = shared.before_tile + sum[i];
        start.y = start.x + count[i].x;
        start.z = start.y + count[i].y;
        start.w = start.z + count[i].z;
        if (at < cells) *reinterpret_cast<uint4 *>(starts + at) = start;
    }
    if (!__syncthreads_or(crowded != 0)) return;
    crowded = psvd_reduce_add(crowded);
    if (lane == 0) shared.sums[warp] = crowded;
    __syncthreads();
    if (warp != 0) return;
    crowded = psvd_reduce_add(lane < ROWS_SCAN_WARPS ? shared.sums[lane] : 0u);
    if (lane == 0) atomicAdd(&plan->crowded, crowded);
}

// A record per lane to its place, unless that is PSVD_FULL: two lanes write the halves of one record together, so that
// a whole sector goes out at once. All lanes together; `halves`: of the warp's own.
__device__ __forceinline__ void rows_write_record(const psvd_record &record, uint32_t place, float4 (*halves)[2],
                                                  float4 *records) {
    const uint32_t lane = threadIdx.x & 31;
    halves[lane][0] = record.first;
    halves[lane][1] = record.second;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const uint32_t from = lane / 2 + 16 * i, target = __shfl_sync(PSVD_FULL, place, from);
        if (target != PSVD_FULL) records[2ull * target + lane % 2] = halves[from][lane % 2];
    }
}

struct rows_scatter_shared {
    float2 pieces[PSVI_BLOCK_THREADS / 32][96];
    float4 staged[PSVI_BLOCK_THREADS / 32][32][2];
};

// Records of a tile of PSVI_BLOCK_THREADS slots to their places: the start of the box's cell and its rank there. One
// thread a slot; reads 28 bytes and a start, writes 32 (scattered, a sector each).
__device__ __forceinline__ void rows_scatter_tile(const psvi_find_input &input, const psvi_rows_plan *plan,
                                                  const uint32_t *ranks, const uint32_t *starts, float4 *records,
                                                  uint32_t tile, rows_scatter_shared &shared) {
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)tile * PSVI_BLOCK_THREADS + threadIdx.x;
    psvd_box box = {};
    uint32_t tag;
    const bool good = psvd_load_following(input, counts, slot < counts.all(), slot, &box, &tag,
                                          shared.pieces[threadIdx.x >> 5]) == PSVD_BOX_GOOD;
    psvd_wait_for_front(); // the boxes are not of its making
    if (plan->bound.over) return;
    const psvd_record record = rows_record(*plan, box, (uint32_t)slot, tag);
    const uint32_t rank = good ? ranks[slot] : 0;
    uint32_t place = PSVD_FULL; // takes no part
    if (good) place = starts[rows_key(plan->level[rows_record_level(*plan, record)], record)] + rank;
    __syncwarp();
    rows_write_record(record, place, shared.staged[threadIdx.x >> 5], records);
}

#endif
