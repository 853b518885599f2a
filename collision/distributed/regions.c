// How space is cut: each cut is tried along all axes, and the one is taken whose fuller side has the least work. A box
// across a plane is work for both sides. So axes along which boxes are long lose. Worlds, across which nothing lies,
// win wherever they can be divided evenly. Of cuts that are about as good, the one wins that moves the fewest boxes.
#include "regions.h"

#include <float.h>
#include <math.h>

// Of two sides of a region the inner one; NaN: none.
static float later_min(float a, float b) { return a >= b ? a : b; }
static float nearer_end(float a, float b) { return a <= b ? a : b; }

psvi_inner psvi_inner_of(psvi_regions regions, uint32_t rank) {
    psvi_inner inner = {{NAN, NAN, NAN}, {NAN, NAN, NAN}, 0, UINT32_MAX};
    uint32_t first = 0, end = regions.size;
    while (end - first > 1) {
        const uint32_t middle = psvi_middle_rank(first, end);
        const psvi_cut *cut = &regions.cuts[middle - 1];
        const bool below = rank < middle;
        if (cut->axis != PSVI_WORLD_AXIS && below)
            inner.end[cut->axis] = nearer_end(inner.end[cut->axis], cut->plane);
        else if (cut->axis != PSVI_WORLD_AXIS)
            inner.min[cut->axis] = later_min(inner.min[cut->axis], cut->plane);
        else if (below)
            inner.end_world = cut->world < inner.end_world ? cut->world : inner.end_world;
        else
            inner.first_world = cut->world > inner.first_world ? cut->world : inner.first_world;
        if (below)
            end = middle;
        else
            first = middle;
    }
    return inner;
}

// A value that samples have along an axis; worlds are exact as doubles too.
static double key_of(const psvi_box_sample *sample, uint32_t axis) {
    return axis == PSVI_WORLD_AXIS ? (double)sample->world : (double)sample->box.min[axis];
}

static void set_plane(psvi_cut *cut, uint32_t axis, double key) {
    cut->axis = axis;
    cut->plane = axis == PSVI_WORLD_AXIS ? 0 : (float)key;
    cut->world = axis == PSVI_WORLD_AXIS ? (uint32_t)key : 0;
}

// Cost of moving a box over the cost of holding one. Two H200 measured 0.4; the lower value keeps cuts more even, and
// uneven cuts would be computed again in each call.
#define PSVI_MOVE_COST 0.15

// The work of the fuller side over its share of the ranks [first, end), when these samples are cut so.
static double cost_of(const psvi_box_sample *samples, uint64_t count, const psvi_cut *cut, uint32_t first,
                      uint32_t end) {
    const double below_ranks = cut->middle - first, other_ranks = end - cut->middle;
    double below = 0, other = 0, moved = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const uint32_t sides = psvi_cut_sides(cut, samples[i].box.min, samples[i].box.max, samples[i].world);
        below += (sides & 1) != 0 ? samples[i].weight : 0;
        other += (sides & 2) != 0 ? samples[i].weight : 0;
        const bool is_below = (sides & 1) != 0, was_below = samples[i].rank < cut->middle; // by the lower corner
        if (samples[i].rank >= first && samples[i].rank < end && is_below != was_below) moved += samples[i].weight;
    }
    const double fuller = below / below_ranks > other / other_ranks ? below / below_ranks : other / other_ranks;
    return fuller + PSVI_MOVE_COST * moved / (below_ranks + other_ranks);
}

static void swap_keys(psvi_sample_key *keys, uint64_t i, uint64_t j) {
    const psvi_sample_key moved = keys[i];
    keys[i] = keys[j];
    keys[j] = moved;
}

// The least key up to which `share` of the work lies. By quickselect: keys are divided into less than, equal to and
// greater than a pivot, and the search continues in one of these parts.
static double key_at_share(const psvi_box_sample *samples, uint64_t count, uint32_t axis, double share,
                           psvi_sample_key *keys) {
    double wanted = 0;
    for (uint64_t i = 0; i < count; ++i) {
        keys[i] = (psvi_sample_key){key_of(&samples[i], axis), samples[i].weight};
        wanted += share * samples[i].weight;
    }
    uint64_t first = 0, end = count;
    for (;;) {
        const double pivot = keys[first + (end - first) / 2].key;
        uint64_t below = first, above = end;
        double weight_below = 0, weight_equal = 0;
        for (uint64_t i = first; i < above;) {
            if (keys[i].key < pivot) {
                weight_below += keys[i].weight;
                swap_keys(keys, i++, below++);
            } else if (keys[i].key > pivot) {
                swap_keys(keys, i, --above);
            } else {
                weight_equal += keys[i++].weight;
            }
        }
        if (below > first && weight_below >= wanted) {
            end = below;
        } else if (weight_below + weight_equal >= wanted || above == end) {
            return pivot;
        } else {
            wanted -= weight_below + weight_equal;
            first = above;
        }
    }
}

static double next_key(const psvi_box_sample *samples, uint64_t count, uint32_t axis, double key) {
    double next = INFINITY;
    for (uint64_t i = 0; i < count; ++i) {
        const double own = key_of(&samples[i], axis);
        if (own > key && own < next) next = own;
    }
    return next;
}

// The best cut of samples that are for ranks [first, end).
static psvi_cut best_cut(const psvi_box_sample *samples, uint64_t count, uint32_t first, uint32_t end,
                         psvi_sample_key *keys) {
    const uint32_t middle = psvi_middle_rank(first, end);
    psvi_cut best = {.middle = middle};
    double least = DBL_MAX;
    for (uint32_t a = 0; a <= PSVI_WORLD_AXIS && count > 0; ++a) {
        const uint32_t axis = (a + PSVI_WORLD_AXIS) % (PSVI_WORLD_AXIS + 1); // worlds first
        const double share = (double)(middle - first) / (end - first);
        double key = key_at_share(samples, count, axis, share, keys);
        for (int equal = 0; equal < 2; ++equal) { // samples at the key itself go to one side or to the other
            if (equal == 1) key = next_key(samples, count, axis, key);
            if (key - key != 0) continue; // no plane at infinity
            psvi_cut cut = {.middle = middle};
            set_plane(&cut, axis, key);
            const double cost = cost_of(samples, count, &cut, first, end);
            if (cost < least) {
                least = cost;
                best = cut;
            }
        }
    }
    return best;
}

// Samples of boxes whose lower corner is below come first; their number.
static uint64_t part_samples(psvi_box_sample *samples, uint64_t count, const psvi_cut *cut) {
    uint64_t below = 0;
    for (uint64_t i = 0; i < count; ++i) {
        if (psvi_cut_sides(cut, samples[i].box.min, samples[i].box.min, samples[i].world) != 1) continue;
        const psvi_box_sample moved = samples[i];
        samples[i] = samples[below];
        samples[below++] = moved;
    }
    return below;
}

static void cut_ranks(psvi_box_sample *samples, uint64_t count, uint32_t first, uint32_t end, psvi_cut *cuts,
                      psvi_sample_key *keys) {
    if (end - first < 2) return;
    const psvi_cut cut = best_cut(samples, count, first, end, keys);
    cuts[cut.middle - 1] = cut;
    const uint64_t below = part_samples(samples, count, &cut);
    cut_ranks(samples, below, first, cut.middle, cuts, keys);
    if (samples != NULL) samples += below; // NULL has no offsets, not even 0
    cut_ranks(samples, count - below, cut.middle, end, cuts, keys);
}

void psvi_make_cuts(psvi_box_sample *samples, uint64_t count, uint32_t size, psvi_cut *cuts, psvi_sample_key *keys) {
    cut_ranks(samples, count, 0, size, cuts, keys);
}
