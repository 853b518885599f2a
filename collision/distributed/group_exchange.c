// Targets of boxes: regions from samples, lists of boxes for each rank, and the exchange.
#include "group_finder.h"

#include <stdlib.h>
#include <string.h>

#include "../../sort/src/sort_method.h"

static const uint32_t column_bytes[PSVI_COLUMNS] = {
    sizeof(psv_aabb), 4, 1, sizeof(psv_box_filter), 4, 4, 1, sizeof(psv_aabb64),
};

// --- regions ---------------------------------------------------------------------------------------------------------

static bool grow_host(void **memory, uint64_t *room, uint64_t count, uint64_t bytes) {
    if (count <= *room) return true;
    free(*memory);
    *memory = malloc(count * bytes);
    *room = *memory == NULL ? 0 : count;
    return *memory != NULL;
}

static psv_status take_samples(psv_group_finder *finder, const psvi_group_boxes *boxes) {
    const psv_group *group = finder->group;
    const uint64_t wanted = (uint64_t)PSVI_BOX_SAMPLES * group->size;
    for (uint32_t r = 0; r < group->size; ++r)
        finder->sampled[r] = psvi_group_samples(finder->given, group->size, r, wanted);
    const uint64_t mine = finder->sampled[group->rank], all = psvi_sum_before(finder->sampled, group->size);
    const uint64_t before = finder->all_sample_room;
    bool there = grow_host((void **)&finder->samples, &finder->sample_room, mine, sizeof *finder->samples) &&
                 grow_host((void **)&finder->all_samples, &finder->all_sample_room, all, sizeof *finder->all_samples);
    if (there && finder->all_sample_room > before) {
        free(finder->sample_keys);
        finder->sample_keys = malloc(all * sizeof *finder->sample_keys);
        there = finder->sample_keys != NULL;
        if (!there) finder->all_sample_room = 0;
    }
    if (!there)
        return psvi_fail(finder->context, PSV_ERROR_MEMORY, "no memory for %llu samples", (unsigned long long)all);
    return mine == 0 ? PSV_OK : finder->ops->sample(finder->context, finder->state, boxes, finder->samples, mine);
}

// Work per box in the region of the last frame in which a sample lies: boxes held and pairs found.
static float weight_of(const psv_group_finder *finder, const psvi_box_sample *sample) {
    if (!finder->has_last) return 1;
    const psvi_regions last = {finder->group->size, finder->last_cuts};
    const psvi_rank_work *work = &finder->last_work[psvi_region_of(last, sample->box.min, sample->world)];
    return work->held == 0 ? 1 : (float)((double)(work->held + work->seen) / (double)work->held);
}

static void cut_space(psv_group_finder *finder) {
    const uint64_t all = psvi_sum_before(finder->sampled, finder->group->size);
    uint64_t good = 0, end = finder->sampled[0]; // of this rank's samples
    uint32_t rank = 0;
    for (uint64_t i = 0; i < all; ++i) {
        while (i == end)
            end += finder->sampled[++rank];
        psvi_box_sample sample = finder->all_samples[i];
        if (sample.weight == 0) continue;
        sample.weight = weight_of(finder, &sample);
        sample.rank = rank;
        finder->all_samples[good++] = sample;
    }
    psvi_make_cuts(finder->all_samples, good, finder->group->size, finder->cuts, finder->sample_keys);
}

// --- which boxes each rank gets --------------------------------------------------------------------------------------

// From the lengths of all ranks' lists: the boxes that this rank sends and gets.
static void plan_moves(psv_group_finder *finder) {
    const uint32_t size = finder->group->size, rank = finder->group->rank, lists = psvi_box_list_count(size);
    psv_group_pair_statistics *statistics = &finder->statistics;
    uint64_t most = 0, all = 0;
    statistics->bad_boxes = 0;
    for (uint32_t to = 0; to < size; ++to) {
        uint64_t held = 0;
        for (uint32_t from = 0; from < size; ++from)
            held +=
                finder->matrix[(uint64_t)from * lists + 2 * to] + finder->matrix[(uint64_t)from * lists + 2 * to + 1];
        most = held > most ? held : most;
        all += held;
    }
    uint64_t sent = 0, held = 0, own[2];
    for (uint32_t r = 0; r < size; ++r) {
        statistics->bad_boxes += finder->matrix[(uint64_t)r * lists + 2 * size];
        for (int kind = 0; kind < 2; ++kind) {
            finder->sent_first[kind][r] = sent;
            finder->sent_count[kind][r] = finder->lists[2 * r + kind];
            sent += finder->lists[2 * r + kind];
        }
    }
    for (int kind = 0; kind < 2; ++kind) {
        own[kind] = finder->matrix[(uint64_t)rank * lists + 2 * rank + kind];
        if (kind == 1) finder->border_first = held;
        for (uint32_t r = 0; r < size; ++r) {
            finder->held_first[kind][r] = held;
            finder->held_count[kind][r] = finder->matrix[(uint64_t)r * lists + 2 * rank + kind];
            if (r == rank && finder->staying.active) finder->held_count[kind][r] = 0; // they are not copied
            held += finder->held_count[kind][r];
        }
    }
    finder->held_total = held;
    statistics->held = held + (finder->staying.active ? own[0] + own[1] : 0);
    statistics->held_by_all = all;
    statistics->copied = held;
    statistics->held_border = held - finder->border_first + (finder->staying.active ? own[1] : 0);
    statistics->sent = sent - finder->lists[2 * rank] - finder->lists[2 * rank + 1];
    statistics->imbalance = all == 0 ? 1 : (double)most * size / (double)all;
}

// Room for so many boxes on this rank.
static psv_status hold(psv_group_finder *finder, uint64_t held) {
    psv_context *context = finder->context;
    if (finder->local != NULL && held <= finder->local_def.max_boxes) return PSV_OK;
    if (held > (uint64_t)1 << 31)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "%llu boxes come to this rank; a finder takes at most 2147483648",
                         (unsigned long long)held);
    if (!finder->def.grow_held)
        return psvi_fail(context, PSV_ERROR_CAPACITY,
                         "this rank has room for %llu boxes; %llu are needed (def.max_held, or def.grow_held)",
                         (unsigned long long)finder->local_def.max_boxes, (unsigned long long)held);
    psv_pair_finder_def def = finder->local_def;
    def.max_boxes = held + held / 4 < (uint64_t)1 << 31 ? held + held / 4 : (uint64_t)1 << 31;
    psv_status status = psvi_make_local_finder(finder, &def, &finder->local);
    if (status == PSV_ERROR_MEMORY) { // without the quarter more
        def.max_boxes = held;
        status = psvi_make_local_finder(finder, &def, &finder->local);
    }
    if (status == PSV_OK)
        finder->local_def.max_boxes = def.max_boxes;
    else
        finder->local_def.max_boxes = 0; // the next call tries again
    return status;
}

// A room that keeps its first `there` bytes.
static psv_status enlarge(psv_context *context, psvi_room *room, uint64_t bytes, uint64_t there) {
    psvi_room larger = {0};
    if (bytes <= room->bytes) return PSV_OK;
    psv_status status = psvi_make_room(context, &larger, bytes, "boxes of this rank");
    if (status == PSV_OK && there > 0)
        status = context->ops->copy(context, larger.memory, room->memory, there, PSVI_COPY_INSIDE);
    if (status != PSV_OK) {
        psvi_free_room(context, &larger);
        return status;
    }
    psvi_free_room(context, room);
    *room = larger;
    return PSV_OK;
}

psv_status psvi_make_box_rooms(psv_group_finder *finder, uint64_t sent, uint64_t held, uint64_t there,
                               uint32_t columns) {
    psv_status status = PSV_OK;
    for (int c = 0; c < PSVI_COLUMNS && status == PSV_OK; ++c) {
        if ((columns & 1u << c) == 0) continue;
        status = psvi_make_room(finder->context, &finder->sent[c], sent * column_bytes[c], "boxes to send");
        if (status == PSV_OK)
            status = enlarge(finder->context, &finder->held[c], held * column_bytes[c], there * column_bytes[c]);
    }
    return status;
}

// Room for all boxes that this rank will hold, and for the copied ones.
static psv_status make_rooms(psv_group_finder *finder, uint64_t given, uint64_t sent, uint32_t columns) {
    const psvi_staying *staying = &finder->staying;
    if (!staying->active) {
        const psv_status status = hold(finder, finder->held_total);
        return status != PSV_OK ? status : psvi_make_box_rooms(finder, sent, finder->local_def.max_boxes, 0, columns);
    }
    // The finder may already work on the own boxes: it is made again only if it has no room for them.
    const uint64_t held = finder->statistics.held;
    const psv_status status = hold(finder, finder->def.grow_held ? given : held > given ? held : given);
    return status != PSV_OK ? status
                            : psvi_make_box_rooms(finder, sent, finder->held_total + staying->near, 0, columns);
}

// --- packing ---------------------------------------------------------------------------------------------------------

// Packs one array of the `count` boxes that `index` names. An array that this rank lacks gets the default of a box.
static psv_status pack_column(psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side,
                              int column, const uint32_t *index, uint64_t count, void *packed) {
    psv_context *context = finder->context;
    const uint32_t bytes = column_bytes[column];
    const void *source = NULL;
    if (count == 0) return PSV_OK;
    switch (column) {
    case PSVI_COLUMN_BOX: return finder->ops->pack_boxes(context, view, index, count, packed);
    case PSVI_COLUMN_ID:
        if (side->ids == NULL)
            return psvi_sort_module_of(context->backend)
                ->group_keys->number(context, packed, 4, psvi_sum_before(finder->given, finder->group->rank), index,
                                     count);
        source = side->ids;
        break;
    case PSVI_COLUMN_CORNERS: return finder->ops->pack_corners(context, side, index, count, packed);
    case PSVI_COLUMN_FLAGS: source = view->flags; break;
    case PSVI_COLUMN_FILTER: source = view->filters; break;
    case PSVI_COLUMN_OWNER: source = side->owners; break;
    case PSVI_COLUMN_LAYER: source = side->layers; break;
    default: source = view->worlds; break;
    }
    const bool ones = column == PSVI_COLUMN_FILTER || column == PSVI_COLUMN_OWNER; // that is PSV_NO_OWNER
    if (source == NULL) return context->ops->fill(context, packed, ones ? 0xff : 0, count * bytes);
    return psv_gather_records(context, psv_buffer_of((void *)(uintptr_t)source, view->count * bytes),
                              psv_buffer_of(packed, count * bytes), bytes,
                              psv_buffer_of((void *)(uintptr_t)index, count * sizeof *index), count);
}

// Where record i of a column is; no memory of no records is NULL, to which nothing may be added.
static void *record_at(void *memory, uint64_t i, int column) {
    return memory == NULL ? NULL : (char *)memory + i * column_bytes[column];
}

psv_status psvi_pack_column(psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side, int column,
                            const uint32_t *index, uint64_t count, uint64_t first) {
    return pack_column(finder, view, side, column, index, count, record_at(finder->held[column].memory, first, column));
}

// Packs all arrays in the order of sending; boxes of this rank go to their final places at once.
static psv_status pack_columns(psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side,
                               uint32_t columns, uint64_t sent) {
    const uint32_t rank = finder->group->rank, *index = finder->index.memory;
    psv_status status = PSV_OK;
    for (int c = 0; c < PSVI_COLUMNS && status == PSV_OK; ++c) {
        if ((columns & 1u << c) == 0) continue;
        void *const away = finder->sent[c].memory, *const here = finder->held[c].memory;
        uint64_t place = 0; // in the lists: those before this rank's, its two, and those after
        status = pack_column(finder, view, side, c, index, finder->sent_first[0][rank], away);
        for (int kind = 0; kind < 2 && status == PSV_OK; ++kind) {
            place = finder->sent_first[kind][rank];
            status = pack_column(finder, view, side, c, index + place, finder->held_count[kind][rank],
                                 record_at(here, finder->held_first[kind][rank], c));
            place += finder->sent_count[kind][rank];
        }
        if (status == PSV_OK)
            status = pack_column(finder, view, side, c, index + place, sent - place, record_at(away, place, c));
    }
    for (int kind = 0; kind < 2; ++kind)
        finder->sent_count[kind][rank] = finder->held_count[kind][rank] = 0;
    return status;
}

static psv_status send_columns(psv_group_finder *finder, uint32_t columns) {
    psvi_moved moved[2 * PSVI_COLUMNS];
    uint32_t count = 0;
    finder->statistics.sent_bytes = 0;
    for (int c = 0; c < PSVI_COLUMNS; ++c) {
        if ((columns & 1u << c) == 0) continue;
        finder->statistics.sent_bytes += finder->statistics.sent * column_bytes[c];
        for (int kind = 0; kind < 2; ++kind)
            moved[count++] = (psvi_moved){finder->sent[c].memory,   finder->held[c].memory,   column_bytes[c],
                                          finder->sent_first[kind], finder->sent_count[kind], finder->held_first[kind],
                                          finder->held_count[kind]};
    }
    const psv_status status = psvi_group_move(finder->group, moved, count);
    return status == PSV_OK ? finder->context->ops->synchronize(finder->context) : status;
}

// --- the whole -------------------------------------------------------------------------------------------------------

// New regions for this call.
static psv_status choose_regions(psv_group_finder *finder, const psvi_group_boxes *boxes) {
    psv_group *group = finder->group;
    psv_status status = psvi_group_agree(group, PSVI_CALL_PAIRS_ROOM, take_samples(finder, boxes));
    if (status == PSV_OK)
        status = psvi_group_collect_host(group, finder->samples, finder->all_samples, sizeof(psvi_box_sample),
                                         finder->sampled);
    if (status == PSV_OK) cut_space(finder);
    return status;
}

// Counts how many of each rank's boxes touch each region, and the consequences for this rank.
static psv_status share_out(psv_group_finder *finder, psvi_group_boxes *boxes) {
    psv_group *group = finder->group;
    const psvi_staying *staying = &finder->staying;
    uint64_t *stays = &finder->lists[2 * group->rank];
    boxes->some = NULL;
    psv_status status = psvi_sift_staying(finder, boxes);
    if (status == PSV_OK) status = finder->ops->count_lists(finder->context, finder->state, boxes, finder->lists);
    const uint64_t unlisted = staying->active ? staying->inside : 0; // other ranks learn their number
    *stays += unlisted;
    status = psvi_group_gather(group, PSVI_CALL_PAIRS_PARTS, status, finder->lists, finder->matrix,
                               psvi_box_list_count(group->size) * sizeof(uint64_t));
    *stays -= unlisted;
    if (status == PSV_OK) plan_moves(finder);
    return status;
}

// The regions of the last call serve again while they balance; all ranks see the same numbers. Else new ones.
static psv_status split_boxes(psv_group_finder *finder, psvi_group_boxes *boxes) {
    if (finder->has_last && finder->statistics.imbalance <= PSVI_KEPT_IMBALANCE &&
        finder->statistics.pair_imbalance <= PSVI_KEPT_IMBALANCE) {
        memcpy(finder->cuts, finder->last_cuts, finder->group->size * sizeof *finder->cuts);
        const psv_status status = share_out(finder, boxes);
        if (status != PSV_OK || finder->statistics.imbalance <= PSVI_KEPT_IMBALANCE) return status;
    }
    const psv_status status = choose_regions(finder, boxes);
    return status == PSV_OK ? share_out(finder, boxes) : status;
}

psv_status psvi_move_boxes(psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side,
                           uint32_t columns) {
    psv_group *group = finder->group;
    const uint32_t lists = psvi_box_list_count(group->size);
    const double begin = psvi_group_now_ms();
    psvi_group_boxes boxes = {view, finder->local_def.world_count, {group->size, finder->cuts}, NULL, 0};
    psv_status status = split_boxes(finder, &boxes);
    if (status != PSV_OK) return status;
    const uint64_t listed = psvi_sum_before(finder->lists, lists), sent = listed - finder->lists[lists - 1];
    status = psvi_make_room(finder->context, &finder->index, listed * sizeof(uint32_t), "lists of boxes");
    if (status == PSV_OK) status = make_rooms(finder, view->count, sent, columns);
    if (status == PSV_OK && listed > 0)
        status = finder->ops->write_lists(finder->context, finder->state, &boxes, finder->index.memory);
    if (status == PSV_OK && sent > 0) status = pack_columns(finder, view, side, columns, sent);
    if (status == PSV_OK) status = finder->context->ops->synchronize(finder->context);
    finder->statistics.split_ms = psvi_group_now_ms() - begin;
    status = psvi_group_agree(group, PSVI_CALL_PAIRS_ROOM, status);
    const double moving = psvi_group_now_ms();
    if (status == PSV_OK) status = send_columns(finder, columns);
    if (status == PSV_OK && finder->staying.active) status = psvi_add_near(finder, view, side, columns);
    finder->statistics.move_ms = psvi_group_now_ms() - moving;
    return status;
}
