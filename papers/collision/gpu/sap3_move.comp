// Gives each counted item of a tile its number, by the table's sums (sap3.glsl). One group a tile, four items a thread.
// OVER 0: the list of all boxes that take part, in the order of slots. OVER 1: places of the boxes' ends. OVER 2: the
// next axis' list, of the boxes that have company on this one. 18 barriers.
// variants: OVER=0,1,2
layout(local_size_x = 256) in;
#include "slots.glsl"
#include "sap3.glsl"
layout(std430, binding = 10) readonly buffer total_block { uint totals[]; };
layout(std430, binding = 11) readonly buffer table_block { uint table[]; };
shared uint sums[256];

uint scanned(uint own) {
    uint thread = gl_LocalInvocationID.x, sum = own;
    sums[thread] = sum;
    barrier();
    for (uint reach = 1u; reach < 256u; reach *= 2u) {
        uint left = thread >= reach ? sums[thread - reach] : 0u;
        barrier();
        sum += left;
        sums[thread] = sum;
        barrier();
    }
    return sum - own;
}

void put(uint i, bool counted, uint number) {
#if OVER == 0
    if (counted) lists[base(5) + number] = i;
#elif OVER == 1
    uint end = endpoints[base(7) + i];
    if (counted) {
        FIRST(end) = i;
        RANK(end) = number;
    } else {
        LAST(end - BOXES) = i;
        STOP(end - BOXES) = number;
    }
#else
    if (counted) lists[base(5) + (AXIS + 1u) % 2u * ROOM + number] = LIST(i);
#endif
}

void main() {
    uint thread = gl_LocalInvocationID.x, tile = group_number(), first = tile * TILE + 4u * thread;
    uint items = item_count(), own = 0u;
    for (uint i = first; i < min(first + 4u, items); ++i)
        own += uint(is_counted(i));
    uint number = scanned(own);
    if (tile * TILE < items) number += table[base(11) + tile];
    for (uint i = first; i < min(first + 4u, items); ++i) {
        bool counted = is_counted(i);
        put(i, counted, number);
        number += uint(counted);
    }
#if OVER != 1
    if (thread != 0u || tile != 0u) return;
    uint axis = OVER == 0 ? 0u : AXIS + 1u, count = items == 0u ? 0u : totals[base(10)];
    states[base(6) + BOXES_STATE(axis)] = states[base(6) + ENDS_STATE(axis)] = 1u;
    states[base(6) + BOXES_STATE(axis) + 1u] = count;
    states[base(6) + ENDS_STATE(axis) + 1u] = 2u * count;
    states[base(6) + ENDS_STATE(axis) + 2u] = 0u; // the upper word of the sorter's count
#endif
}
