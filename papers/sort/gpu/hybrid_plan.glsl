// What `hybrid` knows of its sublists, in one block. Define PLAN_ACCESS. param 5: sublists. An edge has the words of a
// key, and room for two. Sublist b has the fields from edge b to below edge b + 1; its slots begin at a multiple of four.
#define SUBLISTS param(5)
#define LOW 0u          // words: least field
#define HIGH 2u         // greatest field
#define EVEN 4u         // 1: the sublists are even enough, the pivots stay
#define MERGE_PASSES 5u // that the longest sublist needs
#define RANGES 8u       // least and greatest field, two words each, of the groups of hybrid_range.comp
#define RANGE_GROUPS 256u
#define EDGES(which) (RANGES + 4u * RANGE_GROUPS + (which) * 2u * (SUBLISTS + 1u))
#define SIZES EDGES(2u)                 // elements of each sublist
#define STARTS (SIZES + SUBLISTS)       // first slot of each sublist, and behind the last one
#define RANKS (STARTS + SUBLISTS + 1u)  // place of each sublist in the result, and the count
layout(std430, binding = 6) PLAN_ACCESS buffer plan_block { uint plan[]; };

#if KEY_WORDS == 1
uint key_sum(uint a, uint b) { return a + b; }
uint key_difference(uint a, uint b) { return a - b; }
float key_float(uint a) { return float(a); }

// width * share / 2^32
uint key_part(uint width, uint share) {
    uint high, low;
    umulExtended(width, share, high, low);
    return high;
}
#else
uvec2 key_sum(uvec2 a, uvec2 b) {
    uint carry, low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 key_difference(uvec2 a, uvec2 b) {
    uint borrow, low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

float key_float(uvec2 a) { return float(a.y) * 4294967296.0 + float(a.x); }

uvec2 key_part(uvec2 width, uint share) {
    uint high, low, above, ignored, carry;
    umulExtended(width.x, share, low, ignored);
    umulExtended(width.y, share, high, above);
    low = uaddCarry(low, above, carry);
    return uvec2(low, high + carry);
}
#endif

// Last of the sublists whose word from `at` on is not above x; the first one's is not.
uint last_not_above(uint at, uint x) {
    uint low = 0u, high = SUBLISTS;
    while (high - low > 1u) {
        uint middle = (low + high) / 2u;
        if (plan[base(6) + at + middle] <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}
