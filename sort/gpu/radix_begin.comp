// Begins a sort. Input: the count, given or in a block. Output: the state, and for each part of the elements the numbers
// of groups that take them. One thread.
layout(local_size_x = 1) in;
#include "radix_state.glsl"
layout(std430, binding = 0) buffer state_block { uint state[]; };
layout(std430, binding = 1) readonly buffer count_block { uint given[]; };

void main() {
    uint most = param(0), tile = param(2), tiles_a_part = param(3), parts = param(4);
    uint count = most;
    if (param(1) != 0u && given[base(1) + 1u] == 0u) count = min(most, given[base(1)]);
    state[base(0) + UNSORTED] = count < 2u ? 0u : param(5); // 1: the order is not checked
    state[base(0) + COUNT] = count;
    uint tiles = count / tile + uint(count % tile != 0u);
    for (uint p = 0u; p < parts; ++p) {
        uint first = p * tiles_a_part, groups = tiles <= first ? 0u : min(tiles - first, tiles_a_part);
        uint rows = (groups + 65534u) / 65535u;
        state[base(0) + 2u + 3u * p] = rows <= 1u ? groups : (groups + rows - 1u) / rows;
        state[base(0) + 3u + 3u * p] = max(rows, 1u);
        state[base(0) + 4u + 3u * p] = 1u;
    }
}
