// The curve of psvi_hilbert_place as a machine with 24 states. Each step takes an octant, from the largest on, and
// gives three bits of the place. A step is a load and five operations in place of twenty.
#ifndef PAIRSIEVE_HILBERT_STATES_H
#define PAIRSIEVE_HILBERT_STATES_H

#include "queries/tree_build.h"

#define PSVI_HILBERT_STATE_WORDS 48

// Byte 8 * state + octant (x in bit 2, z in bit 0): 8 * the next state + three bits of the place. Computed from
// psvi_hilbert_bits: a state stands for the pattern of the two levels below an octant. Stored in words, so that it is
// copied quickly.
#if defined(__CUDACC__)
__constant__
#else
static
#endif
    const uint32_t psvi_hilbert_states[PSVI_HILBERT_STATE_WORDS] = {
        0x021b1108u, 0x05342e27u, 0x56494738u, 0x0d0a145bu, 0x6e670130u, 0x150c1273u, 0x1a1d817eu, 0x038c504fu,
        0x22252b94u, 0x514e807fu, 0x2a232d9cu, 0x69a0061fu, 0x048b5748u, 0x35324639u, 0x4c6fab00u, 0x3d663a31u,
        0xb8538fb4u, 0x61423645u, 0x4a097b10u, 0x4d263c2fu, 0x0e555f84u, 0x21529043u, 0x60b9378eu, 0x0b5a745du,
        0xb0af6bbcu, 0x413e6265u, 0x16776da4u, 0x29986a63u, 0x403fb1aeu, 0x135c7275u, 0x7aa17d1eu, 0x4b68ac07u,
        0xa6851982u, 0xbf5488b3u, 0x1c8d0f5eu, 0x338a2091u, 0x24959b92u, 0xa7be1889u, 0x2c939d9au, 0x8778b6a9u,
        0x8679a5a2u, 0xb7a86cbbu, 0x7c17ad76u, 0x3b28aa99u, 0x588371b2u, 0x97449eb5u, 0x7059a3bau, 0x9f9664bdu,
};

// The upper 32 bits of the place of a cell of 2^11 a side with the upper `bits` of each axis: of 33 the lowest is left
// out. `states`: the words above, as bytes.
PSV_TREE_FN uint32_t psvi_states_place(const uint8_t *states, const uint32_t cell[3], uint32_t bits) {
    uint32_t octants = 0, place = 0; // of all levels but the first
    PSV_UNROLL
    for (int i = 0; i < 3; ++i) {
        uint32_t v = cell[i] & 0x3ffu;
        v = (v | v << 16) & 0x030000ffu;
        v = (v | v << 8) & 0x0300f00fu;
        v = (v | v << 4) & 0x030c30c3u;
        v = (v | v << 2) & 0x09249249u;
        octants |= v << (2 - i);
    }
    const uint32_t first = states[cell[0] >> 10 << 2 | cell[1] >> 10 << 1 | cell[2] >> 10];
    uint32_t state = first;
    PSV_UNROLL
    for (int shift = 27; shift >= 0; shift -= 3) {
        state = states[(state & 0xf8u) | (octants >> shift & 7u)];
        place = place << 3 | (state & 7u);
    }
    const uint32_t left_out = bits >= 11 ? 1 : 3 * (11 - bits);
    return (first & 7u) << (30 - left_out) | place >> left_out;
}

#endif
