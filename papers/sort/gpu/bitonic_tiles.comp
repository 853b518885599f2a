// The steps of the network within tiles of 512 elements, in shared memory: for the merges of `param(5)` elements up to
// those of `param(6)`, the steps of at most 256. One group a tile.
// variants: KEY_WORDS=1,2
// constants: FLOAT
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "element_order.glsl"
shared KEY tile_fields[512];
shared uint tile_indices[512];

void main() {
    uint thread = gl_LocalInvocationID.x, first = group_number() * 512u;
    if (first >= param(7)) return;
    for (uint i = thread; i < 512u; i += 256u) {
        tile_fields[i] = LOAD_KEY(fields, base(1), first + i);
        tile_indices[i] = indices[base(2) + first + i];
    }
    barrier();
    for (uint merge = param(5); merge <= param(6); merge *= 2u) {
        for (uint step = min(merge / 2u, 256u); step > 0u; step /= 2u) {
            uint a = 2u * thread - (thread & (step - 1u)), b = a + step;
            bool up = ((first + a) & merge) == 0u;
            KEY a_field = tile_fields[a], b_field = tile_fields[b];
            uint a_index = tile_indices[a], b_index = tile_indices[b];
            if (element_after(a_field, a_index, b_field, b_index) == up) {
                tile_fields[a] = b_field, tile_fields[b] = a_field;
                tile_indices[a] = b_index, tile_indices[b] = a_index;
            }
            barrier();
        }
        if (merge == 0x80000000u) break;
    }
    for (uint i = thread; i < 512u; i += 256u) {
        KEY field = tile_fields[i];
        STORE_KEY(fields, base(1), first + i, field);
        indices[base(2) + first + i] = tile_indices[i];
    }
}
