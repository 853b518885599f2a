// Counts descents and finds the first. A group compares 2,048 neighbours; one atomic a thread that saw a descent. param 5:
// neighbours, 6: number of the first key. The counters have 64 bits in two words; the result was 0 and all ones.
// variants: KEY_WORDS=1,2
// constants: FLOAT
layout(local_size_x = 256) in;
#include "key_order.glsl"
layout(std430, binding = 0) buffer result_block { uint result[]; };
layout(std430, binding = 1) readonly buffer key_block { uint keys[]; };

void main() {
    uint descents = 0u, first = 0xffffffffu;
    for (uint k = 0u; k < 8u; ++k) {
        uint i = (group_number() * 8u + k) * 256u + gl_LocalInvocationID.x;
        if (i >= param(5)) continue;
        KEY key = LOAD_KEY(keys, base(1), i), next = LOAD_KEY(keys, base(1), i + 1u);
        if (!comes_after(field_of(key), field_of(next))) continue;
        ++descents;
        first = min(first, param(6) + i);
    }
    if (descents == 0u) return;
    uint before = atomicAdd(result[base(0)], descents);
    if (before + descents < before) atomicAdd(result[base(0) + 1u], 1u);
    atomicMin(result[base(0) + 2u], first);
    result[base(0) + 3u] = 0u;
}
