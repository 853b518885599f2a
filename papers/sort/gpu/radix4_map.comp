// Algorithm 4 of Ha, Krueger, Silva 2009: a group writes the clusters of its tile one after the other. Each is written
// from the aligned place below its first one on, so that the threads of a subgroup write whole aligned segments.
// SCATTERED: what the paper improves on, equation (1): each element of a tile that was not shuffled goes to its digit's
// place plus its rank. Input: the table after its scan, totals. One barrier; reads and writes keys and values once.
// variants: KEY_WORDS=1,2 SCATTERED=0 VALUE_WORDS=0,1,2 KEYS_OUT=1
// variants: KEY_WORDS=1,2 SCATTERED=0 VALUE_WORDS=1 KEYS_OUT=0
// variants: KEY_WORDS=1,2 SCATTERED=1 VALUE_WORDS=0,1,2 KEYS_OUT=1 IMPLICIT=0
// variants: KEY_WORDS=1,2 SCATTERED=1 VALUE_WORDS=1 KEYS_OUT=0 IMPLICIT=0
// variants: KEY_WORDS=1,2 SCATTERED=1 VALUE_WORDS=1 KEYS_OUT=0,1 IMPLICIT=1
// PLACED: the ranks are positions already (radix4_places.comp).
// constants: RADIX FLOAT PLACED
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
#include "radix4_tile.glsl"
#if SCATTERED
layout(std430, binding = 4) readonly buffer rank_block { uint ranks[]; };
#else
#define IMPLICIT 0
#endif
#if KEYS_OUT
layout(std430, binding = 5) writeonly buffer key_out_block { uint keys_out[]; };
#endif
#if VALUE_WORDS > 0
#if !IMPLICIT
layout(std430, binding = 6) readonly buffer value_block { uint values[]; };
#endif
layout(std430, binding = 7) writeonly buffer value_out_block { uint values_out[]; };
#endif
shared uint place[8], size[8]; // of the tile's elements of a digit

void move(uint from, uint to) {
#if KEYS_OUT
    KEY key = LOAD_KEY(keys, base(3), from);
    STORE_KEY(keys_out, base(5), to, key);
#endif
#if VALUE_WORDS > 0
#if IMPLICIT
    values_out[base(7) + to] = from;
#else
    for (uint w = 0u; w < VALUE_WORDS; ++w)
        values_out[base(7) + VALUE_WORDS * to + w] = values[base(6) + VALUE_WORDS * from + w];
#endif
#endif
}

void main() {
    uint thread = gl_LocalInvocationID.x, block = group_number(), count = state[base(0) + COUNT];
    if (state[base(0) + UNSORTED] == 0u || block > (count - 1u) / TILE) return;
    uint first = block * TILE, last = (count - 1u) / TILE;
    if (thread < RADIX) {
        uint entry = base(1) + thread * ROW + block, own = table[entry], before = 0u;
        for (uint d = 0u; d < thread; ++d)
            before += totals[base(2) + d];
        place[thread] = own + before;
        size[thread] = (block < last ? table[entry + 1u] : totals[base(2) + thread]) - own;
    }
    barrier();
#if SCATTERED
    uint end = min(first + TILE, count);
    for (uint i = first + thread; i < end; i += 256u)
        move(i, ranks[base(4) + i] + (PLACED != 0 ? 0u : place[digit_of(LOAD_KEY(keys, base(3), i), SHIFT, MASK)]));
#else
    for (uint d = 0u; d < RADIX; ++d) {
        uint slack = place[d] % 32u;
        for (uint i = thread; i < size[d] + slack; i += 256u)
            if (i >= slack) move(first + i - slack, place[d] + i - slack);
        first += size[d];
    }
#endif
}
