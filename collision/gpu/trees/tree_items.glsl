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
    vec3 a, b, c; // corners
};

uint item_world(uint i) { return given(GIVEN_WORLDS) ? worlds[base(4) + i] : 0u; }

bool has_nan(uvec3 bits) { return any(greaterThan(bits & 0x7fffffffu, uvec3(0x7f800000u))); }
bool is_number(uvec3 bits) { return all(notEqual(bits & 0x7f800000u, uvec3(0x7f800000u))); }

uvec3 load_vertex(uint number) {
    uint at = base(1) + number * param(2);
    return uvec3(lows[at], lows[at + 1u], lows[at + 2u]);
}

uint load_triangle(uint i, out tree_item item) {
    uvec3 vertex = 3u * i + uvec3(0u, 1u, 2u);
    if (given(GIVEN_INDICES)) {
        uint at = base(5) + i * param(3);
        vertex = uvec3(indices[at], indices[at + 1u], indices[at + 2u]);
    }
    if (any(greaterThanEqual(vertex, uvec3(param(6))))) return ITEM_BAD;
    uvec3 a = load_vertex(vertex.x), b = load_vertex(vertex.y), c = load_vertex(vertex.z);
    item.a = uintBitsToFloat(a);
    item.b = uintBitsToFloat(b);
    item.c = uintBitsToFloat(c);
    item.low = min(item.a, min(item.b, item.c));
    item.high = max(item.a, max(item.b, item.c));
    return is_number(a) && is_number(b) && is_number(c) ? ITEM_GOOD : ITEM_BAD;
}

uint load_box(uint i, out tree_item item) {
    uint a = base(1) + i * param(2), b = base(2) + i * param(3);
    uvec3 low = uvec3(lows[a], lows[a + 1u], lows[a + 2u]), high = uvec3(highs[b], highs[b + 1u], highs[b + 2u]);
    item.low = uintBitsToFloat(low);
    item.high = uintBitsToFloat(high);
    bool good = !has_nan(low) && !has_nan(high) && all(lessThanEqual(item.low, item.high));
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
