// The self-check of a frame: some boxes are tested against all others. The pairs found are compared with those of the
// pair list that have one of these boxes. For C and CUDA.
//
// For each sampled box two numbers and two sums are made: of the pairs that the test finds, and of those that the list
// has. A sum adds up hashes of pairs, so it does not depend on their order. Where they differ, a second pass writes
// both lists of pairs, and the host names the difference. Methods share nothing with this but the rules of pairs.
#ifndef PAIRSIEVE_PAIR_CHECK_H
#define PAIRSIEVE_PAIR_CHECK_H

#include "pair_rules.h"

#define PSVI_NAME_WORDS 128u // of a filter of names: a power of two

// What a sampled box is: it pairs; it pairs with nothing; or its world has more pairs than it may report.
enum { PSVI_SAMPLE_LIVE = 0, PSVI_SAMPLE_ALONE = 1, PSVI_SAMPLE_UNKNOWN = 2 };

typedef struct psvi_sample {
    double min[3], max[3];
    uint64_t place;
    uint32_t name;
    uint32_t second; // 1: of set b
    uint32_t kind;
    uint32_t differs; // its pairs are to be listed
    uint64_t found, found_sum, listed, listed_sum;
} psvi_sample;

// In the backend's memory.
typedef struct psvi_check_memory {
    uint32_t names[2][PSVI_NAME_WORDS]; // one bit for each name of a sample of set a, of set b
    uint64_t found, listed;             // entries of the lists
    psvi_sample samples[PSV_MOST_SAMPLES];
} psvi_check_memory;

typedef struct psvi_check_input {
    psvi_box_view a, b; // b: between only
    psvi_pair_rules rules;
    uint32_t world_count, samples;
    uint64_t seed;
    const psv_pair *pairs;
    const uint64_t *pair_count;
    uint64_t capacity;
    psvi_check_memory *memory;
    // NULL: samples are chosen and summed up. Else pairs of the samples that differ are written.
    psv_pair *found, *listed;
    uint64_t found_room, listed_room;
} psvi_check_input;

// splitmix64
PSVI_HD uint64_t psvi_mix_bits(uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

PSVI_HD uint32_t psvi_name_bit(uint32_t name) { return name * 2654435761u >> 20 & (32 * PSVI_NAME_WORDS - 1); }

PSVI_HD bool psvi_may_be_name(const uint32_t *names, uint32_t name) {
    return (names[psvi_name_bit(name) / 32] >> psvi_name_bit(name) % 32 & 1) != 0;
}

// Reads the corners of a box; false: it pairs with nothing.
PSVI_HD bool psvi_read_corners(const psvi_check_input *input, bool second, uint64_t place, double min[3],
                               double max[3]) {
    const psvi_box_view *view = second ? &input->b : &input->a;
    const psvi_rule_side *side = second ? &input->rules.b : &input->rules.a;
    if (view->flags != NULL && (view->flags[place] & PSV_BOX_DISABLED) != 0) return false;
    bool good = view->worlds == NULL || view->worlds[place] < input->world_count;
    for (int axis = 0; axis < 3; ++axis) {
        min[axis] = psvi_corner(side->min + place * side->min_stride, side->doubles, axis);
        max[axis] = psvi_corner(side->max + place * side->max_stride, side->doubles, axis);
        good = good && min[axis] <= max[axis];
    }
    return good;
}

// Sample s of a frame with so many boxes. Samples are spread over the boxes: as many samples as boxes are all of them.
PSVI_HD psvi_sample psvi_choose_sample(const psvi_check_input *input, uint32_t s, uint64_t a_count, uint64_t b_count) {
    psvi_sample sample = {{0}, {0}, 0, 0, 0, PSVI_SAMPLE_UNKNOWN, 0, 0, 0, 0, 0};
    const uint32_t of_b = a_count == 0 ? input->samples : b_count == 0 ? 0 : input->samples / 2;
    const uint32_t of_a = input->samples - of_b;
    sample.second = s >= of_a;
    const uint64_t count = sample.second ? b_count : a_count, among = sample.second ? of_b : of_a;
    if (count == 0) return sample;
    const uint64_t rank = sample.second ? s - of_a : s, first = rank * count / among;
    const uint64_t width = (rank + 1) * count / among - first;
    sample.place = first + (width < 2 ? 0 : psvi_mix_bits(input->seed + s) % width);
    const psvi_box_view *view = sample.second ? &input->b : &input->a;
    sample.name = psvi_name_of(sample.second ? &input->rules.b : &input->rules.a, sample.place);
    const bool lives = psvi_read_corners(input, sample.second != 0, sample.place, sample.min, sample.max);
    sample.kind = lives ? PSVI_SAMPLE_LIVE : PSVI_SAMPLE_ALONE;
    const uint64_t *worlds = input->rules.world_pairs;
    if (lives && worlds != NULL &&
        worlds[view->worlds == NULL ? 0 : view->worlds[sample.place]] > input->rules.world_room)
        sample.kind = PSVI_SAMPLE_UNKNOWN;
    return sample;
}

// Everything but the overlap, of box i of set a and box j of set b (or of a, where there is one set).
PSVI_HD bool psvi_places_pair(const psvi_check_input *input, uint64_t i, uint64_t j) {
    const psvi_box_view *a = &input->a, *b = input->rules.between ? &input->b : &input->a;
    const psv_box_filter all = {UINT32_MAX, UINT32_MAX};
    if (!psvi_flags_pair(a->flags == NULL ? 0 : a->flags[i], b->flags == NULL ? 0 : b->flags[j])) return false;
    if ((a->filters != NULL || b->filters != NULL) &&
        !psvi_filters_pair(a->filters == NULL ? all : a->filters[i], b->filters == NULL ? all : b->filters[j]))
        return false;
    if ((a->worlds == NULL ? 0 : a->worlds[i]) != (b->worlds == NULL ? 0 : b->worlds[j])) return false;
    return psvi_rules_pair(&input->rules, i, j);
}

// Whether a sample pairs with the box at `place` of set a or b, whose corners are given. *key names the pair.
PSVI_HD bool psvi_sample_pairs(const psvi_check_input *input, const psvi_sample *sample, bool second, uint64_t place,
                               const double min[3], const double max[3], uint64_t *key) {
    for (int axis = 0; axis < 3; ++axis)
        if (!(sample->min[axis] <= max[axis] && min[axis] <= sample->max[axis])) return false;
    if (sample->kind != PSVI_SAMPLE_LIVE) return false;
    if (input->rules.between ? second == (sample->second != 0) : sample->place == place) return false;
    const uint64_t i = second ? sample->place : place, j = second ? place : sample->place;
    if (!psvi_places_pair(input, i, j)) return false;
    *key = psvi_excluded_key(&input->rules, i, j);
    return true;
}

// Whether an entry of the list names the sample.
PSVI_HD bool psvi_names_sample(const psvi_check_input *input, const psvi_sample *sample, psv_pair pair) {
    if (input->rules.between) return sample->name == (sample->second != 0 ? pair.b : pair.a);
    return sample->name == pair.a || sample->name == pair.b;
}

// Whether it may name one.
PSVI_HD bool psvi_may_name_sample(const psvi_check_input *input, const uint32_t *a_names, const uint32_t *b_names,
                                  psv_pair pair) {
    return psvi_may_be_name(a_names, pair.a) || psvi_may_be_name(input->rules.between ? b_names : a_names, pair.b);
}

#endif
