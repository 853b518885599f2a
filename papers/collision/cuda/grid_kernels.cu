// Spatial subdivision: Le Grand, «Broad-phase collision detection with CUDA», GPU Gems 3, chapter 32. Cells are at
// least as large as (nearly) all boxes, a box is entered in each of the up to eight cells that it touches, the entries
// are sorted by cell, and boxes are tested against those that follow them in the same cell.
//
// A pair is reported by exactly one cell: the one that holds the lower corner of the overlap, which is a point of both
// boxes. The chapter gets there with control bits for home and phantom cells and a pass per cell parity; the rule of
// the corner needs neither. Boxes that touch more than two cells on an axis, as the chapter does not allow, are tested
// against all.
#include "../../../collision/cuda/common.cuh"
#include "../../../collision/cuda/launch_cuda.h"
#include "grid_kernels.h"

#define GRID_SAMPLES 256      // boxes that the cell size is chosen from; one block
#define GRID_CELL_SCALE 1.25f // cell over the largest sampled box
#define GRID_OWN_STEPS 64     // successors in a cell that a thread tests alone before its warp helps
#define GRID_LARGE_TILE 128   // large boxes in shared memory at a time

struct grid_range {
    int low[3], high[3]; // cells of the box's lower and upper corner
};

// Does not decrease with x, whatever the rounding: cells of corners are in order.
__device__ __forceinline__ int grid_cell(const psvi_grid_plan &plan, int axis, float x) {
    return __float2int_rd(fminf(fmaxf((x - plan.origin[axis]) * plan.inverse[axis], -1e9f), 1e9f));
}

__device__ __forceinline__ grid_range grid_range_of(const psvi_grid_plan &plan, const psvd_box &box) {
    grid_range range;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        range.low[axis] = grid_cell(plan, axis, box.min[axis]);
        range.high[axis] = grid_cell(plan, axis, box.max[axis]);
    }
    return range;
}

__device__ __forceinline__ bool grid_is_large(const grid_range &range) {
    return range.high[0] - range.low[0] > 1 || range.high[1] - range.low[1] > 1 || range.high[2] - range.low[2] > 1;
}

// Different cells may share a hash: that costs tests, never pairs, because the corner's cell is compared in full.
__device__ __forceinline__ uint32_t grid_hash(int x, int y, int z, uint32_t world, uint32_t bits) {
    uint32_t h = (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca6bu ^ (uint32_t)z * 0xc2b2ae35u;
    h ^= world * 0x27d4eb2fu + (h >> 15);
    h *= 0x2c1b3c6du;
    h ^= h >> 13;
    h *= 0x297a2d39u;
    return h >> (32 - bits);
}

// Writes the plan. One block: 256 samples, ranked by extent on the three axes by three groups of threads; a cell is a
// little larger than the largest sample, but no more than four times the one that only a thirty-second exceeds. Three
// barriers; reads 24 bytes a sample.
__global__ void __launch_bounds__(3 * GRID_SAMPLES) psvk_grid_plan(const psvi_find_input input, psvi_grid_plan *plan) {
    __shared__ float extents[3][GRID_SAMPLES];
    __shared__ float common[3], largest[3], lowest[3];
    const uint32_t sample = threadIdx.x % GRID_SAMPLES, axis = threadIdx.x / GRID_SAMPLES;
    const psvd_counts counts = psvd_read_counts(input);
    psvd_box box = {};
    const bool good = psvd_load_sample(input, counts, sample, GRID_SAMPLES, &box);
    const uint32_t samples = (uint32_t)__syncthreads_count(good) / 3;
    const float low = axis == 0 ? box.min[0] : axis == 1 ? box.min[1] : box.min[2];
    const float extent = (axis == 0 ? box.max[0] : axis == 1 ? box.max[1] : box.max[2]) - low;
    extents[axis][sample] = good ? extent : INFINITY;
    if (threadIdx.x < 3) common[threadIdx.x] = largest[threadIdx.x] = lowest[threadIdx.x] = 0;
    __syncthreads();
    uint32_t rank = 0;
#pragma unroll 8
    for (uint32_t i = 0; i < GRID_SAMPLES; ++i)
        rank += extents[axis][i] < extent || (extents[axis][i] == extent && i < sample);
    if (good && rank == samples - 1 - samples / 32) common[axis] = extent;
    if (good && rank == samples - 1) largest[axis] = extent;
    if (good && rank == 0) lowest[axis] = low;
    __syncthreads();
    if (threadIdx.x == 0) plan->entries = plan->large = 0;
    if (sample != 0) return;
    float cell = GRID_CELL_SCALE * fminf(largest[axis], 4.0f * common[axis]);
    if (!(cell > 1e-18f)) cell = 1.0f; // points on this axis: any size is right
    plan->origin[axis] = lowest[axis];
    plan->inverse[axis] = 1.0f / cell;
}

// Exclusive sum over the block; *total gets the sum of all. Two barriers.
__device__ __forceinline__ uint32_t grid_scan(uint32_t own, uint32_t *total) {
    __shared__ uint32_t sums[PSVI_BLOCK_THREADS / 32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t sum = own;
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t below = __shfl_up_sync(PSVD_FULL, sum, step);
        if (lane >= step) sum += below;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    uint32_t before = 0, all = 0;
    for (uint32_t w = 0; w < PSVI_BLOCK_THREADS / 32; ++w) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    __syncthreads();
    *total = all;
    return before + sum - own;
}

// Entries of all boxes, in no particular order. One thread a slot: one to eight entries, one atomic a block. Reads 24
// bytes a slot, writes 8 per entry.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_grid_entries(const psvi_find_input input, const psvi_grid_memory memory) {
    __shared__ unsigned long long base;
    const psvi_grid_plan &plan = *memory.plan;
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    psvd_state state = PSVD_BOX_OFF;
    psvd_box box;
    uint32_t tag, entries = 0;
    grid_range range = {};
    if (slot < counts.all()) state = psvd_load_slot(input, counts, slot, &box, &tag);
    if (state == PSVD_BOX_BAD) psvd_report_bad(input, counts, slot);
    const int good = __syncthreads_count(state == PSVD_BOX_GOOD);
    if (threadIdx.x == 0 && good != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)good);
    if (state == PSVD_BOX_GOOD) {
        range = grid_range_of(plan, box);
        if (grid_is_large(range)) {
            const uint64_t place = atomicAdd(reinterpret_cast<unsigned long long *>(&memory.plan->large), 1ull);
            memory.large[place] = (uint32_t)slot;
            atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->huge_count), 1ull);
        } else {
            entries = (uint32_t)((range.high[0] - range.low[0] + 1) * (range.high[1] - range.low[1] + 1) *
                                 (range.high[2] - range.low[2] + 1));
        }
    }
    uint32_t total;
    uint32_t place = grid_scan(entries, &total);
    if (threadIdx.x == 0 && total > 0)
        base = atomicAdd(reinterpret_cast<unsigned long long *>(&memory.plan->entries), (unsigned long long)total);
    __syncthreads();
    if (entries == 0) return;
    const uint32_t world = slot < counts.a ? psvd_world_of(input.a, slot) : psvd_world_of(input.b, slot - counts.a);
    for (uint32_t corner = 0; corner < PSVI_GRID_CELLS; ++corner) {
        const int x = range.low[0] + (int)(corner & 1), y = range.low[1] + (int)(corner >> 1 & 1),
                  z = range.low[2] + (int)(corner >> 2);
        if (x > range.high[0] || y > range.high[1] || z > range.high[2]) continue;
        memory.keys[base + place] = grid_hash(x, y, z, world, memory.key_bits);
        memory.values[base + place] = (uint32_t)slot * PSVI_GRID_CELLS + corner;
        ++place;
    }
}

struct grid_job {
    const psvi_find_input &input;
    psvd_counts counts;
    psvd_sink sink;
    const psvi_grid_plan &plan;
};

struct grid_entry {
    psvd_box box;
    uint32_t slot, tag;
    int cell[3]; // that the entry is in
};

__device__ __forceinline__ grid_entry grid_load(const grid_job &job, uint32_t value) {
    grid_entry entry;
    entry.slot = value / PSVI_GRID_CELLS;
    (void)psvd_load_slot(job.input, job.counts, entry.slot, &entry.box, &entry.tag);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        entry.cell[axis] = grid_cell(job.plan, axis, entry.box.min[axis]) + (int)(value >> axis & 1);
    return entry;
}

// Reports the pair when it overlaps and both entries are in the cell of the overlap's lower corner.
template <bool ASKS, class Stage>
__device__ __forceinline__ void grid_test(const grid_job &job, Stage &stage, const grid_entry &own, uint32_t value) {
    const uint32_t slot = value / PSVI_GRID_CELLS;
    if (slot == own.slot) return; // two cells of one box share the hash
    psvd_box box;
    uint32_t tag;
    (void)psvd_load_slot(job.input, job.counts, slot, &box, &tag);
    if (!psvi_boxes_overlap(own.box.min, own.box.max, box.min, box.max)) return;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const int corner = grid_cell(job.plan, axis, fmaxf(own.box.min[axis], box.min[axis]));
        const int cell = grid_cell(job.plan, axis, box.min[axis]) + (int)(value >> axis & 1);
        if (corner != own.cell[axis] || corner != cell) return;
    }
    if (psvd_slots_pair<ASKS>(job.input, job.counts, own.slot, own.tag, slot, tag))
        stage.emit(job.sink, own.slot, slot);
}

// The pairs of the cells. One thread an entry for its first GRID_OWN_STEPS successors in the cell; what is left of a
// full cell is gone through by the whole warp, entry after entry. Boxes come through the caches.
template <bool ASKS>
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_grid_cells(const psvi_find_input input, const psvi_grid_memory memory) {
    const uint64_t entries = memory.plan->entries;
    if ((uint64_t)blockIdx.x * PSVI_BLOCK_THREADS >= entries) return;
    __shared__ psvd_pair_stage<PSVI_BLOCK_THREADS / 32> stage;
    grid_job job = {input, psvd_read_counts(input), {}, *memory.plan};
    job.sink = psvd_make_sink(input, job.counts);
    const uint64_t place = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    stage.begin();
    __syncthreads();
    bool active = place + 1 < entries && memory.keys[place] == memory.keys[place + 1];
    const uint32_t key = place < entries ? memory.keys[place] : 0, value = place < entries ? memory.values[place] : 0;
    grid_entry own = {};
    if (active) own = grid_load(job, value);
    uint64_t next = place + 1;
    uint32_t tested = 0;
    for (int round = 0; round < GRID_OWN_STEPS / 8 && __any_sync(PSVD_FULL, active); ++round) {
        for (int step = 0; step < 8 && active; ++step) {
            ++tested;
            grid_test<ASKS>(job, stage, own, memory.values[next]);
            active = ++next < entries && memory.keys[next] == key;
        }
        stage.settle(job.sink);
    }
    for (unsigned left = __ballot_sync(PSVD_FULL, active); left != 0; left &= left - 1) {
        const int owner = __ffs(left) - 1;
        const uint32_t owner_key = __shfl_sync(PSVD_FULL, key, owner);
        const grid_entry theirs = grid_load(job, __shfl_sync(PSVD_FULL, value, owner));
        uint64_t at = __shfl_sync(PSVD_FULL, next, owner) + (threadIdx.x & 31);
        bool more = true;
        while (__any_sync(PSVD_FULL, more)) {
            more = at < entries && memory.keys[at] == owner_key;
            if (more) {
                grid_test<ASKS>(job, stage, theirs, memory.values[at]);
                ++tested;
            }
            at += 32;
            stage.settle(job.sink);
        }
    }
    stage.finish(job.sink);
    psvd_warp_add(&input.result->candidates, tested);
}

// Boxes larger than a cell against all boxes: one thread a slot goes over the list of large boxes, which the block
// loads to shared memory 128 at a time. Two large boxes are tested by the one with the smaller slot.
template <bool ASKS>
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_grid_large(const psvi_find_input input, const psvi_grid_memory memory) {
    const uint64_t large = memory.plan->large;
    if (large == 0) return;
    __shared__ psvd_pair_stage<PSVI_BLOCK_THREADS / 32> stage;
    __shared__ psvd_box boxes[GRID_LARGE_TILE];
    __shared__ uint32_t slots[GRID_LARGE_TILE], tags[GRID_LARGE_TILE];
    grid_job job = {input, psvd_read_counts(input), {}, *memory.plan};
    job.sink = psvd_make_sink(input, job.counts);
    const uint64_t slot = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    stage.begin();
    psvd_box own;
    uint32_t tag = 0, tested = 0;
    bool active = slot < job.counts.all() && psvd_load_slot(input, job.counts, slot, &own, &tag) == PSVD_BOX_GOOD;
    const bool own_large = active && grid_is_large(grid_range_of(job.plan, own));
    for (uint64_t first = 0; first < large; first += GRID_LARGE_TILE) {
        const uint32_t tile = (uint32_t)min((uint64_t)GRID_LARGE_TILE, large - first);
        __syncthreads();
        if (threadIdx.x < tile) {
            slots[threadIdx.x] = memory.large[first + threadIdx.x];
            (void)psvd_load_slot(input, job.counts, slots[threadIdx.x], &boxes[threadIdx.x], &tags[threadIdx.x]);
        }
        __syncthreads();
        for (uint32_t i = 0; i < tile; ++i) {
            const bool test = active && slot != slots[i] && (!own_large || slot < slots[i]);
            tested += test;
            if (test && psvi_boxes_overlap(own.min, own.max, boxes[i].min, boxes[i].max) &&
                psvd_slots_pair<ASKS>(input, job.counts, (uint32_t)slot, tag, slots[i], tags[i]))
                stage.emit(job.sink, (uint32_t)slot, slots[i]);
            if (i % 8 == 7) stage.settle(job.sink);
        }
        stage.settle(job.sink);
    }
    stage.finish(job.sink);
    psvd_warp_add(&input.result->candidates, tested);
}

extern "C" cudaError_t psvi_launch_grid_keys(const psvi_find_input *input, const psvi_grid_memory *memory,
                                             cudaStream_t stream) {
    psvk_grid_plan<<<1, 3 * GRID_SAMPLES, 0, stream>>>(*input, memory->plan);
    psvk_grid_entries<<<psvi_block_count(psvi_most_boxes(input), PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        *input, *memory);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_grid_cells(const psvi_find_input *input, const psvi_grid_memory *memory,
                                              cudaStream_t stream) {
    const uint64_t boxes = psvi_most_boxes(input);
    const bool asks = !psvd_overlap_decides(*input);
    auto cells = asks ? psvk_grid_cells<true> : psvk_grid_cells<false>;
    auto large = asks ? psvk_grid_large<true> : psvk_grid_large<false>;
    cells<<<psvi_block_count(boxes * PSVI_GRID_CELLS, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(*input,
                                                                                                            *memory);
    large<<<psvi_block_count(boxes, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(*input, *memory);
    return cudaGetLastError();
}
