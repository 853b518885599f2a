// The walk through a tree, as in pairsieve/tree_view.h. The stack has one entry a level, because siblings share one.
// Blocks: 0 head, 1 nodes of five words of 16 bytes, 2 items, 3 ends of triangles, 4 the worlds' first items (not with
// ONE_WORLD). param 1: what there is (TREE_WORLDS), 3: worlds of the tree.
#define HEAD_ACCESS readonly
#include "tree_head.glsl"
layout(std430, binding = 1) readonly buffer node_block { uvec4 nodes[]; };
layout(std430, binding = 2) readonly buffer item_block { uvec4 items[]; };
#if TRIANGLES
layout(std430, binding = 3) readonly buffer end_block { uvec2 ends[]; };
#endif
#ifndef ONE_WORLD
layout(std430, binding = 4) readonly buffer start_block { uint starts[]; };
#endif
#define TREE_WORLDS 32u
#define NODE_LIMIT 0x20000000u
#define NO_ITEM 0xffffffffu

bool asks(uint bit) { return (param(1) & bit) != 0u; }

struct tree_node {
    vec3 origin, size; // of its grid's steps
    uint inner, used;  // slots, a bit each
    uint first_child, first_item, order;
    uvec4 low_xy;          // of the grid coordinates of slots, a byte each: two words an axis
    uvec4 low_z_high_x;
    uvec4 high_yz;
};

tree_node load_node(uint number) {
    uint at = base(1) / 4u + 5u * number;
    uvec4 a = nodes[at], b = nodes[at + 1u];
    tree_node node;
    node.low_xy = nodes[at + 2u];
    node.low_z_high_x = nodes[at + 3u];
    node.high_yz = nodes[at + 4u];
    node.origin = uintBitsToFloat(a.xyz);
    node.size = vec3(grid_step(a.w & 255u), grid_step(a.w >> 8 & 255u), grid_step(a.w >> 16 & 255u));
    node.inner = a.w >> 24;
    node.first_child = b.x;
    node.first_item = b.y;
    node.order = b.z;
    node.used = b.z >> 24;
    return node;
}

// The four bytes of a word; and which of four hold, a bit each. Four slots at once need no arrays.
vec4 bytes_of(uint word) { return vec4(uvec4(word, word >> 8, word >> 16, word >> 24) & 255u); }
uint bits_of_four(bvec4 holds) {
    return uint(holds.x) | uint(holds.y) << 1 | uint(holds.z) << 2 | uint(holds.w) << 3;
}
uint slot_item(tree_node node, uint slot) { return node.first_item + (node.order >> (3u * slot) & 7u); }

uvec2 walk_stack[MAX_LEVELS];
uint walk_depth, walk_base, walk_group, first_item, end_item; // see psv_tree_walk

// Starts at the root or, in a tree of several worlds, at the lowest node that has all items of the world.
void begin_walk(uint world) {
    walk_depth = walk_base = walk_group = first_item = 0u;
    end_item = world == 0u ? HEAD(HEAD_ITEMS) : 0u;
#ifndef ONE_WORLD
    if (asks(TREE_WORLDS)) {
        bool known = world < param(3);
        first_item = known ? starts[base(4) + world] : 0u;
        end_item = known ? starts[base(4) + world + 1u] : 0u;
        uint level = 1u, first = first_item >> 3, last = (max(end_item, first_item + 1u) - 1u) >> 3;
        for (; first != last; first >>= 3, last >>= 3)
            ++level;
        walk_base = HEAD(HEAD_STARTS + level) + first;
    }
#endif
    if (first_item < end_item) walk_group = 1u << 24;
}

bool next_node(out uint number) {
    number = 0u;
    if (walk_group >> 24 == 0u) {
        if (walk_depth == 0u) return false;
        --walk_depth;
        walk_base = walk_stack[walk_depth].x;
        walk_group = walk_stack[walk_depth].y;
    }
    uint bit = uint(findMSB(walk_group));
    walk_group ^= 1u << bit;
    uint slot = (bit - 24u) ^ (walk_base >> 29);
    number = (walk_base & (NODE_LIMIT - 1u)) + (walk_group >> (3u * slot) & 7u);
    return true;
}

void push_group(uint from, uint group) {
    if (walk_group >> 24 != 0u) walk_stack[walk_depth++] = uvec2(walk_base, walk_group);
    walk_base = from;
    walk_group = group;
}

// The inner nodes among `slots` are walked next; the first slot is 7 ^ octant.
void push_slots(tree_node node, uint slots, uint octant) {
    slots &= node.inner;
    if (slots == 0u) return;
    if ((octant & 1u) != 0u) slots = (slots & 0x55u) << 1 | (slots >> 1 & 0x55u);
    if ((octant & 2u) != 0u) slots = (slots & 0x33u) << 2 | (slots >> 2 & 0x33u);
    if ((octant & 4u) != 0u) slots = (slots & 0x0fu) << 4 | slots >> 4;
    push_group(node.first_child | octant << 29, (node.order & 0xffffffu) | slots << 24);
}

// Slots of a node that have items of the query's world.
uint world_slots(uint number, uint order) {
    if (!asks(TREE_WORLDS)) return 255u;
    uint level = HEAD(HEAD_LEVELS);
    while (level > 1u && number >= HEAD(HEAD_STARTS + level - 1u))
        --level;
    uint shift = 3u * (level - 1u), begin = (number - HEAD(HEAD_STARTS + level)) * 8u;
    uint first = first_item >> shift, last = (end_item - 1u) >> shift, slots = 0u;
    if (first <= begin && last >= begin + 7u) return 255u;
    for (uint slot = 0u; slot < 8u; ++slot) {
        uint child = begin + (order >> (3u * slot) & 7u);
        slots |= uint(child >= first && child <= last) << slot;
    }
    return slots;
}

struct stored_item {
    vec3 a, b, c; // of a box: min and max
    uint item;
};

stored_item load_item(uint place) {
    uvec4 first = items[base(2) / 4u + 2u * place], second = items[base(2) / 4u + 2u * place + 1u];
    stored_item made;
    made.a = uintBitsToFloat(first.xyz);
#if TRIANGLES
    uvec2 end = ends[base(3) / 2u + place];
    made.b = uintBitsToFloat(uvec3(first.w, second.xy));
    made.c = uintBitsToFloat(uvec3(second.zw, end.x));
    made.item = end.y;
#else
    made.b = made.c = uintBitsToFloat(second.xyz);
    made.item = first.w;
#endif
    return made;
}

float lesser(float a, float b) { return a < b ? a : b; }
float greater(float a, float b) { return a > b ? a : b; }
