// The first item of each world, by halving. One thread a world and one more. param 8: bits of an axis at most, 10: worlds.
layout(local_size_x = 128) in;
#define HEAD_ACCESS readonly
#include "tree_head.glsl"
#include "double_arithmetic.glsl"
layout(std430, binding = 7) readonly buffer key_block { uint keys[]; };
layout(std430, binding = 8) writeonly buffer start_block { uint starts[]; };

void main() {
    uint world = group_number() * 128u + gl_LocalInvocationID.x;
    if (world > param(10)) return;
    uint low = 0u, high = HEAD(HEAD_ITEMS);
    while (low < high) {
        uint middle = low + (high - low) / 2u, at = base(7) + 2u * middle;
        if (shifted_right(uvec2(keys[at + 1u], keys[at]), 3u * param(8)).y < world)
            low = middle + 1u;
        else
            high = middle;
    }
    starts[base(8) + world] = low;
}
