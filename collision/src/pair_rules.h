// Rules for an overlapping pair beyond flags, sets, worlds and filters, in one place for every method, for C and CUDA:
// owners, layers, excluded pairs, and the exact test of boxes in double precision. The room of worlds is counted here
// too, by each backend's own atomics.
//
// A frame with such rules has psvi_pair_rules in the backend's memory. On the CPU the collector of a thread's pairs
// tests each pair once before it hands them over; methods do not see the rules. Only `rows` reads the partners of its
// boxes itself (pair_partners.h). On CUDA `rows` collects pairs and tests them (psvd_keep_allowed); in the other
// methods the test that finds a pair applies the rules (psvd_arrays_pair).
#ifndef PAIRSIEVE_PAIR_RULES_H
#define PAIRSIEVE_PAIR_RULES_H

#include <math.h>

#include "box_test.h"
#include "broad_phase.h"

// One set's arrays that the methods do not see, NULL where they are not given.
typedef struct psvi_rule_side {
    const uint32_t *ids, *owners, *worlds;
    const uint8_t *layers;
    const char *min, *max; // corners as the caller gave them
    uint32_t min_stride, max_stride;
    bool doubles;
    uint32_t first; // index of the box at place 0
} psvi_rule_side;

// The table of excluded pairs: a power of two of buckets. A key lies in its own bucket or, if that is full, in the next
// one with room. A bucket is 32 bytes, which a GPU reads at once; at most half of all places are taken. A filter of 32
// bits a bucket follows, in which each key sets one bit. The filter fits a cache that the table does not fit, and
// answers for nearly all pairs that are not excluded.
#define PSVI_BUCKET 4
#define PSVI_NO_PAIR UINT64_MAX // a free place

#if defined(__CUDACC__)
typedef struct __align__(16) psvi_bucket
#else
typedef struct psvi_bucket
#endif
{
    uint64_t keys[PSVI_BUCKET];
}
psvi_bucket;

typedef struct psvi_pair_rules {
    psvi_rule_side a, b; // one set: both the same
    bool between;
    bool exact;                   // corners are compared in double precision
    const uint32_t *layer_matrix; // NULL: layers do not matter
    const psvi_bucket *excluded;  // NULL: no pair is excluded
    uint64_t last_bucket;
    uint64_t *world_pairs; // NULL: not counted
    uint64_t world_room;   // pairs of a world that are reported
    uint64_t *refused;     // pairs beyond it
} psvi_pair_rules;

// A pair as a key of the table.
PSVI_HD uint64_t psvi_pair_key(uint32_t a, uint32_t b) { return (uint64_t)a << 32 | b; }

// First bucket of a key: Fibonacci hashing, its halves folded together.
PSVI_HD uint64_t psvi_pair_bucket(uint64_t key, uint64_t last_bucket) {
    key *= 0x9E3779B97F4A7C15ull;
    return (key ^ key >> 32) & last_bucket;
}

// The filter's words, one a bucket.
PSVI_HD const uint32_t *psvi_filter_of(const psvi_bucket *table, uint64_t last_bucket) {
    return (const uint32_t *)(const void *)(table + last_bucket + 1);
}

// The key's bit in the word of its first bucket: bits of the hash that did not choose the bucket.
PSVI_HD uint32_t psvi_filter_bit(uint64_t key) { return 1u << (key * 0x9E3779B97F4A7C15ull >> 59); }

PSVI_HD bool psvi_passes_filter(const psvi_bucket *table, uint64_t last_bucket, uint64_t key) {
    return (psvi_filter_of(table, last_bucket)[psvi_pair_bucket(key, last_bucket)] & psvi_filter_bit(key)) != 0;
}

// For a key that passes the filter.
PSVI_HD bool psvi_is_in_table(const psvi_bucket *table, uint64_t last_bucket, uint64_t key) {
    for (uint64_t at = psvi_pair_bucket(key, last_bucket);; at = (at + 1) & last_bucket) {
        const psvi_bucket bucket = table[at];
        bool found = false, full = true;
        for (int i = 0; i < PSVI_BUCKET; ++i) {
            found = found || bucket.keys[i] == key;
            full = full && bucket.keys[i] != PSVI_NO_PAIR;
        }
        if (found || !full) return found;
    }
}

PSVI_HD bool psvi_is_excluded(const psvi_bucket *table, uint64_t last_bucket, uint64_t key) {
    return psvi_passes_filter(table, last_bucket, key) && psvi_is_in_table(table, last_bucket, key);
}

PSVI_HD bool psvi_owners_pair(const psvi_pair_rules *rules, uint64_t i, uint64_t j) {
    if (rules->a.owners == NULL || rules->b.owners == NULL) return true;
    const uint32_t owner = rules->a.owners[i];
    return owner == PSV_NO_OWNER || owner != rules->b.owners[j];
}

PSVI_HD bool psvi_layers_pair(const psvi_pair_rules *rules, uint64_t i, uint64_t j) {
    if (rules->layer_matrix == NULL) return true;
    const uint32_t a = rules->a.layers == NULL ? 0 : rules->a.layers[i];
    const uint32_t b = rules->b.layers == NULL ? 0 : rules->b.layers[j];
    if (a >= PSV_LAYERS || b >= PSV_LAYERS) return false;
    return (rules->layer_matrix[a] >> b & rules->layer_matrix[b] >> a & 1) != 0;
}

// Coordinate `axis` of a corner.
PSVI_HD double psvi_corner(const char *at, bool doubles, int axis) {
    return doubles ? ((const double *)(const void *)at)[axis] : (double)((const float *)(const void *)at)[axis];
}

PSVI_HD bool psvi_corners_overlap(const psvi_rule_side *a, uint64_t i, const psvi_rule_side *b, uint64_t j) {
    const char *const a_min = a->min + i * a->min_stride, *const a_max = a->max + i * a->max_stride;
    const char *const b_min = b->min + j * b->min_stride, *const b_max = b->max + j * b->max_stride;
    for (int axis = 0; axis < 3; ++axis)
        if (!(psvi_corner(a_min, a->doubles, axis) <= psvi_corner(b_max, b->doubles, axis) &&
              psvi_corner(b_min, b->doubles, axis) <= psvi_corner(a_max, a->doubles, axis)))
            return false;
    return true;
}

// The name of a box: its id, or its index in its set.
PSVI_HD uint32_t psvi_name_of(const psvi_rule_side *side, uint64_t place) {
    return side->ids == NULL ? side->first + (uint32_t)place : side->ids[place];
}

// The key under which box i of set a and box j of set b would be excluded.
PSVI_HD uint64_t psvi_excluded_key(const psvi_pair_rules *rules, uint64_t i, uint64_t j) {
    const uint32_t a = psvi_name_of(&rules->a, i), b = psvi_name_of(&rules->b, j);
    return rules->between || a < b ? psvi_pair_key(a, b) : psvi_pair_key(b, a);
}

// All but the room of worlds, of box i of set a and box j of set b.
PSVI_HD bool psvi_rules_pair(const psvi_pair_rules *rules, uint64_t i, uint64_t j) {
    if (!psvi_owners_pair(rules, i, j) || !psvi_layers_pair(rules, i, j)) return false;
    if (rules->excluded != NULL &&
        psvi_is_excluded(rules->excluded, rules->last_bucket, psvi_excluded_key(rules, i, j)))
        return false;
    return !rules->exact || psvi_corners_overlap(&rules->a, i, &rules->b, j);
}

// A box in double precision as floats, `origin` subtracted. Both steps are monotone, whatever the rounding, so boxes
// that overlap do so as floats too. NaN, and min > max that the rounding would hide, give a box that is bad.
PSVI_HD void psvi_narrow_box(const psvi_rule_side *side, const double *origin, uint64_t place, float *min, float *max) {
    const char *const low = side->min + place * side->min_stride, *const high = side->max + place * side->max_stride;
    bool bad = false;
    for (int axis = 0; axis < 3; ++axis) {
        const double from = psvi_corner(low, side->doubles, axis), to = psvi_corner(high, side->doubles, axis);
        min[axis] = (float)(from - origin[axis]);
        max[axis] = (float)(to - origin[axis]);
        bad = bad || !(from <= to);
    }
    if (bad) min[0] = NAN;
}

// What was noted of kept boxes once, on top of a frame's own result; their pairs are counted elsewhere.
PSVI_HD void psvi_add_kept_result(psvi_frame_result *result, const psvi_frame_result *kept) {
    result->boxes += kept->boxes;
    result->bad_count += kept->bad_count;
    result->huge_count += kept->huge_count;
}

#endif
