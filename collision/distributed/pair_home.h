// The rank that a pair of ids belongs to, as long as the group lasts, for C and CUDA.
#ifndef PAIRSIEVE_PAIR_HOME_H
#define PAIRSIEVE_PAIR_HOME_H

#include "regions.h"

PSVI_HD uint32_t psvi_pair_home(psv_pair pair, uint32_t size) {
    uint64_t hash = ((uint64_t)pair.a << 32 | pair.b) * 0x9E3779B97F4A7C15ull;
    hash = (hash ^ hash >> 32) * 0xBF58476D1CE4E5B9ull;
    return (uint32_t)((hash >> 32) * size >> 32);
}

#endif
