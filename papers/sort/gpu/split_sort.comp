// Dispatch 1 of García et al. 2014, section IV: 512 threads sort 512 keys by a 4-bit digit with four 1-bit splits in
// shared memory, and write the bucket sizes to a matrix. Chosen otherwise than there: the number of ones before a thread
// is a population count over words of votes, gathered by atomics, where the paper scans by warps that run in step; and
// the splits move a pair (digit, where the key is), so that keys and values move once. Reads and writes keys and values
// once; 14 barriers.
// variants: KEY_WORDS=1,2 VALUE_WORDS=0,1,2 IMPLICIT=0
// variants: KEY_WORDS=1,2 VALUE_WORDS=1 IMPLICIT=1
// constants: FLOAT
layout(local_size_x = 512) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
#if VALUE_WORDS > 0
#if !IMPLICIT
layout(std430, binding = 6) readonly buffer value_block { uint values[]; };
#endif
layout(std430, binding = 7) writeonly buffer value_out_block { uint values_out[]; };
#endif
layout(std430, binding = 5) writeonly buffer key_out_block { uint keys_out[]; };
shared uint votes[4][16];
shared uint carried_at[512];
shared uint bucket_first[17];

// Place of this thread's element after a stable split by `bit`: zeros first. One barrier.
uint split_place(uint round, bool bit) {
    uint thread = gl_LocalInvocationID.x, word = thread / 32u, ones = 0u, before = 0u;
    if (bit) atomicOr(votes[round][word], 1u << (thread % 32u));
    barrier();
    for (uint w = 0u; w < 16u; ++w) {
        uint here = uint(bitCount(votes[round][w]));
        before += w < word ? here : 0u;
        ones += here;
    }
    before += uint(bitCount(votes[round][word] & ((1u << (thread % 32u)) - 1u)));
    return bit ? 512u - ones + before : thread - before;
}

void main() {
    uint thread = gl_LocalInvocationID.x, block = group_number(), count = state[base(0) + COUNT];
    if (state[base(0) + UNSORTED] == 0u || block > (count - 1u) / 512u) return;
    uint first = block * 512u, valid = min(512u, count - first);
    uint digit = 15u; // threads past the count stay last
    if (thread < valid) digit = digit_of(LOAD_KEY(keys, base(3), first + thread), SHIFT, MASK);
    if (thread < 64u) votes[thread / 16u][thread % 16u] = 0u;
    if (thread < 17u) bucket_first[thread] = valid;
    barrier();
    uint carried = digit * 512u + thread;
    for (uint b = 0u; b < 4u; ++b) {
        uint place = split_place(b, ((carried >> (9u + b)) & 1u) != 0u);
        carried_at[place] = carried;
        barrier();
        carried = carried_at[thread];
        barrier();
    }
    digit = carried / 512u;
    uint from = first + carried % 512u;
    if (thread < valid) {
        KEY key = LOAD_KEY(keys, base(3), from);
        STORE_KEY(keys_out, base(5), first + thread, key);
#if VALUE_WORDS > 0
#if IMPLICIT
        values_out[base(7) + first + thread] = from;
#else
        for (uint w = 0u; w < VALUE_WORDS; ++w)
            values_out[base(7) + VALUE_WORDS * (first + thread) + w] = values[base(6) + VALUE_WORDS * from + w];
#endif
#endif
        // The first element of a bucket marks its start and that of the empty ones before it.
        uint previous = thread == 0u ? 0u : carried_at[thread - 1u] / 512u + 1u;
        for (uint d = previous; d <= digit; ++d)
            bucket_first[d] = thread;
    }
    barrier();
    if (thread < 16u) table[base(1) + thread * ROW + block] = bucket_first[thread + 1u] - bucket_first[thread];
}
