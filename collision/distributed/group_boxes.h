// What a backend does with the boxes and pairs of a group's finder.
#ifndef PAIRSIEVE_GROUP_BOXES_H
#define PAIRSIEVE_GROUP_BOXES_H

#include "../src/finder_common.h"
#include "pair_home.h"
#include "pairsieve/group_pairs.h"
#include "regions.h"

// Lists that a rank's boxes are put into, by region: 2 * r for boxes that lie in the region of rank r alone, 2 * r + 1
// for those that lie in others too, and at last one for bad boxes. Disabled boxes are in none.
static inline uint32_t psvi_box_list_count(uint32_t size) { return 2 * size + 1; }

typedef struct psvi_group_boxes {
    const psvi_box_view *view; // this rank's boxes
    uint32_t world_count;
    psvi_regions regions; // cuts in host memory
} psvi_group_boxes;

// What this rank's finder found among the boxes that the rank holds. Boxes from `border_first` on lie in several
// regions: only pairs of two such boxes are found by several ranks, and looked at.
typedef struct psvi_seen_pairs {
    const psv_pair *pairs; // by number of the box
    uint64_t count;
    const psv_aabb *boxes;
    const uint32_t *ids;
    const uint32_t *worlds; // NULL: one world
    uint64_t border_first;
    psvi_regions regions;
    uint32_t rank;
} psvi_seen_pairs;

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
    // The same of corners in double precision; NULL where a group does not have them.
    psv_status (*pack_corners)(psv_context *context, const psvi_rule_side *side, const uint32_t *index, uint64_t count,
                               psv_aabb64 *packed);
    // The pairs that this rank reports, by id, a < b; their number, on the host. `kept` has room for all.
    psv_status (*keep)(psv_context *context, void *state, const psvi_seen_pairs *seen, psv_pair *kept,
                       uint64_t *kept_count);
    // a and b change places: a pair is then, as u64, the key by which pairs are ordered.
    psv_status (*swap)(psv_context *context, psv_pair *pairs, uint64_t count);
    // As with boxes: lists of pairs by the rank that they belong to.
    psv_status (*list_pairs)(psv_context *context, void *state, const psv_pair *pairs, uint64_t count, uint32_t size,
                             uint32_t *index, uint64_t *counts);
} psvi_group_box_ops;

extern const psvi_group_box_ops psvi_cpu_group_box_ops;
#if PSV_HAVE_CUDA && PSV_HAVE_NCCL
extern const psvi_group_box_ops psvi_cuda_group_box_ops;
#endif

#endif
