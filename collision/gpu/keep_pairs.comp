// This frame's pairs for the next one; nothing after an overflow. param 0: pairs that there is room for.
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer now_block { uint now_pairs[]; };
layout(std430, binding = 1) readonly buffer now_count_block { uint now_count[]; };
layout(std430, binding = 2) writeonly buffer before_block { uint before_pairs[]; };
layout(std430, binding = 3) writeonly buffer before_count_block { uint before_count[]; };

void main() {
    uint i = group_number() * 128u + gl_LocalInvocationID.x, count = now_count[base(1)];
    if (now_count[base(1) + 1u] != 0u || count > param(0)) return;
    if (i == 0u) {
        before_count[base(3)] = count;
        before_count[base(3) + 1u] = 0u;
    }
    if (i >= count) return;
    before_pairs[base(2) + 2u * i] = now_pairs[base(0) + 2u * i];
    before_pairs[base(2) + 2u * i + 1u] = now_pairs[base(0) + 2u * i + 1u];
}
