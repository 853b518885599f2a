// Queries in the caller's layout, and the walks that they begin. Blocks: those of tree_walk.glsl, 5 filters of items, 6
// queries, 7 their worlds, 8 their filters, 9 their order. param 0: queries at most, 1: what there is (ASKS_...), 2: words
// from query to query.
#include "tree_walk.glsl"
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

void begin_query(uint q) { begin_walk(asks(ASKS_WORLDS) ? query_worlds[base(7) + q] : 0u); }

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
