// The items of a build in the caller's layout. Blocks 1 to 6: minima or vertices, maxima, flags, worlds, indices, count.
// param 0: items at most, 1: what there is (GIVEN_...), 2 and 3: strides in words (minima, maxima; vertices, indices),
// 4: bytes from the bound word to the first flag, 5: worlds, 6: vertices.
layout(std430, binding = 1) readonly buffer low_block { uint lows[]; };
layout(std430, binding = 2) readonly buffer high_block { uint highs[]; };
layout(std430, binding = 3) readonly buffer flag_block { uint flags[]; };
layout(std430, binding = 4) readonly buffer world_block { uint worlds[]; };
layout(std430, binding = 5) readonly buffer index_block { uint indices[]; };
layout(std430, binding = 6) readonly buffer count_block { uint given_count[]; };
#define GIVEN_FLAGS 1u
#define GIVEN_WORLDS 2u
#define GIVEN_COUNT 4u
#define GIVEN_INDICES 8u
#define TRIANGLES 16u
#define ITEM_GOOD 0u
#define ITEM_OFF 1u
#define ITEM_BAD 2u

bool given(uint bit) { return (param(1) & bit) != 0u; }

uint item_count() {
    if (!given(GIVEN_COUNT) || given_count[base(6) + 1u] != 0u) return param(0);
    return min(param(0), given_count[base(6)]);
}

struct tree_item {
    vec3 low, high;
    vec3 corner[3];
};

uint item_world(uint i) { return given(GIVEN_WORLDS) ? worlds[base(4) + i] : 0u; }

bool is_nan_word(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
bool is_number_word(uint bits) { return (bits & 0x7f800000u) != 0x7f800000u; }

uint load_triangle(uint i, out tree_item item) {
    bool good = true;
    for (uint k = 0u; k < 3u; ++k) {
        uint vertex = given(GIVEN_INDICES) ? indices[base(5) + i * param(3) + k] : 3u * i + k;
        if (vertex >= param(6)) return ITEM_BAD;
        uint at = base(1) + vertex * param(2);
        uvec3 words = uvec3(lows[at], lows[at + 1u], lows[at + 2u]);
        good = good && is_number_word(words.x) && is_number_word(words.y) && is_number_word(words.z);
        item.corner[k] = uintBitsToFloat(words);
    }
    item.low = min(item.corner[0], min(item.corner[1], item.corner[2]));
    item.high = max(item.corner[0], max(item.corner[1], item.corner[2]));
    return good ? ITEM_GOOD : ITEM_BAD;
}

uint load_box(uint i, out tree_item item) {
    uint a = base(1) + i * param(2), b = base(2) + i * param(3);
    bool good = true;
    for (uint k = 0u; k < 3u; ++k) {
        uint low = lows[a + k], high = highs[b + k];
        item.low[k] = uintBitsToFloat(low);
        item.high[k] = uintBitsToFloat(high);
        good = good && !is_nan_word(low) && !is_nan_word(high) && item.low[k] <= item.high[k];
    }
    item.low = tree_clamp(item.low);
    item.high = tree_clamp(item.high);
    return good ? ITEM_GOOD : ITEM_BAD;
}

uint load_item(uint i, out tree_item item) {
    if (given(GIVEN_FLAGS)) {
        uint at = i + param(4);
        if ((flags[base(3) + at / 4u] >> (8u * (at % 4u)) & 2u) != 0u) return ITEM_OFF;
    }
    if (item_world(i) >= param(5)) return ITEM_BAD;
    return given(TRIANGLES) ? load_triangle(i, item) : load_box(i, item);
}

vec3 item_centre(tree_item item) { return 0.5 * tree_clamp(item.low) + 0.5 * tree_clamp(item.high); }
