// Leaves in sorted order, and the inner nodes of the tree of Karras, «Maximizing parallelism in the construction of
// BVHs, octrees, and k-d trees», 2012, Figure 4: every inner node finds its leaf range and its split from common
// prefixes of the sorted keys, all at once; equal keys count as different by their places. One thread a leaf and a node.
layout(local_size_x = 128) in;
#include "slots.glsl"
#include "lbvh_plan.glsl"
layout(std430, binding = 0) readonly buffer slot_block { uint slots[]; };
layout(std430, binding = 1) buffer result_block { uint result[]; };
#include "lbvh_tree.glsl"

int leading_zeros(uint x) { return 31 - findMSB(x); }

// Length of the common prefix of the keys at i and j, the places themselves appended; -1 outside.
int common_prefix(int count, int i, uint key, int j) {
    if (j < 0 || j >= count) return -1;
    uint other = keys[base(5) + uint(j)];
    return other != key ? leading_zeros(key ^ other) : 32 + leading_zeros(uint(i ^ j));
}

void build_node(int count, int i) {
    uint key = keys[base(5) + uint(i)];
    int forward = common_prefix(count, i, key, i + 1), backward = common_prefix(count, i, key, i - 1);
    int step = forward > backward ? 1 : -1, outside = min(forward, backward), reach = 2, length = 0;
    while (common_prefix(count, i, key, i + reach * step) > outside)
        reach *= 2;
    for (int t = reach / 2; t >= 1; t /= 2)
        if (common_prefix(count, i, key, i + (length + t) * step) > outside) length += t;
    int other = i + length * step, inside = common_prefix(count, i, key, other), part = 0;
    for (int t = (length + 1) / 2;; t = (t + 1) / 2) {
        if (common_prefix(count, i, key, i + (part + t) * step) > inside) part += t;
        if (t == 1) break;
    }
    uint cut = uint(i + part * step + min(step, 0)), first = uint(min(i, other)), last = uint(max(i, other));
    uint left = first == cut ? cut | LEAF : cut, right = last == cut + 1u ? (cut + 1u) | LEAF : cut + 1u;
    nodes[base(8) + 8u * uint(i) + 3u] = left;
    nodes[base(8) + 8u * uint(i) + 7u] = last; // becomes the node after the subtree when the boxes are merged
    NEXT(cut) = right;
    if (first == cut)
        LEAF_PARENT(cut) = uint(i);
    else
        NODE_PARENT(cut) = uint(i);
    if (last == cut + 1u)
        LEAF_PARENT(cut + 1u) = uint(i);
    else
        NODE_PARENT(cut + 1u) = uint(i);
    ARRIVALS(uint(i)) = 0u;
}

void main() {
    uint boxes = result[base(1) + RESULT_BOXES], i = group_number() * 128u + gl_LocalInvocationID.x;
    if (i >= boxes) return;
    uint slot = order[base(6) + i], from = base(0) + 8u * slot, to = base(7) + 8u * i;
    for (uint k = 0u; k < 3u; ++k) {
        leaves[to + k] = slots[from + k];
        leaves[to + 4u + k] = slots[from + 3u + k];
    }
    leaves[to + 3u] = slot;
    leaves[to + 7u] = slots[from + 6u];
    if (i + 1u < boxes) {
        build_node(int(boxes), int(i));
    } else {
        NEXT(i) = NONE;
        result[base(1) + RESULT_ROWS] = boxes - 1u;
        result[base(1) + RESULT_LEVELS] = 1u;
    }
    if (i == 0u) NODE_PARENT(0u) = NONE;
}
