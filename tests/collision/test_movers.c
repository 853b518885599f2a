// Boxes that rest and boxes that move, from frame to frame: moves, wakes, sleeps, inserted and removed boxes, other
// ids, rules, versions and margins, buffers that grow or overflow, events that are read late. Each scene has some of
// these; one in nine has all. The oracle tests all pairs of boxes.
//   test_movers [cpu|cuda|gl] [--seed N] [--frames N] [--readers N]
// --readers: on the CPU, threads that read the frames while the next ones are made.
// A long run: test_movers cpu --frames 10000 --readers 8, and test_movers cuda --frames 10000.
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

#include "../cases/check_call.h"
#include "../test_scale.h"
#include "mover_readers.h"

#define MOST 160u
#define MOST_PAIRS (MOST * MOST / 2)
#define SCENES 36u
#define WORLDS 3u

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static uint64_t base_seed = 20261126;
static uint32_t frame_count = 120, reader_count;

typedef struct scene {
    uint64_t random, first;
    bool doubles, has_flags, has_filters, has_worlds, has_ids, has_owners, has_layers, has_excluded;
    bool events, sorts, grows, tight, lazy; // tight: pairs overflow now and then; lazy: events are not always read
    bool has_margins;
    const char *method;
    float margin, margins[MOST]; // margin: 0 where each box has its own
    psv_aabb64 boxes[MOST];
    uint8_t flags[MOST], layers[MOST];
    psv_box_filter filters[MOST];
    uint32_t ids[MOST], owners[MOST], worlds[MOST], next_id;
    uint32_t matrix[PSV_LAYERS];
    psv_pair excluded[MOST];
    uint64_t excluded_count, count, kept, version;
    uint32_t moved[2 * MOST];
    uint64_t moved_count, room;
    psv_pair pairs[MOST_PAIRS], before[MOST_PAIRS]; // before: of the last frame whose events were read
    uint64_t pair_count, before_count;
    uint64_t ways;          // frames without a search of all boxes
    mover_readers *readers; // NULL: none
} scene;

static uint32_t draw(scene *s, uint32_t below) {
    s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((s->random >> 33) % below);
}

static bool one_in(scene *s, uint32_t count) { return draw(s, count) == 0; }

// --- changes ---------------------------------------------------------------------------------------------------------

static void place_box(scene *s, uint64_t i) {
    const double unit = s->doubles ? 1e-3 : 0.25, size = one_in(s, 40) ? 40 : 1 + draw(s, 5);
    for (int axis = 0; axis < 3; ++axis) {
        const double at = (s->doubles ? 1e6 : 0) + unit * draw(s, axis == 1 ? 8 : 32);
        s->boxes[i].min[axis] = at;
        s->boxes[i].max[axis] = at + unit * (size - (one_in(s, 150) ? 60 : 0));
    }
    if (one_in(s, 150)) s->boxes[i].min[draw(s, 3)] = NAN;
    if (one_in(s, 150)) s->boxes[i].max[draw(s, 3)] = INFINITY;
}

static void fill_slot(scene *s, uint64_t i) {
    place_box(s, i);
    s->flags[i] = one_in(s, 5) ? PSV_BOX_DISABLED : one_in(s, 3) ? PSV_BOX_STATIC : 0;
    s->filters[i] = (psv_box_filter){1u << draw(s, 3), one_in(s, 2) ? 7u : 1u << draw(s, 3)};
    s->owners[i] = one_in(s, 3) ? PSV_NO_OWNER : draw(s, 12);
    s->layers[i] = (uint8_t)draw(s, 4);
    s->worlds[i] = one_in(s, 60) ? WORLDS : draw(s, WORLDS); // WORLDS: there is no such world
    s->ids[i] = s->next_id++ * 7919u % 1000003u;
}

static void report(scene *s, uint64_t i) {
    if (i < s->kept || one_in(s, 9)) s->moved[s->moved_count++] = (uint32_t)i;
    if (one_in(s, 30)) s->moved[s->moved_count++] = (uint32_t)i; // twice is allowed
}

static void nudge_box(scene *s, uint64_t i) {
    const double unit = s->doubles ? 1e-3 : 0.25;
    const int axis = (int)draw(s, 3);
    const double by = one_in(s, 2) ? unit : -unit;
    s->boxes[i].min[axis] += by;
    s->boxes[i].max[axis] += by;
}

static void change_box(scene *s, uint64_t i) {
    const uint32_t kind = draw(s, 12);
    if (kind < 6)
        nudge_box(s, i);
    else if (kind < 8)
        place_box(s, i);
    else if (kind == 8)
        s->flags[i] ^= PSV_BOX_DISABLED; // taken out, or put in again
    else if (kind == 9)
        fill_slot(s, i); // another box, with another id
    else if (kind == 10)
        s->layers[i] = (uint8_t)draw(s, 4), s->owners[i] = draw(s, 12), s->worlds[i] = draw(s, WORLDS);
    // else: it is said to have moved, and has not
}

static void swap_ids(scene *s) {
    const uint32_t i = draw(s, (uint32_t)s->count), j = draw(s, (uint32_t)s->count), id = s->ids[i];
    s->ids[i] = s->ids[j];
    s->ids[j] = id;
    report(s, i);
    report(s, j);
}

// The last boxes go, or new ones come behind them.
static void change_count(scene *s) {
    const uint64_t old = s->count;
    const uint32_t by = draw(s, one_in(s, 5) ? 60 : 6);
    s->count = one_in(s, 2) ? (old > by ? old - by : 0) : (old + by < MOST ? old + by : MOST);
    for (uint64_t i = old; i < s->count; ++i)
        fill_slot(s, i);
    if (s->kept > s->count || one_in(s, 2)) s->kept = s->count;
}

// What is kept changes only by the list, or with another version.
static void change_scene(scene *s) {
    s->moved_count = 0;
    if (one_in(s, 12)) change_count(s);
    if (s->count == 0) return;
    if (s->has_margins && one_in(s, 8)) s->margin = one_in(s, 3) ? 0 : (s->doubles ? 1e-3f : 0.25f) * (float)draw(s, 4);
    if (one_in(s, 25)) { // all may change
        ++s->version;
        s->kept = one_in(s, 4) ? draw(s, (uint32_t)s->count + 1) : s->count;
        for (uint64_t i = 0; i < s->count; ++i)
            if (one_in(s, 2)) change_box(s, i);
        return;
    }
    const uint32_t awake = one_in(s, 10) ? (uint32_t)s->count : draw(s, 8);
    for (uint32_t k = 0; k < awake && s->moved_count + 4 < MOST; ++k) {
        const uint32_t i = draw(s, (uint32_t)s->count);
        change_box(s, i);
        report(s, i);
    }
    for (uint64_t i = s->kept; i < s->count; ++i)
        if (one_in(s, 3)) change_box(s, i); // without being named
    if (one_in(s, 20)) swap_ids(s);
    if (one_in(s, 30)) s->kept = draw(s, (uint32_t)s->kept + 1); // these may change from the next frame on
}

// --- the oracle ------------------------------------------------------------------------------------------------------

static int compare_pairs(const void *x, const void *y) {
    const psv_pair *a = x, *b = y;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

static bool is_live(const scene *s, uint64_t i) {
    if (s->has_flags && (s->flags[i] & PSV_BOX_DISABLED) != 0) return false;
    if (s->has_worlds && s->worlds[i] >= WORLDS) return false;
    for (int axis = 0; axis < 3; ++axis)
        if (!(s->boxes[i].min[axis] <= s->boxes[i].max[axis])) return false;
    return true;
}

static bool overlap(const scene *s, uint64_t i, uint64_t j) {
    for (int axis = 0; axis < 3; ++axis)
        if (s->boxes[i].min[axis] > s->boxes[j].max[axis] || s->boxes[j].min[axis] > s->boxes[i].max[axis])
            return false;
    return true;
}

static bool may_pair(const scene *s, uint64_t i, uint64_t j, psv_pair name) {
    if (s->has_flags && (s->flags[i] & s->flags[j] & PSV_BOX_STATIC) != 0) return false;
    if (s->has_filters &&
        ((s->filters[i].group & s->filters[j].mask) == 0 || (s->filters[j].group & s->filters[i].mask) == 0))
        return false;
    if (s->has_worlds && s->worlds[i] != s->worlds[j]) return false;
    if (s->has_owners && s->owners[i] == s->owners[j] && s->owners[i] != PSV_NO_OWNER) return false;
    if (s->has_layers &&
        ((s->matrix[s->layers[i]] >> s->layers[j] & 1) == 0 || (s->matrix[s->layers[j]] >> s->layers[i] & 1) == 0))
        return false;
    for (uint64_t e = 0; s->has_excluded && e < s->excluded_count; ++e)
        if (compare_pairs(&name, &s->excluded[e]) == 0) return false;
    return true;
}

static void find_expected(scene *s) {
    s->pair_count = 0;
    for (uint64_t i = 0; i < s->count; ++i)
        for (uint64_t j = i + 1; j < s->count && is_live(s, i); ++j) {
            const uint32_t x = s->has_ids ? s->ids[i] : (uint32_t)i, y = s->has_ids ? s->ids[j] : (uint32_t)j;
            const psv_pair name = x < y ? (psv_pair){x, y} : (psv_pair){y, x};
            if (is_live(s, j) && overlap(s, i, j) && may_pair(s, i, j, name)) s->pairs[s->pair_count++] = name;
        }
    qsort(s->pairs, s->pair_count, sizeof *s->pairs, compare_pairs);
}

// Those of x that y does not have; both ascending.
static uint64_t subtract(const psv_pair *x, uint64_t x_count, const psv_pair *y, uint64_t y_count, psv_pair *only) {
    uint64_t count = 0;
    for (uint64_t i = 0, j = 0; i < x_count; ++i) {
        while (j < y_count && compare_pairs(&y[j], &x[i]) < 0)
            ++j;
        if (j == y_count || compare_pairs(&y[j], &x[i]) != 0) only[count++] = x[i];
    }
    return count;
}

static void expect_list(const scene *s, const char *what, const psv_pair *found, uint64_t count,
                        const psv_pair *expected, uint64_t expected_count) {
    if (count != expected_count)
        fail_msg("scene %llu: %llu %s, expected %llu", (unsigned long long)s->first, (unsigned long long)count, what,
                 (unsigned long long)expected_count);
    for (uint64_t i = 0; i < count; ++i)
        if (compare_pairs(&found[i], &expected[i]) != 0)
            fail_msg("scene %llu: %s %llu is (%u, %u), expected (%u, %u)", (unsigned long long)s->first, what,
                     (unsigned long long)i, found[i].a, found[i].b, expected[i].a, expected[i].b);
}

// --- calls -----------------------------------------------------------------------------------------------------------

#define PARTS 10

typedef struct uploads {
    psv_buffer buffers[PARTS];
    int count;
} uploads;

static psv_buffer upload(uploads *to, const void *data, uint64_t bytes) {
    if (backend == PSV_BACKEND_CPU) return psv_buffer_of((void *)data, bytes);
    psv_buffer *buffer = &to->buffers[to->count++];
    CHECK(psv_alloc_buffer(context, bytes, buffer));
    CHECK(psv_upload(context, *buffer, data, bytes));
    return *buffer;
}

static void free_uploads(uploads *to) {
    while (to->count > 0)
        psv_free_buffer(context, &to->buffers[--to->count]);
}

static psv_box_set view(scene *s, uploads *to, psv_aabb *floats) {
    const uint64_t n = s->count == 0 ? 1 : s->count;
    for (uint64_t i = 0; i < s->count; ++i)
        for (int axis = 0; axis < 3; ++axis) {
            floats[i].min[axis] = (float)s->boxes[i].min[axis];
            floats[i].max[axis] = (float)s->boxes[i].max[axis];
        }
    psv_box_set set = s->doubles
                          ? psv_boxes64_of(upload(to, s->boxes, n * sizeof *s->boxes), sizeof *s->boxes, s->count)
                          : psv_boxes_of(upload(to, floats, n * sizeof *floats), sizeof *floats, s->count);
    for (int axis = 0; axis < 3 && s->doubles; ++axis)
        set.origin[axis] = 1e6;
    if (s->has_flags) set.flags = upload(to, s->flags, n);
    if (s->has_filters) set.filters = upload(to, s->filters, n * sizeof *s->filters);
    if (s->has_worlds) set.worlds = upload(to, s->worlds, n * sizeof *s->worlds);
    if (s->has_ids) set.ids = upload(to, s->ids, n * sizeof *s->ids);
    if (s->has_owners) set.owners = upload(to, s->owners, n * sizeof *s->owners);
    if (s->has_layers) set.layers = upload(to, s->layers, n);
    set.margin = s->has_margins ? s->margin : 0;
    if (s->has_margins && s->margin == 0) set.margins = upload(to, s->margins, n * sizeof *s->margins);
    set.kept = s->kept;
    set.kept_version = s->version;
    set.moved = upload(to, s->moved, sizeof s->moved);
    set.moved_count = s->moved_count;
    return set;
}

static void set_rules(scene *s, psv_pair_finder *finder) {
    uploads to = {.count = 0};
    psv_pair_rules rules = psv_default_pair_rules();
    for (int i = 0; i < PSV_LAYERS; ++i)
        s->matrix[i] = draw(s, 16) | draw(s, 16);
    find_expected(s);
    s->excluded_count = 0;
    for (uint64_t p = 0; p < s->pair_count && s->excluded_count < MOST; ++p)
        if (one_in(s, 4)) s->excluded[s->excluded_count++] = s->pairs[p];
    s->has_excluded = s->excluded_count > 0 && !one_in(s, 3);
    if (s->has_layers) rules.layer_matrix = upload(&to, s->matrix, sizeof s->matrix);
    rules.excluded_count = s->has_excluded ? s->excluded_count : 0;
    if (s->has_excluded) rules.excluded = upload(&to, s->excluded, sizeof s->excluded);
    CHECK(psv_set_pair_rules(finder, &rules));
    free_uploads(&to);
}

// Events against the last frame whose events were read. An overflow leaves no trace in them.
static void check_events(scene *s, psv_pair_finder *finder, bool full) {
    static psv_pair begin[MOST_PAIRS], end[MOST_PAIRS], expected[MOST_PAIRS];
    uint64_t begins = 0, ends = 0;
    if (s->lazy && !one_in(s, 3)) return;
    const psv_status status = psv_read_pair_events(finder, begin, MOST_PAIRS, &begins, end, MOST_PAIRS, &ends);
    assert_int_equal(status, full ? PSV_ERROR_CAPACITY : PSV_OK);
    if (full) {
        assert_int_equal(begins + ends, 0);
        return;
    }
    expect_list(s, "begins", begin, begins, expected,
                subtract(s->pairs, s->pair_count, s->before, s->before_count, expected));
    expect_list(s, "ends", end, ends, expected,
                subtract(s->before, s->before_count, s->pairs, s->pair_count, expected));
    memcpy(s->before, s->pairs, s->pair_count * sizeof *s->pairs);
    s->before_count = s->pair_count;
}

static void check_statistics(scene *s, psv_pair_finder *finder, bool full) {
    psv_pair_statistics statistics;
    uint32_t bad[MOST];
    uint64_t live = 0, off = 0, bad_count = 0;
    for (uint64_t i = 0; i < s->count; ++i) {
        live += is_live(s, i);
        off += s->has_flags && (s->flags[i] & PSV_BOX_DISABLED) != 0;
    }
    CHECK(psv_read_pair_statistics(finder, &statistics));
    assert_int_equal(statistics.boxes, live);
    assert_int_equal(statistics.bad_boxes, s->count - live - off);
    if (!full) CHECK(psv_read_bad_boxes(finder, bad, MOST, &bad_count));
    for (uint64_t i = 0; i < bad_count; ++i) {
        assert_true(bad[i] < s->count && !is_live(s, bad[i]));
        assert_true(i == 0 || bad[i - 1] < bad[i]);
    }
    s->ways += strcmp(s->method, "brute") == 0 && strcmp(statistics.method, "brute") != 0;
}

// The finder's own check of all boxes.
static void check_itself(const scene *s, psv_pair_finder *finder, const psv_box_set *set) {
    psv_pair_check check;
    CHECK(psv_check_pairs(finder, set, NULL, MOST, &check));
    if (check.missing + check.extra > 0)
        fail_msg("scene %llu: %llu missing, %llu extra", (unsigned long long)s->first,
                 (unsigned long long)check.missing, (unsigned long long)check.extra);
    assert_true(check.boxes == (s->count == 0 ? 0 : MOST) && check.pairs >= 2 * s->pair_count);
}

static void run_frame(scene *s, psv_pair_finder *finder) {
    static psv_pair found[MOST_PAIRS];
    psv_aabb floats[MOST];
    uploads to = {.count = 0};
    const psv_box_set set = view(s, &to, floats);
    uint64_t count = 0;
    find_expected(s);
    const psv_status status = psv_find_pairs(finder, &set);
    const bool full = !s->grows && s->pair_count > s->room;
    const psv_status read = psv_read_pairs(finder, found, MOST_PAIRS, &count);
    if (backend == PSV_BACKEND_CPU) assert_int_equal(status, full ? PSV_ERROR_CAPACITY : PSV_OK);
    assert_int_equal(read, full ? PSV_ERROR_CAPACITY : PSV_OK);
    if (!full) {
        if (!s->sorts) qsort(found, count, sizeof *found, compare_pairs);
        expect_list(s, "pairs", found, count, s->pairs, s->pair_count);
    }
    assert_int_equal(count, s->pair_count);
    check_statistics(s, finder, full);
    if (!full) check_itself(s, finder, &set);
    if (s->events) check_events(s, finder, full);
    if (s->readers != NULL && !full)
        publish_to_mover_readers(s->readers, finder, &set, floats, s->pairs, s->pair_count);
    free_uploads(&to);
}

static psv_pair_finder *make_finder(scene *s) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = s->method;
    def.margins = s->has_margins;
    def.max_boxes = def.max_kept = MOST;
    def.max_pairs = s->room;
    def.grow_pairs = s->grows;
    def.sort_output = s->sorts;
    def.events = s->events;
    def.ids = s->has_ids;
    def.doubles = s->doubles;
    def.max_excluded = MOST;
    def.world_count = s->has_worlds ? WORLDS : 1;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    return finder;
}

static void make_scene(scene *s, uint64_t number) {
    *s = (scene){.random = base_seed + number * 977, .first = number, .next_id = 1};
    for (int i = 0; i < 5; ++i)
        (void)draw(s, 2);
    s->doubles = one_in(s, 3);
    s->has_flags = !one_in(s, 3);
    s->has_filters = one_in(s, 3);
    s->has_worlds = one_in(s, 3);
    s->has_ids = one_in(s, 2);
    s->has_owners = one_in(s, 3);
    s->has_layers = one_in(s, 3);
    s->events = !one_in(s, 4);
    s->sorts = one_in(s, 2);
    s->grows = one_in(s, 3);
    s->tight = one_in(s, 4);
    s->lazy = one_in(s, 3);
    s->has_margins = one_in(s, 3);
    s->method = one_in(s, 3) ? (one_in(s, 2) ? "rows" : "lbvh") : "brute"; // whose name tells a search of all boxes
    if (number % 9 == 8) {                                                 // all of it together
        s->has_flags = s->has_filters = s->has_worlds = s->has_ids = s->has_owners = s->has_layers = true;
        s->has_margins = s->events = s->grows = true;
        s->doubles = s->tight = false;
    }
    s->room = s->grows ? 1 + draw(s, 50) : s->tight ? 200 : MOST_PAIRS;
    s->count = s->kept = 40 + draw(s, MOST - 60);
    for (uint64_t i = 0; i < s->count; ++i)
        fill_slot(s, i);
    for (uint64_t i = 0; i < MOST; ++i)
        s->margins[i] = (s->doubles ? 1e-3f : 0.25f) * (float)((int)draw(s, 4) - 1);
    for (int i = 0; i < PSV_LAYERS; ++i)
        s->matrix[i] = UINT32_MAX;
}

static void test_random_frames(void **state) {
    (void)state;
    scene *s = calloc(1, sizeof *s);
    uint64_t frames = 0, ways = 0, read = 0;
    for (uint64_t number = 0; number < SCENES; ++number) {
        make_scene(s, number);
        psv_pair_finder *finder = make_finder(s);
        if (reader_count > 0 && !s->doubles) // readers take boxes of floats
            s->readers = start_mover_readers(context, reader_count, MOST, MOST_PAIRS, frame_count);
        for (uint32_t frame = 0; frame < frame_count; ++frame) {
            if (s->has_layers && frame == 0) set_rules(s, finder);
            if (one_in(s, 40)) set_rules(s, finder);
            run_frame(s, finder);
            change_scene(s);
        }
        if (s->grows || !s->tight) { // else the pairs often overflow, and all boxes are searched
            frames += strcmp(s->method, "brute") == 0 ? frame_count : 0;
            ways += s->ways;
        }
        if (s->readers != NULL) read += stop_mover_readers(s->readers);
        psv_destroy_pair_finder(finder);
    }
    print_message("seed %llu: %u frames of %u scenes, %llu by brute, %llu of them from moved boxes alone, %llu read\n",
                  (unsigned long long)base_seed, frame_count, SCENES, (unsigned long long)frames,
                  (unsigned long long)ways, (unsigned long long)read);
    if (backend == PSV_BACKEND_CPU) assert_true(2 * ways > frames);
    free(s);
}

// --- many boxes ------------------------------------------------------------------------------------------------------

enum { MANY = 4000, WALKERS = 60 };

// Boxes that move far, always the same ones, for so long that the boxes are put in order anew; and some that are
// reached by thousands. A second finder, which searches all boxes, is the reference. OpenGL and Vulkan search all boxes
// for both, so that a few frames do.
static void test_long_walks(void **state) {
    (void)state;
    psv_aabb *boxes = calloc(MANY, sizeof *boxes);
    scene *s = calloc(1, sizeof *s);
    psv_pair_finder *finders[2];
    psv_pair *lists[2] = {calloc(40 * MANY, sizeof(psv_pair)), calloc(40 * MANY, sizeof(psv_pair))};
    uint32_t moved[WALKERS];
    s->random = base_seed;
    for (uint32_t i = 0; i < MANY; ++i)
        for (int axis = 0; axis < 3; ++axis) {
            boxes[i].min[axis] = i == 1234 ? -1 : 0.01f * (float)draw(s, 1600);
            boxes[i].max[axis] = i == 1234 ? 17 : boxes[i].min[axis] + 1;
        }
    for (int f = 0; f < 2; ++f) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        def.max_boxes = MANY;
        def.max_kept = f == 0 ? MANY : 0;
        def.max_pairs = 40 * MANY;
        def.sort_output = def.events = true;
        CHECK(psv_create_pair_finder(context, &def, &finders[f]));
    }
    const uint32_t frames = backend >= PSV_BACKEND_GL ? 12 : 150;
    for (uint32_t frame = 0; frame < frames; ++frame) {
        uint64_t counts[2] = {0, 0};
        for (uint32_t w = 0; w < WALKERS; ++w) {
            moved[w] = w == 0 && frame % 10 == 0 ? 1234 : w * 61;
            const float by = 0.37f * (float)(draw(s, 3) + 1);
            for (int axis = 0; axis < 3 && moved[w] != 1234; ++axis) {
                const float at = fmodf(boxes[moved[w]].min[axis] + by, 16);
                boxes[moved[w]].min[axis] = at;
                boxes[moved[w]].max[axis] = at + 1;
            }
        }
        for (int f = 0; f < 2; ++f) {
            uploads to = {.count = 0};
            psv_box_set set = psv_boxes_of(upload(&to, boxes, MANY * sizeof *boxes), sizeof *boxes, MANY);
            if (f == 0) {
                set.kept = MANY;
                set.moved = upload(&to, moved, sizeof moved);
                set.moved_count = WALKERS;
            }
            CHECK(psv_find_pairs(finders[f], &set));
            CHECK(psv_read_pairs(finders[f], lists[f], 40 * MANY, &counts[f]));
            free_uploads(&to);
        }
        expect_list(s, "pairs", lists[0], counts[0], lists[1], counts[1]);
        static psv_pair begin[2][40 * MANY], end[2][40 * MANY];
        uint64_t begins[2], ends[2];
        for (int f = 0; f < 2; ++f)
            CHECK(psv_read_pair_events(finders[f], begin[f], 40 * MANY, &begins[f], end[f], 40 * MANY, &ends[f]));
        expect_list(s, "begins", begin[0], begins[0], begin[1], begins[1]);
        expect_list(s, "ends", end[0], ends[0], end[1], ends[1]);
    }
    for (int f = 0; f < 2; ++f) {
        psv_destroy_pair_finder(finders[f]);
        free(lists[f]);
    }
    free(boxes);
    free(s);
}

// With margins and a list of moved boxes, few movers are followed and many have their pairs tested again: one finder
// does both, as its own words about the frame tell. On other backends than the CPU all boxes are looked for.
static void test_few_and_many(void **state) {
    (void)state;
    static const uint32_t movers[] = {0, 0, 10, 10, MANY, MANY, MANY, MANY / 10, 10, 10, MANY, 0, 0};
    static const bool followed[] = {false, true, true, true, false, false, false, false, true, true, false, true, true};
    psv_aabb *boxes = calloc(MANY, sizeof *boxes);
    uint32_t *moved = calloc(MANY, sizeof *moved);
    scene *s = calloc(1, sizeof *s);
    psv_pair_finder *finders[2];
    psv_pair *lists[2] = {calloc(40 * MANY, sizeof(psv_pair)), calloc(40 * MANY, sizeof(psv_pair))};
    s->random = base_seed;
    for (uint32_t i = 0; i < MANY; ++i) {
        moved[i] = i;
        for (int axis = 0; axis < 3; ++axis) {
            boxes[i].min[axis] = 0.01f * (float)draw(s, 1600);
            boxes[i].max[axis] = boxes[i].min[axis] + 1;
        }
    }
    for (int f = 0; f < 2; ++f) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        def.max_boxes = MANY;
        def.max_kept = f == 0 ? MANY : 0;
        def.margins = f == 0;
        def.max_pairs = 40 * MANY;
        CHECK(psv_create_pair_finder(context, &def, &finders[f]));
    }
    for (size_t frame = 0; frame < sizeof movers / sizeof *movers; ++frame) {
        uint64_t counts[2];
        char text[4000];
        for (uint32_t i = 0; i < movers[frame]; ++i)
            for (int axis = 0; axis < 3; ++axis) {
                const float by = 0.01f * (float)((int)draw(s, 3) - 1);
                boxes[i].min[axis] += by;
                boxes[i].max[axis] += by;
            }
        for (int f = 0; f < 2; ++f) {
            uploads to = {.count = 0};
            psv_box_set set = psv_boxes_of(upload(&to, boxes, MANY * sizeof *boxes), sizeof *boxes, MANY);
            if (f == 0) {
                set.kept = MANY;
                set.moved = upload(&to, moved, MANY * sizeof *moved);
                set.moved_count = movers[frame];
                set.margin = 0.2f;
            }
            CHECK(psv_find_pairs(finders[f], &set));
            CHECK(psv_read_pairs(finders[f], lists[f], 40 * MANY, &counts[f]));
            qsort(lists[f], counts[f], sizeof **lists, compare_pairs);
            free_uploads(&to);
        }
        expect_list(s, "pairs", lists[0], counts[0], lists[1], counts[1]);
        CHECK(psv_explain_frame(finders[0], text, sizeof text, NULL));
        if (backend != PSV_BACKEND_CPU) continue;
        if ((strstr(text, "with the boxes that moved") != NULL) != followed[frame])
            fail_msg("frame %zu: %s", frame, text);
        if (movers[frame] == MANY && movers[frame - 1] == MANY) // the list of the frame before serves again
            assert_null(strstr(text, "(0 frames so far)"));
    }
    for (int f = 0; f < 2; ++f) {
        psv_destroy_pair_finder(finders[f]);
        free(lists[f]);
    }
    free(moved);
    free(boxes);
    free(s);
}

static void test_mistakes(void **state) {
    (void)state;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    psv_aabb boxes[4] = {
        {{0, 0, 0}, {1, 1, 1}}, {{1, 1, 1}, {2, 2, 2}}, {{5, 5, 5}, {6, 6, 6}}, {{6, 6, 6}, {7, 7, 7}}};
    uint32_t moved[2] = {1, 4};
    uint64_t count = 0;
    def.max_boxes = def.max_kept = 4;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    uploads to = {.count = 0};
    psv_box_set set = psv_boxes_of(upload(&to, boxes, sizeof boxes), sizeof *boxes, 4);
    set.kept = 4;
    CHECK(psv_find_pairs(finder, &set));
    set.moved_count = 2;
    assert_int_equal(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT); // no buffer
    assert_non_null(strstr(psv_last_error(context), "boxes.moved"));
    set.moved = upload(&to, moved, sizeof moved);
    set.moved.bytes = 4;
    assert_int_equal(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT); // too small
    set.moved.bytes = sizeof moved;
    if (backend == PSV_BACKEND_CPU) {
        assert_int_equal(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT);
        assert_non_null(strstr(psv_last_error(context), "boxes.moved[1] is 4; boxes.count is 4"));
    }
    set.moved_count = 1;
    CHECK(psv_find_pairs(finder, &set));
    CHECK(psv_finish_pairs(finder, &count));
    assert_int_equal(count, 2);
    psv_destroy_pair_finder(finder);
    free_uploads(&to);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        if (psv_parse_backend(argv[i], &backend) == PSV_OK) continue;
        if (i + 1 >= argc) return 2;
        const uint64_t value = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0)
            base_seed = value;
        else if (strcmp(argv[i], "--frames") == 0)
            frame_count = (uint32_t)value;
        else if (strcmp(argv[i], "--readers") == 0)
            reader_count = (uint32_t)value;
        else
            return 2;
        ++i;
    }
    if (backend != PSV_BACKEND_CPU && reader_count > 0) return 2;
    if (!psv_backend_available(backend)) return 77;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    if (psv_create_context(&def, &context) != PSV_OK) return 1;
    frame_count = (uint32_t)test_thinned(frame_count, frame_count < 20 ? frame_count : 20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_frames),
        cmocka_unit_test(test_long_walks),
        cmocka_unit_test(test_few_and_many),
        cmocka_unit_test(test_mistakes),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    psv_destroy_context(context);
    return failed;
}
