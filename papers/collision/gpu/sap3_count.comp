// How many of a tile of 1,024 items are counted (sap3.glsl). One group a tile. Input: slots, endpoints or places.
// Output: the tile's entry of the table.
// variants: OVER=0,1,2
layout(local_size_x = 256) in;
#include "slots.glsl"
#include "sap3.glsl"
layout(std430, binding = 11) writeonly buffer table_block { uint table[]; };
shared uint found;

void main() {
    uint thread = gl_LocalInvocationID.x, first = group_number() * TILE, items = item_count(), own = 0u;
    if (thread == 0u) found = 0u;
    barrier();
    for (uint i = first + thread; i < min(first + TILE, items); i += 256u)
        own += uint(is_counted(i));
    if (own > 0u) atomicAdd(found, own);
    barrier();
    if (thread == 0u && first < items) table[base(11) + group_number()] = found;
#if OVER == 0
    if (thread != 0u || first != 0u) return;
    states[base(6) + SLOTS_STATE] = 1u;
    states[base(6) + SLOTS_STATE + 1u] = items;
#endif
}
