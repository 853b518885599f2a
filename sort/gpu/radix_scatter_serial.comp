// Moves elements to their places, by threads that share nothing: each takes the run that it counted, in order, so that
// the pass is stable. Input: keys, values, the table's places, the digits' totals. Reads and writes every element once.
// variants: KEY_WORDS=1,2 VALUE_WORDS=0 IMPLICIT=0 KEYS_OUT=1
// variants: KEY_WORDS=1,2 VALUE_WORDS=1,2 IMPLICIT=0 KEYS_OUT=1
// variants: KEY_WORDS=1,2 VALUE_WORDS=1 IMPLICIT=0 KEYS_OUT=0
// variants: KEY_WORDS=1,2 VALUE_WORDS=1 IMPLICIT=1 KEYS_OUT=0,1
// constants: FLOAT
layout(local_size_x = 32) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
#include "radix_target.glsl"
#define RUN param(10)
shared uint counters[256 * 32];

void main() {
    uint lane = gl_LocalInvocationID.x, count = state[base(0) + COUNT];
    if (state[base(0) + UNSORTED] == 0u) return;
    uint column = (TILE_FIRST + group_number()) * 32u + lane;
    if (column * RUN >= count || (column != 0u && (column * RUN) / column != RUN)) return;
    uint first = column * RUN - PART_FIRST, items = min(RUN, count - column * RUN), before = 0u;
    for (uint d = 0u; d < 256u; ++d) {
        counters[d * 32u + lane] = table[base(1) + d * ROW + column] + before;
        before += totals[base(2) + d];
    }
    for (uint i = 0u; i < items; ++i) {
        KEY key = LOAD_KEY(keys, base(3), first + i);
        uint to = counters[digit_of(key, SHIFT, MASK) * 32u + lane]++ - OUT_FIRST;
        if (to >= OUT_COUNT) continue;
#if KEYS_OUT
        STORE_KEY(keys_out, base(5), to, key);
#endif
#if VALUE_WORDS > 0
#if IMPLICIT
        values_out[base(7) + to] = column * RUN + i;
#else
        for (uint w = 0u; w < VALUE_WORDS; ++w)
            values_out[base(7) + VALUE_WORDS * to + w] = values[base(6) + VALUE_WORDS * (first + i) + w];
#endif
#endif
    }
}
