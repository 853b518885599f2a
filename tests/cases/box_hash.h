// One number for the bytes of boxes, by which tests tell that readers got the boxes that were published.
#ifndef PAIRSIEVE_TESTS_BOX_HASH_H
#define PAIRSIEVE_TESTS_BOX_HASH_H

#include <string.h>

#include <pairsieve/collision.h>

static inline uint64_t hash_of_boxes(const psv_aabb *boxes, uint64_t count) {
    uint64_t hash = count;
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t words[6];
        memcpy(words, &boxes[i], sizeof words);
        for (int w = 0; w < 6; ++w)
            hash = (hash ^ words[w]) * 0x100000001b3ull;
    }
    return hash;
}

#endif
