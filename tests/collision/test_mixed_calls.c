// One finder, calls of all kinds in any order: one set whose boxes rest, move a little or move far, with margins and
// without; two sets of which the second is kept; other rules in between; a buffer that grows; events that are read or
// not. Hundreds of boxes, of one size or of many, some infinite or bad. The oracle tests all pairs of boxes.
//   test_mixed_calls [cpu|cuda|gl|vulkan] [--seed N] [--frames N] [--scenes N]
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pairsieve/collision.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"
#include "../test_scale.h"

#define MOST 900u
#define MOST_PAIRS (1u << 19)
#define WORLDS 4u

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static uint64_t base_seed = 33, frame_count = 40, scene_count = 12;

// Boxes in memory that the backend reads.
typedef struct box_list {
    uint32_t count;
    uint64_t version;
    psv_aabb boxes[MOST];
    uint32_t worlds[MOST], owners[MOST];
    psv_buffer boxes_at, worlds_at, owners_at;
} box_list;

typedef struct mixed_scene {
    uint64_t seed, draws;
    box_list own, other; // other: of frames between two sets, of which it is the second one
    bool has_worlds, has_owners, counts, events, sorts, grows;
    float unit, margin;
    uint32_t moved[MOST], moved_count;
    psv_buffer moved_at, excluded_at;
    psv_pair excluded[MOST];
    uint64_t excluded_count, room;
    psv_pair *now, *before, *found, *ended;
    uint64_t now_count, before_count;
} mixed_scene;

static uint32_t draw(mixed_scene *s, uint32_t below) {
    return (uint32_t)(box_random_bits(s->seed, s->draws++, 0) % below);
}

static bool one_in(mixed_scene *s, uint32_t count) { return draw(s, count) == 0; }

// --- boxes -----------------------------------------------------------------------------------------------------------

static void place_box(mixed_scene *s, box_list *list, uint32_t i) {
    const float size = s->unit * (one_in(s, 60) ? 30 : one_in(s, 8) ? 4 : 1);
    for (int axis = 0; axis < 3; ++axis) {
        list->boxes[i].min[axis] = s->unit * 0.01f * (float)draw(s, axis == 1 ? 300 : 1400);
        list->boxes[i].max[axis] = list->boxes[i].min[axis] + size;
    }
    const int axis = (int)draw(s, 3);
    if (one_in(s, 200)) list->boxes[i].max[axis] = INFINITY;
    if (one_in(s, 200)) list->boxes[i].min[axis] = -INFINITY;
    if (one_in(s, 200)) list->boxes[i].min[axis] = NAN;
    if (one_in(s, 200)) list->boxes[i].max[axis] = list->boxes[i].min[axis] - s->unit;
    list->worlds[i] = draw(s, WORLDS);
    list->owners[i] = one_in(s, 2) ? PSV_NO_OWNER : draw(s, 40);
}

static void push_box(mixed_scene *s, box_list *list, uint32_t i, float reach) {
    for (int axis = 0; axis < 3; ++axis) {
        const float by = s->unit * reach * (float)((int)draw(s, 201) - 100);
        list->boxes[i].min[axis] += by;
        list->boxes[i].max[axis] += by;
    }
}

static void make_list(mixed_scene *s, box_list *list, uint32_t count) {
    list->count = count;
    list->version = 0;
    for (uint32_t i = 0; i < MOST; ++i)
        place_box(s, list, i);
    CHECK(psv_alloc_buffer(context, sizeof list->boxes, &list->boxes_at));
    CHECK(psv_alloc_buffer(context, sizeof list->worlds, &list->worlds_at));
    CHECK(psv_alloc_buffer(context, sizeof list->owners, &list->owners_at));
}

static psv_box_set set_of(const mixed_scene *s, box_list *list) {
    CHECK(psv_upload(context, list->boxes_at, list->boxes, sizeof list->boxes));
    CHECK(psv_upload(context, list->worlds_at, list->worlds, sizeof list->worlds));
    CHECK(psv_upload(context, list->owners_at, list->owners, sizeof list->owners));
    psv_box_set set = psv_boxes_of(list->boxes_at, sizeof *list->boxes, list->count);
    if (s->has_worlds) set.worlds = list->worlds_at;
    if (s->has_owners) set.owners = list->owners_at;
    return set;
}

// Some boxes of the own set change, and are named.
static void change_own(mixed_scene *s) {
    box_list *own = &s->own;
    const uint32_t kind = draw(s, 12);
    s->moved_count = 0;
    if (kind == 0) { // boxes come or go
        const uint32_t old = own->count;
        own->count = 1 + draw(s, MOST);
        for (uint32_t i = old; i < own->count; ++i)
            place_box(s, own, i);
        return;
    }
    const uint32_t movers = kind < 5 ? draw(s, 12) : kind < 9 ? own->count : kind == 9 ? own->count / 8 : 0;
    const float reach = one_in(s, 4) ? 0.02f : 0.0004f;
    for (uint32_t m = 0; m < movers; ++m) {
        const uint32_t i = movers == own->count ? m : draw(s, own->count);
        if (kind == 4 && one_in(s, 3))
            place_box(s, own, i);
        else
            push_box(s, own, i, reach);
        if (s->moved_count < MOST) s->moved[s->moved_count++] = i;
    }
    if (s->moved_count < movers) ++own->version;
}

// --- the oracle ------------------------------------------------------------------------------------------------------

static bool is_good(const psv_aabb *box) {
    return box->min[0] <= box->max[0] && box->min[1] <= box->max[1] && box->min[2] <= box->max[2];
}

static bool may_pair(const mixed_scene *s, const box_list *x, uint32_t i, const box_list *y, uint32_t j) {
    for (int axis = 0; axis < 3; ++axis)
        if (x->boxes[i].min[axis] > y->boxes[j].max[axis] || y->boxes[j].min[axis] > x->boxes[i].max[axis])
            return false;
    if (s->has_worlds && x->worlds[i] != y->worlds[j]) return false;
    if (s->has_owners && x->owners[i] == y->owners[j] && x->owners[i] != PSV_NO_OWNER) return false;
    for (uint64_t e = 0; e < s->excluded_count; ++e)
        if (s->excluded[e].a == i && s->excluded[e].b == j) return false;
    return true;
}

static void find_expected(mixed_scene *s, bool between) {
    const box_list *x = &s->own, *y = between ? &s->other : x;
    s->now_count = 0;
    for (uint32_t i = 0; i < x->count; ++i) {
        if (!is_good(&x->boxes[i])) continue;
        for (uint32_t j = between ? 0 : i + 1; j < y->count; ++j) {
            if (!is_good(&y->boxes[j]) || !may_pair(s, x, i, y, j)) continue;
            assert_true(s->now_count < MOST_PAIRS);
            s->now[s->now_count++] = (psv_pair){i, j};
        }
    }
}

static int compare_pairs(const void *x, const void *y) {
    const psv_pair *a = x, *b = y;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

// Compares `found` with those of x that y does not have.
static void expect_only(const mixed_scene *s, uint64_t frame, const char *what, const psv_pair *found, uint64_t count,
                        const psv_pair *x, uint64_t x_count, const psv_pair *y, uint64_t y_count) {
    uint64_t at = 0;
    for (uint64_t i = 0, j = 0; i < x_count; ++i) {
        while (j < y_count && compare_pairs(&y[j], &x[i]) < 0)
            ++j;
        if (j < y_count && compare_pairs(&y[j], &x[i]) == 0) continue;
        if (at == count || compare_pairs(&found[at], &x[i]) != 0)
            fail_msg("seed %llu, frame %llu: %s %llu of %llu is not (%u, %u)", (unsigned long long)s->seed,
                     (unsigned long long)frame, what, (unsigned long long)at, (unsigned long long)count, x[i].a,
                     x[i].b);
        ++at;
    }
    if (at != count)
        fail_msg("seed %llu, frame %llu: %llu %s, expected %llu", (unsigned long long)s->seed,
                 (unsigned long long)frame, (unsigned long long)count, what, (unsigned long long)at);
}

// --- calls -----------------------------------------------------------------------------------------------------------

static void set_rules(mixed_scene *s, psv_pair_finder *finder) {
    psv_pair_rules rules = psv_default_pair_rules();
    s->excluded_count = one_in(s, 3) ? 0 : draw(s, 60);
    for (uint64_t e = 0; e < s->excluded_count; ++e)
        s->excluded[e] = s->now_count > 0 ? s->now[draw(s, (uint32_t)s->now_count)] : (psv_pair){0, 1};
    if (s->excluded_count > 0) {
        CHECK(psv_upload(context, s->excluded_at, s->excluded, sizeof s->excluded));
        rules.excluded = s->excluded_at;
        rules.excluded_count = s->excluded_count;
    }
    CHECK(psv_set_pair_rules(finder, one_in(s, 2) || s->excluded_count > 0 ? &rules : NULL));
}

static psv_box_set own_set(mixed_scene *s) {
    psv_box_set set = set_of(s, &s->own);
    CHECK(psv_upload(context, s->moved_at, s->moved, sizeof s->moved));
    set.kept = s->own.count;
    set.kept_version = s->own.version;
    set.moved = s->moved_at;
    set.moved_count = s->moved_count;
    if (s->margin > 0) set.margin = one_in(s, 20) ? 0 : s->margin;
    return set;
}

static psv_box_set other_set(mixed_scene *s) {
    box_list *other = &s->other;
    if (one_in(s, 4)) {
        ++other->version;
        for (uint32_t i = 0; i < other->count; ++i)
            push_box(s, other, i, 0.01f);
    }
    psv_box_set set = set_of(s, other);
    set.kept = one_in(s, 5) ? 0 : other->count;
    set.kept_version = other->version;
    return set;
}

static void check_world_counts(const mixed_scene *s, const psv_pair_finder *finder) {
    uint64_t counts[WORLDS] = {0}, got[WORLDS];
    for (uint64_t p = 0; p < s->now_count; ++p)
        ++counts[s->has_worlds ? s->own.worlds[s->now[p].a] : 0];
    CHECK(psv_download(context, got, psv_world_pair_buffer(finder), sizeof got));
    for (uint32_t w = 0; w < WORLDS; ++w)
        assert_int_equal(got[w], counts[w]);
}

static void check_events(mixed_scene *s, psv_pair_finder *finder, uint64_t frame) {
    uint64_t begins = 0, ends = 0;
    CHECK(psv_read_pair_events(finder, s->found, MOST_PAIRS, &begins, s->ended, MOST_PAIRS, &ends));
    expect_only(s, frame, "begins", s->found, begins, s->now, s->now_count, s->before, s->before_count);
    expect_only(s, frame, "ends", s->ended, ends, s->before, s->before_count, s->now, s->now_count);
    memcpy(s->before, s->now, s->now_count * sizeof *s->now);
    s->before_count = s->now_count;
}

static void run_frame(mixed_scene *s, psv_pair_finder *finder, uint64_t frame) {
    const bool between = one_in(s, 6);
    uint64_t count = 0;
    psv_pair_check check;
    const psv_box_set a = between ? set_of(s, &s->own) : own_set(s), b = between ? other_set(s) : a;
    find_expected(s, between);
    CHECK(between ? psv_find_pairs_between(finder, &a, &b) : psv_find_pairs(finder, &a));
    // What has changed before a frame of two sets, the next frame of one set is not told.
    if (between) ++s->own.version;
    CHECK(psv_read_pairs(finder, s->found, MOST_PAIRS, &count));
    if (!s->sorts) qsort(s->found, count, sizeof *s->found, compare_pairs);
    expect_only(s, frame, between ? "pairs between" : "pairs", s->found, count, s->now, s->now_count, NULL, 0);
    if (s->counts) check_world_counts(s, finder);
    if (one_in(s, 10)) {
        CHECK(psv_check_pairs(finder, &a, between ? &b : NULL, 20, &check));
        assert_int_equal(check.missing + check.extra, 0);
    }
    if (s->events && !one_in(s, 4)) check_events(s, finder, frame);
}

static psv_pair_finder *make_scene(mixed_scene *s, uint64_t number) {
    static const char *const methods[] = {"auto", "rows", "lbvh", "brute"};
    static const float units[] = {1, 1e-3f, 1e20f, 1e-42f};
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    s->seed = base_seed + 1000 * number;
    s->draws = 0;
    s->has_worlds = one_in(s, 3);
    s->has_owners = one_in(s, 3);
    s->counts = one_in(s, 6);
    s->events = !one_in(s, 3);
    s->sorts = one_in(s, 3);
    s->unit = units[one_in(s, 3) ? draw(s, 4) : 0];
    s->margin = one_in(s, 2) ? s->unit * 0.2f : 0;
    s->excluded_count = s->now_count = s->before_count = s->moved_count = 0;
    make_list(s, &s->own, 1 + draw(s, MOST));
    make_list(s, &s->other, 1 + draw(s, MOST));
    def.method = methods[draw(s, 4)];
    def.max_boxes = def.max_kept = MOST * 2;
    def.max_pairs = one_in(s, 3) ? 1 + draw(s, 500) : 8 * MOST;
    def.grow_pairs = true;
    def.events = s->events;
    def.sort_output = s->sorts;
    def.margins = s->margin > 0;
    def.max_excluded = MOST;
    def.world_count = WORLDS;
    def.count_worlds = s->counts;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    return finder;
}

static void free_list(box_list *list) {
    psv_free_buffer(context, &list->boxes_at);
    psv_free_buffer(context, &list->worlds_at);
    psv_free_buffer(context, &list->owners_at);
}

static void test_any_order(void **state) {
    (void)state;
    mixed_scene *s = calloc(1, sizeof *s);
    psv_pair **const lists[] = {&s->now, &s->before, &s->found, &s->ended};
    for (int i = 0; i < 4; ++i)
        *lists[i] = calloc(MOST_PAIRS, sizeof(psv_pair));
    CHECK(psv_alloc_buffer(context, sizeof s->moved, &s->moved_at));
    CHECK(psv_alloc_buffer(context, sizeof s->excluded, &s->excluded_at));
    const uint32_t scenes = test_thinned((unsigned)scene_count, 2);
    uint64_t pairs = 0;
    for (uint64_t number = 0; number < scenes; ++number) {
        psv_pair_finder *finder = make_scene(s, number);
        for (uint64_t frame = 0; frame < frame_count; ++frame) {
            if (one_in(s, 12)) set_rules(s, finder);
            run_frame(s, finder, frame);
            pairs += s->now_count;
            change_own(s);
        }
        psv_destroy_pair_finder(finder);
        free_list(&s->own);
        free_list(&s->other);
    }
    print_message("seed %llu: %llu frames, %llu pairs\n", (unsigned long long)base_seed,
                  (unsigned long long)(scenes * frame_count), (unsigned long long)pairs);
    assert_true(pairs > scenes * frame_count);
    psv_free_buffer(context, &s->moved_at);
    psv_free_buffer(context, &s->excluded_at);
    for (int i = 0; i < 4; ++i)
        free(*lists[i]);
    free(s);
}

int main(int argc, char **argv) {
    const number_option options[] = {
        {"--seed", &base_seed}, {"--frames", &frame_count}, {"--scenes", &scene_count}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = 3;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_order)};
    return RUN_BACKEND_TESTS("mixed_calls", &def, &context, tests);
}
