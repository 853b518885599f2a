// The nodes of one level of a linear tree: the lowest from the items (LEAVES), others from the boxes of the level below.
// A group brings the boxes of 512 children to shared memory; then each thread makes a node of eight. Reads an item or
// a box and writes a node of 80 bytes and its box once. param 0: level, 1: 1 for triangles.
// variants: LEAVES=0,1
layout(local_size_x = 64) in;
#define HEAD_ACCESS readonly
#include "tree_head.glsl"
layout(std430, binding = 9) readonly buffer item_block { uvec4 items[]; };
layout(std430, binding = 10) readonly buffer end_block { uvec2 ends[]; };
layout(std430, binding = 11) writeonly buffer node_block { uvec4 nodes[]; };
layout(std430, binding = 7) buffer box_block { float boxes[]; }; // six floats a node
#define ROW 576u // 512 children and a gap after each eight: lanes that read eight each meet different banks
shared float lows[3u * ROW], highs[3u * ROW];

// The box of an item or a node below; min > max where nothing is in it.
void load_child(uint child, out vec3 low, out vec3 high) {
#if LEAVES
    uvec4 a = items[base(9) / 4u + 2u * child], b = items[base(9) / 4u + 2u * child + 1u];
    low = uintBitsToFloat(a.xyz);
    high = uintBitsToFloat(b.xyz);
    if (param(1) != 0u) {
        vec3 second = uintBitsToFloat(uvec3(a.w, b.xy));
        vec3 third = uintBitsToFloat(uvec3(b.zw, ends[base(10) / 2u + child].x));
        high = max(low, max(second, third));
        low = min(low, min(second, third));
        if ((a.x & 0x7fffffffu) > 0x7f800000u) {
            low = vec3(TREE_LIMIT);
            high = vec3(-TREE_LIMIT);
        }
    }
    low = tree_clamp(low);
    high = tree_clamp(high);
#else
    uint at = base(7) + 6u * child;
    low = vec3(boxes[at], boxes[at + 1u], boxes[at + 2u]);
    high = vec3(boxes[at + 3u], boxes[at + 4u], boxes[at + 5u]);
#endif
}

int exponent_of_float(float x) { return int(floatBitsToUint(x) >> 23 & 255u) - 127; }

// The grid of one axis: step 2^(exponent - 127), origin a multiple of it, 255 steps reach `high`.
float make_grid(float low, float high, out uint exponent) {
    float most = max(abs(low), abs(high));
    int e = exponent_of_float(0.5 * high - 0.5 * low) + 1 - 8;
    e = max(max(e, exponent_of_float(most) - 22), -126);
    for (;; ++e) {
        float size = grid_step(uint(e + 127)), inverse = grid_step(uint(127 - e));
        precise float origin = floor(low * inverse) * size;
        if (origin > low) origin -= size;
        precise float reach = origin + 255.0 * size;
        exponent = uint(e + 127);
        if (reach >= high || e >= 120) return origin;
    }
}

vec3 low_of(uint child) { return vec3(lows[child], lows[ROW + child], lows[2u * ROW + child]); }
vec3 high_of(uint child) { return vec3(highs[child], highs[ROW + child], highs[2u * ROW + child]); }

// Three bits a child: its octant within the node's box, or where that is taken a free slot.
uint choose_slots(uint at, uint count, vec3 twice) {
    uint slots = 0u, taken = 0u, late = 0u;
    for (uint i = 0u; i < count; ++i) {
        bvec3 upper = greaterThan(low_of(at + i) + high_of(at + i), twice);
        uint octant = uint(upper.x) | uint(upper.y) << 1 | uint(upper.z) << 2;
        bool is_free = (taken >> octant & 1u) == 0u;
        taken |= 1u << octant;
        slots |= is_free ? octant << (3u * i) : 0u;
        late |= is_free ? 0u : 1u << i;
    }
    for (; late != 0u; late &= late - 1u) {
        uint slot = uint(findLSB(~taken));
        taken |= 1u << slot;
        slots |= slot << uint(3 * findLSB(late));
    }
    return slots;
}

void make_node(uint number, uint at, uint count, uvec4 links) {
    vec3 low = vec3(TREE_LIMIT), high = vec3(-TREE_LIMIT);
    for (uint i = 0u; i < count; ++i) {
        low = min(low, low_of(at + i));
        high = max(high, high_of(at + i));
    }
    bool empty = low.x > high.x;
    vec3 least = empty ? vec3(0.0) : low, most = empty ? vec3(0.0) : high;
    uvec3 exponent;
    vec3 origin;
    origin.x = make_grid(least.x, most.x, exponent.x);
    origin.y = make_grid(least.y, most.y, exponent.y);
    origin.z = make_grid(least.z, most.z, exponent.z);
    vec3 size = uintBitsToFloat(exponent << 23), inverse = uintBitsToFloat((254u - exponent) << 23);
    uint slots = choose_slots(at, count, low + high), order = 0u;
    uint grid = exponent.x | exponent.y << 8 | exponent.z << 16;
    // Of the first four slots and of the others; nothing is in them.
    uvec3 from_first = uvec3(0xffffffffu), from_last = uvec3(0xffffffffu), to_first = uvec3(0u), to_last = uvec3(0u);
    for (uint i = 0u; i < count; ++i) {
        vec3 own_low = low_of(at + i), own_high = high_of(at + i);
        uint slot = slots >> (3u * i) & 7u, shift = 8u * (slot & 3u);
        order |= i << (3u * slot);
#if !LEAVES
        grid |= 1u << (24u + slot);
#endif
        if (own_low.x > own_high.x) continue;
        order |= 1u << (24u + slot);
        // The interval on the grid, outwards.
        precise vec3 a = clamp(floor((own_low - origin) * inverse), 0.0, 255.0);
        precise vec3 b = clamp(ceil((own_high - origin) * inverse), 0.0, 255.0);
        precise vec3 from = origin + a * size, to = origin + b * size;
        uvec3 down = uvec3(greaterThan(a, vec3(0.0))) & uvec3(greaterThan(from, own_low));
        uvec3 up = uvec3(lessThan(b, vec3(255.0))) & uvec3(lessThan(to, own_high));
        uvec3 low_bytes = (255u - (uvec3(a) - down)) << shift, high_bytes = (uvec3(b) + up) << shift;
        from_first ^= slot < 4u ? low_bytes : uvec3(0u);
        from_last ^= slot < 4u ? uvec3(0u) : low_bytes;
        to_first |= slot < 4u ? high_bytes : uvec3(0u);
        to_last |= slot < 4u ? uvec3(0u) : high_bytes;
    }
    uint to_node = base(11) / 4u + 5u * number, to_box = base(7) + 6u * number;
    nodes[to_node] = uvec4(floatBitsToUint(origin), grid);
    nodes[to_node + 1u] = uvec4(links.xy, order, links.w);
    nodes[to_node + 2u] = uvec4(from_first.x, from_last.x, from_first.y, from_last.y);
    nodes[to_node + 3u] = uvec4(from_first.z, from_last.z, to_first.x, to_last.x);
    nodes[to_node + 4u] = uvec4(to_first.y, to_last.y, to_first.z, to_last.z);
    boxes[to_box] = low.x;
    boxes[to_box + 1u] = low.y;
    boxes[to_box + 2u] = low.z;
    boxes[to_box + 3u] = high.x;
    boxes[to_box + 4u] = high.y;
    boxes[to_box + 5u] = high.z;
}

void main() {
    uint thread = gl_LocalInvocationID.x, level = param(0), levels = HEAD(HEAD_LEVELS);
    uint begin = HEAD(HEAD_STARTS + level), below = 0u, children = HEAD(HEAD_ITEMS);
    if (level > 1u) {
        below = HEAD(HEAD_STARTS + level - 1u);
        children = (level == 2u ? HEAD(HEAD_NODES) : HEAD(HEAD_STARTS + level - 2u)) - below;
    }
    uint first = group_number() * 512u;
    if (level > levels || first >= children) return; // the whole group
    for (uint i = thread; i < 512u; i += 64u) {
        vec3 low = vec3(TREE_LIMIT), high = vec3(-TREE_LIMIT);
        if (first + i < children) load_child(below + first + i, low, high);
        uint at = i + i / 8u;
        lows[at] = low.x;
        lows[ROW + at] = low.y;
        lows[2u * ROW + at] = low.z;
        highs[at] = high.x;
        highs[ROW + at] = high.y;
        highs[2u * ROW + at] = high.z;
    }
    barrier();
    uint own = first + 8u * thread, place = own / 8u;
    if (own >= children) return;
    uint count = min(children - own, 8u), above = level == levels ? 0u : HEAD(HEAD_STARTS + level + 1u);
    uvec4 links = uvec4(0u, 0u, 0u, (above + place / 8u) | (count - 1u) << 29);
#if LEAVES
    links.y = own;
#else
    links.x = below + own;
#endif
    make_node(begin + place, 9u * thread, count, links);
}
