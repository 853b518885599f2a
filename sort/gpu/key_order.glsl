// The order of keys as one order-preserving unsigned number, as in sort/src/key_order.h. Defines: KEY_WORDS 1 or 2,
// FLOAT 0 or 1. Keys of 64 bits are two words, the low one first: nothing here needs 64-bit integers.
#define FLIP_LOW param(0)
#define FLIP_HIGH param(1)
#define NAN_LAST param(2)
#define BEGIN_BIT param(3)
#define FIELD_BITS param(4)

#if KEY_WORDS == 1
#define KEY uint
#define LAST_KEY 0xffffffffu
#define LOAD_KEY(data, first, i) (data)[(first) + (i)]
#define STORE_KEY(data, first, i, key) (data)[(first) + (i)] = (key)

uint ordered(uint bits) {
    if (FLOAT == 0) return bits ^ FLIP_LOW;
    uint magnitude = bits & 0x7fffffffu;
    if (NAN_LAST != 0u && magnitude > 0x7f800000u) return 0xffffffffu;
    if (magnitude == 0u) bits = 0u;
    return bits ^ ((bits >> 31) != 0u ? 0xffffffffu : 0x80000000u) ^ FLIP_LOW;
}

uint digit_of(uint key, uint shift, uint mask) { return (ordered(key) >> shift) & mask; }

// The sorted bits, moved down to bit 0.
uint field_of(uint key) {
    uint moved = ordered(key) >> BEGIN_BIT;
    return FIELD_BITS < 32u ? moved & ((1u << FIELD_BITS) - 1u) : moved;
}

bool comes_after(uint a, uint b) { return a > b; }
#else
#define KEY uvec2
#define LAST_KEY uvec2(0xffffffffu)
#define LOAD_KEY(data, first, i) uvec2((data)[(first) + 2u * (i)], (data)[(first) + 2u * (i) + 1u])
#define STORE_KEY(data, first, i, key)                                                                                 \
    {                                                                                                                  \
        (data)[(first) + 2u * (i)] = (key).x;                                                                          \
        (data)[(first) + 2u * (i) + 1u] = (key).y;                                                                     \
    }

uvec2 ordered(uvec2 bits) {
    uvec2 flip = uvec2(FLIP_LOW, FLIP_HIGH);
    if (FLOAT == 0) return bits ^ flip;
    uint magnitude = bits.y & 0x7fffffffu;
    bool nan = magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && bits.x != 0u);
    if (NAN_LAST != 0u && nan) return uvec2(0xffffffffu);
    if ((magnitude | bits.x) == 0u) bits = uvec2(0u);
    return bits ^ ((bits.y >> 31) != 0u ? uvec2(0xffffffffu) : uvec2(0u, 0x80000000u)) ^ flip;
}

uvec2 moved_down(uvec2 bits, uint shift) {
    if (shift == 0u) return bits;
    if (shift >= 32u) return uvec2(bits.y >> (shift - 32u), 0u);
    return uvec2((bits.x >> shift) | (bits.y << (32u - shift)), bits.y >> shift);
}

uint digit_of(uvec2 key, uint shift, uint mask) { return moved_down(ordered(key), shift).x & mask; }

uvec2 field_of(uvec2 key) {
    uvec2 moved = moved_down(ordered(key), BEGIN_BIT);
    if (FIELD_BITS < 32u) return uvec2(moved.x & ((1u << FIELD_BITS) - 1u), 0u);
    return FIELD_BITS < 64u ? uvec2(moved.x, moved.y & ((1u << (FIELD_BITS - 32u)) - 1u)) : moved;
}

bool comes_after(uvec2 a, uvec2 b) { return a.y != b.y ? a.y > b.y : a.x > b.x; }
#endif
