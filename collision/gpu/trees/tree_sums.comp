// Where the list of each query begins, in numbers of 64 bits. Of 1,024 counts a group: their sum (PHASE 0); what is before
// each sum, by one group (1); what is before each count (2). Blocks: 0 head, 1 sums, 10 counts, 11 offsets. param 0:
// queries at most, 1: as in tree_query.glsl, 2: groups.
// variants: PHASE=0,1,2
layout(local_size_x = 256) in;
#define HEAD_ACCESS
#include "tree_head.glsl"
#include "double_arithmetic.glsl"
layout(std430, binding = 1) buffer sum_block { uint sums[]; };
layout(std430, binding = 10) readonly buffer count_block { uint counts[]; };
layout(std430, binding = 11) writeonly buffer offset_block { uint offsets[]; };
#define COUNTED 16u
shared uvec2 parts[256]; // high word first

uint query_count() {
    if ((param(1) & COUNTED) == 0u || HEAD(RESULT_COUNT + 1u) != 0u) return param(0);
    return min(param(0), HEAD(RESULT_COUNT));
}

// The sum of all threads up to this one; parts[255] is that of all.
uvec2 sum_up(uvec2 own) {
    uint thread = gl_LocalInvocationID.x;
    uvec2 sum = own;
    parts[thread] = sum;
    barrier();
    for (uint step = 1u; step < 256u; step *= 2u) {
        uvec2 before = thread >= step ? parts[thread - step] : uvec2(0u);
        barrier();
        sum = sum_of(sum, before);
        parts[thread] = sum;
        barrier();
    }
    return sum;
}
uvec2 less_of(uvec2 a, uvec2 b) { return sum_of(a, sum_of(~b, uvec2(0u, 1u))); }

#if PHASE == 1
void main() {
    uint thread = gl_LocalInvocationID.x;
    uvec2 before = uvec2(0u);
    for (uint first = 0u; first < param(2); first += 256u) {
        uint at = base(1) + 2u * (first + thread);
        bool there = first + thread < param(2);
        uvec2 own = there ? uvec2(sums[at + 1u], sums[at]) : uvec2(0u), sum = sum_up(own);
        uvec2 mine = sum_of(before, less_of(sum, own));
        if (there) {
            sums[at] = mine.y;
            sums[at + 1u] = mine.x;
        }
        before = sum_of(before, parts[255]);
        barrier();
    }
    if (thread != 0u) return;
    HEAD(RESULT_RESULTS) = before.y;
    HEAD(RESULT_RESULTS + 1u) = before.x;
}
#else
void main() {
    uint group = group_number(), thread = gl_LocalInvocationID.x, first = 1024u * group + 4u * thread;
    uint queries = query_count();
    uvec2 own = uvec2(0u);
    for (uint i = 0u; i < 4u; ++i)
        if (first + i < queries) own = sum_of(own, uvec2(0u, counts[base(10) + first + i]));
    uvec2 sum = sum_up(own);
    if (group >= param(2)) return;
    uint at = base(1) + 2u * group;
#if PHASE == 0
    if (thread != 255u) return;
    sums[at] = sum.y;
    sums[at + 1u] = sum.x;
#else
    uvec2 place = sum_of(uvec2(sums[at + 1u], sums[at]), less_of(sum, own));
    for (uint i = 0u; i < 5u; ++i) {
        uint q = first + i; // the last offset is behind the last query
        if (q > queries || (i == 4u && q != queries)) break;
        offsets[base(11) + 2u * q] = place.y;
        offsets[base(11) + 2u * q + 1u] = place.x;
        if (q < queries && i < 4u) place = sum_of(place, uvec2(0u, counts[base(10) + q]));
    }
#endif
}
#endif
