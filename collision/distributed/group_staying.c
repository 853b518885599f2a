// Where hardly any box has to move, boxes are not copied: the finder of a rank searches the rank's own boxes in the
// caller's memory. A second finder searches the boxes from other ranks (arrivals) together with the own boxes that they
// may overlap (near boxes).
//
//   own boxes    ->  this rank's finder     ->  pairs; pairs of two boxes that are «away» need the test of ownership
//     | sift         (waits for no other rank, so it runs beside all following steps)
//     +-> away: boxes that touch other regions, or do not touch this one -> to their ranks
//     +-> near: boxes that overlap the place where arrivals are expected
//   arrivals + near boxes  ->  second finder  ->  pairs with an arrival, with the test of ownership
//
// Arrivals are expected in their bounds of the last call, slightly enlarged. If one lies outside, the own boxes are
// sifted once more. Each rank decides by itself: it sends the same boxes either way, and another rank may copy.
#include <math.h>
#include <stdlib.h>

#include "../src/frame.h"
#include "group_finder.h"

// Worth while as long as at most one box in so many is away or near: beyond that copies cost less.
#define PSVI_FEW_SHARE 8

// How far beyond the last arrivals others are expected, as a share of their extent.
#define PSVI_REACH_MARGIN 0.125f

static const psv_aabb nowhere = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static uint64_t few_of(uint64_t count) { return count / PSVI_FEW_SHARE + 64; }

static void forget_reaches(psvi_staying *staying) {
    for (uint32_t r = 0; r < PSVI_REACHES; ++r)
        staying->reaches[r] = nowhere;
}

void psvi_free_staying(psv_group_finder *finder) {
    psvi_staying *staying = &finder->staying;
    psv_destroy_pair_finder(staying->second);
    psvi_free_room(finder->context, &staying->away_bits);
    psvi_free_room(finder->context, &staying->away_list);
    psvi_free_room(finder->context, &staying->near_list);
    free(staying->arrivals);
    *staying = (psvi_staying){0};
}

// --- begin -----------------------------------------------------------------------------------------------------------

// The set for the finder of this rank: ids name excluded pairs only, and arrays that a group does not use are removed.
static psv_box_set own_set(const psv_group_finder *finder, const psv_box_set *boxes) {
    psv_box_set own = *boxes;
    if (!finder->local_def.ids) own.ids = (psv_buffer){0};
    own.kept = 0;
    own.margin = 0;
    own.margins = (psv_buffer){0};
    return own;
}

// The finder of this rank begins with its own boxes. Where that would mean to wait, it does not see to the room of its
// pairs.
static psv_status begin_own(psv_group_finder *finder) {
    psv_pair_finder *local = finder->local;
    return psvi_find_pairs(local, &finder->staying.own, local->def.grow_pairs && finder->context->ops->immediate);
}

psv_status psvi_begin_staying(psv_group_finder *finder, const psv_box_set *boxes, const psvi_box_view *view,
                              const psvi_rule_side *side) {
    psvi_staying *staying = &finder->staying;
    const bool named = side->ids != NULL || finder->excluded_count == 0;
    staying->active = staying->early = false;
    staying->possible = view->count > 0 && !side->doubles && named && !psvi_backoff_waits(&staying->backoff);
    if (!staying->possible) return PSV_OK;
    if (staying->arrivals == NULL) {
        staying->arrivals = malloc(finder->group->size * sizeof *staying->arrivals);
        forget_reaches(staying);
    }
    staying->possible = staying->arrivals != NULL;
    if (!staying->possible) return PSV_OK;
    staying->own = own_set(finder, boxes);
    if (finder->ops->fork == NULL || !staying->likely || finder->local == NULL ||
        finder->local_def.max_boxes < view->count)
        return PSV_OK;
    psv_status status = finder->ops->open_side(finder->context, finder->state);
    if (status == PSV_OK) status = begin_own(finder);
    staying->early = status == PSV_OK;
    if (staying->early) finder->ops->fork(finder->context, finder->state);
    return status;
}

void psvi_end_staying(psv_group_finder *finder) {
    psvi_staying *staying = &finder->staying;
    if (staying->early) (void)finder->ops->join(finder->context, finder->state);
    staying->early = false;
}

// This call copies after all.
static void give_up(psv_group_finder *finder) {
    psvi_staying *staying = &finder->staying;
    psvi_end_staying(finder);
    staying->active = staying->possible = staying->likely = false;
    forget_reaches(staying);
    psvi_backoff_failed(&staying->backoff, 1, 15);
}

// --- sift ------------------------------------------------------------------------------------------------------------

static psv_status sift(psv_group_finder *finder, const psvi_group_boxes *boxes, bool again, uint64_t room,
                       psvi_sifted *sifted) {
    psvi_staying *staying = &finder->staying;
    psvi_sifting sifting = {.boxes = boxes, .inner = psvi_inner_of(boxes->regions, finder->group->rank), .room = room};
    for (uint32_t r = 0; r < PSVI_REACHES; ++r)
        if (staying->reaches[r].min[0] <= staying->reaches[r].max[0])
            sifting.reaches[sifting.reach_count++] = staying->reaches[r];
    sifting.near = staying->near_list.memory;
    if (!again) {
        sifting.away = staying->away_list.memory;
        sifting.away_bits = staying->away_bits.memory;
    }
    return finder->ops->sift(finder->context, finder->state, &sifting, sifted);
}

psv_status psvi_sift_staying(psv_group_finder *finder, psvi_group_boxes *boxes) {
    psvi_staying *staying = &finder->staying;
    psv_context *context = finder->context;
    const uint64_t count = boxes->view->count, room = few_of(count);
    psvi_sifted sifted = {0};
    staying->active = staying->possible;
    if (!staying->active) return PSV_OK;
    psv_status status = psvi_make_room(context, &staying->away_bits, (count + 31) / 32 * 4, "bits of boxes");
    if (status == PSV_OK) status = psvi_make_room(context, &staying->away_list, room * 4, "boxes that leave");
    if (status == PSV_OK) status = psvi_make_room(context, &staying->near_list, room * 4, "boxes near others");
    if (status == PSV_OK) status = sift(finder, boxes, false, room, &sifted);
    if (status != PSV_OK) return status;
    if (sifted.away > room || sifted.near > room) {
        give_up(finder);
        return PSV_OK;
    }
    boxes->some = staying->away_list.memory;
    boxes->some_count = sifted.away;
    staying->near = sifted.near;
    staying->inside = count - sifted.away - sifted.disabled;
    return PSV_OK;
}

// --- arrivals --------------------------------------------------------------------------------------------------------

static bool lies_in(const psv_aabb *inner, const psv_aabb *outer) {
    bool inside = true;
    for (int axis = 0; axis < 3; ++axis)
        inside = inside && inner->min[axis] >= outer->min[axis] && inner->max[axis] <= outer->max[axis];
    return inside;
}

static void widen(psv_aabb *box, const psv_aabb *other) {
    for (int axis = 0; axis < 3; ++axis) {
        box->min[axis] = fminf(box->min[axis], other->min[axis]);
        box->max[axis] = fmaxf(box->max[axis], other->max[axis]);
    }
}

// Where arrivals are and are expected in the next call. False where they were not expected this time.
static bool follow_arrivals(psv_group_finder *finder) {
    psvi_staying *staying = &finder->staying;
    bool expected = true;
    psv_aabb reaches[PSVI_REACHES];
    for (uint32_t r = 0; r < PSVI_REACHES; ++r)
        reaches[r] = nowhere;
    for (uint32_t r = 0; r < finder->group->size; ++r) {
        const psv_aabb *arrived = &staying->arrivals[r];
        if (!(arrived->min[0] <= arrived->max[0])) continue; // none
        expected = expected && lies_in(arrived, &staying->reaches[r % PSVI_REACHES]);
        widen(&reaches[r % PSVI_REACHES], arrived);
    }
    for (uint32_t r = 0; r < PSVI_REACHES; ++r)
        for (int axis = 0; axis < 3; ++axis) {
            const float extent = reaches[r].max[axis] - reaches[r].min[axis];
            const float margin = extent > 0 && extent < INFINITY ? extent * PSVI_REACH_MARGIN : 0;
            staying->reaches[r].min[axis] = reaches[r].min[axis] - margin;
            staying->reaches[r].max[axis] = reaches[r].max[axis] + margin;
        }
    return expected;
}

// Finds the near boxes again. There may be more of them than the short lists hold.
static psv_status sift_again(psv_group_finder *finder, const psvi_group_boxes *boxes) {
    psvi_staying *staying = &finder->staying;
    psv_context *context = finder->context;
    psvi_sifted sifted = {0};
    const uint64_t room = few_of(boxes->view->count);
    psv_status status = sift(finder, boxes, true, room, &sifted);
    staying->near = sifted.near;
    if (status != PSV_OK || sifted.near <= room) return status;
    status = psvi_make_room(context, &staying->near_list, sifted.near * 4, "boxes near others");
    return status == PSV_OK ? sift(finder, boxes, true, sifted.near, &sifted) : status;
}

psv_status psvi_add_near(psv_group_finder *finder, const psvi_box_view *view, const psvi_rule_side *side,
                         uint32_t columns) {
    psvi_staying *staying = &finder->staying;
    const psvi_group_boxes boxes = {view, finder->local_def.world_count, {finder->group->size, finder->cuts}, NULL, 0};
    staying->arrived = finder->held_total;
    finder->statistics.copied = 0;
    if (staying->arrived == 0) {
        forget_reaches(staying);
        staying->near = 0;
        return PSV_OK;
    }
    psv_status status =
        finder->ops->bound(finder->context, finder->state, finder->held[PSVI_COLUMN_BOX].memory, finder->group->size,
                           finder->held_first, finder->held_count, staying->arrivals);
    if (status == PSV_OK && !follow_arrivals(finder)) status = sift_again(finder, &boxes);
    if (status == PSV_OK)
        status = psvi_make_box_rooms(finder, 0, staying->arrived + staying->near, staying->arrived, columns);
    finder->statistics.copied = staying->arrived + staying->near;
    for (int c = 0; c < PSVI_COLUMNS && status == PSV_OK; ++c)
        if ((columns & 1u << c) != 0)
            status =
                psvi_pack_column(finder, view, side, c, staying->near_list.memory, staying->near, staying->arrived);
    return status;
}

// --- pairs -----------------------------------------------------------------------------------------------------------

static psv_status find_with_arrivals(psv_group_finder *finder, const psv_box_set *arrived, uint64_t *seen) {
    psvi_staying *staying = &finder->staying;
    if (staying->second == NULL || arrived->count > staying->second_room) {
        psv_pair_finder_def def = finder->local_def;
        def.max_boxes = staying->second_room = arrived->count + arrived->count / 4 + 64;
        def.max_pairs = 0;
        def.grow_pairs = true;
        const psv_status status = psvi_make_local_finder(finder, &def, &staying->second);
        if (status != PSV_OK) return status;
    }
    const psv_status status = psv_find_pairs(staying->second, arrived);
    return status == PSV_OK ? psv_finish_pairs(staying->second, seen) : status;
}

psv_status psvi_find_staying(psv_group_finder *finder, const psv_box_set *arrived, uint64_t seen[2]) {
    psvi_staying *staying = &finder->staying;
    const bool early = staying->early;
    psv_status status = PSV_OK;
    seen[0] = seen[1] = 0;
    if (staying->arrived > 0) status = find_with_arrivals(finder, arrived, &seen[1]);
    psvi_end_staying(finder);
    if (status == PSV_OK && !early) status = begin_own(finder);
    if (status == PSV_OK) status = psv_finish_pairs(finder->local, &seen[0]);
    if (status == PSV_ERROR_CAPACITY && finder->local->def.grow_pairs) { // again, with more room
        status = psv_find_pairs(finder->local, &staying->own);
        if (status == PSV_OK) status = psv_finish_pairs(finder->local, &seen[0]);
    }
    // The next call begins so when near boxes turn out to be few too.
    staying->likely = status == PSV_OK && staying->near <= few_of(staying->own.count);
    if (staying->likely)
        psvi_backoff_succeeded(&staying->backoff);
    else
        psvi_backoff_failed(&staying->backoff, 1, 15);
    return status;
}
