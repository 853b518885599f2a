// Counts, tile by tile and in both directions, the pairs that the other list lacks, and writes the state that the scan
// of the counts reads. One group a tile.
layout(local_size_x = 256) in;
#include "diff_pairs.glsl"
layout(std430, binding = 4) writeonly buffer state_block { uint state[]; };
layout(std430, binding = 5) writeonly buffer table_block { uint table[]; };
shared uint found;

void main() {
    bool end = group_number() >= param(0);
    uint tile = group_number() - (end ? param(0) : 0u), i = tile * 256u + gl_LocalInvocationID.x;
    if (tile >= param(0)) return; // the whole group
    if (gl_LocalInvocationID.x == 0u) {
        found = 0u;
        if (group_number() == 0u) {
            state[base(4)] = 1u; // there is work
            state[base(4) + 1u] = param(0) * 256u;
        }
    }
    barrier();
    if (i < count_of(end) && is_alone(end, i)) atomicAdd(found, 1u);
    barrier();
    if (gl_LocalInvocationID.x == 0u) table[base(5) + (end ? param(0) : 0u) + tile] = found;
}
