// Begin and end events of pairs that nobody asked to have in order: boxes with a few pairs, with dozens, hundreds and
// thousands; frames whose events are not read, that overflow, that make the buffer grow; one set, two sets, kept boxes.
// The oracle is a double loop over the boxes and a difference of two ordered lists.
//   test_event_lists [cpu|cuda|gl|vulkan] [--seed N] [--frames N]
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pairsieve/collision.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"
#include "../test_scale.h"

#define MOST 3000u
#define MOST_PAIRS 200000u

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static uint64_t base_seed = 20261127;
static uint64_t frame_count = 14;

typedef struct pair_list {
    psv_pair pairs[MOST_PAIRS];
    uint64_t count;
} pair_list;

typedef struct event_case {
    uint64_t seed, draws;
    uint32_t count, second; // boxes; from place `second` on they are the second set, which is empty at `count`
    uint32_t kept, version;
    bool alone; // in this frame no box is kept
    bool grows;
    uint64_t room;
    psv_aabb boxes[MOST];
    pair_list now, before; // before: of the last frame whose events were read
    uint32_t longest;      // most pairs of one first box so far
} event_case;

static uint32_t draw(event_case *test, uint32_t limit) {
    return (uint32_t)(box_random_bits(test->seed, test->draws++, 0) % limit);
}

// A tenth of the first few boxes reach many others, at any place of the list.
static void place_box(event_case *test, uint32_t i, uint32_t wide) {
    static const float reach[] = {1, 3, 6, 40};
    const float side = 1.3f * (float)wide;
    const uint32_t kind = draw(test, 40);
    const float size = reach[kind < 34 ? 0 : kind < 37 ? 1 : kind < 39 || i > 60 ? 2 : 3];
    for (int axis = 0; axis < 3; ++axis) {
        test->boxes[i].min[axis] = 0.001f * (float)draw(test, (uint32_t)(1000 * side));
        test->boxes[i].max[axis] = test->boxes[i].min[axis] + size;
    }
}

static uint32_t width_of(uint32_t count) {
    uint32_t across = 2;
    while (across * across * across < count)
        ++across;
    return across;
}

static void make_case(event_case *test, uint64_t number) {
    static const uint32_t counts[] = {1, 2, 33, 700, MOST};
    test->seed = base_seed + number;
    test->draws = 0;
    test->count = counts[number % 5];
    test->second = draw(test, 3) == 0 ? test->count / 2 : test->count;
    test->kept = test->second == test->count && draw(test, 2) == 0 ? test->count / 3 : 0;
    test->grows = draw(test, 2) == 0;
    test->room = test->grows ? 1 + draw(test, 40) : draw(test, 3) == 0 ? 2 * test->count + 1 : MOST_PAIRS;
    test->now.count = test->before.count = 0;
    test->alone = false;
    for (uint32_t i = 0; i < test->count; ++i)
        place_box(test, i, width_of(test->count));
}

// None, some or all move, a little or anywhere. Kept boxes stay for some frames.
static void move_boxes(event_case *test) {
    const uint32_t kind = draw(test, 4);
    const bool anew = test->kept > 0 && draw(test, 6) == 0;
    test->version += anew;
    test->alone = draw(test, 8) == 0;
    for (uint32_t i = anew ? 0 : test->kept; i < test->count && kind > 0; ++i) {
        if (kind < 3 && draw(test, 30) > 0) continue;
        if (kind == 2)
            place_box(test, i, width_of(test->count));
        else
            for (int axis = 0; axis < 3; ++axis) {
                const float by = 0.1f * (float)((int)draw(test, 3) - 1);
                test->boxes[i].min[axis] += by;
                test->boxes[i].max[axis] += by;
            }
    }
}

// --- the oracle ------------------------------------------------------------------------------------------------------

static bool overlap(const psv_aabb *a, const psv_aabb *b) {
    for (int axis = 0; axis < 3; ++axis)
        if (a->min[axis] > b->max[axis] || b->min[axis] > a->max[axis]) return false;
    return true;
}

static void find_expected(event_case *test) {
    const bool between = test->second < test->count;
    pair_list *now = &test->now;
    now->count = 0;
    for (uint32_t i = 0; i < test->second; ++i) {
        const uint64_t first = now->count;
        for (uint32_t j = between ? test->second : i + 1; j < test->count; ++j) {
            if (!overlap(&test->boxes[i], &test->boxes[j])) continue;
            if (now->count == MOST_PAIRS) fail_msg("the oracle has too little room");
            now->pairs[now->count++] = (psv_pair){i, between ? j - test->second : j};
        }
        if (now->count - first > test->longest) test->longest = (uint32_t)(now->count - first);
    }
}

static int compare_pairs(const void *x, const void *y) {
    const psv_pair *a = x, *b = y;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

// Compares `found` with those of x that y does not have.
static void expect_only(const event_case *test, const char *what, const psv_pair *found, uint64_t count,
                        const pair_list *x, const pair_list *y) {
    uint64_t at = 0;
    for (uint64_t i = 0, j = 0; i < x->count; ++i) {
        while (j < y->count && compare_pairs(&y->pairs[j], &x->pairs[i]) < 0)
            ++j;
        if (j < y->count && compare_pairs(&y->pairs[j], &x->pairs[i]) == 0) continue;
        if (at == count || compare_pairs(&found[at], &x->pairs[i]) != 0)
            fail_msg("seed %llu: %s %llu of %llu is not (%u, %u)", (unsigned long long)test->seed, what,
                     (unsigned long long)at, (unsigned long long)count, x->pairs[i].a, x->pairs[i].b);
        ++at;
    }
    if (at != count)
        fail_msg("seed %llu: %llu %s, expected %llu", (unsigned long long)test->seed, (unsigned long long)count, what,
                 (unsigned long long)at);
}

// --- calls -----------------------------------------------------------------------------------------------------------

static psv_status find(const event_case *test, psv_pair_finder *finder, psv_buffer memory) {
    const uint64_t bytes = test->count * sizeof *test->boxes, first = test->second * sizeof *test->boxes;
    CHECK(psv_upload(context, memory, test->boxes, bytes));
    psv_box_set a = psv_boxes_of(memory, sizeof *test->boxes, test->second);
    a.kept = test->alone ? 0 : test->kept;
    a.kept_version = test->version;
    if (test->second == test->count) return psv_find_pairs(finder, &a);
    const psv_box_set b =
        psv_boxes_of(psv_sub_buffer(memory, first, bytes - first), sizeof *test->boxes, test->count - test->second);
    return psv_find_pairs_between(finder, &a, &b);
}

static void check_frame(event_case *test, psv_pair_finder *finder, psv_buffer memory) {
    static pair_list found, begin, end;
    find_expected(test);
    const psv_status status = find(test, finder, memory);
    const bool full = !test->grows && test->now.count > test->room;
    const psv_status read = psv_read_pairs(finder, found.pairs, MOST_PAIRS, &found.count);
    if (backend == PSV_BACKEND_CPU) assert_int_equal(status, full ? PSV_ERROR_CAPACITY : PSV_OK);
    assert_int_equal(read, full ? PSV_ERROR_CAPACITY : PSV_OK);
    assert_int_equal(found.count, test->now.count);
    if (!full) {
        const pair_list none = {.count = 0};
        qsort(found.pairs, found.count, sizeof *found.pairs, compare_pairs);
        expect_only(test, "pairs", found.pairs, found.count, &test->now, &none);
    }
    if (draw(test, 4) == 0) return; // nobody reads the events of this frame
    const psv_status events =
        psv_read_pair_events(finder, begin.pairs, MOST_PAIRS, &begin.count, end.pairs, MOST_PAIRS, &end.count);
    assert_int_equal(events, full ? PSV_ERROR_CAPACITY : PSV_OK);
    if (full) {
        assert_int_equal(begin.count + end.count, 0);
        return;
    }
    expect_only(test, "begins", begin.pairs, begin.count, &test->now, &test->before);
    expect_only(test, "ends", end.pairs, end.count, &test->before, &test->now);
    test->before = test->now;
}

static void test_random_events(void **state) {
    (void)state;
    event_case *test = calloc(1, sizeof *test);
    psv_buffer memory = {0};
    uint64_t events = 0;
    CHECK(psv_alloc_buffer(context, sizeof test->boxes, &memory));
    for (uint64_t number = 0; number < 15; ++number) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        psv_pair_finder *finder = NULL;
        make_case(test, number);
        def.max_boxes = test->count;
        def.max_kept = test->kept;
        def.max_pairs = test->room;
        def.grow_pairs = test->grows;
        def.events = true;
        CHECK(psv_create_pair_finder(context, &def, &finder));
        const uint32_t frames = test_thinned((unsigned)frame_count, 3);
        for (uint32_t frame = 0; frame < frames; ++frame) {
            check_frame(test, finder, memory);
            move_boxes(test);
            events += test->now.count;
        }
        psv_destroy_pair_finder(finder);
    }
    print_message("%llu pairs, %u of one box at most\n", (unsigned long long)events, test->longest);
    assert_true(test->longest > 600); // beyond what a warp puts in order
    psv_free_buffer(context, &memory);
    free(test);
}

int main(int argc, char **argv) {
    const number_option options[] = {{"--seed", &base_seed}, {"--frames", &frame_count}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_events)};
    return RUN_BACKEND_TESTS("event_lists", &def, &context, tests);
}
