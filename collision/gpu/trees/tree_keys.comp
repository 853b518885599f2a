// The keys of items: of 64 bits, [takes no part | world | place], or of 32, a place alone. One thread an item: reads it,
// writes 4 or 8 bytes. param 7: bits of worlds, 8: bits of an axis at most.
layout(local_size_x = 128) in;
#define HEAD_ACCESS
#include "tree_head.glsl"
#include "tree_items.glsl"
#include "tree_places.glsl"
#include "double_arithmetic.glsl"
layout(std430, binding = 7) writeonly buffer key_block { uint keys[]; };
shared uint good, bad;

void write_key(uint i, uint state, tree_item item) {
    uint bits = (HEAD(HEAD_KEY_BITS) - param(7)) / 3u, most = param(8);
    uvec2 place = state == ITEM_GOOD ? tree_place(item_centre(item), bits) : uvec2(0u);
    if (HEAD(HEAD_SHORT) != 0u) { // of 33 bits the last one is left out; the highest key takes no part
        uint word = 3u * bits > 32u ? place.x << 31 | place.y >> 1 : place.y;
        keys[base(7) + i] = state == ITEM_GOOD ? min(word, 0xfffffffeu) : 0xffffffffu;
        return;
    }
    uvec2 key = shifted_left(uvec2(0u, 1u), param(7) + 3u * most);
    if (state == ITEM_GOOD)
        key = shifted_left(place, 3u * (most - bits)) | shifted_left(uvec2(0u, item_world(i)), 3u * most);
    keys[base(7) + 2u * i] = key.y;
    keys[base(7) + 2u * i + 1u] = key.x;
}

void main() {
    uint i = group_number() * 128u + gl_LocalInvocationID.x;
    if (gl_LocalInvocationID.x == 0u) good = 0u, bad = 0u;
    barrier();
    if (i < item_count()) {
        tree_item item;
        uint state = load_item(i, item);
        write_key(i, state, item);
        if (state == ITEM_GOOD) atomicAdd(good, 1u);
        if (state == ITEM_BAD) atomicAdd(bad, 1u);
    }
    barrier();
    if (gl_LocalInvocationID.x != 0u) return;
    if (good != 0u) atomicAdd(HEAD(HEAD_ITEMS), good);
    if (bad != 0u) atomicAdd(HEAD(HEAD_BAD), bad);
}
