// One frame of a finder as a list of stages. Each stage is a function of the finder and the frame, and passes its
// results on in psvi_frame. The list is in frame.c:
//
//     view, moved boxes alone (movers.c), or
//     view, room, narrow, rules, find (kept boxes | margins | one pass of the method), grow, note, name, note, order
//
// Events are made on request (pair_events.c).
#ifndef PAIRSIEVE_FRAME_H
#define PAIRSIEVE_FRAME_H

#include "finder.h"

typedef struct psvi_frame {
    // From the caller's sets, by psvi_view_set.
    psvi_find_input given; // views of the sets; no pairs, no rules
    psvi_rule_side a, b;   // the sets as rules see them; b: between only
    double origin[3];
    uint64_t kept, kept_version; // of the set that has kept boxes
    psvi_margin a_margin, b_margin;
    const uint32_t *moved; // boxes of the kept ones that have changed
    uint64_t moved_count;
    bool moved_given; // such a list, which may be empty
    // By psvi_take_movers: the frame is one of movers.c, of this set, and no longer one of kept_boxes.c.
    bool follows, events_read;
    psvi_movers_set set;
    bool grows; // the pair memory may grow
    // From stages.
    psvi_find_input input; // input of a method: `given` with room for pairs, boxes as floats, and rules
    bool again;            // there is more room now
} psvi_frame;

typedef psv_status psvi_stage(psv_pair_finder *finder, psvi_frame *frame);

// Checks the sets; on success the first part of the frame is filled in.
psv_status psvi_view_set(psv_pair_finder *finder, const psv_box_set *boxes, psvi_frame *frame);
psv_status psvi_view_sets(psv_pair_finder *finder, const psv_box_set *a, const psv_box_set *b, psvi_frame *frame);

psvi_stage psvi_stage_room, psvi_stage_narrow, psvi_stage_rules, psvi_stage_grow, psvi_stage_name, psvi_stage_order;
// Pairs for a later frame of moved boxes, before they get names and before they are sorted.
psvi_stage psvi_stage_note, psvi_stage_note_names;

// psv_find_pairs of a checked finder; grows: in place of def.grow_pairs.
psv_status psvi_find_pairs(psv_pair_finder *finder, const psv_box_set *boxes, bool grows);

// --- parts of stages -------------------------------------------------------------------------------------------------

psvi_pair_rules psvi_rules_of(const psv_pair_finder *finder, const psvi_frame *frame, int kind);

// Rules of one of the kinds of psvi_rule_memory: input->rules, which is NULL when they let everything through, and
// input->partners.
psv_status psvi_put_rules(psv_pair_finder *finder, const psvi_frame *frame, int kind, psvi_find_input *input);

// One pass of the finder's method over the boxes of `input`. kept_worlds: counts of worlds to begin with, or NULL.
psv_status psvi_run_method(psv_pair_finder *finder, psvi_find_input *input, const uint64_t *kept_worlds);

// Call before the boxes are narrowed: checks that the kept tree is of these kept boxes, or drops it.
void psvi_check_kept_boxes(psv_pair_finder *finder, const psvi_frame *frame);
// The pair buffer is about to be written by a frame without kept boxes.
psv_status psvi_leave_front(psv_pair_finder *finder);
// A frame with kept boxes (frame->kept > 0).
psv_status psvi_find_with_kept(psv_pair_finder *finder, psvi_frame *frame);

// Moved boxes (movers.c). Whether this frame is one of them.
void psvi_take_movers(psv_pair_finder *finder, psvi_frame *frame);
// Finds the pairs from those of the last frame. *done is false where that is not possible.
psv_status psvi_find_moved(psv_pair_finder *finder, psvi_frame *frame, bool *done);
// Before another way writes the pair memory.
psv_status psvi_leave_movers(psv_pair_finder *finder, const psvi_frame *frame);
// After it: the next frame may begin with these pairs.
void psvi_note_frame(psv_pair_finder *finder, const psvi_frame *frame);

bool psvi_has_margins(const psv_pair_finder *finder, const psvi_frame *frame); // and the backend uses them
psv_status psvi_find_with_margins(psv_pair_finder *finder, psvi_frame *frame);

#endif
