// The second pass of the sort of `rows` by bins: blocks order one bin each by cells.
#include "../../launch_cuda.h"
#include "../rows_launch.cuh"
#include "rows_bins.cuh"
#include "rows_segments.cuh"

#define THREADS ROWS_ORDER_BIN_THREADS
#define WARPS (THREADS / 32)
#define ITEMS (ROWS_BIN_ROOM / THREADS)

static_assert(ROWS_BIN_ROOM % THREADS == 0, "equal parts for all threads");
static_assert(ROWS_BIN_ROOM < 1 << 12 && ROWS_BIN_CELLS <= 1 << 12, "a rank and a cell fit a word together");

struct order_shared {
    uint4 entries[ROWS_BIN_ROOM];
    uint4 cells[ROWS_BIN_CELLS / 8]; // 16 bits a cell: boxes, then how many come before
    uint16_t order[ROWS_BIN_ROOM];
    uint32_t sums[WARPS];
    uint64_t gate;
};

struct order_tables {
    psvi_rows_bins bins;
    uint32_t *starts;
    rows_uniform_arrays uniform;
};

// Of two counts in a word.
__device__ __forceinline__ uint32_t sum_of(uint32_t pair) { return (pair & 0xffffu) + (pair >> 16); }

// The word of counts becomes one of sums before each.
__device__ __forceinline__ uint32_t start_pair(uint32_t pair, uint32_t *before) {
    const uint32_t second = *before + (pair & 0xffffu), starts = *before | second << 16;
    *before = second + (pair >> 16);
    return starts;
}

__device__ __forceinline__ void start_cells(order_shared &shared) {
    uint4 pairs = shared.cells[threadIdx.x];
    const uint32_t own = sum_of(pairs.x) + sum_of(pairs.y) + sum_of(pairs.z) + sum_of(pairs.w);
    uint32_t total, before = rows_sum_before<WARPS>(own, shared.sums, &total);
    pairs.x = start_pair(pairs.x, &before);
    pairs.y = start_pair(pairs.y, &before);
    pairs.z = start_pair(pairs.z, &before);
    pairs.w = start_pair(pairs.w, &before);
    shared.cells[threadIdx.x] = pairs;
}

// Of a frame.
struct order_frame {
    psvi_rows_bin_shape shape;
    uint32_t cells, base_cells; // base_cells: of the first level
    uint32_t boxes, end;        // where cells wind; end: the last cell that is there once more, 0 where they do not
};

// One bin, whose boxes come from place `start` to before `end`: its entries to shared memory, counted by cells on the
// way; from there to their places, in sequence.
__device__ __forceinline__ void order_bin(order_shared &shared, psvi_rows_plan *plan, const order_tables &tables,
                                          const order_frame &frame, uint32_t bin, uint32_t start, uint32_t end,
                                          uint32_t turn) {
    const psvi_rows_bin_shape &shape = frame.shape;
    const uint32_t count = end - start, first = bin * shape.each, last = min(first + shape.each, frame.cells);
    const bool winds = frame.end != 0;
    const uint4 *const from = static_cast<const uint4 *>(tables.bins.entries) + (uint64_t)bin * shape.room;
    const uint16_t *const starts = reinterpret_cast<const uint16_t *>(shared.cells);
    if (HAS_BULK) {
        if (threadIdx.x == 0) copy_bulk(&shared.gate, shared.entries, from, 16 * count);
    } else {
        for (uint32_t i = threadIdx.x; i < count; i += THREADS)
            shared.entries[i] = from[i];
    }
    shared.cells[threadIdx.x] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    if (HAS_BULK) wait_at_gate(&shared.gate, turn);
    uint32_t found[ITEMS]; // cell and rank
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const uint32_t i = threadIdx.x + item * THREADS;
        if (i < count) {
            const uint2 half = *reinterpret_cast<const uint2 *>(&shared.entries[i].z);
            const uint32_t cell = rows_bin_cell(half.x, half.y, winds) - first, shift = (cell & 1) * 16;
            const uint32_t ranks = atomicAdd(reinterpret_cast<uint32_t *>(shared.cells) + cell / 2, 1u << shift);
            found[item] = cell << 16 | (ranks >> shift & 0xffffu);
        }
    }
    __syncthreads();
    start_cells(shared);
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const uint32_t i = threadIdx.x + item * THREADS;
        if (i < count) shared.order[starts[found[item] >> 16] + (found[item] & 0xffffu)] = (uint16_t)i;
    }
#pragma unroll 4
    for (uint32_t cell = first + threadIdx.x; cell < last; cell += THREADS)
        tables.starts[cell] = start + starts[cell - first];
    for (uint32_t cell = max(first, ROWS_WIND_FRONT) + threadIdx.x; cell < min(last, frame.end + 1); cell += THREADS)
        tables.starts[frame.base_cells + cell] = frame.boxes + start + starts[cell - first];
    __syncthreads();
#pragma unroll 2
    for (uint32_t n = threadIdx.x; n < count; n += THREADS) {
        uint4 entry = shared.entries[shared.order[n]];
        if (winds) {
            if (first <= frame.end && rows_bin_cell(entry.z, entry.w, true) <= frame.end) {
                const uint32_t look = entry.w & ~(ROWS_WIND_OWN_MOST << ROWS_WIND_OWN_SHIFT);
                tables.uniform.write_apart(frame.boxes + start + n, make_uint4(entry.x, entry.y, entry.z, look));
            }
            entry.w &= ~(ROWS_WIND_OWN_MOST << ROWS_WIND_OWN_SHIFT);
        } else {
            entry.z &= (1u << ROWS_BIN_OWN_SHIFT) - 1;
        }
        if ((entry.w >> ROWS_LOOK_SPAN_SHIFT & ROWS_LOOK_SPAN) == 0) {
            if ((entry.w & ROWS_LOOK_CELL) < frame.base_cells) // others look down
                tables.uniform.listed[atomicAdd(&plan->listed, 1u)] = start + n;
            entry.w = 0;
        }
        tables.uniform.write_apart(start + n, entry);
    }
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // the next bin is copied to where this one was
#endif
    __syncthreads();
}

// The entries in order of their cells, in any order within one, and the start of each cell. Reads 16 bytes a box,
// writes 16, and 4 a cell.
__global__ void __launch_bounds__(THREADS, ROWS_CODE_POLICY.order_bin_blocks)
    psvk_rows_bins_order(psvi_rows_plan *plan, const __grid_constant__ order_tables tables) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    order_shared &shared = *reinterpret_cast<order_shared *>(dynamic);
    if (threadIdx.x == 0) open_gate(&shared.gate);
    psvd_wait_for_front();
    // All loads go out together, whether they are needed or not.
    const psvi_rows_bin_state &state = *tables.bins.state;
    order_frame frame = {state.shape, plan->cells + 1, plan->level[0].set_cells, 0, 0};
    const psvi_rows_bin_shape &shape = frame.shape;
    const uint32_t done = state.done;
    uint32_t bin = blockIdx.x, start = tables.bins.starts[bin], end = tables.bins.starts[bin + 1], turn = 0;
    if (!done) return;
    if (shape.turns[0] != 0) {
        frame.cells = frame.base_cells + ROWS_WIND_FRONT + 1;
        frame.boxes = tables.bins.starts[shape.bins];
        frame.end = rows_wind_end(plan->level[0]);
    }
    __syncthreads();
    while (bin < shape.bins) {
        order_bin(shared, plan, tables, frame, bin, start, end, turn);
        bin += gridDim.x;
        ++turn;
        if (bin < shape.bins) start = tables.bins.starts[bin], end = tables.bins.starts[bin + 1];
    }
}

extern "C" cudaError_t psvi_prepare_rows_bins_order(psvi_rows_memory *memory) {
    int blocks = 0;
    cudaError_t error = rows_allow_shared(psvk_rows_bins_order, sizeof(order_shared));
    if (error == cudaSuccess)
        error =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, psvk_rows_bins_order, THREADS, sizeof(order_shared));
    if (error != cudaSuccess) return error;
    const uint32_t round = (uint32_t)blocks * memory->multiprocessors;
    memory->bins.round = round < ROWS_BIN_ROUND ? round : ROWS_BIN_ROUND;
    return cudaSuccess;
}

extern "C" cudaError_t psvi_launch_rows_bins_order(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                   cudaStream_t stream) {
    (void)input;
    const order_tables tables = {memory->bins, memory->starts, rows_uniform_arrays_of(memory)};
    return rows_launch_early(memory, stream, psvk_rows_bins_order, memory->bins.round, THREADS, sizeof(order_shared),
                             memory->plan, tables);
}
