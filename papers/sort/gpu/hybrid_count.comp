// Figure 4 of Sintorn & Assarsson: counts the elements of each sublist. A group of 512 threads takes 8,192 elements. A
// search in the edges finds the sublist, a count in shared memory the place among the group's. Then the group adds to
// each of the plan's sizes once, so ordered elements do not wait for one counter. HISTOGRAM: Figure 7, equal parts
// between the least and the greatest field, without places. param 6: which edges. Three barriers; reads each field once,
// writes 8 bytes.
// variants: KEY_WORDS=1,2 HISTOGRAM=0,1
// constants: FLOAT BUCKETS
#define PLAN_ACCESS
#define ITEMS 16u
#define TILE (512u * ITEMS)
layout(local_size_x = 512) in;
#include "key_order.glsl"
#include "radix_state.glsl"
#include "element_order.glsl"
#include "hybrid_plan.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
layout(std430, binding = 4) writeonly buffer place_block { uint places[]; };
layout(std430, binding = 5) writeonly buffer sublist_block { uint sublists[]; };
shared uint counts[BUCKETS];

#if HISTOGRAM
uint sublist_of(KEY field) {
    KEY low = LOAD_KEY(plan, base(6) + LOW, 0u), high = LOAD_KEY(plan, base(6) + HIGH, 0u);
    float scale = float(SUBLISTS) / (key_float(key_difference(high, low)) + 1.0);
    return min(uint(min(key_float(key_difference(field, low)) * scale, float(SUBLISTS))), SUBLISTS - 1u);
}
#else
uint sublist_of(KEY field) {
    uint low = 0u, high = SUBLISTS;
    while (high - low > 1u) {
        uint middle = (low + high) / 2u;
        KEY edge = LOAD_KEY(plan, base(6) + EDGES(param(6)), middle);
        if (comes_after(edge, field))
            high = middle;
        else
            low = middle;
    }
    return low;
}
#endif

void main() {
    uint thread = gl_LocalInvocationID.x, first = group_number() * TILE, count = state[base(0) + COUNT];
    if (first >= count || plan[base(6) + EVEN] != 0u) return;
    for (uint b = thread; b < SUBLISTS; b += 512u)
        counts[b] = 0u;
    barrier();
    uint sublist[ITEMS], place[ITEMS];
    for (uint k = 0u; k < ITEMS; ++k) {
        uint i = first + k * 512u + thread;
        if (i >= count) break;
        KEY field = LOAD_KEY(fields, base(1), i);
        sublist[k] = sublist_of(field);
        place[k] = atomicAdd(counts[sublist[k]], 1u);
    }
    barrier();
    for (uint b = thread; b < SUBLISTS; b += 512u)
        if (counts[b] != 0u) counts[b] = atomicAdd(plan[base(6) + SIZES + b], counts[b]);
#if !HISTOGRAM
    barrier();
    for (uint k = 0u; k < ITEMS; ++k) {
        uint i = first + k * 512u + thread;
        if (i >= count) break;
        places[base(4) + i] = counts[sublist[k]] + place[k];
        sublists[base(5) + i] = sublist[k];
    }
#endif
}
