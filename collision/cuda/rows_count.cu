// The sort of `rows` by counting: one radix pass over a digit as wide as the key. The key kernel has counted the boxes
// of every cell; here the counts become starts, and the records go to their places.
#include "launch_cuda.h"
#include "rows_cells.cuh"

#define TILE (ROWS_SCAN_THREADS * ROWS_SCAN_ITEMS)
#define WARPS (ROWS_SCAN_THREADS / 32)
#define STATE_SUM 1u    // the tile's own sum is there
#define STATE_PREFIX 2u // the sum of all tiles up to it

// State of a tile: frame number, kind and value in one word, so that nothing has to be cleared between frames.
__device__ __forceinline__ uint64_t make_state(uint32_t epoch, uint32_t kind, uint32_t value) {
    return (uint64_t)(epoch << 2 | kind) << 32 | value;
}

// Sum of all tiles before `tile`: looks back 32 tiles at a time until one knows its prefix. One warp together.
__device__ __forceinline__ uint32_t look_back(const uint64_t *states, uint32_t tile, uint32_t epoch) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t sum = 0;
    for (int64_t last = (int64_t)tile - 1; last >= 0; last -= 32) {
        const int64_t at = last - lane;
        uint64_t state = make_state(epoch, STATE_PREFIX, 0);
        if (at >= 0) do
                state = *(const volatile uint64_t *)(states + at);
            while ((uint32_t)(state >> 34) != (epoch & 0x3fffffffu));
        const uint32_t known = __ballot_sync(PSVD_FULL, (state >> 32 & 3) == STATE_PREFIX);
        const uint32_t nearest = known == 0 ? 31 : __ffs(known) - 1; // lanes further on are included in its prefix
        sum += psvd_reduce_add(lane <= nearest ? (uint32_t)state : 0u);
        if (known != 0) break;
    }
    return sum;
}

// Starts of all cells and of the end, from the counts, which it clears for the next frame. One tile of cells a block;
// the tiles are chained by look-back (Merrill & Garland 2016). Reads and writes 12 bytes a cell.
__global__ void __launch_bounds__(ROWS_SCAN_THREADS)
    psvk_rows_scan(const psvi_rows_plan *plan, uint32_t *counts, uint32_t *starts, uint64_t *states) {
    __shared__ uint32_t sums[WARPS];
    __shared__ uint32_t before_tile;
    const uint32_t cells = plan->cells + 1, epoch = plan->epoch, tile = blockIdx.x; // the end is a cell of no boxes
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if ((uint64_t)tile * TILE >= cells) return;
    const uint64_t first = (uint64_t)tile * TILE + threadIdx.x * 4;
    uint4 count[ROWS_SCAN_ITEMS / 4];
    uint32_t sum[ROWS_SCAN_ITEMS / 4], total = 0;
    // Each turn the block takes 4 cells a thread, side by side.
#pragma unroll
    for (int i = 0; i < ROWS_SCAN_ITEMS / 4; ++i) {
        const uint64_t at = first + i * (4 * ROWS_SCAN_THREADS);
        count[i] = make_uint4(0, 0, 0, 0);
        if (at < cells) {
            count[i] = *reinterpret_cast<const uint4 *>(counts + at);
            *reinterpret_cast<uint4 *>(counts + at) = make_uint4(0, 0, 0, 0);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS_SCAN_ITEMS / 4; ++i) {
        const uint32_t own = count[i].x + count[i].y + count[i].z + count[i].w;
        uint32_t inclusive = own;
#pragma unroll
        for (int step = 1; step < 32; step <<= 1) {
            const uint32_t theirs = __shfl_up_sync(PSVD_FULL, inclusive, step);
            if (lane >= step) inclusive += theirs;
        }
        __syncthreads();
        if (lane == 31) sums[warp] = inclusive;
        __syncthreads();
        uint32_t before = total;
        for (uint32_t w = 0; w < WARPS; ++w) {
            if (w < warp) before += sums[w];
            total += sums[w];
        }
        sum[i] = before + inclusive - own;
    }
    if (warp == 0) {
        if (lane == 0)
            *(volatile uint64_t *)(states + tile) = make_state(epoch, tile == 0 ? STATE_PREFIX : STATE_SUM, total);
        const uint32_t before = tile == 0 ? 0 : look_back(states, tile, epoch);
        if (lane == 0) {
            before_tile = before;
            if (tile != 0) *(volatile uint64_t *)(states + tile) = make_state(epoch, STATE_PREFIX, before + total);
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ROWS_SCAN_ITEMS / 4; ++i) {
        const uint64_t at = first + i * (4 * ROWS_SCAN_THREADS);
        uint4 start;
        start.x = before_tile + sum[i];
        start.y = start.x + count[i].x;
        start.z = start.y + count[i].y;
        start.w = start.z + count[i].z;
        if (at < cells) *reinterpret_cast<uint4 *>(starts + at) = start;
    }
}

// Records to their places: the start of the box's cell and its rank there. One thread a slot; reads 32 bytes and a
// start, writes 32 (scattered, a sector each).
__global__ void __launch_bounds__(ROWS_SCATTER_THREADS)
    psvk_rows_scatter(const psvi_find_input input, const psvi_rows_plan *plan, const uint32_t *keys,
                      const uint32_t *ranks, const uint32_t *starts, float4 *records) {
    const psvd_counts counts = psvd_read_counts(input);
    __shared__ float2 pieces[ROWS_SCATTER_THREADS / 32][96];
    __shared__ float4 staged[ROWS_SCATTER_THREADS / 32][32][2];
    const uint64_t slot = (uint64_t)blockIdx.x * ROWS_SCATTER_THREADS + threadIdx.x;
    const bool here = slot < counts.all();
    const uint32_t cells = plan->cells, key = here ? keys[slot] : cells, rank = here ? ranks[slot] : 0;
    const uint32_t start = key < cells ? __ldg(starts + key) : 0;
    psvd_box box = {};
    uint32_t tag;
    (void)psvd_load_together(input, counts, here, slot, &box, &tag, pieces[threadIdx.x >> 5]);
    const int axis_x = plan->axis[0];
    psvd_record record;
    if (axis_x == 0)
        record = psvd_make_record(box, 0, 1, 2, (uint32_t)slot, tag);
    else if (axis_x == 1)
        record = psvd_make_record(box, 1, 0, 2, (uint32_t)slot, tag);
    else
        record = psvd_make_record(box, 2, 0, 1, (uint32_t)slot, tag);
    // Two lanes write the halves of one record together, so that a whole sector goes out at once.
    const uint32_t lane = threadIdx.x & 31, place = key < cells ? start + rank : PSVD_FULL; // takes no part
    float4(*const halves)[2] = staged[threadIdx.x >> 5];
    halves[lane][0] = record.first;
    halves[lane][1] = record.second;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const uint32_t from = lane / 2 + 16 * i, target = __shfl_sync(PSVD_FULL, place, from);
        if (target != PSVD_FULL) records[2ull * target + lane % 2] = halves[from][lane % 2];
    }
}

extern "C" cudaError_t psvi_launch_rows_scan(const psvi_find_input *input, const psvi_rows_memory *memory,
                                             cudaStream_t stream) {
    (void)input;
    const uint32_t blocks = psvi_block_count(((uint64_t)1 << memory->key_bits) + 1, TILE);
    psvk_rows_scan<<<blocks, ROWS_SCAN_THREADS, 0, stream>>>(memory->plan, memory->cell_counts, memory->starts,
                                                             memory->scan_states);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_rows_scatter(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                cudaStream_t stream) {
    psvk_rows_scatter<<<psvi_block_count(psvi_most_boxes(input), ROWS_SCATTER_THREADS), ROWS_SCATTER_THREADS, 0,
                        stream>>>(*input, memory->plan, memory->keys, memory->order, memory->starts,
                                  reinterpret_cast<float4 *>(memory->records));
    return cudaGetLastError();
}
