// The third kernel of `rows`: records in the order of the keys, and the start table.
#include "../../launch_cuda.h"
#include "../plan/rows_cells.cuh"

#define WARPS (PSVI_BLOCK_THREADS / 32)
#define PER_THREAD ((8 * PSVI_BLOCK_THREADS) / PSVI_BLOCK_THREADS)
#define NO_PLACE 0xffffffffu

struct gather_shared {
    uint32_t span[(8 * PSVI_BLOCK_THREADS) +
                  (8 * PSVI_BLOCK_THREADS) / PER_THREAD]; // padded: threads work on runs of PER_THREAD
    uint32_t warp_least[WARPS];
    float2 pieces[WARPS][96];
};

__device__ __forceinline__ uint32_t padded(uint32_t i) { return i + i / PER_THREAD; }

// The starts of `cells` cells from `first` on, at most (8 * PSVI_BLOCK_THREADS). Each is the least place whose key is
// not less. It is a minimum over the cells that follow, and over `behind`, the start of the cell after them. Returns
// the start of the first one. All threads of the block.
__device__ __forceinline__ uint32_t fill_span(uint32_t *starts, uint64_t first, uint32_t cells, uint32_t behind,
                                              bool begins, uint32_t key, uint32_t place, gather_shared *shared) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, own = threadIdx.x * (PER_THREAD + 1);
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i)
        shared->span[own + i] = NO_PLACE;
    __syncthreads();
    if (begins && key >= first && key - first < cells) shared->span[padded((uint32_t)(key - first))] = place;
    __syncthreads();
    uint32_t mine[PER_THREAD], least = NO_PLACE;
#pragma unroll
    for (int i = PER_THREAD - 1; i >= 0; --i)
        mine[i] = least = min(least, shared->span[own + i]);
    uint32_t following = least; // over this thread and the later ones
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t theirs = __shfl_down_sync(PSVD_FULL, following, step);
        if (lane + step < 32) following = min(following, theirs);
    }
    if (lane == 0) shared->warp_least[warp] = following;
    following = __shfl_down_sync(PSVD_FULL, following, 1);
    if (lane == 31) following = behind;
    following = min(following, behind);
    __syncthreads();
    uint32_t all = behind;
#pragma unroll
    for (uint32_t w = 0; w < WARPS; ++w) {
        all = min(all, shared->warp_least[w]);
        if (w > warp) following = min(following, shared->warp_least[w]);
    }
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i)
        shared->span[own + i] = min(mine[i], following);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < cells; i += PSVI_BLOCK_THREADS)
        starts[first + i] = shared->span[padded(i)];
    return all;
}

// All cells from `first` to before `end`, from the last to the first; a window in which no box begins is filled at
// once. `behind`: the start of cell `end`.
__device__ __forceinline__ void fill_cells(uint32_t *starts, uint64_t first, uint64_t end, uint32_t behind, bool begins,
                                           uint32_t key, uint32_t place, gather_shared *shared) {
    while (end > first) {
        const uint64_t window = end - first > (8 * PSVI_BLOCK_THREADS) ? end - (8 * PSVI_BLOCK_THREADS) : first;
        if (__syncthreads_or(begins && key >= window && key < end)) {
            behind = fill_span(starts, window, (uint32_t)(end - window), behind, begins, key, place, shared);
        } else {
            for (uint64_t cell = window + threadIdx.x; cell < end; cell += PSVI_BLOCK_THREADS)
                starts[cell] = behind;
        }
        end = window;
    }
}

// One thread a place: its record (x, y, z after the choice of axes). Also the starts of the cells behind the block
// before, up to the block's own last one. The last block goes on to the end of the table. Reads 32 bytes (24 of them
// scattered), writes 32 and the block's cells.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_rows_sorted_gather(const psvi_find_input input, const psvi_rows_plan *plan, const uint32_t *keys,
                            const uint32_t *order, uint32_t *starts, float4 *records) {
    __shared__ gather_shared shared;
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t boxes = input.result->boxes, block_first = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS;
    if (block_first >= boxes) return;
    const uint64_t place = block_first + threadIdx.x, block_end = block_first + PSVI_BLOCK_THREADS;
    const bool here = place < boxes;
    const uint64_t at = here ? place : boxes - 1;
    const uint32_t slot = order[at], key = keys[at];
    const bool begins = here && (place == 0 || keys[place - 1] != key);
    uint32_t tag;
    psvd_box box;
    (void)psvd_load_together(input, counts, here, slot, &box, &tag, shared.pieces[threadIdx.x >> 5]);
    if (here) {
        const int axis_x = plan->axis[0];
        psvd_record record;
        if (axis_x == 0)
            record = psvd_make_record(box, 0, 1, 2, slot, tag);
        else if (axis_x == 1)
            record = psvd_make_record(box, 1, 0, 2, slot, tag);
        else
            record = psvd_make_record(box, 2, 0, 1, slot, tag);
        records[2 * place] = record.first;
        records[2 * place + 1] = record.second;
    }
    const uint64_t cells_first = block_first == 0 ? 0 : (uint64_t)keys[block_first - 1] + 1;
    const uint64_t cells_end = block_end < boxes ? (uint64_t)keys[block_end - 1] + 1 : (uint64_t)plan->cells + 1;
    fill_cells(starts, cells_first, cells_end, (uint32_t)min((unsigned long long)block_end, (unsigned long long)boxes),
               begins, key, (uint32_t)place, &shared);
}

extern "C" cudaError_t psvi_launch_rows_sorted_gather(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                      cudaStream_t stream) {
    psvk_rows_sorted_gather<<<psvi_block_count(psvi_most_boxes(input), PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0,
                              stream>>>(*input, memory->plan, memory->sorted.sorted_keys, memory->sorted.order,
                                        memory->starts, reinterpret_cast<float4 *>(memory->records));
    return cudaGetLastError();
}
