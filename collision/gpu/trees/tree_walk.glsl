// The walk through a tree, as in pairsieve/tree_view.h. The stack has one entry a level, because siblings share one.
// Blocks of every query: 0 head, 1 nodes of five words of 16 bytes, 2 items, 3 ends of triangles, 4 the worlds' first
// items, 5 filters of items, 6 queries, 7 their worlds, 8 their filters, 9 their order. param 0: queries at most, 1: what
// there is (ASKS_...), 2: words from query to query, 3: worlds of the tree.
#define HEAD_ACCESS readonly
#include "tree_head.glsl"
layout(std430, binding = 1) readonly buffer node_block { uvec4 nodes[]; };
layout(std430, binding = 2) readonly buffer item_block { uvec4 items[]; };
layout(std430, binding = 3) readonly buffer end_block { uvec2 ends[]; };
layout(std430, binding = 4) readonly buffer start_block { uint starts[]; };
layout(std430, binding = 5) readonly buffer item_filter_block { uint item_filters[]; };
layout(std430, binding = 6) readonly buffer query_block { uint queries[]; };
layout(std430, binding = 7) readonly buffer query_world_block { uint query_worlds[]; };
layout(std430, binding = 8) readonly buffer query_filter_block { uint query_filters[]; };
layout(std430, binding = 9) readonly buffer order_block { uint query_order[]; };
#define ASKS_WORLDS 1u
#define ASKS_FILTERS 2u
#define ITEM_FILTERS 4u
#define IN_ORDER_OF 8u // block 9
#define COUNTED 16u    // the count is the result's, in block 0
#define TREE_WORLDS 32u
#define NODE_LIMIT 0x20000000u
#define NO_ITEM 0xffffffffu

bool asks(uint bit) { return (param(1) & bit) != 0u; }

uint query_count() {
    if (!asks(COUNTED) || HEAD(RESULT_COUNT + 1u) != 0u) return param(0);
    return min(param(0), HEAD(RESULT_COUNT));
}

// The query of a thread; false: there is none.
bool query_of(uint thread, out uint q) {
    q = 0u;
    if (thread >= query_count()) return false;
    q = asks(IN_ORDER_OF) ? query_order[base(9) + thread] : thread;
    return true;
}
float query_word(uint q, uint word) { return uintBitsToFloat(queries[base(6) + q * param(2) + word]); }
vec3 query_vector(uint q, uint word) {
    return vec3(query_word(q, word), query_word(q, word + 1u), query_word(q, word + 2u));
}

struct tree_node {
    vec3 origin, size; // of its grid's steps
    uint inner, used;  // slots, a bit each
    uint first_child, first_item, order;
    uvec2 low[3], high[3]; // a byte a slot
};

tree_node load_node(uint number) {
    uint at = base(1) / 4u + 5u * number;
    uvec4 a = nodes[at], b = nodes[at + 1u], c = nodes[at + 2u], d = nodes[at + 3u], e = nodes[at + 4u];
    tree_node node;
    node.origin = uintBitsToFloat(a.xyz);
    node.size = vec3(grid_step(a.w & 255u), grid_step(a.w >> 8 & 255u), grid_step(a.w >> 16 & 255u));
    node.inner = a.w >> 24;
    node.first_child = b.x;
    node.first_item = b.y;
    node.order = b.z;
    node.used = b.z >> 24;
    node.low[0] = c.xy;
    node.low[1] = c.zw;
    node.low[2] = d.xy;
    node.high[0] = d.zw;
    node.high[1] = e.xy;
    node.high[2] = e.zw;
    return node;
}

float slot_number(uvec2 words, uint slot) {
    return float((slot < 4u ? words.x : words.y) >> (8u * (slot & 3u)) & 255u);
}
uint slot_item(tree_node node, uint slot) { return node.first_item + (node.order >> (3u * slot) & 7u); }

uvec2 walk_stack[MAX_LEVELS];
uint walk_depth, walk_base, walk_group, first_item, end_item; // see psv_tree_walk

void begin_walk(uint q) {
    uint world = asks(ASKS_WORLDS) ? query_worlds[base(7) + q] : 0u;
    walk_depth = walk_base = walk_group = first_item = 0u;
    end_item = world == 0u ? HEAD(HEAD_ITEMS) : 0u;
    if (asks(TREE_WORLDS)) {
        bool known = world < param(3);
        first_item = known ? starts[base(4) + world] : 0u;
        end_item = known ? starts[base(4) + world + 1u] : 0u;
    }
    if (first_item >= end_item) return;
    if (asks(TREE_WORLDS)) {
        uint level = 1u, first = first_item >> 3, last = (end_item - 1u) >> 3;
        for (; first != last; first >>= 3, last >>= 3)
            ++level;
        walk_base = HEAD(HEAD_STARTS + level) + first;
    }
    walk_group = 1u << 24;
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

uvec2 query_filter(uint q) {
    if (!asks(ASKS_FILTERS)) return uvec2(0xffffffffu);
    return uvec2(query_filters[base(8) + 2u * q], query_filters[base(8) + 2u * q + 1u]);
}

// Items and queries with filters (group, mask) find each other as two boxes do.
bool item_passes(uint item, uvec2 filter_of_query) {
    if (!asks(ITEM_FILTERS)) return filter_of_query.x != 0u && filter_of_query.y != 0u;
    uint at = base(5) + 2u * item;
    return (item_filters[at] & filter_of_query.y) != 0u && (filter_of_query.x & item_filters[at + 1u]) != 0u;
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
