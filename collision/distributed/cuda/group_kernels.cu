// Kernels of a group's finder: which ranks a box goes to, packing, and which pairs a rank reports.
#include "../../../sort/core/cuda/cuda_backend.h"
#include "../../../sort/distributed/cuda/part_lists.cuh"
#include "../../src/box_test.h"
#include "../pair_home.h"
#include "group_kernels.h"

namespace {

constexpr uint32_t block_threads = 256;
constexpr uint32_t pairs_per_thread = 8;

uint32_t blocks_for(uint64_t items, uint32_t per_block) { return (uint32_t)((items + per_block - 1) / per_block); }

// --- boxes -----------------------------------------------------------------------------------------------------------

struct loaded_box {
    float min[3], max[3];
    uint32_t world;
    bool disabled, bad;
};

__device__ loaded_box load_box(const psvi_device_boxes &boxes, uint64_t i) {
    loaded_box box;
    const float *min = (const float *)(boxes.min + i * boxes.min_stride);
    const float *max = (const float *)(boxes.max + i * boxes.max_stride);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        box.min[axis] = min[axis];
        box.max[axis] = max[axis];
    }
    box.world = boxes.worlds == nullptr ? 0 : boxes.worlds[i];
    box.disabled = boxes.flags != nullptr && (boxes.flags[i] & PSV_BOX_DISABLED) != 0;
    box.bad = psvi_box_is_bad(box.min, box.max) || box.world >= (boxes.world_count < 1 ? 1 : boxes.world_count);
    return box;
}

// Lists of group_boxes.h.
struct region_choice {
    psvi_device_boxes boxes;

    struct cursor {
        loaded_box box;
        uint32_t next;   // the next rank to report; size: none
        uint32_t border; // 1: of several regions
    };

    __device__ void find_next(cursor &at, uint32_t from) const {
        at.next = from;
        if (!psvi_next_region(boxes.regions, at.box.min, at.box.max, at.box.world, &at.next))
            at.next = boxes.regions.size;
    }

    __device__ void begin(uint64_t item, cursor &at) const {
        at.box = load_box(boxes, item);
        at.border = 0;
        at.next = boxes.regions.size;
        if (at.box.disabled || at.box.bad) return;
        find_next(at, 0);
        uint32_t second = at.next + 1;
        at.border = psvi_next_region(boxes.regions, at.box.min, at.box.max, at.box.world, &second) ? 1 : 0;
    }

    __device__ bool next(cursor &at, uint32_t &list) const {
        if (at.next < boxes.regions.size) {
            list = 2 * at.next + at.border;
            if (at.border != 0)
                find_next(at, at.next + 1);
            else
                at.next = boxes.regions.size;
            return true;
        }
        const bool bad = at.box.bad && !at.box.disabled;
        list = 2 * boxes.regions.size;
        at.box.bad = false;
        return bad;
    }

    __device__ bool is_single(const cursor &at) const { return at.border == 0; }
};

// samples[i]: the box at psvi_sample_place(i), of weight 0 when it takes no part. A thread has one.
__global__ void psvk_sample_boxes(psvi_device_boxes boxes, psvi_box_sample *samples, uint64_t sample_count) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= sample_count) return;
    const loaded_box box = load_box(boxes, psvi_sample_place(i, sample_count, boxes.count));
    psvi_box_sample sample;
    for (int axis = 0; axis < 3; ++axis) {
        sample.box.min[axis] = box.min[axis];
        sample.box.max[axis] = box.max[axis];
    }
    sample.world = box.world;
    sample.weight = box.disabled || box.bad ? 0.0f : 1.0f;
    sample.rank = 0; // the host knows
    samples[i] = sample;
}

// packed[i] = box index[i], a float a thread, so that what is written lies in a row and what is read nearly so. Reads
// and writes 24 bytes a box, and 4 of the index.
__global__ void psvk_pack_boxes(psvi_device_boxes boxes, const uint32_t *__restrict__ index, uint64_t count,
                                float *__restrict__ packed) {
    const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t i = t / 6;
    if (i >= count) return;
    const uint32_t part = (uint32_t)(t - 6 * i);
    const uint64_t box = index[i];
    const char *corner = part < 3 ? boxes.min + box * boxes.min_stride : boxes.max + box * boxes.max_stride;
    packed[t] = ((const float *)corner)[part < 3 ? part : part - 3];
}

// The same for boxes of six floats in a row at addresses of multiples of 8: two floats a thread.
__global__ void psvk_pack_plain_boxes(const float2 *__restrict__ boxes, const uint32_t *__restrict__ index,
                                      uint64_t count, float2 *__restrict__ packed) {
    const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t i = t / 3;
    if (i < count) packed[t] = boxes[(uint64_t)index[i] * 3 + (t - 3 * i)];
}

// --- pairs -----------------------------------------------------------------------------------------------------------

// Input: pairs by number of the box. Output: those that this rank reports, by id, in any order; their number. A block
// takes 2,048 pairs, counts those that it keeps and takes room for them with one atomic. Reads 8 bytes a pair and two
// ids, and boxes only where both lie in several regions.
__global__ void __launch_bounds__(block_threads)
    psvk_keep_pairs(psvi_device_seen seen, psv_pair *__restrict__ kept, unsigned long long *kept_count) {
    const uint64_t begin = (uint64_t)blockIdx.x * block_threads * pairs_per_thread + threadIdx.x;
    psv_pair own[pairs_per_thread];
    uint32_t keeps = 0;
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k) {
        const uint64_t i = begin + k * block_threads;
        if (i >= seen.count) continue;
        own[k] = seen.pairs[i];
        if (own[k].a < seen.border_first || own[k].b < seen.border_first ||
            psvi_region_reports(seen.regions, seen.rank, &seen.boxes[own[k].a], &seen.boxes[own[k].b],
                                seen.worlds == nullptr ? 0 : seen.worlds[own[k].a]))
            keeps |= 1u << k;
    }
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k) {
        if ((keeps >> k & 1) == 0) continue;
        const uint32_t a = seen.ids[own[k].a], b = seen.ids[own[k].b];
        own[k] = psv_pair{min(a, b), max(a, b)};
    }
    __shared__ uint32_t warp_first[block_threads / 32];
    __shared__ unsigned long long block_first;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t warp_count = 0, places[pairs_per_thread];
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k) {
        const uint32_t mask = __ballot_sync(0xffffffffu, (keeps >> k & 1) != 0);
        places[k] = warp_count + __popc(mask & ((1u << lane) - 1));
        warp_count += __popc(mask);
    }
    if (lane == 0) warp_first[warp] = warp_count;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t sum = 0;
        for (uint32_t w = 0; w < block_threads / 32; ++w) {
            const uint32_t length = warp_first[w];
            warp_first[w] = sum;
            sum += length;
        }
        block_first = atomicAdd(kept_count, (unsigned long long)sum);
    }
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k)
        if ((keeps >> k & 1) != 0) kept[block_first + warp_first[warp] + places[k]] = own[k];
}

__global__ void psvk_swap_pairs(psv_pair *pairs, uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) pairs[i] = psv_pair{pairs[i].b, pairs[i].a};
}

struct home_of_pair {
    const psv_pair *pairs;
    uint32_t size;

    __device__ uint32_t operator()(uint64_t item) const { return psvi_pair_home(pairs[item], size); }
};

psv_status launched(psv_context *context, const char *kernel) {
    return psvi_cuda_status(context, cudaGetLastError(), kernel);
}

} // namespace

extern "C" psv_status psvi_cuda_sample_boxes(psv_context *context, const psvi_device_boxes *boxes,
                                             psvi_box_sample *samples, uint64_t sample_count) {
    psvk_sample_boxes<<<blocks_for(sample_count, block_threads), block_threads, 0, (cudaStream_t)context->stream>>>(
        *boxes, samples, sample_count);
    return launched(context, "psvk_sample_boxes");
}

extern "C" psv_status psvi_cuda_count_box_lists(psv_context *context, psvi_list_room *room,
                                                const psvi_device_boxes *boxes, uint64_t *counts) {
    return psvi::count_lists(context, room, region_choice{*boxes}, boxes->count, 2 * boxes->regions.size + 1, counts);
}

extern "C" psv_status psvi_cuda_write_box_lists(psv_context *context, psvi_list_room *room,
                                                const psvi_device_boxes *boxes, uint32_t *index) {
    return psvi::write_lists(context, room, region_choice{*boxes}, boxes->count, 2 * boxes->regions.size + 1, index);
}

extern "C" psv_status psvi_cuda_pack_boxes(psv_context *context, const psvi_device_boxes *boxes, const uint32_t *index,
                                           uint64_t count, psv_aabb *packed) {
    const cudaStream_t stream = (cudaStream_t)context->stream;
    const bool plain = boxes->min_stride == sizeof(psv_aabb) && boxes->max == boxes->min + 12 &&
                       boxes->max_stride == sizeof(psv_aabb) && (uintptr_t)boxes->min % 8 == 0;
    if (plain)
        psvk_pack_plain_boxes<<<blocks_for(3 * count, block_threads), block_threads, 0, stream>>>(
            (const float2 *)boxes->min, index, count, (float2 *)packed);
    else
        psvk_pack_boxes<<<blocks_for(6 * count, block_threads), block_threads, 0, stream>>>(*boxes, index, count,
                                                                                            (float *)packed);
    return launched(context, "psvk_pack_boxes");
}

extern "C" psv_status psvi_cuda_keep_pairs(psv_context *context, const psvi_device_seen *seen, psv_pair *kept,
                                           uint64_t *kept_count) {
    psvk_keep_pairs<<<blocks_for(seen->count, block_threads * pairs_per_thread), block_threads, 0,
                      (cudaStream_t)context->stream>>>(*seen, kept, (unsigned long long *)kept_count);
    return launched(context, "psvk_keep_pairs");
}

extern "C" psv_status psvi_cuda_swap_pairs(psv_context *context, psv_pair *pairs, uint64_t count) {
    if (count == 0) return PSV_OK;
    psvk_swap_pairs<<<blocks_for(count, block_threads), block_threads, 0, (cudaStream_t)context->stream>>>(pairs,
                                                                                                           count);
    return launched(context, "psvk_swap_pairs");
}

extern "C" psv_status psvi_cuda_list_pairs(psv_context *context, psvi_list_room *room, const psv_pair *pairs,
                                           uint64_t count, uint32_t size, uint32_t *index, uint64_t *counts) {
    const psvi::one_list<home_of_pair> choice = {{pairs, size}};
    const psv_status status = psvi::count_lists(context, room, choice, count, size, counts);
    return status == PSV_OK ? psvi::write_lists(context, room, choice, count, size, index) : status;
}
