// Few boxes move and most rest: where a method follows boxes, a frame costs what its moved boxes cost.
//
// The first frame finds all pairs by the finder's method. With the second one the boxes are settled: a tree is built
// over all of them, and the pairs are linked to their boxes (pair_graph.h). From then on a frame writes the moved boxes
// into the tree and searches it with each of them. It compares the pairs found with those that these boxes had. The
// differences are the events. The tree is built anew when searches have taken as much longer as that costs.
//
// A frame that does not fit (many boxes moved, other rules, an overflow) goes the usual way, with margins where boxes
// have some.
#include "frame.h"
#include "pair_changes.h"

#include <math.h>

#define MOST_SHARE 6u         // of all boxes so many may move, at most
#define MOST_MORE 16u         // and so many more
#define TESTS_OF_SETTLING 8.0 // for each box: tests that take as long as putting the boxes in order

static bool follows_boxes(psv_backend backend) {
    const psvi_broad_phase *method = psvi_find_broad_phase(backend, "lbvh");
    return method != NULL && method->settle != NULL;
}

bool psvi_can_follow(psv_backend backend, const psv_pair_finder_def *def) {
    return follows_boxes(backend) && def->max_kept > 0 && psvi_world_count_bytes(def) == 0;
}

static uint64_t most_moved(uint64_t boxes) { return boxes / MOST_SHARE + MOST_MORE; }

// Of all boxes, the share (one in so many) that may move in a frame: where more do, the usual way takes less time. That
// way also puts pairs in order, where they need one. With margins it takes the least, and a change of ways costs most:
// boxes are followed again when still fewer move.
static bool is_few(const psv_pair_finder *finder, const psvi_frame *frame, uint64_t moved, uint64_t boxes) {
    const bool ordered = finder->memory.sorter != NULL, again = !finder->movers.follows;
    const uint64_t share = !psvi_has_margins(finder, frame) ? (ordered ? MOST_SHARE : 8u)
                           : ordered                        ? (again ? 10u : 8u)
                                                            : (again ? 32u : 24u);
    return moved <= boxes / share + MOST_MORE;
}

// --- memory ----------------------------------------------------------------------------------------------------------

// Arrays of each box, then those of each box that moved.
static uint64_t box_bytes(const psv_pair_finder_def *def) {
    return 3 * psvi_align(def->max_boxes * sizeof(uint32_t)) + psvi_align(def->max_boxes);
}

static uint64_t moved_bytes(const psv_pair_finder_def *def) {
    return 2 * psvi_align(most_moved(def->max_boxes) * sizeof(uint32_t));
}

uint64_t psvi_mover_bytes(psv_backend backend, const psv_pair_finder_def *def) {
    return psvi_can_follow(backend, def) ? box_bytes(def) + moved_bytes(def) : 0;
}

psv_status psvi_create_movers(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const psv_pair_finder_def *def = &finder->def;
    psvi_mover_state *movers = &finder->movers;
    const uint64_t bytes = psvi_mover_bytes(context->backend, def);
    if (bytes == 0) return PSV_OK;
    char *at = movers->memory = psvi_alloc(context, bytes);
    if (at == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for boxes that rest (%llu bytes)", context->ops->name,
                         (unsigned long long)bytes);
    const uint64_t words = def->max_boxes * sizeof(uint32_t), list = most_moved(def->max_boxes) * sizeof(uint32_t);
    movers->turns = psvi_next_part(&at, words);
    movers->marks = psvi_next_part(&at, words);
    movers->graph.heads = psvi_next_part(&at, words);
    movers->follow.states = psvi_next_part(&at, def->max_boxes);
    movers->moved = psvi_next_part(&at, list);
    movers->follow.heads = psvi_next_part(&at, list);
    movers->follow.moved = movers->moved;
    return psvi_clear_fresh(context, movers->memory, box_bytes(def));
}

void psvi_destroy_movers(psv_pair_finder *finder) {
    psvi_free(finder->context, finder->movers.memory, psvi_mover_bytes(finder->context->backend, &finder->def));
    finder->movers = (psvi_mover_state){0};
}

// --- which frames ----------------------------------------------------------------------------------------------------

static uint32_t parts_of(const psvi_frame *frame) {
    const psvi_rule_side *side = &frame->a;
    const psvi_box_view *view = &frame->given.a;
    return (view->flags != NULL ? 1u : 0) | (view->filters != NULL ? 2u : 0) | (side->ids != NULL ? 4u : 0) |
           (side->owners != NULL ? 8u : 0) | (side->layers != NULL ? 16u : 0) | (side->doubles ? 32u : 0) |
           (view->worlds != NULL ? 64u : 0);
}

void psvi_take_movers(psv_pair_finder *finder, psvi_frame *frame) {
    const psvi_find_input *given = &frame->given;
    frame->events_read = finder->events_done;
    frame->follows =
        frame->kept > 0 && finder->movers.memory != NULL && !given->between && finder->memory.links != NULL;
    if (frame->follows) {
        const uint64_t count = given->a.count;
        frame->set = (psvi_movers_set){count,
                                       frame->kept < count ? frame->kept : count,
                                       frame->kept_version,
                                       parts_of(frame),
                                       {frame->origin[0], frame->origin[1], frame->origin[2]}};
    }
    // The tree of kept_boxes.c serves two sets, and devices as far as no list of moved boxes is given.
    if (!given->between && (follows_boxes(finder->context->backend) || frame->moved_given)) frame->kept = 0;
}

static bool is_known(const psvi_mover_state *movers, const psvi_movers_set *set) {
    const psvi_movers_set *known = &movers->known;
    for (int axis = 0; axis < 3; ++axis)
        if (known->origin[axis] != set->origin[axis]) return false;
    return movers->complete && known->version == set->version && known->parts == set->parts;
}

static void add_moved(psvi_mover_state *movers, uint64_t id) {
    psvi_follow *follow = &movers->follow;
    if (movers->turns[id] == movers->turn) return;
    movers->turns[id] = movers->turn;
    movers->moved[follow->moved_count++] = (uint32_t)id;
}

// The boxes that may have changed since the last frame: each once. False: they are too many.
static bool collect_moved(psv_pair_finder *finder, const psvi_frame *frame) {
    psvi_mover_state *movers = &finder->movers;
    const psvi_movers_set *set = &frame->set, *known = &movers->known;
    const uint64_t first = set->kept < known->kept ? set->kept : known->kept;
    const uint64_t end = set->count > known->count ? set->count : known->count;
    if (!is_few(finder, frame, frame->moved_count + (end - first), end)) return false;
    if (++movers->turn == 0) {
        memset(movers->turns, 0, finder->def.max_boxes * sizeof *movers->turns);
        movers->turn = 1;
    }
    movers->follow.moved_count = 0;
    for (uint64_t i = 0; i < frame->moved_count; ++i)
        add_moved(movers, frame->moved[i]);
    for (uint64_t id = first; id < end; ++id)
        add_moved(movers, id);
    return true;
}

// --- changes ---------------------------------------------------------------------------------------------------------

// The lists of changes begin with this frame, or go on where nobody has read those of the frame before.
static psv_status begin_delta(psv_pair_finder *finder, psvi_frame *frame) {
    psvi_mover_state *movers = &finder->movers;
    psv_status status = PSV_OK;
    if (!finder->def.events || frame->events_read) {
        movers->begins = movers->ends = 0;
    } else if (!movers->has_delta) {
        status = psvi_make_event_lists(finder);
        finder->events_done = false;
        movers->begins = finder->event_counts[PSVI_EVENTS_BEGIN];
        movers->ends = finder->event_counts[PSVI_EVENTS_END];
    }
    movers->has_delta = finder->def.events && status == PSV_OK;
    frame->events_read = false; // the lists have not been read from here on
    return status;
}

// Whether a frame that finds at most `begins` new pairs has room for its changes behind those that nobody has read.
static bool has_room(psv_pair_finder *finder, uint64_t begins) {
    psvi_mover_state *movers = &finder->movers;
    const psvi_pair_memory *memory = &finder->memory;
    const uint64_t ends = movers->graph.count, room = memory->capacity;
    if (movers->begins + movers->ends == 0) return true;
    if (movers->begins + begins <= room && movers->ends + ends <= room) return true;
    return psvi_cancel_changes(finder, memory->begin, &movers->begins, memory->end, &movers->ends) == PSV_OK &&
           movers->begins + begins <= room && movers->ends + ends <= room;
}

// --- another way -----------------------------------------------------------------------------------------------------

psv_status psvi_leave_movers(psv_pair_finder *finder, const psvi_frame *frame) {
    psvi_mover_state *movers = &finder->movers;
    psvi_pair_memory *memory = &finder->memory;
    const bool had_delta = movers->has_delta;
    movers->complete = movers->follows = movers->has_delta = false;
    if (!had_delta) return PSV_OK;
    uint64_t count = movers->graph.count;
    memcpy(memory->before, movers->names, count * sizeof *memory->before);
    psv_status status = psvi_sort_changes(finder, memory->before, count);
    if (status == PSV_OK && !frame->events_read) {
        status = psvi_cancel_changes(finder, memory->begin, &movers->begins, memory->end, &movers->ends);
        if (status == PSV_OK)
            psvi_change_pairs(memory->before, &count, memory->begin, movers->begins, memory->end, movers->ends);
    }
    finder->event_counts[PSVI_EVENTS_BEFORE] = count;
    return status;
}

psv_status psvi_stage_note(psv_pair_finder *finder, psvi_frame *frame) {
    const psvi_pair_memory *memory = &finder->memory;
    if (!frame->follows || frame->a.ids == NULL || finder->result->pair_count > memory->capacity) return PSV_OK;
    memcpy(memory->listed, memory->pairs, finder->result->pair_count * sizeof *memory->listed);
    return PSV_OK;
}

psv_status psvi_stage_note_names(psv_pair_finder *finder, psvi_frame *frame) {
    const psvi_pair_memory *memory = &finder->memory;
    if (!frame->follows || frame->a.ids == NULL || memory->named == NULL ||
        finder->result->pair_count > memory->capacity)
        return PSV_OK;
    memcpy(memory->named, memory->pairs, finder->result->pair_count * sizeof *memory->named);
    return PSV_OK;
}

void psvi_note_frame(psv_pair_finder *finder, const psvi_frame *frame) {
    psvi_mover_state *movers = &finder->movers;
    if (!frame->follows) return;
    movers->complete = finder->result->pair_count <= finder->memory.capacity;
    movers->known = frame->set;
}

// --- settling --------------------------------------------------------------------------------------------------------

// The pairs of the last frame, by indices and by names, in one order.
static void take_lists(psv_pair_finder *finder, const psvi_frame *frame) {
    psvi_mover_state *movers = &finder->movers;
    psvi_pair_memory *memory = &finder->memory;
    psvi_pair_graph *graph = &movers->graph;
    const uint64_t count = finder->result->pair_count, bytes = count * sizeof(psv_pair);
    const bool ids = frame->a.ids != NULL, sorts = finder->def.sort_output;
    graph->list = ids || sorts ? memory->listed : memory->pairs;
    if (sorts && !ids) memcpy(memory->listed, memory->pairs, bytes);
    movers->names = !ids ? graph->list : sorts ? memory->named : memory->pairs;
    if (ids && !sorts && memory->named != NULL) memcpy(memory->pairs, memory->named, bytes);
    graph->links = memory->links;
    graph->room = memory->capacity;
    psvi_link_pairs(graph, count, finder->def.max_boxes);
}

// Boxes that often move lie apart, unless most do.
static const uint8_t *restless_states(const psvi_mover_state *movers, uint64_t count) {
    uint64_t restless = 0;
    for (uint64_t i = 0; i < count; ++i)
        restless += (movers->follow.states[i] & PSVI_RESTLESS) / PSVI_RESTLESS;
    return restless <= most_moved(count) ? movers->follow.states : NULL;
}

static psv_status settle(psv_pair_finder *finder, psvi_find_input *input) {
    psvi_mover_state *movers = &finder->movers;
    const psvi_choice *tree = &finder->kept.tree;
    finder->kept.valid = false; // its tree goes
    *finder->result = (psvi_frame_result){0};
    input->states = restless_states(movers, input->a.count);
    const psv_status status = tree->method->settle(tree, input, &movers->follow);
    movers->least_tests = HUGE_VAL;
    movers->excess = 0;
    return status;
}

static void list_bad_boxes(psv_pair_finder *finder, uint64_t count) {
    const uint8_t *states = finder->movers.follow.states;
    uint64_t bad = 0;
    for (uint64_t i = 0; i < count; ++i)
        if ((states[i] & PSVI_STATE_BAD) != 0) finder->bad_boxes[bad++] = (uint32_t)i;
    finder->result->bad_count = bad;
}

// Brings the moved boxes into the tree.
static psv_status move_boxes(psv_pair_finder *finder, const psvi_frame *frame, psvi_find_input *input) {
    psvi_mover_state *movers = &finder->movers;
    psvi_follow *follow = &movers->follow;
    const psvi_choice *tree = &finder->kept.tree;
    const double due = TESTS_OF_SETTLING * (double)frame->set.count;
    if (movers->follows && movers->excess <= due) {
        tree->method->move(tree, input, follow);
        if (!follow->crowded) {
            if (follow->bad_changed) list_bad_boxes(finder, frame->set.count);
            return PSV_OK;
        }
    }
    if (!movers->follows) take_lists(finder, frame);
    for (uint64_t m = 0; m < follow->moved_count; ++m)
        follow->states[follow->moved[m]] |= PSVI_RESTLESS;
    return settle(finder, input);
}

// Searches that take longer than those of a tree that is new.
static void count_tests(psvi_mover_state *movers) {
    const psvi_follow *follow = &movers->follow;
    if (follow->moved_count == 0) return;
    const double moved = (double)follow->moved_count, tests = (double)follow->tests;
    if (tests < movers->least_tests * moved) movers->least_tests = tests / moved;
    movers->excess += tests - movers->least_tests * moved;
}

// --- pairs of moved boxes --------------------------------------------------------------------------------------------

typedef struct matching {
    psv_pair_finder *finder;
    psvi_mover_state *movers;
    const uint32_t *ids;
    bool notes; // changes are noted
} matching;

static psv_pair name_of(const matching *to, uint32_t a, uint32_t b) {
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    if (to->ids == NULL) return (psv_pair){low, high};
    const uint32_t x = to->ids[low], y = to->ids[high];
    return x < y ? (psv_pair){x, y} : (psv_pair){y, x};
}

static void note_begin(const matching *to, psv_pair name) {
    if (to->notes) to->finder->memory.begin[to->movers->begins++] = name;
}

static void note_end(const matching *to, psv_pair name) {
    if (to->notes) to->finder->memory.end[to->movers->ends++] = name;
}

static void remove_pair(const matching *to, uint32_t place) {
    psvi_pair_graph *graph = &to->movers->graph;
    psv_pair *names = to->movers->names;
    note_end(to, names[place]);
    psvi_remove_linked_pair(graph, place);
    if (names != graph->list) names[place] = names[graph->count];
}

// Both boxes may have other ids now.
static void rename_pair(const matching *to, uint32_t place) {
    psv_pair *names = to->movers->names;
    const psv_pair pair = to->movers->graph.list[place], name = name_of(to, pair.a, pair.b);
    if (psvi_key_of(names[place]) == psvi_key_of(name)) return;
    note_end(to, names[place]);
    note_begin(to, name);
    names[place] = name;
}

// Pairs that the box had: those that it no longer has go. Hits that it had are no longer marked.
static void match_old_pairs(const matching *to, uint32_t box, uint32_t mark) {
    psvi_pair_graph *graph = &to->movers->graph;
    uint32_t *marks = to->movers->marks;
    for (uint32_t end = graph->heads[box], next; end != PSVI_NO_END; end = next) {
        const uint32_t other = psvi_other_box(graph, end), place = end / 2;
        next = psvi_next_end(graph, end);
        if (marks[other] == mark) {
            marks[other] = 0;
            if (to->ids != NULL) rename_pair(to, place);
            continue;
        }
        remove_pair(to, place);
        if (next != PSVI_NO_END && next / 2 == graph->count) next = 2 * place + next % 2; // it has moved there
    }
}

// False: there is no room.
static bool match_box(const matching *to, uint64_t m) {
    psvi_mover_state *movers = to->movers;
    psvi_pair_graph *graph = &movers->graph;
    const psvi_follow *follow = &movers->follow;
    const uint32_t box = follow->moved[m], mark = ++movers->mark;
    for (uint32_t at = follow->heads[m]; at != PSVI_NO_HITS; at = follow->words[at + 1])
        for (uint32_t i = 0; i < follow->words[at]; ++i)
            movers->marks[follow->words[at + 2 + i]] = mark;
    match_old_pairs(to, box, mark);
    for (uint32_t at = follow->heads[m]; at != PSVI_NO_HITS; at = follow->words[at + 1])
        for (uint32_t i = 0; i < follow->words[at]; ++i) {
            const uint32_t other = follow->words[at + 2 + i];
            if (movers->marks[other] != mark) continue;
            if (graph->count == graph->room) return false;
            movers->marks[other] = 0;
            psvi_add_linked_pair(graph, box < other ? box : other, box < other ? other : box);
            const psv_pair name = name_of(to, box, other);
            if (movers->names != graph->list) movers->names[graph->count - 1] = name;
            note_begin(to, name);
        }
    return true;
}

// The pair buffer in ascending order, by the changes of this frame: those from the given places on.
static psv_status change_output(psv_pair_finder *finder, uint64_t before, uint64_t begins, uint64_t ends) {
    psvi_mover_state *movers = &finder->movers;
    const psvi_pair_memory *memory = &finder->memory;
    uint64_t new_begins = movers->begins - begins, new_ends = movers->ends - ends;
    const psv_status status =
        psvi_cancel_changes(finder, memory->begin + begins, &new_begins, memory->end + ends, &new_ends);
    if (status != PSV_OK) return status;
    psvi_change_pairs(memory->pairs, &before, memory->end + ends, new_ends, memory->begin + begins, new_begins);
    movers->begins = begins + new_begins;
    movers->ends = ends + new_ends;
    return PSV_OK;
}

// All moved boxes. *done: there was room.
static psv_status match_pairs(psv_pair_finder *finder, const psvi_frame *frame, bool *done) {
    psvi_mover_state *movers = &finder->movers;
    const uint64_t before = movers->graph.count, begins = movers->begins, ends = movers->ends;
    const matching to = {finder, movers, frame->a.ids, finder->def.events || finder->def.sort_output};
    if (movers->mark > UINT32_MAX - movers->follow.moved_count) {
        memset(movers->marks, 0, finder->def.max_boxes * sizeof *movers->marks);
        movers->mark = 0;
    }
    for (uint64_t m = 0; m < movers->follow.moved_count; ++m)
        if (!match_box(&to, m)) return PSV_OK;
    *done = true;
    return finder->def.sort_output ? change_output(finder, before, begins, ends) : PSV_OK;
}

// --- a frame ---------------------------------------------------------------------------------------------------------

// Boxes in double precision have been narrowed before, but for those that moved.
static void narrow_moved(psv_pair_finder *finder, const psvi_frame *frame, psvi_box_view *view) {
    const psvi_follow *follow = &finder->movers.follow;
    psv_aabb *narrow = finder->rules.narrow;
    for (uint64_t m = 0; m < follow->moved_count; ++m) {
        const uint32_t id = follow->moved[m];
        if (id < view->count) psvi_narrow_box(&frame->a, frame->origin, id, narrow[id].min, narrow[id].max);
    }
    view->min = (const char *)narrow;
    view->max = view->min + sizeof narrow->min;
    view->min_stride = view->max_stride = sizeof *narrow;
}

static void note_result(psv_pair_finder *finder, const psvi_frame *frame) {
    psvi_mover_state *movers = &finder->movers;
    psvi_frame_result *result = finder->result;
    result->pair_count = movers->graph.count;
    result->boxes = movers->follow.live;
    result->candidates = 16 * movers->follow.tests;
    movers->known = frame->set;
    movers->follows = true;
    finder->last = &finder->kept.tree;
}

psv_status psvi_find_moved(psv_pair_finder *finder, psvi_frame *frame, bool *done) {
    psv_context *context = finder->context;
    psvi_mover_state *movers = &finder->movers;
    psvi_follow *follow = &movers->follow;
    const psvi_choice *tree = &finder->kept.tree;
    psvi_find_input input = frame->given;
    *done = false;
    if (!frame->follows || !is_known(movers, &frame->set) || !collect_moved(finder, frame)) return PSV_OK;
    psv_status status = begin_delta(finder, frame);
    if (status == PSV_OK) status = psvi_put_rules(finder, frame, PSVI_RULES_ALL, &input);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_BOUNDS);
    if (frame->a.doubles) narrow_moved(finder, frame, &input.a);
    status = move_boxes(finder, frame, &input);
    psvi_phase_end(context, PSV_PHASE_BOUNDS);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    follow->words = (uint32_t *)finder->memory.kept;
    follow->room = finder->memory.capacity * (sizeof(psv_pair) / sizeof(uint32_t));
    tree->method->reach(tree, &input, follow);
    if (follow->used <= follow->room && has_room(finder, follow->used)) status = match_pairs(finder, frame, done);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    count_tests(movers);
    if (status == PSV_OK && *done) note_result(finder, frame);
    return status;
}
