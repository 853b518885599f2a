// Fields and numbers of the elements, and behind them what sorts after all. param 5: slots.
// variants: KEY_WORDS=1,2
// constants: FLOAT
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "radix_state.glsl"
#include "bitonic_order.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
layout(std430, binding = 3) readonly buffer key_block { uint keys[]; };

void main() {
    uint i = group_number() * 256u + gl_LocalInvocationID.x;
    if (i >= param(5)) return;
    KEY field = LAST_KEY;
    if (i < state[base(0) + COUNT]) {
        KEY key = LOAD_KEY(keys, base(3), i);
        field = field_of(key);
    }
    STORE_KEY(fields, base(1), i, field);
    indices[base(2) + i] = i;
}
