// Kernels of a group's finder: which ranks a box goes to, packing, and which pairs a rank reports.
#include <string.h>

#include "../../../core/cuda/cuda_backend.h"
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
        at.box = load_box(boxes, boxes.some == nullptr ? item : boxes.some[item]);
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

// packed[i] = box index[i], a coordinate a thread: writes are contiguous, reads nearly so. Reads and writes six
// coordinates a box, and 4 bytes of the index.
template <typename Number>
__global__ void psvk_pack_boxes(psvi_device_corners corners, const uint32_t *__restrict__ index, uint64_t count,
                                Number *__restrict__ packed) {
    const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t i = t / 6;
    if (i >= count) return;
    const uint32_t part = (uint32_t)(t - 6 * i);
    const uint64_t box = index[i];
    const char *corner = part < 3 ? corners.min + box * corners.min_stride : corners.max + box * corners.max_stride;
    packed[t] = ((const Number *)corner)[part < 3 ? part : part - 3];
}

// The same for boxes of six floats in a row at addresses of multiples of 8: two floats a thread.
__global__ void psvk_pack_plain_boxes(const float2 *__restrict__ boxes, const uint32_t *__restrict__ index,
                                      uint64_t count, float2 *__restrict__ packed) {
    const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t i = t / 3;
    if (i < count) packed[t] = boxes[(uint64_t)index[i] * 3 + (t - 3 * i)];
}

// index[i] = some[index[i]]. A thread has one.
__global__ void psvk_name_some(const uint32_t *__restrict__ some, uint32_t *index, uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) index[i] = some[index[i]];
}

// --- boxes that are not copied ---------------------------------------------------------------------------------------

// Every lane of the warp calls it; lanes with `listed` add their box to a list.
__device__ void note_box(bool listed, uint32_t box, uint32_t *list, uint64_t room, unsigned long long *count) {
    const uint32_t mask = __ballot_sync(0xffffffffu, listed), lane = threadIdx.x % 32;
    if (mask == 0) return;
    unsigned long long first = 0;
    if (lane == 0) first = atomicAdd(count, (unsigned long long)__popc(mask));
    first = __shfl_sync(0xffffffffu, first, 0);
    const uint64_t place = first + __popc(mask & ((1u << lane) - 1));
    if (listed && place < room) list[place] = box;
}

// Input: boxes. Output: psvi_sifting. A warp has sift_rows times 32 boxes; bits of 32 are one word. Nearly all boxes
// leave no more than their bit: reads 24 bytes a box and its flags and world, where it has them.
constexpr uint32_t sift_rows = 4;

__global__ void __launch_bounds__(block_threads) psvk_sift_boxes(const psvi_device_sifting sifting) {
    const uint64_t warp = (uint64_t)blockIdx.x * (block_threads / 32) + threadIdx.x / 32;
    const uint64_t begin = warp * 32 * sift_rows + threadIdx.x % 32;
    loaded_box boxes[sift_rows];
#pragma unroll
    for (uint32_t k = 0; k < sift_rows; ++k) {
        boxes[k].disabled = true;
        if (begin + k * 32 < sifting.boxes.count) boxes[k] = load_box(sifting.boxes, begin + k * 32);
    }
#pragma unroll
    for (uint32_t k = 0; k < sift_rows; ++k) {
        const uint64_t i = begin + k * 32;
        const loaded_box &box = boxes[k];
        const bool there = i < sifting.boxes.count, live = there && !box.disabled;
        const bool away = live && (box.bad || !psvi_is_inner(&sifting.inner, box.min, box.max, box.world));
        const bool near = live && !box.bad && psvi_is_near(sifting.reaches, sifting.reach_count, box.min, box.max);
        const uint32_t bits = __ballot_sync(0xffffffffu, away);
        if (sifting.away_bits != nullptr && there && threadIdx.x % 32 == 0) sifting.away_bits[i / 32] = bits;
        if (sifting.away != nullptr) note_box(away, (uint32_t)i, sifting.away, sifting.room, &sifting.counts[0]);
        note_box(near, (uint32_t)i, sifting.near, sifting.room, &sifting.counts[1]);
        note_box(there && !live, (uint32_t)i, nullptr, 0, &sifting.counts[2]);
    }
}

// Floats as numbers of the same order, for atomics; -0 is below 0.
__host__ __device__ uint32_t ordered_bits(uint32_t bits) { return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u; }

// Input: boxes of rank r in two spans each. Output: the bounds of each rank's boxes, together with the previous
// bounds[6 * r]. blockIdx.y is the span; its blocks stride over it.
__global__ void __launch_bounds__(block_threads)
    psvk_bound_boxes(const psv_aabb *__restrict__ boxes, const psvi_span *__restrict__ spans, uint32_t *bounds) {
    const psvi_span span = spans[blockIdx.y];
    uint32_t own[6] = {0xffffffffu, 0xffffffffu, 0xffffffffu, 0, 0, 0};
    for (uint64_t i = (uint64_t)blockIdx.x * block_threads + threadIdx.x; i < span.count;
         i += (uint64_t)gridDim.x * block_threads) {
        const psv_aabb box = boxes[span.first + i];
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            own[axis] = min(own[axis], ordered_bits(__float_as_uint(box.min[axis])));
            own[3 + axis] = max(own[3 + axis], ordered_bits(__float_as_uint(box.max[axis])));
        }
    }
#pragma unroll
    for (int part = 0; part < 6; ++part) {
        for (uint32_t step = 16; step > 0; step /= 2) {
            const uint32_t other = __shfl_xor_sync(0xffffffffu, own[part], step);
            own[part] = part < 3 ? min(own[part], other) : max(own[part], other);
        }
        uint32_t *bound = &bounds[6 * (blockIdx.y / 2) + part];
        if (threadIdx.x % 32 != 0 || span.count == 0) continue;
        if (part < 3)
            atomicMin(bound, own[part]);
        else
            atomicMax(bound, own[part]);
    }
}

__global__ void psvk_clear_bounds(uint32_t *bounds, uint32_t count) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) bounds[i] = i % 6 < 3 ? 0xffffffffu : 0;
}

// --- pairs -----------------------------------------------------------------------------------------------------------

// Every lane of the warp calls it; lanes with `counted` count one more pair of `world`.
__device__ void count_in_world(bool counted, uint32_t world, unsigned long long *world_pairs) {
    const uint32_t lanes = __ballot_sync(0xffffffffu, counted);
    if (!counted) return;
    const uint32_t peers = __match_any_sync(lanes, world);
    if (threadIdx.x % 32 == (uint32_t)__ffs((int)peers) - 1)
        atomicAdd(&world_pairs[world], (unsigned long long)__popc(peers));
}

// What most pairs are: of a box that no other rank holds. Asked of all pairs of a thread first, so that it waits once.
__device__ bool is_certain(const psvi_seen_pairs &seen, psv_pair pair) {
    if (seen.away_bits != nullptr) return (seen.away_bits[pair.a >> 5] >> (pair.a & 31) & 1) == 0;
    return seen.needed == UINT64_MAX && (pair.a < seen.border_first || pair.b < seen.border_first);
}

// Input: pairs by number of the box. Output: the pairs that this rank reports, by id, in any order; their number. A
// block takes 2,048 pairs, counts the pairs that it keeps and takes room for them with one atomic. Reads 8 bytes a
// pair, two ids or a bit of the first box, and boxes only where both lie in several regions.
__global__ void __launch_bounds__(block_threads)
    psvk_keep_pairs(const psvi_seen_pairs seen, psv_pair *__restrict__ kept, unsigned long long *kept_count) {
    const uint64_t begin = (uint64_t)blockIdx.x * block_threads * pairs_per_thread + threadIdx.x;
    psv_pair own[pairs_per_thread];
    bool keeps[pairs_per_thread];
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k) {
        const uint64_t i = begin + k * block_threads;
        own[k] = i < seen.count ? seen.pairs[i] : psv_pair{0, 0};
    }
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k)
        keeps[k] = is_certain(seen, own[k]);
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k) {
        if (begin + k * block_threads >= seen.count)
            keeps[k] = false;
        else if (!keeps[k])
            keeps[k] = psvi_reports_pair(&seen, own[k]);
    }
    if (seen.world_pairs != nullptr)
#pragma unroll
        for (uint32_t k = 0; k < pairs_per_thread; ++k)
            count_in_world(keeps[k], keeps[k] && seen.worlds != nullptr ? seen.worlds[own[k].a] : 0,
                           (unsigned long long *)seen.world_pairs);
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k)
        if (keeps[k]) own[k] = psvi_named_pair(&seen, own[k]);
    __shared__ uint32_t warp_first[block_threads / 32];
    __shared__ unsigned long long block_first;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t warp_count = 0, places[pairs_per_thread];
#pragma unroll
    for (uint32_t k = 0; k < pairs_per_thread; ++k) {
        const uint32_t mask = __ballot_sync(0xffffffffu, keeps[k]);
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
        if (keeps[k]) kept[block_first + warp_first[warp] + places[k]] = own[k];
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

static uint64_t listed_boxes(const psvi_device_boxes *boxes) {
    return boxes->some == nullptr ? boxes->count : boxes->some_count;
}

extern "C" psv_status psvi_cuda_count_box_lists(psv_context *context, psvi_list_room *room,
                                                const psvi_device_boxes *boxes, uint64_t *counts) {
    return psvi::count_lists(context, room, region_choice{*boxes}, listed_boxes(boxes), 2 * boxes->regions.size + 1,
                             counts);
}

extern "C" psv_status psvi_cuda_write_box_lists(psv_context *context, psvi_list_room *room,
                                                const psvi_device_boxes *boxes, uint32_t *index) {
    const uint32_t lists = 2 * boxes->regions.size + 1;
    const psv_status status =
        psvi::write_lists(context, room, region_choice{*boxes}, listed_boxes(boxes), lists, index);
    const uint64_t entries = room->host_lengths[lists];
    if (status != PSV_OK || boxes->some == nullptr || entries == 0) return status;
    psvk_name_some<<<blocks_for(entries, block_threads), block_threads, 0, (cudaStream_t)context->stream>>>(
        boxes->some, index, entries);
    return launched(context, "psvk_name_some");
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
        psvk_pack_boxes<<<blocks_for(6 * count, block_threads), block_threads, 0, stream>>>(
            psvi_device_corners{boxes->min, boxes->max, boxes->min_stride, boxes->max_stride}, index, count,
            (float *)packed);
    return launched(context, "psvk_pack_boxes");
}

extern "C" psv_status psvi_cuda_pack_corners(psv_context *context, const psvi_device_corners *corners,
                                             const uint32_t *index, uint64_t count, psv_aabb64 *packed) {
    psvk_pack_boxes<<<blocks_for(6 * count, block_threads), block_threads, 0, (cudaStream_t)context->stream>>>(
        *corners, index, count, (double *)packed);
    return launched(context, "psvk_pack_boxes");
}

extern "C" psv_status psvi_cuda_keep_pairs(psv_context *context, const psvi_seen_pairs *seen, psv_pair *kept,
                                           uint64_t *kept_count) {
    psvk_keep_pairs<<<blocks_for(seen->count, block_threads * pairs_per_thread), block_threads, 0,
                      (cudaStream_t)context->stream>>>(*seen, kept, (unsigned long long *)kept_count);
    return launched(context, "psvk_keep_pairs");
}

extern "C" psv_status psvi_cuda_sift_boxes(psv_context *context, const psvi_device_sifting *sifting) {
    psvk_sift_boxes<<<blocks_for(sifting->boxes.count, block_threads * sift_rows), block_threads, 0,
                      (cudaStream_t)context->stream>>>(*sifting);
    return launched(context, "psvk_sift_boxes");
}

extern "C" psv_status psvi_cuda_bound_boxes(psv_context *context, const psv_aabb *boxes, uint32_t size,
                                            const psvi_span *spans, uint32_t *bounds) {
    const cudaStream_t stream = (cudaStream_t)context->stream;
    psvk_clear_bounds<<<blocks_for(6 * size, block_threads), block_threads, 0, stream>>>(bounds, 6 * size);
    psvk_bound_boxes<<<dim3(64, 2 * size), block_threads, 0, stream>>>(boxes, spans, bounds);
    return launched(context, "psvk_bound_boxes");
}

extern "C" float psvi_cuda_ordered_float(uint32_t ordered) {
    const uint32_t bits = (ordered >> 31) != 0 ? ordered & 0x7fffffffu : ~ordered;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
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
