// The sort of `rows` for many boxes: two passes that move whole records, the second one on chip. A first kernel counts
// the boxes of every segment, a run of some thousand cells, and tells where each begins. The first pass writes the
// records segment by segment; in the second a block orders one segment by cells and writes their starts.
#include <stddef.h>

#include "launch_cuda.h"
#include "rows_many.cuh"

#define SPLIT_WARPS (ROWS_SPLIT_THREADS / 32)
#define SURVEY_WARPS (ROWS_SURVEY_THREADS / 32)
#define NO_PLACE 0xffffffffu

struct survey_shared {
    rows_many_plan many; // its longest and populated are the block's own
    uint32_t boxes, huge;
    uint32_t sums[SURVEY_WARPS];
    bool last;
    float2 pieces[SURVEY_WARPS][96];
};

// Counts of a block and what it saw, to global memory; atomics only where they change something.
__device__ __forceinline__ void report_survey(const psvi_find_input &input, psvi_rows_plan *plan,
                                              const survey_shared &shared) {
    const psvi_rows_plan &own = shared.many.plan;
    if (threadIdx.x == 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)shared.boxes);
        if (shared.huge != 0)
            atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->huge_count),
                      (unsigned long long)shared.huge);
        if ((*(volatile uint32_t *)&plan->populated & own.populated) != own.populated)
            atomicOr(&plan->populated, own.populated);
    }
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1) && own.longest[threadIdx.x] != 0)
        if (*(volatile uint32_t *)&plan->longest[threadIdx.x] < own.longest[threadIdx.x])
            atomicMax(&plan->longest[threadIdx.x], own.longest[threadIdx.x]);
}

// Adds a block's counts to those of all; the last block to do so says where the segments begin.
__device__ __forceinline__ void report_segments(psvi_rows_segments *segments, uint32_t segment_count,
                                                const uint32_t *counted, survey_shared *shared) {
    for (uint32_t i = threadIdx.x; i < segment_count; i += ROWS_SURVEY_THREADS)
        if (counted[i] != 0) atomicAdd(&segments->counts[i], counted[i]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) shared->last = atomicAdd(&segments->done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!shared->last) return;
    __threadfence();
    const uint32_t each = (segment_count + ROWS_SURVEY_THREADS - 1) / ROWS_SURVEY_THREADS;
    const uint32_t first = threadIdx.x * each, end = min(first + each, segment_count);
    uint32_t boxes = 0, total;
    for (uint32_t i = first; i < end; ++i)
        boxes += __ldcg(&segments->counts[i]);
    uint32_t start = rows_sum_before<SURVEY_WARPS>(boxes, shared->sums, &total);
    for (uint32_t i = first; i < end; ++i) {
        segments->starts[i] = segments->next[i].place = start;
        start += __ldcg(&segments->counts[i]);
    }
    if (threadIdx.x == 0) segments->starts[segment_count] = total;
}

// Counts the boxes of the segments and what a plan has to know of them, and lists bad boxes. Reads 24 bytes a slot.
__global__ void __launch_bounds__(ROWS_SURVEY_THREADS)
    psvk_rows_survey(const psvi_find_input input, psvi_rows_plan *plan, psvi_rows_segments *segments, uint32_t shift,
                     uint32_t segment_count) {
    __shared__ survey_shared shared;
    extern __shared__ uint32_t counted[]; // of segments
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t all = counts.all(), step = (uint64_t)gridDim.x * ROWS_SURVEY_THREADS;
    psvi_rows_plan &own = shared.many.plan;
    rows_load_plan(&shared.many, plan, ROWS_SURVEY_THREADS);
    for (uint32_t i = threadIdx.x; i < segment_count; i += ROWS_SURVEY_THREADS)
        counted[i] = 0;
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1)) own.longest[threadIdx.x] = 0;
    if (threadIdx.x == 0) own.populated = shared.boxes = shared.huge = 0;
    __syncthreads();
    uint32_t present = 0, good = 0, huge = 0;
    for (uint64_t first = (uint64_t)blockIdx.x * ROWS_SURVEY_THREADS; first < all; first += step) {
        const uint64_t slot = first + threadIdx.x;
        psvd_box box = {};
        uint32_t tag;
        const psvd_state state =
            psvd_load_together(input, counts, slot < all, slot, &box, &tag, shared.pieces[threadIdx.x >> 5]);
        if (state == PSVD_BOX_GOOD) {
            const psvd_record record = rows_record(own, box, (uint32_t)slot, tag);
            const uint32_t level = rows_record_level(own, record);
            const uint32_t length = __float_as_uint(__fsub_ru(record.first.y, record.first.x)); // not negative
            ++good;
            huge += level == own.levels;
            const bool second = tag & PSVD_TAG_SET_B;
            present |= 1u << (level + (second ? 16 : 0));
            uint32_t *const longest = &own.longest[level + (second ? ROWS_LEVELS + 1 : 0)];
            if (length > *(volatile uint32_t *)longest) atomicMax(longest, length);
            atomicAdd(&counted[rows_key(own.level[level], record) >> shift], 1u);
        } else if (state == PSVD_BOX_BAD) {
            psvd_report_bad(input, counts, slot);
        }
        __syncwarp();
    }
    present = psvd_reduce_or(present);
    good = psvd_reduce_add(good);
    huge = psvd_reduce_add(huge);
    if ((threadIdx.x & 31) == 0) {
        atomicOr(&own.populated, present);
        atomicAdd(&shared.boxes, good);
        if (huge != 0) atomicAdd(&shared.huge, huge);
    }
    __syncthreads();
    report_survey(input, plan, shared);
    report_segments(segments, segment_count, counted, &shared);
}

// Writes a record per lane to its place, unless that is NO_PLACE: two lanes the halves of one record together, so that
// a whole sector goes out at once. All lanes together.
__device__ __forceinline__ void write_together(float4 *records, const psvd_record &record, uint32_t place) {
    const bool odd = threadIdx.x & 1;
    float4 other; // the even lane's second half, or the odd lane's first
    other.x = __shfl_xor_sync(PSVD_FULL, odd ? record.first.x : record.second.x, 1);
    other.y = __shfl_xor_sync(PSVD_FULL, odd ? record.first.y : record.second.y, 1);
    other.z = __shfl_xor_sync(PSVD_FULL, odd ? record.first.z : record.second.z, 1);
    other.w = __shfl_xor_sync(PSVD_FULL, odd ? record.first.w : record.second.w, 1);
    const uint32_t others_place = __shfl_xor_sync(PSVD_FULL, place, 1);
    const uint32_t even_place = odd ? others_place : place, odd_place = odd ? place : others_place;
    float4 value;
    value.x = odd ? other.x : record.first.x;
    value.y = odd ? other.y : record.first.y;
    value.z = odd ? other.z : record.first.z;
    value.w = odd ? other.w : record.first.w;
    if (even_place != NO_PLACE) records[2ull * even_place + odd] = value;
    value.x = odd ? record.second.x : other.x;
    value.y = odd ? record.second.y : other.y;
    value.z = odd ? record.second.z : other.z;
    value.w = odd ? record.second.w : other.w;
    if (odd_place != NO_PLACE) records[2ull * odd_place + odd] = value;
}

// The next free place of a segment, for the boxes of a warp that have one. All lanes together; one atomic where all
// boxes share a segment, as those of a scene in spatial order do.
__device__ __forceinline__ uint32_t take_place(psvi_rows_segments *segments, uint32_t segment, bool there) {
    const uint32_t lane = threadIdx.x & 31, first = __shfl_sync(PSVD_FULL, segment, 0);
    if (!__all_sync(PSVD_FULL, there && segment == first))
        return there ? atomicAdd(&segments->next[segment].place, 1u) : NO_PLACE;
    uint32_t place = 0;
    if (lane == 0) place = atomicAdd(&segments->next[segment].place, 32u);
    return __shfl_sync(PSVD_FULL, place, 0) + lane;
}

// The first pass: records by segments, in any order within one. Reads 24 bytes a slot, writes 34.
__global__ void __launch_bounds__(ROWS_SPLIT_THREADS)
    psvk_rows_split(const psvi_find_input input, const psvi_rows_plan *plan, psvi_rows_segments *segments,
                    float4 *records, uint16_t *numbers, uint32_t shift) {
    __shared__ rows_many_plan many;
    __shared__ float2 pieces[SPLIT_WARPS][96];
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)blockIdx.x * ROWS_SPLIT_THREADS + threadIdx.x;
    const bool here = slot < counts.all();
    psvd_box box = {};
    uint32_t tag, key = 0;
    const bool good =
        psvd_load_together(input, counts, here, slot, &box, &tag, pieces[threadIdx.x >> 5]) == PSVD_BOX_GOOD;
    rows_load_plan(&many, plan, ROWS_SPLIT_THREADS);
    __syncthreads();
    const psvd_record record = rows_record(many.plan, box, (uint32_t)slot, tag);
    if (good) key = rows_key(many.plan.level[rows_record_level(many.plan, record)], record);
    __syncwarp();
    const uint32_t place = take_place(segments, key >> shift, good);
    if (good) numbers[place] = (uint16_t)(key & ((1u << shift) - 1));
    write_together(records, record, place);
}

struct order_shared {
    rows_many_plan many;
    uint32_t sums[32];
    __align__(16) uint32_t cells[4]; // as many as a segment has: counts, then the next free place of each
};

struct order_arrays {
    psvi_rows_segments *segments;
    const float4 *split;     // records by segments
    const uint16_t *numbers; // their cells within the segment
    float4 *records;
    uint2 *rounded;
    uint32_t *starts;
    uint32_t shift;
};

// Starts of a segment's cells from their counts, to global memory and in place of them.
template <int THREADS>
__device__ __forceinline__ void start_cells(order_shared &shared, const order_arrays &arrays, uint32_t first_cell,
                                            uint32_t start) {
    const uint32_t cells = 1u << arrays.shift,
                   last = shared.many.plan.cells; // what lies behind the last has a start too
    uint32_t carry = start;
    for (uint32_t i = 4 * threadIdx.x; i - 4 * threadIdx.x < cells; i += 4 * THREADS) {
        uint4 count = make_uint4(0, 0, 0, 0);
        if (i < cells) count = *reinterpret_cast<const uint4 *>(shared.cells + i);
        uint32_t total;
        uint4 place;
        place.x = carry + rows_sum_before<THREADS / 32>(count.x + count.y + count.z + count.w, shared.sums, &total);
        place.y = place.x + count.x;
        place.z = place.y + count.y;
        place.w = place.z + count.z;
        carry += total;
        if (i >= cells) continue;
        *reinterpret_cast<uint4 *>(shared.cells + i) = place;
        if (first_cell + i <= last) *reinterpret_cast<uint4 *>(arrays.starts + first_cell + i) = place;
    }
}

// The second pass: a block orders a segment by cells, in any order within one, and writes the start of each cell.
// Reads 34 bytes a box, writes 40 and 4 a cell; what is written out of order lies near enough to be together in the
// cache when it leaves.
template <int THREADS>
__global__ void __launch_bounds__(THREADS) psvk_rows_order(const psvi_rows_plan *plan, const order_arrays arrays) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    order_shared &shared = *reinterpret_cast<order_shared *>(dynamic);
    const uint32_t cells = 1u << arrays.shift, first_cell = blockIdx.x << arrays.shift;
    if (threadIdx.x == 0) { // for the next frame
        arrays.segments->counts[blockIdx.x] = 0;
        if (blockIdx.x == 0) arrays.segments->done = arrays.segments->rest = 0;
    }
    if (first_cell > plan->cells) return;
    const uint32_t start = arrays.segments->starts[blockIdx.x], count = arrays.segments->starts[blockIdx.x + 1] - start;
    const uint16_t *const numbers = arrays.numbers + start;
    rows_load_plan(&shared.many, plan, THREADS);
    for (uint32_t i = 4 * threadIdx.x; i < cells; i += 4 * THREADS)
        *reinterpret_cast<uint4 *>(shared.cells + i) = make_uint4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += THREADS)
        atomicAdd(&shared.cells[numbers[i]], 1u);
    __syncthreads();
    start_cells<THREADS>(shared, arrays, first_cell, start);
    __syncthreads();
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i - threadIdx.x < count; i += THREADS) {
        uint32_t place = NO_PLACE;
        psvd_record record = {};
        if (i < count) {
            const float4 *const from = arrays.split + 2ull * (start + i);
            record = psvd_record{__ldg(from), __ldg(from + 1)};
            place = atomicAdd(&shared.cells[numbers[i]], 1u);
            arrays.rounded[place] = rows_rounded(shared.many, rows_record_level(shared.many.plan, record), record);
        }
        write_together(arrays.records, record, place);
    }
}

static size_t order_bytes(uint32_t shift) { return offsetof(order_shared, cells) + ((size_t)4 << shift); }

extern "C" cudaError_t psvi_prepare_rows_many_sort(void) {
    return cudaFuncSetAttribute(psvk_rows_order<512>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)order_bytes(ROWS_SEGMENT_CELL_BITS));
}

extern "C" cudaError_t psvi_launch_rows_many_keys(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                  cudaStream_t stream) {
    const cudaError_t error = psvi_launch_rows_plan(input, memory, stream);
    if (error != cudaSuccess) return error;
    uint32_t blocks = psvi_block_count(psvi_most_boxes(input), ROWS_SURVEY_THREADS);
    if (blocks > memory->multiprocessors * ROWS_SURVEY_BLOCKS) blocks = memory->multiprocessors * ROWS_SURVEY_BLOCKS;
    const uint32_t segments = 1u << (memory->key_bits - memory->segment_shift);
    psvk_rows_survey<<<blocks, ROWS_SURVEY_THREADS, sizeof(uint32_t) * segments, stream>>>(
        *input, memory->plan, memory->segments, memory->segment_shift, segments);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_rows_many_split(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                   cudaStream_t stream) {
    const uint32_t blocks = psvi_block_count(psvi_most_boxes(input), ROWS_SPLIT_THREADS);
    psvk_rows_split<<<blocks, ROWS_SPLIT_THREADS, 0, stream>>>(*input, memory->plan, memory->segments,
                                                               reinterpret_cast<float4 *>(memory->split),
                                                               memory->numbers, memory->segment_shift);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_rows_many_order(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                   cudaStream_t stream) {
    (void)input;
    const uint32_t shift = memory->segment_shift;
    const uint32_t segments = 1u << (memory->key_bits - shift), threads = shift <= 11 ? 256 : 512;
    const auto kernel = shift <= 11 ? psvk_rows_order<256> : psvk_rows_order<512>;
    const order_arrays arrays = {memory->segments,
                                 reinterpret_cast<const float4 *>(memory->split),
                                 memory->numbers,
                                 reinterpret_cast<float4 *>(memory->records),
                                 reinterpret_cast<uint2 *>(memory->rounded),
                                 memory->starts,
                                 shift};
    kernel<<<segments, threads, order_bytes(shift), stream>>>(memory->plan, arrays);
    return cudaGetLastError();
}
