// Algorithm 2 of Ha, Krueger, Silva 2009: a group counts the digits of its tile of 1,024 elements, four a thread, all
// digits at once, and writes the tile shuffled into clusters of equal digits, in order within each. The counts go to the
// table. The 4-way prefix sum is an up-sweep and a down-sweep in shared memory (Algorithms 5 and 6). SCATTERED: the tile
// stays, and each element's rank among its digit is written. Reads keys twice and values once; 20 barriers.
// variants: KEY_WORDS=1,2 SCATTERED=0 VALUE_WORDS=0,1,2 IMPLICIT=0
// variants: KEY_WORDS=1,2 SCATTERED=0 VALUE_WORDS=1 IMPLICIT=1
// variants: KEY_WORDS=1,2 SCATTERED=1
// constants: RADIX FLOAT
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
#include "radix4_tile.glsl"
layout(std430, binding = 5) writeonly buffer out_block { uint made[]; }; // keys, or ranks
#if !SCATTERED
#if VALUE_WORDS > 0
#if !IMPLICIT
layout(std430, binding = 6) readonly buffer value_block { uint values[]; };
#endif
layout(std430, binding = 7) writeonly buffer value_out_block { uint values_out[]; };
#endif
shared uint carried[TILE]; // by place: number within the tile
#endif
shared uvec4 sums[256];
shared uint digit_first[8];

// The counters of the threads before this one; `all`: of all threads.
uvec4 counters_before(uvec4 own, out uvec4 all) {
    uint thread = gl_LocalInvocationID.x;
    sums[thread] = own;
    for (uint step = 1u; step < 256u; step *= 2u) {
        barrier();
        if ((thread + 1u) % (2u * step) == 0u) sums[thread] += sums[thread - step];
    }
    barrier();
    all = sums[255];
    barrier();
    if (thread == 255u) sums[255] = uvec4(0u);
    for (uint step = 128u; step > 0u; step /= 2u) {
        barrier();
        if ((thread + 1u) % (2u * step) == 0u) {
            uvec4 left = sums[thread - step];
            sums[thread - step] = sums[thread];
            sums[thread] += left;
        }
    }
    barrier();
    return sums[thread];
}

void main() {
    uint thread = gl_LocalInvocationID.x, block = group_number(), count = state[base(0) + COUNT];
    if (state[base(0) + UNSORTED] == 0u || block > (count - 1u) / TILE) return;
    uint first = block * TILE, valid = min(TILE, count - first), digit[ITEMS];
    uvec4 own = uvec4(0u), all;
    for (uint k = 0u; k < ITEMS; ++k) {
        uint i = thread * ITEMS + k;
        if (i >= valid) break;
        digit[k] = digit_of(LOAD_KEY(keys, base(3), first + i), SHIFT, MASK);
        own += one_of(digit[k]);
    }
    uvec4 running = counters_before(own, all);
    if (thread < RADIX) {
        uint before = 0u;
        for (uint d = 0u; d < thread; ++d)
            before += COUNTER_OF(all, d);
        digit_first[thread] = before;
        table[base(1) + thread * ROW + block] = COUNTER_OF(all, thread);
    }
    barrier();
    for (uint k = 0u; k < ITEMS; ++k) {
        uint i = thread * ITEMS + k;
        if (i >= valid) break;
        uint rank = COUNTER_OF(running, digit[k]);
        running += one_of(digit[k]);
#if SCATTERED
        made[base(5) + first + i] = rank;
#else
        carried[digit_first[digit[k]] + rank] = i;
#endif
    }
#if !SCATTERED
    barrier();
    for (uint i = thread; i < valid; i += 256u) {
        uint from = first + carried[i];
        KEY key = LOAD_KEY(keys, base(3), from);
        STORE_KEY(made, base(5), first + i, key);
#if VALUE_WORDS > 0
#if IMPLICIT
        values_out[base(7) + first + i] = from;
#else
        for (uint w = 0u; w < VALUE_WORDS; ++w)
            values_out[base(7) + VALUE_WORDS * (first + i) + w] = values[base(6) + VALUE_WORDS * from + w];
#endif
#endif
    }
#endif
}
