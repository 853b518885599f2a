// The sweep of `rows` over uniform scenes. Every box looks at the boxes of its own and the neighbouring rows as rounded
// to 8 bytes, which tells nearly all pairs. The others are tested exactly.
#include "../../../../core/cuda/async_copies.cuh"
#include "../../launch_cuda.h"
#include "../rows_launch.cuh"
#include "../rows_uniform.cuh"
#include "rows_held.cuh"
#include "rows_partners.cuh"

#define WARPS (PSVI_BLOCK_THREADS / 32)
#define RANGES (ROWS_NEAR + 1)

// A warp's own memory. A chunk begins with less than ROWS_UNIFORM_HITS pairs in its buffer and less than 32 in doubt.
struct warp_work {
    uint4 own[32];                   // lower, upper: negated words, less ROWS_SURE; slot; ROWS_VAGUE and ROWS_STATIC
    uint32_t hit[ROWS_UNIFORM_HITS]; // places times 32, with the lanes whose boxes they may pair with
    uint2 doubt[ROWS_UNIFORM_HITS + 32]; // slots
};

// More than what is taken of a batch: a chunk each, and each warp may have asked in vain once.
#define BATCH_STRIDE (4 * WARPS)
#define NO_BATCH 0xffffffffu
#define NO_CHUNK (0xffffffffu / 32) // behind all

struct sweep_shared {
    warp_work work[WARPS];
    psvd_pair_stage<WARPS> stage;
    unsigned long long tested[WARPS];
    uint32_t batch;      // with MANY, of a chunk for each warp: its number times BATCH_STRIDE, and how many are taken
    uint32_t next_batch; // number of the next one; NO_BATCH: not known yet
    uint32_t longest[WARPS], doubted[WARPS];
};

static_assert(2 * ROWS_UNIFORM_HITS <= PSVD_WARP_PAIRS, "the pairs of a chunk fit the buffer");

using sweep_held = rows_held_memory<sweep_shared>;

__device__ __forceinline__ sweep_shared &sweep_memory() { return sweep_held::block(); }
__device__ __forceinline__ warp_work &own_work() { return sweep_held::own(); }

using sweep_tally = rows_held_tally;

struct uniform_tables {
    rows_uniform_arrays arrays;
    const uint32_t *starts;
    rows_slots slots;
};

// Of a place: its entry, slot and rounded box.
__device__ __forceinline__ uint4 entry_of(const uniform_tables &tables, uint32_t place) {
    const uint2 box = tables.arrays.rounded[place], look = tables.arrays.look[place];
    return make_uint4(box.x, box.y, look.x, look.y);
}

__device__ __forceinline__ const uint2 *box_at(const uniform_tables &tables, uint32_t place) {
    return tables.arrays.rounded + place;
}

// The unusual boxes: a whole warp goes through the runs of one. Returns how many pairs the warp holds then, and how
// many places a lane has looked at.
static __device__ __noinline__ uint2 sweep_unusual(const psvi_find_input &input, const psvi_rows_plan *plan,
                                                   const uniform_tables &tables, uint32_t held) {
    const psvd_sink sink = rows_sink(input);
    const uint32_t lane = threadIdx.x & 31, at = __ffs(plan->populated) - 1, listed = plan->listed;
    const psvi_rows_level &level = plan->level[at];
    const rows_larger_tables looked_at = {tables.slots, tables.starts};
    uint32_t tested = 0;
    for (uint32_t i = blockIdx.x * WARPS + (threadIdx.x >> 5); i < listed; i += gridDim.x * WARPS) {
        const uint32_t own_place = tables.arrays.listed[i];
        const psvd_record own = rows_load_place(input, *plan, looked_at, own_place);
        const rows_view view = rows_view_of(*plan, own, at, 0, true);
        rows_walk walk = rows_walk_from(level, view, 0);
        bool own_run = view.own_row;
        while (walk.row < view.rows) {
            const rows_interval interval = rows_next_interval(level, 0, view, &walk);
            const bool first = own_run;
            own_run = false;
            if (interval.cells <= 0) continue;
            const uint32_t start = first ? own_place + 1 : tables.starts[interval.first];
            const uint32_t end = tables.starts[interval.first + interval.cells];
            for (uint32_t place = start + lane; place - lane < end; place += 32) {
                bool hit = false;
                uint32_t slot = 0;
                if (place < end) {
                    ++tested;
                    const psvd_record other = rows_load_place(input, *plan, looked_at, place);
                    slot = __float_as_uint(other.second.z);
                    hit = overlaps(own, other) &&
                          rows_may_pair(input, *plan, own, own_place, other, place, view.check_owner);
                }
                sweep_memory().stage.emit_together(sink, hit, __float_as_uint(own.second.z), slot, &held);
            }
        }
    }
    return make_uint2(held, tested);
}

// Looks at `count` listed hits again, side by side: sure ones become pairs, others are put aside. All lanes together.
// The lists are walked by their addresses, which saves a third of the instructions.
template <bool MANY>
__device__ __forceinline__ void take_hits(const psvi_find_input &input, const uniform_tables &tables, uint32_t count,
                                          sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, below = (1u << lane) - 1, slots = tables.arrays.slot_mask;
    warp_work &work = own_work();
    const uint32_t own_at = shared_address(work.own);
    uint32_t from = shared_address(&work.hit[min(lane, count - 1)]);
    uint32_t pairs_at = shared_address(sweep_memory().stage.room(tally->pairs));
    uint32_t doubts_at = shared_address(work.doubt + tally->doubts);
    for (uint32_t left = count; left != 0;) {
        uint32_t hit;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(hit) : "r"(from) : "memory");
        const uint32_t place = hit >> 5;
        uint3 other; // rounded box and slot
        const uint2 box = tables.arrays.rounded[place];
        other = make_uint3(box.x, box.y, tables.arrays.look[place].x);
        uint4 own;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(own.x), "=r"(own.y), "=r"(own.z), "=r"(own.w)
                     : "r"(own_at + (hit & 31u) * 16)
                     : "memory");
        const bool near = MANY || (other.z ^ own.z) <= slots; // of the same turns; else far away, unless one is vague
        other.z &= slots;
        if (!MANY) own.z &= slots;
        const rows_partners partners = rows_load_partners(input, own.z);
        const uint32_t differs = (other.x - own.x) | (other.y - own.y) | own.w;
        const bool there = lane < left && (own.w & other.y & ROWS_STATIC) == 0 && (near || (int32_t)differs < 0) &&
                           !rows_are_partners(input, partners, own.z, other.z),
                   sure = there && (differs & (ROWS_FIELD_SIGNS | ROWS_VAGUE)) == 0;
        const unsigned sures = __ballot_sync(PSVD_FULL, sure), doubts = __ballot_sync(PSVD_FULL, there) & ~sures;
        const uint32_t to = sure ? pairs_at + 8 * __popc(sures & below) : doubts_at + 8 * __popc(doubts & below);
        if (there)
            asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(min(own.z, other.z)),
                         "r"(max(own.z, other.z))
                         : "memory");
        pairs_at += 8 * __popc(sures);
        doubts_at += 8 * __popc(doubts);
        left -= min(left, 32u);
        from += lane < left ? 128u : 0u;
    }
    tally->pairs = (pairs_at - shared_address(sweep_memory().stage.room(0))) / 8;
    tally->doubts = (doubts_at - shared_address(work.doubt)) / 8;
    __syncwarp();
}

// Takes the next chunk of the block's batch, a new batch when there is none: chunks that lie side by side go to warps
// of one block, which share a cache. One lane.
__device__ __forceinline__ uint32_t take_chunk(psvi_rows_plan *plan) {
    sweep_shared &shared = sweep_memory();
    for (;;) {
        const uint32_t batch = atomicAdd(&shared.batch, 1u), taken = batch % BATCH_STRIDE;
        if (taken < WARPS) return batch / BATCH_STRIDE * WARPS + taken;
        if (taken == WARPS) {
            uint32_t number;
            while ((number = *(volatile uint32_t *)&shared.next_batch) == NO_BATCH)
                rows_pause();
            *(volatile uint32_t *)&shared.next_batch = NO_BATCH;
            __threadfence_block();
            atomicExch(&shared.batch, number * BATCH_STRIDE + 1);
            *(volatile uint32_t *)&shared.next_batch = gridDim.x + atomicAdd(&plan->ticket, 1u);
            return number * WARPS;
        }
        while (*(volatile uint32_t *)&shared.batch % BATCH_STRIDE > WARPS)
            rows_pause();
    }
}

// What a warp does next: mostly the next chunk of 32 boxes. Rarely a chunk has a run longer than 32 places, or more
// hits than are listed at once. Then the warp takes the next 32 places of each run, or the next hits, from the
// beginning.
struct sweep_position {
    uint32_t chunk, window, batch;
};

// A run of a chunk is longer than the lanes' words: another window of 32 places, of five runs at most. Returns whether
// the warp has to end. All lanes together.
static __device__ __noinline__ bool spend_window(const psvi_find_input &input, psvi_rows_plan *plan, uint32_t boxes,
                                                 uint32_t window) {
    uint32_t all = window > ROWS_BOUND_RUN + boxes / ROWS_BOUND_RUN ? ~0u - 2 * ROWS_BOUND_STEP : 0;
    return rows_spend(&plan->bound, input.result, boxes, ROWS_BOUND_STEP, &all);
}

// MANY: of many boxes. Warps take the next chunk that is left, else their shares are equal; and cells may have numbers
// that the word of a look does not hold.
template <bool MANY>
__device__ __forceinline__ void sweep_chunk(const psvi_find_input &input, psvi_rows_plan *plan,
                                            const uniform_tables &tables, uint32_t row, uint32_t next_y, uint32_t boxes,
                                            sweep_position *position, sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, place = position->chunk * 32 + lane, from = min(place, boxes - 1);
    const uint4 own = entry_of(tables, from);
    const uint32_t lower = rows_negated(own.y), upper = rows_negated(own.x);
    const uint32_t look = place < boxes ? own.w : 0, span = look >> ROWS_LOOK_SPAN_SHIFT & ROWS_LOOK_SPAN;
    warp_work &work = own_work();
    const uint32_t slot = MANY ? own.z & tables.arrays.slot_mask : own.z;
    work.own[lane] = make_uint4((lower + ROWS_SURE) & ROWS_FIELD_BITS, (upper + ROWS_SURE) & ROWS_FIELD_BITS, slot,
                                (own.x & ROWS_VAGUE) | (own.y & ROWS_STATIC));
    // Runs of places, the own row's first.
    uint32_t cell = look & ROWS_LOOK_CELL;
    if (MANY && place < boxes)
        cell |= (own.z & ~tables.arrays.slot_mask) >> ROWS_UNIFORM_SLOT_BITS << ROWS_UNIFORM_BITS;
    uint32_t start[RANGES] = {}, count[RANGES] = {}, hits[RANGES];
    if (span != 0) start[0] = place + 1, count[0] = tables.starts[cell + span];
    const uint32_t rows[RANGES] = {0, row, next_y - row, next_y, next_y + row};
    const uint32_t both = ROWS_LOOK_NEXT_Z | ROWS_LOOK_NEXT_Y;
    const uint32_t bits[RANGES] = {0, ROWS_LOOK_NEXT_Z, ROWS_LOOK_BACK_Y, ROWS_LOOK_NEXT_Y, both};
#pragma unroll
    for (int i = 1; i < RANGES; ++i)
        if ((look & bits[i]) == bits[i]) {
            start[i] = tables.starts[cell + rows[i]];
            count[i] = tables.starts[cell + rows[i] + span];
        }
    uint32_t longest = 0, found = 0;
#pragma unroll
    for (int i = 0; i < RANGES; ++i)
        count[i] -= start[i];
    if (position->window == 0 && position->batch == 0)
#pragma unroll
        for (int i = 0; i < RANGES; ++i)
            tally->tested += count[i];
    else
#pragma unroll
        for (int i = 0; i < RANGES; ++i) {
            start[i] += position->window;
            count[i] -= min(count[i], position->window);
        }
#pragma unroll
    for (int i = 0; i < RANGES; ++i) {
        longest = max(longest, count[i]);
        hits[i] = rows_test_places(box_at(tables, start[i]), count[i], lower, upper);
        found += __popc(hits[i]);
    }
    const uint32_t up_to = psvd_sum_up_to(found), skipped = position->batch * ROWS_UNIFORM_HITS;
    const uint32_t all = __shfl_sync(PSVD_FULL, up_to, 31) - skipped;
    uint32_t n = up_to - found - skipped;
    if (skipped == 0 && all <= ROWS_UNIFORM_HITS) {
        uint32_t *to = work.hit + n;
#pragma unroll
        for (int i = 0; i < RANGES; ++i)
            for (; hits[i] != 0; hits[i] &= hits[i] - 1)
                *to++ = (start[i] + (__ffs(hits[i]) - 1)) << 5 | lane;
    } else {
#pragma unroll
        for (int i = 0; i < RANGES; ++i)
            for (; hits[i] != 0; hits[i] &= hits[i] - 1, ++n)
                if (n < ROWS_UNIFORM_HITS) work.hit[n] = (start[i] + (__ffs(hits[i]) - 1)) << 5 | lane;
    }
    __syncwarp();
    if (all != 0) take_hits<MANY>(input, tables, min(all, (uint32_t)ROWS_UNIFORM_HITS), tally);
    tally->longest = max(tally->longest, longest + position->window);
    if (all > ROWS_UNIFORM_HITS) {
        ++position->batch;
    } else if (__any_sync(PSVD_FULL, longest > 32)) {
        position->window += 32;
        position->batch = 0;
        if (spend_window(input, plan, boxes, position->window)) position->chunk = NO_CHUNK;
    } else {
        uint32_t chunk = position->chunk + gridDim.x * WARPS;
        if (MANY && lane == 0) chunk = take_chunk(plan);
        position->chunk = MANY ? __shfl_sync(PSVD_FULL, chunk, 0) : chunk;
        position->window = position->batch = 0;
    }
}

// The pairs. A warp takes chunks of 32 boxes in sorted order. For each of the rows that they look at a lane tests its
// run of places, side by side with its neighbours, whose runs are about the same. Then what passed is looked at again,
// all lanes side by side whoever found it. Reads 16 bytes of a box for itself and 8 about once per row that looks at
// it; writes the pairs.
template <bool MANY>
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS, ROWS_CODE_POLICY.uniform_blocks)
    psvk_rows_uniform(const __grid_constant__ psvi_find_input input, psvi_rows_plan *plan,
                      const __grid_constant__ uniform_tables tables) {
    // Where the kernel behind has many larger boxes to sweep it begins when all blocks have ended. Blocks that came
    // before would find the multiprocessors laid out for this kernel's shared memory, with room for too few of them
    // (power 1M 0.34 to 0.46 ms). Else it has nothing to do, and the sooner it begins the better.
    if (plan->larger < ROWS_UNIFORM_MANY_LARGER) rows_let_next_begin();
    const uint32_t all = (uint32_t)input.result->boxes;
    if (!rows_is_uniform(plan, all)) return;
    const uint32_t larger = (plan->populated & (plan->populated - 1)) != 0 ? plan->larger : 0, boxes = all - larger;
    const psvi_rows_level &level = plan->level[__ffs(plan->populated) - 1];
    const uint32_t row = (uint32_t)level.cells[0], next_y = row * (uint32_t)level.cells[2];
    sweep_tally tally = {0, 0, 0, 0, 0};
    sweep_position position = {blockIdx.x * WARPS + (threadIdx.x >> 5), 0, 0};
    if (MANY) {
        if (threadIdx.x == 0) {
            sweep_memory().batch = blockIdx.x * BATCH_STRIDE + WARPS;
            sweep_memory().next_batch = gridDim.x + atomicAdd(&plan->ticket, 1u);
        }
        __syncthreads();
    }
    while (position.chunk * 32 < boxes) {
        sweep_chunk<MANY>(input, plan, tables, row, next_y, boxes, &position, &tally);
        rows_make_room<sweep_held, ROWS_UNIFORM_HITS>(input, &tally);
    }
    tally.pairs = rows_settle_doubts<sweep_held>(input, tally.doubts, tally.pairs);
    if (plan->listed != 0 && !rows_is_over(plan->bound)) {
        const uint2 more = sweep_unusual(input, plan, tables, tally.pairs);
        tally.pairs = more.x;
        tally.tested += more.y;
    }
    const rows_block_sum sum = rows_finish_block<sweep_held, WARPS>(input, tally);
    if (threadIdx.x != 0) return;
    if (sum.doubted != 0) atomicAdd(&plan->doubted, (uint32_t)sum.doubted);
    atomicAdd(reinterpret_cast<unsigned long long *>(&plan->candidates), sum.tested);
    if (blockIdx.x == 0) rows_report_shape(input, *plan);
}

extern "C" cudaError_t psvi_launch_rows_uniform(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                cudaStream_t stream) {
    const rows_uniform_arrays arrays = rows_uniform_arrays_of(memory);
    const uniform_tables tables = {arrays, memory->starts, rows_uniform_slots_of(arrays)};
    const uint32_t wanted = psvi_block_count(psvi_most_boxes(input), WARPS * 32);
    const uint32_t most = memory->multiprocessors * memory->policy.uniform_blocks;
    const uint32_t blocks = wanted < most ? wanted : most;
    const bool many = psvi_most_boxes(input) > ROWS_UNIFORM_TICKETS || rows_has_wide_cells(memory);
    const auto kernel = many ? psvk_rows_uniform<true> : psvk_rows_uniform<false>;
    // Not early: behind an order kernel its blocks would keep the little first-level cache that that one leaves.
    return psvi_launch_early(false, stream, kernel, blocks, PSVI_BLOCK_THREADS, sizeof(sweep_shared), *input,
                             memory->plan, tables);
}
