// The partners of a box: names of the boxes with which it is excluded, in 16 bytes, so that one load serves all of its
// pairs. Six names of 21 bits, three in each word from its lowest bit on, followed by PSVI_NO_PARTNER. A box with more
// partners has bit 63 of the first word cleared, and the table of pair_rules.h decides. Memory filled with ones means
// boxes without partners.
#ifndef PAIRSIEVE_PAIR_PARTNERS_H
#define PAIRSIEVE_PAIR_PARTNERS_H

#include "broad_phase.h"

#define PSVI_PARTNERS 6
#define PSVI_PARTNER_BITS 21
#define PSVI_NO_PARTNER ((1u << PSVI_PARTNER_BITS) - 1)
#define PSVI_PARTNER_BOXES PSVI_NO_PARTNER // most boxes of a finder whose boxes have such lists
#define PSVI_ALL_PARTNERS ((uint64_t)1 << 63)

#if defined(__CUDACC__)
typedef struct __align__(16) psvi_partners
#else
typedef struct psvi_partners
#endif
{
    uint64_t words[2];
}
psvi_partners;

static inline bool psvi_lists_partners(const psv_pair_finder_def *def) {
    return def->max_excluded > 0 && def->max_boxes <= PSVI_PARTNER_BOXES;
}

#endif
