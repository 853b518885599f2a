// The first pass of the sort of `rows` for many boxes: records to segments, runs of some thousand cells each.
//
// Every segment has room for twice the boxes that it would have if they lay evenly. So the records go to their segment
// at once and are counted on the way. Where a segment has more, the pass runs again with these counts, and every
// segment has its true room. The next frame then only counts at first.
#include <stddef.h>

#include "../../launch_cuda.h"
#include "../rows_launch.cuh"
#include "../rows_uniform.cuh"
#include "rows_segments.cuh"

#define THREADS ROWS_SPLIT_THREADS
#define WARPS (THREADS / 32)

// A level's fields that make a key, so that three loads fetch them.
struct level_fields {
    float4 origin; // and limit
    float4 inverse;
    int4 cells;         // and the number of the first one
    int4 inner, inside; // the cells that are so far from the ends that boxes in them look as usual: first, count
};

template <int ITEMS> struct split_shared {
    rows_local_plan local; // its longest and populated are the block's own
    level_fields level[ROWS_LEVELS + 1];
    uint32_t boxes, larger, huge, usual, filtered;
    uint32_t sums[WARPS];
    bool last;
    uint64_t gate;
    __align__(16) float2 pieces[3 * THREADS * ITEMS]; // of the boxes
    uint32_t places[4]; // when TOGETHER, one a segment: boxes of the block, then the place of the first one
};

struct split_job {
    psvi_rows_segments segments;
    psvi_rows_progress *progress;
    float4 *records;
    bool numbered;
};

// A block's boxes to shared memory; of others than usual ones, those that take no part as not a number. Bad ones of
// these are listed the first time. They are there behind wait_for_boxes and a barrier.
template <bool USUAL>
__device__ __forceinline__ void load_boxes(const psvi_find_input &input, const psvd_counts &counts, uint64_t first,
                                           uint32_t here, bool again, float2 *pieces, uint64_t *gate) {
    if (USUAL) {
        const float2 *const from = reinterpret_cast<const float2 *>(input.a.min + first * 24);
        uint32_t copied = 0; // pieces, by one thread
        if (HAS_BULK && (reinterpret_cast<uintptr_t>(from) & 15) == 0) copied = 3 * here & ~1u;
        if (HAS_BULK && threadIdx.x == 0) {
            open_gate(gate);
            copy_bulk(gate, pieces, from, 8 * copied);
        }
#pragma unroll 4
        for (uint32_t i = copied + threadIdx.x; i < 3 * here; i += THREADS)
            copy_async(pieces + i, from + i);
    } else {
        for (uint32_t i = threadIdx.x; i < here; i += THREADS) {
            psvd_box box = {};
            uint32_t tag;
            const psvd_state state = psvd_load_slot(input, counts, first + i, &box, &tag);
            if (state == PSVD_BOX_BAD && !again) psvd_report_bad(input, counts, first + i);
            if (state != PSVD_BOX_GOOD) box.min[0] = NAN;
            pieces[3 * i] = make_float2(box.min[0], box.min[1]);
            pieces[3 * i + 1] = make_float2(box.min[2], box.max[0]);
            pieces[3 * i + 2] = make_float2(box.max[1], box.max[2]);
        }
    }
}

template <bool USUAL> __device__ __forceinline__ void wait_for_boxes(uint64_t *gate) {
    wait_for_copies();
    if (HAS_BULK && USUAL) wait_at_gate(gate, 0);
}

// Of a box that takes part.
__device__ __forceinline__ uint32_t tag_of(const psvi_find_input &input, const psvd_counts &counts, uint64_t slot) {
    const bool second = slot >= counts.a;
    const psvi_box_view &view = second ? input.b : input.a;
    const uint64_t index = second ? slot - counts.a : slot;
    const uint32_t flags = view.flags == NULL ? 0u : __ldg(view.flags + index);
    return (flags & PSV_BOX_STATIC ? PSVD_TAG_STATIC : 0u) | (second ? PSVD_TAG_SET_B : 0u) |
           (psvd_world_of(view, index) << PSVD_TAG_WORLD_SHIFT);
}

__device__ __forceinline__ psvd_box box_of(const float2 *pieces, uint32_t i) {
    const float2 first = pieces[3 * i], second = pieces[3 * i + 1], third = pieces[3 * i + 2];
    return psvd_box{{first.x, first.y, second.x}, {second.y, third.x, third.y}};
}

// The places from the next free one of a segment on, for the boxes of a warp that have one. All lanes together; one
// atomic where all boxes share a segment, as those of a scene in spatial order do. `stride`: words from one segment's
// next place to the following one's.
__device__ __forceinline__ uint32_t take_place(uint32_t *next, uint32_t stride, uint32_t segment, bool there) {
    const uint32_t lane = threadIdx.x & 31, first = __shfl_sync(PSVD_FULL, segment, 0);
    if (!__all_sync(PSVD_FULL, there && segment == first))
        return there ? atomicAdd(next + segment * stride, 1u) : NO_PLACE;
    uint32_t place = 0;
    if (lane == 0) place = atomicAdd(next + segment * stride, 32u);
    return __shfl_sync(PSVD_FULL, place, 0) + lane;
}

// Turns a block's boxes per segment into the place of the first one of each. All threads of the block. Neighbouring
// counters lie side by side, so that a warp's atomics go out together.
__device__ __forceinline__ void take_places(const psvi_rows_segments &segments, uint32_t *places) {
    __syncthreads();
#pragma unroll 6
    for (uint32_t i = threadIdx.x; i < segments.count; i += THREADS) {
        const uint32_t boxes = places[i];
        if (boxes != 0) places[i] = atomicAdd(&segments.place[i], boxes);
    }
    __syncthreads();
}

// What a thread has seen of its boxes; of the first level's in set a by itself.
struct split_tally {
    uint32_t first, longest;
    uint32_t others, present, huge;
    uint32_t usual; // boxes whose look is certain to be as usual
};

__device__ __forceinline__ void count_box(psvi_rows_plan &own, const psvd_record &record, uint32_t level, bool its_look,
                                          split_tally *tally) {
    const uint32_t length = __float_as_uint(__fsub_ru(record.first.y, record.first.x)); // not negative
    const bool second = __float_as_uint(record.second.w) & PSVD_TAG_SET_B;
    if (level == 0 && !second) {
        tally->longest = max(tally->longest, length);
        ++tally->first;
        return;
    }
    uint32_t *const longest = &own.longest[level + (second ? ROWS_LEVELS + 1 : 0)];
    if (length > *(volatile uint32_t *)longest) atomicMax(longest, length);
    tally->present |= 1u << (level + (second ? 16 : 0));
    tally->huge += level == own.levels;
    tally->usual += !its_look && own.down; // it does not look up
    ++tally->others;
}

// The key and the level of a usual box, and whether it is certain to look as usual. The key is what rows_key says.
template <int ITEMS>
__device__ __forceinline__ uint32_t usual_key(const split_shared<ITEMS> &shared, bool shaped, const psvd_record &box,
                                              uint32_t *level, bool *usual) {
    const psvi_rows_plan &plan = shared.local.plan;
    *level = rows_record_level(plan, shaped, box);
    const level_fields &fields = shared.level[*level];
    const float4 origin = fields.origin, inverse = fields.inverse;
    const int4 cells = fields.cells;
    const int32_t x = __float2int_rd((box.first.x - origin.x) * inverse.x);
    const int32_t y = __float2int_rd((box.first.z - origin.y) * inverse.y);
    const int32_t z = __float2int_rd((box.second.x - origin.z) * inverse.z);
    const int4 inner = fields.inner, inside = fields.inside;
    const auto is_inner = [&](int32_t at_x, int32_t at_y, int32_t at_z) {
        return ((uint32_t)(at_x - inner.x) < (uint32_t)inside.x) & ((uint32_t)(at_y - inner.y) < (uint32_t)inside.y) &
               ((uint32_t)(at_z - inner.z) < (uint32_t)inside.z);
    };
    *usual = is_inner(x, y, z);
    if ((uint32_t)x < (uint32_t)cells.x && (uint32_t)y < (uint32_t)cells.y && (uint32_t)z < (uint32_t)cells.z)
        return (uint32_t)(cells.w + (y * cells.z + z) * cells.x + x);
    *usual = is_inner(rows_wrap(x, cells.x), rows_wrap(y, cells.y), rows_wrap(z, cells.z));
    return rows_key(plan.level[*level], box);
}

// What a block has seen, to global memory; atomics only where they change something.
template <int ITEMS>
__device__ __forceinline__ void report_seen(const psvi_find_input &input, psvi_rows_plan *plan, split_tally tally,
                                            split_shared<ITEMS> *shared) {
    psvi_rows_plan &own = shared->local.plan;
    const uint32_t present = psvd_reduce_or(tally.present | (tally.first != 0 ? 1u : 0u));
    const uint32_t boxes = psvd_reduce_add(tally.first + tally.others), longest = psvd_reduce_max(tally.longest);
    const uint32_t larger = psvd_reduce_add(tally.others);
    tally.huge = psvd_reduce_add(tally.huge);
    tally.usual = psvd_reduce_add(tally.usual);
    if ((threadIdx.x & 31) == 0) {
        if (present != 0) atomicOr(&own.populated, present);
        if (longest != 0) atomicMax(&own.longest[0], longest);
        atomicAdd(&shared->boxes, boxes);
        if (larger != 0) atomicAdd(&shared->larger, larger);
        atomicAdd(&shared->usual, tally.usual);
        if (tally.huge != 0) atomicAdd(&shared->huge, tally.huge);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)shared->boxes);
        if (shared->boxes != shared->usual) atomicAdd(&plan->unusual, shared->boxes - shared->usual);
        if (shared->larger != 0) atomicAdd(&plan->larger, shared->larger);
        if (shared->filtered != 0) *(volatile uint32_t *)&plan->filtered = 1;
        if (shared->huge != 0)
            atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->huge_count),
                      (unsigned long long)shared->huge);
        if ((*(volatile uint32_t *)&plan->populated & own.populated) != own.populated)
            atomicOr(&plan->populated, own.populated);
    }
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1) && own.longest[threadIdx.x] != 0)
        if (*(volatile uint32_t *)&plan->longest[threadIdx.x] < own.longest[threadIdx.x])
            atomicMax(&plan->longest[threadIdx.x], own.longest[threadIdx.x]);
}

// The last block that has counted says where the segments begin, and whether some have no room.
template <int ITEMS>
__device__ __forceinline__ void start_segments(const split_job &job, bool written, psvi_rows_plan *plan,
                                               split_shared<ITEMS> *shared) {
    const psvi_rows_segments &segments = job.segments;
    psvi_rows_progress *const progress = job.progress;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) shared->last = atomicAdd(&progress->counted, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!shared->last) return;
    __threadfence();
    const uint32_t used = (shared->local.plan.cells >> segments.shift) + 1; // others have no boxes
    uint32_t start = 0;
    bool overfull = false, crowded = false;
    for (uint32_t first = 0; first < used; first += 4 * THREADS) {
        const uint32_t at = first + 4 * threadIdx.x;
        uint32_t boxes[4], own = 0, total;
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) {
            boxes[i] = at + i < used ? __ldcg(&segments.place[(at + i) * segments.place_stride]) : 0;
            own += boxes[i];
            crowded |= boxes[i] > ROWS_BOUND_SEGMENT;
            overfull |= boxes[i] > (at + i < segments.held ? segments.room : 0);
        }
        uint32_t place = start + rows_sum_before<WARPS>(own, shared->sums, &total);
        start += total;
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) {
            if (at + i < used) segments.starts[at + i] = place;
            place += boxes[i];
        }
    }
    overfull = __syncthreads_or(overfull);
    crowded = __syncthreads_or(crowded) && plan->bound.unbounded == 0; // one block would order it for too long
    if (overfull || !written) // the second time, boxes go to their segment's true places
        for (uint32_t i = threadIdx.x; i < used; i += THREADS)
            segments.place[i * segments.place_stride] = segments.starts[i];
    if (threadIdx.x == 0) {
        segments.starts[used] = start;
        progress->again = overfull || !written;
        progress->overfull = overfull;
        // Uneven boxes. The uniform sweep takes them too, unless they had many candidates in the frame before.
        if (overfull && plan->boxes_per_warp != 32) plan->crowded = PSVD_FULL;
        progress->counted = progress->ordered = 0;
        if (crowded) plan->bound.over = 1;
    }
}

// Writes a warp's usual boxes to their places as records, unless these are NO_PLACE. Two lanes write the halves of one
// record together, so that a whole sector goes out at once. `own` is the first box in shared memory and `slot` its
// slot.
__device__ __forceinline__ void write_usual(float4 *records, const psvi_rows_plan &plan, const float2 *own,
                                            uint32_t slot, uint32_t place, uint32_t tag) {
    const uint32_t lane = threadIdx.x & 31, half = lane & 1;
    const int x = plan.axis[half ? 2 : 0], y = plan.axis[1];
    const float up = plan.up;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t from = lane / 2 + 16 * i;
        const uint32_t to = __shfl_sync(PSVD_FULL, place, from), its_tag = __shfl_sync(PSVD_FULL, tag, from);
        const float *const box = reinterpret_cast<const float *>(own + 3 * from);
        float4 value = make_float4(up * box[x], up * box[x + 3], up * box[y], up * box[y + 3]);
        if (half) value.z = __uint_as_float(slot + from), value.w = __uint_as_float(its_tag);
        if (to != NO_PLACE) records[2ull * to + half] = value;
    }
}

__device__ __forceinline__ level_fields fields_of(const psvi_rows_level &level) {
    const int32_t reach_x = __float2int_ru(level.reach[0] * level.inverse[0]) + 1;
    return level_fields{
        make_float4(level.origin[0], level.origin[1], level.origin[2], 0),
        make_float4(level.inverse[0], level.inverse[1], level.inverse[2], 0),
        make_int4(level.cells[0], level.cells[1], level.cells[2], (int32_t)level.base),
        make_int4(reach_x, 0, level.cells[2] == 1 ? 0 : 1, 0),
        make_int4(max(level.cells[0] - 2 * reach_x, 0), max(level.cells[1] - 1, 1), max(level.cells[2] - 2, 1), 0),
    };
}

// Records by segments, in any order within one. Reads 24 bytes a slot, writes 32. TOGETHER: a block takes the places of
// its boxes together, one atomic a segment; else every box its own. The first time also counts what a plan has to know
// of the boxes and lists bad ones.
template <int ITEMS, bool TOGETHER, bool USUAL, bool AGAIN>
__global__ void __launch_bounds__(THREADS, ROWS_CODE_POLICY.split_blocks)
    psvk_rows_segments_split(const psvi_find_input input, psvi_rows_plan *plan, const __grid_constant__ split_job job) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    split_shared<ITEMS> &shared = *reinterpret_cast<split_shared<ITEMS> *>(dynamic);
    const psvi_rows_segments &segments = job.segments;
    if (AGAIN) psvd_wait_for_front();
    if (AGAIN && (!job.progress->again || plan->bound.over)) return;
    const bool written = AGAIN || !job.progress->overfull;
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t first = (uint64_t)blockIdx.x * (THREADS * ITEMS), all = counts.all();
    const uint32_t here = first < all ? (uint32_t)min((uint64_t)(THREADS * ITEMS), all - first) : 0;
    load_boxes<USUAL>(input, counts, first, here, AGAIN, shared.pieces, &shared.gate);
    if (TOGETHER)
        for (uint32_t i = threadIdx.x; i < segments.count; i += THREADS)
            shared.places[i] = 0;
    if (!AGAIN) psvd_wait_for_front(); // the boxes are not of its making
    rows_load_plan(&shared.local, plan, THREADS);
    __syncthreads();
    psvi_rows_plan &own = shared.local.plan;
    if (threadIdx.x < 2 * (ROWS_LEVELS + 1)) own.longest[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        own.populated = shared.boxes = shared.larger = shared.huge = shared.usual = shared.filtered = 0;
    if (threadIdx.x <= own.levels) shared.level[threadIdx.x] = fields_of(own.level[threadIdx.x]);
    wait_for_boxes<USUAL>(&shared.gate);
    __syncthreads();
    if (!AGAIN && own.bound.over) return; // to the tree
    const bool one_world = !input.between && input.world_count <= 1, shaped = own.shaped != 0;
    uint32_t keys[ITEMS], ranks[ITEMS];
    split_tally tally = {0, 0, 0, 0, 0, 0};
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const uint32_t i = threadIdx.x + item * THREADS;
        bool good = false;
        keys[item] = 0;
        if (i < here) {
            const psvd_box box = box_of(shared.pieces, i);
            good = !psvi_box_is_bad(box.min, box.max);
            if (good) {
                const psvd_record record = rows_record(own, box, 0, USUAL ? 0 : tag_of(input, counts, first + i));
                if (!AGAIN && rows_is_too_far(own, record)) *(volatile uint32_t *)&plan->bound.over = 1;
                uint32_t level;
                bool its_look = false;
                if (USUAL || one_world) {
                    keys[item] = usual_key(shared, shaped, record, &level, &its_look);
                    tally.usual += its_look;
                } else {
                    level = rows_record_level(own, record);
                    keys[item] = rows_key(own.level[level], record);
                }
                if (!USUAL && !AGAIN && one_world && input.a.filters != NULL && rows_is_filtered(input, first + i))
                    shared.filtered = 1;
                if (!AGAIN) count_box(own, record, level, its_look, &tally);
            } else if (!AGAIN && USUAL) {
                psvd_report_bad(input, counts, first + i);
            }
        }
        __syncwarp();
        ranks[item] = TOGETHER ? take_place(shared.places, 1, keys[item] >> segments.shift, good)
                               : take_place(segments.place, segments.place_stride, keys[item] >> segments.shift, good);
    }
    if (TOGETHER) take_places(segments, shared.places);
    if (written) {
#pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const uint32_t i = threadIdx.x + item * THREADS, segment = keys[item] >> segments.shift;
            const uint32_t number = keys[item] & ((1u << segments.shift) - 1);
            uint32_t place = NO_PLACE;
            if (ranks[item] != NO_PLACE) {
                place = ranks[item] + (TOGETHER ? shared.places[segment] : 0u);
                if (!AGAIN)
                    place =
                        place < segments.room && segment < segments.held ? place + segment * segments.room : NO_PLACE;
            }
            if (USUAL) {
                const uint32_t of_warp = i & ~31u;
                write_usual(job.records, own, shared.pieces + 3 * of_warp, (uint32_t)first + of_warp, place,
                            job.numbered ? number << NUMBER_SHIFT : 0u);
            } else {
                psvd_record record = {};
                if (place != NO_PLACE) {
                    const uint64_t slot = first + i;
                    record = rows_record(own, box_of(shared.pieces, i), (uint32_t)slot, tag_of(input, counts, slot));
                    put_number(&record, number, job.numbered);
                }
                __syncwarp();
                write_together(job.records, record, place);
            }
        }
    }
    if (AGAIN) return;
    report_seen(input, plan, tally, &shared);
    start_segments(job, written, plan, &shared);
}

template <int ITEMS, bool TOGETHER> static size_t split_bytes(uint32_t segments) {
    return offsetof(split_shared<ITEMS>, places) + (TOGETHER ? sizeof(uint32_t) * segments : 0);
}

template <int ITEMS, bool TOGETHER, bool USUAL> static cudaError_t prepare_split(size_t bytes) {
    const cudaError_t error = rows_allow_shared(psvk_rows_segments_split<ITEMS, TOGETHER, USUAL, false>, bytes);
    if (error != cudaSuccess) return error;
    return rows_allow_shared(psvk_rows_segments_split<ITEMS, TOGETHER, USUAL, true>, bytes);
}

extern "C" cudaError_t psvi_prepare_rows_segments_split(psvi_rows_memory *memory) {
    int device = 0, most = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error != cudaSuccess) return error;
    const size_t bytes = split_bytes<ROWS_TOGETHER_ITEMS, true>(memory->segmented.segments.count);
    memory->segmented.split_together =
        memory->segmented.segments.count <= ROWS_TOGETHER_SEGMENTS && bytes <= (size_t)most;
    if (!memory->segmented.split_together) return cudaSuccess;
    error = prepare_split<ROWS_TOGETHER_ITEMS, true, true>(bytes);
    if (error == cudaSuccess) error = prepare_split<ROWS_TOGETHER_ITEMS, true, false>(bytes);
    return error;
}

template <int ITEMS, bool TOGETHER, bool USUAL>
static cudaError_t launch_split(const psvi_find_input *input, const psvi_rows_memory *memory, cudaStream_t stream) {
    const split_job job = {memory->segmented.segments, memory->segmented.progress,
                           reinterpret_cast<float4 *>(memory->segmented.split), rows_are_numbered(*input)};
    const uint32_t blocks = psvi_block_count(psvi_most_boxes(input), THREADS * ITEMS);
    const size_t bytes = split_bytes<ITEMS, TOGETHER>(memory->segmented.segments.count);
    const cudaError_t error = rows_launch_early(memory, stream, psvk_rows_segments_split<ITEMS, TOGETHER, USUAL, false>,
                                                blocks, THREADS, bytes, *input, memory->plan, job);
    if (error != cudaSuccess) return error;
    return rows_launch_early(memory, stream, psvk_rows_segments_split<ITEMS, TOGETHER, USUAL, true>, blocks, THREADS,
                             bytes, *input, memory->plan, job);
}

extern "C" cudaError_t psvi_launch_rows_segments_split(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                       cudaStream_t stream) {
    const bool usual = are_usual(*input);
    const auto launch = memory->segmented.split_together ? usual ? launch_split<ROWS_TOGETHER_ITEMS, true, true>
                                                                 : launch_split<ROWS_TOGETHER_ITEMS, true, false>
                        : usual ? launch_split<ROWS_ITEMS, false, true>
                                                         : launch_split<ROWS_ITEMS, false, false>;
    return launch(input, memory, stream);
}
