// Fields and numbers of the elements, and behind them what sorts after all. param 5: slots, 6: 1 shuffles the elements.
// variants: KEY_WORDS=1,2
// constants: FLOAT
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "radix_state.glsl"
#include "element_order.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
layout(std430, binding = 3) readonly buffer key_block { uint keys[]; };

// One permutation of [0, 2^bits): multiplications by odd numbers and shifted xors can all be undone.
uint mixed(uint x, uint bits) {
    uint mask = (1u << bits) - 1u, shift = bits / 2u + 1u;
    x = (x * 0x9e3779b1u + 0x7f4a7c15u) & mask;
    x ^= x >> shift;
    x = (x * 0x85ebca6bu + 0x165667b1u) & mask;
    x ^= x >> shift;
    x = (x * 0xc2b2ae35u + 0x27d4eb2fu) & mask;
    return x ^ (x >> shift);
}

// The element of slot i: the permutation of the next power of two is walked until it is below the count.
uint shuffled(uint i, uint count) {
    uint bits = count <= 2u ? 1u : uint(findMSB(count - 1u)) + 1u, from = mixed(i, bits);
    while (from >= count)
        from = mixed(from, bits);
    return from;
}

void main() {
    uint i = group_number() * 256u + gl_LocalInvocationID.x, from = i, count = state[base(0) + COUNT];
    if (i >= param(5)) return;
    KEY field = LAST_KEY;
    if (i < count) {
        if (param(6) != 0u) from = shuffled(i, count);
        KEY key = LOAD_KEY(keys, base(3), from);
        field = field_of(key);
    }
    STORE_KEY(fields, base(1), i, field);
    indices[base(2) + i] = from;
}
