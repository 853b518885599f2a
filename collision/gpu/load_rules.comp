// Traits of a set's slots that only rules read: owner, layer, name, and corners in double precision. One thread a box.
// param 0: boxes, 1: first slot, 2: arrays present (1 owners, 2 layers, 4 ids, 8 corners are wanted, 16 they are
// double), 3: words of a slot's traits, 4 and 5: strides in words, 6: bytes from the bound word to the first layer, 7:
// name of box 0 where there are no ids.
layout(local_size_x = 128) in;
#include "doubles.glsl"
layout(std430, binding = 0) writeonly buffer trait_block { uint traits[]; };
layout(std430, binding = 1) readonly buffer owner_block { uint owners[]; };
layout(std430, binding = 2) readonly buffer layer_block { uint layers[]; };
layout(std430, binding = 3) readonly buffer id_block { uint ids[]; };
layout(std430, binding = 4) readonly buffer min_block { uint lows[]; };
layout(std430, binding = 5) readonly buffer max_block { uint highs[]; };

bool given(uint bit) { return (param(2) & bit) != 0u; }

void main() {
    uint i = group_number() * 128u + gl_LocalInvocationID.x;
    if (i >= param(0)) return;
    uint at = base(0) + param(3) * (param(1) + i) + 2u, layer = 0u;
    if (given(2u)) {
        uint byte = i + param(6);
        layer = layers[base(2) + byte / 4u] >> (8u * (byte % 4u)) & 255u;
    }
    traits[at] = given(1u) ? owners[base(1) + i] : 0xffffffffu;
    traits[at + 1u] = layer;
    traits[at + 2u] = given(4u) ? ids[base(3) + i] : param(7) + i;
    for (uint k = 0u; given(8u) && k < 3u; ++k) {
        uint low = base(4) + i * param(4), high = base(5) + i * param(5), to = at + 3u + 2u * k;
        uvec2 a, b;
        if (given(16u)) {
            a = uvec2(lows[low + 2u * k + 1u], lows[low + 2u * k]);
            b = uvec2(highs[high + 2u * k + 1u], highs[high + 2u * k]);
        } else {
            a = widened(lows[low + k]);
            b = widened(highs[high + k]);
        }
        a = ordered_double(a);
        b = ordered_double(b);
        traits[to] = a.x;
        traits[to + 1u] = a.y;
        traits[to + 6u] = b.x;
        traits[to + 7u] = b.y;
    }
}
