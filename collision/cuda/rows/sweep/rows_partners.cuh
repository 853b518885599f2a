// Excluded pairs in the uniform sweep, for frames that have no other rules: it looks at the partners of its own box
// before it collects a pair. Asking the rules about collected pairs, as the ruled sweeps do, costs registers, and a
// random read a pair in place of one a box. ROWS_ASKS_PARTNERS: the sweep is compiled for such frames.
#ifndef PAIRSIEVE_COLLISION_ROWS_PARTNERS_CUH
#define PAIRSIEVE_COLLISION_ROWS_PARTNERS_CUH

#include "../../../src/pair_partners.h"
#include "../../common.cuh"

#if !defined(ROWS_ASKS_PARTNERS)
#define ROWS_ASKS_PARTNERS 0
#endif

// A psvi_partners, loaded early, so that it is on its way together with what else tells whether there is a pair.
struct rows_partners {
#if ROWS_ASKS_PARTNERS
    uint4 words;
#endif
};

__device__ __forceinline__ rows_partners rows_load_partners([[maybe_unused]] const psvi_find_input &input,
                                                            [[maybe_unused]] uint32_t slot) {
    rows_partners found;
#if ROWS_ASKS_PARTNERS
    found.words = __ldg(reinterpret_cast<const uint4 *>(input.partners) + slot);
#endif
    return found;
}

#if ROWS_ASKS_PARTNERS
// Whether one of the three names of a word of 64 bits is `name`.
__device__ __forceinline__ bool rows_has_name(uint32_t low, uint32_t high, uint32_t name) {
    const uint32_t middle = __funnelshift_r(low, high, PSVI_PARTNER_BITS);
    return (((low ^ name) & PSVI_NO_PARTNER) == 0) | (((middle ^ name) & PSVI_NO_PARTNER) == 0) |
           (((high >> (2 * PSVI_PARTNER_BITS - 32) ^ name) & PSVI_NO_PARTNER) == 0);
}
#endif

// Whether the box in slot `own`, whose partners are given, is excluded with the one in slot `other`.
__device__ __forceinline__ bool rows_are_partners([[maybe_unused]] const psvi_find_input &input,
                                                  [[maybe_unused]] const rows_partners &partners,
                                                  [[maybe_unused]] uint32_t own, [[maybe_unused]] uint32_t other) {
    bool found = false;
#if ROWS_ASKS_PARTNERS
    const uint32_t first = input.first_name, name = first + other;
    const uint4 words = partners.words;
    found = rows_has_name(words.x, words.y, name) | rows_has_name(words.z, words.w, name);
    if (!found && (words.y & (uint32_t)(PSVI_ALL_PARTNERS >> 32)) == 0)
        found = psvi_is_in_table(input.rules->excluded, input.rules->last_bucket,
                                 psvi_pair_key(first + min(own, other), first + max(own, other)));
#endif
    return found;
}

#endif
