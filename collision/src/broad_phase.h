// The table that every broad-phase method fills in, what it gets of a finder, and the input of one frame.
#ifndef PAIRSIEVE_BROAD_PHASE_H
#define PAIRSIEVE_BROAD_PHASE_H

#include <string.h>

#include "../../core/context.h"
#include "pairsieve/collision.h"

#ifdef __cplusplus
extern "C" {
#endif

// A box set with addresses in place of buffers; checked.
typedef struct psvi_box_view {
    const char *min; // first min[3]
    const char *max; // first max[3]; min + 12 for interleaved boxes
    uint32_t min_stride, max_stride;
    uint64_t count;
    uint64_t room;                // count as the caller gave it: with a count buffer the most there can be
    const uint64_t *count_device; // NULL (always on the CPU: `count` is the frame's own), or in the backend's memory
    const uint8_t *flags;
    const psv_box_filter *filters;
    const uint32_t *worlds;
} psvi_box_view;

// What a frame leaves in the backend's memory (one block; downloaded by the calls that block).
typedef struct psvi_frame_result {
    uint64_t pair_count; // exact; may exceed the room
    uint64_t bad_count;
    uint64_t huge_count;
    uint64_t boxes;
    uint64_t candidates;
    uint64_t rows;
    uint64_t longest_range;
    uint32_t levels;
    uint32_t key_bits;
    uint32_t sort_passes;
    uint32_t sort_passes_skipped;
    uint64_t refused;     // pairs of worlds that have more than def.world_pairs; not in pair_count
    uint32_t route, veto; // of methods with several ways, in their own numbers: which one ran, why not a faster one
} psvi_frame_result;

struct psvi_pair_rules;
struct psvi_rule_side;
struct psvi_bucket;
struct psvi_partners;
struct psvi_check_input;

typedef struct psvi_find_input {
    psvi_box_view a;
    psvi_box_view b; // between only
    bool between;
    uint32_t world_count; // at least 1
    psv_pair *pairs;      // room for `capacity`
    uint64_t capacity;
    psvi_frame_result *result; // in the backend's memory; zero when `find` is called, unless the method clears it
    uint32_t *bad_boxes; // room for one index per box, any order (sorted when it is read); of set b: a.room + index
    // NULL, or what every pair is asked before it is reported, see pair_rules.h; with ops->put_rules backend memory.
    const struct psvi_pair_rules *rules;
    // For the method's kernels: as in the result, as far as the host knows it; times: see psvi_phase_split.
    uint32_t route, veto;
    psvi_phase_times *times;
    // NULL, or in the backend's memory how many pairs the pair buffer begins with: pairs are counted, and written, from
    // there on. Not on the CPU.
    const uint64_t *pairs_before;
    // NULL, or psvi_partners of each box of a, by place, where these are the only rules. `rules` are given too, for
    // methods that do not look here.
    const struct psvi_partners *partners;
    uint32_t first_name; // with partners: of the box at place 0
    // NULL, or on the CPU: the method may end without all pairs where a tree would find them for less, and says so
    // here. What it has found until then counts for nothing.
    bool *gave_up;
    // NULL, or for `build`: psvi_follow.states. Boxes that are restless lie apart from those that rest.
    const uint8_t *states;
    // What the counts of rules->world_pairs began with, for a method that begins anew; NULL: with zeros.
    const uint64_t *worlds_before;
} psvi_find_input;

// Not names of a sorter. "cells": the method's own cells where it has them, else the radix sorter. "auto": likewise,
// but else the calibrated sorter.
#define PSVI_SORT_CELLS "cells"

static inline bool psvi_names_sorter(const psv_pair_finder_def *def) {
    return strcmp(def->sort_method, PSVI_SORT_CELLS) != 0 && strcmp(def->sort_method, "auto") != 0;
}

// The sorter of a method that has no cells of its own.
static inline const char *psvi_sorter_name(const psv_pair_finder_def *def) {
    return psv_pair_sorter_name(def->sort_method);
}

// How the results of a frame's own boxes and of kept boxes become one.
typedef struct psvi_kept_merge {
    psvi_frame_result *result;
    const psvi_frame_result *kept;
    psv_pair *pairs;            // those of kept boxes, then the frame's own, psvi_find_input.pairs_before
    const psv_pair *kept_pairs; // NULL: kept boxes have no pairs with each other
    // In the backend's memory: the pair buffer begins with the pairs of kept boxes already; it says so behind the merge
    // if `stay`.
    uint32_t *there;
    bool stay;
    bool with_pairs;   // kept boxes have been paired with each other
    uint64_t capacity; // of both lists
    uint32_t *bad_boxes;
    const uint32_t *kept_bad; // appended
    uint32_t shift;           // added to the indices of the frame's own pairs and bad boxes
    uint32_t kept_shift;      // added to those of kept bad boxes
    uint32_t *ticket;         // in the backend's memory, zero: for who has to tell which part of the work is the last
} psvi_kept_merge;

// What is remembered of a box with a margin. As long as the box lies in its widened one and these stay the same, its
// pairs need no new search. Boxes of a second set follow those of the first.
typedef struct psvi_near_tag {
    uint32_t flags, world;
    psv_box_filter filter;
} psvi_near_tag;

// How much the boxes of a set are widened.
typedef struct psvi_margin {
    float all;
    const float *each; // NULL: `all`
} psvi_margin;

// A box that fills vectors of four; the last number of both is 0.
typedef struct psvi_placed_box {
    float min[4], max[4];
} psvi_placed_box;

typedef struct psvi_near {
    psvi_margin a, b;
    psv_aabb *boxes; // widened; NaN where there was none
    psvi_near_tag *tags;
    bool tagged; // the boxes have flags, filters or worlds
    // The frame's boxes, in the order in which the list of pairs first names them, and the pairs by these places. So a
    // walk along the list reads memory in sequence.
    psvi_placed_box *placed; // NaN for those that take no part
    uint32_t *places;        // of each box; PSVI_NO_PLACE: in no pair
    psv_pair *placed_pairs;
    uint64_t count; // boxes that are known; of one set there may be fewer in a later frame
} psvi_near;

#define PSVI_NO_PLACE UINT32_MAX

// Boxes of one set that a method follows from frame to frame (movers.c), in host memory.
#define PSVI_STATE_LIVE 1u // bits of a box's state: it takes part
#define PSVI_STATE_BAD 2u  // it is bad; neither of both: it is disabled, or there is none
#define PSVI_RESTLESS 4u   // it has moved since the boxes were last put in order
#define PSVI_NO_HITS UINT32_MAX

typedef struct psvi_follow {
    uint8_t *states; // of each box
    const uint32_t *moved;
    uint64_t moved_count;
    uint64_t live;    // boxes that take part
    bool bad_changed; // `move`: some box is bad, or is no longer bad
    bool crowded;     // `move`: the order has no place for a new box; the boxes have to be settled again
    // What `reach` finds of the moved box m begins at words[heads[m]]: a number of boxes, the place of a further list
    // or PSVI_NO_HITS, then the boxes. They overlap box m and may pair with it.
    uint32_t *words, *heads;
    uint64_t room, used; // of words; used may exceed the room: then the lists are not complete
    uint64_t tests;      // work of `reach`
} psvi_follow;

// A method at work, with its own state and memory: all that a method gets of a finder.
typedef struct psvi_choice {
    psv_context *context;
    const struct psvi_broad_phase *method;
    psv_pair_finder_def def; // the finder's; max_boxes may be the choice's own
    void *state;             // the method's own
    void *scratch;
    uint64_t scratch_bytes;
    bool shares;  // the scratch memory is the finder's, for several choices
    bool lasting; // the order of the boxes has to be good: kept boxes, which are asked many times, and uneven ones
    bool created;
} psvi_choice;

typedef struct psvi_broad_phase {
    const char *name;
    const char *description;                                   // one line
    uint64_t (*scratch_bytes)(const psv_pair_finder_def *def); // of choice->scratch; its sorters' memory included
    psv_status (*create)(psvi_choice *choice);                 // optional: sorters and one-time setup, choice->state
    void (*destroy)(psvi_choice *choice);                      // optional
    psv_status (*find)(const psvi_choice *choice, const psvi_find_input *input);
    // Optional, both or none, for boxes that are kept. `build` orders the boxes of input->a, like `find` without the
    // pairs. `query` finds pairs of the boxes of input->a, from place `first` on, with the boxes of the last `find` or
    // `build`. These are input->b; with one set (only without `settle`) they are the first ones of input->a. With two
    // sets `query` counts the boxes and bad boxes of input->a in the result, too.
    psv_status (*build)(const psvi_choice *choice, const psvi_find_input *input);
    psv_status (*query)(const psvi_choice *choice, const psvi_find_input *input, uint64_t first);
    // Optional, all or none, where memory is the host's. `settle` puts all boxes of input->a in order. `move` reads the
    // moved boxes anew; those from input->a.count on are gone. `reach` finds what the moved boxes overlap.
    psv_status (*settle)(const psvi_choice *choice, const psvi_find_input *input, psvi_follow *follow);
    void (*move)(const psvi_choice *choice, const psvi_find_input *input, psvi_follow *follow);
    void (*reach)(const psvi_choice *choice, const psvi_find_input *input, psvi_follow *follow);
    // Optional: completes what the host knows and the frame result does not (sort passes, say). May block.
    psv_status (*statistics)(const psvi_choice *choice, psv_pair_statistics *statistics);
    // Optional, of methods with several ways: the names of the frame result's route and veto.
    const char *(*route_name)(uint32_t route);
    const char *(*veto_name)(uint32_t veto);
    const char *(*veto_text)(uint32_t veto); // the same as a sentence
    bool clears_result;                      // `find` itself sets the frame result to zero
} psvi_broad_phase;

// The pairs of a frame, in any order, named by indices below `boxes`, and where the changes against the frame before
// go.
typedef struct psvi_changes {
    const psv_pair *pairs;
    const uint64_t *count;
    uint64_t capacity, boxes;
    psv_pair *begin, *end;
    uint64_t *begin_count, *end_count;
    void *memory; // what is known of the frame before, and room for work
    // The first boxes are kept, and their pairs with each other come first in `pairs`.
    uint32_t serial; // of the order in which the kept boxes were sorted; 0: none are kept, or it is not known
    uint32_t kept;
    const psv_pair *kept_pairs;
    const uint64_t *kept_count;
} psvi_changes;

// Backend services around the methods. All asynchronous on CUDA.
typedef struct psvi_collision_ops {
    // Sorts pairs ascending by (a, b); count = min(*count, capacity). `scratch` as asked for by order_scratch_bytes.
    // `sorter` is a psv_sorter of u64 keys without values for `capacity` keys, whose end_bit is 2 k with 2^k >= every
    // index: the key of a pair is a << k | b, so pairs are packed in place, sorted by psv_sort_keys_indirect and
    // unpacked.
    uint64_t (*order_scratch_bytes)(uint64_t capacity);
    psv_status (*order_pairs)(psv_context *context, void *sorter, psv_pair *pairs, const uint64_t *count,
                              uint64_t capacity, void *scratch);
    // begin = now - before, end = before - now; all lists ascending; counts are written exactly. Overflow
    // (*now_count > capacity): both counts are 0.
    uint64_t (*events_scratch_bytes)(uint64_t capacity);
    psv_status (*diff_pairs)(psv_context *context, const psv_pair *now, const uint64_t *now_count,
                             const psv_pair *before, const uint64_t *before_count, uint64_t capacity, psv_pair *begin,
                             uint64_t *begin_count, psv_pair *end, uint64_t *end_count, void *scratch);
    // before = now, for the next frame; nothing after an overflow (*now_count > capacity).
    psv_status (*keep_pairs)(psv_context *context, const psv_pair *now, const uint64_t *now_count, psv_pair *before,
                             uint64_t *before_count, uint64_t capacity);
    // Optional, all or none: events of pairs that nobody asked to have in order, in place of order_pairs, diff_pairs
    // and keep_pairs. Both lists are ascending; an overflow counts for nothing, as there.
    uint64_t (*changes_bytes)(uint64_t capacity, uint64_t boxes); // of psvi_changes.memory; 0: not for so many pairs
    psv_status (*begin_changes)(psv_context *context, const psvi_changes *changes); // once, for new memory
    psv_status (*find_changes)(psv_context *context, const psvi_changes *changes);
    // Of the frame before: leaves the pairs of kept boxes with each other out of what is compared next, if that frame
    // had them from the same order; or takes them in again.
    psv_status (*leave_kept_changes)(psv_context *context, const psvi_changes *changes, bool leave);
    psv_status (*carry_changes)(psv_context *context, const psvi_changes *from, const psvi_changes *to); // to more room
    // The rules of a frame to the backend's memory, where kernels read them; NULL: `find` gets the host's.
    psv_status (*put_rules)(psv_context *context, const struct psvi_pair_rules *rules, struct psvi_pair_rules *target);
    // Adds pairs to a table of pair_rules.h that has room for them. Without `check_pairs` the places of the table hold
    // psv_pair, in an order of the backend's own.
    psv_status (*exclude_pairs)(psv_context *context, const psv_pair *pairs, uint64_t count, struct psvi_bucket *table,
                                uint64_t last_bucket);
    // Optional. Adds pairs of one set to the lists of both their boxes, of which there are `boxes`.
    psv_status (*list_partners)(psv_context *context, const psv_pair *pairs, uint64_t count,
                                struct psvi_partners *partners, uint64_t boxes);
    // boxes[i] = psvi_narrow_box of box i of the view, from `first` to its last one.
    psv_status (*narrow_boxes)(psv_context *context, const struct psvi_rule_side *side, const double *origin,
                               uint64_t first, const psvi_box_view *view, psv_aabb *boxes);
    // Indices of min(*count, capacity) pairs become ids (NULL: they stay), the lower one first unless `between`.
    psv_status (*name_pairs)(psv_context *context, const uint32_t *a_ids, const uint32_t *b_ids, bool between,
                             psv_pair *pairs, const uint64_t *count, uint64_t capacity);
    psv_status (*merge_kept)(psv_context *context, const psvi_kept_merge *merge);
    // Where counts may be the device's: *target = max(*count - less, 0)
    psv_status (*subtract_count)(psv_context *context, const uint64_t *count, uint64_t less, uint64_t *target);
    // Optional, all or none, for margins; they run at once. Widens the boxes of a frame and notes their tags.
    void (*widen_boxes)(psv_context *context, const psvi_find_input *input, psvi_near *near);
    // Gives the boxes of `count` pairs their places, and fills these.
    void (*place_boxes)(psv_context *context, const psvi_find_input *input, psvi_near *near, const psv_pair *pairs,
                        uint64_t count);
    // Whether all boxes lie within their widened ones. If so, result->boxes, the bad boxes and the places are those of
    // this frame.
    bool (*are_near)(psv_context *context, const psvi_find_input *input, const psvi_near *near);
    // Those of `count` pairs that are pairs of this frame.
    void (*test_again)(psv_context *context, const psvi_find_input *input, const psvi_near *near, const psv_pair *pairs,
                       uint64_t count);
    // Optional: see pair_check.h. Without it the check runs on the CPU.
    psv_status (*check_pairs)(psv_context *context, const struct psvi_check_input *input);
    psv_status (*compute_bounds)(psv_context *context, const psv_bounds_input *input, psv_aabb *boxes);
} psvi_collision_ops;

// Boxes: a disabled box is skipped unseen; then a box is bad (left out, counted in bad_count, listed in bad_boxes) when
// it has a NaN, min > max, or a world number >= world_count. See box_test.h for the exact tests. «boxes» of the frame
// result counts those that are neither disabled nor bad.

#define PSVI_MAX_CHOICES 3

// What a backend has for this layer. Where pointers are NULL it does not have that.
typedef struct psvi_collision_module {
    const psvi_broad_phase *const *broad_phases; // ending with NULL, in the order in which help texts show them
    const psvi_collision_ops *ops;
    const struct psvi_tree_ops *trees;            // collision/src/queries/tree_internal.h
    const struct psvi_element_ops *elements;      // element_ops.h
    const struct psvi_neighbour_ops *neighbours;  // neighbour_ops.h
    const struct psvi_group_box_ops *group_boxes; // collision/distributed/group_boxes.h
    // What «auto» chooses between: the first choice, the other one, the one for few boxes; NULL: not there. None: the
    // first of broad_phases.
    const psvi_broad_phase *auto_choices[PSVI_MAX_CHOICES];
    // With a clock of its own: what the other choice takes at its best, on a fast device.
    double other_least_ms, other_least_ms_a_box;
    bool shares_scratch; // the choices keep nothing between frames in their scratch memory: one block serves them all
} psvi_collision_module;

extern const psvi_collision_module psvi_cpu_collision, psvi_cuda_collision, psvi_gl_collision,
    psvi_vulkan_collision; // those in this build
extern const psvi_collision_ops psvi_collision_ops_cpu, psvi_collision_ops_cuda, psvi_collision_ops_gpu;
const psvi_collision_module *psvi_collision_module_of(psv_backend backend); // NULL: it finds no pairs in this build
const psvi_collision_ops *psvi_collision_ops_of(psv_backend backend);

// For `statistics` of a method with a sorter: what the sorter says of its passes.
struct psv_sorter;
psv_status psvi_add_sort_statistics(struct psv_sorter *sorter, psv_pair_statistics *statistics);

// The frame's result before a method runs.
psv_status psvi_clear_result(psv_context *context, const psvi_find_input *input);
const psvi_broad_phase *psvi_find_broad_phase(psv_backend backend, const char *name);

#ifdef __cplusplus
}
#endif
#endif
