// Boxes in double precision as floats, the origin subtracted: psvi_narrow_box (collision/src/pair_rules.h), the same
// bits. One thread a box. param 0: boxes, 1 and 2: strides in words, 3: whether the corners are double, 4 to 9: the
// origin.
layout(local_size_x = 128) in;
#include "doubles.glsl"
#include "double_arithmetic.glsl"
layout(std430, binding = 0) writeonly buffer box_block { uint boxes[]; };
layout(std430, binding = 1) readonly buffer min_block { uint lows[]; };
layout(std430, binding = 2) readonly buffer max_block { uint highs[]; };

// Two roundings, as on the processor: to a double, then to a float.
uint narrowed(uvec2 bits, uint axis) {
    return float_of_double(difference_of_doubles(bits, uvec2(param(5 + 2 * axis), param(4 + 2 * axis))));
}

void main() {
    uint i = group_number() * 128u + gl_LocalInvocationID.x;
    if (i >= param(0)) return;
    uint low = base(1) + i * param(1), high = base(2) + i * param(2), to = base(0) + 6u * i;
    bool bad = false;
    for (uint k = 0u; k < 3u; ++k) {
        uvec2 from, end;
        if (param(3) != 0u) {
            from = uvec2(lows[low + 2u * k + 1u], lows[low + 2u * k]);
            end = uvec2(highs[high + 2u * k + 1u], highs[high + 2u * k]);
        } else {
            from = widened(lows[low + k]);
            end = widened(highs[high + k]);
        }
        bad = bad || is_nan_bits(from) || is_nan_bits(end) || is_above(ordered_double(from), ordered_double(end));
        boxes[to + k] = narrowed(from, k);
        boxes[to + 3u + k] = narrowed(end, k);
    }
    if (bad) boxes[to] = 0x7fc00000u;
}
