// Margins and excluded pairs together: the list of widened boxes serves for many frames while pairs are excluded and
// allowed again, one box with all others too. Every method against a plain double loop.
//   test_margin_rules [cpu|cuda|gl] [--seed N] [--cases N]
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/collision.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../test_scale.h"
#include "pair_soak.h"

enum { MOST = 300, FRAMES = 40, MOST_EXCLUDED = MOST * 12, ROOM = MOST * MOST };

typedef struct margin_case {
    uint64_t seed, draws;
    uint32_t count, second; // boxes; from place `second` on they are the second set, which is empty at `count`
    uint32_t excluded_count;
    psv_aabb boxes[MOST];
    psv_pair excluded[MOST_EXCLUDED];
    bool is_excluded[MOST][MOST]; // by place in `boxes`
} margin_case;

static psv_backend backend = PSV_BACKEND_CPU;
static uint64_t base_seed = 31, case_count = 24;
static psv_context *context;

static uint32_t draw(margin_case *test, uint32_t limit) {
    return (uint32_t)(box_random_bits(test->seed, test->draws++, 0) % limit);
}

// Boxes of one to two units, crowded enough that each meets a few others.
static void make_case(margin_case *test, uint64_t seed) {
    static const uint32_t counts[] = {2, 9, 40, 130, MOST};
    *test = (margin_case){.seed = seed};
    test->count = counts[draw(test, 5)];
    test->second = draw(test, 3) == 0 ? test->count / 2 : test->count;
    uint32_t across = 2;
    while (across * across * across < test->count)
        ++across;
    for (uint32_t i = 0; i < test->count; ++i)
        for (int axis = 0; axis < 3; ++axis) {
            test->boxes[i].min[axis] = 0.01f * (float)draw(test, 130 * across);
            test->boxes[i].max[axis] = test->boxes[i].min[axis] + 0.01f * (float)(100 + draw(test, 100));
        }
}

// Each box by less than a third of its margin from frame to frame; all far away now and then.
static void move_boxes(margin_case *test, int frame) {
    for (uint32_t i = 0; i < test->count; ++i)
        for (int axis = 0; axis < 3; ++axis) {
            const float by = frame % 15 == 14 ? 2.0f : 0.02f * (float)((int)draw(test, 3) - 1);
            test->boxes[i].min[axis] += by;
            test->boxes[i].max[axis] += by;
        }
}

static void exclude(margin_case *test, uint32_t i, uint32_t j) {
    const bool between = test->second < test->count;
    const uint32_t first = i < j ? i : j, last = i < j ? j : i;
    if (first == last || (between && (first >= test->second || last < test->second))) return;
    if (test->excluded_count == MOST_EXCLUDED || test->is_excluded[first][last]) return;
    test->is_excluded[first][last] = true;
    test->excluded[test->excluded_count++] = (psv_pair){first, between ? last - test->second : last};
}

// None, some pairs of neighbours, or one box with all others besides.
static void draw_excluded(margin_case *test) {
    test->excluded_count = 0;
    memset(test->is_excluded, 0, sizeof test->is_excluded);
    const uint32_t kind = draw(test, 4), hub = draw(test, test->count);
    if (kind == 0) return;
    for (uint32_t e = 0; e < 3 * test->count; ++e)
        exclude(test, draw(test, test->count), draw(test, test->count));
    for (uint32_t i = 0; i < test->count && kind == 1; ++i)
        exclude(test, hub, i);
}

static bool overlap(const psv_aabb *a, const psv_aabb *b) {
    for (int axis = 0; axis < 3; ++axis)
        if (a->min[axis] > b->max[axis] || b->min[axis] > a->max[axis]) return false;
    return true;
}

// Compares the finder's pairs, which are in order, with those of a double loop in the same order.
static void check_pairs(psv_pair_finder *finder, const margin_case *test, int frame) {
    static psv_pair pairs[ROOM];
    uint64_t count = 0, at = 0;
    const bool between = test->second < test->count;
    CHECK(psv_read_pairs(finder, pairs, ROOM, &count));
    for (uint32_t i = 0; i < test->second; ++i)
        for (uint32_t j = between ? test->second : i + 1; j < test->count; ++j) {
            if (test->is_excluded[i][j] || !overlap(&test->boxes[i], &test->boxes[j])) continue;
            const psv_pair pair = {i, between ? j - test->second : j};
            if (at == count || pairs[at].a != pair.a || pairs[at].b != pair.b)
                fail_msg("frame %d: pair %llu of %llu is not (%u, %u)", frame, (unsigned long long)at,
                         (unsigned long long)count, pair.a, pair.b);
            ++at;
        }
    if (at != count)
        fail_msg("frame %d: %llu pairs beyond those that overlap", frame, (unsigned long long)(count - at));
}

static void set_rules(psv_pair_finder *finder, const margin_case *test, psv_buffer memory) {
    psv_pair_rules rules = psv_default_pair_rules();
    const uint64_t bytes = test->excluded_count * sizeof *test->excluded;
    if (bytes > 0) CHECK(psv_upload(context, memory, test->excluded, bytes));
    rules.excluded = bytes > 0 ? psv_sub_buffer(memory, 0, bytes) : (psv_buffer){0};
    rules.excluded_count = test->excluded_count;
    CHECK(psv_set_pair_rules(finder, &rules));
    CHECK(psv_synchronize(context));
}

static void find(psv_pair_finder *finder, const margin_case *test, psv_buffer memory) {
    const uint64_t first_bytes = test->second * sizeof *test->boxes;
    CHECK(psv_upload(context, memory, test->boxes, test->count * sizeof *test->boxes));
    psv_box_set a = psv_boxes_of(memory, sizeof *test->boxes, test->second);
    a.margin = 0.1f;
    if (test->second == test->count) {
        CHECK(psv_find_pairs(finder, &a));
        return;
    }
    const psv_buffer rest = psv_sub_buffer(memory, first_bytes, memory.bytes - first_bytes);
    psv_box_set b = psv_boxes_of(rest, sizeof *test->boxes, test->count - test->second);
    b.margin = 0.1f;
    CHECK(psv_find_pairs_between(finder, &a, &b));
}

static void run_case(margin_case *test, const char *method) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    psv_buffer boxes = {0}, excluded = {0};
    def.method = method;
    def.max_boxes = test->count;
    def.max_pairs = ROOM;
    def.max_excluded = MOST_EXCLUDED;
    def.margins = def.sort_output = true;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    CHECK(psv_alloc_buffer(context, sizeof test->boxes, &boxes));
    CHECK(psv_alloc_buffer(context, sizeof test->excluded, &excluded));
    for (int frame = 0; frame < FRAMES; ++frame) {
        if (draw(test, 2) == 0) {
            draw_excluded(test);
            set_rules(finder, test, excluded);
        }
        find(finder, test, boxes);
        check_pairs(finder, test, frame);
        move_boxes(test, frame);
    }
    psv_free_buffer(context, &boxes);
    psv_free_buffer(context, &excluded);
    psv_destroy_pair_finder(finder);
}

static void test_exclusions_change(void **state) {
    static margin_case test;
    (void)state;
    const uint32_t cases = test_thinned((unsigned)case_count, 2);
    for (uint32_t c = 0; c < cases; ++c)
        for (uint32_t m = 0; m == 0 || psv_broad_phase_name(backend, m - 1) != NULL; ++m) {
            const char *method = m == 0 ? "auto" : psv_broad_phase_name(backend, m - 1);
            make_case(&test, base_seed + c);
            print_message("--seed %llu --cases 1: %s, %u boxes, %u of the second set\n", (unsigned long long)test.seed,
                          method, test.count, test.count - test.second);
            run_case(&test, method);
        }
}

int main(int argc, char **argv) {
    const number_option options[] = {{"--seed", &base_seed}, {"--cases", &case_count}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exclusions_change)};
    return RUN_BACKEND_TESTS("margin_rules", &def, &context, tests);
}
