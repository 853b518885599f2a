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

// An interval on the grid, outwards.
uvec2 grid_interval(float low, float high, float origin, uint exponent) {
    float size = grid_step(exponent), inverse = grid_step(254u - exponent);
    precise float a = clamp(floor((low - origin) * inverse), 0.0, 255.0);
    precise float b = clamp(ceil((high - origin) * inverse), 0.0, 255.0);
    precise float from = origin + a * size, to = origin + b * size;
    if (a > 0.0 && from > low) a -= 1.0;
    if (b < 255.0 && to < high) b += 1.0;
    return uvec2(uint(a), uint(b));
}

// Three bits a child: its octant within the node's box, or where that is taken a free slot.
uint choose_slots(uint at, uint count, vec3 twice) {
    uint slots = 0u, taken = 0u, late = 0u;
    for (uint i = 0u; i < count; ++i) {
        uint octant = 0u;
        for (uint k = 0u; k < 3u; ++k)
            octant |= uint(lows[ROW * k + at + i] + highs[ROW * k + at + i] > twice[k]) << k;
        if ((taken >> octant & 1u) != 0u) {
            late |= 1u << i;
            continue;
        }
        taken |= 1u << octant;
        slots |= octant << (3u * i);
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
    for (uint i = 0u; i < count; ++i)
        for (uint k = 0u; k < 3u; ++k) {
            low[k] = min(low[k], lows[ROW * k + at + i]);
            high[k] = max(high[k], highs[ROW * k + at + i]);
        }
    bool empty = low.x > high.x;
    uint slots = choose_slots(at, count, low + high), order = 0u, grid = 0u;
    uvec2 from[3], to[3];
    vec3 origin;
    for (uint k = 0u; k < 3u; ++k) {
        uint exponent;
        origin[k] = make_grid(empty ? 0.0 : low[k], empty ? 0.0 : high[k], exponent);
        grid |= exponent << (8u * k);
        from[k] = uvec2(0xffffffffu); // nothing
        to[k] = uvec2(0u);
        for (uint i = 0u; i < count; ++i) {
            if (lows[at + i] > highs[at + i]) continue;
            uvec2 part = grid_interval(lows[ROW * k + at + i], highs[ROW * k + at + i], origin[k], exponent);
            uint slot = slots >> (3u * i) & 7u, shift = 8u * (slot & 3u);
            if (slot < 4u) {
                from[k].x ^= (255u - part.x) << shift;
                to[k].x |= part.y << shift;
            } else {
                from[k].y ^= (255u - part.x) << shift;
                to[k].y |= part.y << shift;
            }
        }
    }
    for (uint i = 0u; i < count; ++i) {
        uint slot = slots >> (3u * i) & 7u;
        order |= i << (3u * slot);
        if (lows[at + i] <= highs[at + i]) order |= 1u << (24u + slot);
#if !LEAVES
        grid |= 1u << (24u + slot);
#endif
    }
    uint to_node = base(11) / 4u + 5u * number;
    nodes[to_node] = uvec4(floatBitsToUint(origin), grid);
    nodes[to_node + 1u] = uvec4(links.xy, order, links.w);
    nodes[to_node + 2u] = uvec4(from[0], from[1]);
    nodes[to_node + 3u] = uvec4(from[2], to[0]);
    nodes[to_node + 4u] = uvec4(to[1], to[2]);
    for (uint k = 0u; k < 3u; ++k) {
        boxes[base(7) + 6u * number + k] = low[k];
        boxes[base(7) + 6u * number + 3u + k] = high[k];
    }
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
        for (uint k = 0u; k < 3u; ++k) {
            lows[ROW * k + at] = low[k];
            highs[ROW * k + at] = high[k];
        }
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
