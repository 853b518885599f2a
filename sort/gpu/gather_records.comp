// target[i] = source[index[i]] for records of any number of bytes at any byte. A thread makes one word of the target;
// bytes of it outside of records are unchanged. param 0: bytes a record, 1: all bytes, 2 and 3: bytes between the bound
// word and the first record, of the source and the target.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer source_block { uint source[]; };
layout(std430, binding = 1) buffer target_block { uint target[]; };
layout(std430, binding = 2) readonly buffer index_block { uint indices[]; };

uint source_byte(uint byte) {
    uint record = byte / param(0), at = indices[base(2) + record] * param(0) + byte % param(0) + param(2);
    return (source[base(0) + at / 4u] >> (8u * (at % 4u))) & 255u;
}

void main() {
    uint word = group_number() * 256u + gl_LocalInvocationID.x, skipped = param(3);
    if (word >= (param(1) + skipped + 3u) / 4u) return;
    if (((param(0) | param(2) | skipped) & 3u) == 0u) {
        uint words = param(0) / 4u;
        target[base(1) + word] = source[base(0) + indices[base(2) + word / words] * words + word % words];
        return;
    }
    uint made = target[base(1) + word];
    for (uint k = 0u; k < 4u; ++k) {
        uint byte = 4u * word + k - skipped; // huge before the first one
        if (byte >= param(1)) continue;
        made = (made & ~(255u << (8u * k))) | source_byte(byte) << (8u * k);
    }
    target[base(1) + word] = made;
}
