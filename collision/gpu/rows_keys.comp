// The cell of each slot, and the number of the slot within the cell. One thread a slot.
layout(local_size_x = 128) in;
#include "slots.glsl"
layout(std430, binding = 0) readonly buffer slot_block { uvec4 slots[]; }; // two a slot
layout(std430, binding = 2) buffer plan_block { uint plan[]; };
layout(std430, binding = 5) writeonly buffer cell_block { uint cells[]; };
layout(std430, binding = 7) writeonly buffer number_block { uint numbers[]; };
layout(std430, binding = 8) buffer start_block { uint starts[]; };
#define KEEPS_GRID
#include "rows_cells.glsl"
shared uint level_boxes[MOST_LEVELS];

void main() {
    uint slot = group_number() * 128u + gl_LocalInvocationID.x, at = base(0) / 4u + 2u * slot;
    if (gl_LocalInvocationID.x < MOST_LEVELS) level_boxes[gl_LocalInvocationID.x] = 0u;
    load_grid();
    if (slot < SLOTS) {
        uint cell = 0xffffffffu;
        uvec4 one = slots[at], two = slots[at + 1u];
        if ((two.z & TAG_OUT) == 0u) {
            uvec3 low = grid_corner(one.xyz), high = grid_corner(uvec3(one.w, two.xy));
            vec3 from, extent;
            for (uint k = 0u; k < 3u; ++k) {
                from[k] = distance_along(k, float_of(low[k]));
                extent[k] = distance_along(k, float_of(high[k])) - from[k];
            }
            uint l = level_of(extent);
            cell = row_of(l, cell_along(l, 1u, from.y), cell_along(l, 2u, from.z));
            cell += cell_along(l, 0u, from.x) % GRID_LEVEL(l, LEVEL_SIDES) + world_first(two.w);
            numbers[base(7) + slot] = atomicAdd(starts[base(8) + cell], 1u);
            atomicAdd(level_boxes[l], 1u);
        }
        cells[base(5) + slot] = cell;
    }
    barrier();
    if (gl_LocalInvocationID.x >= MOST_LEVELS) return;
    uint boxes = level_boxes[gl_LocalInvocationID.x];
    if (boxes != 0u) atomicAdd(PLAN(PLAN_LEVEL_BOXES + gl_LocalInvocationID.x), boxes);
}
