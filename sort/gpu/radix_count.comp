#pragma optionNV(unroll all) // NVIDIA: arrays stay in registers; other compilers ignore it
// Digit counts of one tile a group, by atomics in shared memory. Defines: THREADS, ITEMS (a thread), TILE; FIRST: the
// first pass also looks whether the keys are in order already. Two barriers; reads the keys once, writes 256 counts a
// tile.
// variants: KEY_WORDS=1,2 FIRST=0,1
// constants: THREADS ITEMS TILE FLOAT
layout(local_size_x = THREADS) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
layout(std430, binding = 4) readonly buffer next_block { uint next_part[]; }; // begins with the key after the part
shared uint counters[256];
#if FIRST
shared bool look;
#endif

void main() {
    uint thread = gl_LocalInvocationID.x, count = state[base(0) + COUNT], tile = TILE_FIRST + group_number();
#if !FIRST
    if (state[base(0) + UNSORTED] == 0u) return;
#endif
    if (tile > (count - 1u) / TILE || count == 0u) return; // the whole group
    uint first = tile * TILE - PART_FIRST, items = min(TILE, count - tile * TILE);
    KEY key[ITEMS]; // asked for together
    for (uint k = 0u; k < ITEMS; ++k)
        if (k * THREADS + thread < items) key[k] = LOAD_KEY(keys, base(3), first + k * THREADS + thread);
    for (uint d = thread; d < 256u; d += THREADS)
        counters[d] = 0u;
#if FIRST
    // One descent is enough: groups that begin after it was found do not look.
    if (thread == 0u) look = atomicOr(state[base(0) + UNSORTED], 0u) == 0u;
#endif
    barrier();
    bool descent = false;
    for (uint k = 0u; k < ITEMS; ++k) {
        uint i = k * THREADS + thread;
        if (i >= items) break;
        atomicAdd(counters[digit_of(key[k], SHIFT, MASK)], 1u);
#if FIRST
        if (look && tile * TILE + i + 1u < count) {
            KEY after;
            if (first + i + 1u < param(11)) // elements of this part
                after = LOAD_KEY(keys, base(3), first + i + 1u);
            else
                after = LOAD_KEY(next_part, base(4), 0u);
            descent = descent || comes_after(field_of(key[k]), field_of(after));
        }
#endif
    }
#if FIRST
    if (descent) state[base(0) + UNSORTED] = 1u;
#endif
    barrier();
    for (uint d = thread; d < 256u; d += THREADS)
        table[base(1) + d * ROW + tile] = counters[d];
}
