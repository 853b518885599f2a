// Pairs of mesh elements on CUDA: boxes of elements, and the pairs that are no neighbours.
#include "../../core/cuda/cuda_backend.h"
#include "../src/elements/element_ops.h"

namespace {

constexpr uint32_t THREADS = 256;
constexpr uint32_t PAIRS = 8; // of a thread in one go

struct element_place {
    uint32_t set;
    uint64_t element;
};

__device__ __forceinline__ element_place place_of(const psvi_element_set *sets, uint64_t box) {
    const uint32_t set = box >= sets[PSVI_FACES].first_box   ? PSVI_FACES
                         : box >= sets[PSVI_EDGES].first_box ? PSVI_EDGES
                                                             : PSVI_VERTICES;
    return {set, box - sets[set].first_box};
}

__host__ __device__ inline uint64_t boxes_of(const psvi_element_set *sets) {
    return sets[PSVI_FACES].first_box + sets[PSVI_FACES].count;
}

uint32_t blocks_for(uint64_t items) { return (uint32_t)((items + THREADS - 1) / THREADS); }

psv_status launched(psv_context *context, const char *what) {
    return psvi_cuda_status(context, cudaGetLastError(), what);
}

// In: positions, elements. Out: a box each, a thread each. Reads 8 to 12 bytes of indices and the vertices, writes 24.
__global__ void __launch_bounds__(THREADS) psvk_element_boxes(const psvi_element_boxes_job job) {
    const uint64_t box = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (box >= boxes_of(job.sets)) return;
    const element_place place = place_of(job.sets, box);
    if (!job.wanted[place.set]) return;
    job.boxes[box] = psvi_element_box(&job, &job.sets[place.set], place.element);
}

__global__ void psvk_clear_count(uint64_t *count) { *count = 0; }

// In: pairs, on the device with their count. Out: those that are no neighbours, in any order, and their count. Blocks
// go through the pairs in steps of the grid; one atomic and two block-wide barriers for each 2,048. Reads and writes 8
// bytes a pair, beside the elements' vertices.
template <uint32_t A_SIZE, uint32_t B_SIZE, bool RINGS>
__global__ void __launch_bounds__(THREADS) psvk_filter_elements(const psvi_element_filter_job job) {
    __shared__ uint32_t block_count;
    __shared__ uint64_t block_begin;
    const uint64_t count = *job.count < job.room ? *job.count : job.room;
    const uint32_t lane = threadIdx.x % 32;
    for (uint64_t first = (uint64_t)blockIdx.x * THREADS * PAIRS; first < count;
         first += (uint64_t)gridDim.x * THREADS * PAIRS) {
        psv_pair pairs[PAIRS];
        uint32_t kept = 0; // a bit for each
#pragma unroll
        for (uint32_t p = 0; p < PAIRS; ++p) {
            const uint64_t at = first + p * THREADS + threadIdx.x;
            if (at < count) pairs[p] = job.pairs[at];
        }
#pragma unroll
        for (uint32_t p = 0; p < PAIRS; ++p) {
            const uint64_t at = first + p * THREADS + threadIdx.x;
            if (at < count && !psvi_are_neighbours(&job, pairs[p], A_SIZE, B_SIZE, RINGS)) kept |= 1u << p;
        }
        if (threadIdx.x == 0) block_count = 0;
        __syncthreads();
        uint32_t before[PAIRS], warp_sum = 0;
#pragma unroll
        for (uint32_t p = 0; p < PAIRS; ++p) {
            const uint32_t lanes = __ballot_sync(0xffffffffu, kept >> p & 1);
            before[p] = warp_sum + __popc(lanes & ((1u << lane) - 1));
            warp_sum += __popc(lanes);
        }
        uint32_t warp_begin = 0;
        if (lane == 0 && warp_sum != 0) warp_begin = atomicAdd(&block_count, warp_sum);
        warp_begin = __shfl_sync(0xffffffffu, warp_begin, 0);
        __syncthreads();
        if (threadIdx.x == 0 && block_count != 0)
            block_begin = atomicAdd((unsigned long long *)job.kept_count, (unsigned long long)block_count);
        __syncthreads();
#pragma unroll
        for (uint32_t p = 0; p < PAIRS; ++p)
            if (kept >> p & 1) job.kept[block_begin + warp_begin + before[p]] = pairs[p];
    }
}

// In: ascending pairs. Out: where each row begins, and where the last one ends. A thread and a binary search each.
__global__ void __launch_bounds__(THREADS)
    psvk_begin_rows(const psv_pair *pairs, const uint64_t *count, uint64_t room, uint32_t *offsets, uint64_t rows) {
    const uint64_t row = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row <= rows) offsets[row] = psvi_row_begin(pairs, *count < room ? *count : room, (uint32_t)row);
}

__global__ void __launch_bounds__(THREADS) psvk_name_bodies(const psvi_element_bodies_job job) {
    const uint64_t box = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (box >= boxes_of(job.sets)) return;
    const element_place place = place_of(job.sets, box);
    const uint32_t body = job.bodies[psvi_element_vertex(&job.sets[place.set], place.element, 0)];
    job.owners[box] = body;
    if (job.body_filters != NULL) job.filters[box] = job.body_filters[body];
}

__global__ void __launch_bounds__(THREADS) psvk_check_indices(const psvi_index_check check, uint64_t *bad) {
    const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < check.count && check.indices[i] >= check.limit) atomicMin((unsigned long long *)bad, (unsigned long long)i);
}

cudaStream_t stream_of(psv_context *context) { return (cudaStream_t)context->stream; }

psv_status compute_boxes(psv_context *context, const psvi_element_boxes_job *job) {
    const uint64_t boxes = boxes_of(job->sets);
    if (boxes == 0) return PSV_OK;
    psvk_element_boxes<<<blocks_for(boxes), THREADS, 0, stream_of(context)>>>(*job);
    return launched(context, "psvk_element_boxes");
}

template <uint32_t A_SIZE, uint32_t B_SIZE>
void launch_filter(psv_context *context, const psvi_element_filter_job *job, uint32_t blocks) {
    if (job->rings == NULL)
        psvk_filter_elements<A_SIZE, B_SIZE, false><<<blocks, THREADS, 0, stream_of(context)>>>(*job);
    else
        psvk_filter_elements<A_SIZE, B_SIZE, true><<<blocks, THREADS, 0, stream_of(context)>>>(*job);
}

psv_status filter_pairs(psv_context *context, const psvi_element_filter_job *job) {
    psvk_clear_count<<<1, 1, 0, stream_of(context)>>>(job->kept_count);
    const uint32_t most = 8u * (uint32_t)context->info.multiprocessors, useful = blocks_for(job->room / PAIRS + 1);
    const uint32_t blocks = useful < most ? useful : most;
    if (job->a.size == 1)
        launch_filter<1, 3>(context, job, blocks);
    else if (job->b.size == 2)
        launch_filter<2, 2>(context, job, blocks);
    else if (job->a.size == 2)
        launch_filter<2, 3>(context, job, blocks);
    else
        launch_filter<3, 3>(context, job, blocks);
    return launched(context, "psvk_filter_elements");
}

psv_status begin_rows(psv_context *context, const psv_pair *pairs, const uint64_t *count, uint64_t room,
                      uint32_t *offsets, uint64_t rows) {
    psvk_begin_rows<<<blocks_for(rows + 1), THREADS, 0, stream_of(context)>>>(pairs, count, room, offsets, rows);
    return launched(context, "psvk_begin_rows");
}

psv_status name_bodies(psv_context *context, const psvi_element_bodies_job *job) {
    const uint64_t boxes = boxes_of(job->sets);
    if (boxes == 0) return PSV_OK;
    psvk_name_bodies<<<blocks_for(boxes), THREADS, 0, stream_of(context)>>>(*job);
    return launched(context, "psvk_name_bodies");
}

psv_status check_indices(psv_context *context, const psvi_index_check *check, uint64_t *bad) {
    const psv_status status = context->ops->fill(context, bad, 0xff, sizeof *bad);
    if (status != PSV_OK || check->count == 0) return status;
    psvk_check_indices<<<blocks_for(check->count), THREADS, 0, stream_of(context)>>>(*check, bad);
    return launched(context, "psvk_check_indices");
}

} // namespace

extern "C" const psvi_element_ops psvi_element_ops_cuda = {compute_boxes, filter_pairs, begin_rows, name_bodies,
                                                           check_indices};
