// Boxes in the order of their cells: 8 words each, corners with the grid's axis first, slot, tag. One thread a slot; with
// SORTED one a place, whose slot a sorter has found.
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

void main() {
    uint i = group_number() * 128u + gl_LocalInvocationID.x;
#if SORTED
    if (i >= result[base(1) + RESULT_BOXES]) return;
    uint slot = numbers[base(7) + i], place = i;
#else
    if (i >= SLOTS || cells[base(5) + i] == 0xffffffffu) return;
    uint slot = i, place = starts[base(8) + cells[base(5) + i]] + numbers[base(7) + i];
#endif
    uint from = base(0) / 4u + 2u * slot, to = base(9) / 4u + 2u * place;
    uvec4 one = slots[from], two = slots[from + 1u];
    uvec3 high = grid_corner(uvec3(one.w, two.xy));
    // By words, memory would be written eight times where the boxes are more than a cache holds.
    boxes[to] = uvec4(grid_corner(one.xyz), high.x);
    boxes[to + 1u] = uvec4(high.yz, slot, two.z);
}
