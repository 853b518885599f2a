// A tree of `lbvh` whose boxes are followed from frame to frame. Each box that has ever been alive has a place of its
// own. When the box moves, its lane is written anew, and so are the bounds above it as far as they change. A place
// without a living box holds NaN, which overlaps nothing.
//
// With several worlds, the boxes that were settled lie world by world. Places behind them are for boxes of any world: a
// box that comes or that goes to another world gets one.
#include <math.h>

#include "grid_state.h"
#include "lbvh.h"

#define NO_SLOT UINT32_MAX
#define HIT_ROOM 1024 // hits of one box that a thread collects before it hands them over

static uint64_t node_count(const lbvh_tree *tree, int h) { return (tree->count[h] + LBVH_WIDE - 1) / LBVH_WIDE; }

// Smallest and largest of 16 numbers; NaN counts for nothing.
static float least_of(const float *lane) {
    float low[LBVH_WIDE];
    for (int i = 0; i < LBVH_WIDE; ++i)
        low[i] = lane[i] < INFINITY ? lane[i] : INFINITY;
    for (int half = LBVH_WIDE / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            low[i] = low[i + half] < low[i] ? low[i + half] : low[i];
    return low[0];
}

static float most_of(const float *lane) {
    float high[LBVH_WIDE];
    for (int i = 0; i < LBVH_WIDE; ++i)
        high[i] = lane[i] > -INFINITY ? lane[i] : -INFINITY;
    for (int half = LBVH_WIDE / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            high[i] = high[i + half] > high[i] ? high[i + half] : high[i];
    return high[0];
}

// Writes the bounds of a node of level h into its lane of the level above. False when they were that already.
static bool bound_node(const lbvh_tree *tree, int h, uint64_t node) {
    const psvi_lanes from = psvi_block_lanes(tree, h, node);
    const psvi_lanes to = psvi_block_lanes(tree, h + 1, node / LBVH_WIDE);
    const uint64_t lane = node % LBVH_WIDE;
    bool changed = false;
    float box[6];
    for (int k = 0; k < 3; ++k) {
        box[k] = least_of(from.min[k]);
        box[3 + k] = most_of(from.max[k]);
    }
    if (!(box[0] <= box[3])) // there is no box
        for (int k = 0; k < 6; ++k)
            box[k] = NAN;
    for (int k = 0; k < 3; ++k) {
        changed = changed || to.min[k][lane] != box[k] || to.max[k][lane] != box[3 + k];
        to.min[k][lane] = box[k];
        to.max[k][lane] = box[3 + k];
    }
    return changed;
}

static void bound_above(const lbvh_tree *tree, uint64_t slot) {
    uint64_t node = slot / LBVH_WIDE;
    for (int h = 0; h + 1 < tree->height && bound_node(tree, h, node); ++h)
        node /= LBVH_WIDE;
}

// --- settling --------------------------------------------------------------------------------------------------------

typedef struct settle_job {
    const lbvh_tree *tree;
    uint64_t live;
    int level;
} settle_job;

static void clear_lanes(const psvi_lanes *lanes, uint64_t first) {
    for (uint64_t i = first; i < LBVH_WIDE; ++i) {
        for (int k = 0; k < 3; ++k)
            lanes->min[k][i] = lanes->max[k][i] = NAN;
        lanes->id[i] = 0;
    }
}

// Blocks of the lowest level: the boxes in their order, and free places.
static void settle_leaves(void *data, uint64_t first, uint64_t end) {
    const settle_job *job = data;
    const psvi_lanes *from = &job->tree->memory.lanes[0];
    for (uint64_t node = first; node < end; ++node) {
        const psvi_lanes to = psvi_block_lanes(job->tree, 0, node);
        const uint64_t at = node * LBVH_WIDE, count = at >= job->live              ? 0
                                                      : job->live - at < LBVH_WIDE ? job->live - at
                                                                                   : LBVH_WIDE;
        for (int k = 0; k < 3; ++k) {
            memcpy(to.min[k], from->min[k] + at, count * sizeof(float));
            memcpy(to.max[k], from->max[k] + at, count * sizeof(float));
        }
        memcpy(to.id, from->id + at, count * sizeof *to.id);
        clear_lanes(&to, count);
        for (uint64_t i = 0; i < count; ++i)
            job->tree->memory.slots[to.id[i]] = (uint32_t)(at + i);
    }
}

// A block of a higher level from all of its blocks below.
static void settle_nodes(void *data, uint64_t first, uint64_t end) {
    const settle_job *job = data;
    const uint64_t below = node_count(job->tree, job->level - 1);
    for (uint64_t node = first; node < end; ++node) {
        const psvi_lanes lanes = psvi_block_lanes(job->tree, job->level, node);
        clear_lanes(&lanes, 0);
        for (uint64_t i = node * LBVH_WIDE; i < below && i < (node + 1) * LBVH_WIDE; ++i)
            (void)bound_node(job->tree, job->level - 1, i);
    }
}

static uint64_t places_for(const psvi_choice *choice, uint64_t live) {
    const uint64_t wanted = live + live / 8 + 256, most = choice->def.max_boxes;
    return wanted < most ? wanted : most;
}

typedef struct judge_job {
    const psvi_find_input *input;
    uint8_t *states;
} judge_job;

static uint8_t state_of(const psvi_find_input *input, uint64_t id, float box[6]) {
    if (id >= input->a.count) return 0;
    const psvi_box_kind kind = psvi_judge_place(&input->a, input->world_count, id, box);
    return kind == PSVI_BOX_LIVE ? PSVI_STATE_LIVE : kind == PSVI_BOX_BAD ? PSVI_STATE_BAD : 0;
}

static void judge_some(void *data, uint64_t first, uint64_t end) {
    const judge_job *job = data;
    float box[6];
    for (uint64_t id = first; id < end; ++id)
        job->states[id] = state_of(job->input, id, box);
}

psv_status psvi_settle_lbvh(const psvi_choice *choice, const psvi_find_input *input, psvi_follow *follow) {
    psv_context *context = choice->context;
    psvi_grid_state *state = choice->state;
    lbvh_tree tree = psvi_lbvh_tree_of(choice, input);
    const psv_status status = psvi_build_lbvh(choice, &tree);
    if (status != PSV_OK) return status;
    const uint64_t live = follow->live = state->boxes;
    state->has_blocks = false;
    state->places = places_for(choice, live);
    state->taken = live;
    memset(tree.memory.slots, 0xff, choice->def.max_boxes * sizeof *tree.memory.slots);
    psvi_size_lbvh(&tree, state->places);
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    settle_job job = {&tree, live, 0};
    psvi_run_ranges(context, node_count(&tree, 0), 256, settle_leaves, &job);
    for (job.level = 1; job.level < tree.height; ++job.level)
        psvi_run_ranges(context, node_count(&tree, job.level), 64, settle_nodes, &job);
    judge_job judge = {input, follow->states};
    memset(follow->states, 0, choice->def.max_boxes);
    psvi_run_ranges(context, input->a.count, 4096, judge_some, &judge);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    return PSV_OK;
}

// --- moves -----------------------------------------------------------------------------------------------------------

static lbvh_tree followed_tree(const psvi_choice *choice, const psvi_find_input *input) {
    const psvi_grid_state *state = choice->state;
    lbvh_tree tree = psvi_lbvh_tree_of(choice, input);
    psvi_size_lbvh(&tree, state->places);
    return tree;
}

static void write_lane(const lbvh_tree *tree, uint32_t slot, uint32_t id, bool lives, const float box[6]) {
    const psvi_lanes lanes = psvi_block_lanes(tree, 0, slot / LBVH_WIDE);
    const uint32_t lane = slot % LBVH_WIDE;
    for (int k = 0; k < 3; ++k) {
        lanes.min[k][lane] = lives ? box[k] : NAN;
        lanes.max[k][lane] = lives ? box[3 + k] : NAN;
    }
    lanes.id[lane] = id;
}

// The place is among those of a world that the box has left.
static bool is_of_another_world(const lbvh_tree *tree, uint64_t settled, uint32_t slot, uint32_t id) {
    const uint64_t *keys = tree->memory.keys;
    return tree->wide && slot < settled && keys[slot] >> 32 != psvi_read_world(tree->input, id);
}

void psvi_move_in_lbvh(const psvi_choice *choice, const psvi_find_input *input, psvi_follow *follow) {
    psvi_grid_state *grid = choice->state;
    const lbvh_tree tree = followed_tree(choice, input);
    uint32_t *slots = tree.memory.slots;
    follow->bad_changed = follow->crowded = false;
    for (uint64_t m = 0; m < follow->moved_count; ++m) {
        const uint32_t id = follow->moved[m];
        uint8_t *state = &follow->states[id];
        const uint8_t old = *state & ~PSVI_RESTLESS;
        float box[6] = {0};
        const uint8_t now = state_of(input, id, box);
        *state = now | PSVI_RESTLESS;
        follow->live += (uint64_t)(now & PSVI_STATE_LIVE) - (old & PSVI_STATE_LIVE);
        follow->bad_changed = follow->bad_changed || ((old ^ now) & PSVI_STATE_BAD) != 0;
        if (now == PSVI_STATE_LIVE && slots[id] != NO_SLOT && is_of_another_world(&tree, grid->boxes, slots[id], id)) {
            write_lane(&tree, slots[id], id, false, box);
            bound_above(&tree, slots[id]);
            slots[id] = NO_SLOT;
        }
        if (slots[id] == NO_SLOT && now == PSVI_STATE_LIVE) {
            follow->crowded = follow->crowded || grid->taken == grid->places;
            if (follow->crowded) continue;
            slots[id] = (uint32_t)grid->taken++;
        }
        if (slots[id] != NO_SLOT) write_lane(&tree, slots[id], id, now == PSVI_STATE_LIVE, box);
    }
    if (follow->crowded) return;
    for (uint64_t m = 0; m < follow->moved_count; ++m)
        if (slots[follow->moved[m]] != NO_SLOT) bound_above(&tree, slots[follow->moved[m]]);
}

// --- what moved boxes reach ------------------------------------------------------------------------------------------

typedef struct reach_job {
    const lbvh_tree *tree;
    psvi_follow *follow;
    uint64_t settled, taken; // places: of boxes that were settled, and in use
    psvi_loop loop;          // over moved boxes
} reach_job;

// Hits of one moved box on their way to the lists.
typedef struct reach_sink {
    psvi_follow *follow;
    const psvi_find_input *input;
    bool plain;  // every hit may pair
    bool worlds; // hits may be of other worlds
    uint32_t self, count;
    uint64_t order; // which of the moved boxes it is
    psv_pair pairs[HIT_ROOM];
} reach_sink;

static void flush_hits(reach_sink *sink) {
    psvi_follow *follow = sink->follow;
    uint32_t count = sink->count;
    sink->count = 0;
    if (count > 0 && sink->input->rules != NULL) count = psvi_keep_ruled_pairs(sink->input->rules, sink->pairs, count);
    if (count == 0) return;
    const uint64_t first = __atomic_fetch_add(&follow->used, count + 2, __ATOMIC_RELAXED);
    if (first + count + 2 > follow->room) return;
    uint32_t *to = &follow->words[first];
    *to++ = count;
    *to++ = follow->heads[sink->order];
    for (uint32_t i = 0; i < count; ++i)
        *to++ = sink->pairs[i].a == sink->self ? sink->pairs[i].b : sink->pairs[i].a;
    follow->heads[sink->order] = (uint32_t)first;
}

static void take_reached(void *data, const lbvh_other *other, const uint32_t *ids, uint32_t count) {
    reach_sink *sink = data;
    if (other->id != sink->self || sink->count + count > HIT_ROOM) flush_hits(sink);
    sink->self = other->id;
    sink->order = other->order;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t id = ids[i];
        if (id == other->id || (!sink->plain && !psvi_may_pair(sink->input, sink->worlds, other->id, id))) continue;
        sink->pairs[sink->count++] = id < other->id ? (psv_pair){id, other->id} : (psv_pair){other->id, id};
    }
}

// Adds what there is to search for one box: all places, or those of its world and those behind.
static uint32_t add_searches(const reach_job *job, lbvh_other *others, uint32_t count, lbvh_other other) {
    const lbvh_tree *tree = job->tree;
    other.end = tree->count[0];
    if (tree->wide) {
        const uint64_t world = psvi_read_world(tree->input, other.id);
        other.begin = psvi_world_begin(tree, job->settled, world);
        other.end = psvi_world_begin(tree, job->settled, world + 1);
    }
    if (other.begin < other.end) others[count++] = other;
    if (!tree->wide || job->settled == job->taken) return count;
    other.begin = job->settled;
    other.end = job->taken;
    others[count++] = other;
    return count;
}

static void reach_some(void *data, uint32_t worker) {
    reach_job *job = data;
    psvi_follow *follow = job->follow;
    const psvi_find_input *input = job->tree->input;
    reach_sink sink = {.follow = follow, .input = input, .self = UINT32_MAX};
    lbvh_search search = {job->tree, take_reached, &sink, 0};
    (void)worker;
    sink.worlds = job->tree->wide;
    sink.plain = input->a.flags == NULL && input->a.filters == NULL && !sink.worlds;
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);) {
        lbvh_other others[LBVH_QUERY_CHUNK];
        uint32_t count = 0;
        for (uint64_t m = first; m < end; ++m) {
            const uint32_t id = follow->moved[m];
            follow->heads[m] = PSVI_NO_HITS;
            if ((follow->states[id] & PSVI_STATE_LIVE) == 0) continue;
            lbvh_other other = {.id = id, .order = (uint32_t)m};
            psvi_read_box(input, id, other.box);
            count = add_searches(job, others, count, other);
        }
        if (count > 0) psvi_search_blocks(&search, others, count);
    }
    flush_hits(&sink);
    __atomic_fetch_add(&follow->tests, search.tests, __ATOMIC_RELAXED);
}

void psvi_reach_in_lbvh(const psvi_choice *choice, const psvi_find_input *input, psvi_follow *follow) {
    const lbvh_tree tree = followed_tree(choice, input);
    const psvi_grid_state *grid = choice->state;
    reach_job job = {&tree, follow, grid->boxes, grid->taken, {0, follow->moved_count, LBVH_QUERY_CHUNK / 2}};
    follow->used = follow->tests = 0;
    const uint64_t pieces = psvi_loop_pieces(follow->moved_count, 2 * LBVH_QUERY_CHUNK);
    psvi_run_tasks(choice->context, psvi_workers_for(choice->context, pieces), reach_some, &job);
}
