// A finder over a group: sends boxes to the ranks whose regions they touch, runs a finder on each rank, and keeps the
// pairs that this rank reports.
#include "group_finder.h"

#include <stdlib.h>
#include <string.h>

psv_group_finder_def psv_default_group_finder_def(void) {
    psv_group_finder_def def = {
        .cookie = PSVI_GROUP_FINDER_COOKIE, .local = psv_default_pair_finder_def(), .grow_held = true};
    def.local.grow_pairs = true;
    return def;
}

// --- life ------------------------------------------------------------------------------------------------------------

// What the ranks have to agree on, and how many boxes each may bring.
typedef struct psvi_finder_terms {
    uint64_t max_boxes, max_excluded;
    uint32_t world_count, count_worlds, sort_output, events, doubles, unused;
} psvi_finder_terms;

static psv_status check_finder_def(psv_context *context, const psv_group_finder_def *def) {
    if (def == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL");
    if (def->cookie != PSVI_GROUP_FINDER_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def was not made by psv_default_group_finder_def");
    const psv_pair_finder_def *local = &def->local;
    const char *extra = local->ids ? "ids" : local->world_pairs > 0 ? "world_pairs" : NULL;
    if (extra != NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "def.local.%s is set; a group's finder does not serve it",
                         extra);
    return PSV_OK;
}

static uint64_t worlds_of(const psv_group_finder *finder) {
    return finder->def.local.world_count < 1 ? 1 : finder->def.local.world_count;
}

static psv_status alloc_host(psv_group_finder *finder) {
    const uint64_t size = finder->group->size, lists = psvi_box_list_count(finder->group->size);
    uint64_t *numbers = calloc(10 * size + lists + size * lists, sizeof *numbers);
    finder->given = numbers;
    finder->cuts = calloc(2 * size, sizeof *finder->cuts);
    finder->work = calloc(2 * size, sizeof *finder->work);
    if (numbers == NULL || finder->cuts == NULL || finder->work == NULL)
        return psvi_fail(finder->context, PSV_ERROR_MEMORY, "no memory for a finder of %u ranks", finder->group->size);
    finder->last_cuts = finder->cuts + size;
    finder->last_work = finder->work + size;
    finder->sampled = numbers + size;
    for (int kind = 0; kind < 2; ++kind) {
        finder->sent_count[kind] = numbers + (2 + 4 * kind) * size;
        finder->sent_first[kind] = numbers + (3 + 4 * kind) * size;
        finder->held_count[kind] = numbers + (4 + 4 * kind) * size;
        finder->held_first[kind] = numbers + (5 + 4 * kind) * size;
    }
    finder->lists = numbers + 10 * size;
    finder->matrix = finder->lists + lists;
    if (finder->def.local.count_worlds) {
        const uint64_t worlds = worlds_of(finder);
        finder->world_counts = malloc((size + 1) * worlds * sizeof *finder->world_counts);
        if (finder->world_counts == NULL)
            return psvi_fail(finder->context, PSV_ERROR_MEMORY, "no memory for counts of %llu worlds on %u ranks",
                             (unsigned long long)worlds, finder->group->size);
        const psv_status status =
            psvi_make_room(finder->context, &finder->world_pairs, worlds * sizeof(uint64_t), "counts of worlds");
        if (status != PSV_OK) return status;
    }
    return finder->ops->open(finder->context, finder->group->size, &finder->state);
}

// The mean of the boxes that ranks may pass; *status is an error where defs differ.
static uint64_t compare_terms(psv_group_finder *finder, psv_status *status) {
    psv_group *group = finder->group;
    const psv_pair_finder_def *local = &finder->def.local;
    const psvi_finder_terms mine = {.max_boxes = local->max_boxes,
                                    .max_excluded = local->max_excluded,
                                    .world_count = local->world_count,
                                    .count_worlds = local->count_worlds,
                                    .sort_output = local->sort_output,
                                    .events = local->events,
                                    .doubles = local->doubles};
    psvi_finder_terms *all = calloc(group->size, sizeof *all);
    if (all == NULL) *status = psvi_fail(group->context, PSV_ERROR_MEMORY, "no memory for a finder of a group");
    *status = all != NULL ? psvi_group_gather(group, PSVI_CALL_CREATE_FINDER, *status, &mine, all, sizeof mine)
                          : psvi_group_agree(group, PSVI_CALL_CREATE_FINDER, *status);
    uint64_t sum = 0;
    for (uint32_t r = 0; r < group->size && *status == PSV_OK; ++r) {
        sum += all[r].max_boxes;
        if (all[r].world_count != mine.world_count || all[r].count_worlds != mine.count_worlds ||
            all[r].sort_output != mine.sort_output || all[r].events != mine.events || all[r].doubles != mine.doubles ||
            all[r].max_excluded != mine.max_excluded)
            *status = psvi_fail(group->context, PSV_ERROR_ARGUMENT,
                                "def.local of rank %u is not that of rank %u: world_count, count_worlds, sort_output, "
                                "events, doubles and max_excluded are the same on all ranks",
                                r, group->rank);
    }
    free(all);
    return group->size == 0 ? 0 : sum / group->size;
}

static psv_status create_parts(psv_group_finder *finder) {
    psv_status status = alloc_host(finder);
    const uint64_t mean = compare_terms(finder, &status);
    if (status != PSV_OK) return status;
    psv_pair_finder_def *local = &finder->local_def;
    *local = finder->def.local;
    local->sort_output = local->events = local->margins = local->count_worlds = false;
    local->max_kept = 0;                  // kept boxes and margins change only speed: here all boxes are searched in
                                          // each frame
    local->ids = local->max_excluded > 0; // excluded pairs are named by ids
    local->max_boxes = finder->def.max_held > 0 ? finder->def.max_held : mean + mean / 4 + 64;
    if (local->max_boxes > (uint64_t)1 << 31) local->max_boxes = (uint64_t)1 << 31;
    status = psvi_make_local_finder(finder, local, &finder->local);
    status = psvi_group_agree(finder->group, PSVI_CALL_CREATE_FINDER, status);
    if (status != PSV_OK || !finder->def.local.sort_output) return status;
    psv_group_sorter_def order = psv_default_group_sorter_def();
    order.local.key_type = PSV_KEY_U64;
    order.local.value_bytes = 0;
    order.local.max_count = 2 * mean; // a first guess: the room grows as needed
    status = psv_create_group_sorter(finder->group, &order, &finder->order);
    if (status == PSV_OK) psvi_lift_group_sorter_limit(finder->order);
    return status;
}

psv_status psv_create_group_finder(psv_group *group, const psv_group_finder_def *def, psv_group_finder **finder) {
    if (finder != NULL) *finder = NULL;
    psv_status status = psvi_check_group(group);
    if (status != PSV_OK) return status;
    psv_context *context = group->context;
    status = finder == NULL ? psvi_fail(context, PSV_ERROR_ARGUMENT, "finder is NULL") : check_finder_def(context, def);
    psv_group_finder *made = status == PSV_OK ? calloc(1, sizeof *made) : NULL;
    if (status == PSV_OK && made == NULL)
        status = psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a finder of a group");
    status = psvi_group_agree(group, PSVI_CALL_CREATE_FINDER, status);
    if (status != PSV_OK) {
        free(made);
        return status;
    }
    made->cookie = PSVI_GROUP_FINDER_COOKIE;
    made->group = group;
    made->context = context;
    made->def = *def;
    made->ops = psvi_collision_module_of(context->backend)->group_boxes;
    status = create_parts(made);
    if (status != PSV_OK) {
        psv_destroy_group_finder(made);
        return status;
    }
    *finder = made;
    return PSV_OK;
}

void psv_destroy_group_finder(psv_group_finder *finder) {
    if (finder == NULL || finder->cookie != PSVI_GROUP_FINDER_COOKIE) return;
    psv_context *context = finder->context;
    psv_destroy_pair_finder(finder->local);
    psv_destroy_group_sorter(finder->order);
    finder->ops->close(context, finder->state);
    psvi_free_pair_homes(finder);
    psvi_free_staying(finder);
    psvi_free_room(context, &finder->index);
    psvi_free_room(context, &finder->kept);
    psvi_free_room(context, &finder->narrow);
    psvi_free_room(context, &finder->world_pairs);
    free(finder->world_counts);
    psvi_free_room(context, &finder->excluded);
    psvi_free_room(context, &finder->layer_matrix);
    for (int c = 0; c < PSVI_COLUMNS; ++c) {
        psvi_free_room(context, &finder->sent[c]);
        psvi_free_room(context, &finder->held[c]);
    }
    free(finder->samples);
    free(finder->all_samples);
    free(finder->sample_keys);
    // Frames exchange the two halves of these arrays.
    free(finder->cuts < finder->last_cuts ? finder->cuts : finder->last_cuts);
    free(finder->work < finder->last_work ? finder->work : finder->last_work);
    free(finder->given);
    finder->cookie = 0;
    free(finder);
}

// --- frames ----------------------------------------------------------------------------------------------------------

typedef struct psvi_given {
    uint64_t count;
    uint32_t columns; // bits of psvi_column that this rank has
    uint32_t unused;
    double origin[3]; // of corners
} psvi_given;

static bool is_there(psv_buffer buffer) { return psvi_buffer_address(buffer) != NULL; }

// Regions are regions of floats: the view of boxes in double precision becomes that of their floats, which overlap
// wherever they do.
static psv_status narrow_boxes(psv_group_finder *finder, const psvi_rule_side *side, const double *origin,
                               psvi_box_view *view) {
    psv_context *context = finder->context;
    psv_status status = psvi_make_room(context, &finder->narrow, view->count * sizeof(psv_aabb), "boxes as floats");
    psv_aabb *boxes = finder->narrow.memory;
    if (status == PSV_OK)
        status = psvi_collision_ops_of(context->backend)->narrow_boxes(context, side, origin, 0, view, boxes);
    view->min = (const char *)boxes;
    view->max = view->min + sizeof boxes->min;
    view->min_stride = view->max_stride = sizeof *boxes;
    return status;
}

static uint32_t columns_of(const psvi_box_view *view, const psvi_rule_side *side) {
    return (side->ids != NULL ? 1u << PSVI_COLUMN_ID : 0) | (view->flags != NULL ? 1u << PSVI_COLUMN_FLAGS : 0) |
           (view->filters != NULL ? 1u << PSVI_COLUMN_FILTER : 0) |
           (view->worlds != NULL ? 1u << PSVI_COLUMN_WORLD : 0) | (side->owners != NULL ? 1u << PSVI_COLUMN_OWNER : 0) |
           (side->layers != NULL ? 1u << PSVI_COLUMN_LAYER : 0) | (side->doubles ? 1u << PSVI_COLUMN_CORNERS : 0);
}

static psv_status check_boxes(psv_group_finder *finder, const psv_box_set *boxes, psvi_box_view *view,
                              psvi_rule_side *side, psvi_given *given) {
    psv_context *context = finder->context;
    psv_status status = psvi_view_boxes(context, boxes, "boxes", view, side);
    if (status != PSV_OK) return status;
    if (side->doubles && !finder->def.local.doubles)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "boxes.doubles is set, but def.local.doubles is not");
    if (is_there(boxes->count_buffer))
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "boxes.count_buffer is set; a group's finder does not serve it");
    if (boxes->kept > boxes->count)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "boxes.kept is %llu; boxes.count is %llu",
                         (unsigned long long)boxes->kept, (unsigned long long)boxes->count);
    if (view->count > finder->def.local.max_boxes)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "boxes.count is %llu; def.local.max_boxes is %llu",
                         (unsigned long long)view->count, (unsigned long long)finder->def.local.max_boxes);
    given->count = view->count;
    if (view->count == 0) return PSV_OK;
    given->columns = columns_of(view, side);
    if (!side->doubles) return PSV_OK;
    memcpy(given->origin, boxes->origin, sizeof given->origin);
    return narrow_boxes(finder, side, given->origin, view);
}

// The point from which all ranks' boxes in double precision are measured.
static psv_status compare_origins(psv_group_finder *finder, const psvi_given *all) {
    bool known = false;
    for (uint32_t r = 0; r < finder->group->size; ++r) {
        if ((all[r].columns & 1u << PSVI_COLUMN_CORNERS) == 0) continue;
        for (int axis = 0; axis < 3; ++axis) {
            if (!known) finder->origin[axis] = all[r].origin[axis];
            if (all[r].origin[axis] - finder->origin[axis] != 0)
                return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "boxes.origin is not the same on all ranks");
        }
        known = true;
    }
    return PSV_OK;
}

// Input of all ranks: their counts, and in *columns the arrays that any of them has.
static psv_status meet(psv_group_finder *finder, psv_status status, const psvi_given *mine, uint32_t *columns) {
    psv_group *group = finder->group;
    psvi_given *all = malloc(group->size * sizeof *all);
    if (all == NULL) {
        status = psvi_fail(finder->context, PSV_ERROR_MEMORY, "no memory for what the ranks bring");
        return psvi_group_agree(group, PSVI_CALL_PAIRS_COUNTS, status);
    }
    status = psvi_group_gather(group, PSVI_CALL_PAIRS_COUNTS, status, mine, all, sizeof *mine);
    uint32_t any = 0, every = UINT32_MAX;
    uint64_t total = 0;
    for (uint32_t r = 0; r < group->size && status == PSV_OK; ++r) {
        finder->given[r] = all[r].count;
        total += all[r].count;
        any |= all[r].columns;
        if (all[r].count > 0) every &= all[r].columns;
    }
    if (status == PSV_OK) status = compare_origins(finder, all);
    free(all);
    if (status != PSV_OK) return status;
    const uint32_t some = any & ~every;
    if ((some & (1u << PSVI_COLUMN_ID | 1u << PSVI_COLUMN_CORNERS)) != 0)
        return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "boxes.%s is there on some ranks and not on others",
                         (some & 1u << PSVI_COLUMN_ID) != 0 ? "ids" : "doubles");
    if (total > UINT32_MAX)
        return psvi_fail(finder->context, PSV_ERROR_CAPACITY,
                         "%llu boxes on all ranks; ids of 4 bytes name at most 4294967295", (unsigned long long)total);
    *columns = any | 1u << PSVI_COLUMN_ID;
    if ((any & 1u << PSVI_COLUMN_CORNERS) == 0) *columns |= 1u << PSVI_COLUMN_BOX;
    return PSV_OK;
}

static psv_buffer held_column(const psv_group_finder *finder, int column, uint32_t columns) {
    if ((columns & 1u << column) == 0) return (psv_buffer){0};
    return psv_buffer_of(finder->held[column].memory, finder->held[column].bytes);
}

// The boxes that are copied to this rank.
static psv_box_set held_boxes(const psv_group_finder *finder, uint32_t columns) {
    const uint64_t held = finder->held_total + (finder->staying.active ? finder->staying.near : 0);
    psv_box_set set = psv_boxes_of(held_column(finder, PSVI_COLUMN_BOX, columns), sizeof(psv_aabb), held);
    if ((columns & 1u << PSVI_COLUMN_CORNERS) != 0)
        set = psv_boxes64_of(held_column(finder, PSVI_COLUMN_CORNERS, columns), sizeof(psv_aabb64), held);
    if (set.doubles) memcpy(set.origin, finder->origin, sizeof set.origin);
    if (finder->local_def.ids) set.ids = held_column(finder, PSVI_COLUMN_ID, columns);
    set.owners = held_column(finder, PSVI_COLUMN_OWNER, columns);
    set.layers = held_column(finder, PSVI_COLUMN_LAYER, columns);
    set.flags = held_column(finder, PSVI_COLUMN_FLAGS, columns);
    set.filters = held_column(finder, PSVI_COLUMN_FILTER, columns);
    set.worlds = held_column(finder, PSVI_COLUMN_WORLD, columns);
    return set;
}

// Pairs of copied boxes.
static psvi_seen_pairs seen_among_held(const psv_group_finder *finder, const psv_pair_finder *local, uint64_t count,
                                       uint32_t columns) {
    const bool doubles = (columns & 1u << PSVI_COLUMN_CORNERS) != 0; // the finder has them as floats
    const char *boxes = doubles ? (char *)local->rules.narrow : finder->held[PSVI_COLUMN_BOX].memory;
    return (psvi_seen_pairs){.pairs = psvi_buffer_address(psv_pair_buffer(local)),
                             .count = count,
                             .min = boxes,
                             .max = boxes + sizeof(psv_aabb) / 2,
                             .min_stride = sizeof(psv_aabb),
                             .max_stride = sizeof(psv_aabb),
                             .ids = finder->held[PSVI_COLUMN_ID].memory,
                             .worlds = psvi_buffer_address(held_column(finder, PSVI_COLUMN_WORLD, columns)),
                             .world_pairs = finder->world_pairs.memory,
                             .border_first = finder->border_first,
                             .needed = UINT64_MAX,
                             .regions = {finder->group->size, finder->cuts},
                             .rank = finder->group->rank};
}

// Pairs of own boxes in place, then pairs with boxes that arrived.
static void see_staying(const psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side,
                        const uint64_t counts[2], uint32_t columns, psvi_seen_pairs seen[2]) {
    const psvi_staying *staying = &finder->staying;
    seen[0] = (psvi_seen_pairs){.pairs = psvi_buffer_address(psv_pair_buffer(finder->local)),
                                .count = counts[0],
                                .min = view->min,
                                .max = view->max,
                                .min_stride = view->min_stride,
                                .max_stride = view->max_stride,
                                .ids = side->ids,
                                .worlds = view->worlds,
                                .world_pairs = finder->world_pairs.memory,
                                .away_bits = staying->away_bits.memory,
                                .needed = UINT64_MAX,
                                .first_id = (uint32_t)psvi_sum_before(finder->given, finder->group->rank),
                                .regions = {finder->group->size, finder->cuts},
                                .rank = finder->group->rank};
    if (counts[1] == 0) return;
    seen[1] = seen_among_held(finder, staying->second, counts[1], columns);
    seen[1].border_first = 0;
    seen[1].needed = staying->arrived;
}

// The pairs that this rank finds: seen[0] and, where boxes are not copied, seen[1]; returns the number of lists.
static psv_status find_here(psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side,
                            uint32_t columns, psvi_seen_pairs seen[2], uint32_t *parts) {
    const double begin = psvi_group_now_ms();
    const psv_box_set set = held_boxes(finder, columns);
    uint64_t counts[2] = {0};
    psv_status status;
    if (finder->staying.active) {
        status = psvi_find_staying(finder, &set, counts);
        if (status == PSV_OK) see_staying(finder, view, side, counts, columns, seen);
        *parts = counts[1] > 0 ? 2 : 1;
    } else {
        status = psv_find_pairs(finder->local, &set);
        if (status == PSV_OK) status = psv_finish_pairs(finder->local, &counts[0]);
        if (status == PSV_OK) seen[0] = seen_among_held(finder, finder->local, counts[0], columns);
        *parts = 1;
    }
    finder->statistics.find_ms = psvi_group_now_ms() - begin;
    return status;
}

// Those of them that this rank reports, by id.
static psv_status keep_here(psv_group_finder *finder, const psvi_seen_pairs *seen, uint32_t parts) {
    psv_context *context = finder->context;
    const uint64_t count = seen[0].count + (parts > 1 ? seen[1].count : 0);
    finder->pair_count = 0;
    psv_status status = psvi_make_room(context, &finder->kept, count * sizeof(psv_pair), "pairs");
    if (status == PSV_OK && finder->world_counts != NULL)
        status = context->ops->fill(context, finder->world_pairs.memory, 0, worlds_of(finder) * sizeof(uint64_t));
    if (status != PSV_OK || count == 0) return status;
    return finder->ops->keep(context, finder->state, seen, parts, finder->kept.memory, &finder->pair_count);
}

// All ranks' work, which the next frame's regions follow, and their pairs.
static psv_status end_frame(psv_group_finder *finder, psv_status status, uint64_t seen) {
    psv_group *group = finder->group;
    const psvi_rank_work mine = {finder->statistics.held, seen, finder->pair_count};
    status = psvi_group_gather(group, PSVI_CALL_PAIRS_DONE, status, &mine, finder->work, sizeof mine);
    if (status != PSV_OK) return status;
    uint64_t most = 0, all = 0;
    finder->total_pairs = 0;
    for (uint32_t r = 0; r < group->size; ++r) {
        most = finder->work[r].seen > most ? finder->work[r].seen : most;
        all += finder->work[r].seen;
        finder->total_pairs += finder->work[r].kept;
    }
    finder->statistics.seen_pairs = seen;
    finder->statistics.pair_imbalance = all == 0 ? 1 : (double)most * group->size / (double)all;
    psvi_cut *cuts = finder->cuts;
    psvi_rank_work *work = finder->work;
    finder->cuts = finder->last_cuts;
    finder->work = finder->last_work;
    finder->last_cuts = cuts;
    finder->last_work = work;
    finder->has_last = true;
    return PSV_OK;
}

// The pairs of all ranks in order, a part of about the same size on each.
static psv_status order_all(psv_group_finder *finder) {
    psv_context *context = finder->context;
    psv_group_sorted sorted;
    psv_status status = finder->ops->swap(context, finder->kept.memory, finder->pair_count);
    if (status == PSV_OK) status = psv_group_sort_keys(finder->order, finder->pairs, finder->pair_count, &sorted);
    if (status == PSV_OK) status = finder->ops->swap(context, psvi_buffer_address(sorted.keys), sorted.count);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK) return status;
    finder->pairs = sorted.keys;
    finder->pair_count = sorted.count;
    return PSV_OK;
}

// The counts of all ranks, added up on each.
static psv_status add_up_worlds(psv_group_finder *finder) {
    psv_context *context = finder->context;
    const uint64_t worlds = worlds_of(finder), bytes = worlds * sizeof(uint64_t);
    uint64_t *sums = finder->world_counts, *all = sums + worlds, *counts = finder->sampled; // free between calls
    psv_status status = context->ops->copy(context, sums, finder->world_pairs.memory, bytes, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    status = psvi_group_agree(finder->group, PSVI_CALL_PAIRS_DONE, status);
    for (uint32_t r = 0; r < finder->group->size; ++r)
        counts[r] = worlds;
    if (status == PSV_OK) status = psvi_group_collect_host(finder->group, sums, all, sizeof *sums, counts);
    for (uint64_t w = 0; w < worlds && status == PSV_OK; ++w) {
        sums[w] = 0;
        for (uint32_t r = 0; r < finder->group->size; ++r)
            sums[w] += all[r * worlds + w];
    }
    if (status != PSV_OK) return status;
    status = context->ops->copy(context, finder->world_pairs.memory, sums, bytes, PSVI_COPY_UPLOAD);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

static psv_status run_group_frame(psv_group_finder *finder, const psv_box_set *boxes) {
    psvi_box_view view = {0};
    psvi_rule_side side = {0};
    psvi_given given = {0};
    psvi_seen_pairs seen[2] = {{0}};
    uint32_t columns = 0, parts = 0;
    psv_status status = check_boxes(finder, boxes, &view, &side, &given);
    if (status == PSV_OK) status = psvi_begin_staying(finder, boxes, &view, &side);
    status = meet(finder, status, &given, &columns);
    if (status == PSV_OK) status = psvi_move_boxes(finder, &view, &side, columns);
    if (status != PSV_OK) return status;
    finder->statistics.boxes = psvi_sum_before(finder->given, finder->group->size);
    status = find_here(finder, &view, &side, columns, seen, &parts);
    const double begin = psvi_group_now_ms();
    if (status == PSV_OK) status = keep_here(finder, seen, parts);
    status = end_frame(finder, status, seen[0].count + seen[1].count);
    if (status != PSV_OK) return status;
    finder->pairs = psv_buffer_of(finder->kept.memory, finder->pair_count * sizeof(psv_pair));
    if (finder->world_counts != NULL) status = add_up_worlds(finder);
    if (status == PSV_OK && finder->order != NULL) status = order_all(finder);
    finder->statistics.keep_ms = psvi_group_now_ms() - begin;
    return status;
}

psv_status psvi_check_group_finder(const psv_group_finder *finder) {
    if (finder == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "finder is NULL");
    if (finder->cookie != PSVI_GROUP_FINDER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "finder is not a living finder of a group");
    return PSV_OK;
}

psv_status psv_group_find_pairs(psv_group_finder *finder, const psv_box_set *boxes) {
    psv_status status = psvi_check_group_finder(finder);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(finder->context);
    finder->has_frame = false;
    finder->homes.done = false;
    finder->pair_count = finder->total_pairs = 0;
    finder->pairs = (psv_buffer){0};
    status = run_group_frame(finder, boxes);
    psvi_end_staying(finder);
    finder->has_frame = status == PSV_OK;
    if (status == PSV_OK) return PSV_OK;
    finder->pair_count = 0;
    (void)finder->context->ops->synchronize(finder->context); // the boxes are the caller's again
    return status;
}

// --- results ---------------------------------------------------------------------------------------------------------

psv_buffer psv_group_pair_buffer(const psv_group_finder *finder) {
    return psvi_check_group_finder(finder) == PSV_OK && finder->has_frame ? finder->pairs : (psv_buffer){0};
}

uint64_t psv_group_pair_count(const psv_group_finder *finder) {
    return psvi_check_group_finder(finder) == PSV_OK && finder->has_frame ? finder->pair_count : 0;
}

uint64_t psv_group_total_pairs(const psv_group_finder *finder) {
    return psvi_check_group_finder(finder) == PSV_OK && finder->has_frame ? finder->total_pairs : 0;
}

psv_buffer psv_group_world_pair_buffer(const psv_group_finder *finder) {
    if (psvi_check_group_finder(finder) != PSV_OK || !finder->has_frame || finder->world_counts == NULL)
        return (psv_buffer){0};
    return psv_buffer_of(finder->world_pairs.memory, worlds_of(finder) * sizeof(uint64_t));
}

static psv_status check_group_frame(const psv_group_finder *finder) {
    const psv_status status = psvi_check_group_finder(finder);
    if (status != PSV_OK || finder->has_frame) return status;
    return psvi_fail(finder->context, PSV_ERROR_ARGUMENT,
                     "the last call of the finder failed, or there was none; call psv_group_find_pairs first");
}

psv_status psv_read_group_pairs(psv_group_finder *finder, psv_pair *pairs, uint64_t capacity, uint64_t *count) {
    psv_status status = check_group_frame(finder);
    if (status != PSV_OK) return status;
    if (pairs == NULL && capacity > 0)
        return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "pairs is NULL, but capacity is %llu",
                         (unsigned long long)capacity);
    const uint64_t copied = finder->pair_count < capacity ? finder->pair_count : capacity;
    if (count != NULL) *count = finder->pair_count;
    if (copied > 0) status = psv_download(finder->context, pairs, finder->pairs, copied * sizeof *pairs);
    if (status != PSV_OK || copied == finder->pair_count) return status;
    return psvi_fail(finder->context, PSV_ERROR_CAPACITY, "capacity is %llu; %llu pairs are there",
                     (unsigned long long)capacity, (unsigned long long)finder->pair_count);
}

psv_status psv_read_group_pair_statistics(psv_group_finder *finder, psv_group_pair_statistics *statistics) {
    psv_status status = check_group_frame(finder);
    if (status != PSV_OK) return status;
    if (statistics == NULL) return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "statistics is NULL");
    *statistics = finder->statistics;
    return psv_read_pair_statistics(finder->local, &statistics->local);
}
