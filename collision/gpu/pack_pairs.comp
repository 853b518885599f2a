// Pairs to keys of 64 bits, a << bits | b, in place, and back (UNPACK). param 0: pairs at most, 1: bits.
// variants: UNPACK=0,1
layout(local_size_x = 128) in;
layout(std430, binding = 0) buffer pair_block { uint pairs[]; };
layout(std430, binding = 1) readonly buffer count_block { uint count[]; };
layout(std430, binding = 2) buffer clamped_block { uint clamped[]; };

void main() {
    uint i = group_number() * 128u + gl_LocalInvocationID.x, bits = param(1), at = base(0) + 2u * i;
    uint there = count[base(1) + 1u] != 0u ? param(0) : min(count[base(1)], param(0));
#if !UNPACK
    if (i == 0u) {
        clamped[base(2)] = there;
        clamped[base(2) + 1u] = 0u;
    }
#endif
    if (i >= there) return;
    uint x = pairs[at], y = pairs[at + 1u];
#if UNPACK
    pairs[at] = bits == 32u ? y : (x >> bits) | (y << (32u - bits));
    pairs[at + 1u] = bits == 32u ? x : x & ((1u << bits) - 1u);
#else
    pairs[at] = bits == 32u ? y : y | (x << bits);
    pairs[at + 1u] = bits == 32u ? x : x >> (32u - bits);
#endif
}
