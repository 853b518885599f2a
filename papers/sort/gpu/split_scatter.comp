// Dispatch 3 of García et al. 2014: every key of a sorted block goes to its bucket's place plus its place in the block's
// bucket. Input: sorted blocks, the bucket matrix after its prefix sum, the buckets' totals. Two barriers; reads and
// writes keys and values once.
// variants: KEY_WORDS=1,2 VALUE_WORDS=0,1,2 KEYS_OUT=1
// variants: KEY_WORDS=1,2 VALUE_WORDS=1 KEYS_OUT=0
// constants: FLOAT
layout(local_size_x = 512) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
#if KEYS_OUT
layout(std430, binding = 5) writeonly buffer key_out_block { uint keys_out[]; };
#endif
#if VALUE_WORDS > 0
layout(std430, binding = 6) readonly buffer value_block { uint values[]; };
layout(std430, binding = 7) writeonly buffer value_out_block { uint values_out[]; };
#endif
shared uint digits[512];
shared uint bucket_shift[16];

void main() {
    uint thread = gl_LocalInvocationID.x, block = group_number(), count = state[base(0) + COUNT];
    if (state[base(0) + UNSORTED] == 0u || block > (count - 1u) / 512u) return;
    uint i = block * 512u + thread, digit = 15u;
    KEY key = LAST_KEY;
    if (i < count) {
        key = LOAD_KEY(keys, base(3), i);
        digit = digit_of(key, SHIFT, MASK);
    }
    digits[thread] = digit;
    barrier();
    if (i < count && (thread == 0u || digits[thread - 1u] != digit)) {
        uint before = 0u;
        for (uint d = 0u; d < digit; ++d)
            before += totals[base(2) + d];
        bucket_shift[digit] = table[base(1) + digit * ROW + block] + before - thread;
    }
    barrier();
    if (i >= count) return;
    uint to = bucket_shift[digit] + thread;
#if KEYS_OUT
    STORE_KEY(keys_out, base(5), to, key);
#endif
#if VALUE_WORDS > 0
    for (uint w = 0u; w < VALUE_WORDS; ++w)
        values_out[base(7) + VALUE_WORDS * to + w] = values[base(6) + VALUE_WORDS * i + w];
#endif
}
