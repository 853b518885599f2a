// Indices of pairs become ids. One thread a pair. param 0: pairs that there is room for, 1: 1 the first box has ids, 2
// the second, 4 between two sets: else the lower id comes first.
layout(local_size_x = 128) in;
layout(std430, binding = 0) buffer pair_block { uint pairs[]; };
layout(std430, binding = 1) readonly buffer count_block { uint count[]; };
layout(std430, binding = 2) readonly buffer a_block { uint a_ids[]; };
layout(std430, binding = 3) readonly buffer b_block { uint b_ids[]; };

void main() {
    uint i = group_number() * 128u + gl_LocalInvocationID.x, at = base(0) + 2u * i;
    uint there = count[base(1) + 1u] != 0u ? param(0) : min(count[base(1)], param(0));
    if (i >= there) return;
    uint a = pairs[at], b = pairs[at + 1u];
    if ((param(1) & 1u) != 0u) a = a_ids[base(2) + a];
    if ((param(1) & 2u) != 0u) b = b_ids[base(3) + b];
    bool turn = (param(1) & 4u) == 0u && b < a;
    pairs[at] = turn ? b : a;
    pairs[at + 1u] = turn ? a : b;
}
