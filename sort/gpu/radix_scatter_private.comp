// Moves elements to their places, as radix_scatter_serial.comp does, on a processor. Input: keys, values, the table's
// places, the digits' totals. Reads and writes every element once.
// variants: KEY_WORDS=1,2 VALUE_WORDS=0 IMPLICIT=0 KEYS_OUT=1
// variants: KEY_WORDS=1,2 VALUE_WORDS=1,2 IMPLICIT=0 KEYS_OUT=1
// variants: KEY_WORDS=1,2 VALUE_WORDS=1 IMPLICIT=0 KEYS_OUT=0
// variants: KEY_WORDS=1,2 VALUE_WORDS=1 IMPLICIT=1 KEYS_OUT=0,1
#include "radix_private.glsl"
#include "radix_target.glsl"
#if VALUE_WORDS == 1 && !IMPLICIT
layout(std430, binding = 6) readonly buffer value_fours_block { uvec4 value_fours[]; };
#endif

// Where the key goes, or a large number: not into this part.
uint place_of(KEY key) { return counters[digit_of(key, SHIFT, MASK)]++ - OUT_FIRST; }

void move_key(uint to, KEY key) {
#if KEYS_OUT
    if (to < OUT_COUNT) STORE_KEY(keys_out, base(5), to, key);
#endif
}

void move_value(uint to, uint value) {
#if VALUE_WORDS == 1
    if (to < OUT_COUNT) values_out[base(7) + to] = value;
#endif
}

void main() {
    uint column, first, items, i = 0u, before = 0u;
    if (state[base(0) + UNSORTED] == 0u) return;
    if (!find_run(column, first, items)) return;
    for (uint d = 0u; d < 256u; ++d) {
        counters[d] = table[base(1) + d * ROW + column] + before;
        before += totals[base(2) + d];
    }
#if KEY_WORDS == 1 && VALUE_WORDS <= 1
    bool fours = base(3) % 4u == 0u;
#if VALUE_WORDS == 1 && !IMPLICIT
    fours = fours && base(6) % 4u == 0u;
#endif
    if (fours)
        for (; i + 4u <= items; i += 4u) {
            uvec4 four = key_fours[(base(3) + first + i) / 4u];
            uvec4 to;
            to.x = place_of(four.x);
            to.y = place_of(four.y);
            to.z = place_of(four.z);
            to.w = place_of(four.w);
            move_key(to.x, four.x);
            move_key(to.y, four.y);
            move_key(to.z, four.z);
            move_key(to.w, four.w);
#if VALUE_WORDS == 1
#if IMPLICIT
            four = column * RUN + i + uvec4(0u, 1u, 2u, 3u);
#else
            four = value_fours[(base(6) + first + i) / 4u];
#endif
            move_value(to.x, four.x);
            move_value(to.y, four.y);
            move_value(to.z, four.z);
            move_value(to.w, four.w);
#endif
        }
#endif
    for (; i < items; ++i) {
        KEY key = LOAD_KEY(keys, base(3), first + i);
        uint to = place_of(key);
        move_key(to, key);
#if VALUE_WORDS > 0
#if IMPLICIT
        move_value(to, column * RUN + i);
#else
        if (to < OUT_COUNT)
            for (uint w = 0u; w < VALUE_WORDS; ++w)
                values_out[base(7) + VALUE_WORDS * to + w] = values[base(6) + VALUE_WORDS * (first + i) + w];
#endif
#endif
    }
}
