// All pairs: the oracle of the other methods. A group tests 64 boxes, one a thread, against tiles of 64 later boxes
// in shared memory. It takes every `param(4)`-th tile, starting at its own number. Between two sets the later boxes are
// those of set b.
// variants: RULES=0,1
layout(local_size_x = 64) in;
#include "slots.glsl"
#include "pair_sink.glsl"
shared uint tile[64 * 7];

void main() {
    uint thread = gl_LocalInvocationID.x, splits = param(4), row = group_number() / splits;
    uint own_end = BETWEEN ? SET_B : SLOTS, slot = row * 64u + thread, tests = 0u;
    uvec3 low = uvec3(0u), high = uvec3(0u);
    uint tag = TAG_OUT;
    if (row * 64u >= own_end) return; // the whole group
    begin_pairs();
    if (slot < own_end) {
        uint at = base(0) + 8u * slot;
        low = uvec3(slots[at], slots[at + 1u], slots[at + 2u]);
        high = uvec3(slots[at + 3u], slots[at + 4u], slots[at + 5u]);
        tag = slots[at + 6u];
    }
    uint first = (BETWEEN ? SET_B : row * 64u) + (group_number() % splits) * 64u;
    for (; first < SLOTS; first += splits * 64u) {
        barrier();
        for (uint w = 0u; w < 7u; ++w)
            tile[thread * 7u + w] = first + thread < SLOTS ? slots[base(0) + 8u * (first + thread) + w] : TAG_OUT;
        barrier();
        if ((tag & TAG_OUT) != 0u) continue;
        for (uint k = 0u; k < 64u; ++k) {
            uint t = 7u * k;
            if ((tile[t + 6u] & TAG_OUT) != 0u || first + k <= slot) continue;
            ++tests;
            if (!overlap(low, high, uvec3(tile[t], tile[t + 1u], tile[t + 2u]),
                         uvec3(tile[t + 3u], tile[t + 4u], tile[t + 5u])))
                continue;
            if (may_pair(slot, tag, first + k, tile[t + 6u])) emit(slot, first + k);
        }
    }
    end_pairs(tests);
}
