// Boxes, spheres and points against the nodes and items of a tree, as in pairsieve/tree_tests.h, with the same roundings.
#include "exact_floats.glsl"

struct closest_point {
    vec3 point;
    float u, v;
    uint item;
};

// False of NaN.
bool is_within(float distance2, float most2) { return distance2 <= most2 && !is_nan(distance2); }
float query_clamp(float a) { return is_nan(a) ? a : greater(lesser(a, TREE_LIMIT), -TREE_LIMIT); }
vec3 query_clamp(vec3 a) { return vec3(query_clamp(a.x), query_clamp(a.y), query_clamp(a.z)); }

// False: the sphere finds nothing.
bool load_sphere(uint q, out vec3 centre, out float radius, out float most2) {
    centre = query_clamp(query_vector(q, 0u));
    radius = query_word(q, 3u);
    precise float square = radius * radius;
    most2 = square;
    return !is_nan(centre.x) && !is_nan(centre.y) && !is_nan(centre.z) && !is_nan(radius) && radius >= 0.0;
}

// The slots of a node four at a time: the first or the second word on each axis.
uvec3 low_words(tree_node node, bool second) {
    return second ? uvec3(node.low_xy.yw, node.low_z_high_x.y) : uvec3(node.low_xy.xz, node.low_z_high_x.x);
}
uvec3 high_words(tree_node node, bool second) {
    return second ? uvec3(node.low_z_high_x.w, node.high_yz.yw) : uvec3(node.low_z_high_x.z, node.high_yz.xz);
}

uint box_four_slots(tree_node node, bool second, vec3 low, vec3 high) {
    uvec3 from = low_words(node, second), to = high_words(node, second);
    uint slots = bits_of_four(lessThanEqual(node.origin.x + bytes_of(from.x) * node.size.x, vec4(high.x)));
    slots &= bits_of_four(lessThanEqual(node.origin.y + bytes_of(from.y) * node.size.y, vec4(high.y)));
    slots &= bits_of_four(lessThanEqual(node.origin.z + bytes_of(from.z) * node.size.z, vec4(high.z)));
    slots &= bits_of_four(greaterThanEqual(node.origin.x + bytes_of(to.x) * node.size.x, vec4(low.x)));
    slots &= bits_of_four(greaterThanEqual(node.origin.y + bytes_of(to.y) * node.size.y, vec4(low.y)));
    return slots & bits_of_four(greaterThanEqual(node.origin.z + bytes_of(to.z) * node.size.z, vec4(low.z)));
}
uint box_slots(tree_node node, vec3 low, vec3 high) {
    return (box_four_slots(node, false, low, high) | box_four_slots(node, true, low, high) << 4) & node.used;
}

// The squared distances of four slots, or a little less: a slot is taken as larger on each side by more than what is
// rounded here and in an item's distance.
vec4 near_four(tree_node node, bool second, vec3 from, vec3 error) {
    uvec3 low = low_words(node, second), high = high_words(node, second);
    vec3 below = from - error, above = -from - error, size = node.size;
    vec4 x = max(max(bytes_of(low.x) * size.x + below.x, above.x - bytes_of(high.x) * size.x), vec4(0.0));
    vec4 y = max(max(bytes_of(low.y) * size.y + below.y, above.y - bytes_of(high.y) * size.y), vec4(0.0));
    vec4 z = max(max(bytes_of(low.z) * size.z + below.z, above.z - bytes_of(high.z) * size.z), vec4(0.0));
    return x * x + y * y + z * z;
}

// sum: the squared distance of each slot, or less.
uint near_slots(tree_node node, vec3 point, float most2, out float sum[8]) {
    vec3 from = node.origin - tree_clamp(point);
    vec3 error = (abs(from) + 255.0 * node.size) * 4.76837158203125e-7 + node.size * 0.00390625;
    vec4 first = near_four(node, false, from, error), last = near_four(node, true, from, error);
    sum = float[8](first.x, first.y, first.z, first.w, last.x, last.y, last.z, last.w);
    uint apart = bits_of_four(greaterThan(first, vec4(most2))) | bits_of_four(greaterThan(last, vec4(most2))) << 4;
    return node.used & ~apart;
}

// The inner nodes among `slots` are walked next, the nearest first.
void push_by_distance(tree_node node, uint slots, float sum[8]) {
    slots &= node.inner;
    if (slots == 0u) return;
    uint order = 0u, count = 0u;
    for (uint slot = 0u; slot < 8u; ++slot) {
        if ((slots >> slot & 1u) == 0u) continue;
        uint further = 0u;
        for (uint other = 0u; other < 8u; ++other)
            if ((slots >> other & 1u) != 0u)
                further += uint(sum[other] > sum[slot] || (other < slot && sum[other] == sum[slot]));
        order |= (node.order >> (3u * slot) & 7u) << (3u * further);
        ++count;
    }
    push_group(node.first_child, order | ((1u << count) - 1u) << 24);
}

float dot3(vec3 a, vec3 b) {
    precise float sum = (a.x * b.x + a.y * b.y) + a.z * b.z;
    return sum;
}

float box_distance2(vec3 p, vec3 low, vec3 high) {
    precise vec3 below = low - p, above = p - high;
    vec3 away;
    for (uint k = 0u; k < 3u; ++k)
        away[k] = greater(greater(below[k], above[k]), 0.0);
    return dot3(away, away);
}

vec3 least_corner(stored_item item) {
    vec3 low;
    for (uint k = 0u; k < 3u; ++k)
        low[k] = lesser(item.a[k], lesser(item.b[k], item.c[k]));
    return low;
}
vec3 greatest_corner(stored_item item) {
    vec3 high;
    for (uint k = 0u; k < 3u; ++k)
        high[k] = greater(item.a[k], greater(item.b[k], item.c[k]));
    return high;
}

#if TRIANGLES
// See psv_closer_on_side.
bool closer_on_side(vec3 from, vec3 side, inout float least, inout float share, inout vec3 away) {
    float length2 = dot3(side, side), along = dot3(from, side);
    float at = along > 0.0 && length2 > 0.0 ? lesser(divided(along, length2), 1.0) : 0.0;
    precise vec3 rest = from - side * at;
    float distance2 = dot3(rest, rest);
    if (is_nan(distance2) || distance2 >= least) return false;
    least = distance2;
    share = at;
    away = rest;
    return true;
}

// Weights of b and c of the triangle's point that is closest to p, and the way from there to p: see
// psv_closest_weights.
void closest_weights(vec3 p, stored_item t, out float u, out float v, out vec3 away) {
    precise vec3 ab = t.b - t.a, ac = t.c - t.a, ap = p - t.a;
    float ab2 = dot3(ab, ab), ac2 = dot3(ac, ac);
    bool other = ac2 > ab2;
    vec3 base_side = other ? ac : ab, side = other ? ab : ac;
    float base2 = other ? ac2 : ab2, inverse = base2 > 0.0 ? divided(1.0, base2) : 0.0;
    precise float foot = dot3(ap, base_side) * inverse, lean = dot3(side, base_side) * inverse;
    precise vec3 left_over = ap - base_side * foot, height = side - base_side * lean;
    float height2 = dot3(height, height);
    float second = height2 > 0.0 ? divided(dot3(left_over, height), height2) : -1.0;
    precise float first = foot - second * lean, both = first + second;
    bool below = is_nan(second) || second < 0.0, before = is_nan(first) || first < 0.0;
    bool beyond = is_nan(both) || both > 1.0;
    precise vec3 inner = left_over - height * second;
    away = inner;
    if (below || before || beyond) {
        float least = infinity(), share = 0.0;
        first = second = 0.0;
        away = ap;
        if (below && closer_on_side(ap, base_side, least, share, away)) first = share;
        if (before && closer_on_side(ap, side, least, share, away)) {
            first = 0.0;
            second = share;
        }
        precise vec3 from = ap - base_side, last = side - base_side;
        if (beyond && closer_on_side(from, last, least, share, away)) {
            first = 1.0 - share;
            second = share;
        }
    }
    u = other ? second : first;
    v = other ? first : second;
}

// The squared distance of a point and an item, and where that is; NaN: too large to tell.
float item_distance2(vec3 p, stored_item item, out closest_point at) {
    vec3 low = least_corner(item), high = greatest_corner(item), away;
    closest_weights(p, item, at.u, at.v, away);
    precise vec3 place = (item.a + (item.b - item.a) * at.u) + (item.c - item.a) * at.v;
    for (uint k = 0u; k < 3u; ++k)
        at.point[k] = lesser(greater(place[k], low[k]), high[k]);
    at.item = item.item;
    float distance2 = dot3(away, away);
    return is_nan(distance2) ? distance2 : greater(box_distance2(p, low, high), distance2);
}

// See psv_edge_parts.
bool edge_parts(vec3 corners[3], vec3 edge, vec3 box_half, uint i) {
    uint j = i == 2u ? 0u : i + 1u, k = j == 2u ? 0u : j + 1u;
    float low = infinity(), high = -infinity();
    for (uint c = 0u; c < 3u; ++c) {
        precise float at = corners[c][k] * edge[j] - corners[c][j] * edge[k];
        low = lesser(low, at);
        high = greater(high, at);
    }
    precise float reach = box_half[j] * abs(edge[k]) + box_half[k] * abs(edge[j]);
    return low > reach || high < -reach;
}

// A triangle whose box touches the box.
bool box_meets_triangle(vec3 low, vec3 high, stored_item t) {
    low = clamp(low, vec3(-1e15), vec3(1e15));
    high = clamp(high, vec3(-1e15), vec3(1e15));
    precise vec3 centre = 0.5 * low + 0.5 * high, above_half = high - centre, below_half = centre - low;
    vec3 box_half = max(above_half, below_half);
    precise vec3 a = t.a - centre, b = t.b - centre, c = t.c - centre;
    precise vec3 ab = b - a, bc = c - b, ca = a - c;
    vec3 corners[3] = vec3[3](a, b, c), edges[3] = vec3[3](ab, bc, ca);
    for (uint e = 0u; e < 3u; ++e)
        for (uint axis = 0u; axis < 3u; ++axis)
            if (edge_parts(corners, edges[e], box_half, axis)) return false;
    precise vec3 normal = edges[0].yzx * edges[1].zxy - edges[0].zxy * edges[1].yzx;
    normal *= unit_for(max(max(abs(normal.x), abs(normal.y)), abs(normal.z)));
    precise float reach = (box_half.x * abs(normal.x) + box_half.y * abs(normal.y)) + box_half.z * abs(normal.z);
    bool above = true, below = true;
    for (uint k = 0u; k < 3u; ++k) {
        float at = dot3(normal, corners[k]);
        above = above && at > reach;
        below = below && at < -reach;
    }
    return !(above || below);
}
#else
float item_distance2(vec3 p, stored_item item, out closest_point at) {
    for (uint k = 0u; k < 3u; ++k)
        at.point[k] = lesser(greater(p[k], item.a[k]), item.b[k]);
    at.u = at.v = 0.0;
    at.item = item.item;
    return box_distance2(p, item.a, item.b);
}
#endif

bool box_meets(vec3 low, vec3 high, stored_item item) {
#if TRIANGLES
    if (any(greaterThan(least_corner(item), high)) || any(lessThan(greatest_corner(item), low))) return false;
    return box_meets_triangle(low, high, item);
#else
    return all(lessThanEqual(item.a, high)) && all(lessThanEqual(low, item.b));
#endif
}
