// Section 4.5 of Ha, Krueger, Silva 2009, before its merging of kernels: each element's rank in its tile becomes its
// position in the result, in memory. Input: keys, ranks, the table after its scan, totals. One barrier; reads keys and
// ranks once, writes the ranks.
// variants: KEY_WORDS=1,2
// constants: RADIX FLOAT
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
#include "radix4_tile.glsl"
layout(std430, binding = 4) buffer rank_block { uint ranks[]; };
shared uint place[8]; // of the tile's elements of a digit

void main() {
    uint thread = gl_LocalInvocationID.x, block = group_number(), count = state[base(0) + COUNT];
    if (state[base(0) + UNSORTED] == 0u || block > (count - 1u) / TILE) return;
    if (thread < RADIX) {
        uint before = 0u;
        for (uint d = 0u; d < thread; ++d)
            before += totals[base(2) + d];
        place[thread] = table[base(1) + thread * ROW + block] + before;
    }
    barrier();
    uint first = block * TILE, end = min(first + TILE, count);
    for (uint i = first + thread; i < end; i += 256u)
        ranks[base(4) + i] += place[digit_of(LOAD_KEY(keys, base(3), i), SHIFT, MASK)];
}
