// Items at their places: psv_tree_box, or psv_tree_corners and psv_tree_end. One thread an item: reads it by its number,
// writes it, 32 or 40 bytes. The first thread lays out the levels of nodes. param 7: 1 for a refit, where items keep their
// places; 8: where the ends begin, in 16 bytes.
layout(local_size_x = 128) in;
#define HEAD_ACCESS
#include "tree_head.glsl"
#include "tree_items.glsl"
layout(std430, binding = 8) readonly buffer order_block { uint order[]; };
layout(std430, binding = 9) buffer item_block { uvec4 items[]; };
layout(std430, binding = 10) buffer end_block { uvec2 ends[]; };

// Level h of n items has ceil(n / 8^h) nodes. They are numbered from the highest level down.
void lay_out_levels() {
    uint counts[MAX_LEVELS], level = 0u, number = 0u;
    for (uint n = HEAD(HEAD_ITEMS); level == 0u || (n > 1u && level < MAX_LEVELS - 1u);) {
        n = (n + 7u) / 8u;
        counts[++level] = n;
    }
    bool none = HEAD(HEAD_ITEMS) == 0u;
    HEAD(HEAD_LEVELS) = none ? 0u : level;
    for (uint h = level; h >= 1u; --h) {
        HEAD(HEAD_STARTS + h) = number;
        number += counts[h];
    }
    HEAD(HEAD_NODES) = none ? 0u : number;
}

void main() {
    uint place = group_number() * 128u + gl_LocalInvocationID.x;
    bool refit = param(7) != 0u;
    if (place == 0u && !refit) lay_out_levels();
    if (place >= HEAD(HEAD_ITEMS)) return;
    uint at = base(9) / 4u + 2u * place, end = base(10) / 2u + place;
    uint id = !refit ? order[base(8) + place] : given(TRIANGLES) ? ends[end].y : items[at].w;
    tree_item item;
    if (load_item(id, item) != ITEM_GOOD) { // it takes no part any more
        item.low = uintBitsToFloat(uvec3(0x7f800000u));
        item.high = uintBitsToFloat(uvec3(0xff800000u));
        item.a = item.b = item.c = uintBitsToFloat(uvec3(0x7fc00000u));
    }
    if (given(TRIANGLES)) {
        uvec3 a = floatBitsToUint(item.a), b = floatBitsToUint(item.b), c = floatBitsToUint(item.c);
        items[at] = uvec4(a, b.x);
        items[at + 1u] = uvec4(b.yz, c.xy);
        ends[end] = uvec2(c.z, id);
    } else {
        items[at] = uvec4(floatBitsToUint(item.low), id);
        items[at + 1u] = uvec4(floatBitsToUint(item.high), 0u);
    }
}
