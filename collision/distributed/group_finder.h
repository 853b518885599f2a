// A group's finder, shared by its files.
#ifndef PAIRSIEVE_GROUP_FINDER_H
#define PAIRSIEVE_GROUP_FINDER_H

#include "../../core/backoff.h"
#include "../../sort/distributed/group_internal.h"
#include "../../sort/distributed/group_keys.h"
#include "group_boxes.h"

#define PSVI_GROUP_FINDER_COOKIE 0x70736770u // "psgp"

// Samples of boxes for each rank: a region's boxes then stray by 1.6%.
#define PSVI_BOX_SAMPLES 4096

// Regions serve again while the fullest rank exceeds the mean by at most this share: three times the deviation of
// samples.
#define PSVI_KEPT_IMBALANCE 1.05

// Arrays that travel with the boxes, where any rank has them.
typedef enum psvi_column {
    PSVI_COLUMN_BOX,
    PSVI_COLUMN_ID,
    PSVI_COLUMN_FLAGS,
    PSVI_COLUMN_FILTER,
    PSVI_COLUMN_WORLD,
    PSVI_COLUMN_OWNER,
    PSVI_COLUMN_LAYER,
    PSVI_COLUMN_CORNERS, // in double precision, in place of PSVI_COLUMN_BOX
    PSVI_COLUMNS
} psvi_column;

// What a rank says at the end of a call.
typedef struct psvi_rank_work {
    uint64_t held, seen, kept;
} psvi_rank_work;

// The pairs of the last frame and of the one before, each on the rank that it belongs to, in order.
typedef struct psvi_pair_homes {
    psvi_room index, sent, now, before, begin, end, counts, scratch;
    uint64_t now_count, before_count;
    psv_sorter *sorter;
    uint64_t sorter_room;
    bool done; // for the last frame
} psvi_pair_homes;

// Boxes that are searched in place; see group_staying.c.
typedef struct psvi_staying {
    bool possible; // this call's boxes allow it
    bool likely;   // so it was in the last call
    bool early;    // the finder of this rank works on them already, beside the following steps
    bool active;   // in this call
    psvi_backoff backoff;
    psv_box_set own;
    uint64_t inside, arrived, near; // of this call: boxes of this region alone; from others; that these may overlap
    psvi_room away_bits, away_list, near_list;
    psv_aabb reaches[PSVI_REACHES], *arrivals; // where boxes from others are looked for; where they were, of each rank
    psv_pair_finder *second;                   // of arrivals and near boxes
    uint64_t second_room;
} psvi_staying;

struct psv_group_finder {
    uint32_t cookie;
    psv_group *group;
    psv_context *context;
    psv_group_finder_def def;
    psv_pair_finder_def local_def; // its max_boxes as it is now
    psv_pair_finder *local;
    psv_group_sorter *order; // sort_output
    const psvi_group_box_ops *ops;
    void *state;
    psvi_room index, sent[PSVI_COLUMNS], held[PSVI_COLUMNS], kept;
    psvi_room narrow; // this rank's boxes in double precision as floats
    double origin[3]; // of all ranks' boxes in double precision
    // Rules of the pairs, the same on all ranks: the excluded pairs of all of them, and the layer matrix.
    psvi_room excluded, layer_matrix;
    uint64_t excluded_count;
    bool has_matrix;
    psvi_room world_pairs;  // count_worlds: of all ranks
    uint64_t *world_counts; // on the host: of this rank, then of all ranks
    psv_buffer pairs;       // of the last frame
    uint64_t pair_count, total_pairs;
    bool has_frame;
    psvi_box_sample *samples, *all_samples;
    psvi_sample_key *sample_keys;
    uint64_t sample_room, all_sample_room;
    psvi_cut *cuts, *last_cuts; // of this frame and of the last one
    psvi_rank_work *work, *last_work;
    bool has_last;
    // On the host, for each rank: boxes passed, samples; boxes to and from it and their first positions, first the
    // boxes in one region and then the boxes at borders.
    uint64_t *given, *sampled;
    uint64_t *sent_count[2], *sent_first[2], *held_count[2], *held_first[2];
    uint64_t *lists;  // lengths of this rank's lists
    uint64_t *matrix; // of all ranks'
    uint64_t held_total, border_first;
    psvi_pair_homes homes;
    psvi_staying staying;
    psv_group_pair_statistics statistics;
};

psv_status psvi_check_group_finder(const psv_group_finder *finder);
void psvi_free_pair_homes(psv_group_finder *finder);

// group_exchange.c: the boxes of this call to the ranks whose regions they touch. `columns`: bits of psvi_column.
psv_status psvi_move_boxes(psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side,
                           uint32_t columns);

// Room for boxes to send and boxes held, of which the first `there` are in place.
psv_status psvi_make_box_rooms(psv_group_finder *finder, uint64_t sent, uint64_t held, uint64_t there,
                               uint32_t columns);
// Packs one array of the `count` boxes that `index` names to the held boxes from position `first` on.
psv_status psvi_pack_column(psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side, int column,
                            const uint32_t *index, uint64_t count, uint64_t first);

// group_rules.c: a new finder of this rank for `max_boxes`, with the group's rules. Local.
psv_status psvi_make_local_finder(psv_group_finder *finder, const psv_pair_finder_def *def, psv_pair_finder **made);

// group_staying.c
void psvi_free_staying(psv_group_finder *finder);
// Whether the boxes of this call may be searched in place; begins the search if they were in the last call.
psv_status psvi_begin_staying(psv_group_finder *finder, const psv_box_set *boxes, const psvi_box_view *view,
                              const psvi_rule_side *side);
// Finds the boxes that other ranks need: boxes->some. `active` is false afterwards if there are too many.
psv_status psvi_sift_staying(psv_group_finder *finder, psvi_group_boxes *boxes);
// After the exchange: own boxes that may overlap arrivals join them.
psv_status psvi_add_near(psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side,
                         uint32_t columns);
// Numbers of pairs: seen[0] of `local` among own boxes, seen[1] of `second` among arrivals and near boxes.
psv_status psvi_find_staying(psv_group_finder *finder, const psv_box_set *arrived, uint64_t seen[2]);
void psvi_end_staying(psv_group_finder *finder); // also of a call that failed

#endif
