// Adds pairs to the table of excluded pairs. A place is taken by its first word; nobody waits for the second one, so a
// pair that is given twice may lie there twice. One thread a pair. param 0: pairs, 1: last bucket.
layout(local_size_x = 128) in;
#include "excluded_pairs.glsl"
layout(std430, binding = 0) readonly buffer pair_block { uint pairs[]; };
layout(std430, binding = 1) coherent buffer excluded_block { uint excluded[]; };

void main() {
    uint i = group_number() * 128u + gl_LocalInvocationID.x;
    if (i >= param(0)) return;
    uint a = pairs[base(0) + 2u * i], b = pairs[base(0) + 2u * i + 1u], hash = excluded_hash(a, b);
    if (a == EXCLUDED_NONE) return; // the name of no box
    uint at = hash & param(1), filters = base(1) + 8u * (param(1) + 1u);
    atomicOr(excluded[filters + at], excluded_bit(hash));
    for (;; at = (at + 1u) & param(1)) {
        for (uint k = 0u; k < 4u; ++k) {
            uint place = base(1) + 8u * at + 2u * k, found = atomicCompSwap(excluded[place], EXCLUDED_NONE, a);
            if (found == EXCLUDED_NONE) atomicExchange(excluded[place + 1u], b);
            if (found == EXCLUDED_NONE || (found == a && atomicOr(excluded[place + 1u], 0u) == b)) return;
        }
    }
}
