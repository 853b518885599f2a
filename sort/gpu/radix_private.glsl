// The digit passes on a driver that runs shaders on the processor's cores. A thread counts in memory of its own: such a
// driver checks every access to a storage block or to shared memory, thread by thread, against the block's limits.
// Private arrays are not checked. Words that lie side by side are read four at a time for the same reason.
// Eight threads a group: one vector of a core, as nothing waits in it.
// constants: FLOAT
layout(local_size_x = 8) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
#define RUN param(10) // a multiple of 4
layout(std430, binding = 3) readonly buffer key_fours_block { uvec4 key_fours[]; };
uint counters[256];

// This thread's run of elements: its number, and where it begins in the part.
bool find_run(out uint column, out uint first, out uint items) {
    uint count = state[base(0) + COUNT];
    column = (TILE_FIRST + group_number()) * 8u + gl_LocalInvocationID.x;
    first = column * RUN - PART_FIRST;
    items = min(RUN, count - column * RUN);
    return column * RUN < count && (column == 0u || (column * RUN) / column == RUN);
}
