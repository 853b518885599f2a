// The closest point of all items to each sphere's centre, or the k nearest items (NEAREST), within its radius. One thread
// a query; the nearest ones are kept in order in the target itself, block 11. param 5: k.
// variants: TRIANGLES=0,1 NEAREST=0,1
layout(local_size_x = 64) in;
#include "tree_query.glsl"
#include "tree_points.glsl"
layout(std430, binding = 11) buffer target_block { uint target[]; };

#if NEAREST
uint held = 0u;

// Squared distances, until the end.
void add_near(uint to, uint k, float distance2, uint item, inout float most2) {
    uint p = held;
    for (; p > 0u; --p) {
        uint before = to + 2u * (p - 1u);
        float other = uintBitsToFloat(target[before]);
        if (!(distance2 < other || (distance2 == other && item < target[before + 1u]))) break;
    }
    if (p >= k) return;
    held += uint(held < k);
    for (uint i = held - 1u; i > p; --i) {
        target[to + 2u * i] = target[to + 2u * i - 2u];
        target[to + 2u * i + 1u] = target[to + 2u * i - 1u];
    }
    target[to + 2u * p] = floatBitsToUint(distance2);
    target[to + 2u * p + 1u] = item;
    if (held == k) most2 = uintBitsToFloat(target[to + 2u * k - 2u]);
}
#endif

void main() {
    uint q, number;
    if (!query_of(group_number() * 64u + gl_LocalInvocationID.x, q)) return;
    vec3 centre;
    float radius, most2, best2 = 0.0;
    bool good = load_sphere(q, centre, radius, most2);
    uvec2 filter_bits = query_filter(q);
    closest_point best = closest_point(centre, 0.0, 0.0, NO_ITEM);
    uint k = param(5), to = base(11) + 2u * k * q;
    begin_query(q);
    while (good && next_node(number)) {
        tree_node node = load_node(number);
        float sum[8];
        uint slots = near_slots(node, centre, most2, sum) & world_slots(number, node.order);
        push_by_distance(node, slots, sum);
        for (uint left = slots & ~node.inner; left != 0u; left &= left - 1u) {
            uint slot = uint(findLSB(left));
            if (sum[slot] > most2) continue;
            closest_point at;
            float distance2 = item_distance2(centre, load_item(slot_item(node, slot)), at);
            if (!is_within(distance2, most2)) continue;
#if NEAREST
            if (item_passes(at.item, filter_bits)) add_near(to, k, distance2, at.item, most2);
#else
            if (distance2 == most2 && at.item >= best.item) continue;
            if (!item_passes(at.item, filter_bits)) continue;
            most2 = best2 = distance2;
            best = at;
#endif
        }
    }
#if NEAREST
    for (uint i = 0u; i < k; ++i) {
        target[to + 2u * i] = floatBitsToUint(i < held ? root_of(uintBitsToFloat(target[to + 2u * i])) : radius);
        if (i >= held) target[to + 2u * i + 1u] = NO_ITEM;
    }
#else
    to = base(11) + 7u * q;
    for (uint axis = 0u; axis < 3u; ++axis)
        target[to + axis] = floatBitsToUint(best.point[axis]);
    target[to + 3u] = best.item == NO_ITEM ? queries[base(6) + q * param(2) + 3u] : floatBitsToUint(root_of(best2));
    target[to + 4u] = best.item;
    target[to + 5u] = floatBitsToUint(best.u);
    target[to + 6u] = floatBitsToUint(best.v);
#endif
}
