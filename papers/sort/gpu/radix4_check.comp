// Algorithm 3 of Ha, Krueger, Silva, «Fast 4-way parallel radix sorting on GPUs», 2009: a pass whose keys are in order
// does nothing, nor do those after it. Two words a pass say so: whether its keys are not in order, and how many there
// are. Of the paper's sum of descents only «more than none» is wanted. A group looks at 1,024 keys; with QUICK it leaves
// when a descent was found, so that its first groups are the paper's quick check. One barrier; reads the keys once.
// param 5: pass, 6: how. SETTLE, once behind the passes: two entries more, 0 where the result lies in the first or in
// the second of the arrays between which the passes go.
// variants: KEY_WORDS=1,2
// constants: FLOAT
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "radix_state.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
layout(std430, binding = 1) buffer pass_block { uint passes[]; };
layout(std430, binding = 3) readonly buffer key_block { uint keys[]; };
#define UNCHECKED 0u
#define QUICK 2u
#define SETTLE 3u
shared bool look;

void settle(uint count) {
    uint number = param(5), first = 1u, at = base(1) + 2u * number;
    while (first < number && passes[base(1) + 2u * first] != 0u)
        ++first;
    bool early = first < number && passes[base(1)] != 0u; // pass `first` was the first to do nothing
    passes[at] = early && first % 2u == 1u ? 0u : 1u;
    passes[at + 2u] = early && first % 2u == 0u ? 0u : 1u;
    passes[at + 1u] = passes[at + 3u] = count;
}

void main() {
    uint thread = gl_LocalInvocationID.x, group = group_number(), how = param(6), count = state[base(0) + COUNT];
    uint at = base(1) + 2u * param(5);
    bool one = thread == 0u && group == 0u;
    if (how == SETTLE) {
        if (one) settle(count);
        return;
    }
    if (one) passes[at + 1u] = count;
    if (state[base(0) + UNSORTED] == 0u || (param(5) > 0u && passes[at - 2u] == 0u)) return;
    if (how == UNCHECKED) {
        if (one) passes[at] = 1u;
        return;
    }
    if (thread == 0u) look = how != QUICK || atomicOr(passes[at], 0u) == 0u;
    barrier();
    if (!look) return;
    bool descent = false;
    for (uint k = 0u; k < 4u; ++k) {
        uint i = group * 1024u + k * 256u + thread;
        if (i < count && i + 1u < count)
            descent = descent || comes_after(field_of(LOAD_KEY(keys, base(3), i)), field_of(LOAD_KEY(keys, base(3), i + 1u)));
    }
    if (descent) passes[at] = 1u;
}
