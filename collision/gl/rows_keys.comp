// The cell of each slot, and its number among those of the cell. One thread a slot.
layout(local_size_x = 128) in;
#include "slots.glsl"
layout(std430, binding = 0) readonly buffer slot_block { uint slots[]; };
layout(std430, binding = 2) buffer plan_block { uint plan[]; };
layout(std430, binding = 5) writeonly buffer cell_block { uint cells[]; };
layout(std430, binding = 7) writeonly buffer number_block { uint numbers[]; };
layout(std430, binding = 8) buffer start_block { uint starts[]; };
#include "rows_cells.glsl"
shared uint level_boxes[MOST_LEVELS];

void main() {
    uint slot = group_number() * 128u + gl_LocalInvocationID.x, at = base(0) + 8u * slot;
    if (gl_LocalInvocationID.x < MOST_LEVELS) level_boxes[gl_LocalInvocationID.x] = 0u;
    barrier();
    if (slot < SLOTS) {
        uint cell = 0xffffffffu;
        if ((slots[at + 6u] & TAG_OUT) == 0u) {
            vec3 from, extent;
            for (uint k = 0u; k < 3u; ++k) {
                uint axis = PLAN(PLAN_AXES + k);
                from[k] = distance_along(k, float_of(slots[at + axis]));
                extent[k] = distance_along(k, float_of(slots[at + 3u + axis])) - from[k];
            }
            uint l = level_of(extent);
            cell = row_of(l, cell_along(l, 1u, from.y), cell_along(l, 2u, from.z));
            cell += cell_along(l, 0u, from.x) % LEVEL(l, LEVEL_SIDES) + world_first(slots[at + 7u]);
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
