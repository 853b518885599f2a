// Searches the tree with its own leaves, without a stack. One thread a leaf visits the nodes after it in depth-first
// order, and skips a node whose box does not overlap. Only later leaves are visited, so every pair is found once, from
// one side. A long walk (of a huge box, or a long thin one) is cut into parts of leaves for the threads of a second
// run: with PARTS those are the work. One thread a leaf, or a part.
// variants: RULES=0,1 PARTS=0,1
layout(local_size_x = 64) in;
#include "slots.glsl"
#include "pair_sink.glsl"
#include "lbvh_plan.glsl"
#include "lbvh_tree.glsl"
layout(std430, binding = 10) buffer part_block { uint parts[]; }; // leaf, first, end
#define PART_ROOM param(8)
#define OWN_STEPS 1024u
#define PART_LEAVES 64u

// The target of a link, unless it is at or behind leaf `end`. The target is a right child, whose number is its first
// leaf.
uint follow(uint link, uint end) { return link == NONE || (link & ~LEAF) >= end ? NONE : link; }

// First leaf behind the world of leaf i.
uint world_end(uint boxes, uint i) {
    if (WORLD_BITS == 0u) return boxes;
    uint world = keys[base(5) + i] >> PLACE_BITS, low = i + 1u, high = boxes;
    while (low < high) {
        uint middle = low + (high - low) / 2u;
        if (keys[base(5) + middle] >> PLACE_BITS == world)
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

// Puts leaves [first, end) of a walk into the queue; false when there is no room. Places taken in vain are made empty.
bool queue_rest(uint leaf, uint first, uint end) {
    uint needed = (end - first + PART_LEAVES - 1u) / PART_LEAVES;
    if (atomicOr(plan[base(2) + PLAN_PARTS], 0u) + needed > PART_ROOM) return false;
    uint place = atomicAdd(plan[base(2) + PLAN_PARTS], needed);
    bool fits = place + needed <= PART_ROOM;
    for (uint p = 0u; p < needed && place + p < PART_ROOM; ++p) {
        uint from = first + p * PART_LEAVES, at = base(10) + 3u * (place + p);
        parts[at] = leaf;
        parts[at + 1u] = fits ? from : end;
        parts[at + 2u] = fits ? min(end, from + PART_LEAVES) : end;
    }
    return fits;
}

void main() {
    uint boxes = result[base(1) + RESULT_BOXES], tests = 0u;
    uint i = group_number() * 64u + gl_LocalInvocationID.x, at = NONE, end = 0u;
#if PARTS
    uint all = min(plan[base(2) + PLAN_PARTS], PART_ROOM);
#else
    uint all = boxes;
#endif
    if (group_number() * 64u >= all) return; // the whole group
    begin_pairs();
    uint leaf = i;
    if (i < all) {
#if PARTS
        uint part = base(10) + 3u * i;
        leaf = parts[part];
        end = parts[part + 2u];
        at = parts[part + 1u] < end ? parts[part + 1u] | LEAF : NONE;
#else
        end = world_end(boxes, i);
        at = follow(NEXT(i), end);
#endif
    }
    uint own = base(7) + 8u * leaf;
    uvec3 low = uvec3(0u), high = uvec3(0u);
    uint slot = 0u, tag = 0u;
    if (at != NONE) {
        low = uvec3(leaves[own], leaves[own + 1u], leaves[own + 2u]);
        high = uvec3(leaves[own + 4u], leaves[own + 5u], leaves[own + 6u]);
        slot = leaves[own + 3u];
        tag = leaves[own + 7u];
    }
    for (uint step = 0u; at != NONE; ++step) {
        uint number = 8u * (at & ~LEAF);
        if ((at & LEAF) == 0u) {
            number += base(8);
            bool inside = overlap(low, high, uvec3(nodes[number], nodes[number + 1u], nodes[number + 2u]),
                                  uvec3(nodes[number + 4u], nodes[number + 5u], nodes[number + 6u]));
            at = inside ? nodes[number + 3u] : follow(nodes[number + 7u], end);
            continue;
        }
#if !PARTS
        if (step >= OWN_STEPS) {
            if (queue_rest(leaf, at & ~LEAF, end)) break;
            step = 0u;
        }
#endif
        number += base(7);
        ++tests;
        if (overlap(low, high, uvec3(leaves[number], leaves[number + 1u], leaves[number + 2u]),
                    uvec3(leaves[number + 4u], leaves[number + 5u], leaves[number + 6u])) &&
            may_pair(slot, tag, leaves[number + 3u], leaves[number + 7u]))
            emit(slot, leaves[number + 3u]);
        at = follow(NEXT(at & ~LEAF), end);
    }
    end_pairs(tests);
}
