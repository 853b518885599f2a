// A tile of `radix4`, and the counters of its digits: 16 bits each, two a word. Defines: RADIX (2, 4 or 8 digits).
#define TILE 1024u
#define ITEMS 4u // a thread
#define COUNTER_OF(counters, digit) ((counters)[(digit) / 2u] >> (16u * ((digit) % 2u)) & 0xffffu)
uvec4 one_of(uint digit) {
    uvec4 one = uvec4(0u);
    one[digit / 2u] = 1u << (16u * (digit % 2u));
    return one;
}
