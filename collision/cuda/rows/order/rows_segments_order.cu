// The second pass of the sort of `rows` for many boxes: blocks order one segment after the other by cells.
#include <stddef.h>

#include "../../launch_cuda.h"
#include "../rows_launch.cuh"
#include "../rows_uniform.cuh"
#include "rows_segments.cuh"

#define ORDER_WARPS (ROWS_WHOLE_THREADS / 32)

struct order_shared {
    rows_local_plan local;
    uint32_t sums[ORDER_WARPS];
    uint32_t taken;                   // segment to follow
    uint64_t gate;                    // of the copies
    bool uniform;                     // entries for the uniform sweep are made, no records
    uint32_t base;                    // of that: boxes of the first level
    float4 rounding[ROWS_LEVELS + 1]; // shift and scale of the levels
    __align__(16) uint32_t cells[4];  // as many as a segment has: counts, then the next free place of each; then the
                                      // records of a segment and their order
};

struct order_arrays {
    psvi_rows_segments segments;
    psvi_rows_progress *progress;
    const float4 *split; // records by segments
    float4 *records;
    uint2 *rounded;
    uint32_t *starts;
    uint32_t capacity; // records that fit shared memory
    rows_uniform_arrays uniform;
    bool may_be_uniform;
};

// Starts of a segment's cells from their counts: within the segment in place of them, and to global memory.
__device__ __forceinline__ void start_cells(order_shared &shared, const order_arrays &arrays, uint32_t first_cell,
                                            uint32_t start) {
    const uint32_t cells = 1u << arrays.segments.shift,
                   last = shared.local.plan.cells; // what lies behind the last has a start too
    uint32_t carry = 0;
    for (uint32_t i = 4 * threadIdx.x; i - 4 * threadIdx.x < cells; i += 4 * ROWS_WHOLE_THREADS) {
        uint4 count = make_uint4(0, 0, 0, 0);
        if (i < cells) count = *reinterpret_cast<const uint4 *>(shared.cells + i);
        uint32_t total;
        uint4 place;
        place.x = carry + rows_sum_before<ORDER_WARPS>(count.x + count.y + count.z + count.w, shared.sums, &total);
        place.y = place.x + count.x;
        place.z = place.y + count.y;
        place.w = place.z + count.z;
        carry += total;
        if (i >= cells) continue;
        *reinterpret_cast<uint4 *>(shared.cells + i) = place;
        if (first_cell + i <= last)
            *reinterpret_cast<uint4 *>(arrays.starts + first_cell + i) =
                make_uint4(start + place.x, start + place.y, start + place.z, start + place.w);
    }
}

// The number of a record's cell within its segment. NUMBERED: the record's tag tells.
template <bool NUMBERED>
__device__ __forceinline__ uint32_t number_of(const order_shared &shared, const order_arrays &arrays,
                                              const float4 *record) {
    if (NUMBERED) return __float_as_uint(record[1].w) >> NUMBER_SHIFT;
    const psvd_record whole = {record[0], record[1]};
    const psvi_rows_plan &plan = shared.local.plan;
    return rows_key(plan.level[rows_record_level(plan, whole)], whole) & ((1u << arrays.segments.shift) - 1);
}

template <bool NUMBERED> __device__ __forceinline__ float tag_alone(float tag) {
    return NUMBERED ? __uint_as_float(__float_as_uint(tag) & ((1u << NUMBER_SHIFT) - 1)) : tag;
}

__device__ __forceinline__ void clear_cells(order_shared &shared, const order_arrays &arrays) {
    for (uint32_t i = 4 * threadIdx.x; i < 1u << arrays.segments.shift; i += 4 * ROWS_WHOLE_THREADS)
        *reinterpret_cast<uint4 *>(shared.cells + i) = make_uint4(0, 0, 0, 0);
}

// A segment, its records in order and before.
struct order_range {
    uint32_t segment, start, count;
    uint64_t from;
    uint32_t at;  // where they lie in shared memory
    bool on_chip; // they are there, or on their way
};

__device__ __forceinline__ order_range range_of(const order_arrays &arrays, uint32_t segment, uint32_t segments) {
    order_range range = {segment, 0, 0, 0, 0, false};
    if (segment < segments) {
        range.start = arrays.segments.starts[segment];
        range.count = arrays.segments.starts[segment + 1] - range.start;
        range.from = arrays.progress->again ? range.start : (uint64_t)segment * arrays.segments.room;
    }
    return range;
}

// The next segment to be ordered; one thread.
__device__ __forceinline__ void take_segment(order_shared &shared, const order_arrays &arrays) {
    shared.taken = gridDim.x + atomicAdd(&arrays.progress->ordered, 1u);
}

__device__ __forceinline__ float4 *held_records(order_shared &shared, const order_arrays &arrays) {
    return reinterpret_cast<float4 *>(shared.cells + (1u << arrays.segments.shift));
}

__device__ __forceinline__ void fetch_records(order_shared &shared, const order_arrays &arrays,
                                              const order_range &range, uint32_t *begun) {
    const float4 *const from = arrays.split + 2 * range.from;
    float4 *const to = held_records(shared, arrays) + 2 * range.at;
    ++*begun;
    if (HAS_BULK) {
        if (threadIdx.x == 0) copy_bulk(&shared.gate, to, from, 32 * range.count);
    } else {
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < 2 * range.count; i += ROWS_WHOLE_THREADS)
            copy_async(to + i, from + i);
    }
}

// As rows_rounded, for a box of the level.
__device__ __forceinline__ uint2 round_own(const order_shared &shared, const psvd_record &box) {
    const uint32_t level = rows_record_level(shared.local.plan, box);
    if (level == shared.local.plan.levels) return rows_rounded(shared.local.rounding[level], box);
    const float4 by = shared.rounding[level]; // all is finite
    const auto down = [&](float value, float shift) {
        return -__float2int_rd(fminf(fmaxf(__fmaf_rd(value, by.w, shift), -ROWS_ROUNDED_MOST), ROWS_ROUNDED_MOST));
    };
    const auto up = [&](float value, float shift) {
        return __float2int_ru(fminf(fmaxf(__fmaf_ru(value, by.w, shift), -ROWS_ROUNDED_MOST), ROWS_ROUNDED_MOST));
    };
    const uint32_t upper = rows_pack(up(box.first.y, by.x), up(box.first.w, by.y), up(box.second.y, by.z));
    const uint32_t lower = rows_pack(down(box.first.x, by.x), down(box.first.z, by.y), down(box.second.x, by.z));
    return make_uint2(upper | ROWS_FIELD_TOPS, lower | ROWS_FIELD_TOPS);
}

// A box's entry for the uniform sweep. LARGER: there may be larger boxes, from place `base` on, of which only the slot
// is asked for.
template <bool LARGER>
__device__ __forceinline__ void write_uniform(const order_shared &shared, const order_arrays &arrays,
                                              psvi_rows_plan *plan, const psvd_record &record, uint32_t place,
                                              uint32_t base) {
    const psvi_rows_plan &own = shared.local.plan;
    if (LARGER && place >= base) {
        arrays.uniform.write_apart(place, make_uint4(0, 0, __float_as_uint(record.second.z), 0));
        return;
    }
    const uint32_t level = __ffs(own.populated) - 1;
    uint32_t cell;
    const uint4 entry = rows_uniform_entry<true>(own.level[level], __uint_as_float(own.longest[level]), record, &cell);
    arrays.uniform.write_apart(place, entry);
    if (entry.w == 0) arrays.uniform.listed[atomicAdd(&plan->listed, 1u)] = place;
}

// Those of a segment whose records are in shared memory, `order` says where.
template <bool LARGER>
__device__ __forceinline__ void write_segment(const order_shared &shared, const order_arrays &arrays,
                                              psvi_rows_plan *plan, const float4 *held, const uint16_t *order,
                                              uint32_t start, uint32_t count) {
    const uint32_t base = shared.base;
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < count; i += ROWS_WHOLE_THREADS) {
        const float4 *const at = held + 2 * order[i];
        write_uniform<LARGER>(shared, arrays, plan, psvd_record{at[0], at[1]}, start + i, base);
    }
}

// The block orders a segment that fits shared memory. Every record is read and written once, in sequence. Returns the
// segment that follows, which is on its way meanwhile: to shared memory where both fit, else to the cache.
template <bool NUMBERED>
__device__ __forceinline__ order_range order_on_chip(order_shared &shared, const order_arrays &arrays,
                                                     psvi_rows_plan *plan, const order_range &range, uint32_t segments,
                                                     uint32_t *begun) {
    const uint32_t segment = range.segment, start = range.start, count = range.count;
    const float4 *const held = held_records(shared, arrays) + 2 * range.at;
    uint16_t *const order = reinterpret_cast<uint16_t *>(held_records(shared, arrays) + 2 * arrays.capacity);
    if (!range.on_chip) fetch_records(shared, arrays, range, begun);
    clear_cells(shared, arrays);
    if (threadIdx.x == 0) take_segment(shared, arrays);
    wait_for_copies();
    if (HAS_BULK) wait_at_gate(&shared.gate, *begun - 1);
    __syncthreads();
    order_range following = range_of(arrays, shared.taken, segments);
    if (following.count + count <= arrays.capacity) { // at the other end
        following.at = range.at == 0 ? arrays.capacity - following.count : 0;
        following.on_chip = true;
        fetch_records(shared, arrays, following, begun);
    } else if (following.count <= arrays.capacity) {
        const char *const line = reinterpret_cast<const char *>(arrays.split + 2 * following.from);
        for (uint32_t i = 128 * threadIdx.x; i < 32 * following.count; i += 128 * ROWS_WHOLE_THREADS)
            prefetch(line + i);
    }
    uint32_t numbers[ROWS_ORDER_ITEMS], ranks[ROWS_ORDER_ITEMS];
#pragma unroll
    for (int item = 0; item < ROWS_ORDER_ITEMS; ++item) {
        const uint32_t i = threadIdx.x + item * ROWS_WHOLE_THREADS;
        if (i < count) {
            numbers[item] = number_of<NUMBERED>(shared, arrays, held + 2 * i);
            ranks[item] = atomicAdd(&shared.cells[numbers[item]], 1u);
        }
    }
    __syncthreads();
    start_cells(shared, arrays, segment << arrays.segments.shift, start);
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ROWS_ORDER_ITEMS; ++item) {
        const uint32_t i = threadIdx.x + item * ROWS_WHOLE_THREADS;
        if (i < count) order[shared.cells[numbers[item]] + ranks[item]] = (uint16_t)i;
    }
    __syncthreads();
    if (shared.uniform) {
        if (start + count <= shared.base)
            write_segment<false>(shared, arrays, plan, held, order, start, count);
        else
            write_segment<true>(shared, arrays, plan, held, order, start, count);
        return following;
    }
    float4 *const to = arrays.records + 2ull * start;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < 2 * count; i += ROWS_WHOLE_THREADS) {
        float4 half = held[2 * order[i >> 1] + (i & 1)];
        if (i & 1) half.w = tag_alone<NUMBERED>(half.w);
        to[i] = half;
    }
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < count; i += ROWS_WHOLE_THREADS) {
        const float4 *const at = held + 2 * order[i];
        const psvd_record record = {at[0], at[1]};
        arrays.rounded[start + i] = round_own(shared, record);
    }
    return following;
}

// The same for any segment: reads the records twice, and scatters them.
template <bool NUMBERED>
__device__ __forceinline__ order_range order_any(order_shared &shared, const order_arrays &arrays, psvi_rows_plan *plan,
                                                 const order_range &range, uint32_t segments) {
    const uint32_t segment = range.segment, start = range.start, count = range.count;
    const float4 *const from = arrays.split + 2 * range.from;
    clear_cells(shared, arrays);
    __syncthreads();
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += ROWS_WHOLE_THREADS)
        atomicAdd(&shared.cells[number_of<NUMBERED>(shared, arrays, from + 2 * i)], 1u);
    __syncthreads();
    start_cells(shared, arrays, segment << arrays.segments.shift, start);
    __syncthreads();
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i - threadIdx.x < count; i += ROWS_WHOLE_THREADS) {
        uint32_t place = NO_PLACE;
        psvd_record record = {};
        if (i < count) {
            record = psvd_record{from[2 * i], from[2 * i + 1]};
            const float4 halves[2] = {record.first, record.second};
            place = start + atomicAdd(&shared.cells[number_of<NUMBERED>(shared, arrays, halves)], 1u);
            if (shared.uniform) {
                write_uniform<true>(shared, arrays, plan, record, place, shared.base);
                place = NO_PLACE;
            } else {
                arrays.rounded[place] = round_own(shared, record);
                record.second.w = tag_alone<NUMBERED>(record.second.w);
            }
        }
        if (!shared.uniform) write_together(arrays.records, record, place);
    }
    if (threadIdx.x == 0) take_segment(shared, arrays);
    __syncthreads();
    return range_of(arrays, shared.taken, segments);
}

// The second pass: blocks take segments one after the other and order them by cells, in any order within one. They
// write the start of each cell and the rounded boxes; for the uniform sweep, entries alone. Reads 32 bytes a box,
// writes 40 or 16, and 4 a cell.
template <bool NUMBERED>
__global__ void __launch_bounds__(ROWS_WHOLE_THREADS)
    psvk_rows_segments_order(const psvi_find_input input, psvi_rows_plan *plan, const order_arrays arrays) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    order_shared &shared = *reinterpret_cast<order_shared *>(dynamic);
    psvd_wait_for_front();
    if (plan->bound.over) { // to the tree
        for (uint32_t i = blockIdx.x * ROWS_WHOLE_THREADS + threadIdx.x; i < arrays.segments.count;
             i += gridDim.x * ROWS_WHOLE_THREADS)
            arrays.segments.place[i * arrays.segments.place_stride] = 0; // for the next frame
        return;
    }
    rows_load_plan(&shared.local, plan, ROWS_WHOLE_THREADS);
    if (threadIdx.x == 0 && blockIdx.x == 0) arrays.progress->left = 0;
    if (threadIdx.x == 0) {
        open_gate(&shared.gate);
        const uint32_t populated = shared.local.plan.populated, boxes = (uint32_t)input.result->boxes;
        shared.uniform = arrays.may_be_uniform && rows_is_uniform(plan, boxes);
        shared.base = (populated & (populated - 1)) != 0 ? boxes - plan->larger : boxes;
    }
    __syncthreads();
    if (threadIdx.x < shared.local.plan.levels) {
        const rows_rounding &own = shared.local.rounding[threadIdx.x];
        shared.rounding[threadIdx.x] = make_float4(own.shift[0], own.shift[1], own.shift[2], own.scale);
    }
    __syncthreads();
    const uint32_t segments = (shared.local.plan.cells >> arrays.segments.shift) + 1;
    order_range range = range_of(arrays, blockIdx.x, segments);
    uint32_t begun = 0; // copies to shared memory
    while (range.segment < segments) {
        if (threadIdx.x == 0)
            arrays.segments.place[range.segment * arrays.segments.place_stride] = 0; // for the next frame
        if (range.count <= arrays.capacity)
            range = order_on_chip<NUMBERED>(shared, arrays, plan, range, segments, &begun);
        else
            range = order_any<NUMBERED>(shared, arrays, plan, range, segments);
        __syncthreads();
    }
}

static size_t order_bytes(uint32_t shift, uint32_t capacity) {
    return offsetof(order_shared, cells) + ((size_t)4 << shift) + (size_t)(32 + 2) * capacity;
}

extern "C" cudaError_t psvi_prepare_rows_segments_order(psvi_rows_memory *memory) {
    int device = 0, most = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error != cudaSuccess) return error;
    const uint32_t shift = memory->segmented.segments.shift;
    uint32_t capacity = (uint32_t)(((size_t)most - order_bytes(shift, 0)) / (32 + 2)) / 8 * 8;
    if (capacity > ROWS_WHOLE_THREADS * ROWS_ORDER_ITEMS) capacity = ROWS_WHOLE_THREADS * ROWS_ORDER_ITEMS;
    memory->segmented.order_capacity = capacity;
    error = rows_allow_shared(psvk_rows_segments_order<true>, order_bytes(shift, capacity));
    if (error != cudaSuccess) return error;
    return rows_allow_shared(psvk_rows_segments_order<false>, order_bytes(shift, capacity));
}

extern "C" cudaError_t psvi_launch_rows_segments_order(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                       cudaStream_t stream) {
    const psvi_rows_segments &segments = memory->segmented.segments;
    const order_arrays arrays = {segments,
                                 memory->segmented.progress,
                                 reinterpret_cast<const float4 *>(memory->segmented.split),
                                 reinterpret_cast<float4 *>(memory->records),
                                 reinterpret_cast<uint2 *>(memory->segmented.rounded),
                                 memory->starts,
                                 memory->segmented.order_capacity,
                                 rows_uniform_arrays_of(memory),
                                 input->route == PSVI_ROWS_SEGMENTS_UNIFORM};
    const uint32_t blocks = segments.count < memory->multiprocessors ? segments.count : memory->multiprocessors;
    const auto kernel = rows_are_numbered(*input) ? psvk_rows_segments_order<true> : psvk_rows_segments_order<false>;
    return rows_launch_early(memory, stream, kernel, blocks, ROWS_WHOLE_THREADS,
                             order_bytes(segments.shift, memory->segmented.order_capacity), *input, memory->plan,
                             arrays);
}
