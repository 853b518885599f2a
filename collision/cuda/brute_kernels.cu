// All pairs: the oracle of the CUDA methods. Plain on purpose: every pair is tested, nothing is sorted or skipped.
#include "brute_kernels.h"
#include "common.cuh"
#include "launch_cuda.h"

#define BRUTE_THREADS 256

struct brute_tile {
    psvd_box box[BRUTE_THREADS];
    uint32_t tag[BRUTE_THREADS];
    bool good[BRUTE_THREADS];
};

// Counts the boxes that take part and lists the bad ones. One thread a slot, nothing shared; reads every box once.
__global__ void __launch_bounds__(BRUTE_THREADS) psvk_brute_survey(const psvi_find_input input) {
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)blockIdx.x * BRUTE_THREADS + threadIdx.x;
    psvd_box box;
    uint32_t tag;
    psvd_state state = PSVD_BOX_OFF;
    if (slot < counts.all()) state = psvd_load_slot(input, counts, slot, &box, &tag);
    if (state == PSVD_BOX_BAD) psvd_report_bad(input, counts, slot);
    const int good = __syncthreads_count(state == PSVD_BOX_GOOD);
    if (threadIdx.x == 0 && good != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)good);
}

__device__ void load_tile(const psvi_find_input &input, const psvd_counts &counts, uint64_t first, brute_tile *tile) {
    const uint64_t slot = first + threadIdx.x;
    tile->good[threadIdx.x] = slot < counts.all() && psvd_load_slot(input, counts, slot, &tile->box[threadIdx.x],
                                                                    &tile->tag[threadIdx.x]) == PSVD_BOX_GOOD;
}

// One block tests one tile of boxes (a thread each) against tiles of later boxes, every gridDim.y-th of them, through
// shared memory. Between two sets the later boxes are those of set b. Boxes are read once a tile pair.
template <bool ASKS> __global__ void __launch_bounds__(BRUTE_THREADS) psvk_brute(const psvi_find_input input) {
    __shared__ brute_tile tile;
    __shared__ psvd_pair_stage<BRUTE_THREADS / 32> stage;
    const psvd_counts counts = psvd_read_counts(input);
    const psvd_sink sink = psvd_make_sink(input, counts);
    const uint64_t own_end = input.between ? counts.a : counts.all();
    const uint64_t own_first = (uint64_t)blockIdx.x * BRUTE_THREADS;
    if (own_first >= own_end) return;
    const uint64_t slot = own_first + threadIdx.x;
    psvd_box box;
    uint32_t tag = 0, tested = 0;
    const bool good = slot < own_end && psvd_load_slot(input, counts, slot, &box, &tag) == PSVD_BOX_GOOD;
    stage.begin();
    const uint64_t tile_base = input.between ? counts.a : own_first;
    for (uint64_t first = tile_base + (uint64_t)blockIdx.y * BRUTE_THREADS; first < counts.all();
         first += (uint64_t)gridDim.y * BRUTE_THREADS) {
        __syncthreads();
        load_tile(input, counts, first, &tile);
        __syncthreads();
        for (int k = 0; k < BRUTE_THREADS; ++k) {
            if ((k & 31) == 31) stage.settle(sink);
            if (!good || !tile.good[k] || first + k <= slot) continue;
            ++tested;
            if (!psvi_boxes_overlap(box.min, box.max, tile.box[k].min, tile.box[k].max)) continue;
            const uint32_t other = (uint32_t)(first + k);
            if (psvd_slots_pair<ASKS>(input, counts, (uint32_t)slot, tag, other, tile.tag[k]))
                stage.emit(sink, (uint32_t)slot, other);
        }
    }
    stage.finish(sink);
    psvd_warp_add(&input.result->candidates, tested);
}

extern "C" cudaError_t psvi_launch_brute(const psvi_find_input *input, int multiprocessors, cudaStream_t stream) {
    const uint64_t boxes = psvi_most_boxes(input), own = input->between ? input->a.count : boxes;
    if (boxes == 0) return cudaSuccess;
    psvk_brute_survey<<<psvi_block_count(boxes, BRUTE_THREADS), BRUTE_THREADS, 0, stream>>>(*input);
    if (own == 0) return cudaGetLastError();
    const uint32_t rows = psvi_block_count(own, BRUTE_THREADS);
    // Enough blocks for a few waves, also when there are few tiles.
    uint32_t splits = psvi_block_count((uint64_t)multiprocessors * 32, rows);
    if (splits > rows) splits = rows;
    auto kernel = psvd_overlap_decides(*input) ? psvk_brute<false> : psvk_brute<true>;
    kernel<<<dim3(rows, splits), BRUTE_THREADS, 0, stream>>>(*input);
    return cudaGetLastError();
}
