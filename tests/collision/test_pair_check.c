// The self-check of pairs: complete lists pass, and lists that the test damages are noticed, with the pair that is
// missing or too many. The expected pairs are the test's own: it tests all boxes with each other.
//   test_pair_check [cpu|cuda|gl] [--seed N]
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pairsieve/collision.h>

#include "../cases/backend_main.h"
#include "../cases/check_call.h"
#include "../test_scale.h"

#define MOST 600u
#define MOST_PAIRS 40000u
#define SMALL 200u // all of them can be sampled

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static uint64_t seed = 20261127;

static uint32_t draw(uint32_t below) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((seed >> 33) % below);
}

// Boxes of one set, with the parts that a case has.
typedef struct boxes {
    uint64_t count;
    bool doubles, has_flags, has_filters, has_worlds, has_ids;
    psv_aabb floats[MOST];
    psv_aabb64 exact[MOST];
    uint8_t flags[MOST];
    psv_box_filter filters[MOST];
    uint32_t worlds[MOST], ids[MOST];
    psv_buffer buffers[6]; // on a device
    int used;
} boxes;

static void fill(boxes *set, uint64_t count, uint32_t first_id) {
    set->count = count;
    for (uint64_t i = 0; i < count; ++i) {
        for (int axis = 0; axis < 3; ++axis) {
            const double unit = set->doubles ? 1e-3 : 0.25, at = (set->doubles ? 1e6 : 0) + unit * draw(24);
            set->exact[i].min[axis] = at;
            set->exact[i].max[axis] = at + unit * draw(5);
        }
        if (draw(60) == 0) set->exact[i].min[draw(3)] = NAN;
        if (draw(60) == 0) set->exact[i].max[draw(3)] = INFINITY;
        set->flags[i] = draw(9) == 0 ? PSV_BOX_DISABLED : draw(3) == 0 ? PSV_BOX_STATIC : 0;
        set->filters[i] = (psv_box_filter){1u << draw(3), draw(2) == 0 ? 7u : 1u << draw(3)};
        set->worlds[i] = draw(40) == 0 ? 9 : draw(3); // 9: there is no such world
        set->ids[i] = (uint32_t)(first_id + i) * 7919u % 1000003u;
        for (int axis = 0; axis < 3; ++axis) {
            set->floats[i].min[axis] = (float)set->exact[i].min[axis];
            set->floats[i].max[axis] = (float)set->exact[i].max[axis];
        }
    }
}

static psv_buffer upload(boxes *set, const void *data, uint64_t bytes) {
    if (backend == PSV_BACKEND_CPU) return psv_buffer_of((void *)data, bytes);
    psv_buffer *buffer = &set->buffers[set->used++];
    CHECK(psv_alloc_buffer(context, bytes, buffer));
    CHECK(psv_upload(context, *buffer, data, bytes));
    return *buffer;
}

static psv_box_set view(boxes *set) {
    const uint64_t n = set->count;
    psv_box_set made = set->doubles
                           ? psv_boxes64_of(upload(set, set->exact, n * sizeof *set->exact), sizeof *set->exact, n)
                           : psv_boxes_of(upload(set, set->floats, n * sizeof *set->floats), sizeof *set->floats, n);
    for (int axis = 0; axis < 3 && set->doubles; ++axis)
        made.origin[axis] = 1e6;
    if (set->has_flags) made.flags = upload(set, set->flags, n);
    if (set->has_filters) made.filters = upload(set, set->filters, n * sizeof *set->filters);
    if (set->has_worlds) made.worlds = upload(set, set->worlds, n * 4);
    if (set->has_ids) made.ids = upload(set, set->ids, n * 4);
    return made;
}

static void release(boxes *set) {
    while (set->used > 0)
        psv_free_buffer(context, &set->buffers[--set->used]);
}

// --- the oracle ------------------------------------------------------------------------------------------------------

static bool lives(const boxes *set, uint64_t i) {
    if (set->has_flags && (set->flags[i] & PSV_BOX_DISABLED) != 0) return false;
    if (set->has_worlds && set->worlds[i] >= 3) return false;
    for (int axis = 0; axis < 3; ++axis)
        if (!(set->exact[i].min[axis] <= set->exact[i].max[axis])) return false;
    return true;
}

static bool pairs_with(const boxes *a, uint64_t i, const boxes *b, uint64_t j) {
    if (!lives(a, i) || !lives(b, j)) return false;
    for (int axis = 0; axis < 3; ++axis)
        if (a->exact[i].min[axis] > b->exact[j].max[axis] || b->exact[j].min[axis] > a->exact[i].max[axis])
            return false;
    if (a->has_flags && b->has_flags && (a->flags[i] & b->flags[j] & PSV_BOX_STATIC) != 0) return false;
    if ((a->has_worlds ? a->worlds[i] : 0) != (b->has_worlds ? b->worlds[j] : 0)) return false;
    const psv_box_filter all = {UINT32_MAX, UINT32_MAX};
    const psv_box_filter x = a->has_filters ? a->filters[i] : all, y = b->has_filters ? b->filters[j] : all;
    return (x.group & y.mask) != 0 && (y.group & x.mask) != 0;
}

static uint64_t count_of_box(const boxes *a, const boxes *b, uint64_t i) {
    uint64_t count = 0;
    for (uint64_t j = 0; j < b->count; ++j)
        count += (a != b || i != j) && pairs_with(a, i, b, j);
    return count;
}

// --- lists -----------------------------------------------------------------------------------------------------------

typedef struct pair_list {
    psv_pair pairs[MOST_PAIRS];
    uint64_t count;
} pair_list;

static pair_list found, damaged;

static void get_list(psv_pair_finder *finder, pair_list *list) {
    CHECK(psv_read_pairs(finder, list->pairs, MOST_PAIRS, &list->count));
}

static void put_list(psv_pair_finder *finder, const pair_list *list) {
    CHECK(psv_upload(context, psv_pair_buffer(finder), list->pairs, list->count * sizeof *list->pairs));
    CHECK(psv_upload(context, psv_pair_count_buffer(finder), &list->count, sizeof list->count));
}

static void take_out(pair_list *list, uint64_t at) {
    --list->count;
    list->pairs[at] = list->pairs[list->count];
}

static psv_pair_finder *make_finder(uint64_t most, bool sorts, uint64_t kept) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.max_boxes = most;
    def.max_pairs = MOST_PAIRS;
    def.sort_output = sorts;
    def.max_kept = kept;
    def.world_count = 3;
    def.ids = def.doubles = true;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    return finder;
}

static bool same(psv_pair x, psv_pair y) { return x.a == y.a && x.b == y.b; }

static void expect(const psv_pair_check *check, uint64_t missing, psv_pair first_missing, uint64_t extra,
                   psv_pair first_extra) {
    assert_int_equal(check->missing, missing);
    assert_int_equal(check->extra, extra);
    if (missing > 0) assert_true(same(check->first_missing, first_missing));
    if (extra > 0) assert_true(same(check->first_extra, first_extra));
}

// --- tests -----------------------------------------------------------------------------------------------------------

static void take_kind(boxes *set, uint32_t kind) {
    set->doubles = kind % 2 == 1;
    set->has_flags = kind / 2 % 2 == 1;
    set->has_filters = kind / 4 % 2 == 1;
    set->has_worlds = kind / 8 % 2 == 1;
    set->has_ids = kind / 16 % 2 == 1;
}

// Complete lists of one set and of two pass; the boxes and pairs are those of the oracle.
static void test_complete_lists(void **state) {
    (void)state;
    static boxes a, b;
    psv_pair_finder *finder = make_finder(2 * SMALL, false, 0);
    for (uint32_t kind = 0; kind < 32; kind += test_kernels_only() ? 11 : 1) {
        psv_pair_check check;
        uint64_t expected = 0, expected_between = 0;
        take_kind(&a, kind);
        take_kind(&b, (kind * 7 + 3) % 32);
        fill(&a, SMALL, 0);
        fill(&b, SMALL / 2, 1000);
        for (uint64_t i = 0; i < a.count; ++i) {
            expected += count_of_box(&a, &a, i);
            expected_between += count_of_box(&a, &b, i);
        }
        const psv_box_set x = view(&a), y = view(&b);
        CHECK(psv_find_pairs(finder, &x));
        CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
        expect(&check, 0, (psv_pair){0}, 0, (psv_pair){0});
        assert_int_equal(check.boxes, SMALL);
        assert_int_equal(check.pairs, expected); // each from both of its boxes
        CHECK(psv_find_pairs_between(finder, &x, &y));
        CHECK(psv_check_pairs(finder, &x, &y, PSV_MOST_SAMPLES, &check));
        expect(&check, 0, (psv_pair){0}, 0, (psv_pair){0});
        assert_in_range(check.pairs, expected_between / 2, 2 * expected_between); // 128 of both sets
        release(&a);
        release(&b);
    }
    psv_destroy_pair_finder(finder);
}

// A pair that is in no list: of the two first boxes that do not pair.
static psv_pair stranger(const boxes *set) {
    for (uint64_t i = 0; i < set->count; ++i)
        for (uint64_t j = i + 1; j < set->count; ++j)
            if (!pairs_with(set, i, set, j)) return (psv_pair){(uint32_t)i, (uint32_t)j};
    return (psv_pair){0, 0};
}

// Every kind of damage is named, wherever in the list it is.
static void test_damage(void **state) {
    (void)state;
    static boxes set;
    for (uint32_t round = 0; round < (test_kernels_only() ? 4 : 24); ++round) {
        psv_pair_finder *finder = make_finder(SMALL, round % 2 == 1, 0);
        psv_pair_check check;
        set.has_flags = set.has_filters = round % 3 == 0;
        fill(&set, SMALL, 0);
        const psv_box_set x = view(&set);
        const psv_pair other = stranger(&set);
        CHECK(psv_find_pairs(finder, &x));
        get_list(finder, &found);
        assert_true(found.count > 20);
        const uint64_t at = draw((uint32_t)found.count);
        const psv_pair victim = found.pairs[at];
        // One is gone.
        damaged = found;
        take_out(&damaged, at);
        put_list(finder, &damaged);
        CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
        expect(&check, 1, victim, 0, victim);
        // One is twice there, in place of another one or behind all.
        damaged = found;
        damaged.pairs[damaged.count++] = victim;
        put_list(finder, &damaged);
        CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
        expect(&check, 0, victim, 1, victim);
        const uint64_t next = (at + 1) % found.count;
        damaged = found;
        damaged.pairs[next] = victim;
        put_list(finder, &damaged);
        CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
        expect(&check, 1, found.pairs[next], 1, victim);
        // Boxes that do not overlap.
        damaged = found;
        damaged.pairs[damaged.count++] = other;
        put_list(finder, &damaged);
        CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
        expect(&check, 0, victim, 1, other);
        // The larger index first.
        damaged = found;
        damaged.pairs[at] = (psv_pair){victim.b, victim.a};
        put_list(finder, &damaged);
        CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
        expect(&check, 1, victim, 1, damaged.pairs[at]);
        // A box that does not exist.
        damaged.pairs[at] = (psv_pair){victim.a, 100000};
        put_list(finder, &damaged);
        CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
        expect(&check, 1, victim, 1, damaged.pairs[at]);
        // Nothing at all.
        damaged.count = 0;
        put_list(finder, &damaged);
        CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
        assert_int_equal(check.missing, found.count);
        // And all is well again.
        put_list(finder, &found);
        CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
        expect(&check, 0, victim, 0, victim);
        release(&set);
        psv_destroy_pair_finder(finder);
    }
}

// Pairs of two sets, by ids.
static void test_damage_between(void **state) {
    (void)state;
    static boxes a, b;
    psv_pair_finder *finder = make_finder(SMALL, false, 0);
    psv_pair_check check;
    a.has_ids = true;
    fill(&a, SMALL / 2, 0);
    fill(&b, SMALL / 2, 0);
    const psv_box_set x = view(&a), y = view(&b);
    CHECK(psv_find_pairs_between(finder, &x, &y));
    get_list(finder, &found);
    assert_true(found.count > 20);
    for (uint64_t at = 0; at < found.count; at += found.count / 17 + 1) {
        damaged = found;
        take_out(&damaged, at);
        put_list(finder, &damaged);
        CHECK(psv_check_pairs(finder, &x, &y, SMALL, &check));
        expect(&check, 1, found.pairs[at], 0, found.pairs[at]);
        damaged = found;
        ++damaged.pairs[at].a; // an id that no box of a has
        put_list(finder, &damaged);
        CHECK(psv_check_pairs(finder, &x, &y, SMALL, &check));
        assert_int_equal(check.missing, 1);
        assert_int_equal(check.extra, 1);
        assert_true(same(check.first_missing, found.pairs[at]));
    }
    release(&a);
    release(&b);
    psv_destroy_pair_finder(finder);
}

// Few samples find a single missing pair after some calls, since each call takes other boxes.
static void test_samples_wander(void **state) {
    (void)state;
    static boxes set;
    psv_pair_finder *finder = make_finder(MOST, false, 0);
    psv_pair_check check = {0};
    uint32_t calls = 0;
    fill(&set, MOST, 0);
    const psv_box_set x = view(&set);
    CHECK(psv_find_pairs(finder, &x));
    get_list(finder, &found);
    damaged = found;
    const psv_pair victim = damaged.pairs[damaged.count / 2];
    take_out(&damaged, damaged.count / 2);
    put_list(finder, &damaged);
    for (; calls < 1000 && check.missing == 0; ++calls) {
        CHECK(psv_check_pairs(finder, &x, NULL, 12, &check));
        assert_int_equal(check.boxes, 12);
    }
    expect(&check, 1, victim, 0, victim);
    assert_in_range(calls, 1, 999); // on average 25 calls are needed
    release(&set);
    psv_destroy_pair_finder(finder);
}

// A box moved, and nobody said so.
static void test_forgotten_box(void **state) {
    (void)state;
    static boxes set;
    psv_pair_finder *finder = make_finder(SMALL, false, SMALL);
    psv_pair_check check;
    fill(&set, SMALL, 0);
    const psv_aabb away = {{900, 900, 900}, {901, 901, 901}};
    set.floats[7] = set.floats[8] = away;
    psv_box_set x = view(&set);
    x.kept = SMALL;
    for (int frame = 0; frame < 3; ++frame)
        CHECK(psv_find_pairs(finder, &x));
    CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
    expect(&check, 0, (psv_pair){0}, 0, (psv_pair){0});
    set.floats[8] = (psv_aabb){{800, 800, 800}, {801, 801, 801}};
    if (backend != PSV_BACKEND_CPU) CHECK(psv_upload(context, x.min, set.floats, SMALL * sizeof *set.floats));
    CHECK(psv_find_pairs(finder, &x));
    CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
    const bool keeps = backend != PSV_BACKEND_GL; // which looks for all pairs
    expect(&check, 0, (psv_pair){0}, keeps ? 1 : 0, (psv_pair){7, 8});
    release(&set);
    psv_destroy_pair_finder(finder);
}

// A world with more pairs than its room is left out; the others are not.
static void test_crowded_world(void **state) {
    (void)state;
    static boxes set;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    psv_pair_check check;
    uint64_t expected = 0, compared = 0;
    def.max_boxes = SMALL;
    def.max_pairs = MOST_PAIRS;
    def.world_count = 3;
    def.world_pairs = 60;
    if (backend == PSV_BACKEND_GL) return; // it has no room of worlds
    CHECK(psv_create_pair_finder(context, &def, &finder));
    set.has_worlds = true;
    fill(&set, SMALL, 0);
    for (uint64_t i = 0; i < SMALL; ++i)
        set.worlds[i] = i < 160 ? 0 : 1 + i % 2;
    for (uint64_t i = 0; i < SMALL; ++i) {
        compared += set.worlds[i] != 0 || !lives(&set, i);
        expected += set.worlds[i] != 0 ? count_of_box(&set, &set, i) : 0;
    }
    const psv_box_set x = view(&set);
    const psv_status status = psv_find_pairs(finder, &x);
    if (backend == PSV_BACKEND_CPU) assert_int_equal(status, PSV_ERROR_CAPACITY);
    CHECK(psv_check_pairs(finder, &x, NULL, SMALL, &check));
    expect(&check, 0, (psv_pair){0}, 0, (psv_pair){0});
    assert_int_equal(check.boxes, compared);
    assert_int_equal(check.pairs, expected);
    release(&set);
    psv_destroy_pair_finder(finder);
}

static void test_mistakes(void **state) {
    (void)state;
    static boxes set;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    psv_pair_check check;
    def.max_boxes = SMALL;
    def.max_pairs = 5;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    fill(&set, SMALL, 0);
    psv_box_set x = view(&set);
    assert_int_equal(psv_check_pairs(NULL, &x, NULL, 1, &check), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_check_pairs(finder, &x, NULL, 1, &check), PSV_ERROR_ARGUMENT); // no frame yet
    const psv_status full = psv_find_pairs(finder, &x);
    if (backend == PSV_BACKEND_CPU) assert_int_equal(full, PSV_ERROR_CAPACITY);
    assert_int_equal(psv_check_pairs(finder, &x, NULL, 1, &check), PSV_ERROR_CAPACITY);
    assert_int_equal(psv_check_pairs(finder, &x, NULL, 0, &check), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_check_pairs(finder, &x, NULL, PSV_MOST_SAMPLES + 1, &check), PSV_ERROR_ARGUMENT);
    assert_non_null(strstr(psv_last_error(context), "samples is 257"));
    assert_int_equal(psv_check_pairs(finder, &x, NULL, 1, NULL), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_check_pairs(finder, NULL, NULL, 1, &check), PSV_ERROR_ARGUMENT);
    x.count = 0;
    CHECK(psv_find_pairs(finder, &x));
    CHECK(psv_check_pairs(finder, &x, NULL, 9, &check));
    assert_int_equal(check.boxes + check.pairs + check.missing + check.extra, 0);
    release(&set);
    psv_destroy_pair_finder(finder);
}

int main(int argc, char **argv) {
    const number_option options[] = {{"--seed", &seed}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete_lists), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_damage_between), cmocka_unit_test(test_samples_wander),
        cmocka_unit_test(test_forgotten_box),  cmocka_unit_test(test_crowded_world),
        cmocka_unit_test(test_mistakes),
    };
    return RUN_BACKEND_TESTS("pair_check", &def, &context, tests);
}
