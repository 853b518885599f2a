// Places along a Hilbert curve (psvi_hilbert_bits in collision/src/queries/tree_build.h), as numbers of 64 bits: two words, the
// high one first.

// The cell of a point on one axis, clamped to the cube.
uint tree_cell(float at, uint axis, uint bits) {
    float cells = float(1u << bits);
    float x = (at - uintBitsToFloat(HEAD(HEAD_LOW + axis))) * uintBitsToFloat(HEAD(HEAD_SCALE)) * cells;
    return x > 0.0 ? (x < cells ? uint(x) : (1u << bits) - 1u) : 0u;
}

uvec3 hilbert_bits(uvec3 cell, uint bits) {
    uint x = cell.x, y = cell.y, z = cell.z;
    for (uint q = 1u << (bits - 1u); q > 1u; q >>= 1) {
        uint p = q - 1u;
        x ^= (x & q) != 0u ? p : 0u;
        uint s = (y & q) != 0u ? 0u : (x ^ y) & p;
        x ^= (y & q) != 0u ? p : s;
        y ^= s;
        uint t = (z & q) != 0u ? 0u : (x ^ z) & p;
        x ^= (z & q) != 0u ? p : t;
        z ^= t;
    }
    y ^= x;
    z ^= y;
    uint flip = z >> 1; // each bit: parity of the bits above it
    flip ^= flip >> 1;
    flip ^= flip >> 2;
    flip ^= flip >> 4;
    flip ^= flip >> 8;
    flip ^= flip >> 16;
    return uvec3(x, y, z) ^ uvec3(flip);
}

// The lower ten bits of each number, in turns: 30 bits.
uint interleaved(uvec3 v) {
    v &= 1023u;
    v = (v | v << 16) & 0x030000ffu;
    v = (v | v << 8) & 0x0300f00fu;
    v = (v | v << 4) & 0x030c30c3u;
    v = (v | v << 2) & 0x09249249u;
    return v.x << 2 | v.y << 1 | v.z;
}

// The place of a point, 3 * bits wide; bits at most 20.
uvec2 tree_place(vec3 point, uint bits) {
    uvec3 cell = uvec3(tree_cell(point.x, 0u, bits), tree_cell(point.y, 1u, bits), tree_cell(point.z, 2u, bits));
    uvec3 parts = hilbert_bits(cell, bits);
    uint low = interleaved(parts), high = interleaved(parts >> 10);
    return uvec2(high >> 2, high << 30 | low);
}
