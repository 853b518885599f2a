// Ids, owners, layers, excluded pairs, rooms of worlds, double precision, kept boxes and margins, in any combination
// with each other and with flags, filters, worlds, two sets, growth, order and events: frame after frame, every
// broad-phase method against a plain double loop. Boxes move, slots are used again, rules change, worlds get crowded.
//   test_pair_rules [cpu|cuda|gl] [--seed N] [--cases N] [--method NAME]
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/collision.h>

#include "../cases/box_scenes.h"
#include "../test_scale.h"
#include "pair_soak.h"

static psv_backend backend = PSV_BACKEND_CPU;
static uint64_t base_seed = 977;
static uint32_t case_count = 150;
static const char *only_method;
static psv_context *context;

#define FRAMES 5
#define CALM_FRAMES 9
#define MOST_EXCLUDED 3000

// --- cases -----------------------------------------------------------------------------------------------------------

typedef struct box_list {
    uint64_t count, room;
    uint64_t kept, kept_version;
    psv_aabb64 *boxes; // exact; of floats when `doubles` is false
    bool doubles;
    bool has_ids, has_owners, has_layers, has_flags, has_filters, has_worlds, has_count, has_margins;
    float margin;
    float *margins;
    uint32_t *ids, *owners, *worlds;
    uint8_t *layers, *flags;
    psv_box_filter *filters;
    psv_buffer corners, ids_at, owners_at, worlds_at, layers_at, flags_at, filters_at, count_at, margins_at;
} box_list;

typedef struct rule_case {
    uint64_t seed, draws;
    bool between, has_matrix, has_excluded;
    bool calm; // boxes move little in most frames
    uint32_t world_count, next_id;
    uint64_t world_pairs;
    double place[3], step;
    box_list a, b;
    uint32_t matrix[PSV_LAYERS];
    psv_pair *excluded;
    uint64_t excluded_count;
    psv_pair *expected, *before;
    uint64_t expected_count, before_count, room;
    uint64_t *world_counts;
    bool crowded, crowded_before;
} rule_case;

static bool keeps_boxes(void) { return backend < PSV_BACKEND_GL; }

static uint32_t draw(rule_case *test, uint32_t limit) {
    return (uint32_t)(box_random_bits(test->seed, test->draws++, 0) % limit);
}

// 0: a box that is bad, else a lattice place with a size of one step, so that many boxes touch, some by a hair not.
static void place_box(rule_case *test, const box_list *list, uint64_t i) {
    psv_aabb64 *box = &list->boxes[i];
    const uint32_t across = 2 + (uint32_t)cbrt((double)list->room);
    for (int axis = 0; axis < 3; ++axis) {
        double low = test->place[axis] + test->step * draw(test, across);
        double high = low + test->step * (draw(test, 40) == 0 ? 5 : draw(test, 3));
        const uint32_t hair = draw(test, 6);
        if (list->doubles) {
            if (hair == 0) low = nextafter(low, INFINITY);
            if (hair == 1) high = nextafter(high, -INFINITY);
        } else {
            low = (double)(hair == 0 ? nextafterf((float)low, INFINITY) : (float)low);
            high = (double)(hair == 1 ? nextafterf((float)high, -INFINITY) : (float)high);
        }
        box->min[axis] = low;
        box->max[axis] = high < low ? low : high;
    }
    const uint32_t kind = draw(test, 60), axis = draw(test, 3);
    if (kind == 0) box->max[axis] = NAN;
    if (kind == 1) box->min[axis] = INFINITY; // above the upper end, unless that is changed too
    if (kind == 2) box->min[axis] = -INFINITY;
    if (kind == 3 && list->doubles) box->max[axis] = nextafter(box->min[axis], -INFINITY);
}

static uint32_t new_id(rule_case *test) {
    const uint32_t id = ++test->next_id * 2654435761u; // all different, all bits in use
    return id == UINT32_MAX ? new_id(test) : id;
}

static void fill_slot(rule_case *test, box_list *list, uint64_t i) {
    place_box(test, list, i);
    list->ids[i] = new_id(test);
    list->owners[i] = draw(test, 3) == 0 ? PSV_NO_OWNER : draw(test, 1 + (uint32_t)list->room / 6);
    list->margins[i] = draw(test, 20) == 0 ? NAN : (float)(test->step * (draw(test, 5) - 1.0));
    list->layers[i] = (uint8_t)(draw(test, 50) == 0 ? 32 + draw(test, 200) : draw(test, 32));
    list->flags[i] = (uint8_t)(draw(test, 4) == 0 ? PSV_BOX_STATIC : draw(test, 20) == 0 ? PSV_BOX_DISABLED : 0);
    list->filters[i] = (psv_box_filter){1u << draw(test, 3), draw(test, 8)};
    // The first world is crowded, and a few boxes are of none.
    list->worlds[i] = draw(test, 3) == 0 ? 0 : draw(test, test->world_count + (draw(test, 30) == 0));
}

static void make_list(rule_case *test, box_list *list, uint64_t count, bool doubles) {
    const uint64_t n = count + 1;
    *list = (box_list){.count = count, .doubles = doubles};
    list->has_count = draw(test, 4) == 0;
    list->room = count + (list->has_count ? draw(test, 20) : 0);
    const uint64_t room = n + 20;
    list->boxes = calloc(room, sizeof *list->boxes);
    list->ids = calloc(room, 4), list->owners = calloc(room, 4), list->worlds = calloc(room, 4);
    list->layers = calloc(room, 1), list->flags = calloc(room, 1);
    list->filters = calloc(room, sizeof *list->filters);
    list->margins = calloc(room, sizeof *list->margins);
    for (uint64_t i = 0; i < list->room; ++i)
        fill_slot(test, list, i);
    list->has_ids = draw(test, 2), list->has_owners = draw(test, 2), list->has_layers = draw(test, 2);
    list->margin = draw(test, 3) == 0 ? (float)(test->step * (0.5 + draw(test, 3))) : 0;
    list->has_margins = draw(test, 6) == 0;
    list->has_flags = draw(test, 3) == 0, list->has_filters = draw(test, 3) == 0;
    list->has_worlds = test->world_count > 1 && draw(test, 8) != 0;
    CHECK(psv_alloc_buffer(context, room * sizeof(psv_aabb64), &list->corners));
    CHECK(psv_alloc_buffer(context, room * 4, &list->ids_at));
    CHECK(psv_alloc_buffer(context, room * 4, &list->owners_at));
    CHECK(psv_alloc_buffer(context, room * 4, &list->worlds_at));
    CHECK(psv_alloc_buffer(context, room, &list->layers_at));
    CHECK(psv_alloc_buffer(context, room, &list->flags_at));
    CHECK(psv_alloc_buffer(context, room * sizeof(psv_box_filter), &list->filters_at));
    CHECK(psv_alloc_buffer(context, 8, &list->count_at));
    CHECK(psv_alloc_buffer(context, room * 4, &list->margins_at));
}

static void free_list(box_list *list) {
    free(list->boxes);
    free(list->ids), free(list->owners), free(list->worlds);
    free(list->layers), free(list->flags), free(list->filters), free(list->margins);
    psv_buffer *buffers[] = {&list->corners,  &list->ids_at,     &list->owners_at, &list->worlds_at, &list->layers_at,
                             &list->flags_at, &list->filters_at, &list->count_at,  &list->margins_at};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; ++i)
        psv_free_buffer(context, buffers[i]);
}

// The list as a box set, uploaded as it is now.
static psv_box_set upload_list(const rule_case *test, const box_list *list) {
    const uint64_t n = list->room;
    psv_box_set set;
    if (list->doubles) {
        CHECK(psv_upload(context, list->corners, list->boxes, n * sizeof *list->boxes));
        set = psv_boxes64_of(list->corners, sizeof(psv_aabb64), n);
        for (int axis = 0; axis < 3; ++axis)
            set.origin[axis] = test->seed % 2 != 0 ? test->place[axis] : 0;
    } else {
        psv_aabb *narrow = malloc((n + 1) * sizeof *narrow);
        for (uint64_t i = 0; i < n; ++i)
            for (int axis = 0; axis < 3; ++axis) {
                narrow[i].min[axis] = (float)list->boxes[i].min[axis];
                narrow[i].max[axis] = (float)list->boxes[i].max[axis];
            }
        CHECK(psv_upload(context, list->corners, narrow, n * sizeof *narrow));
        set = psv_boxes_of(list->corners, sizeof(psv_aabb), n);
        free(narrow);
    }
    CHECK(psv_upload(context, list->ids_at, list->ids, n * 4));
    CHECK(psv_upload(context, list->owners_at, list->owners, n * 4));
    CHECK(psv_upload(context, list->worlds_at, list->worlds, n * 4));
    CHECK(psv_upload(context, list->layers_at, list->layers, n));
    CHECK(psv_upload(context, list->flags_at, list->flags, n));
    CHECK(psv_upload(context, list->filters_at, list->filters, n * sizeof *list->filters));
    CHECK(psv_upload(context, list->margins_at, list->margins, n * 4));
    CHECK(psv_upload(context, list->count_at, &list->count, 8));
    if (list->has_ids) set.ids = list->ids_at;
    if (list->has_owners) set.owners = list->owners_at;
    if (list->has_layers) set.layers = list->layers_at;
    if (list->has_flags) set.flags = list->flags_at;
    if (list->has_filters) set.filters = list->filters_at;
    if (list->has_worlds) set.worlds = list->worlds_at;
    if (list->has_count) set.count_buffer = list->count_at;
    if (list->has_margins) set.margins = list->margins_at;
    set.margin = list->margin;
    set.kept = list->kept;
    set.kept_version = list->kept_version;
    return set;
}

// How many boxes of a list are kept: of a second set all or none.
static void draw_kept(rule_case *test, box_list *list) {
    if (list == &test->b) {
        list->kept = list->has_count ? 0 : list->room;
    } else {
        const uint32_t kind = draw(test, 4);
        list->kept = kind == 0 ? 0 : kind == 1 ? list->count : draw(test, (uint32_t)list->count + 1);
    }
}

// A quarter of a step along each axis, at most.
static void nudge_box(rule_case *test, box_list *list, uint64_t i) {
    psv_aabb64 *box = &list->boxes[i];
    for (int axis = 0; axis < 3; ++axis) {
        const double by = 0.25 * test->step * ((double)draw(test, 3) - 1);
        box->min[axis] = list->doubles ? box->min[axis] + by : (double)(float)(box->min[axis] + by);
        box->max[axis] = list->doubles ? box->max[axis] + by : (double)(float)(box->max[axis] + by);
    }
}

// Boxes that stay about where they are, and some that are switched off and on.
static void change_little(rule_case *test, box_list *list) {
    for (uint64_t i = list->kept; i < list->room; ++i) {
        const uint32_t kind = draw(test, 8);
        if (kind == 0) nudge_box(test, list, i);
        if (kind == 1) list->flags[i] ^= PSV_BOX_DISABLED;
    }
}

// Some boxes move, some slots get new boxes. Kept boxes do so only with a new version.
static void change_list(rule_case *test, box_list *list) {
    uint64_t first = list->kept;
    if (test->calm && draw(test, 6) != 0) {
        change_little(test, list);
        return;
    }
    if (first > 0 && draw(test, 3) == 0) {
        ++list->kept_version;
        if (list == &test->a) draw_kept(test, list);
        first = 0;
    }
    for (uint64_t i = first; i < list->room; ++i) {
        const uint32_t kind = draw(test, 10);
        if (kind < 3) place_box(test, list, i);
        if (kind == 3) fill_slot(test, list, i);
    }
    if (list->has_count) list->count = list->room - draw(test, list->room < 20 ? (uint32_t)list->room + 1 : 20);
    if (list->count < list->kept) list->count = list->kept;
}

// --- the plain reference ---------------------------------------------------------------------------------------------

static int compare_pairs(const void *x, const void *y) {
    const psv_pair *a = x, *b = y;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

static bool is_off(const box_list *list, uint64_t i) {
    return list->has_flags && (list->flags[i] & PSV_BOX_DISABLED) != 0;
}

static bool is_live(const rule_case *test, const box_list *list, uint64_t i) {
    if (is_off(list, i) || (list->has_worlds && list->worlds[i] >= test->world_count)) return false;
    for (int axis = 0; axis < 3; ++axis)
        if (!(list->boxes[i].min[axis] <= list->boxes[i].max[axis])) return false;
    return true;
}

static uint32_t world_of(const box_list *list, uint64_t i) { return list->has_worlds ? list->worlds[i] : 0; }

static bool may_meet(const rule_case *test, const box_list *a, uint64_t i, const box_list *b, uint64_t j) {
    for (int axis = 0; axis < 3; ++axis)
        if (a->boxes[i].min[axis] > b->boxes[j].max[axis] || b->boxes[j].min[axis] > a->boxes[i].max[axis])
            return false;
    if (world_of(a, i) != world_of(b, j)) return false;
    if (a->has_flags && b->has_flags && (a->flags[i] & b->flags[j] & PSV_BOX_STATIC) != 0) return false;
    const psv_box_filter all = {UINT32_MAX, UINT32_MAX};
    const psv_box_filter f = a->has_filters ? a->filters[i] : all, g = b->has_filters ? b->filters[j] : all;
    if ((f.group & g.mask) == 0 || (g.group & f.mask) == 0) return false;
    if (a->has_owners && b->has_owners && a->owners[i] == b->owners[j] && a->owners[i] != PSV_NO_OWNER) return false;
    if (!test->has_matrix) return true;
    const uint32_t p = a->has_layers ? a->layers[i] : 0, q = b->has_layers ? b->layers[j] : 0;
    if (p > 31 || q > 31) return false;
    return (test->matrix[p] & 1u << q) != 0 && (test->matrix[q] & 1u << p) != 0;
}

static psv_pair name_pair(const rule_case *test, uint64_t i, uint64_t j) {
    const box_list *b = test->between ? &test->b : &test->a;
    const uint32_t x = test->a.has_ids ? test->a.ids[i] : (uint32_t)i, y = b->has_ids ? b->ids[j] : (uint32_t)j;
    return test->between || x < y ? (psv_pair){x, y} : (psv_pair){y, x};
}

static bool is_excluded(const rule_case *test, psv_pair pair) {
    for (uint64_t e = 0; test->has_excluded && e < test->excluded_count; ++e)
        if (compare_pairs(&pair, &test->excluded[e]) == 0) return true;
    return false;
}

static void find_expected(rule_case *test) {
    const box_list *a = &test->a, *b = test->between ? &test->b : a;
    memset(test->world_counts, 0, test->world_count * sizeof *test->world_counts);
    test->expected_count = 0;
    test->crowded = false;
    for (uint64_t i = 0; i < a->count; ++i) {
        if (!is_live(test, a, i)) continue;
        for (uint64_t j = test->between ? 0 : i + 1; j < b->count; ++j) {
            if (!is_live(test, b, j) || !may_meet(test, a, i, b, j)) continue;
            const psv_pair pair = name_pair(test, i, j);
            if (is_excluded(test, pair)) continue;
            if (test->expected_count == test->room) {
                test->room = 2 * test->room + 1000;
                test->expected = realloc(test->expected, test->room * sizeof *test->expected);
                test->before = realloc(test->before, test->room * sizeof *test->before);
            }
            test->expected[test->expected_count++] = pair;
            const uint64_t here = ++test->world_counts[world_of(a, i)];
            test->crowded = test->crowded || (test->world_pairs > 0 && here > test->world_pairs);
        }
    }
    if (test->expected_count > 0) qsort(test->expected, test->expected_count, sizeof *test->expected, compare_pairs);
}

// Some pairs that are there, some that are not, some twice.
static void draw_excluded(rule_case *test) {
    test->has_excluded = false;
    find_expected(test);
    test->excluded_count = 0;
    for (uint64_t p = 0; p < test->expected_count && test->excluded_count + 2 < MOST_EXCLUDED; ++p) {
        if (draw(test, 3) != 0) continue;
        test->excluded[test->excluded_count++] = test->expected[p];
        if (draw(test, 5) == 0) test->excluded[test->excluded_count++] = test->expected[p];
        if (draw(test, 5) == 0) test->excluded[test->excluded_count++] = (psv_pair){draw(test, 99), draw(test, 99)};
    }
    test->has_excluded = test->excluded_count > 0;
}

static void make_case(rule_case *test, uint64_t seed) {
    static const uint64_t counts[] = {0, 1, 2, 3, 16, 17, 31, 64, 100, 255, 256, 257, 300, 500, 900};
    static const uint32_t worlds[] = {1, 1, 2, 5, 40, 1000};
    static const double places[] = {0, 0, 1, -1e9, 1e9, 1e12};
    *test = (rule_case){.seed = seed};
    const bool doubles = draw(test, 2);
    test->world_count = worlds[draw(test, 6)];
    test->between = draw(test, 3) == 0;
    test->has_matrix = draw(test, 2);
    test->step = doubles ? 1e-3 : 0.25;
    for (int axis = 0; axis < 3; ++axis)
        test->place[axis] = doubles ? places[draw(test, 6)] : draw(test, 3);
    for (int i = 0; i < PSV_LAYERS; ++i)
        test->matrix[i] = (uint32_t)box_random_bits(seed, (uint64_t)i, 5) | (draw(test, 4) == 0 ? UINT32_MAX : 0);
    make_list(test, &test->a, counts[draw(test, 15)], doubles);
    // Of two sets one may have floats. Both are near the same place only when both are alike.
    if (test->between) make_list(test, &test->b, counts[draw(test, 13)], doubles && draw(test, 4) != 0);
    test->world_counts = calloc(test->world_count, sizeof *test->world_counts);
    test->excluded = calloc(MOST_EXCLUDED, sizeof *test->excluded);
    if (draw(test, 2)) draw_excluded(test);
    find_expected(test);
    if (draw(test, 2) == 0 && keeps_boxes()) draw_kept(test, test->between ? &test->b : &test->a);
    test->calm = draw(test, 2);
    if (draw(test, 3) == 0) test->world_pairs = 1 + test->world_counts[draw(test, test->world_count)];
}

static void free_case(rule_case *test) {
    free_list(&test->a);
    if (test->between) free_list(&test->b);
    free(test->expected), free(test->before), free(test->excluded), free(test->world_counts);
}

// --- checks ----------------------------------------------------------------------------------------------------------

static void set_rules(psv_pair_finder *finder, const rule_case *test) {
    psv_pair_rules rules = psv_default_pair_rules();
    psv_buffer matrix = {0}, excluded = {0};
    const uint64_t bytes = test->excluded_count * sizeof *test->excluded;
    if (test->has_matrix) {
        CHECK(psv_alloc_buffer(context, sizeof test->matrix, &matrix));
        CHECK(psv_upload(context, matrix, test->matrix, sizeof test->matrix));
        rules.layer_matrix = matrix;
    }
    if (test->has_excluded) {
        CHECK(psv_alloc_buffer(context, bytes, &excluded));
        CHECK(psv_upload(context, excluded, test->excluded, bytes));
        rules.excluded = excluded;
        rules.excluded_count = test->excluded_count;
    }
    CHECK(psv_set_pair_rules(finder, test->has_matrix || test->has_excluded ? &rules : NULL));
    CHECK(psv_synchronize(context));
    psv_free_buffer(context, &matrix); // the finder has its own
    psv_free_buffer(context, &excluded);
}

static bool is_in(const psv_pair *list, uint64_t count, psv_pair pair) {
    return count > 0 && bsearch(&pair, list, count, sizeof pair, compare_pairs) != NULL;
}

// What `list` has and `other` lacks.
static psv_pair *subtract(const psv_pair *list, uint64_t count, const psv_pair *other, uint64_t other_count,
                          uint64_t *left) {
    psv_pair *result = malloc((count + 1) * sizeof *result);
    *left = 0;
    for (uint64_t i = 0; i < count; ++i)
        if (!is_in(other, other_count, list[i])) result[(*left)++] = list[i];
    return result;
}

static void check_equal(const char *what, const psv_pair *got, uint64_t count, const psv_pair *expected,
                        uint64_t expected_count) {
    for (uint64_t i = 0; i < count && i < expected_count; ++i)
        if (compare_pairs(&got[i], &expected[i]) != 0)
            fail_msg("%s %llu is (%u, %u), expected (%u, %u)", what, (unsigned long long)i, got[i].a, got[i].b,
                     expected[i].a, expected[i].b);
    if (count != expected_count)
        fail_msg("%llu %s, expected %llu", (unsigned long long)count, what, (unsigned long long)expected_count);
}

static void check_events(psv_pair_finder *finder, const rule_case *test) {
    const uint64_t room = test->expected_count + test->before_count + 1;
    psv_pair *begin = malloc(room * sizeof *begin), *end = malloc(room * sizeof *end);
    uint64_t begins = 0, ends = 0, expected_begins, expected_ends;
    const psv_status status = psv_read_pair_events(finder, begin, room, &begins, end, room, &ends);
    if (!test->crowded && !test->crowded_before) {
        if (status != PSV_OK) fail_msg("events: %s", psv_last_error(context));
        psv_pair *new =
            subtract(test->expected, test->expected_count, test->before, test->before_count, &expected_begins);
        psv_pair *old =
            subtract(test->before, test->before_count, test->expected, test->expected_count, &expected_ends);
        check_equal("begins", begin, begins, new, expected_begins);
        check_equal("ends", end, ends, old, expected_ends);
        free(new);
        free(old);
    }
    free(begin);
    free(end);
}

static void check_worlds(psv_pair_finder *finder, const rule_case *test) {
    const psv_buffer buffer = psv_world_pair_buffer(finder);
    uint64_t *counts = malloc(test->world_count * sizeof *counts);
    assert_int_equal(buffer.bytes, test->world_count * sizeof *counts);
    CHECK(psv_download(context, counts, buffer, buffer.bytes));
    for (uint32_t w = 0; w < test->world_count; ++w)
        if (counts[w] != test->world_counts[w])
            fail_msg("world %u has %llu pairs, expected %llu", w, (unsigned long long)counts[w],
                     (unsigned long long)test->world_counts[w]);
    free(counts);
}

// With crowded worlds: as many pairs as have room, all of them true, none twice.
static uint64_t listed_count(const rule_case *test) {
    uint64_t sum = 0;
    for (uint32_t w = 0; w < test->world_count; ++w)
        sum += test->world_pairs > 0 && test->world_counts[w] > test->world_pairs ? test->world_pairs
                                                                                  : test->world_counts[w];
    return sum;
}

static void check_pairs(psv_pair_finder *finder, const rule_case *test, bool ordered) {
    const uint64_t listed = listed_count(test);
    psv_pair *pairs = malloc((listed + 1) * sizeof *pairs);
    uint64_t count = UINT64_MAX;
    const psv_status status = psv_read_pairs(finder, pairs, listed, &count);
    if (status != (test->crowded ? PSV_ERROR_CAPACITY : PSV_OK))
        fail_msg("pairs: %s: %s", psv_status_name(status), psv_last_error(context));
    if (test->crowded) assert_non_null(strstr(psv_last_error(context), "def.world_pairs"));
    assert_int_equal(count, listed);
    if (!ordered && count > 0) qsort(pairs, count, sizeof *pairs, compare_pairs);
    if (!test->crowded) check_equal("pairs", pairs, count, test->expected, test->expected_count);
    for (uint64_t i = 0; i < count; ++i) {
        assert_true(is_in(test->expected, test->expected_count, pairs[i]));
        assert_true(i == 0 || compare_pairs(&pairs[i - 1], &pairs[i]) < 0);
    }
    free(pairs);
}

static void check_statistics(psv_pair_finder *finder, const rule_case *test) {
    psv_pair_statistics statistics;
    uint64_t live = 0, bad = 0;
    for (int s = 0; s < (test->between ? 2 : 1); ++s) {
        const box_list *list = s == 0 ? &test->a : &test->b;
        for (uint64_t i = 0; i < list->count; ++i) {
            live += is_live(test, list, i);
            bad += !is_live(test, list, i) && !is_off(list, i);
        }
    }
    CHECK(psv_read_pair_statistics(finder, &statistics));
    assert_int_equal(statistics.pairs, test->expected_count);
    assert_int_equal(statistics.boxes, live);
    assert_int_equal(statistics.bad_boxes, bad);
}

static void run_method(rule_case *test, const char *method) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = method;
    def.max_boxes = test->a.room + test->b.room + 1;
    def.grow_pairs = draw(test, 2);
    def.max_pairs = def.grow_pairs ? 1 + draw(test, 20) : 200000;
    def.sort_output = draw(test, 2);
    def.events = draw(test, 2);
    def.world_count = test->world_count;
    def.ids = test->a.has_ids || test->b.has_ids;
    def.doubles = test->a.doubles || test->b.doubles;
    def.max_excluded = draw(test, 2) ? MOST_EXCLUDED : test->excluded_count;
    def.count_worlds = draw(test, 2);
    def.max_kept = test->a.kept + test->b.kept > 0 ? def.max_boxes - draw(test, 2) : 0;
    def.world_pairs = test->world_pairs;
    def.margins = test->a.margin > 0 || test->a.has_margins || test->b.margin > 0 || test->b.has_margins;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    test->before_count = 0;
    test->crowded_before = false;
    for (int frame = 0; frame < (test->calm ? CALM_FRAMES : FRAMES); ++frame) {
        if (frame == 3 && def.max_excluded == MOST_EXCLUDED && draw(test, 2)) draw_excluded(test);
        if (frame == 4 && draw(test, 3) == 0) test->has_matrix = test->has_excluded = false;
        if (frame == 0 || frame > 2) set_rules(finder, test);
        find_expected(test);
        const psv_box_set a = upload_list(test, &test->a);
        psv_status status;
        if (test->between) {
            const psv_box_set b = upload_list(test, &test->b);
            status = psv_find_pairs_between(finder, &a, &b);
        } else {
            status = psv_find_pairs(finder, &a);
        }
        if (status != PSV_OK && !(test->crowded && status == PSV_ERROR_CAPACITY))
            fail_msg("find: %s: %s", psv_status_name(status), psv_last_error(context));
        check_pairs(finder, test, def.sort_output);
        check_statistics(finder, test);
        if (def.count_worlds || def.world_pairs > 0) check_worlds(finder, test);
        if (def.events) check_events(finder, test);
        psv_pair *swap = test->before;
        test->before = test->expected;
        test->expected = swap;
        test->before_count = test->expected_count;
        test->crowded_before = test->crowded;
        change_list(test, &test->a);
        if (test->between) change_list(test, &test->b);
    }
    psv_destroy_pair_finder(finder);
}

static void test_random_cases(void **state) {
    static char where[200];
    case_count = test_thinned(case_count, 1);
    print_message("seed %llu, %u cases\n", (unsigned long long)base_seed, case_count);
    for (uint32_t c = 0; c < case_count; ++c) {
        for (uint32_t m = 0; m == 0 || psv_broad_phase_name(backend, m - 1) != NULL; ++m) {
            const char *method = m == 0 ? "auto" : psv_broad_phase_name(backend, m - 1);
            if (only_method != NULL && strcmp(only_method, method) != 0) continue;
            rule_case test;
            make_case(&test, base_seed + c);
            (void)snprintf(where, sizeof where, "case --seed %llu --cases 1 --method %s: %llu + %llu boxes",
                           (unsigned long long)(base_seed + c), method, (unsigned long long)test.a.count,
                           (unsigned long long)test.b.count);
            *state = where;
            run_method(&test, method);
            free_case(&test);
        }
    }
    *state = NULL;
}

static int report_case(void **state) {
    if (*state != NULL) print_message("last: %s\n", (const char *)*state);
    return 0;
}

// Boxes of a millimetre all over 1e9 m: borders are exact to the last bit, wherever the origin is.
static void test_exact_borders(void **state) {
    (void)state;
    enum { N = 2000 };
    psv_aabb64 *boxes = calloc(N, sizeof *boxes);
    for (uint64_t i = 0; i < N; ++i) { // pairs of boxes that touch, pairs that miss by one unit in the last place
        const double at = 1e9 * ((double)(i / 2) / (N / 2) - 0.5) * 2 + 0.25;
        const double border = at + 1e-3;
        for (int axis = 0; axis < 3; ++axis) {
            boxes[i].min[axis] = axis == 0 && i % 2 != 0 ? border : at;
            boxes[i].max[axis] = axis == 0 && i % 2 != 0 ? border + 1e-3 : border;
        }
        if (i % 4 == 3) boxes[i].min[0] = nextafter(border, INFINITY);
    }
    psv_buffer buffer = {0};
    CHECK(psv_alloc_buffer(context, N * sizeof *boxes, &buffer));
    CHECK(psv_upload(context, buffer, boxes, N * sizeof *boxes));
    for (uint32_t m = 0; psv_broad_phase_name(backend, m) != NULL; ++m) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        psv_pair_finder *finder = NULL;
        def.method = psv_broad_phase_name(backend, m);
        def.max_boxes = N;
        def.doubles = def.sort_output = true;
        CHECK(psv_create_pair_finder(context, &def, &finder));
        for (int origin = 0; origin < 2; ++origin) {
            psv_box_set set = psv_boxes64_of(buffer, sizeof *boxes, N);
            set.origin[0] = origin != 0 ? 5e8 : 0;
            psv_pair pairs[N];
            uint64_t count = 0;
            CHECK(psv_find_pairs(finder, &set));
            CHECK(psv_read_pairs(finder, pairs, N, &count));
            assert_int_equal(count, N / 4);
            for (uint32_t p = 0; p < count; ++p) {
                assert_int_equal(pairs[p].a, 4 * p);
                assert_int_equal(pairs[p].b, 4 * p + 1);
            }
        }
        psv_destroy_pair_finder(finder);
    }
    psv_free_buffer(context, &buffer);
    free(boxes);
}

// --- many kept boxes -------------------------------------------------------------------------------------------------

// Boxes that reach thousands of kept ones, one of them kept: what finds the pairs cuts such searches into parts.
static void make_crowd(psv_aabb *boxes, uint32_t *worlds, uint32_t kept, uint32_t others, uint32_t world_count) {
    const float side = cbrtf((float)kept);
    box_scene_named("cube")->make(boxes, kept + others, base_seed);
    for (uint32_t i = 0; i < kept + others; ++i)
        worlds[i] = (uint32_t)(box_random_bits(base_seed, i, 21) % world_count);
    for (int axis = 0; axis < 3; ++axis) {
        boxes[kept / 2].min[axis] = -side, boxes[kept / 2].max[axis] = 2 * side;
        boxes[kept].min[axis] = -side, boxes[kept].max[axis] = 2 * side;
        boxes[kept + 1].min[axis] = -INFINITY, boxes[kept + 1].max[axis] = INFINITY;
        boxes[kept + 2].min[axis] = axis == 1 ? -side : 0.3f * side, boxes[kept + 2].max[axis] = side * 0.35f;
    }
}

static uint64_t find_sorted(psv_pair_finder *finder, const psv_box_set *set, psv_pair *pairs, uint64_t room) {
    uint64_t count = 0;
    CHECK(psv_find_pairs(finder, set));
    CHECK(psv_read_pairs(finder, pairs, room, &count));
    return count;
}

static void test_many_kept(void **state) {
    (void)state;
    if (!keeps_boxes()) skip();
    enum { KEPT = 30000, OTHERS = 60, ROOM = 400000 };
    psv_aabb *boxes = calloc(KEPT + OTHERS, sizeof *boxes);
    uint32_t *worlds = calloc(KEPT + OTHERS, sizeof *worlds);
    psv_pair *pairs = calloc(ROOM, sizeof *pairs), *expected = calloc(ROOM, sizeof *expected);
    psv_buffer corners = {0}, worlds_at = {0};
    CHECK(psv_alloc_buffer(context, (KEPT + OTHERS) * sizeof *boxes, &corners));
    CHECK(psv_alloc_buffer(context, (KEPT + OTHERS) * sizeof *worlds, &worlds_at));
    for (uint32_t world_count = 1; world_count <= 3; world_count += 2) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        psv_pair_finder *plain = NULL, *finder = NULL;
        make_crowd(boxes, worlds, KEPT, OTHERS, world_count);
        CHECK(psv_upload(context, corners, boxes, (KEPT + OTHERS) * sizeof *boxes));
        CHECK(psv_upload(context, worlds_at, worlds, (KEPT + OTHERS) * sizeof *worlds));
        psv_box_set set = psv_boxes_of(corners, sizeof *boxes, KEPT + OTHERS);
        if (world_count > 1) set.worlds = worlds_at;
        def.max_boxes = KEPT + OTHERS;
        def.max_pairs = ROOM;
        def.sort_output = true;
        def.world_count = world_count;
        CHECK(psv_create_pair_finder(context, &def, &plain));
        def.max_kept = KEPT;
        CHECK(psv_create_pair_finder(context, &def, &finder));
        const uint64_t count = find_sorted(plain, &set, expected, ROOM);
        assert_true(count > 2 * KEPT / world_count);
        set.kept = KEPT;
        for (int frame = 0; frame < 3; ++frame) {
            assert_int_equal(find_sorted(finder, &set, pairs, ROOM), count);
            assert_memory_equal(pairs, expected, count * sizeof *pairs);
        }
        psv_destroy_pair_finder(finder);
        psv_destroy_pair_finder(plain);
    }
    psv_free_buffer(context, &corners);
    psv_free_buffer(context, &worlds_at);
    free(expected);
    free(pairs);
    free(worlds);
    free(boxes);
}

// --- refusals --------------------------------------------------------------------------------------------------------

static void expect(psv_status status, psv_status expected, const char *part) {
    if (status != expected || strstr(psv_last_error(context), part) == NULL)
        fail_msg("%s «%s»; expected %s with «%s»", psv_status_name(status), psv_last_error(context),
                 psv_status_name(expected), part);
}

static void test_refusals(void **state) {
    (void)state;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    psv_buffer memory = {0};
    def.max_boxes = 20;
    def.max_excluded = 3;
    CHECK(psv_alloc_buffer(context, 4096, &memory));
    CHECK(psv_create_pair_finder(context, &def, &finder));
    assert_int_equal(psv_world_pair_buffer(finder).bytes, 0);
    psv_box_set set = psv_boxes_of(memory, sizeof(psv_aabb), 10), bad = set;
    bad.ids = memory;
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "def.ids");
    bad = psv_boxes64_of(memory, sizeof(psv_aabb64), 10);
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "def.doubles");
    expect(psv_find_pairs_between(finder, &set, &bad), PSV_ERROR_ARGUMENT, "b.doubles");
    bad.min_stride = 52;
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "multiple of 8");
    bad = psv_boxes64_of(memory, sizeof(psv_aabb64), 10);
    bad.origin[1] = (double)INFINITY;
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "origin[1]");
    bad = set;
    bad.owners = psv_sub_buffer(memory, 0, 36);
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "boxes.owners");
    bad = set;
    bad.layers = psv_sub_buffer(memory, 0, 9);
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "boxes.layers");
    bad = set;
    bad.margin = 0.5f;
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "boxes.margin is set, but def.margins is not");
    expect(psv_find_pairs_between(finder, &set, &bad), PSV_ERROR_ARGUMENT, "b.margin");
    bad.margin = -1;
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "boxes.margin is -1");
    bad.margin = INFINITY;
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "finite");
    bad = set;
    bad.margins = psv_sub_buffer(memory, 0, 36);
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "boxes.margins");
    bad = set;
    bad.kept = 2;
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_CAPACITY, "def.max_kept");
    bad.kept = 11;
    expect(psv_find_pairs(finder, &bad), PSV_ERROR_ARGUMENT, "boxes.kept is 11; boxes.count is 10");
    bad.kept = 9;
    expect(psv_find_pairs_between(finder, &set, &bad), PSV_ERROR_ARGUMENT, "b.kept is 9; b.count is 10");
    expect(psv_find_pairs_between(finder, &bad, &set), PSV_ERROR_ARGUMENT, "a.kept");
    bad.kept = 10;
    bad.count_buffer = memory;
    expect(psv_find_pairs_between(finder, &set, &bad), PSV_ERROR_ARGUMENT, "b.count_buffer");
    psv_pair_finder *none = NULL;
    def.max_kept = 21;
    expect(psv_create_pair_finder(context, &def, &none), PSV_ERROR_ARGUMENT, "def.max_kept is 21");
    psv_pair_rules rules = {0};
    expect(psv_set_pair_rules(finder, &rules), PSV_ERROR_ARGUMENT, "psv_default_pair_rules");
    rules = psv_default_pair_rules();
    rules.excluded = memory;
    rules.excluded_count = 4;
    expect(psv_set_pair_rules(finder, &rules), PSV_ERROR_CAPACITY, "def.max_excluded");
    rules.excluded_count = 3;
    rules.excluded = psv_sub_buffer(memory, 0, 23);
    expect(psv_set_pair_rules(finder, &rules), PSV_ERROR_ARGUMENT, "rules.excluded");
    rules = psv_default_pair_rules();
    rules.layer_matrix = psv_sub_buffer(memory, 0, 127);
    expect(psv_set_pair_rules(finder, &rules), PSV_ERROR_ARGUMENT, "rules.layer_matrix");
    assert_int_equal(psv_set_pair_rules(NULL, NULL), PSV_ERROR_ARGUMENT);
    CHECK(psv_set_pair_rules(finder, NULL));
    psv_destroy_pair_finder(finder);
    psv_free_buffer(context, &memory);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        if (psv_parse_backend(argv[i], &backend) == PSV_OK) continue;
        if (i + 1 < argc && strcmp(argv[i], "--seed") == 0) base_seed = strtoull(argv[++i], NULL, 10);
        if (i + 1 < argc && strcmp(argv[i], "--cases") == 0) case_count = (uint32_t)atoi(argv[++i]);
        if (i + 1 < argc && strcmp(argv[i], "--method") == 0) only_method = argv[++i];
    }
    if (!psv_backend_available(backend)) {
        printf("skipped: no %s device on this machine\n", psv_backend_name(backend));
        return 77;
    }
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = 2;
    def.check_buffers = true;
    if (psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "test_pair_rules: %s\n", psv_last_error(NULL));
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_random_cases, report_case),
        cmocka_unit_test(test_exact_borders),
        cmocka_unit_test(test_many_kept),
        cmocka_unit_test(test_refusals),
    };
    const int failed = cmocka_run_group_tests_name("pair_rules", tests, NULL, NULL);
    psv_destroy_context(context);
    return failed;
}
