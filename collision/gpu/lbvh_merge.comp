// Boxes of the inner nodes, bottom-up: one thread a leaf climbs while it is the second to arrive, so that both children
// are complete. No thread waits for another one. Defines: SOFTWARE: the driver runs groups on a processor. Its atomics order
// all memory, and lavapipe 22.3 ends threads of a group wrongly where others meet a memory barrier.
// constants: SOFTWARE
layout(local_size_x = 128) in;
#include "slots.glsl"
#include "lbvh_plan.glsl"
layout(std430, binding = 1) readonly buffer result_block { uint result[]; };
#include "lbvh_tree.glsl"

void load_box(uint child, out uvec3 low, out uvec3 high) {
    uint at = 8u * (child & ~LEAF);
    if ((child & LEAF) != 0u) {
        at += base(7);
        low = uvec3(leaves[at], leaves[at + 1u], leaves[at + 2u]);
        high = uvec3(leaves[at + 4u], leaves[at + 5u], leaves[at + 6u]);
    } else {
        at += base(8);
        low = uvec3(nodes[at], nodes[at + 1u], nodes[at + 2u]);
        high = uvec3(nodes[at + 4u], nodes[at + 5u], nodes[at + 6u]);
    }
}

void main() {
    uint boxes = result[base(1) + RESULT_BOXES], i = group_number() * 128u + gl_LocalInvocationID.x;
    if (i >= boxes || boxes < 2u) return;
    uint parent = LEAF_PARENT(i);
    while (parent != NONE) {
        if (SOFTWARE == 0) memoryBarrierBuffer();
        if (atomicAdd(ARRIVALS(parent), 1u) == 0u) return;
        if (SOFTWARE == 0) memoryBarrierBuffer();
        uint at = base(8) + 8u * parent, left = nodes[at + 3u];
        uvec3 low, high, right_low, right_high;
        load_box(left, low, high);
        load_box(NEXT(left & ~LEAF), right_low, right_high);
        low = min(low, right_low);
        high = max(high, right_high);
        for (uint k = 0u; k < 3u; ++k) {
            nodes[at + k] = low[k];
            nodes[at + 4u + k] = high[k];
        }
        nodes[at + 7u] = NEXT(nodes[at + 7u]);
        parent = NODE_PARENT(parent);
    }
}
