// The first two kernels of `rows`: the plan of this frame's levels and cells, and the keys.
#include "../../launch_cuda.h"
#include "../../lbvh_build.cuh"
#include "../order/rows_counted_tiles.cuh"
#include "rows_plan.cuh"

// The plan of a frame that has no boxes, as it turns out on the device: no levels, no cells.
__device__ __forceinline__ void plan_nothing(psvi_rows_plan *plan) {
    plan->slots = plan->candidates = 0;
    plan->levels = plan->cells = plan->shaped = plan->down = plan->doubted = 0;
    plan->populated = plan->larger = plan->unusual = plan->filtered = plan->crowded = plan->listed = plan->ticket = 0;
    plan->bound = psvi_rows_bound{};
    ++plan->epoch;
}

// What the host's pause is for. `suits_even`: a route that is paused takes boxes of many sizes badly, so only boxes of
// about one size end the pause.
struct plan_pause {
    uint32_t number; // 0: none
    bool suits_even;
    uint32_t *changed_told;
    bool bounded; // the tree is behind the sweep,
    bool scales;  // and records are in the plan's scale
    psvi_lbvh_progress *progress;
    uint32_t *fused_told; // where the fused kernel waits for the plan to say whether the scene suits it; else NULL
    uint32_t *tree_told;  // NULL, or host memory: whether the frame is the tree's
    psvi_rows_bin_state *counted; // NULL, or that of the counting sort that is one launch with the sweep
};

// What the plan means for frames by the fused kernel, which has no levels by shape. Where the plan's route goes by the
// tree the other one does no worse, unless it has gone by the tree too. One thread.
__device__ __forceinline__ void tell_fused(const plan_pause &pause, const psvi_rows_plan &plan,
                                           const psvi_rows_scene &scene, psvi_rows_fused *fused) {
    fused->made_for[0] = fused->made_for[1] = 0;
    if (plan.bound.over && (fused->watch.was_over == 0 || rows_scenes_differ(fused->watch.over, scene))) {
        fused->own = scene;
        if (pause.suits_even) *(volatile uint32_t *)pause.changed_told = pause.number;
    }
    if (!plan.bound.over && plan.shaped > 1 && pause.fused_told != nullptr)
        *(volatile uint32_t *)pause.fused_told = ++fused->failures;
}

// The tree's plan, beside the other one: it counts if the frame is the tree's from the beginning.
__device__ __forceinline__ void plan_tree(const psvi_find_input &input, const psvi_lbvh_memory &tree) {
    constexpr uint32_t THREADS = 4 * LBVH_SAMPLES;
    static_assert(THREADS <= ROWS_SAMPLES, "the others leave");
    __shared__ lbvh_plan_shared shared;
    if (threadIdx.x < THREADS) lbvh_make_plan<THREADS>(input, tree, shared);
}

// The plan of a frame, by one block, one box a thread; that of the tree by a second block, if there is one. fused:
// whose plans are of another frame then; NULL: there are none.
__global__ void __launch_bounds__(ROWS_SAMPLES)
    psvk_rows_plan(const psvi_find_input input, psvi_rows_plan *target, psvi_rows_watch *watched, uint32_t key_bits,
                   const plan_pause pause, psvi_rows_fused *fused, const psvi_lbvh_memory tree) {
    rows_let_next_begin();
    if (blockIdx.x == 1) {
        plan_tree(input, tree);
        return;
    }
    rows_clear_progress(pause.progress);
    if (psvd_read_counts(input).all() == 0) {
        if (threadIdx.x != 0) return;
        plan_nothing(target);
        input.result->route = input.route;
        input.result->veto = input.veto;
        return;
    }
    __shared__ psvi_rows_watch watch;
    if (threadIdx.x < sizeof watch / 4)
        reinterpret_cast<uint32_t *>(&watch)[threadIdx.x] = reinterpret_cast<const uint32_t *>(watched)[threadIdx.x];
    __shared__ rows_plan_shared<ROWS_SAMPLES> shared;
    __shared__ float4 samples[ROWS_SAMPLES];
    psvi_rows_plan &plan = shared.plan;
    bool trial;
    psvi_rows_ratio ratio = rows_next_ratio(*target, &trial);
    if (trial && !rows_may_try(input, psvd_read_counts(input), rows_level_ratio(ratio), &shared, samples))
        ratio.cost[ratio.at--] = FLT_MAX;
    const bool may_down = !input.between && input.world_count <= 1;
    rows_make_plan(input, psvd_read_counts(input), (1u << key_bits) - 2, ROWS_CELLS_A_BOX, rows_level_ratio(ratio),
                   pause.scales, may_down, &watch, &shared);
    if (threadIdx.x == 0) {
        rows_follow(*target, ratio, shared.scene, &watch, &plan);
        const bool ends = !pause.suits_even || !may_down || (shared.few_larger && !plan.shaped);
        rows_watch_pause(shared.scene, pause.number, ends ? pause.changed_told : nullptr, &watch);
        plan.bound.unbounded = !pause.bounded;
        const bool over = (rows_begins_over(target->bound.over, shared.scene, &watch) || plan.bound.over != 0);
        plan.bound.over = over && pause.bounded ? PSVI_LBVH_PLANNED : 0;
        if (pause.tree_told != nullptr) *(volatile uint32_t *)pause.tree_told = plan.bound.over;
        if (pause.counted != nullptr) {
            pause.counted->done = 0;
            pause.counted->tasks = pause.counted->counted = pause.counted->scanned = pause.counted->scattered = 0;
        }
        watch.last = shared.scene;
        if (fused != nullptr) tell_fused(pause, plan, shared.scene, fused);
        input.result->key_bits = key_bits;
        input.result->route = input.route;
        input.result->veto = input.veto;
    }
    __syncthreads();
    const uint32_t *const from = reinterpret_cast<const uint32_t *>(&plan);
    for (uint32_t i = threadIdx.x; i < sizeof plan / 4; i += ROWS_SAMPLES)
        reinterpret_cast<uint32_t *>(target)[i] = from[i];
    if (threadIdx.x < sizeof watch / 4)
        reinterpret_cast<uint32_t *>(watched)[threadIdx.x] = reinterpret_cast<const uint32_t *>(&watch)[threadIdx.x];
}

template <bool COUNT>
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_rows_keys(const psvi_find_input input, psvi_rows_plan *plan, uint32_t *keys, uint32_t *ranks,
                   uint32_t *cell_counts) {
    __shared__ rows_key_shared shared;
    rows_key_tile<COUNT>(input, plan, keys, ranks, cell_counts, blockIdx.x, shared);
}

extern "C" cudaError_t psvi_launch_rows_plan(const psvi_find_input *input, const psvi_rows_memory *memory,
                                             cudaStream_t stream) {
    const plan_pause pause = {memory->pause,
                              memory->fused_pauses,
                              memory->changed_told,
                              memory->has_tree,
                              memory->has_tree && memory->order != PSVI_ROWS_BY_SORTER,
                              memory->tree.progress,
                              memory->fused_waits ? memory->fused_told : NULL,
                              memory->tree_told,
                              memory->at_once ? memory->bins.state : NULL};
    psvk_rows_plan<<<memory->has_tree ? 2 : 1, ROWS_SAMPLES, 0, stream>>>(
        *input, memory->plan, memory->watch, memory->key_bits, pause, memory->fused, memory->tree.memory);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_rows_keys(const psvi_find_input *input, const psvi_rows_memory *memory,
                                             cudaStream_t stream) {
    const cudaError_t error = psvi_launch_rows_plan(input, memory, stream);
    if (error != cudaSuccess) return error;
    const uint32_t blocks = psvi_block_count(psvi_most_boxes(input), PSVI_BLOCK_THREADS * ROWS_ITEMS);
    if (memory->order == PSVI_ROWS_BY_COUNTING)
        return rows_launch_early(memory, stream, psvk_rows_keys<true>, blocks, PSVI_BLOCK_THREADS, 0, *input,
                                 memory->plan, nullptr, memory->counted.ranks, memory->counted.cell_counts);
    return rows_launch_early(memory, stream, psvk_rows_keys<false>, blocks, PSVI_BLOCK_THREADS, 0, *input, memory->plan,
                             memory->sorted.keys, nullptr, nullptr);
}
