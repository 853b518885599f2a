// The plan of a frame's levels and cells, made from sampled boxes by one block.
#ifndef PAIRSIEVE_COLLISION_ROWS_PLAN_CUH
#define PAIRSIEVE_COLLISION_ROWS_PLAN_CUH

#include "rows_plan_foresee.cuh"
#include "rows_plan_shapes.cuh"

// Splits `budget` cells of a level over its axes. Rows of these widths where the budget allows, else as
// many rows as an even split gives, wrapping around; what is left divides x. `low` and `spread` tell where most boxes
// are; the cells cover a little more, so that few boxes wrap.
__device__ __forceinline__ void rows_divide_level(psvi_rows_level *level, const float *low, const float *spread,
                                                  const float *width, float budget, float x_cells,
                                                  uint32_t world_count) {
    level->worlds = (uint32_t)fminf((float)world_count, fmaxf(budget, 1.0f));
    budget = fmaxf(budget / (float)level->worlds, 1.0f);
    float wanted[3], range[3];
    for (int axis = 0; axis < 3; ++axis) {
        level->origin[axis] = low[axis] - 0.05f * spread[axis] - 1.5f * width[axis];
        range[axis] = 1.1f * spread[axis] + 3.0f * width[axis];
        wanted[axis] = fminf(range[axis] / width[axis] + 1.0f, 1e9f);
    }
    if (spread[1] < 0.5f * width[1]) wanted[1] = 1.0f;
    if (spread[2] < 0.5f * width[2]) wanted[2] = 1.0f;
    // Axes in ascending order of what they want: what one does not need goes to the others.
    float left = budget;
    for (int turn = 0; turn < 2; ++turn) { // y and z
        const int axis = (wanted[1] <= wanted[2]) == (turn == 0) ? 1 : 2;
        const float others = turn == 0 ? fminf(wanted[0], wanted[3 - axis]) : wanted[0];
        float share = turn == 0 ? cbrtf(left) : sqrtf(left);
        if (others < share) share = fmaxf(share, left / fmaxf(wanted[0] * (turn == 0 ? wanted[3 - axis] : 1.0f), 1.0f));
        float rows = floorf(fminf(wanted[axis], share));
        if (rows < 4.0f) rows = 1.0f;
        level->cells[axis] = (int32_t)rows;
        level->inverse[axis] = rows == 1.0f ? 0.0f : ROWS_ROW_FIT / width[axis];
        left = fmaxf(left / rows, 1.0f);
    }
    const float most = fminf(range[0] / width[0] * x_cells + 2.0f, 1e9f);
    const float cells_x = floorf(fmaxf(fminf(most, left), 1.0f));
    // Cells that just cover the range, unless they would be much longer than a box: then they wrap.
    const float pitch = cells_x > 2.0f ? range[0] / (cells_x - 2.0f) : INFINITY;
    level->cells[0] = (int32_t)cells_x;
    level->inverse[0] = cells_x == 1.0f ? 0.0f : 1.0f / fmaxf(fminf(pitch, 2.0f * width[0]), width[0] / x_cells);
}

// Level limits from the sampled extents: the largest, then the largest that is a ratio below it, and so on, so
// that every level fits boxes that are there. Returns the number of sampled levels; limits go coarse to fine.
template <int THREADS>
__device__ __forceinline__ uint32_t rows_choose_limits(float extent, float least, float ratio,
                                                       rows_plan_shared<THREADS> *shared) {
    float *const limits = shared->limits;
    uint32_t count = 0;
    float bound = INFINITY;
    while (count < ROWS_LEVELS - ROWS_UPPER_LEVELS) {
        const float largest = rows_block_max(extent < bound ? extent : -1.0f, shared);
        if (largest < 0) break;
        const float limit = fmaxf(largest * ROWS_LIMIT_PAD, least);
        if (threadIdx.x == 0) limits[count] = limit;
        ++count;
        bound = limit / ratio;
        if (bound <= least) break;
    }
    if (count > 0) return count;
    if (threadIdx.x == 0) limits[0] = fmaxf(least, 1.0f);
    return 1;
}

template <int THREADS>
__device__ __forceinline__ void rows_lay_out(rows_plan_shared<THREADS> *shared, uint32_t sampled, uint32_t world_count,
                                             float budget, uint32_t samples, float least) {
    const float *const limits = shared->limits;
    psvi_rows_plan &plan = shared->plan;
    float low[3], spread[3];
    for (int axis = 0; axis < 3; ++axis) {
        low[axis] = shared->low[plan.axis[axis]][0];
        spread[axis] = shared->high[plan.axis[axis]][0] - low[axis];
    }
    const uint32_t own = threadIdx.x;
    if (own > plan.levels) return;
    psvi_rows_level &its = plan.level[own];
    if (own < plan.levels) {
        psvi_rows_level *const level = &plan.level[own];
        const uint32_t finest = plan.shaped ? plan.shaped : sampled; // levels of boxes that are there
        level->limit = own >= finest ? fminf(limits[0] * powf(ROWS_LEVEL_RATIO, (float)(own - finest + 1)), 1e38f)
                       : plan.shaped ? limits[0]
                                     : limits[sampled - 1 - own];
        float width[3];
        for (int axis = 0; axis < 3; ++axis) {
            const bool shaped = own < plan.shaped;
            width[axis] = shaped ? rows_shape_width(*shared, (int)own, axis, least) : level->limit;
            level->reach[axis] = shaped ? fmaxf(rows_shape_reach(shared->shape[own], axis), least) : level->limit;
        }
        const float cells = fmaxf(budget * rows_level_share(*shared, own, samples), 32.0f);
        rows_divide_level(level, low, spread, width, cells, plan.down && own == 0 ? ROWS_DOWN_X_CELLS : ROWS_X_CELLS,
                          world_count);
    } else { // huge boxes: one cell
        its.limit = INFINITY;
        for (int axis = 0; axis < 3; ++axis)
            its.reach[axis] = INFINITY, its.cells[axis] = 1, its.inverse[axis] = its.origin[axis] = 0.0f;
        its.worlds = 1;
    }
    its.set_cells = its.worlds * (uint32_t)its.cells[0] * (uint32_t)its.cells[1] * (uint32_t)its.cells[2];
}

// A plan from THREADS boxes spread over the slots: axes (the longest is x), size levels, `ratio` apart, cells:
// about `per_box` a box, at most `room`. `has_tree`: there is one behind the frame. `may_down`: the frame's sweep lets
// larger boxes look down, if that costs less than levels for all sizes, and its levels may go by shape. Into
// shared->plan, all but what is kept from frame to frame. All threads of the block; ends with a barrier. Never decides
// what is found, only how fast.
template <int THREADS>
__device__ __forceinline__ void rows_make_plan(const psvi_find_input &input, const psvd_counts &counts, uint32_t room,
                                               float per_box, float ratio, bool has_tree, bool may_down,
                                               const psvi_rows_watch *watch, rows_plan_shared<THREADS> *shared) {
    psvi_rows_plan &plan = shared->plan;
    const uint64_t slots = counts.all();
    psvd_box box = {};
    uint32_t tag;
    bool good =
        slots > 0 && psvd_load_slot(input, counts, rows_sample_slot<THREADS>(slots), &box, &tag) == PSVD_BOX_GOOD;
    if (threadIdx.x <= ROWS_LEVELS) {
        shared->members[threadIdx.x] = 0;
        plan.longest[threadIdx.x] = plan.longest[threadIdx.x + ROWS_LEVELS + 1] = 0;
    }
    rows_sample_range(box, good, shared);
    const float up = has_tree ? rows_scale_of(shared) : 1.0f;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        box.min[axis] *= up, box.max[axis] *= up;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int axis = 0; axis < 3; ++axis)
            shared->low[axis][0] *= up, shared->high[axis][0] *= up;
        plan.up = up;
        rows_choose_axes(shared);
    }
    __syncthreads();
    const int x = plan.axis[0], y = plan.axis[1], z = plan.axis[2];
    const float extent = rows_extent(box.min[x], box.max[x], box.min[y], box.max[y], box.min[z], box.max[z]);
    good = good && extent <= ROWS_LARGEST;
    // Coordinates have 24 bits: a level much finer than their spacing would split equal boxes by rounding.
    const float least = fmaxf(rows_farthest(shared) * 1e-6f, 1e-30f);
    bool down = false;
    uint32_t shaped = 0;
    if constexpr (THREADS >= ROWS_DOWN_BINS * ROWS_DOWN_PARTS) {
        if (may_down) {
            const float cost = rows_choose_base(good ? extent : -1.0f, least, slots, shared);
            const float extents[3] = {box.max[x] - box.min[x], box.max[y] - box.min[y], box.max[z] - box.min[z]};
            if (cost > (2 * ROWS_DOWN_BOX) || !shared->even)
                shaped = rows_choose_shapes(extents, good, slots, cost, least, shared);
            down = shaped == 1 || (shaped == 0 && cost <= ROWS_DOWN_MOST);
        }
    }
    uint32_t sampled = 1;
    if (shaped) {
        const float largest = fmaxf(rows_block_max(good ? extent : -1.0f, shared) * ROWS_LIMIT_PAD, least);
        if (threadIdx.x == 0) shared->limits[0] = largest;
    } else if (!down) {
        sampled = rows_choose_limits(good ? extent : -1.0f, least, ratio, shared);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        plan.down = down;
        plan.shaped = shaped;
        plan.levels = down     ? rows_levels_down(*shared)
                      : shaped ? shaped + ROWS_UPPER_LEVELS
                               : min(sampled + ROWS_UPPER_LEVELS, (uint32_t)ROWS_LEVELS);
        for (uint32_t shape = 0; shape < shaped; ++shape)
            shared->members[shape] = shared->shape[shape].boxes;
    }
    __syncthreads();
    if (good && down && !shaped) {
        uint32_t level = 0;
        for (float limit = shared->limits[0]; extent > limit && level < plan.levels; limit *= ROWS_LEVEL_RATIO)
            ++level;
        atomicAdd(&shared->members[level], 1u);
    } else if (good && !shaped) {
        uint32_t level = sampled - 1; // coarse to fine
        while (level > 0 && extent > shared->limits[level])
            --level;
        atomicAdd(&shared->members[sampled - 1 - level], 1u);
    }
    const int samples = __syncthreads_count(good);
    const float usable = (float)room * 0.98f - 128.0f * (ROWS_LEVELS + 1);
    const float budget = fminf(usable, fmaxf(per_box * (float)slots, 4096.0f)) * (input.between ? 0.5f : 1.0f);
    rows_lay_out(shared, sampled, input.world_count, budget, (uint32_t)max(samples, 1), least);
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t base = 0;
        for (uint32_t i = 0; i <= plan.levels; ++i) {
            psvi_rows_level &level = plan.level[i];
            level.base = base;
            base += level.set_cells * (input.between ? 2 : 1);
        }
        plan.cells = base;
        plan.slots = slots;
        plan.bound = psvi_rows_bound{0, 0, 0, shaped ? ROWS_BOUND_SHAPED : 1u, 0, 0};
        plan.larger = 0;
        plan.populated = plan.filtered = plan.unusual = plan.crowded = plan.listed = plan.ticket = 0;
        for (int axis = 0; axis < 3; ++axis)
            shared->scene.spread[axis] = shared->high[axis][0] - shared->low[axis][0];
        if (!may_down) shared->scene.extent = THREADS == ROWS_SAMPLES ? 0.0f : shared->limits[0];
        const bool graded = down ? !shared->few_larger : sampled >= ROWS_FORESEE_LEVELS;
        shared->foresees = has_tree && !input.between && input.world_count <= 1 && !shaped && graded &&
                           rows_is_new(shared->scene, *watch);
    }
    __syncthreads();
    if (shared->foresees) rows_foresee(box, good, slots, shared);
}

// Are the boxes of `now` others than those that a pause was made for? So if their scene is another one, and that of the
// frame before as well: scenes that take turns end no pause.
__device__ __forceinline__ bool rows_is_other(const psvi_rows_scene &paused, const psvi_rows_scene &now,
                                              const psvi_rows_scene &last) {
    return rows_scenes_differ(paused, now) && !rows_scenes_differ(now, last);
}

// Makes the tree ready for the frame. All threads of a block.
__device__ __forceinline__ void rows_clear_progress(psvi_lbvh_progress *progress) {
    static_assert(sizeof *progress % 4 == 0 && sizeof *progress / 4 <= 256, "a word a thread");
    if (threadIdx.x < sizeof *progress / 4) reinterpret_cast<uint32_t *>(progress)[threadIdx.x] = 0;
}

// Is a frame of this scene the tree's from the beginning? So if the last frame whose sweep was given up for the tree
// was alike. last_over: the last frame's sweep was. One thread; before watch->last becomes the scene.
__device__ __forceinline__ bool rows_begins_over(bool last_over, const psvi_rows_scene &scene, psvi_rows_watch *watch) {
    if (last_over && (watch->was_over == 0 || rows_scenes_differ(watch->over, watch->last)))
        watch->over = watch->last, watch->was_over = 1;
    if (watch->was_over == 0 || rows_scenes_differ(watch->over, scene)) return false;
    watch->was_over = watch->was_over < 2 * ROWS_PAUSE_MOST ? watch->was_over + 1 : 0;
    return watch->was_over != 0;
}

// In the host's pause of that number: tells when the boxes are others than in its first frame, unless `told` is NULL.
// One thread.
__device__ __forceinline__ void rows_watch_pause(const psvi_rows_scene &scene, uint32_t pause, uint32_t *told,
                                                 psvi_rows_watch *watch) {
    if (pause == 0) return;
    if (watch->pause != pause) watch->left = scene;
    watch->pause = pause;
    if (told != nullptr && rows_is_other(watch->left, scene, watch->last)) *(volatile uint32_t *)told = pause;
}

// Will the sweeps over rounded boxes be left out in the frame after `last`? So after a frame with more than a pair in
// doubt a box, such as boxes that touch make.
__device__ __forceinline__ bool rows_pauses_after(const psvi_rows_plan &last, uint64_t slots) {
    return last.paused ? last.backoff.left != 0 : last.doubted > ROWS_DOUBTS * slots;
}

// What a plan takes over from the last frame's; `scene`: the frame's. One thread.
__device__ __forceinline__ void rows_follow(const psvi_rows_plan &last, const psvi_rows_ratio &ratio,
                                            const psvi_rows_scene &scene, psvi_rows_watch *watch,
                                            psvi_rows_plan *plan) {
    plan->ratio = ratio;
    plan->epoch = last.epoch + 1;
    // Boxes with many candidates each, by the last frame's count: more warps, so that they can hide latency.
    const uint64_t each = last.candidates / (plan->slots == 0 ? 1 : plan->slots);
    plan->boxes_per_warp = each < ROWS_LONG_RANGE ? 32 : each < 16 * ROWS_LONG_RANGE ? 8 : ROWS_LEAST_A_WARP;
    plan->candidates = 0;
    plan->backoff = last.backoff;
    if (last.doubted > ROWS_DOUBTS * plan->slots) {
        psvi_backoff_failed(&plan->backoff, ROWS_PAUSE_LEAST, ROWS_PAUSE_MOST);
        watch->doubted = watch->last;
    } else if (!last.paused) {
        psvi_backoff_succeeded(&plan->backoff);
    } else if (rows_is_other(watch->doubted, scene, watch->last)) {
        plan->backoff.left = 0;
    }
    plan->paused = psvi_backoff_waits(&plan->backoff);
    plan->doubted = 0;
}

// The ratio of the levels for the frame after `last`. Where boxes have few candidates each, fewer levels mean fewer
// looks, though each finds more: wider ratios are tried, and the one is kept that has cost least. When the scene has
// changed that begins anew. *trial: the ratio was not seen yet.
__device__ __forceinline__ psvi_rows_ratio rows_next_ratio(const psvi_rows_plan &last, bool *trial) {
    psvi_rows_ratio ratio = last.ratio;
    ratio.tested = 0;
    *trial = false;
    if (last.down || last.shaped) return ratio;
    const uint32_t at = ratio.at, levels = __popc((last.populated | last.populated >> 16) & 0xffffu);
    if (last.slots == 0 || levels == 0) return ratio;
    const float cost = (float)last.ratio.tested / (float)last.slots + (float)(ROWS_LEVEL_COST * levels);
    const float known = ratio.cost[at];
    if ((levels == 1 && at == 0) || (known != 0 && fabsf(cost - known) > 0.25f * known)) return psvi_rows_ratio{};
    float least = cost;
    uint32_t most = at;
#pragma unroll
    for (uint32_t i = 0; i < ROWS_RATIOS; ++i) {
        if (i == at) ratio.cost[i] = cost;
        if (i > at && last.epoch % ROWS_PAUSE_MOST == 0) ratio.cost[i] = 0;
        if (ratio.cost[i] == 0) continue;
        most = i;
        if (ratio.cost[i] < least) least = ratio.cost[i], ratio.at = i;
    }
    *trial = at == most && levels > 1 && cost <= 1.1f * least && at + 1 < ROWS_RATIOS;
    if (*trial) ratio.at = at + 1;
    return ratio;
}

__device__ __forceinline__ float rows_level_ratio(const psvi_rows_ratio &ratio) {
    return ROWS_LEVEL_RATIO * (float)(1u << ratio.at);
}

__device__ __forceinline__ bool rows_counts_tested(const psvi_rows_plan &plan) {
    const uint32_t levels = (plan.populated | plan.populated >> 16) & 0xffffu;
    return (levels & (levels - 1)) != 0 || plan.ratio.at != 0;
}

// Would levels with that ratio bring few candidates? So if few of the sampled boxes are as near to one another as the
// larger one's level looks. All threads of the block. `samples`: one a thread.
template <int THREADS>
__device__ __forceinline__ bool rows_may_try(const psvi_find_input &input, const psvd_counts &counts, float ratio,
                                             rows_plan_shared<THREADS> *shared, float4 *samples) {
    const uint64_t slots = counts.all();
    psvd_box box = {};
    uint32_t tag;
    const bool good = psvd_load_slot(input, counts, rows_sample_slot<THREADS>(slots), &box, &tag) == PSVD_BOX_GOOD;
    const float extent = rows_extent(box.min[0], box.max[0], box.min[1], box.max[1], box.min[2], box.max[2]);
    uint32_t level = rows_choose_limits(good && extent <= ROWS_LARGEST ? extent : -1.0f, 1e-30f, ratio, shared) - 1;
    __syncthreads();
    while (level > 0 && extent > shared->limits[level]) // coarse to fine
        --level;
    const float limit = good ? shared->limits[level] : 0.0f;
    samples[threadIdx.x] = make_float4(box.min[0], box.min[1], box.min[2], limit);
    __syncthreads();
    uint32_t near = 0;
    for (uint32_t i = 1; i <= ROWS_TRY_PARTNERS; ++i) {
        const float4 other = samples[(threadIdx.x + i * (THREADS / ROWS_TRY_PARTNERS - 1)) % THREADS];
        const float reach = fmaxf(limit, other.w);
        near += limit > 0 && other.w > 0 && fabsf(other.x - box.min[0]) <= reach &&
                fabsf(other.y - box.min[1]) <= reach && fabsf(other.z - box.min[2]) <= reach;
    }
    near = psvd_reduce_add(near);
    if ((threadIdx.x & 31) == 0) shared->reduced[threadIdx.x >> 5] = (float)near;
    __syncthreads();
    float all = 0;
    for (int i = 0; i < THREADS / 32; ++i)
        all += shared->reduced[i];
    return all * (float)slots <= 2.0f * ROWS_TRY_CANDIDATES * THREADS * ROWS_TRY_PARTNERS;
}

#endif
