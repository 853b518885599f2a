// Lists of all items that rays (KIND 0), boxes (1) or spheres (2) meet. One thread a query, which counts its results or
// writes them to block 11. Block 10: counts of queries, or with LIST_OFFSETS where each list begins. param 4: LIST_...,
// 5: room of each list, 6: room of all lists. A result is an item, of rays a hit of four words.
// variants: TRIANGLES=0,1 KIND=0,1,2
layout(local_size_x = 64) in;
#include "tree_query.glsl"
#if KIND == 0
#include "tree_rays.glsl"
#define RESULT_WORDS 4u
#else
#include "tree_points.glsl"
#define RESULT_WORDS 1u
struct ray_hit {
    float t, u, v;
    uint item;
};
#endif
layout(std430, binding = 10) buffer list_block { uint lists[]; };
layout(std430, binding = 11) buffer target_block { uint target[]; };
#define LIST_RESULTS 1u
#define LIST_OFFSETS 2u
#define LIST_ORDERED 4u
#define LIST_COUNTS 8u

uint list_begin, list_room, list_found = 0u;
bool list_least; // keep the first ones in order

ray_hit result_at(uint i) {
    uint at = list_begin + RESULT_WORDS * i;
#if KIND == 0
    return ray_hit(uintBitsToFloat(target[at]), uintBitsToFloat(target[at + 2u]), uintBitsToFloat(target[at + 3u]),
                   target[at + 1u]);
#else
    return ray_hit(0.0, 0.0, 0.0, target[at]);
#endif
}
void set_result(uint i, ray_hit hit) {
    uint at = list_begin + RESULT_WORDS * i;
#if KIND == 0
    target[at] = floatBitsToUint(hit.t);
    target[at + 1u] = hit.item;
    target[at + 2u] = floatBitsToUint(hit.u);
    target[at + 3u] = floatBitsToUint(hit.v);
#else
    target[at] = hit.item;
#endif
}
bool result_before(ray_hit a, ray_hit b) { return a.t < b.t || (a.t == b.t && a.item < b.item); }

void add_result(ray_hit hit) {
    uint held = min(list_found, list_room);
    ++list_found;
    if (!list_least) {
        if (held < list_room) set_result(held, hit);
        return;
    }
    if (list_room == 0u || (held == list_room && result_before(result_at(held - 1u), hit))) return;
    uint at = held == list_room ? held - 1u : held;
    for (; at > 0u; --at) {
        ray_hit other = result_at(at - 1u);
        if (result_before(other, hit)) break;
        set_result(at, other);
    }
    set_result(at, hit);
}

// Puts the result at `at` down the heap of the first `count`.
void sift_result(uint at, uint count) {
    ray_hit moved = result_at(at);
    for (uint child = 2u * at + 1u; child < count; child = 2u * at + 1u) {
        ray_hit larger = result_at(child);
        if (child + 1u < count) {
            ray_hit other = result_at(child + 1u);
            if (result_before(larger, other)) {
                larger = other;
                ++child;
            }
        }
        if (!result_before(moved, larger)) break;
        set_result(at, larger);
        at = child;
    }
    set_result(at, moved);
}

void order_results(uint count) {
    for (uint i = count / 2u; i > 0u; --i)
        sift_result(i - 1u, count);
    for (uint end = count; end > 1u; --end) {
        ray_hit first = result_at(0u), last = result_at(end - 1u);
        set_result(0u, last);
        set_result(end - 1u, first);
        sift_result(0u, end - 1u);
    }
}

#if KIND == 0
void find_results(uint q, uvec2 filter_bits) {
    tree_ray ray;
    uint number;
    vec3 origin = query_vector(q, 0u), along = query_vector(q, 4u);
    if (walk_group == 0u || !make_ray(origin, query_word(q, 3u), along, query_word(q, 7u), ray)) return;
    while (next_node(number)) {
        tree_node node = load_node(number);
        uint slots = ray_slots(node, ray, ray.t_max) & world_slots(number, node.order);
        push_slots(node, slots, ray.octant);
        for (uint left = slots & ~node.inner; left != 0u; left &= left - 1u) {
            ray_hit hit;
            bool met = ray_meets(ray, load_item(slot_item(node, uint(findLSB(left)))), hit);
            if (met && item_passes(hit.item, filter_bits)) add_result(hit);
        }
    }
}
#elif KIND == 1
void find_results(uint q, uvec2 filter_bits) {
    vec3 low = query_vector(q, 0u), high = query_vector(q, 3u);
    uint number;
    for (uint k = 0u; k < 3u; ++k)
        if (is_nan(low[k]) || is_nan(high[k]) || low[k] > high[k]) return;
    low = query_clamp(low);
    high = query_clamp(high);
    while (next_node(number)) {
        tree_node node = load_node(number);
        uint slots = box_slots(node, low, high) & world_slots(number, node.order);
        push_slots(node, slots, 7u);
        for (uint left = slots & ~node.inner; left != 0u; left &= left - 1u) {
            stored_item item = load_item(slot_item(node, uint(findLSB(left))));
            if (box_meets(low, high, item) && item_passes(item.item, filter_bits))
                add_result(ray_hit(0.0, 0.0, 0.0, item.item));
        }
    }
}
#else
void find_results(uint q, uvec2 filter_bits) {
    vec3 centre;
    float radius, most2;
    uint number;
    if (!load_sphere(q, centre, radius, most2)) return;
    while (next_node(number)) {
        tree_node node = load_node(number);
        float sum[8];
        uint slots = near_slots(node, centre, most2, sum) & world_slots(number, node.order);
        push_slots(node, slots, 7u);
        for (uint left = slots & ~node.inner; left != 0u; left &= left - 1u) {
            closest_point at;
            float distance2 = item_distance2(centre, load_item(slot_item(node, uint(findLSB(left)))), at);
            if (is_within(distance2, most2) && item_passes(at.item, filter_bits))
                add_result(ray_hit(0.0, 0.0, 0.0, at.item));
        }
    }
}
#endif

void main() {
    uint q, flags = param(4);
    if (!query_of(group_number() * 64u + gl_LocalInvocationID.x, q)) return;
    bool offsets = (flags & LIST_OFFSETS) != 0u, ordered = (flags & LIST_ORDERED) != 0u;
    list_begin = list_room = 0u;
    if ((flags & LIST_RESULTS) != 0u) {
        uint first = offsets ? lists[base(10) + 2u * q] : q * param(5);
        list_room = offsets ? (lists[base(10) + 2u * q + 1u] == 0u && first < param(6) ? param(6) - first : 0u) : param(5);
        list_begin = base(11) + RESULT_WORDS * first;
    }
    list_least = ordered && !offsets;
    begin_query(q);
    find_results(q, query_filter(q));
    if (offsets && ordered && list_found <= list_room) order_results(list_found);
    if ((flags & LIST_COUNTS) != 0u) lists[base(10) + q] = list_found;
}
