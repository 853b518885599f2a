// Boxes in the order of their cells: 8 words each, corners with the grid's axis first, slot, tag. One thread a slot; with
// SORTED one a place, whose slot a sorter has found. One barrier.
// variants: SORTED=0,1
layout(local_size_x = 128) in;
#include "slots.glsl"
layout(std430, binding = 0) readonly buffer slot_block { uvec4 slots[]; }; // two a slot
layout(std430, binding = 1) readonly buffer result_block { uint result[]; };
layout(std430, binding = 2) readonly buffer plan_block { uint plan[]; };
layout(std430, binding = 5) readonly buffer cell_block { uint cells[]; };
layout(std430, binding = 7) readonly buffer number_block { uint numbers[]; }; // with SORTED: the order
layout(std430, binding = 8) readonly buffer start_block { uint starts[]; };
layout(std430, binding = 9) writeonly buffer box_block { uvec4 boxes[]; }; // two a box
#include "rows_cells.glsl"

shared uvec4 halves[2 * 128]; // of the group's boxes
shared uint places[128];
#define NO_PLACE 0xffffffffu

void main() {
    uint thread = gl_LocalInvocationID.x, i = group_number() * 128u + thread;
#if SORTED
    bool takes_part = i < result[base(1) + RESULT_BOXES];
    uint slot = takes_part ? numbers[base(7) + i] : 0u, place = i;
#else
    uint slot = i, cell = i < SLOTS ? cells[base(5) + i] : 0xffffffffu, place = 0u;
    bool takes_part = cell != 0xffffffffu;
    if (takes_part) place = starts[base(8) + cell] + numbers[base(7) + i];
#endif
    places[thread] = takes_part ? place : NO_PLACE;
    if (takes_part) {
        uint from = base(0) / 4u + 2u * slot;
        uvec4 one = slots[from], two = slots[from + 1u];
        uvec3 high = grid_corner(uvec3(one.w, two.xy));
        halves[2u * thread] = uvec4(grid_corner(one.xyz), high.x);
        halves[2u * thread + 1u] = uvec4(high.yz, slot, two.z);
    }
    barrier();
    // Neighbours write a box's halves together: memory takes whole boxes two to three times as fast as halves.
    for (uint h = thread; h < 256u; h += 128u)
        if (places[h / 2u] != NO_PLACE) boxes[base(9) / 4u + 2u * places[h / 2u] + h % 2u] = halves[h];
}
