// The element loops of radix_near.c behind one table for each element size. Keys are KEY(element) & mask throughout.
#ifndef PAIRSIEVE_RADIX_NEAR_KERNELS_H
#define PAIRSIEVE_RADIX_NEAR_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Elements that are looked at together.
#define NEAR_STEP 32u

// Elements of a chunk that belong to the bucket before, to the bucket after, and to others.
typedef struct psvi_near_tally {
    uint32_t before, after, far;
    uint32_t staying; // a bit for each step of which all elements belong to the chunk's own bucket
} psvi_near_tally;

// What a bucket is collected from.
typedef struct psvi_near_bucket {
    uint64_t low, high;               // its pivots
    size_t begin, end;                // its own chunk
    uint32_t staying;                 // of that chunk
    uint32_t from_before, from_after; // elements that come from the chunks beside it
} psvi_near_bucket;

typedef struct psvi_near_kernels {
    // pivots: of the chunk before, the chunk's own, and the two that follow.
    psvi_near_tally (*tally)(const void *elements, size_t count, uint64_t mask, const uint64_t *pivots);
    // Places of the far elements, from `first` on; writes one more than it finds.
    size_t (*list_far)(const void *elements, size_t count, uint64_t mask, const uint64_t *pivots, uint32_t staying,
                       uint64_t first, uint64_t *list);
    // Elements of the bucket without the far ones, in the order of their positions; writes one more than it finds.
    size_t (*collect)(const void *elements, const psvi_near_bucket *bucket, uint64_t mask, void *out);
    // The least key and the greatest.
    void (*extremes)(const void *elements, size_t count, uint64_t mask, uint64_t *low, uint64_t *high);
    // Codes of at most 65,535 elements with keys from `low` to `high`: bits that keep the order of the keys, though
    // some become equal, above the place. Tells how many keys are greater than the next one.
    size_t (*encode)(const void *elements, size_t count, uint64_t mask, uint64_t low, uint64_t high, uint32_t *codes);
    // Elements in the order of the codes that psvi_near_order left.
    void (*gather)(const void *elements, const uint32_t *rows, size_t count, void *out);
    // Merges two sorted arrays; of equal keys the elements of `few` come first, or last.
    void (*merge)(const void *many, size_t many_count, const void *few, size_t few_count, uint64_t mask, bool first,
                  void *out);
    // Reverses elements in descending order, while equal ones keep their order. Writes to `out` the elements whose
    // final positions (of equal ones, the first of them) are in [begin, end). Returns their number and the position of
    // the first.
    size_t (*turn)(const void *elements, size_t count, size_t begin, size_t end, uint64_t mask, void *out,
                   size_t *first);
} psvi_near_kernels;

const psvi_near_kernels *psvi_near_kernels_for(uint32_t element_bytes);

// Codes go into columns of so many, and columns into groups of eight.
#define NEAR_ROWS 32u
#define NEAR_GROUP (8u * NEAR_ROWS)

// Columns for `count` codes, including trailing ones that stay empty.
static inline size_t psvi_near_columns(size_t count) { return (count + NEAR_GROUP - 1) / NEAR_GROUP * 8 + 8; }

// Bits of a code that are the place.
static inline uint32_t psvi_near_place_bits(size_t count) { return count <= NEAR_GROUP ? 8 : 16; }

// Whether this machine has the vector instructions of psvi_near_order.
bool psvi_near_can_order(void);

// Sorts codes that are all different: columns by themselves, then neighbouring columns with each other, as often as it
// takes: the closer each code lies to its place, the faster. `codes` has room for whole groups, `rows` for NEAR_ROWS
// rows of psvi_near_columns(count) numbers: the code that comes at i is in row i % NEAR_ROWS, column i / NEAR_ROWS.
// False when some may agree in all but the place.
bool psvi_near_order(uint32_t *codes, size_t count, uint32_t *rows);

#endif
