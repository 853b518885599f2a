// Pairs of overlapping boxes over a group: each rank gives the boxes that it has, wherever they lie, and gets a part of
// the pairs. All parts together are the pairs that one finder reports for all boxes, each once.
//
// Space is cut by axis-aligned planes into a region for each rank, so that all have about the same work. A box goes to
// each rank whose region it touches. Where the overlap of two boxes begins (its lower corner) lies in one region, and
// that rank reports the pair: nothing is found twice, and nothing has to be agreed on. See docs/how/many-gpus.md.
#ifndef PAIRSIEVE_GROUP_PAIRS_H
#define PAIRSIEVE_GROUP_PAIRS_H

#include "pairsieve/collision.h"
#include "pairsieve/group.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psv_group_finder psv_group_finder;

typedef struct psv_group_finder_def {
    uint32_t cookie; // set by psv_default_group_finder_def
    // Input and output of this rank. max_boxes: the most boxes that this rank passes in one call (0 is allowed here).
    // max_pairs: its room for the pairs that it finds, including pairs that another rank reports (0: 8 a box of a mean
    // rank). grow_pairs, true by default here: that room grows on each rank as needed. sort_output: the parts in order
    // of ranks are in ascending (a, b) order and of about the same size. method, sort_method, events, doubles,
    // world_count and count_worlds as in one finder; max_excluded is room for the excluded pairs of all ranks. All
    // fields except max_boxes and max_pairs must be the same on all ranks. Kept boxes and margins have no effect. Not
    // supported: world_pairs, and ids, which boxes always have here.
    psv_pair_finder_def local;
    // Room for boxes on this rank, including boxes of other ranks; 0: a quarter more than the mean of all max_boxes.
    uint64_t max_held;
    bool grow_held; // that room grows as needed; default true. Without it: PSV_ERROR_CAPACITY with the room needed
} psv_group_finder_def;

psv_group_finder_def psv_default_group_finder_def(void);

// Collective. Errors: those of psv_create_pair_finder, of any rank; PSV_ERROR_ARGUMENT where the defs differ. Blocks.
psv_status psv_create_group_finder(psv_group *group, const psv_group_finder_def *def, psv_group_finder **finder);
void psv_destroy_group_finder(psv_group_finder *finder); // NULL is allowed. Blocks

// Sets the rules from the next call on, as psv_set_pair_rules; they replace the previous rules. NULL: no rules. Each
// rank passes the excluded pairs that it knows, by id, and the rules of all ranks hold on every rank:
// def.local.max_excluded is room for the sum of all. The layer matrix is the same on all ranks. Collective. Errors, on
// all ranks alike: those of psv_set_pair_rules; PSV_ERROR_ARGUMENT (matrices that differ); PSV_ERROR_CAPACITY (more
// excluded pairs in all than def.local.max_excluded); PSV_ERROR_MEMORY. A failed call leaves no rules. Blocks.
psv_status psv_set_group_pair_rules(psv_group_finder *finder, const psv_pair_rules *rules);

// All overlapping pairs of the boxes of all ranks. Boxes have flags, filters, worlds, owners and layers if any rank
// passes them. Either all ranks with boxes pass them in double precision, with the same origin, or none does. Pairs
// name a box by its id, and ids are distinct over all ranks. Either all ranks with boxes pass ids, or none does; the id
// is then the number of the box, counted from rank 0 on. Bad boxes are left out and counted. Collective. Errors, on all
// ranks alike: those of psv_find_pairs; PSV_ERROR_ARGUMENT (ids or doubles on some ranks only, origins that differ);
// PSV_ERROR_UNSUPPORTED (count_buffer); PSV_ERROR_CAPACITY, also for 2^32 boxes in all and for room that may not grow,
// where the sentence names the rank and the room that it needs. Blocks.
psv_status psv_group_find_pairs(psv_group_finder *finder, const psv_box_set *boxes);

// Of the last call: this rank's pairs, in memory of the context's backend until the next call, a < b in each; their
// number and that of all ranks. Local calls.
psv_buffer psv_group_pair_buffer(const psv_group_finder *finder);
uint64_t psv_group_pair_count(const psv_group_finder *finder);
uint64_t psv_group_total_pairs(const psv_group_finder *finder);

// Of the last call: the pairs of each world on all ranks together, u64, alike on each rank, in memory of the context's
// backend until the next call; empty without def.local.count_worlds. Local.
psv_buffer psv_group_world_pair_buffer(const psv_group_finder *finder);

// Copies this rank's pairs to host memory. *count (may be NULL) gets their number, also when `capacity` is too small
// (PSV_ERROR_CAPACITY; the first `capacity` are copied). Local. Blocks.
psv_status psv_read_group_pairs(psv_group_finder *finder, psv_pair *pairs, uint64_t capacity, uint64_t *count);

// Pairs of the last call that the previous call did not have, and pairs that ended; needs def.local.events. A pair
// belongs to the same rank in every call here, whichever rank found it. The lists of all ranks together are those of
// one finder, ascending on each rank. In memory of the finder until its next call. Collective, once after each find
// call.
typedef struct psv_group_events {
    psv_buffer begin, end;                       // psv_pair
    uint64_t begin_count, end_count;             // of this rank
    uint64_t total_begin_count, total_end_count; // of all ranks
} psv_group_events;

psv_status psv_find_group_events(psv_group_finder *finder, psv_group_events *events);

// Of the last call.
typedef struct psv_group_pair_statistics {
    uint64_t boxes;       // of all ranks, as they were given
    uint64_t bad_boxes;   // of all ranks
    uint64_t held_by_all; // on all ranks, including copies of boxes that touch several regions
    uint64_t held;        // on this rank, its own and others'
    uint64_t held_border; // boxes of `held` that other ranks hold too
    uint64_t sent;        // boxes that this rank sent to others
    uint64_t sent_bytes;
    uint64_t copied;           // boxes copied here: all held boxes, or, where hardly any box moves, boxes from other
                               // ranks and own boxes near them
    uint64_t seen_pairs;       // found here, including pairs that another rank reports
    double imbalance;          // boxes held by the fullest rank over the mean
    double pair_imbalance;     // the same for seen_pairs
    double split_ms;           // samples, regions, and the target ranks of each box
    double move_ms;            // to the other ranks and from them
    double find_ms;            // the finder of this rank
    double keep_ms;            // which pairs this rank reports, and their names; their order
    psv_pair_statistics local; // of the finder of this rank
} psv_group_pair_statistics;

psv_status psv_read_group_pair_statistics(psv_group_finder *finder, psv_group_pair_statistics *statistics);

#ifdef __cplusplus
}
#endif
#endif
