// Turns counts into places, as radix_scan.comp does, without shared memory: a thread a row. Param 2: rows.
layout(local_size_x = 8) in;
#include "radix_state.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
layout(std430, binding = 1) buffer table_block { uint table[]; };
layout(std430, binding = 2) buffer totals_block { uint totals[]; };

void main() {
    uint row = gl_GlobalInvocationID.x, count = state[base(0) + COUNT], column_items = param(0), sum = 0u;
    if (state[base(0) + UNSORTED] == 0u || row >= param(2)) return;
    uint columns = count / column_items + uint(count % column_items != 0u), first = base(1) + row * param(1);
    for (uint i = 0u; i < columns; ++i) {
        uint entry = table[first + i];
        table[first + i] = sum;
        sum += entry;
    }
    totals[base(2) + row] = sum;
}
