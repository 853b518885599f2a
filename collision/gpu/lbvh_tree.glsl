// The tree. A leaf is 8 words: min, slot, max, tag. An inner node: min, left child, max, the node after its subtree.
// links: for each leaf the node or leaf after it; then the parents of leaves; then those of nodes; then arrivals.
layout(std430, binding = 5) readonly buffer key_block { uint keys[]; };
#ifndef RULES // the walk has other things there
layout(std430, binding = 6) readonly buffer order_block { uint order[]; };
#endif
layout(std430, binding = 7) buffer leaf_block { uint leaves[]; };
layout(std430, binding = 8) coherent buffer node_block { uint nodes[]; };
layout(std430, binding = 9) coherent buffer link_block { uint links[]; };
#define ROOM param(7)
#define NEXT(i) links[base(9) + (i)]
#define LEAF_PARENT(i) links[base(9) + ROOM + (i)]
#define NODE_PARENT(i) links[base(9) + 2u * ROOM + (i)]
#define ARRIVALS(i) links[base(9) + 3u * ROOM + (i)]
