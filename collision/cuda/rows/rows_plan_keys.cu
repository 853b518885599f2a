// The first two kernels of `rows`: the plan of this frame's levels and cells, and the keys.
#include "../launch_cuda.h"
#include "rows_counted_tiles.cuh"
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
};

// The plan of a frame. One block, one box a thread. fused: whose plans are of another frame then; NULL: there are none.
__global__ void __launch_bounds__(ROWS_SAMPLES)
    psvk_rows_plan(const psvi_find_input input, psvi_rows_plan *target, psvi_rows_watch *watched, uint32_t key_bits,
                   const plan_pause pause, psvi_rows_fused *fused) {
    rows_let_next_begin();
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
                   pause.scales, may_down, &shared);
    if (threadIdx.x == 0) {
        rows_follow(*target, ratio, shared.scene, &watch, &plan);
        const bool ends = !pause.suits_even || !may_down || (shared.few_larger && !plan.shaped);
        rows_watch_pause(shared.scene, pause.number, ends ? pause.changed_told : nullptr, &watch);
        plan.bound.unbounded = !pause.bounded;
        plan.bound.over = rows_begins_over(target->bound.over, shared.scene, &watch) && pause.bounded;
        watch.last = shared.scene;
        if (fused != nullptr) fused->made_for[0] = fused->made_for[1] = 0;
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
__global__ void __launch_bounds__(ROWS_KEY_THREADS)
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
                              memory->tree.progress};
    psvk_rows_plan<<<1, ROWS_SAMPLES, 0, stream>>>(*input, memory->plan, memory->watch, memory->key_bits, pause,
                                                   memory->fused);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_rows_keys(const psvi_find_input *input, const psvi_rows_memory *memory,
                                             cudaStream_t stream) {
    const cudaError_t error = psvi_launch_rows_plan(input, memory, stream);
    if (error != cudaSuccess) return error;
    const uint32_t blocks = psvi_block_count(psvi_most_boxes(input), ROWS_KEY_THREADS * ROWS_KEY_ITEMS);
    if (memory->order == PSVI_ROWS_BY_COUNTING)
        return rows_launch_early(memory, stream, psvk_rows_keys<true>, blocks, ROWS_KEY_THREADS, 0, *input,
                                 memory->plan, nullptr, memory->counted.ranks, memory->counted.cell_counts);
    return rows_launch_early(memory, stream, psvk_rows_keys<false>, blocks, ROWS_KEY_THREADS, 0, *input, memory->plan,
                             memory->sorted.keys, nullptr, nullptr);
}
