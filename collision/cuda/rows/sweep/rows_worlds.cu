// Many small worlds whose boxes lie in order of world: every box against those behind it in its world, without a sort.
// A kernel in front says whether they lie so; where they do not, another route takes all of them.
#include "../../common.cuh"
#include "../../launch_cuda.h"
#include "../rows_launch.cuh"

#define THREADS PSVI_BLOCK_THREADS
#define WARPS (THREADS / 32)
#define CHECK_THREADS 1024
#define STEP 8 // candidates that are tested at a time

static_assert(32 * ROWS_HITS <= PSVD_WARP_PAIRS, "a round of pairs fits a warp's buffer");

// Do the boxes lie in order of world, at most ROWS_WORLDS_MOST of each? One box a thread and turn; reads 8 bytes a box.
// Also clears the result.
__global__ void __launch_bounds__(CHECK_THREADS)
    psvk_rows_worlds_check(const psvi_find_input input, psvi_rows_worlds *state, psvi_rows_bin_state *counted,
                           uint32_t *told) {
    if (blockIdx.x == 0 && threadIdx.x < sizeof *input.result / 4) {
        const bool begun = input.pairs_before != NULL && threadIdx.x < 2; // the words of the first pair's place
        reinterpret_cast<uint32_t *>(input.result)[threadIdx.x] =
            begun ? reinterpret_cast<const uint32_t *>(input.pairs_before)[threadIdx.x] : 0;
    }
    const uint64_t boxes = psvd_count_of(input.a);
    const uint32_t *const worlds = input.a.worlds;
    bool fails = false;
    for (uint64_t i = (uint64_t)blockIdx.x * CHECK_THREADS + threadIdx.x; i < boxes; i += gridDim.x * CHECK_THREADS) {
        const uint32_t world = __ldg(worlds + i);
        if (i + 1 < boxes) fails = fails || __ldg(worlds + i + 1) < world;
        if (i + ROWS_WORLDS_MOST < boxes) fails = fails || __ldg(worlds + i + ROWS_WORLDS_MOST) == world;
    }
    fails = __syncthreads_or(fails);
    if (threadIdx.x != 0) return;
    if (fails) *(volatile uint32_t *)&state->unordered = 1;
    __threadfence();
    if (atomicAdd(&state->arrived, 1u) != gridDim.x - 1) return;
    __threadfence();
    fails = *(volatile uint32_t *)&state->unordered != 0;
    state->own = fails ? 0 : boxes;
    state->rest = fails ? boxes : 0;
    state->arrived = state->unordered = 0;
    if (counted != NULL) { // the counting sort in one launch
        counted->done = !fails;
        counted->tasks = counted->counted = counted->scanned = counted->scattered = 0;
    }
    if (fails) *(volatile uint32_t *)told = ++state->failures;
}

struct world_tile {
    float4 first[32]; // min x, max x, min y, max y
    float2 second[32];
};

// What a warp knows of 32 boxes that follow each other, in its tile; a bit for each.
struct world_boxes {
    uint32_t good, statics;
};

__device__ __forceinline__ world_boxes put_tile(psvd_state state, const psvd_box &box, uint32_t tag, world_tile *tile) {
    const uint32_t lane = threadIdx.x & 31;
    __syncwarp();
    tile->first[lane] = make_float4(box.min[0], box.max[0], box.min[1], box.max[1]);
    tile->second[lane] = make_float2(box.min[2], box.max[2]);
    __syncwarp();
    const bool good = state == PSVD_BOX_GOOD;
    return {__ballot_sync(PSVD_FULL, good), __ballot_sync(PSVD_FULL, good && (tag & PSVD_TAG_STATIC))};
}

// Which of the tile's boxes up to place `end` overlap the lane's. All lanes read the same box at a time.
__device__ __forceinline__ uint32_t test_tile(const world_tile &tile, const psvd_box &box, uint32_t end) {
    uint32_t hits = 0;
#pragma unroll 1
    for (uint32_t from = 0; from < end; from += STEP) {
        uint32_t some = 0;
#pragma unroll
        for (uint32_t k = 0; k < STEP; ++k) {
            const float4 first = tile.first[from + k];
            const float2 second = tile.second[from + k];
            const bool overlap = box.min[0] <= first.y && first.x <= box.max[0] && box.min[1] <= first.w &&
                                 first.z <= box.max[1] && box.min[2] <= second.y && second.x <= box.max[2];
            some |= overlap ? 1u << k : 0u;
        }
        hits |= some << from;
    }
    return hits;
}

// Hands over the pairs of the lane's box with those of a tile that begins at slot `from`, ROWS_HITS of a lane at a
// time. All lanes together.
template <bool ASKS>
__device__ __forceinline__ void emit_hits(const psvi_find_input &input, const psvd_counts &counts, uint32_t slot,
                                          uint32_t from, uint32_t hits, psvd_pair_stage<WARPS> *stage, uint32_t *held) {
    const psvd_sink sink = psvd_make_sink(input, counts);
    const uint32_t lane = threadIdx.x & 31;
    if constexpr (ASKS) {
        uint32_t allowed = 0;
        for (uint32_t left = hits; left != 0; left &= left - 1)
            if (psvd_arrays_and_rules_pair(input, counts, slot, from + __ffs(left) - 1)) allowed |= left & (0u - left);
        __syncwarp();
        hits = allowed;
    }
    while (__any_sync(PSVD_FULL, hits != 0)) {
        const uint32_t taken = min(__popc(hits), ROWS_HITS);
        uint32_t behind = taken;
#pragma unroll
        for (int step = 1; step < 32; step <<= 1) {
            const uint32_t theirs = __shfl_up_sync(PSVD_FULL, behind, step);
            if (lane >= step) behind += theirs;
        }
        const uint32_t all = __shfl_sync(PSVD_FULL, behind, 31);
        stage->make_room(sink, all, held);
        psv_pair *place = stage->room(*held + behind - taken);
        for (uint32_t i = 0; i < taken; ++i, hits &= hits - 1)
            *place++ = psv_pair{slot, from + __ffs(hits) - 1};
        *held += all;
        __syncwarp();
    }
}

struct worlds_shared {
    psvd_pair_stage<WARPS> stage;
    world_tile tile[WARPS];
    uint32_t boxes, tested;
};

// A box a lane. A warp tests its boxes against each other, then those of its last world against what follows of it, 32
// at a time. Reads 28 bytes a box, once for each 32 boxes in front of it in its world; writes the pairs. ASKS: there
// are filters or rules.
template <bool ASKS>
__global__ void __launch_bounds__(THREADS, 4) // blocks resident on a multiprocessor
    psvk_rows_worlds(const __grid_constant__ psvi_find_input input, const psvi_rows_worlds *state) {
    __shared__ worlds_shared shared;
    const psvd_counts counts = {state->own, 0};
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint64_t first = (uint64_t)blockIdx.x * THREADS + 32 * warp, slot = first + lane;
    psvd_box box = {};
    uint32_t tag = 0;
    const bool here = slot < counts.a;
    const psvd_state seen = here ? psvd_load_slot(input, counts, slot, &box, &tag) : PSVD_BOX_OFF;
    const uint32_t world = here ? __ldg(input.a.worlds + slot) : 0;
    psvd_wait_for_front(); // the other route has gone by
    if ((uint64_t)blockIdx.x * THREADS >= counts.a) return;
    if (threadIdx.x == 0) {
        shared.boxes = shared.tested = 0;
        if (blockIdx.x == 0) {
            input.result->route = PSVI_ROWS_WORLDS;
            input.result->veto = PSVI_ROWS_NO_VETO;
        }
    }
    __syncthreads();
    world_tile *const tile = &shared.tile[warp];
    world_boxes others = put_tile(seen, box, tag, tile);
    const bool good = seen == PSVD_BOX_GOOD, fixed = tag & PSVD_TAG_STATIC;
    const uint32_t boxes = __popc(others.good);
    const uint32_t of_world = __match_any_sync(PSVD_FULL, world);
    uint32_t asked = good ? of_world & others.good & ~((2u << lane) - 1) : 0, tested = __popc(asked), held = 0;
    if (fixed) asked &= ~others.statics;
    emit_hits<ASKS>(input, counts, (uint32_t)slot, (uint32_t)first, test_tile(*tile, box, 32) & asked, &shared.stage,
                    &held);
    const uint32_t last_world = __shfl_sync(PSVD_FULL, world, 31);
    const bool goes_on = good && world == last_world;
#pragma unroll 1
    for (uint64_t from = first + 32; from < counts.a; from += 32) {
        const uint64_t next = from + lane;
        const bool is_next = next < counts.a && __ldg(input.a.worlds + next) == last_world;
        const uint32_t count = __popc(__ballot_sync(PSVD_FULL, is_next)); // they are the first ones
        if (count == 0) break;
        psvd_box other = {};
        uint32_t other_tag = 0;
        others = put_tile(is_next ? psvd_load_slot(input, counts, next, &other, &other_tag) : PSVD_BOX_OFF, other,
                          other_tag, tile);
        asked = goes_on ? others.good : 0;
        tested += __popc(asked);
        if (fixed) asked &= ~others.statics;
        emit_hits<ASKS>(input, counts, (uint32_t)slot, (uint32_t)from, test_tile(*tile, box, count) & asked,
                        &shared.stage, &held);
        if (count < 32) break;
    }
    if (seen == PSVD_BOX_BAD) psvd_report_bad(input, counts, slot);
    __syncwarp();
    tested = psvd_reduce_add(tested);
    if (lane == 0) {
        atomicAdd(&shared.boxes, boxes);
        atomicAdd(&shared.tested, tested);
    }
    const psvd_sink sink = psvd_make_sink(input, counts);
    shared.stage.hold(sink, held);
    shared.stage.finish(sink);
    if (threadIdx.x != 0) return;
    atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)shared.boxes);
    atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->candidates), (unsigned long long)shared.tested);
}

extern "C" cudaError_t psvi_launch_rows_worlds_check(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                     cudaStream_t stream) {
    const uint32_t wanted = psvi_block_count(psvi_most_boxes(input), CHECK_THREADS);
    const uint32_t blocks = wanted < memory->multiprocessors ? wanted : memory->multiprocessors;
    psvk_rows_worlds_check<<<blocks, CHECK_THREADS, 0, stream>>>(*input, memory->worlds, memory->bins.state,
                                                                 memory->worlds_told);
    return cudaGetLastError();
}

// Behind the other route, whose first kernel begins when the check has ended: so what that has found can be read before
// the kernels in front have ended.
extern "C" cudaError_t psvi_launch_rows_worlds(const psvi_find_input *input, const psvi_rows_memory *memory,
                                               cudaStream_t stream) {
    const bool asks = input->a.filters != NULL || input->rules != NULL;
    return rows_launch_early(memory, stream, asks ? psvk_rows_worlds<true> : psvk_rows_worlds<false>,
                             psvi_block_count(psvi_most_boxes(input), THREADS), THREADS, 0, *input, memory->worlds);
}
