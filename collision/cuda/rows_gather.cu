// The third kernel of `rows`: records in the order of the keys, and the start table.
#include "launch_cuda.h"
#include "rows_cells.cuh"

#define GROUP_CELLS (1u << ROWS_GROUP_BITS)
#define OWN_GROUPS 8 // empty groups that a thread passes over alone

struct gap_list {
    uint32_t count;
    uint32_t from[ROWS_GATHER_THREADS], to[ROWS_GATHER_THREADS], place[ROWS_GATHER_THREADS];
};

__device__ __forceinline__ void fill_groups(uint32_t *group_starts, uint32_t from, uint32_t to, uint32_t place,
                                            gap_list *gaps) {
    if (to - from > OWN_GROUPS) {
        const uint32_t at = atomicAdd(&gaps->count, 1u);
        if (at < ROWS_GATHER_THREADS) {
            gaps->from[at] = from, gaps->to[at] = to, gaps->place[at] = place;
            return;
        }
    }
    for (uint32_t group = from; group < to; ++group)
        group_starts[group] = place;
}

// Enters a place whose key differs from the one before: all cells after the earlier key, up to its own, begin here.
// Cells are written in the groups of the two keys only; groups in between hold nothing and are told by the group table.
__device__ __forceinline__ void enter_start(uint32_t *starts, uint32_t *group_starts, int64_t before, uint32_t key,
                                            uint32_t place, gap_list *gaps) {
    const int64_t group = key >> ROWS_GROUP_BITS, earlier = before >> ROWS_GROUP_BITS; // -1 before the first
    if (group != earlier) {
        if (before >= 0)
            for (int64_t cell = before + 1; cell < (earlier + 1) << ROWS_GROUP_BITS; ++cell)
                starts[cell] = place;
        fill_groups(group_starts, (uint32_t)(earlier + 1), (uint32_t)group + 1, place, gaps);
        before = (group << ROWS_GROUP_BITS) - 1;
    }
    for (int64_t cell = before + 1; cell <= key; ++cell)
        starts[cell] = place;
}

// One thread a place: its record (x, y, z after the choice of axes), and the cells that begin there. The end of the
// boxes enters the key behind all cells. Reads 32 bytes (24 of them scattered), writes 32 and its cells.
__global__ void __launch_bounds__(ROWS_GATHER_THREADS)
    psvk_rows_gather(const psvi_find_input input, const psvi_rows_plan *plan, const uint32_t *keys,
                     const uint32_t *order, uint32_t *starts, uint32_t *group_starts, float4 *first, float4 *second) {
    __shared__ gap_list gaps;
    if (threadIdx.x == 0) gaps.count = 0;
    __syncthreads();
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t boxes = input.result->boxes;
    const uint64_t place = (uint64_t)blockIdx.x * ROWS_GATHER_THREADS + threadIdx.x;
    if (place < boxes) {
        const uint32_t slot = order[place], key = keys[place];
        const int64_t before = place == 0 ? -1 : (int64_t)keys[place - 1];
        psvd_box box;
        uint32_t tag = 0;
        (void)psvd_load_slot(input, counts, slot, &box, &tag);
        if (before != key) enter_start(starts, group_starts, before, key, (uint32_t)place, &gaps);
        const int axis_x = plan->axis[0];
        psvd_record record;
        if (axis_x == 0)
            record = psvd_make_record(box, 0, 1, 2, slot, tag);
        else if (axis_x == 1)
            record = psvd_make_record(box, 1, 0, 2, slot, tag);
        else
            record = psvd_make_record(box, 2, 0, 1, slot, tag);
        first[place] = record.first;
        second[place] = record.second;
        if (place + 1 == boxes) enter_start(starts, group_starts, key, plan->cells, (uint32_t)boxes, &gaps);
    }
    __syncthreads();
    const uint32_t listed = min(gaps.count, (uint32_t)ROWS_GATHER_THREADS);
    for (uint32_t gap = 0; gap < listed; ++gap)
        for (uint32_t group = gaps.from[gap] + threadIdx.x; group < gaps.to[gap]; group += ROWS_GATHER_THREADS)
            group_starts[group] = gaps.place[gap];
}

extern "C" cudaError_t psvi_launch_rows_gather(const psvi_find_input *input, const psvi_rows_memory *memory,
                                               cudaStream_t stream) {
    float4 *const first = reinterpret_cast<float4 *>(memory->records);
    psvk_rows_gather<<<psvi_block_count(psvi_most_boxes(input), ROWS_GATHER_THREADS), ROWS_GATHER_THREADS, 0, stream>>>(
        *input, memory->plan, memory->sorted_keys, memory->order, memory->starts, memory->group_starts, first,
        first + memory->room);
    return cudaGetLastError();
}
