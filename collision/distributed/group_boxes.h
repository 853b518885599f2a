// What a backend does with the boxes and pairs of a group's finder.
#ifndef PAIRSIEVE_GROUP_BOXES_H
#define PAIRSIEVE_GROUP_BOXES_H

#include "../src/finder.h"
#include "pair_home.h"
#include "pairsieve/group_pairs.h"
#include "regions.h"

// Lists of a rank's boxes by region: 2 * r for boxes in the region of rank r alone, 2 * r + 1 for boxes that touch
// other regions too, and a last list for bad boxes. Disabled boxes are in none.
static inline uint32_t psvi_box_list_count(uint32_t size) { return 2 * size + 1; }

typedef struct psvi_group_boxes {
    const psvi_box_view *view; // this rank's boxes
    uint32_t world_count;
    psvi_regions regions; // cuts in host memory
    // NULL: lists of all boxes; otherwise of the boxes named here, in the backend's memory.
    const uint32_t *some;
    uint64_t some_count;
} psvi_group_boxes;

// Where boxes from one rank lie: its number of them is kept small, so ranks share places.
#define PSVI_REACHES 16

// Kinds of a rank's boxes where most of them are not copied (group_staying.c).
typedef struct psvi_sifting {
    const psvi_group_boxes *boxes;
    psvi_inner inner; // of this rank; boxes inside are not copied, all others are «away»
    uint32_t reach_count;
    psv_aabb reaches[PSVI_REACHES]; // boxes that overlap one of them are «near»
    uint32_t *away_bits;            // out: a bit a box; NULL: only near boxes are wanted
    uint32_t *away, *near;          // out: their numbers, in any order
    uint64_t room;                  // of each of the two lists: boxes beyond it are only counted
} psvi_sifting;

PSVI_HD bool psvi_is_near(const psv_aabb *reaches, uint32_t count, const float *min, const float *max) {
    bool near = false;
    for (uint32_t r = 0; r < count; ++r)
        near = near || psvi_boxes_overlap(min, max, reaches[r].min, reaches[r].max);
    return near;
}

typedef struct psvi_sifted {
    uint64_t away, near, disabled;
} psvi_sifted;

// What a finder of this rank found. Only pairs of two boxes that other ranks may hold too are found by several ranks,
// and looked at. These boxes are those whose bit is set in `away_bits`; without `away_bits`, those from place
// `border_first` on. Where there is `needed`, pairs are reported only if one of their boxes lies below that place.
typedef struct psvi_seen_pairs {
    const psv_pair *pairs; // by number of the box
    uint64_t count;
    const char *min, *max; // corners, as floats
    uint32_t min_stride, max_stride;
    const uint32_t *ids;    // NULL: first_id and the number of the box
    const uint32_t *worlds; // NULL: one world
    uint64_t *world_pairs;  // pairs of each world that are reported are added; NULL: they are not counted
    const uint32_t *away_bits;
    uint64_t border_first, needed; // needed: UINT64_MAX, none
    uint32_t first_id, rank;
    psvi_regions regions;
} psvi_seen_pairs;

PSVI_HD bool psvi_reports_pair(const psvi_seen_pairs *seen, psv_pair pair) {
    if (pair.a >= seen->needed && pair.b >= seen->needed) return false;
    if (seen->away_bits != NULL ? (seen->away_bits[pair.a >> 5] >> (pair.a & 31) & 1) == 0 ||
                                      (seen->away_bits[pair.b >> 5] >> (pair.b & 31) & 1) == 0
                                : pair.a < seen->border_first || pair.b < seen->border_first)
        return true;
    const float *a_min = (const float *)(const void *)(seen->min + (uint64_t)pair.a * seen->min_stride);
    const float *b_min = (const float *)(const void *)(seen->min + (uint64_t)pair.b * seen->min_stride);
    return psvi_region_reports(seen->regions, seen->rank, a_min, b_min,
                               seen->worlds == NULL ? 0 : seen->worlds[pair.a]);
}

PSVI_HD psv_pair psvi_named_pair(const psvi_seen_pairs *seen, psv_pair pair) {
    const uint32_t a = seen->ids == NULL ? seen->first_id + pair.a : seen->ids[pair.a];
    const uint32_t b = seen->ids == NULL ? seen->first_id + pair.b : seen->ids[pair.b];
    const psv_pair named = {a < b ? a : b, a < b ? b : a};
    return named;
}

// All of them Block where they write host memory.
typedef struct psvi_group_box_ops {
    psv_status (*open)(psv_context *context, uint32_t size, void **state);
    void (*close)(psv_context *context, void *state);
    // samples[i] is the box at psvi_sample_place(i), on the host; of weight 0 when it is bad or disabled, else 1.
    psv_status (*sample)(psv_context *context, void *state, const psvi_group_boxes *boxes, psvi_box_sample *samples,
                         uint64_t sample_count);
    // The lengths of all lists, on the host; then, for the same boxes, the lists: numbers of boxes.
    psv_status (*count_lists)(psv_context *context, void *state, const psvi_group_boxes *boxes, uint64_t *counts);
    psv_status (*write_lists)(psv_context *context, void *state, const psvi_group_boxes *boxes, uint32_t *index);
    // packed[i] = box index[i] of the view.
    psv_status (*pack_boxes)(psv_context *context, const psvi_box_view *view, const uint32_t *index, uint64_t count,
                             psv_aabb *packed);
    // The same of corners in double precision.
    psv_status (*pack_corners)(psv_context *context, const psvi_rule_side *side, const uint32_t *index, uint64_t count,
                               psv_aabb64 *packed);
    // The pairs of `parts` lists that this rank reports, by id, a < b; their number, on the host. `kept` has room for
    // all.
    psv_status (*keep)(psv_context *context, void *state, const psvi_seen_pairs *seen, uint32_t parts, psv_pair *kept,
                       uint64_t *kept_count);
    // a and b change places: a pair is then, as u64, the key by which pairs are ordered.
    psv_status (*swap)(psv_context *context, psv_pair *pairs, uint64_t count);
    // As with boxes: lists of pairs by the rank that they belong to.
    psv_status (*list_pairs)(psv_context *context, void *state, const psv_pair *pairs, uint64_t count, uint32_t size,
                             uint32_t *index, uint64_t *counts);
    psv_status (*sift)(psv_context *context, void *state, const psvi_sifting *sifting, psvi_sifted *sifted);
    // bounds[r], on the host, of counts[0][r] boxes from place firsts[0][r] on and counts[1][r] from firsts[1][r] on;
    // of no extent without any. Both numbers are arrays of `size` on the host.
    psv_status (*bound)(psv_context *context, void *state, const psv_aabb *boxes, uint32_t size,
                        uint64_t *const firsts[2], uint64_t *const counts[2], psv_aabb *bounds);
    // Work from `fork` to `join` runs beside work begun between `open_side` and `fork`. NULL where nothing runs beside
    // the host.
    psv_status (*open_side)(psv_context *context, void *state);
    void (*fork)(psv_context *context, void *state);
    psv_status (*join)(psv_context *context, void *state);
} psvi_group_box_ops;

extern const psvi_group_box_ops psvi_cpu_group_box_ops, psvi_cuda_group_box_ops;

#endif
