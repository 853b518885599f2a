// Moves the pairs that the other list lacks to their places, in order. One group a tile, in one direction.
layout(local_size_x = 256) in;
#include "diff_pairs.glsl"
layout(std430, binding = 4) readonly buffer totals_block { uint totals[]; };
layout(std430, binding = 5) readonly buffer table_block { uint table[]; };
layout(std430, binding = 6) writeonly buffer target_block { uint target[]; };
layout(std430, binding = 7) writeonly buffer target_count_block { uint target_count[]; };
shared uint kept[8];

void main() {
    bool end = param(2) != 0u;
    uint thread = gl_LocalInvocationID.x, tile = group_number(), i = tile * 256u + thread;
    if (tile >= param(0)) return; // the whole group
    if (tile == 0u && thread == 0u) {
        target_count[base(7)] = totals[base(4) + param(2)];
        target_count[base(7) + 1u] = 0u;
    }
    if (thread < 8u) kept[thread] = 0u;
    barrier();
    bool keep = i < count_of(end) && is_alone(end, i);
    if (keep) atomicOr(kept[thread / 32u], 1u << (thread % 32u));
    barrier();
    if (!keep) return;
    uint place = table[base(5) + param(2) * param(0) + tile];
    for (uint w = 0u; w < thread / 32u; ++w)
        place += uint(bitCount(kept[w]));
    place += uint(bitCount(kept[thread / 32u] & ((1u << (thread % 32u)) - 1u)));
    uvec2 pair = pair_at(end, i);
    target[base(6) + 2u * place] = pair.x;
    target[base(6) + 2u * place + 1u] = pair.y;
}
