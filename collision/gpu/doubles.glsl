// Double precision by its bits, for GPUs without it: numbers as two words, the high one first. Ordered, they compare as
// unsigned numbers do. -0 equals +0.
bool is_nan_bits(uvec2 bits) { return (bits.x & 0x7fffffffu) > 0x7ff00000u || ((bits.x & 0x7fffffffu) == 0x7ff00000u && bits.y != 0u); }
uvec2 ordered_double(uvec2 bits) {
    if ((bits.x & 0x7fffffffu) == 0u && bits.y == 0u) bits.x = 0u;
    return (bits.x >> 31) != 0u ? ~bits : uvec2(bits.x ^ 0x80000000u, bits.y);
}
bool is_above(uvec2 a, uvec2 b) { return a.x > b.x || (a.x == b.x && a.y > b.y); }
// The bits of a float, converted to the bits of the same number in double precision.
uvec2 widened(uint bits) {
    uint high = bits & 0x80000000u, exponent = bits >> 23 & 255u, rest = bits & 0x7fffffu;
    if (exponent == 0u) {
        if (rest == 0u) return uvec2(high, 0u);
        int top = findMSB(rest); // a small number: its highest bit becomes the one that is not written
        rest = (rest << (23 - top)) & 0x7fffffu;
        return uvec2(high | uint(top + 874) << 20 | rest >> 3, rest << 29);
    }
    uint wide = exponent == 255u ? 2047u : exponent + 896u;
    return uvec2(high | wide << 20 | rest >> 3, rest << 29);
}
