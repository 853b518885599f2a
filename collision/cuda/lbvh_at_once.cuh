// All of `lbvh` by the blocks of one launch, for frames of which only the device knows that they are the tree's: in
// place of a sweep of `rows` that would take longer.
//
// Steps follow each other: plan; keys; four passes of a radix sort, each of them counts, sums and places; leaves; walk;
// parts of long searches. A step has tasks, which blocks take in sequence. A block goes to the next step when all tasks
// of this one are done. It waits only for tasks that blocks at work have taken, so it does not matter how many blocks
// are on the device at once.
#ifndef PAIRSIEVE_COLLISION_LBVH_AT_ONCE_CUH
#define PAIRSIEVE_COLLISION_LBVH_AT_ONCE_CUH

#include "lbvh_build.cuh"
#include "lbvh_walk.cuh"

#if !defined(LBVH_ONCE_THREADS)
#define LBVH_ONCE_THREADS 512 // of a block; or 256
#endif
#define LBVH_ONCE_WARPS (LBVH_ONCE_THREADS / 32)
#define LBVH_ONCE_ITEMS (PSVI_LBVH_TILE / LBVH_ONCE_THREADS)

namespace lbvh_at_once {

enum { STEP_PLAN, STEP_KEYS, STEP_SORT, STEP_LEAVES = STEP_SORT + 3 * PSVI_LBVH_PASSES - 1, STEP_WALK, STEP_PARTS };

static_assert(STEP_PARTS < PSVI_LBVH_STEPS && PSVI_LBVH_TILE % LBVH_ONCE_THREADS == 0, "as the steps have it");
static_assert(LBVH_ONCE_THREADS >= PSVI_LBVH_DIGITS, "a thread for each digit");

struct place_shared {
    uint2 staged[PSVI_LBVH_TILE];
    uint32_t of_warp[LBVH_ONCE_WARPS]
                    [PSVI_LBVH_DIGITS]; // boxes of each digit in the warps before, then of the digits before as well
    uint32_t target[PSVI_LBVH_DIGITS];  // less the digit's first place in the tile: where its first one goes
    uint32_t sums[2][LBVH_ONCE_WARPS];
};

struct walk_shared {
    psvd_pair_stage<LBVH_ONCE_WARPS> stage;
    near_leaves near[LBVH_ONCE_WARPS];
    uint32_t stacks[LBVH_ONCE_WARPS][LBVH_STACK];
};

struct lbvh_once_shared {
    uint32_t task;
    psvi_lbvh_plan plan;
    union {
        lbvh_plan_shared planning;
        struct {
            float2 pieces[LBVH_ONCE_WARPS][96];
            uint32_t counts[PSVI_LBVH_DIGITS];
        } keys;
        uint32_t counts[PSVI_LBVH_DIGITS];
        place_shared place;
        lbvh_leaf_shared<LBVH_ONCE_THREADS> leaves;
        walk_shared walk;
    };
};

// --- steps -----------------------------------------------------------------------------------------------------------

// Takes the next task of a step, for thread 0. It is asked for long before it is needed.
__device__ __forceinline__ void take_task(const psvi_lbvh_at_once &its, uint32_t step, uint32_t *task) {
    if (threadIdx.x == 0) *task = atomicAdd(&its.progress->taken[step], 1u);
}

// All threads of the block together.
__device__ __forceinline__ void finish_tasks(const psvi_lbvh_at_once &its, uint32_t step, uint32_t tasks) {
    __syncthreads();
    if (threadIdx.x != 0 || tasks == 0) return;
    __threadfence();
    atomicAdd(&its.progress->done[step], tasks);
}

__device__ __forceinline__ void pause_thread() {
#if __CUDA_ARCH__ >= 700
    __nanosleep(100);
#endif
}

// Waits until all tasks of a step are done. All threads of the block together.
__device__ __forceinline__ void wait_for_step(const psvi_lbvh_at_once &its, uint32_t step, uint32_t tasks) {
    if (threadIdx.x == 0) {
        while (*(const volatile uint32_t *)&its.progress->done[step] < tasks)
            pause_thread();
        __threadfence();
    }
    __syncthreads();
}

// Runs `work(task)` for each task of a step, and returns when all are done. task: in thread 0 the block's first one;
// then the first one of the next step. The block takes the next step's tasks too, unless the step is the last such.
template <class Work>
__device__ __forceinline__ void run_step(const psvi_lbvh_at_once &its, uint32_t step, uint32_t tasks, uint32_t *task,
                                         lbvh_once_shared &shared, Work work) {
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) shared.task = *task;
        __syncthreads();
        const uint32_t its_task = shared.task;
        if (its_task >= tasks) break;
        work(its_task);
        finish_tasks(its, step, 1);
        take_task(its, step, task);
    }
    if (step != STEP_LEAVES) take_task(its, step + 1, task);
    wait_for_step(its, step, tasks);
}

// --- plan and keys ---------------------------------------------------------------------------------------------------

// What a sweep has put into the frame's result, and counted for worlds, goes.
__device__ __forceinline__ void clear_result(const psvi_find_input &input, const psvi_lbvh_at_once &its) {
    psvi_frame_result *const result = input.result;
    for (uint32_t i = threadIdx.x; i < sizeof *result / 4; i += LBVH_ONCE_THREADS)
        reinterpret_cast<uint32_t *>(result)[i] = 0;
    if (input.rules != NULL && input.rules->world_pairs != NULL)
        for (uint32_t i = threadIdx.x; i < input.world_count; i += LBVH_ONCE_THREADS)
            input.rules->world_pairs[i] = input.worlds_before == NULL ? 0 : input.worlds_before[i];
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (input.pairs_before != NULL) result->pair_count = *input.pairs_before;
    result->route = its.route;
    result->veto = its.veto;
}

// A number of counts[], for a pass over a digit.
__device__ __forceinline__ uint32_t *count_of(const psvi_lbvh_at_once &its, uint32_t digit, uint32_t tile) {
    return its.counts + (uint64_t)digit * its.tile_room + tile;
}

__device__ __forceinline__ void write_counts(const psvi_lbvh_at_once &its, uint32_t tile, const uint32_t *counts) {
    if (threadIdx.x < PSVI_LBVH_DIGITS) *count_of(its, threadIdx.x, tile) = counts[threadIdx.x];
}

// Keys of a tile of slots, counted by their lowest digit; bad boxes are listed. Reads 24 bytes a box, writes 8.
__device__ __forceinline__ void make_keys(const psvi_find_input &input, const psvi_lbvh_at_once &its, uint32_t tile,
                                          lbvh_once_shared &shared) {
    const psvd_counts counts = psvd_read_counts(input);
    uint2 *const pairs = static_cast<uint2 *>(its.pairs[0]);
    if (threadIdx.x < PSVI_LBVH_DIGITS) shared.keys.counts[threadIdx.x] = 0;
    __syncthreads();
    uint32_t good = 0;
#pragma unroll 1
    for (uint32_t item = 0; item < LBVH_ONCE_ITEMS; ++item) {
        const uint64_t slot = (uint64_t)tile * PSVI_LBVH_TILE + item * LBVH_ONCE_THREADS + threadIdx.x;
        const bool here = slot < counts.all();
        psvd_box box = {};
        uint32_t tag;
        const psvd_state state =
            psvd_load_following(input, counts, here, slot, &box, &tag, shared.keys.pieces[threadIdx.x / 32]);
        uint32_t key = lbvh_last_key(its.memory);
        if (state == PSVD_BOX_GOOD) key = lbvh_key(input, counts, slot, shared.plan, its.memory, box);
        if (here) {
            pairs[slot] = make_uint2(key, (uint32_t)slot);
            atomicAdd(&shared.keys.counts[key % PSVI_LBVH_DIGITS], 1u);
        }
        if (state == PSVD_BOX_BAD) psvd_report_bad(input, counts, slot);
        good += state == PSVD_BOX_GOOD;
        __syncwarp();
    }
    good = psvd_reduce_add(good);
    if (threadIdx.x % 32 == 0 && good != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)good);
    __syncthreads();
    write_counts(its, tile, shared.keys.counts);
}

// --- the sort --------------------------------------------------------------------------------------------------------

__device__ __forceinline__ uint32_t digit_of(uint32_t key, uint32_t pass) {
    return key >> 8 * pass & (PSVI_LBVH_DIGITS - 1);
}

// Counts a tile's boxes by a digit. Reads 8 bytes a box.
__device__ __forceinline__ void count_digits(const psvi_lbvh_at_once &its, uint32_t slots, uint32_t pass, uint32_t tile,
                                             lbvh_once_shared &shared) {
    const uint2 *const from = static_cast<const uint2 *>(its.pairs[pass % 2]) + (uint64_t)tile * PSVI_LBVH_TILE;
    const uint32_t here = min(PSVI_LBVH_TILE, slots - tile * PSVI_LBVH_TILE);
    if (threadIdx.x < PSVI_LBVH_DIGITS) shared.counts[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (uint32_t item = 0; item < LBVH_ONCE_ITEMS; ++item) {
        const uint32_t i = item * LBVH_ONCE_THREADS + threadIdx.x;
        if (i < here) atomicAdd(&shared.counts[digit_of(__ldcg(from + i).x, pass)], 1u);
    }
    __syncthreads();
    write_counts(its, tile, shared.counts);
}

// The row of a digit: of each tile, the boxes of the digit in the tiles before it; behind the last tile that of all. A
// warp a row, 128 tiles a turn.
__device__ __forceinline__ void sum_row(const psvi_lbvh_at_once &its, uint32_t tiles, uint32_t digit) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t before = 0;
    for (uint32_t first = 0; first < tiles; first += 128) {
        uint4 *const at = reinterpret_cast<uint4 *>(count_of(its, digit, first)) + lane;
        uint4 count = __ldcg(at);
        const uint32_t tile = first + 4 * lane; // what lies behind the last tile is of another frame
        if (tile >= tiles) count.x = 0;
        if (tile + 1 >= tiles) count.y = 0;
        if (tile + 2 >= tiles) count.z = 0;
        if (tile + 3 >= tiles) count.w = 0;
        const uint32_t own = count.x + count.y + count.z + count.w, up_to = psvd_sum_up_to(own);
        uint4 sum;
        sum.x = before + up_to - own;
        sum.y = sum.x + count.x;
        sum.z = sum.y + count.y;
        sum.w = sum.z + count.z;
        *at = sum;
        before += __shfl_sync(PSVD_FULL, up_to, 31);
    }
    __syncwarp(); // the last turn may have written there
    if (lane == 0) *count_of(its, digit, its.tile_room - 1) = before;
}

// Sum of the block's values before each thread's own; of the first PSVI_LBVH_DIGITS threads. All threads together.
__device__ __forceinline__ uint32_t sum_before(uint32_t value, uint32_t *sums) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32, up_to = psvd_sum_up_to(value);
    if (lane == 31) sums[warp] = up_to;
    __syncthreads();
    const uint32_t before = psvd_reduce_add(lane < warp ? sums[min(lane, LBVH_ONCE_WARPS - 1u)] : 0u);
    return before + up_to - value;
}

// A tile's boxes to their places by a digit, those of one digit in the order in which they are. Each warp ranks some of
// them that follow each other; then they lie in order in shared memory and go out in runs. Reads and writes 8 bytes a
// box.
__device__ __forceinline__ void place_digits(const psvi_lbvh_at_once &its, uint32_t slots, uint32_t pass, uint32_t tile,
                                             lbvh_once_shared &shared) {
    place_shared &own = shared.place;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32,
                   here = min(PSVI_LBVH_TILE, slots - tile * PSVI_LBVH_TILE);
    const uint2 *const from = static_cast<const uint2 *>(its.pairs[pass % 2]) + (uint64_t)tile * PSVI_LBVH_TILE;
    for (uint32_t i = threadIdx.x; i < LBVH_ONCE_WARPS * PSVI_LBVH_DIGITS; i += LBVH_ONCE_THREADS)
        own.of_warp[i / PSVI_LBVH_DIGITS][i % PSVI_LBVH_DIGITS] = 0;
    __syncthreads();
    uint2 box[LBVH_ONCE_ITEMS];
    uint32_t rank[LBVH_ONCE_ITEMS];
#pragma unroll
    for (uint32_t item = 0; item < LBVH_ONCE_ITEMS; ++item) {
        const uint32_t i = warp * (32 * LBVH_ONCE_ITEMS) + item * 32 + lane;
        box[item] = i < here ? __ldcg(from + i) : make_uint2(0, 0);
    }
#pragma unroll
    for (uint32_t item = 0; item < LBVH_ONCE_ITEMS; ++item) {
        const bool there = warp * (32 * LBVH_ONCE_ITEMS) + item * 32 + lane < here;
        const uint32_t digit = digit_of(box[item].x, pass);
        uint32_t same = __ballot_sync(PSVD_FULL, there);
#pragma unroll
        for (uint32_t bit = 0; bit < 8; ++bit) {
            const uint32_t with = __ballot_sync(PSVD_FULL, digit >> bit & 1);
            same &= digit >> bit & 1 ? with : ~with;
        }
        const uint32_t before = __popc(same & ((1u << lane) - 1));
        rank[item] = own.of_warp[warp][digit] + before;
        __syncwarp();
        if (there && before == 0) own.of_warp[warp][digit] += __popc(same);
        __syncwarp();
    }
    __syncthreads();
    uint32_t in_tile = 0, in_all = 0;
    if (threadIdx.x < PSVI_LBVH_DIGITS) {
#pragma unroll
        for (uint32_t w = 0; w < LBVH_ONCE_WARPS; ++w) {
            const uint32_t count = own.of_warp[w][threadIdx.x];
            own.of_warp[w][threadIdx.x] = in_tile;
            in_tile += count;
        }
        in_all = __ldcg(count_of(its, threadIdx.x, its.tile_room - 1));
    }
    const uint32_t tile_start = sum_before(in_tile, own.sums[0]), start = sum_before(in_all, own.sums[1]);
    if (threadIdx.x < PSVI_LBVH_DIGITS) {
#pragma unroll
        for (uint32_t w = 0; w < LBVH_ONCE_WARPS; ++w)
            own.of_warp[w][threadIdx.x] += tile_start;
        own.target[threadIdx.x] = start + __ldcg(count_of(its, threadIdx.x, tile)) - tile_start;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t item = 0; item < LBVH_ONCE_ITEMS; ++item)
        if (warp * (32 * LBVH_ONCE_ITEMS) + item * 32 + lane < here)
            own.staged[own.of_warp[warp][digit_of(box[item].x, pass)] + rank[item]] = box[item];
    __syncthreads();
    const bool last = pass == PSVI_LBVH_PASSES - 1;
    uint2 *const to = static_cast<uint2 *>(its.pairs[1 - pass % 2]);
    for (uint32_t i = threadIdx.x; i < here; i += LBVH_ONCE_THREADS) {
        const uint2 its_box = own.staged[i];
        const uint32_t place = own.target[digit_of(its_box.x, pass)] + i;
        if (last) {
            its.memory.keys[place] = its_box.x;
            its.memory.order[place] = its_box.y;
        } else {
            to[place] = its_box;
        }
    }
}

__device__ __forceinline__ void sort(const psvi_lbvh_at_once &its, uint32_t slots, uint32_t tiles, uint32_t *next,
                                     lbvh_once_shared &shared) {
    const uint32_t warp = threadIdx.x / 32;
    uint32_t step = STEP_SORT;
#pragma unroll 1
    for (uint32_t pass = 0; pass < PSVI_LBVH_PASSES; ++pass) {
        if (pass != 0)
            run_step(its, step++, tiles, next, shared,
                     [&](uint32_t tile) { count_digits(its, slots, pass, tile, shared); });
        run_step(its, step++, PSVI_LBVH_DIGITS / LBVH_ONCE_WARPS, next, shared,
                 [&](uint32_t task) { sum_row(its, tiles, task * LBVH_ONCE_WARPS + warp); });
        run_step(its, step++, tiles, next, shared,
                 [&](uint32_t tile) { place_digits(its, slots, pass, tile, shared); });
    }
}

// --- the walk --------------------------------------------------------------------------------------------------------

// The next group or part for the calling warp.
__device__ __forceinline__ uint32_t next_of_warp(const psvi_lbvh_at_once &its, uint32_t step) {
    uint32_t task = 0;
    if (threadIdx.x % 32 == 0) task = atomicAdd(&its.progress->taken[step], 1u);
    return __shfl_sync(PSVD_FULL, task, 0);
}

// All groups, and then the parts of long searches. Warps take them one by one.
template <bool ASKS>
__device__ __forceinline__ void walk(const psvi_find_input &input, const psvi_lbvh_at_once &its, uint32_t boxes,
                                     lbvh_once_shared &shared) {
    const uint32_t warp = threadIdx.x / 32, groups = (boxes + 31) / 32;
    lbvh_search search = make_search(input, its.memory);
    search.part_room = min(its.memory.part_room, LBVH_WALK_PARTS);
    lbvh_group<ASKS, LBVH_ONCE_WARPS> group = {search, shared.walk.stage, shared.walk.near[warp], {}, 0, 0, 0};
    group.own.low.x = NAN;
    uint32_t *const stack = shared.walk.stacks[warp];
    for (uint32_t number; (number = next_of_warp(its, STEP_WALK)) < groups;) {
        lbvh_walk_group(search, group, number, boxes, stack);
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            __threadfence();
            atomicAdd(&its.progress->done[STEP_WALK], 1u);
        }
    }
    __syncthreads();
    wait_for_step(its, STEP_WALK, groups);
    const uint32_t parts = lbvh_walk_parts(its.memory);
    for (uint32_t number; parts != 0 && (number = next_of_warp(its, STEP_PARTS)) < parts;) {
        const psvi_lbvh_part *const from = its.memory.parts + number;
        const psvi_lbvh_part part = {__ldcg(&from->name), __ldcg(&from->first), __ldcg(&from->end)};
        lbvh_walk_part(search, group, part, boxes, stack);
    }
    group.finish(&input.result->candidates);
}

// Waits until all sweeps that have begun in the same launch have ended. One thread.
__device__ __forceinline__ void wait_for_sweeps(const psvi_lbvh_at_once &its) {
    if (its.begun == NULL) return;
    while (*(const volatile uint32_t *)its.ended != *(const volatile uint32_t *)its.begun)
        pause_thread();
    __threadfence();
}

// Boxes to pairs, by any number of blocks. The first LBVH_ONCE_THREADS threads of each are here, and no others of the
// block any more. The progress is zero. Reads and writes 24 + 8 bytes a box for the keys, 24 in each pass of the sort,
// 65 for the leaves; the walk as in psvk_lbvh_walk.
template <bool ASKS>
__device__ __forceinline__ void find(const psvi_find_input &input, const psvi_lbvh_at_once &its,
                                     lbvh_once_shared &shared) {
    const uint32_t slots = (uint32_t)psvd_read_counts(input).all(),
                   tiles = (slots + PSVI_LBVH_TILE - 1) / PSVI_LBVH_TILE;
    uint32_t next = 0;
    take_task(its, STEP_PLAN, &next);
    run_step(its, STEP_PLAN, 1, &next, shared, [&](uint32_t) {
        if (threadIdx.x == 0) wait_for_sweeps(its);
        __syncthreads();
        clear_result(input, its);
        __syncthreads();
        if (its.wanted == NULL || *its.wanted != PSVI_LBVH_PLANNED)
            lbvh_make_plan<LBVH_ONCE_THREADS>(input, its.memory, shared.planning);
    });
    for (uint32_t i = threadIdx.x; i < sizeof shared.plan / 4; i += LBVH_ONCE_THREADS)
        reinterpret_cast<uint32_t *>(&shared.plan)[i] = __ldcg(reinterpret_cast<const uint32_t *>(its.memory.plan) + i);
    run_step(its, STEP_KEYS, tiles, &next, shared, [&](uint32_t tile) { make_keys(input, its, tile, shared); });
    sort(its, slots, tiles, &next, shared);
    const uint32_t boxes = (uint32_t) * (const volatile uint64_t *)&input.result->boxes;
    run_step(its, STEP_LEAVES, (boxes + 511) / 512, &next, shared,
             [&](uint32_t block) { lbvh_make_leaves(input, its.memory, boxes, block, shared.leaves); });
    if (boxes >= 2) walk<ASKS>(input, its, boxes, shared);
}

} // namespace lbvh_at_once

#endif
