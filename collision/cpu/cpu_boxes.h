// What the CPU methods share: reading box sets, the list of living boxes, and boxes as arrays of lanes. Also the SIMD
// test of one box against a range of others, and the output of pairs.
//
// For psv_find_pairs_between both sets share one index space: ids from a.count on are boxes of the second set.
#ifndef PAIRSIEVE_CPU_BOXES_H
#define PAIRSIEVE_CPU_BOXES_H

#include <string.h>

#include "../../core/cpu/workers.h"
#include "../src/box_test.h"
#include "../src/broad_phase.h"
#include "../src/pair_partners.h"
#include "../src/pair_rules.h"

#define PSVI_LANES 16        // widest vector, in floats: arrays of lanes are padded by this much
#define PSVI_SCAN_LIMIT 4096 // most boxes of one psvi_scan_lanes call
#define PSVI_SINK_PAIRS 1024 // pairs that a worker collects before it appends them

// Boxes as six arrays and their ids. Padding may be read, never reported.
typedef struct psvi_lanes {
    float *min[3];
    float *max[3];
    uint32_t *id;
} psvi_lanes;

static inline uint64_t psvi_lanes_bytes(uint64_t count) { return 7 * psvi_align((count + PSVI_LANES) * sizeof(float)); }
psvi_lanes psvi_carve_lanes(char **scratch, uint64_t count);
void psvi_pad_lanes(const psvi_lanes *lanes, uint64_t count); // zeros behind the last

static inline uint64_t psvi_input_count(const psvi_find_input *input) {
    return input->a.count + (input->between ? input->b.count : 0);
}

// The view that holds box `id`, and the box's place in it.
static inline const psvi_box_view *psvi_view_of(const psvi_find_input *input, uint64_t id, uint64_t *place) {
    bool second = id >= input->a.count;
    *place = second ? id - input->a.count : id;
    return second ? &input->b : &input->a;
}

// Reads a box: six floats min[3], max[3].
static inline void psvi_read_box(const psvi_find_input *input, uint64_t id, float box[6]) {
    uint64_t place;
    const psvi_box_view *view = psvi_view_of(input, id, &place);
    memcpy(box, view->min + place * view->min_stride, 12);
    memcpy(box + 3, view->max + place * view->max_stride, 12);
}

// Asks for a box that will be read soon: boxes in sorted order are anywhere in memory.
static inline void psvi_prefetch_box(const psvi_find_input *input, uint64_t id) {
    uint64_t place;
    const psvi_box_view *view = psvi_view_of(input, id, &place);
    __builtin_prefetch(view->min + place * view->min_stride);
    __builtin_prefetch(view->max + place * view->max_stride + 8);
}

#define PSVI_PREFETCH_AHEAD 24 // boxes

static inline uint32_t psvi_read_world(const psvi_find_input *input, uint64_t id) {
    uint64_t place;
    const psvi_box_view *view = psvi_view_of(input, id, &place);
    return view->worlds == NULL ? 0 : view->worlds[place];
}

typedef enum psvi_box_kind { PSVI_BOX_LIVE, PSVI_BOX_DISABLED, PSVI_BOX_BAD } psvi_box_kind;

// Reads box `place` of a view and judges it; `box` is read for living and bad boxes only.
static inline psvi_box_kind psvi_judge_place(const psvi_box_view *view, uint32_t world_count, uint64_t place,
                                             float box[6]) {
    if (view->flags != NULL && (view->flags[place] & PSV_BOX_DISABLED) != 0) return PSVI_BOX_DISABLED;
    memcpy(box, view->min + place * view->min_stride, 12);
    memcpy(box + 3, view->max + place * view->max_stride, 12);
    if (psvi_box_is_bad(box, box + 3)) return PSVI_BOX_BAD;
    if (view->worlds != NULL && view->worlds[place] >= world_count) return PSVI_BOX_BAD;
    return PSVI_BOX_LIVE;
}

// The same by id.
static inline psvi_box_kind psvi_judge_box(const psvi_find_input *input, uint64_t id, float box[6]) {
    uint64_t place;
    const psvi_box_view *view = psvi_view_of(input, id, &place);
    return psvi_judge_place(view, input->world_count, place, box);
}

// Appends bad boxes to the frame's list; safe from several threads.
void psvi_add_bad_boxes(const psvi_find_input *input, const uint32_t *ids, uint64_t count);

// Writes the ids of the living boxes, ascending, and returns how many; fills `boxes` and the bad boxes of the result.
uint64_t psvi_collect_boxes(psv_context *context, const psvi_find_input *input, uint32_t *ids);

// ids[i] = from[order[i]] for i below count, where ids may be order.
void psvi_follow_order(psv_context *context, uint32_t *ids, const uint32_t *order, const uint32_t *from,
                       uint64_t count);

// lanes[i] = box ids[i].
void psvi_gather_lanes(psv_context *context, const psvi_find_input *input, const uint32_t *ids, uint64_t count,
                       const psvi_lanes *lanes);

// Writes the ids of the boxes of [first, end) that overlap `box` (min[3], max[3]) to `hits` and returns how many. The
// range has at most PSVI_SCAN_LIMIT boxes. `hits` needs room for PSVI_LANES more ids than the range has.
typedef uint32_t (*psvi_scan_lanes)(const psvi_lanes *lanes, uint64_t first, uint64_t end, const float box[6],
                                    uint32_t *hits);
psvi_scan_lanes psvi_best_scan(void); // the fastest that this processor runs

// Bits of the boxes first .. first + 15 that overlap `box`; padding may be among them.
typedef uint32_t (*psvi_test_lanes)(const psvi_lanes *lanes, uint64_t first, const float box[6]);
psvi_test_lanes psvi_best_test(void);

// --- rules -----------------------------------------------------------------------------------------------------------

// Keeps the pairs that pass the frame's rules, in order, and returns their number. Worlds are counted.
uint32_t psvi_keep_ruled_pairs(const psvi_pair_rules *rules, psv_pair *pairs, uint32_t count);

psv_status psvi_exclude_pairs_cpu(psv_context *context, const psv_pair *pairs, uint64_t count, psvi_bucket *table,
                                  uint64_t last_bucket);
psv_status psvi_list_partners_cpu(psv_context *context, const psv_pair *pairs, uint64_t count, psvi_partners *partners,
                                  uint64_t boxes);
psv_status psvi_narrow_boxes_cpu(psv_context *context, const psvi_rule_side *side, const double *origin, uint64_t first,
                                 const psvi_box_view *view, psv_aabb *boxes);
psv_status psvi_merge_kept_cpu(psv_context *context, const psvi_kept_merge *merge);
psv_status psvi_name_pairs_cpu(psv_context *context, const uint32_t *a_ids, const uint32_t *b_ids, bool between,
                               psv_pair *pairs, const uint64_t *count, uint64_t capacity);

psv_status psvi_check_pairs_cpu(psv_context *context, const struct psvi_check_input *input);

// --- margins ---------------------------------------------------------------------------------------------------------

void psvi_widen_boxes_cpu(psv_context *context, const psvi_find_input *input, psvi_near *near);
void psvi_place_boxes_cpu(psv_context *context, const psvi_find_input *input, psvi_near *near, const psv_pair *pairs,
                          uint64_t count);
bool psvi_are_near_cpu(psv_context *context, const psvi_find_input *input, const psvi_near *near);
void psvi_test_again_cpu(psv_context *context, const psvi_find_input *input, const psvi_near *near,
                         const psv_pair *pairs, uint64_t count);

// --- output ----------------------------------------------------------------------------------------------------------

// The greater of *value and `other` to *value; safe from several threads.
static inline void psvi_raise_count(uint64_t *value, uint64_t other) {
    uint64_t now = __atomic_load_n(value, __ATOMIC_RELAXED);
    while (now < other && !__atomic_compare_exchange_n(value, &now, other, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

// A worker's pairs on their way to the pair buffer. The true count is kept by the shared result, also past the room.
typedef struct psvi_pair_sink {
    const psvi_find_input *input;
    const psvi_pair_rules *rules; // input->rules, or NULL where the method has asked them
    bool plain;                   // every hit is a pair: no flags, filters, worlds or second set
    bool check_worlds;
    uint32_t count;
    uint64_t candidates; // tests made
    psv_pair pairs[PSVI_SINK_PAIRS];
} psvi_pair_sink;

// `check_worlds`: hits may be of different worlds.
void psvi_open_sink(psvi_pair_sink *sink, const psvi_find_input *input, bool check_worlds);
void psvi_set_sink_worlds(psvi_pair_sink *sink, bool check_worlds); // the same later on
void psvi_flush_sink(psvi_pair_sink *sink);
void psvi_close_sink(psvi_pair_sink *sink); // flushes and adds up the candidates

// Flags, filters, worlds and sets of two overlapping boxes.
bool psvi_may_pair(const psvi_find_input *input, bool check_worlds, uint32_t a, uint32_t b);

// Appends the pairs of box `id` with each of `hits`.
void psvi_emit_hits(psvi_pair_sink *sink, uint32_t id, const uint32_t *hits, uint32_t count);

#endif
