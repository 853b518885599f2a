// Fills words. One thread a word.
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer word_block { uint words[]; };

void main() {
    uint i = group_number() * 256u + gl_LocalInvocationID.x;
    if (i < param(0)) words[base(0) + i] = param(1);
}
