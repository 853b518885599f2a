// Which level a lane of a sweep looks at next. For rows_exact_sweep.cu and rows_segments_sweep.cu.
#ifndef PAIRSIEVE_COLLISION_ROWS_LANE_WALK_CUH
#define PAIRSIEVE_COLLISION_ROWS_LANE_WALK_CUH

#include "rows_view.cuh"

namespace {

// Where a lane's box is: the level it looks at, and the run in it.
struct lane_walk {
    uint32_t own_level, level, set; // set: whose cells
    int32_t run;                    // in half rows
    bool more;
};

// Goes to the first level from `least` on that has boxes.
__device__ __forceinline__ void enter_level(const psvi_rows_plan &plan, lane_walk *walk, uint32_t least) {
    const uint32_t levels = (plan.populated >> (16 * walk->set) & 0xffffu) >> least << least;
    walk->more = levels != 0;
    walk->level = __ffs(levels) - 1;
    walk->run = 0;
}

} // namespace

#endif
