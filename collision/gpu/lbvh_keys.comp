// One key a slot: [takes no part | world | place along the halving order]. One thread a slot.
layout(local_size_x = 128) in;
#include "slots.glsl"
#include "lbvh_plan.glsl"
layout(std430, binding = 0) readonly buffer slot_block { uint slots[]; };
layout(std430, binding = 2) readonly buffer plan_block { uint plan[]; };
layout(std430, binding = 5) writeonly buffer key_block { uint keys[]; };

void main() {
    uint slot = group_number() * 128u + gl_LocalInvocationID.x;
    if (slot >= SLOTS) return;
    uint at = base(0) + 8u * slot, cells[3] = {0u, 0u, 0u}, place = 0u;
    if ((slots[at + 6u] & TAG_OUT) != 0u) {
        keys[base(5) + slot] = 1u << (PLACE_BITS + WORLD_BITS);
        return;
    }
    for (uint k = 0u; k < 3u; ++k) {
        float centre = 0.5 * float_of(slots[at + k]) + 0.5 * float_of(slots[at + 3u + k]);
        float low = uintBitsToFloat(plan[base(2) + PLAN_LOW + k]);
        float cell = (centre - low) * uintBitsToFloat(plan[base(2) + PLAN_INVERSE + k]);
        uint bits = plan[base(2) + PLAN_BITS + k], most = 1u << bits;
        // A NaN, of an infinite box, gets cell 0: no comparison holds for it.
        uint number = cell > 0.0 ? (cell < float(most) ? uint(cell) : most - 1u) : 0u;
        cells[k] = bits == 0u ? 0u : min(number, most - 1u) << (32u - bits); // the high bit first
    }
    for (uint b = 0u; b < PLACE_BITS; ++b) {
        uint axis = plan[base(2) + PLAN_AXES + b];
        place = place << 1 | cells[axis] >> 31;
        cells[axis] <<= 1;
    }
    keys[base(5) + slot] = (slots[at + 7u] >> WORLD_SHIFT) << PLACE_BITS | place;
}
