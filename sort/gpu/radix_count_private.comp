// Digit counts, as radix_count_serial.comp makes them, on a processor. Defines: FIRST: the first pass also looks whether
// the keys are in order already. Reads the keys once, writes 256 counts a run.
// variants: KEY_WORDS=1,2 FIRST=0,1
#include "radix_private.glsl"
layout(std430, binding = 4) readonly buffer next_block { uint next_part[]; }; // begins with the key after the part
#if FIRST
KEY before;
bool descent = false;
#endif

void count_key(KEY key) {
    counters[digit_of(key, SHIFT, MASK)]++;
#if FIRST
    descent = descent || comes_after(field_of(before), field_of(key));
    before = key;
#endif
}

void main() {
    uint column, first, items, i = 0u;
#if !FIRST
    if (state[base(0) + UNSORTED] == 0u) return;
#endif
    if (!find_run(column, first, items)) return;
    for (uint d = 0u; d < 256u; ++d)
        counters[d] = 0u;
#if FIRST
    before = LOAD_KEY(keys, base(3), first);
#endif
#if KEY_WORDS == 1
    if (base(3) % 4u == 0u)
        for (; i + 4u <= items; i += 4u) {
            uvec4 four = key_fours[(base(3) + first + i) / 4u];
            count_key(four.x);
            count_key(four.y);
            count_key(four.z);
            count_key(four.w);
        }
#endif
    for (; i < items; ++i)
        count_key(LOAD_KEY(keys, base(3), first + i));
#if FIRST
    if (column * RUN + items < state[base(0) + COUNT]) {
        KEY after;
        if (first + items < param(11)) // elements of this part
            after = LOAD_KEY(keys, base(3), first + items);
        else
            after = LOAD_KEY(next_part, base(4), 0u);
        descent = descent || comes_after(field_of(before), field_of(after));
    }
    if (descent) state[base(0) + UNSORTED] = 1u;
#endif
    for (uint d = 0u; d < 256u; ++d)
        table[base(1) + d * ROW + column] = counters[d];
}
