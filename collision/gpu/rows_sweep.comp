// Each box looks at the cells in which a box that overlaps it can lie: of its own level at the rest of its own row and at
// the rows after it, of coarser levels at all. So each pair is found once: by the box of the finer level, or of the
// earlier place. One thread a place. Groups wait for each other where their pairs are counted, so they are not small.
// variants: RULES=0,1
layout(local_size_x = 128) in;
#include "slots.glsl"
#include "pair_sink.glsl"
#define KEEPS_GRID
#include "rows_cells.glsl"
layout(std430, binding = 8) readonly buffer start_block { uint starts[]; };
layout(std430, binding = 9) readonly buffer box_block { uvec4 boxes[]; }; // two a box

void main() {
    uint count = PLAN(PLAN_BOXES), tests = 0u;
    uint i = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (group_number() * gl_WorkGroupSize.x >= count) return; // the whole group
    load_grid();
    begin_pairs();
    uint levels = GRID(PLAN_LEVELS);
    if (i < count) {
        uint first_box = base(9) / 4u;
        uvec4 one = boxes[first_box + 2u * i], two = boxes[first_box + 2u * i + 1u];
        uvec3 low = one.xyz, high = uvec3(one.w, two.xy);
        uint slot = two.z, tag = two.w;
        uint world = WORLD_SLOTS > 1u ? world_first(slots[base(0) + 8u * slot + 7u]) : 0u;
        vec3 from, to;
        for (uint k = 0u; k < 3u; ++k) {
            from[k] = distance_along(k, float_of(low[k]));
            to[k] = distance_along(k, float_of(high[k]));
        }
        uint home = level_of(to - from);
        uint home_y = cell_along(home, 1u, from.y), home_z = cell_along(home, 2u, from.z);
        for (uint l = home; l < levels; ++l) {
            if (GRID(PLAN_LEVEL_BOXES + l) == 0u) continue;
            uvec3 first, last;
            for (uint k = 0u; k < 3u; ++k) {
                float reach = uintBitsToFloat(GRID_LEVEL(l, LEVEL_LIMIT + k)) + uintBitsToFloat(GRID(PLAN_SLACK + k));
                first[k] = cell_along(l, k, from[k] - reach);
                last[k] = cell_along(l, k, to[k]);
            }
            uint sides = GRID_LEVEL(l, LEVEL_SIDES), begin = first.x % sides, run = min(last.x - first.x + 1u, sides);
            uint sides_y = GRID_LEVEL(l, LEVEL_SIDES + 1u), sides_z = GRID_LEVEL(l, LEVEL_SIDES + 2u);
            uint level_start = base(8) + world + GRID_LEVEL(l, LEVEL_FIRST);
            // Of a coarser level each row of cells is looked at once, whatever shares it.
            bool shared_rows = l == home && shares_rows(l);
            if (l != home) last.yz = min(last.yz, first.yz + uvec2(sides_y, sides_z) - 1u);
            for (uint y = l == home ? home_y : first.y; y <= last.y; ++y) {
                bool home_line = l == home && y == home_y;
                uint z = home_line ? home_z : first.z, line = y % sides_y * sides_z, column = z % sides_z;
                for (; z <= last.z; ++z, column = column + 1u == sides_z ? 0u : column + 1u) {
                    uint row = level_start + (line + column) * sides, least = home_line && z == home_z ? i + 1u : 0u;
                    // Up to the row's end, then the wrapped part at its beginning.
                    uint p = max(starts[row + begin], least), end = starts[row + min(begin + run, sides)];
                    bool wraps = begin + run > sides;
                    for (;;) {
                        if (p >= end) {
                            if (!wraps) break;
                            wraps = false;
                            p = max(starts[row], least);
                            end = starts[row + begin + run - sides];
                            continue;
                        }
                        uint other = first_box + 2u * p++;
                        ++tests;
                        uvec4 other_one = boxes[other];
                        if (low.x > other_one.w || any(greaterThan(other_one.xyz, high))) continue;
                        uvec4 other_two = boxes[other + 1u];
                        if (any(greaterThan(low.yz, other_two.xy))) continue;
                        // A box of another row that shares the cells is found there too.
                        if (shared_rows && (cell_along(l, 1u, distance_along(1u, float_of(other_one.y))) != y ||
                                            cell_along(l, 2u, distance_along(2u, float_of(other_one.z))) != z))
                            continue;
                        if (may_pair(slot, tag, other_two.z, other_two.w)) emit(slot, other_two.z);
                    }
                }
            }
        }
    }
    end_pairs(tests);
}
