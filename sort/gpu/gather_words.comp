// to[i] = from[index[i]] for elements of param(0) words, as many as the state says.
layout(local_size_x = 256) in;
#include "radix_state.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
layout(std430, binding = 1) readonly buffer from_block { uint from[]; };
layout(std430, binding = 2) writeonly buffer to_block { uint to[]; };
layout(std430, binding = 3) readonly buffer index_block { uint indices[]; };

void main() {
    uint i = group_number() * 256u + gl_LocalInvocationID.x;
    if (i >= state[base(0) + COUNT]) return;
    uint at = indices[base(3) + i], words = param(0);
    for (uint w = 0u; w < words; ++w)
        to[base(2) + words * i + w] = from[base(1) + words * at + w];
}
