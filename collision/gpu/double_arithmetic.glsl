// Difference and conversion of numbers in double precision, as IEEE 754 rounds them to the nearest, in integers: numbers
// and mantissas of 64 bits are two words, the high one first.
uvec2 shifted_left(uvec2 m, uint by) { // by < 64
    if (by == 0u) return m;
    return by < 32u ? uvec2(m.x << by | m.y >> (32u - by), m.y << by) : uvec2(m.y << (by - 32u), 0u);
}

uvec2 shifted_right(uvec2 m, uint by) { // by < 64
    if (by == 0u) return m;
    return by < 32u ? uvec2(m.x >> by, m.y >> by | m.x << (32u - by)) : uvec2(0u, m.x >> (by - 32u));
}

// Bits that are lost set the last one, so that a later rounding knows of them.
uvec2 shifted_right_noting(uvec2 m, uint by) {
    if (by >= 64u) return uvec2(0u, uint((m.x | m.y) != 0u));
    uvec2 kept = shifted_right(m, by);
    return uvec2(kept.x, kept.y | uint(shifted_left(kept, by) != m));
}

uvec2 sum_of(uvec2 a, uvec2 b) {
    uint low = a.y + b.y;
    return uvec2(a.x + b.x + uint(low < a.y), low);
}

// m / 2^by to the nearest, to the even one between two. 1 <= by <= 63.
uvec2 rounded(uvec2 m, uint by) {
    uvec2 kept = shifted_right(m, by), lost = shifted_left(m, 64u - by);
    bool up = lost.x > 0x80000000u || (lost.x == 0x80000000u && (lost.y != 0u || (kept.y & 1u) != 0u));
    return up ? sum_of(kept, uvec2(0u, 1u)) : kept;
}

uint exponent_of(uvec2 bits) { return bits.x >> 20 & 0x7ffu; }
uvec2 mantissa_of(uvec2 bits) { return uvec2((bits.x & 0xfffffu) | uint(exponent_of(bits) != 0u) << 20, bits.y); }

// Neither is NaN; b is finite.
uvec2 difference_of_doubles(uvec2 a, uvec2 b) {
    b.x ^= 0x80000000u;
    uvec2 large = a, little = b;
    uint sign_a = a.x & 0x80000000u, sign_b = b.x & 0x80000000u;
    if ((b.x ^ sign_b) > (a.x ^ sign_a) || ((b.x ^ sign_b) == (a.x ^ sign_a) && b.y > a.y)) large = b, little = a;
    if (exponent_of(large) == 0x7ffu) return large;
    // Nine more bits below the mantissas, and one above them for a carry.
    uint exponent = max(exponent_of(large), 1u), away = exponent - max(exponent_of(little), 1u);
    uvec2 more = shifted_left(mantissa_of(large), 9u);
    uvec2 less = shifted_right_noting(shifted_left(mantissa_of(little), 9u), away);
    if (sign_a != sign_b) less = sum_of(~less, uvec2(0u, 1u));
    uvec2 m = sum_of(more, less);
    if ((m.x | m.y) == 0u) return uvec2(sign_a & sign_b, 0u);
    // The highest bit goes to bit 61, where the larger mantissa's was, as far as the exponent allows.
    int top = m.x != 0u ? 32 + findMSB(m.x) : findMSB(m.y);
    if (top == 62) {
        m = shifted_right_noting(m, 1u);
        ++exponent;
    } else {
        uint by = min(uint(61 - top), exponent - 1u);
        m = shifted_left(m, by);
        exponent -= by;
    }
    if (exponent >= 0x7ffu) return uvec2((large.x & 0x80000000u) | 0x7ff00000u, 0u);
    m = rounded(m, 9u); // a carry goes on into the exponent, and at its end makes infinity
    return uvec2((large.x & 0x80000000u) | (m.x + (exponent - 1u << 20)), m.y);
}

// Not of NaN.
uint float_of_double(uvec2 bits) {
    uint sign = bits.x & 0x80000000u, exponent = exponent_of(bits);
    if (exponent > 896u + 254u) return sign | 0x7f800000u;
    if (exponent < 896u - 24u) return sign; // less than half of the smallest float
    uint drop = exponent > 896u ? 29u : 29u + 897u - exponent;
    uint m = rounded(mantissa_of(bits), drop).y;
    return sign | (exponent > 896u ? m + (exponent - 897u << 23) : m);
}
