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

// Slots of a node that the ray may enter before t_most.
uint ray_slots(tree_node node, tree_ray ray, float t_most) {
    vec3 at = (node.origin - ray.origin) * ray.slab, size = node.size * ray.slab;
    vec3 error = abs(at) * 1.9073486328125e-6 + abs(size) * 0.00439453125;
    vec3 low = at - error, high = at + error + ray.pad;
    bvec3 back = lessThan(ray.slab, vec3(0.0));
    uvec2 enter[3], leave[3];
    for (uint k = 0u; k < 3u; ++k) {
        enter[k] = back[k] ? node.high[k] : node.low[k];
        leave[k] = back[k] ? node.low[k] : node.high[k];
    }
    uint slots = 0u;
    for (uint slot = 0u; slot < 8u; ++slot) {
        vec3 q_in = vec3(slot_number(enter[0], slot), slot_number(enter[1], slot), slot_number(enter[2], slot));
        vec3 q_out = vec3(slot_number(leave[0], slot), slot_number(leave[1], slot), slot_number(leave[2], slot));
        vec3 from = q_in * size + low, to = q_out * size + high;
        float near = max(max(ray.t_min, from.x), max(from.y, from.z));
        float far = min(min(t_most, to.x), min(to.y, to.z));
        slots |= uint(near <= far) << slot;
    }
    return slots & node.used;
}

// Where the ray's line, both ways, is within a closed box; false: nowhere.
bool line_in_box(tree_ray ray, vec3 low, vec3 high, out float near, out float far) {
    near = -infinity();
    far = infinity();
    bool inside = true;
    for (uint k = 0u; k < 3u; ++k) {
        float o = ray.origin[k], inverse = ray.inverse[k];
        if (inverse == 0.0) {
            inside = inside && low[k] <= o && o <= high[k];
            continue;
        }
        precise float a = (low[k] - o) * inverse, b = (high[k] - o) * inverse;
        near = greater(near, lesser(a, b));
        far = lesser(far, greater(a, b));
    }
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
