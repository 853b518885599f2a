// Arithmetic on floats that rounds as on the CPU. Shaders may divide and take roots with an error of a few units in the
// last place: here integers correct the result. Products and sums are right where their variable is `precise`.
#include "double_arithmetic.glsl"

bool is_nan(float a) { return (floatBitsToUint(a) & 0x7fffffffu) > 0x7f800000u; }
bool is_finite(float a) { return (floatBitsToUint(a) & 0x7f800000u) != 0x7f800000u; }
float infinity() { return uintBitsToFloat(0x7f800000u); }

// 2 to the power of e, from -126 to 127.
float power_of_two(int e) { return uintBitsToFloat(uint(e + 127) << 23); }

// The power of two that makes of a number one of about 1.
float unit_for(float a) { return power_of_two(clamp(127 - int(floatBitsToUint(a) >> 23 & 255u), -126, 126)); }

// -0 becomes 0.
float without_sign_of_zero(float a) { return floatBitsToUint(a) == 0x80000000u ? 0.0 : a; }

// The mantissa of a number that is not 0, from 2^23 on, and its exponent: a = mantissa * 2^(exponent - 150).
uint split_float(uint bits, out int exponent) {
    uint mantissa = bits & 0x7fffffu;
    exponent = int(bits >> 23 & 255u);
    if (exponent != 0) return mantissa | 0x800000u;
    int up = 23 - findMSB(mantissa);
    exponent = 1 - up;
    return mantissa << up;
}

// The number whose mantissa is the quotient of 25 bits, the last one for rounding; `more`: it is a little larger.
float join_float(uint sign, uint quotient, bool more, int exponent) {
    if (exponent >= 255) return uintBitsToFloat(sign | 0x7f800000u);
    uint drop = exponent >= 1 ? 1u : uint(2 - exponent);
    if (drop > 26u) return uintBitsToFloat(sign);
    uint kept = quotient >> drop, lost = quotient & ((1u << drop) - 1u), half_way = 1u << (drop - 1u);
    kept += uint(lost > half_way || (lost == half_way && (more || (kept & 1u) != 0u)));
    return uintBitsToFloat(sign | (exponent >= 1 ? (uint(exponent - 1) << 23) + kept : kept));
}

// a / b.
float divided(float a, float b) {
    if (b == 0.0 || !is_finite(a) || !is_finite(b)) return a / b;
    uint a_bits = floatBitsToUint(a), b_bits = floatBitsToUint(b), sign = (a_bits ^ b_bits) & 0x80000000u;
    if ((a_bits & 0x7fffffffu) == 0u) return uintBitsToFloat(sign);
    int a_exponent, b_exponent;
    uint m = split_float(a_bits, a_exponent), n = split_float(b_bits, b_exponent);
    if (m < n) {
        m <<= 1;
        --a_exponent;
    }
    // m * 2^24 / n. The estimate is off by few, so that the lower 32 bits hold what is left.
    uint quotient = uint(float(m) / float(n) * 16777216.0);
    int left = int((m << 24) - quotient * n);
    for (; left < 0; left += int(n))
        --quotient;
    for (; left >= int(n); left -= int(n))
        ++quotient;
    return join_float(sign, quotient, left != 0, a_exponent - b_exponent + 127);
}

// The square root of a number that is not below 0.
float root_of(float a) {
    uint bits = floatBitsToUint(a);
    if (bits == 0u || (bits & 0x7f800000u) == 0x7f800000u) return a;
    if (bits == 0x80000000u) return 0.0;
    int exponent;
    uint m = split_float(bits, exponent);
    // An even exponent: m * 2^23 or 2^24 is the square of a number of 24 bits.
    bool odd = ((exponent - 150) & 1) != 0;
    uvec2 square = shifted_left(uvec2(0u, m), odd ? 23u : 24u);
    uint root = uint(sqrt(float(m)) * (odd ? 2896.309376 : 4096.0)), high, low;
    // The last number whose square is not above it.
    for (bool above = true; above;) {
        umulExtended(root, root, high, low);
        above = high > square.x || (high == square.x && low > square.y);
        root -= uint(above);
    }
    for (bool below = true; below;) {
        umulExtended(root + 1u, root + 1u, high, low);
        below = high < square.x || (high == square.x && low <= square.y);
        root += uint(below);
    }
    root += uint(square.y - root * root > root); // the difference is below 2^26
    int half_exponent = (exponent - 150 - (odd ? 23 : 24)) / 2; // exact: it is even
    return uintBitsToFloat((uint(half_exponent + 150) << 23) + root - 0x800000u);
}

// a * 2^by, rounded to the nearest.
float scaled(float a, int by) {
    uint bits = floatBitsToUint(a), sign = bits & 0x80000000u;
    if ((bits & 0x7fffffffu) == 0u || !is_finite(a)) return a;
    int exponent;
    uint m = split_float(bits, exponent);
    return join_float(sign, m << 1, false, exponent + by);
}

// The product of two floats as a number in double precision, high word first: nothing is lost.
uvec2 product_of(float a, float b) {
    uint a_bits = floatBitsToUint(a), b_bits = floatBitsToUint(b), sign = (a_bits ^ b_bits) & 0x80000000u;
    if ((a_bits & 0x7fffffffu) == 0u || (b_bits & 0x7fffffffu) == 0u) return uvec2(sign, 0u);
    int a_exponent, b_exponent;
    uvec2 m;
    umulExtended(split_float(a_bits, a_exponent), split_float(b_bits, b_exponent), m.x, m.y); // 47 or 48 bits
    int exponent = a_exponent + b_exponent + 770; // a and b: m * 2^(a_exponent + b_exponent - 300)
    if ((m.x & 0x8000u) == 0u) {
        m = shifted_left(m, 1u);
        --exponent;
    }
    m = shifted_left(m, 5u); // the first bit is bit 52
    return uvec2(sign | uint(exponent) << 20 | (m.x & 0xfffffu), m.y);
}

// a b - c d by products in double precision.
float cross_exact(float a, float b, float c, float d) {
    return uintBitsToFloat(float_of_double(difference_of_doubles(product_of(a, b), product_of(c, d))));
}
