// Rays against the nodes and items of a tree, as in pairsieve/tree_tests.h: items with the same roundings, nodes with the
// same bounds on what rounding can change.
#include "exact_floats.glsl"

struct tree_ray {
    vec3 origin, direction;
    vec3 inverse; // 1 / direction; 0: it does not move along this axis
    vec3 slab;    // the same for nodes: bounded, so that no product overflows
    vec3 pad;     // added to where a node's box is left
    float t_min, t_max, first;
    uint octant;
    int exponent; // t of these is t of the caller's ray times 2^exponent
    uint long_axis;
    vec3 shear;
};

struct ray_hit {
    float t, u, v;
    uint item;
};

// t times 2^exponent, not below 0; the next float above or below where that is none.
float scale_t(float t, int exponent, bool up) {
    float made = scaled(t, exponent);
    uint back = floatBitsToUint(scaled(made, -exponent)), given_bits = floatBitsToUint(t);
    if (up ? back >= given_bits : back <= given_bits) return made;
    return uintBitsToFloat(floatBitsToUint(made) + (up ? 1u : 0xffffffffu));
}
float unscaled_t(tree_ray ray, float t) {
    if (ray.exponent == 0) return t;
    return t > ray.t_min ? greater(scale_t(t, -ray.exponent, true), ray.first) : ray.first;
}
float limit_t(tree_ray ray, float t) { return ray.exponent == 0 ? t : scale_t(t, ray.exponent, true); }

// The largest coordinate of the root and the origin is below 2 to this power.
int ray_scale(vec3 origin) {
    tree_node root = load_node(0u);
    vec3 high = root.origin + 255.0 * root.size;
    vec3 most = max(max(abs(origin), vec3(0.015625)), max(abs(root.origin), abs(high)));
    return int(floatBitsToUint(max(most.x, max(most.y, most.z))) >> 23) - 126;
}

// Directions that are much longer or shorter than 1 are scaled by a power of two.
float scale_ray(inout tree_ray ray, float longest) {
    ray.exponent = 0;
    if (longest >= 9.5367431640625e-7 && longest <= 1048576.0) return longest;
    int exponent;
    uint mantissa = split_float(floatBitsToUint(longest), exponent);
    ray.exponent = exponent - 126;
    for (uint k = 0u; k < 3u; ++k)
        ray.direction[k] = scaled(ray.direction[k], -ray.exponent);
    ray.t_min = scale_t(ray.t_min, ray.exponent, true);
    ray.t_max = scale_t(ray.t_max, ray.exponent, false);
    return scaled(longest, -ray.exponent);
}

// In the order x, y, z of a space where axis `z` is the last one.
vec3 turned(vec3 v, uint z) { return z == 2u ? v : z == 1u ? v.zxy : v.yzx; }

// False: the ray hits nothing.
bool make_ray(vec3 origin, float t_min, vec3 direction, float t_max, out tree_ray ray) {
    ray.origin = origin;
    ray.direction = direction;
    if (is_nan(t_min) || is_nan(t_max)) return false;
    ray.t_min = ray.first = t_min > 0.0 ? t_min : 0.0;
    ray.t_max = without_sign_of_zero(t_max);
    bool good = ray.t_min <= ray.t_max;
    for (uint k = 0u; k < 3u; ++k)
        good = good && is_finite(ray.direction[k]) && is_finite(ray.origin[k]) && abs(ray.origin[k]) <= 1e37;
    uvec3 sizes = floatBitsToUint(abs(ray.direction));
    uint most = max(sizes.x, max(sizes.y, sizes.z));
    if (!good || most == 0u) return false;
    float reach = scale_ray(ray, uintBitsToFloat(most));
    int scale = ray_scale(ray.origin);
    float bound = power_of_two(114 - scale), pad = power_of_two(scale < 101 ? scale + 25 : 126);
    ray.octant = 7u;
    for (uint k = 0u; k < 3u; ++k) {
        float along = ray.direction[k], size = abs(along);
        bool moves = size >= reach * 8.271806125530277e-25, bounded = moves && size * bound >= 1.0;
        ray.inverse[k] = moves ? divided(1.0, along) : 0.0;
        ray.slab[k] = bounded ? ray.inverse[k] : along < 0.0 ? -bound : bound;
        ray.pad[k] = bounded ? 0.0 : pad;
        ray.octant ^= uint(along < 0.0) << k;
    }
    vec3 size = abs(ray.direction);
    ray.long_axis = size.z >= size.x && size.z >= size.y ? 2u : size.y >= size.x ? 1u : 0u;
#if TRIANGLES
    vec3 along = turned(ray.direction, ray.long_axis);
    ray.shear = vec3(divided(along.x, along.z), divided(along.y, along.z), turned(ray.inverse, ray.long_axis).z);
#endif
    return true;
}

// 1 + q / 2^15 of the four bytes q of a word, as bits of a float's fraction: conversions take several times as long.
vec4 fractions_of(uint word) {
    return uintBitsToFloat((uvec4(word << 8, word, word >> 8, word >> 16) & 0xff00u) | 0x3f800000u);
}

// Of four slots, whose words say where the ray enters and leaves on each axis.
uint ray_four_slots(uvec3 enter, uvec3 leave, vec3 size, vec3 low, vec3 high, float t_min, float t_most) {
    vec4 near = max(max(vec4(t_min), fractions_of(enter.x) * size.x + low.x),
                    max(fractions_of(enter.y) * size.y + low.y, fractions_of(enter.z) * size.z + low.z));
    vec4 far = min(min(vec4(t_most), fractions_of(leave.x) * size.x + high.x),
                   min(fractions_of(leave.y) * size.y + high.y, fractions_of(leave.z) * size.z + high.z));
    return bits_of_four(lessThanEqual(near, far));
}

// Slots of a node that the ray may enter before t_most.
uint ray_slots(tree_node node, tree_ray ray, float t_most) {
    vec3 at = (node.origin - ray.origin) * ray.slab, size = node.size * ray.slab;
    vec3 error = abs(at) * 1.9073486328125e-6 + abs(size) * 0.0068359375;
    // What fractions_of adds is taken off again; the errors have room for its rounding.
    size *= 32768.0;
    vec3 low = at - error - size, high = at + error + ray.pad - size;
    uvec2 low_x = node.low_xy.xy, low_y = node.low_xy.zw, low_z = node.low_z_high_x.xy;
    uvec2 high_x = node.low_z_high_x.zw, high_y = node.high_yz.xy, high_z = node.high_yz.zw;
    uvec2 enter_x = ray.slab.x < 0.0 ? high_x : low_x, leave_x = ray.slab.x < 0.0 ? low_x : high_x;
    uvec2 enter_y = ray.slab.y < 0.0 ? high_y : low_y, leave_y = ray.slab.y < 0.0 ? low_y : high_y;
    uvec2 enter_z = ray.slab.z < 0.0 ? high_z : low_z, leave_z = ray.slab.z < 0.0 ? low_z : high_z;
    uint slots = ray_four_slots(uvec3(enter_x.x, enter_y.x, enter_z.x), uvec3(leave_x.x, leave_y.x, leave_z.x), size,
                                low, high, ray.t_min, t_most) |
                 ray_four_slots(uvec3(enter_x.y, enter_y.y, enter_z.y), uvec3(leave_x.y, leave_y.y, leave_z.y), size,
                                low, high, ray.t_min, t_most)
                     << 4;
    return slots & node.used;
}

// Where the ray's line, both ways, is within a closed box; false: nowhere.
bool line_in_box(tree_ray ray, vec3 low, vec3 high, out float near, out float far) {
    precise vec3 a = (low - ray.origin) * ray.inverse, b = (high - ray.origin) * ray.inverse;
    bvec3 still = equal(ray.inverse, vec3(0.0));
    vec3 first = vec3(still.x ? -infinity() : lesser(a.x, b.x), still.y ? -infinity() : lesser(a.y, b.y),
                      still.z ? -infinity() : lesser(a.z, b.z));
    vec3 last = vec3(still.x ? infinity() : greater(a.x, b.x), still.y ? infinity() : greater(a.y, b.y),
                     still.z ? infinity() : greater(a.z, b.z));
    near = greater(greater(first.x, first.y), first.z);
    far = lesser(lesser(last.x, last.y), last.z);
    bvec3 outside = bvec3(uvec3(lessThan(ray.origin, low)) | uvec3(greaterThan(ray.origin, high)));
    bool inside = !(still.x && outside.x) && !(still.y && outside.y) && !(still.z && outside.z);
    precise float sooner = near - abs(near) * 2.384185791015625e-7, later = far + abs(far) * 2.384185791015625e-7;
    return inside && sooner <= later;
}

#if TRIANGLES
bool ray_meets(tree_ray ray, stored_item item, out ray_hit hit) {
    vec3 o = turned(ray.origin, ray.long_axis), shear = ray.shear;
    vec3 corner[3] = vec3[3](turned(item.a, ray.long_axis), turned(item.b, ray.long_axis),
                             turned(item.c, ray.long_axis));
    precise float x[3], y[3], z[3];
    for (uint i = 0u; i < 3u; ++i) {
        z[i] = corner[i].z - o.z;
        x[i] = (corner[i].x - o.x) - shear.x * z[i];
        y[i] = (corner[i].y - o.y) - shear.y * z[i];
    }
    precise float u = x[2] * y[1] - y[2] * x[1];
    precise float v = x[0] * y[2] - y[0] * x[2];
    precise float w = x[1] * y[0] - y[1] * x[0];
    hit = ray_hit(0.0, 0.0, 0.0, item.item);
    if (u == 0.0 || v == 0.0 || w == 0.0) {
        u = cross_exact(x[2], y[1], y[2], x[1]);
        v = cross_exact(x[0], y[2], y[0], x[2]);
        w = cross_exact(x[1], y[0], y[1], x[0]);
    }
    if ((u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0)) return false;
    precise float sum = (u + v) + w;
    if (!(abs(sum) > 0.0) || is_nan(sum)) return false;
    if (!(abs(sum) >= 8.673617379884035e-19 && abs(sum) <= 1152921504606846976.0)) {
        float unit = unit_for(sum);
        u *= unit, v *= unit, w *= unit, sum *= unit;
    }
    float inverse = divided(1.0, sum);
    precise float depth = (u * z[0] + v * z[1]) + w * z[2];
    precise float t = (depth * inverse) * shear.z;
    precise float second = v * inverse, third = w * inverse;
    vec3 low = min(item.a, min(item.b, item.c)), high = max(item.a, max(item.b, item.c));
    float near, far;
    bool ignored = line_in_box(ray, low, high, near, far);
    float kept = without_sign_of_zero(greater(lesser(t, far), near));
    hit = ray_hit(unscaled_t(ray, kept), second, third, item.item);
    return kept >= ray.t_min && kept <= ray.t_max;
}
#else
bool ray_meets(tree_ray ray, stored_item item, out ray_hit hit) {
    float near, far;
    hit = ray_hit(0.0, 0.0, 0.0, item.item);
    if (!line_in_box(ray, item.a, item.b, near, far) || far < ray.t_min) return false;
    float t = without_sign_of_zero(greater(near, ray.t_min));
    hit.t = unscaled_t(ray, t);
    return t <= ray.t_max;
}
#endif

bool hit_before(ray_hit a, ray_hit b) { return a.t < b.t || (a.t == b.t && a.item < b.item); }
