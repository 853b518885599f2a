// Boxes of each cell become the first place of each cell, in three steps: (STEP 0) places within tiles of 2048 cells and
// the tiles' sums, one group a tile; (1) places of the tiles, one group; (2) their sum, one group a tile.
layout(local_size_x = 64) in;
#include "slots.glsl"
layout(std430, binding = 2) readonly buffer plan_block { uint plan[]; };
layout(std430, binding = 8) buffer start_block { uint starts[]; };
layout(std430, binding = 10) buffer sum_block { uint sums[]; };
#include "rows_cells.glsl"
#define ITEMS 32u
#define TILE (64u * ITEMS)
shared uint parts[64];

// Sum of the parts before the thread's own; all threads together.
uint sum_before(uint thread, uint own, out uint all) {
    parts[thread] = own;
    barrier();
    uint before = 0u;
    all = 0u;
    for (uint i = 0u; i < 64u; ++i) {
        if (i == thread) before = all;
        all += parts[i];
    }
    barrier();
    return before;
}

void main() {
    uint thread = gl_LocalInvocationID.x, cells = PLAN(PLAN_CELLS) + 1u, all;
    uint tiles = (cells + TILE - 1u) / TILE, tile = group_number();
#if STEP == 1
    uint each = (tiles + 63u) / 64u, first = thread * each, end = min(first + each, tiles), own = 0u;
    for (uint i = first; i < end; ++i)
        own += sums[base(10) + i];
    uint place = sum_before(thread, own, all);
    for (uint i = first; i < end; ++i) {
        uint sum = sums[base(10) + i];
        sums[base(10) + i] = place;
        place += sum;
    }
#else
    if (tile >= tiles) return; // the whole group
    uint first = tile * TILE + thread * ITEMS, end = min(first + ITEMS, cells);
#if STEP == 0
    uint own = 0u;
    for (uint i = first; i < end; ++i)
        own += starts[base(8) + i];
    uint place = sum_before(thread, own, all);
    for (uint i = first; i < end; ++i) {
        uint boxes = starts[base(8) + i];
        starts[base(8) + i] = place;
        place += boxes;
    }
    if (thread == 0u) sums[base(10) + tile] = all;
#else
    uint add = sums[base(10) + tile];
    for (uint i = first; i < end; ++i)
        starts[base(8) + i] += add;
#endif
#endif
}
