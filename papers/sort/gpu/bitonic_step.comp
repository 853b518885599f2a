// One step of the network over all elements: param 5: the merge's length, 6: the step, 7: pairs.
// variants: KEY_WORDS=1,2
// constants: FLOAT
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "element_order.glsl"

void main() {
    uint i = group_number() * 256u + gl_LocalInvocationID.x;
    if (i >= param(7)) return;
    uint a = 2u * i - (i & (param(6) - 1u)), b = a + param(6);
    bool up = (a & param(5)) == 0u;
    KEY a_field = LOAD_KEY(fields, base(1), a), b_field = LOAD_KEY(fields, base(1), b);
    uint a_index = indices[base(2) + a], b_index = indices[base(2) + b];
    if (element_after(a_field, a_index, b_field, b_index) != up) return;
    STORE_KEY(fields, base(1), a, b_field);
    STORE_KEY(fields, base(1), b, a_field);
    indices[base(2) + a] = b_index;
    indices[base(2) + b] = a_index;
}
