// A finder: the methods it chooses between, pair memory, rules, kept boxes, ordering and events.
#ifndef PAIRSIEVE_FINDER_COMMON_H
#define PAIRSIEVE_FINDER_COMMON_H

#include "../../core/backoff.h"
#include "broad_phase.h"
#include "movers.h"
#include "pair_check.h"
#include "pair_partners.h"
#include "pair_rules.h"
#include "pairsieve/sort.h"
#include "trials.h"

// Everything whose size follows the room for pairs. Growth makes a new one.
typedef struct psvi_pair_memory {
    uint64_t capacity;
    psv_pair *pairs;
    psv_pair *before, *begin, *end; // events only
    void *changes;                  // events by ops->find_changes: in place of `before`, and no sorter
    psv_pair *kept;                 // def.max_kept only: pairs of kept boxes, or what moved boxes reach
    psvi_pair_link *links;          // boxes that are followed: of the pairs
    psv_pair *listed, *named; // of these: pairs by indices with ids or sort_output; by ids, where pairs get sorted
    psv_pair *near, *placed;  // def.margins only
    psv_sorter *sorter;       // sort_output or events
    void *order_scratch;
    void *events_scratch;
} psvi_pair_memory;

// Which boxes the rules of a frame are for: all; those that are not kept; or all, where pairs are counted together with
// those of the kept boxes. The last are for all boxes of one set whose pairs may be excluded and nothing else: they are
// the same in all frames, and put once.
enum { PSVI_RULES_ALL = 0, PSVI_RULES_MOVING = 1, PSVI_RULES_KEPT = 2, PSVI_RULES_LISTED = 3, PSVI_RULE_KINDS = 4 };

// What the rules of pairs need, in the backend's memory but for `given`.
typedef struct psvi_rule_memory {
    psvi_pair_rules given[PSVI_RULE_KINDS]; // of the frame
    psvi_pair_rules *rules;                 // the same where kernels read them: with ops->put_rules only
    uint32_t *layer_matrix;
    psvi_bucket *excluded;
    psvi_partners *partners; // of each box, with ops->list_partners only
    uint64_t *world_pairs;   // one count a world
    psv_aabb *narrow;        // boxes in double precision as floats
    bool has_matrix, has_excluded;
} psvi_rule_memory;

// What is known of kept boxes between frames, in the backend's memory where it is a pointer.
typedef struct psvi_kept {
    psvi_choice tree;
    psvi_frame_result *result; // of the kept boxes among themselves
    uint32_t *bad_boxes;
    uint64_t *world_pairs;
    uint64_t *moving_count; // boxes that are not kept, where the count is the device's; ticket and there of the merge
    // Whether all this is of `count` boxes of version `version`.
    bool valid;
    bool between;
    uint64_t count, version;
    double origin[3];
    uint32_t serial;   // of this order; 0: there was none yet
    uint32_t in_front; // serial of the kept boxes whose pairs come first in the last frame's list; 0: none
} psvi_kept;

// The list of the frame before, where events are found by ops->find_changes.
typedef struct psvi_changes_form {
    uint32_t serial;  // psvi_kept.in_front of its frame
    bool lacks_kept;  // it is without the pairs of kept boxes
    bool is_captured; // a graph may find events at any time: no list lacks pairs
} psvi_changes_form;

// Boxes with margins, see margins.c. The pairs of widened boxes are psvi_pair_memory.near.
typedef struct psvi_margins {
    psvi_near near;
    uint64_t pair_count;
    uint64_t a_count, b_count; // boxes that are known
    bool between, valid;
    uint32_t reused;             // frames since they were looked for
    const psvi_choice *searched; // by this one
    psvi_backoff backoff;
} psvi_margins;

// «auto» on a backend with a clock of its own, where there are two choices.
typedef struct psvi_trial_clock {
    psvi_trials trials;
    void *begin, *end; // marks on the device
    uint64_t *pairs;   // of the frame between them; host memory that the device writes, NULL where there is none
    psvi_trial_sample sample;
    bool waits; // for the marks
} psvi_trial_clock;

#define PSVI_FINDER_COOKIE 0x70737666u // "psvf"

struct psv_pair_finder {
    uint32_t cookie;
    psv_context *context;
    const psvi_collision_ops *ops;
    psv_pair_finder_def def; // strings point to the tables' own
    psvi_choice choices[PSVI_MAX_CHOICES];
    uint32_t choice_count;
    const psvi_choice *last; // that ran
    psvi_trial_clock clock;
    void *shared; // scratch memory of several choices
    uint64_t shared_bytes;
    psvi_frame_result *result; // backend memory
    uint32_t *bad_boxes;       // backend memory, max_boxes
    psvi_check_memory *check;  // backend memory
    uint64_t checks;           // calls of psv_check_pairs
    psvi_pair_memory memory;
    psvi_rule_memory rules;
    psvi_kept kept;
    psvi_margins margins;
    psvi_mover_state movers;
    uint64_t *event_counts; // backend memory: before, begin, end
    uint64_t find_calls;
    psvi_changes_form changes_form;
    bool has_frame, events_done; // of the last frame
    bool by_place; // for a group's finder: pairs name boxes by their places, ids serve excluded pairs alone
};

enum { PSVI_EVENTS_BEFORE = 0, PSVI_EVENTS_BEGIN = 1, PSVI_EVENTS_END = 2, PSVI_EVENTS_COUNTS = 3 };

static inline uint64_t psvi_sum_parts(const psv_pair_finder_parts *parts) {
    return parts->methods + parts->pairs + parts->order + parts->events + parts->rules + parts->kept_boxes +
           parts->margins + parts->results;
}

// Fills `choices` (room for PSVI_MAX_CHOICES) with the methods that def->method stands for; 0: unknown.
uint32_t psvi_list_choices(psv_backend backend, const psv_pair_finder_def *def, const psvi_broad_phase **choices);

// On the CPU, index of the choice that is best for this frame, from what the host knows.
uint32_t psvi_pick_choice(const psv_pair_finder *finder, const psvi_find_input *input);

// Elsewhere the clock says which choice is best. The frame lies between the two calls.
psv_status psvi_create_trials(psv_pair_finder *finder); // on failure psvi_destroy_trials frees what there is
void psvi_destroy_trials(psv_pair_finder *finder);
psvi_trial_turn psvi_begin_turn(psv_pair_finder *finder, const psvi_find_input *input);
psv_status psvi_end_turn(psv_pair_finder *finder, psvi_trial_turn turn, const psvi_find_input *input);

// Checks a box set and gives addresses. `name` is the argument's name in the sentence.
psv_status psvi_view_boxes(psv_context *context, const psv_box_set *set, const char *name, psvi_box_view *view,
                           psvi_rule_side *side);

// What ops->find_changes gets of this memory.
static inline psvi_changes psvi_changes_of(const psv_pair_finder *finder, const psvi_pair_memory *memory) {
    return (psvi_changes){
        .pairs = memory->pairs,
        .count = &finder->result->pair_count,
        .capacity = memory->capacity,
        .boxes = finder->def.max_boxes,
        .begin = memory->begin,
        .end = memory->end,
        .begin_count = &finder->event_counts[PSVI_EVENTS_BEGIN],
        .end_count = &finder->event_counts[PSVI_EVENTS_END],
        .memory = memory->changes,
        .kept_pairs = memory->kept,
        .kept_count = finder->kept.result == NULL ? NULL : &finder->kept.result->pair_count,
    };
}

// Before the pairs of kept boxes are lost: the list of the frame before has them again.
psv_status psvi_take_in_kept_changes(psv_pair_finder *finder);

// Pair memory for `capacity` pairs. On failure nothing is held.
void psvi_add_pair_memory(psv_backend backend, const psv_pair_finder_def *def, uint64_t capacity,
                          psv_pair_finder_parts *parts);
psv_status psvi_create_pair_memory(psv_pair_finder *finder, uint64_t capacity, psvi_pair_memory *memory);
void psvi_destroy_pair_memory(psv_pair_finder *finder, psvi_pair_memory *memory);

// Replaces the pair memory by a larger one; the previous frame's pairs are kept.
psv_status psvi_grow_pair_memory(psv_pair_finder *finder, uint64_t capacity);

// Of a count for each world; 0 where they are not counted.
static inline uint64_t psvi_world_count_bytes(const psv_pair_finder_def *def) {
    return def->count_worlds || def->world_pairs > 0 ? def->world_count * sizeof(uint64_t) : 0;
}

uint64_t psvi_rule_memory_bytes(psv_backend backend, const psv_pair_finder_def *def);
psv_status psvi_create_rule_memory(psv_pair_finder *finder); // on failure psvi_destroy_rule_memory frees what there is
void psvi_destroy_rule_memory(psv_pair_finder *finder);

#define PSVI_MATRIX_BYTES (PSV_LAYERS * sizeof(uint32_t))
psv_status psvi_check_rules(psv_context *context, const psv_pair_finder_def *def, const psv_pair_rules *rules);

// Before each pass of a method: the counts of worlds are zero, or those of `from`.
psv_status psvi_begin_world_pairs(psv_pair_finder *finder, const uint64_t *from);

bool psvi_keeps_boxes(psv_backend backend);
uint64_t psvi_kept_bytes(psv_backend backend, const psv_pair_finder_def *def);
psv_status psvi_create_kept(psv_pair_finder *finder); // on failure psvi_destroy_kept frees what there is
void psvi_destroy_kept(psv_pair_finder *finder);
psv_status psvi_check_kept(psv_pair_finder *finder, const psv_box_set *a,
                           const psv_box_set *b);                          // b: NULL or a second set
bool psvi_can_follow(psv_backend backend, const psv_pair_finder_def *def); // boxes of one set, without room of worlds
uint64_t psvi_mover_bytes(psv_backend backend, const psv_pair_finder_def *def);
psv_status psvi_create_movers(psv_pair_finder *finder); // on failure psvi_destroy_movers frees what there is
void psvi_destroy_movers(psv_pair_finder *finder);
// Events by a comparison of the last frame's pairs with those before. Sets events_done.
psv_status psvi_make_event_lists(psv_pair_finder *finder);
uint64_t psvi_margin_bytes(psv_backend backend, const psv_pair_finder_def *def);
psv_status psvi_create_margins(psv_pair_finder *finder); // on failure psvi_destroy_margins frees what there is
void psvi_destroy_margins(psv_pair_finder *finder);
// Makes a choice of choice->method and choice->def. `shared`: scratch memory that it shares, or NULL. On failure
// psvi_destroy_choice frees what there is.
psv_status psvi_create_choice(psv_context *context, void *shared, psvi_choice *choice);
void psvi_destroy_choice(psvi_choice *choice);
// Scratch memory of several choices.
uint64_t psvi_choice_bytes(psv_backend backend, const psvi_broad_phase *const *choices, uint32_t count,
                           const psv_pair_finder_def *def);

uint64_t psvi_check_bytes(void);

psv_status psvi_check_finder(const psv_pair_finder *finder);
psv_status psvi_check_frame(psv_pair_finder *finder);                             // there was a find call
psv_status psvi_fetch_result(psv_pair_finder *finder, psvi_frame_result *result); // Blocks
// Begins a call that copies a list out: checks `out` (called `name` in the sentence) and fetches the result. Blocks.
psv_status psvi_begin_read(psv_pair_finder *finder, const void *out, const char *name, uint64_t capacity,
                           psvi_frame_result *result);
psv_status psvi_report_overflow(psv_pair_finder *finder, uint64_t count);
// What the last frame lacks, as far as its result tells.
psv_status psvi_report_frame(psv_pair_finder *finder, const psvi_frame_result *result);

#endif
