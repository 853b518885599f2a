// Memory of the sorters that work on staged requests (fields and indices, see request_staging.h): two pairs of arrays.
#ifndef PAIRSIEVE_SORT_STAGED_PAIRS_H
#define PAIRSIEVE_SORT_STAGED_PAIRS_H

#include "request_staging.h"

// fields[i] and index[i] lie next to each other, so that a pair of arrays that is not the result serves as the
// temporary memory of psvi_stage_finish: 8 bytes an element at least.
typedef struct psvi_staged_pairs {
    void *fields[2];
    uint32_t *index[2];
} psvi_staged_pairs;

static inline uint64_t psvi_staged_half(uint64_t slots, uint32_t key_bytes) {
    return psvi_align(slots * key_bytes) + psvi_align(slots * 4);
}

static inline uint64_t psvi_staged_bytes(uint64_t slots, uint32_t key_bytes) {
    return 2 * psvi_staged_half(slots, key_bytes);
}

static inline psvi_staged_pairs psvi_staged_pairs_at(void *scratch, uint64_t slots, uint32_t key_bytes) {
    char *half[2] = {(char *)scratch, (char *)scratch + psvi_staged_half(slots, key_bytes)};
    const uint64_t index = psvi_align(slots * key_bytes);
    psvi_staged_pairs pairs = {{half[0], half[1]}, {(uint32_t *)(half[0] + index), (uint32_t *)(half[1] + index)}};
    return pairs;
}

#endif
