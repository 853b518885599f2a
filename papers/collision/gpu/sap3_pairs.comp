// The pairs of `sap3`. Input: boxes in the order of their minimums on the last axis, and where each one's range ends: all
// boxes that begin within it, so each pair is found once, by the box that begins first. One thread a box for the first
// 256 of its range; what is left of long ranges is gone through by the whole group. Reads 32 bytes a test.
// variants: RULES=0,1
layout(local_size_x = 64) in;
#include "slots.glsl"
#include "pair_sink.glsl"
layout(std430, binding = 5) readonly buffer end_block { uint ends[]; };
layout(std430, binding = 9) readonly buffer box_block { uint boxes[]; };
layout(std430, binding = 10) readonly buffer count_block { uint count[]; };
#define ROOM param(4) // of the list before: the last axis leaves the second one free
#define OWN_STEPS 256u
shared uint range_next[64], range_end[64];

void test_pair(uint own, uint other) {
    uint a = base(9) + 8u * own, b = base(9) + 8u * other;
    if (!overlap(uvec3(boxes[a], boxes[a + 1u], boxes[a + 2u]), uvec3(boxes[a + 3u], boxes[a + 4u], boxes[a + 5u]),
                 uvec3(boxes[b], boxes[b + 1u], boxes[b + 2u]), uvec3(boxes[b + 3u], boxes[b + 4u], boxes[b + 5u])))
        return;
    uint s = boxes[a + 7u], t = boxes[b + 7u];
    if (may_pair(s, boxes[a + 6u], t, boxes[b + 6u])) emit(s, t);
}

void main() {
    uint thread = gl_LocalInvocationID.x, group = group_number(), place = group * 64u + thread, tests = 0u;
    uint all_boxes = count[base(10) + 1u], next = place + 1u, end = 0u;
    if (group * 64u >= all_boxes) return; // the whole group
    begin_pairs();
    if (place < all_boxes) end = ends[base(5) + ROOM + place];
    if (end > next) tests = end - next;
    for (uint step = 0u; step < OWN_STEPS && next < end; ++step, ++next)
        test_pair(place, next);
    range_next[thread] = next;
    range_end[thread] = end;
    barrier();
    for (uint owner = 0u; owner < 64u; ++owner)
        for (uint at = range_next[owner] + thread; at < range_end[owner]; at += 64u)
            test_pair(group * 64u + owner, at);
    end_pairs(tests);
}
