// Least and greatest field of the elements that each of `param(6)` groups sweeps over. Input: fields. Output: ranges in
// the plan. Reads each field once.
// variants: KEY_WORDS=1,2
// constants: FLOAT
#define PLAN_ACCESS
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "radix_state.glsl"
#include "element_order.glsl"
#include "hybrid_plan.glsl"
#include "hybrid_range.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };

void main() {
    uint thread = gl_LocalInvocationID.x, group = group_number(), groups = param(6), count = state[base(0) + COUNT];
    if (group >= groups) return;
    KEY low = LAST_KEY, high = KEY(0u);
    for (uint i = group * 256u + thread; i < count; i += groups * 256u) {
        KEY field = LOAD_KEY(fields, base(1), i);
        if (comes_after(low, field)) low = field;
        if (comes_after(field, high)) high = field;
    }
    reduce_range(low, high);
    if (thread != 0u) return;
    STORE_KEY(plan, base(6) + RANGES, 2u * group, low);
    STORE_KEY(plan, base(6) + RANGES, 2u * group + 1u, high);
}
