// Digit counts, by threads that share nothing. Each of 32 threads counts a run of elements in a column of shared memory
// of its own, so that neither votes nor atomics nor barriers are needed. Defines: FIRST: the first pass also looks
// whether the keys are in order already. Reads the keys once, writes 256 counts a run.
// variants: KEY_WORDS=1,2 FIRST=0,1
// constants: FLOAT
layout(local_size_x = 32) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
#define RUN param(10)
layout(std430, binding = 4) readonly buffer next_block { uint next_part[]; }; // begins with the key after the part
shared uint counters[256 * 32];

void main() {
    uint lane = gl_LocalInvocationID.x, count = state[base(0) + COUNT];
#if !FIRST
    if (state[base(0) + UNSORTED] == 0u) return;
#endif
    uint column = (TILE_FIRST + group_number()) * 32u + lane;
    if (column * RUN >= count || (column != 0u && (column * RUN) / column != RUN)) return;
    uint first = column * RUN - PART_FIRST, items = min(RUN, count - column * RUN);
    for (uint d = 0u; d < 256u; ++d)
        counters[d * 32u + lane] = 0u;
#if FIRST
    bool descent = false;
    KEY before = LOAD_KEY(keys, base(3), first);
    for (uint i = 0u; i < items; ++i) {
        KEY key = LOAD_KEY(keys, base(3), first + i);
        counters[digit_of(key, SHIFT, MASK) * 32u + lane]++;
        descent = descent || comes_after(field_of(before), field_of(key));
        before = key;
    }
    if (column * RUN + items < count) {
        bool here = first + items < param(11); // elements of this part
        KEY after;
        if (here)
            after = LOAD_KEY(keys, base(3), first + items);
        else
            after = LOAD_KEY(next_part, base(4), 0u);
        descent = descent || comes_after(field_of(before), field_of(after));
    }
    if (descent) state[base(0) + UNSORTED] = 1u;
#else
    for (uint i = 0u; i < items; ++i)
        counters[digit_of(LOAD_KEY(keys, base(3), first + i), SHIFT, MASK) * 32u + lane]++;
#endif
    for (uint d = 0u; d < 256u; ++d)
        table[base(1) + d * ROW + column] = counters[d * 32u + lane];
}
