// The kernels of the sort of `rows` by counting, behind that of the keys.
#include "../../launch_cuda.h"
#include "rows_counted_tiles.cuh"

// A tile of cells a block.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_rows_counted_scan(psvi_rows_plan *plan, uint32_t *counts, uint32_t *starts, uint64_t *states) {
    __shared__ rows_scan_shared shared;
    psvd_wait_for_front();
    if (plan->bound.over) return;
    rows_scan_tile(plan, counts, starts, states, blockIdx.x, shared);
}

// A tile of slots a block.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS, ROWS_CODE_POLICY.scatter_blocks)
    psvk_rows_counted_scatter(const __grid_constant__ psvi_find_input input, psvi_rows_plan *plan,
                              const uint32_t *ranks, const uint32_t *starts, float4 *records) {
    __shared__ rows_scatter_shared shared;
    rows_scatter_tile(input, plan, ranks, starts, records, blockIdx.x, shared);
}

extern "C" cudaError_t psvi_launch_rows_counted_scan(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                     cudaStream_t stream) {
    (void)input;
    const uint32_t blocks = psvi_block_count(((uint64_t)1 << memory->key_bits) + 1, ROWS_SCAN_TILE);
    return rows_launch_early(memory, stream, psvk_rows_counted_scan, blocks, PSVI_BLOCK_THREADS, 0, memory->plan,
                             memory->counted.cell_counts, memory->starts, memory->counted.scan_states);
}

extern "C" cudaError_t psvi_launch_rows_counted_scatter(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                        cudaStream_t stream) {
    const uint32_t blocks = psvi_block_count(psvi_most_boxes(input), PSVI_BLOCK_THREADS);
    return rows_launch_early(memory, stream, psvk_rows_counted_scatter, blocks, PSVI_BLOCK_THREADS, 0, *input,
                             memory->plan, memory->counted.ranks, memory->starts,
                             reinterpret_cast<float4 *>(memory->records));
}
