// Each box looks at the cells in which a box that overlaps it can lie: of its own level at the rest of its own row and at
// the rows after it, of coarser levels at all. So each pair is found once: by the box of the finer level, or of the
// earlier place. One thread a place.
layout(local_size_x = 64) in;
#include "slots.glsl"
#include "pair_sink.glsl"
#include "rows_cells.glsl"
layout(std430, binding = 8) readonly buffer start_block { uint starts[]; };
layout(std430, binding = 9) readonly buffer box_block { uint boxes[]; };

void main() {
    uint count = result[base(1) + RESULT_BOXES], tests = 0u;
    uint i = group_number() * 64u + gl_LocalInvocationID.x, levels = PLAN(PLAN_LEVELS);
    if (group_number() * 64u >= count) return; // the whole group
    begin_pairs();
    if (i < count) {
        uint own = base(9) + 8u * i;
        uvec3 low = uvec3(boxes[own], boxes[own + 1u], boxes[own + 2u]);
        uvec3 high = uvec3(boxes[own + 3u], boxes[own + 4u], boxes[own + 5u]);
        uint slot = boxes[own + 6u], tag = boxes[own + 7u];
        uint world = world_first(slots[base(0) + 8u * slot + 7u]);
        vec3 from, to;
        for (uint k = 0u; k < 3u; ++k) {
            from[k] = distance_along(k, float_of(low[k]));
            to[k] = distance_along(k, float_of(high[k]));
        }
        uint home = level_of(to - from);
        uint home_y = cell_along(home, 1u, from.y), home_z = cell_along(home, 2u, from.z);
        for (uint l = home; l < levels; ++l) {
            if (PLAN(PLAN_LEVEL_BOXES + l) == 0u) continue;
            uvec3 first, last;
            for (uint k = 0u; k < 3u; ++k) {
                float reach = uintBitsToFloat(LEVEL(l, LEVEL_LIMIT + k)) + uintBitsToFloat(PLAN(PLAN_SLACK + k));
                first[k] = cell_along(l, k, from[k] - reach);
                last[k] = cell_along(l, k, to[k]);
            }
            uint sides = LEVEL(l, LEVEL_SIDES), begin = first.x % sides, run = min(last.x - first.x + 1u, sides);
            for (uint y = l == home ? home_y : first.y; y <= last.y; ++y) {
                bool home_line = l == home && y == home_y;
                for (uint z = home_line ? home_z : first.z; z <= last.z; ++z) {
                    uint row = base(8) + world + row_of(l, y, z), least = home_line && z == home_z ? i + 1u : 0u;
                    // Up to the row's end, then what goes on at its beginning.
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
                        uint other = base(9) + 8u * p++;
                        ++tests;
                        uvec3 other_low = uvec3(boxes[other], boxes[other + 1u], boxes[other + 2u]);
                        if (!overlap(low, high, other_low, uvec3(boxes[other + 3u], boxes[other + 4u], boxes[other + 5u])))
                            continue;
                        // The row is shared: a box of another one is met there too.
                        if (cell_along(l, 1u, distance_along(1u, float_of(other_low.y))) != y ||
                            cell_along(l, 2u, distance_along(2u, float_of(other_low.z))) != z)
                            continue;
                        if (may_pair(slot, tag, boxes[other + 6u], boxes[other + 7u])) emit(slot, boxes[other + 6u]);
                    }
                }
            }
        }
    }
    end_pairs(tests);
}
