// One thread a box of the list. RECORDS 0: its two keys on the axis, minimums of all boxes first: touching boxes have
// equal ones, and a stable sort leaves the minimum in front. RECORDS 1, on the last axis: boxes in the order of their
// minimums. Each has its slot in place of the world; the end of its range goes to the free list.
// variants: RECORDS=0,1
layout(local_size_x = 128) in;
#include "slots.glsl"
#include "sap3.glsl"
layout(std430, binding = 9) writeonly buffer box_block { uint boxes[]; };
layout(std430, binding = 10) writeonly buffer key_block { uint keys[]; };

void main() {
    uint i = group_number() * 128u + gl_LocalInvocationID.x, count = BOXES;
    if (i >= count) return;
    uint slot = LIST(i), from = base(0) + 8u * slot;
#if RECORDS
    uint at = RANK(i), to = base(9) + 8u * at;
    for (uint w = 0u; w < 7u; ++w)
        boxes[to + w] = slots[from + w];
    boxes[to + 7u] = slot;
    lists[base(5) + (AXIS + 1u) % 2u * ROOM + at] = STOP(i);
#else
    keys[base(10) + i] = slots[from + AXIS];
    keys[base(10) + count + i] = slots[from + 3u + AXIS];
#endif
}
