// Boxes of each cell become the first place of each cell, in three steps: (STEP 0) places within tiles of 2048 cells and
// the tiles' sums, one group a tile; (1) places of the tiles, one group; (2) their sum, one group a tile. Before them, when
// the grid is planned, (3) clears the cells, one group a tile.
// variants: STEP=0,1,2,3
layout(local_size_x = 64) in;
#include "slots.glsl"
layout(std430, binding = 2) readonly buffer plan_block { uint plan[]; };
layout(std430, binding = 8) buffer start_block { uvec4 starts[]; }; // four cells each
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
#elif STEP == 3
    if (tile >= tiles) return; // the whole group
    for (uint i = thread; i < TILE / 4u; i += 64u)
        starts[base(8) / 4u + tile * (TILE / 4u) + i] = uvec4(0u);
#else
    if (tile >= tiles) return; // the whole group
    uint first = base(8) / 4u + (tile * TILE + thread * ITEMS) / 4u; // cells behind the last one are 0
#if STEP == 0
    uvec4 boxes[ITEMS / 4u];
    uint own = 0u;
    for (uint i = 0u; i < ITEMS / 4u; ++i) {
        boxes[i] = starts[first + i];
        own += boxes[i].x + boxes[i].y + boxes[i].z + boxes[i].w;
    }
    uint place = sum_before(thread, own, all);
    for (uint i = 0u; i < ITEMS / 4u; ++i) {
        uvec3 before = uvec3(boxes[i].x, boxes[i].x + boxes[i].y, boxes[i].x + boxes[i].y + boxes[i].z);
        starts[first + i] = place + uvec4(0u, before);
        place += before.z + boxes[i].w;
    }
    if (thread == 0u) sums[base(10) + tile] = all;
#else
    uint add = sums[base(10) + tile];
    for (uint i = 0u; i < ITEMS / 4u; ++i)
        starts[first + i] += add;
#endif
#endif
}
