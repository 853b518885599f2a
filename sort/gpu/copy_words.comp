// Copies words, or writes the numbers of elements. Defines: NUMBERS; GUARD 0: all of them, 1: as many elements as a
// sort's state says, 2: these only when the sort found them in order, 3: as many as a count of 64 bits says. param 0:
// words, 1: words an element, 2: number of the first element.
// variants: NUMBERS=0,1 GUARD=0,1,2,3
layout(local_size_x = 256) in;
#include "radix_state.glsl"
#if GUARD
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
#endif
layout(std430, binding = 1) readonly buffer from_block { uint from[]; };
layout(std430, binding = 2) writeonly buffer to_block { uint to[]; };

void main() {
    uint i = group_number() * 256u + gl_LocalInvocationID.x;
    if (i >= param(0)) return;
    uint element = param(2) + i / param(1);
#if GUARD == 3
    if (state[base(0) + 1u] == 0u && element >= state[base(0)]) return;
#elif GUARD
    if (element >= state[base(0) + COUNT]) return;
#endif
#if GUARD == 2
    if (state[base(0) + UNSORTED] != 0u) return;
#endif
#if NUMBERS
    to[base(2) + i] = param(2) + i;
#else
    to[base(2) + i] = from[base(1) + i];
#endif
}
