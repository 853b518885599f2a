// Keys for tests and benchmarks of sorters: the same numbers for the same seed everywhere.
#ifndef SORT_INPUTS_H
#define SORT_INPUTS_H

#include <stdint.h>

#include "pairsieve/sort.h"

typedef enum key_distribution {
    KEYS_UNIFORM,   // all bit patterns of integers; floats uniform in [-1000, 1000)
    KEYS_GAUSSIAN,  // sum of uniform numbers: crowded in the middle
    KEYS_SORTED,    // ascending, with repetitions
    KEYS_REVERSED,  // descending, with repetitions
    KEYS_NEARLY,    // ascending but for places: every key within 32 places of its own
    KEYS_FEW,       // 16 distinct keys
    KEYS_CONSTANT,  // one key
    KEYS_ONE_DIGIT, // agree in all bytes but the second lowest: adversarial for ranking and for bucket splits
    KEYS_CLUSTERED, // half of them equal to the greatest key, the others in a narrow range
    KEYS_SPECIAL,   // floats: NaNs of both signs and many payloads, -0, infinities, denormals; integers: extremes
    KEYS_DISTRIBUTIONS,
    // Some order: what a frame leaves to the next, and what looks like it. Of interest to sorters that look for order.
    KEYS_MOVED = KEYS_DISTRIBUTIONS, // ascending, each moved by a few places
    KEYS_MOVED_FAR,                  // ascending, each moved by hundreds of places
    KEYS_REPLACED,                   // ascending in pairs, one in a hundred at random
    KEYS_MIXED,                      // moved by a few places, one in a hundred at random
    KEYS_HALVES,                     // two ascending halves
    KEYS_SAWTOOTH,                   // ascending by thousands
    KEYS_PILED,                      // ascending, every 97th is the middle one
    KEYS_STEPS,                      // 50 distinct keys, ascending but for places about the steps
    KEYS_SWAPPED,                    // ascending but for two blocks that are exchanged
    KEYS_FALLING,                    // descending, in runs of equal keys of many lengths
    KEYS_UPPER,                      // any bit patterns in the upper half, zeros in the lower
    // Kinds that users have, beside those above.
    KEYS_BLOB,   // Morton codes of points of a Gaussian blob, 10 bits an axis
    KEYS_ZIPF,   // the n-th most frequent of a million keys is n-th in order, and as frequent as 1 / n
    KEYS_HALF,   // half of them equal, the others uniform
    KEYS_VALUES, // 37 keys, each as frequent as another, anywhere in the range
    KEYS_FLOATS, // integers: the bits of floats in [0, 1000)
    KEYS_BITS,   // 12 bits in use, spread over the key
    KEYS_SPLATS, // tile and depth of Gaussian splats
    KEYS_END
} key_distribution;

const char *key_distribution_name(key_distribution distribution);

// SplitMix64: the next number of a sequence.
uint64_t next_random(uint64_t *state);

// Writes `count` keys of the type, of 8 to 64 bits.
void make_keys(psv_key_type type, key_distribution distribution, uint64_t seed, uint64_t count, void *keys);

#endif
