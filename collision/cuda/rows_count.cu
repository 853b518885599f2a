// The sort of `rows` by counting: one radix pass over a digit as wide as the key. The key kernel has counted the boxes
// of every cell; here the counts become starts, and the records go to their places.
#include "launch_cuda.h"
#include "rows_launch.cuh"
#include "rows_light.cuh"

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

__device__ __forceinline__ uint32_t crowd_of(uint32_t count) { return count >= ROWS_LIGHT_CROWD ? count : 0u; }

// Starts of all cells and of the end, from the counts, which it clears for the next frame. One tile of cells a block;
// the tiles are chained by look-back (Merrill & Garland 2016). Reads and writes 12 bytes a cell. Also counts the boxes
// in crowded cells.
__global__ void __launch_bounds__(ROWS_SCAN_THREADS)
    psvk_rows_scan(psvi_rows_plan *plan, uint32_t *counts, uint32_t *starts, uint64_t *states) {
    __shared__ uint32_t sums[WARPS];
    __shared__ uint32_t before_tile;
    rows_wait_for_front();
    const uint32_t cells = plan->cells + 1, epoch = plan->epoch, tile = blockIdx.x; // the end is a cell of no boxes
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if ((uint64_t)tile * TILE >= cells) return;
    const uint64_t first = (uint64_t)tile * TILE + threadIdx.x * 4;
    uint4 count[ROWS_SCAN_ITEMS / 4];
    uint32_t sum[ROWS_SCAN_ITEMS / 4], total = 0, crowded = 0;
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
        if (own >= ROWS_LIGHT_CROWD)
            crowded += crowd_of(count[i].x) + crowd_of(count[i].y) + crowd_of(count[i].z) + crowd_of(count[i].w);
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
    if (!__syncthreads_or(crowded != 0)) return;
    crowded = psvd_reduce_add(crowded);
    if (lane == 0) sums[warp] = crowded;
    __syncthreads();
    if (warp != 0) return;
    crowded = psvd_reduce_add(lane < WARPS ? sums[lane] : 0u);
    if (lane == 0) atomicAdd(&plan->crowded, crowded);
}

// A record per lane to its place, unless that is PSVD_FULL: two lanes write the halves of one record together, so that
// a whole sector goes out at once. All lanes together; `halves`: of the warp's own.
__device__ __forceinline__ void write_record(const psvd_record &record, uint32_t place, float4 (*halves)[2],
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

// What the light sweep wants of a box, to its place.
__device__ __forceinline__ void write_light(psvi_rows_plan *plan, const psvd_record &record, uint32_t rank,
                                            const uint32_t *starts, const rows_light_arrays &arrays) {
    const uint32_t at = __ffs(plan->populated) - 1;
    const psvi_rows_level &level = plan->level[at];
    uint32_t cell;
    const uint4 entry = rows_light_entry(level, __uint_as_float(plan->longest[at]), record, &cell);
    if (entry.w == 0) cell = rows_key(level, record);
    const uint32_t place = starts[cell] + rank;
    rows_write_entry(arrays.entries + place, entry);
    if (entry.w == 0) arrays.listed[atomicAdd(&plan->listed, 1u)] = place;
}

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
#define SCATTER_RESIDENT ROWS_SCATTER_BLOCKS
#else
#define SCATTER_RESIDENT 4
#endif

// Records to their places: the start of the box's cell and its rank there. One thread a slot; reads 28 bytes and a
// start, writes 32 (scattered, a sector each), or 16 for the light sweep.
__global__ void __launch_bounds__(ROWS_SCATTER_THREADS, SCATTER_RESIDENT)
    psvk_rows_scatter(const __grid_constant__ psvi_find_input input, psvi_rows_plan *plan, const uint32_t *ranks,
                      const uint32_t *starts, float4 *records, const __grid_constant__ rows_light_arrays arrays,
                      bool may_be_light) {
    __shared__ float2 pieces[ROWS_SCATTER_THREADS / 32][96];
    __shared__ float4 staged[ROWS_SCATTER_THREADS / 32][32][2];
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)blockIdx.x * ROWS_SCATTER_THREADS + threadIdx.x;
    psvd_box box = {};
    uint32_t tag;
    const bool good = psvd_load_following(input, counts, slot < counts.all(), slot, &box, &tag,
                                          pieces[threadIdx.x >> 5]) == PSVD_BOX_GOOD;
    rows_wait_for_front(); // the boxes are not of its making
    const psvd_record record = rows_record(*plan, box, (uint32_t)slot, tag);
    const uint32_t rank = good ? ranks[slot] : 0;
    if (may_be_light && rows_is_light(plan, input.result->boxes)) {
        if (good) write_light(plan, record, rank, starts, arrays);
        return;
    }
    uint32_t place = PSVD_FULL; // takes no part
    if (good) place = starts[rows_key(plan->level[rows_record_level(*plan, record)], record)] + rank;
    __syncwarp();
    write_record(record, place, staged[threadIdx.x >> 5], records);
}

extern "C" cudaError_t psvi_launch_rows_scan(const psvi_find_input *input, const psvi_rows_memory *memory,
                                             cudaStream_t stream) {
    (void)input;
    const uint32_t blocks = psvi_block_count(((uint64_t)1 << memory->key_bits) + 1, TILE);
    return rows_launch_early(memory, stream, psvk_rows_scan, blocks, ROWS_SCAN_THREADS, 0, memory->plan,
                             memory->cell_counts, memory->starts, memory->scan_states);
}

extern "C" cudaError_t psvi_launch_rows_scatter(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                cudaStream_t stream) {
    const uint32_t blocks = psvi_block_count(psvi_most_boxes(input), ROWS_SCATTER_THREADS);
    return rows_launch_early(memory, stream, psvk_rows_scatter, blocks, ROWS_SCATTER_THREADS, 0, *input, memory->plan,
                             memory->order, memory->starts, reinterpret_cast<float4 *>(memory->records),
                             rows_light_arrays_of(memory), rows_may_be_light(input, memory));
}
