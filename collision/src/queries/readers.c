// Frames for readers (pairsieve/readers.h): copies of boxes, pairs and tree, of which the newest has a number that
// readers look up, and counts of those who read each copy.
//
// A reader counts itself in and looks again. If the copy is no longer the newest, the writer may have chosen it before
// it saw the count. Then the reader leaves the copy untouched and tries again. The writer takes a copy that is not the
// newest and that nobody has counted himself into. Each copy has a list of boxes that moved since it was written.
#include "pairsieve/readers.h"

#include <stdlib.h>

#include "../finder.h"
#include "tree_query.h"

#define READERS_COOKIE 0x70736472u // "psdr"
#define NO_COPY UINT32_MAX
#define MOST_COPIES 16u
#define MOST_BOXES ((uint64_t)1 << 30)
#define LISTED_SHARE 8u // of all boxes that a list holds; with more the tree is built anew
#define WORN_OUT 2u     // refitted boxes, for each box, after which the tree is built anew

typedef struct reader_copy {
    psv_reader_frame frame; // first: what readers hold
    uint32_t readers;       // atomic
    psv_tree *tree;
    psv_aabb *boxes;
    psv_pair *pairs;
    uint32_t *moved; // since the copy was written
    uint64_t moved_count, refitted;
    bool whole; // more has changed than the list says
} reader_copy;

struct psv_readers {
    uint32_t cookie;
    uint32_t newest; // atomic: which copy
    psv_context *context;
    psv_readers_def def;
    reader_copy copies[MOST_COPIES];
    char *block;
    uint64_t numbers;
    // The set of the last call, and which frame of which finder it was.
    bool known;
    uint64_t count, kept, version, find_calls;
    const psv_pair_finder *finder;
};

psv_readers_def psv_default_readers_def(void) { return (psv_readers_def){.cookie = READERS_COOKIE, .frames = 3}; }

// --- memory ----------------------------------------------------------------------------------------------------------

static uint64_t pair_room(const psv_readers_def *def) {
    return def->max_pairs == 0 ? 8 * def->max_boxes : def->max_pairs;
}
static uint64_t list_room(const psv_readers_def *def) { return def->max_boxes / LISTED_SHARE + 16; }

static psv_tree_def tree_def_of(const psv_readers_def *def) {
    psv_tree_def tree = psv_default_tree_def();
    tree.max_items = def->max_boxes;
    tree.refit_items = true;
    return tree;
}

static uint64_t copy_bytes(const psv_readers_def *def) {
    return psvi_align(def->max_boxes * sizeof(psv_aabb)) + psvi_align(pair_room(def) * sizeof(psv_pair)) +
           psvi_align(list_room(def) * sizeof(uint32_t));
}

static psv_status check_def(psv_context *context, const psv_readers_def *def) {
    if (def == NULL || def->cookie != READERS_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL or not from psv_default_readers_def");
    if (def->max_boxes == 0 || def->max_boxes > MOST_BOXES)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_boxes is %llu; it must be 1 to 1073741824",
                         (unsigned long long)def->max_boxes);
    if (def->max_pairs > (uint64_t)1 << 40)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_pairs is %llu; it must be 0 (8 a box) to 2^40",
                         (unsigned long long)def->max_pairs);
    if (def->frames < 2 || def->frames > MOST_COPIES)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.frames is %u; it must be 2 to %u", def->frames, MOST_COPIES);
    return PSV_OK;
}

uint64_t psv_readers_bytes(const psv_readers_def *def) {
    if (check_def(NULL, def) != PSV_OK) return 0;
    const psv_tree_def tree = tree_def_of(def);
    return def->frames * (copy_bytes(def) + psv_tree_bytes(PSV_BACKEND_CPU, &tree));
}

static psv_status create_copies(psv_readers *readers) {
    const psv_readers_def *def = &readers->def;
    const psv_tree_def tree = tree_def_of(def);
    psv_status status = PSV_OK;
    readers->block = psvi_alloc(readers->context, def->frames * copy_bytes(def));
    if (readers->block == NULL)
        return psvi_fail(readers->context, PSV_ERROR_MEMORY, "no memory for readers (%llu bytes)",
                         (unsigned long long)psv_readers_bytes(def));
    char *at = readers->block;
    for (uint32_t c = 0; c < def->frames && status == PSV_OK; ++c) {
        reader_copy *copy = &readers->copies[c];
        copy->boxes = psvi_next_part(&at, def->max_boxes * sizeof *copy->boxes);
        copy->pairs = psvi_next_part(&at, pair_room(def) * sizeof *copy->pairs);
        copy->moved = psvi_next_part(&at, list_room(def) * sizeof *copy->moved);
        copy->whole = true;
        status = psv_create_tree(readers->context, &tree, &copy->tree);
    }
    return status;
}

psv_status psv_create_readers(psv_context *context, const psv_readers_def *def, psv_readers **readers) {
    if (readers != NULL) *readers = NULL;
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (readers == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "readers is NULL");
    status = check_def(context, def);
    if (status != PSV_OK) return status;
    if (!context->ops->immediate)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "readers need memory of the host; the context is of %s",
                         context->ops->name);
    psv_readers *made = calloc(1, sizeof *made);
    if (made == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for readers (%zu bytes)", sizeof *made);
    made->cookie = READERS_COOKIE;
    made->newest = NO_COPY;
    made->context = context;
    made->def = *def;
    status = create_copies(made);
    if (status == PSV_OK)
        *readers = made;
    else
        psv_destroy_readers(made);
    return status;
}

void psv_destroy_readers(psv_readers *readers) {
    if (readers == NULL || readers->cookie != READERS_COOKIE) return;
    for (uint32_t c = 0; c < readers->def.frames; ++c)
        psv_destroy_tree(readers->copies[c].tree);
    psvi_free(readers->context, readers->block, readers->def.frames * copy_bytes(&readers->def));
    readers->cookie = 0;
    free(readers);
}

// --- what has moved --------------------------------------------------------------------------------------------------

static void note_box(reader_copy *copy, uint64_t room, uint64_t box) {
    if (copy->moved_count < room)
        copy->moved[copy->moved_count++] = (uint32_t)box;
    else
        copy->whole = true;
}

// A frame that was not published in between may have had moves that no list has.
static bool is_next_frame(const psv_readers *readers, const psv_pair_finder *finder) {
    return finder == readers->finder && finder->find_calls - readers->find_calls <= 1;
}

// What this set says of changes, to the list of each copy.
static void note_moves(psv_readers *readers, const psv_pair_finder *finder, const psv_box_set *set, uint64_t count) {
    const uint32_t *moved = psv_buffer_address(set->moved);
    const uint64_t kept = set->kept < count ? set->kept : count, room = list_room(&readers->def);
    const uint64_t first = kept < readers->kept ? kept : readers->kept;
    const bool follows = readers->known && is_next_frame(readers, finder) && kept > 0 &&
                         set->kept_version == readers->version && count == readers->count;
    for (uint32_t c = 0; c < readers->def.frames; ++c) {
        reader_copy *copy = &readers->copies[c];
        copy->whole = copy->whole || !follows;
        for (uint64_t i = 0; i < set->moved_count && !copy->whole; ++i)
            note_box(copy, room, moved[i]);
        for (uint64_t box = first; box < count && !copy->whole; ++box)
            note_box(copy, room, box);
    }
    readers->known = true;
    readers->count = count;
    readers->kept = kept;
    readers->version = set->kept_version;
    readers->finder = finder;
    readers->find_calls = finder->find_calls;
}

static void read_box(const psvi_box_view *view, uint64_t i, psv_aabb *box) {
    memcpy(box->min, view->min + i * view->min_stride, sizeof box->min);
    memcpy(box->max, view->max + i * view->max_stride, sizeof box->max);
}

// A box that the tree left out when it was built takes part now.
static bool is_new(const reader_copy *copy, const psvi_box_view *view, uint32_t box) {
    if (copy->tree->memory.places[box] != PSVI_NOT_PLACED) return false;
    if (view->flags != NULL && (view->flags[box] & PSV_BOX_DISABLED) != 0) return false;
    return !psvi_box_is_bad(copy->boxes[box].min, copy->boxes[box].max);
}

// --- publishing ------------------------------------------------------------------------------------------------------

static psv_status write_tree(reader_copy *copy, const psvi_box_view *view, const psv_box_set *set) {
    psv_box_set plain = *set;
    bool whole = copy->whole || copy->refitted + copy->moved_count > WORN_OUT * view->count;
    plain.filters = plain.worlds = plain.ids = plain.owners = plain.layers = (psv_buffer){0};
    if (whole)
        for (uint64_t i = 0; i < view->count; ++i)
            read_box(view, i, &copy->boxes[i]);
    for (uint64_t m = 0; m < copy->moved_count && !whole; ++m)
        read_box(view, copy->moved[m], &copy->boxes[copy->moved[m]]);
    for (uint64_t m = 0; m < copy->moved_count && !whole; ++m)
        whole = is_new(copy, view, copy->moved[m]);
    const psv_buffer moved = psv_buffer_of(copy->moved, copy->moved_count * sizeof *copy->moved);
    copy->refitted = whole ? 0 : copy->refitted + copy->moved_count;
    return whole ? psv_build_tree(copy->tree, &plain)
                 : psv_refit_tree_items(copy->tree, &plain, moved, copy->moved_count);
}

static psv_status write_copy(psv_readers *readers, reader_copy *copy, const psv_pair_finder *finder,
                             const psvi_box_view *view, const psv_box_set *set) {
    psv_reader_frame *frame = &copy->frame;
    psv_status status = write_tree(copy, view, set);
    if (status == PSV_OK) status = psv_view_tree(copy->tree, &frame->tree);
    copy->whole = status != PSV_OK;
    copy->moved_count = 0;
    if (status != PSV_OK) return status;
    const uint64_t pairs = finder->result->pair_count;
    memcpy(copy->pairs, finder->memory.pairs, pairs * sizeof *copy->pairs);
    frame->number = ++readers->numbers;
    frame->boxes = copy->boxes;
    frame->box_count = view->count;
    frame->pairs = copy->pairs;
    frame->pair_count = pairs;
    return PSV_OK;
}

// A copy that nobody reads; NO_COPY: there is none.
static uint32_t free_copy(psv_readers *readers) {
    for (uint32_t c = 0; c < readers->def.frames; ++c)
        if (c != __atomic_load_n(&readers->newest, __ATOMIC_SEQ_CST) &&
            __atomic_load_n(&readers->copies[c].readers, __ATOMIC_SEQ_CST) == 0)
            return c;
    return NO_COPY;
}

static psv_status check_readers(const psv_readers *readers) {
    return readers != NULL && readers->cookie == READERS_COOKIE
               ? PSV_OK
               : psvi_fail(NULL, PSV_ERROR_ARGUMENT, "readers is NULL or destroyed");
}

static psv_status check_frame(psv_readers *readers, psv_pair_finder *finder, const psv_box_set *set,
                              psvi_box_view *view) {
    psv_context *context = readers->context;
    psvi_rule_side side;
    psv_status status = psvi_check_frame(finder);
    if (status != PSV_OK) return status;
    if (finder->context != context)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "finder is of another context than readers");
    status = psvi_view_boxes(context, set, "boxes", view, &side);
    if (status != PSV_OK) return status;
    if (set->doubles)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "boxes.doubles is set; readers take float coordinates");
    if (view->count > readers->def.max_boxes)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "boxes.count is %llu; def.max_boxes of the readers is %llu",
                         (unsigned long long)view->count, (unsigned long long)readers->def.max_boxes);
    const uint64_t pairs = finder->result->pair_count;
    if (pairs > finder->memory.capacity) return psvi_report_overflow(finder, pairs);
    if (pairs > pair_room(&readers->def))
        return psvi_fail(context, PSV_ERROR_CAPACITY, "the frame has %llu pairs; the readers hold %llu (def.max_pairs)",
                         (unsigned long long)pairs, (unsigned long long)pair_room(&readers->def));
    status = psvi_check_buffer(context, set->moved, set->moved_count * sizeof(uint32_t), 4, "boxes.moved");
    const uint32_t *moved = psv_buffer_address(set->moved);
    for (uint64_t i = 0; i < set->moved_count && status == PSV_OK; ++i)
        if (moved[i] >= view->count)
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "boxes.moved[%llu] is %u; boxes.count is %llu",
                             (unsigned long long)i, moved[i], (unsigned long long)view->count);
    return status;
}

psv_status psv_publish_frame(psv_readers *readers, psv_pair_finder *finder, const psv_box_set *boxes) {
    psvi_box_view view;
    psv_status status = check_readers(readers);
    if (status != PSV_OK) return status;
    status = check_frame(readers, finder, boxes, &view);
    if (status != PSV_OK) {
        readers->known = false; // this call's moves are in no list
        return status;
    }
    note_moves(readers, finder, boxes, view.count);
    const uint32_t chosen = free_copy(readers);
    if (chosen == NO_COPY)
        return psvi_fail(readers->context, PSV_ERROR_CAPACITY, "all of %u copies are being read (def.frames)",
                         readers->def.frames);
    psvi_frame_begin(readers->context);
    status = write_copy(readers, &readers->copies[chosen], finder, &view, boxes);
    psvi_frame_end(readers->context);
    if (status == PSV_OK) __atomic_store_n(&readers->newest, chosen, __ATOMIC_SEQ_CST);
    return status;
}

// --- reading ---------------------------------------------------------------------------------------------------------

#ifndef PSVI_READER_WAITS // a test lets other threads go on here
#define PSVI_READER_WAITS()
#endif

const psv_reader_frame *psv_open_frame(psv_readers *readers) {
    if (check_readers(readers) != PSV_OK) return NULL;
    for (;;) {
        const uint32_t newest = __atomic_load_n(&readers->newest, __ATOMIC_SEQ_CST);
        if (newest == NO_COPY) return NULL;
        reader_copy *copy = &readers->copies[newest];
        PSVI_READER_WAITS();
        (void)__atomic_fetch_add(&copy->readers, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&readers->newest, __ATOMIC_SEQ_CST) == newest) return &copy->frame;
        (void)__atomic_fetch_sub(&copy->readers, 1, __ATOMIC_SEQ_CST);
    }
}

void psv_close_frame(psv_readers *readers, const psv_reader_frame *frame) {
    for (uint32_t c = 0; frame != NULL && check_readers(readers) == PSV_OK && c < readers->def.frames; ++c)
        if (frame == &readers->copies[c].frame)
            (void)__atomic_fetch_sub(&readers->copies[c].readers, 1, __ATOMIC_RELEASE);
}

// --- queries ---------------------------------------------------------------------------------------------------------

static const psvi_asker anybody = {0, {~0u, ~0u}};

psv_ray_hit psv_frame_ray(const psv_reader_frame *frame, const psv_ray *ray) {
    PSVI_STANDARD_FLOATS(NULL);
    return psvi_follow_ray(&frame->tree, ray, anybody, PSVI_QUERY_CLOSEST_HIT, NULL);
}

uint32_t psv_frame_touching(const psv_reader_frame *frame, const psv_aabb *box, uint32_t *items, uint32_t room) {
    PSVI_STANDARD_FLOATS(NULL);
    const psv_aabb asked = psvi_load_query_box((const char *)box);
    psvi_list list = {items, room, 0, false, false};
    psvi_touched_by_box(&frame->tree, &asked, anybody, &list);
    return list.found;
}

void psv_frame_nearest(const psv_reader_frame *frame, const psv_sphere *sphere, uint32_t k, psv_near_item *items) {
    PSVI_STANDARD_FLOATS(NULL);
    const psv_sphere asked = psvi_load_sphere((const char *)sphere);
    psvi_nearest(&frame->tree, &asked, anybody, k, items);
}
