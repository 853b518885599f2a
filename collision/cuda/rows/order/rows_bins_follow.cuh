// What a frame in bins means for the next ones: how many bins a scene needs, and which plan comes next. By one thread.
#ifndef PAIRSIEVE_COLLISION_ROWS_BINS_FOLLOW_CUH
#define PAIRSIEVE_COLLISION_ROWS_BINS_FOLLOW_CUH

#include "../plan/rows_plan.cuh"

__device__ __forceinline__ psvi_rows_scene rows_load_scene(const psvi_rows_scene &from) {
    return {{__ldcg(&from.spread[0]), __ldcg(&from.spread[1]), __ldcg(&from.spread[2])}, __ldcg(&from.extent)};
}

// Rounds of bins beyond the usual number for a new scene, by the plan of that number: so many that boxes may lie
// unevenly.
__device__ __forceinline__ void rows_begin_more(psvi_rows_bin_state *state, uint32_t planned) {
    const psvi_rows_bin_shape *const shapes = state->shapes[planned & 1];
    const uint64_t wanted = (uint64_t)ROWS_BIN_SPARE * state->slots[planned & 1];
    uint32_t more = 0;
    while (more < ROWS_BIN_MORE && (uint64_t)shapes[more].room * shapes[more].bins < wanted)
        ++more;
    state->more = more;
    state->is_new = 1;
}

// Which plan the next frame has: the last one, which is `made` behind the one of this frame. But where a scene has come
// back for which there was a plan until the last frame had another scene, two scenes take turns: each keeps its plan
// until that does not suit.
__device__ __forceinline__ void rows_take_turns(psvi_rows_bin_state *state, uint32_t planned, uint32_t made,
                                                const psvi_rows_scene &scene, const psvi_rows_scene &last, bool attempt,
                                                bool suited) {
    if (suited && state->in_turn) {
        state->planned = planned + 1;
        return;
    }
    state->in_turn =
        attempt && !suited && rows_scenes_differ(scene, last) && !rows_scenes_differ(scene, state->replaced);
    state->planned = planned + (state->in_turn ? 0 : made);
}

#endif
