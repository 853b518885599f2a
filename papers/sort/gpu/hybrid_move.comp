// Moves the elements of `hybrid` between the dense arrays and the slots. One thread an element, or a slot.
// BACK 0: Figure 6: each element goes to its sublist's first slot plus its place. Reads in order, writes scattered.
// BACK 1: the number of each slot that is not padding goes to its sublist's rank plus its place.
// variants: KEY_WORDS=1,2 BACK=0,1
// constants: FLOAT
#define PLAN_ACCESS readonly
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "radix_state.glsl"
#include "element_order.glsl"
#include "hybrid_plan.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
#if BACK // indices: after an even number of merge passes, others: after an odd number
layout(std430, binding = 5) readonly buffer other_block { uint others[]; };
layout(std430, binding = 8) writeonly buffer sorted_block { uint sorted[]; };

void main() {
    uint slot = group_number() * 256u + gl_LocalInvocationID.x;
    if (slot >= plan[base(6) + STARTS + SUBLISTS]) return;
    uint sublist = last_not_above(STARTS, slot), place = slot - plan[base(6) + STARTS + sublist];
    if (place >= plan[base(6) + SIZES + sublist]) return;
    bool odd = plan[base(6) + MERGE_PASSES] % 2u != 0u;
    uint number = odd ? others[base(5) + slot] : indices[base(2) + slot];
    sorted[base(8) + plan[base(6) + RANKS + sublist] + place] = number;
}
#else
layout(std430, binding = 4) readonly buffer place_block { uint places[]; };
layout(std430, binding = 5) readonly buffer sublist_block { uint sublists[]; };
layout(std430, binding = 7) writeonly buffer slot_field_block { uint slot_fields[]; };
layout(std430, binding = 8) writeonly buffer slot_index_block { uint slot_indices[]; };

void main() {
    uint i = group_number() * 256u + gl_LocalInvocationID.x;
    if (i >= state[base(0) + COUNT]) return;
    uint slot = plan[base(6) + STARTS + sublists[base(5) + i]] + places[base(4) + i];
    KEY field = LOAD_KEY(fields, base(1), i);
    STORE_KEY(slot_fields, base(7), slot, field);
    slot_indices[base(8) + slot] = indices[base(2) + i];
}
#endif
