// The check of a sort that streams: a sum over all pairs that does not depend on their order, and descents of keys.
#ifndef PAIRSIEVE_SORT_STREAM_CHECK_H
#define PAIRSIEVE_SORT_STREAM_CHECK_H

#include <stdint.h>

#include "../../core/host_device.h"

typedef struct psvi_pair_sums {
    uint64_t sum;      // of psvi_mix_pair
    uint64_t descents; // places where a key is less than the one before it
} psvi_pair_sums;

// The bits of a key and of its value as one number.
PSVI_HD uint64_t psvi_mix_pair(uint64_t key, uint64_t value) {
    uint64_t mixed = (key + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 29) ^ value) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 32);
}

#endif
