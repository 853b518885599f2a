// The route that `rows` takes on each scene of bench_collision, so that a scene that falls back without a word fails
// here. What the routes find is compared elsewhere (test_pairs, test_pairs_frames); how they are chosen without a GPU
// in test_rows_route. Needs a device with all that the fastest routes need (compute capability 9.0, 227 KB on chip).
// usage: test_rows_scenes [print]   (print: the table as it is on this device)
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/collision.h>

#include "../../core/context.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"

#define FRAMES 6 // of the same boxes: the plan has settled, and nothing pauses that serves

typedef struct scene_route {
    const char *scene;
    uint64_t boxes;
    const char *route, *veto;
} scene_route;

static const scene_route expected[] = {
#include "rows_scene_routes.h"
};

static psv_context *context;

static psv_pair_finder *make_finder(uint64_t boxes, const char *sort_method) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = "rows";
    if (sort_method != NULL) def.sort_method = sort_method;
    def.max_boxes = boxes;
    def.max_pairs = 4 * boxes + 1024; // more are counted and not written
    CHECK(psv_create_pair_finder(context, &def, &finder));
    return finder;
}

static psv_pair_finder *make_other(uint64_t boxes) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = "lbvh";
    def.max_boxes = boxes;
    def.max_pairs = 4 * boxes + 1024;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    return finder;
}

static psv_buffer upload_scene(const char *name, uint64_t count) {
    psv_aabb *boxes = malloc(count * sizeof *boxes);
    psv_buffer buffer;
    assert_non_null(boxes);
    box_scene_named(name)->make(boxes, count, 1);
    CHECK(psv_alloc_buffer(context, count * sizeof *boxes, &buffer));
    CHECK(psv_upload(context, buffer, boxes, count * sizeof *boxes));
    free(boxes);
    return buffer;
}

// Each frame is waited for, so that what it says of the next one is known then: the same routes every time.
static psv_pair_statistics run_frames(psv_pair_finder *finder, const psv_box_set *set, int frames) {
    psv_pair_statistics statistics = {0};
    for (int frame = 0; frame < frames; ++frame) {
        CHECK(psv_find_pairs(finder, set));
        CHECK(psv_read_pair_statistics(finder, &statistics));
    }
    return statistics;
}

static psv_pair_statistics run_scene(const char *scene, uint64_t boxes, const char *sort_method) {
    psv_buffer buffer = upload_scene(scene, boxes);
    const psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), boxes);
    psv_pair_finder *finder = make_finder(boxes, sort_method);
    const psv_pair_statistics statistics = run_frames(finder, &set, FRAMES);
    psv_destroy_pair_finder(finder);
    psv_free_buffer(context, &buffer);
    return statistics;
}

static void test_scenes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
        const scene_route *row = &expected[i];
        const psv_pair_statistics got = run_scene(row->scene, row->boxes, NULL);
        if (strcmp(got.route, row->route) != 0 || strcmp(got.veto, row->veto) != 0)
            fail_msg("%s of %llu boxes takes %s (%s), not %s (%s)", row->scene, (unsigned long long)row->boxes,
                     got.route, got.veto, row->route, row->veto);
        assert_string_equal(got.sort_method, "cells");
    }
}

// Every scene of the benchmark is in the table.
static void test_all_scenes(void **state) {
    (void)state;
    for (uint32_t s = 0; box_scene_at(s) != NULL; ++s) {
        bool found = box_scene_at(s)->degenerate;
        for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i)
            found = found || strcmp(expected[i].scene, box_scene_at(s)->name) == 0;
        if (!found) fail_msg("no row for scene %s", box_scene_at(s)->name);
    }
}

static void test_named_sorter(void **state) {
    (void)state;
    const psv_pair_statistics got = run_scene("cube", 100000, "radix");
    assert_string_equal(got.route, "sorter");
    assert_string_equal(got.veto, "sorter");
    assert_string_equal(got.sort_method, "radix");
    assert_string_equal(run_scene("cube", 100000, "auto").route, "fused");
}

static void expect_route(psv_pair_finder *finder, const psv_box_set *set, int frames, const char *route,
                         const char *veto) {
    const psv_pair_statistics got = run_frames(finder, set, frames);
    if (strcmp(got.route, route) != 0 || strcmp(got.veto, veto) != 0)
        fail_msg("%llu boxes: %s (%s), not %s (%s)", (unsigned long long)set->count, got.route, got.veto, route, veto);
}

static void expect_vetoes(psv_pair_finder *finder, const psv_box_set *set, int frames, const char *veto, int wanted) {
    int seen = 0;
    for (int frame = 0; frame < frames; ++frame)
        seen += strcmp(run_frames(finder, set, 1).veto, veto) == 0;
    if (seen != wanted) fail_msg("%d of %d frames have the veto %s, not %d", seen, frames, veto, wanted);
}

// What the device and the host say while bins are tried, fail, are left out and come back.
static void test_way_of_bins(void **state) {
    (void)state;
    const uint64_t count = 300000;
    psv_buffer even = upload_scene("cube", count), sizes = upload_scene("sticks", count);
    psv_box_set set = psv_boxes_of(even, sizeof(psv_aabb), count);
    psv_pair_finder *finder = make_finder(count, NULL);
    expect_route(finder, &set, 2, "bins", "none"); // the first plan is made in front of the first frame
    set.count = count / 8;
    expect_route(finder, &set, 1, "fused", "none");
    set.count = count;
    expect_route(finder, &set, 2, "bins", "none");
    set = psv_boxes_of(sizes, sizeof(psv_aabb), count);
    expect_route(finder, &set, 1, "counted-exact", "sizes"); // with the plan of the cubes: that says little
    expect_route(finder, &set, 1, "counted-exact", "sizes");
    expect_vetoes(finder, &set, 64, "pause", 64); // the host has heard of it
    expect_vetoes(finder, &set, 1, "sizes", 1);   // and asks again
    expect_vetoes(finder, &set, 20, "pause", 20);
    set = psv_boxes_of(even, sizeof(psv_aabb), count);
    expect_route(finder, &set, 2, "counted-exact", "pause");
    expect_route(finder, &set, 1, "bins", "none"); // as other boxes have come
    psv_destroy_pair_finder(finder);
    psv_free_buffer(context, &sizes);
    psv_free_buffer(context, &even);
}

// Frames of the scene `after`, then frames of cubes: those go their usual way again within five frames.
static void expect_return(const char *after, uint64_t count) {
    psv_buffer other = upload_scene(after, count), even = upload_scene("cube", count);
    const psv_box_set before = psv_boxes_of(other, sizeof(psv_aabb), count);
    const psv_box_set cubes = psv_boxes_of(even, sizeof(psv_aabb), count);
    psv_pair_finder *fresh = make_finder(count, NULL), *finder = make_finder(count, NULL);
    const psv_pair_statistics usual = run_frames(fresh, &cubes, FRAMES);
    const psv_pair_statistics then = run_frames(finder, &before, 8), got = run_frames(finder, &cubes, 5);
    if (strcmp(got.route, usual.route) != 0 || strcmp(got.veto, usual.veto) != 0)
        fail_msg("%llu cubes after %s (%s, %s): %s (%s), not %s (%s)", (unsigned long long)count, after, then.route,
                 then.veto, got.route, got.veto, usual.route, usual.veto);
    psv_destroy_pair_finder(finder);
    psv_destroy_pair_finder(fresh);
    psv_free_buffer(context, &even);
    psv_free_buffer(context, &other);
}

static void test_after_scenes(void **state) {
    (void)state;
    static const uint64_t counts[] = {100000, 300000, 1000000};
    for (uint32_t s = 0; box_scene_at(s) != NULL; ++s)
        for (size_t c = 0; c < sizeof counts / sizeof *counts && !box_scene_at(s)->degenerate; ++c)
            expect_return(box_scene_at(s)->name, counts[c]);
}

// `fused` takes boxes of many sizes badly: only boxes of about one size, but for a few, end its pause.
static void test_pause_of_fused(void **state) {
    (void)state;
    const uint64_t count = 100000;
    static const char *const names[] = {"needles", "mixed_100", "giants"};
    psv_pair_finder *finder = make_finder(count, NULL);
    for (int s = 0; s < 3; ++s) {
        psv_buffer buffer = upload_scene(names[s], count);
        const psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), count);
        psv_pair_statistics got = {0};
        for (int frame = 0; frame < 8; ++frame) {
            got = run_frames(finder, &set, 1);
            if (s == 1) assert_string_not_equal(got.route, "fused");
        }
        if (s == 2) assert_string_equal(got.route, "fused");
        psv_free_buffer(context, &buffer);
    }
    psv_destroy_pair_finder(finder);
}

static uint64_t digest_of(psv_pair_finder *finder);

// What a new finder knows after its first frame: the plan says whether the fused kernel suits the scene, whether a
// sweep would take too long, and how many bins boxes need that lie unevenly.
static void test_first_frames(void **state) {
    (void)state;
    static const struct {
        const char *scene;
        uint64_t boxes;
        const char *first, *second; // routes; second: of all frames but the first
    } rows[] = {
        {"cube", 100000, "counted-exact", "fused"},
        {"needles", 100000, "counted-exact", "counted-exact"},
        {"sticks", 100000, "counted-exact", "counted-exact"},
        {"spiral", 100000, "tree", "tree"},
        {"shells", 100000, "tree", "fused"}, // whose levels by size suit nested shells
        {"spiral", 1000000, "tree", "tree"},
        {"shells", 1000000, "tree", "tree"},
        {"spiral", 3000000, "tree", "tree"},
        {"pile", 1000000, "bins", "bins"},
        {"clusters", 1000000, "bins", "bins"},
        {"terrain", 1000000, "bins", "bins"},
        {"cube", 50000, "fused", "fused"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        psv_buffer buffer = upload_scene(rows[i].scene, rows[i].boxes);
        const psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), rows[i].boxes);
        psv_pair_finder *finder = make_finder(rows[i].boxes, NULL);
        for (int frame = 0; frame < 12; ++frame) {
            const psv_pair_statistics got = run_frames(finder, &set, 1);
            const char *const route = frame == 0 ? rows[i].first : rows[i].second;
            if (strcmp(got.route, route) != 0)
                fail_msg("%s of %llu boxes, frame %d: %s (%s), not %s", rows[i].scene,
                         (unsigned long long)rows[i].boxes, frame, got.route, got.veto, route);
        }
        psv_destroy_pair_finder(finder);
        psv_free_buffer(context, &buffer);
    }
}

// Sizes that grow with the distance by six decades: the tree's keys tell small boxes apart where they lie densely.
static void test_tree_of_graded_boxes(void **state) {
    (void)state;
    static const char *const names[] = {"spiral", "shells", "cube"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const uint64_t count = 1000000;
        psv_buffer buffer = upload_scene(names[i], count);
        const psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), count);
        psv_pair_finder *finder = make_other(count);
        const psv_pair_statistics got = run_frames(finder, &set, 1);
        if (got.candidates > 200 * count) fail_msg("%s: %llu tests", names[i], (unsigned long long)got.candidates);
        psv_destroy_pair_finder(finder);
        psv_free_buffer(context, &buffer);
    }
}

// Scenes that take turns end no pause: what fails is not tried every few frames.
static void test_scenes_in_turn(void **state) {
    (void)state;
    const uint64_t count = 300000;
    psv_buffer buffers[2] = {upload_scene("needles", count), upload_scene("sticks", count)};
    psv_pair_finder *finder = make_finder(count, NULL);
    uint32_t paused = 0;
    for (uint32_t frame = 0; frame < 60; ++frame) {
        const psv_box_set set = psv_boxes_of(buffers[frame % 2], sizeof(psv_aabb), count);
        const psv_pair_statistics got = run_frames(finder, &set, 1);
        paused += frame >= 8 && strcmp(got.veto, "first") != 0 && strcmp(got.veto, "growth") != 0;
    }
    assert_true(paused == 52);
    psv_destroy_pair_finder(finder);
    psv_free_buffer(context, &buffers[0]);
    psv_free_buffer(context, &buffers[1]);
}

// Two scenes that suit bins, by turns: each keeps its plan. Then one of them stays.
static void test_bins_in_turn(void **state) {
    (void)state;
    static const char *const names[] = {"cube", "plane", "clusters", "pile"};
    const uint64_t count = 400000;
    for (int pair = 0; pair < 4; ++pair) {
        psv_buffer buffers[2] = {upload_scene(names[pair], count), upload_scene(names[(pair + 1) % 4], count)};
        psv_pair_finder *finder = make_finder(count, NULL), *other = make_other(count);
        for (uint32_t frame = 0; frame < 30; ++frame) {
            const uint32_t which = frame < 20 ? frame % 2 : 0;
            const psv_box_set set = psv_boxes_of(buffers[which], sizeof(psv_aabb), count);
            const psv_pair_statistics got = run_frames(finder, &set, 1);
            CHECK(psv_find_pairs(other, &set));
            if (digest_of(finder) != digest_of(other))
                fail_msg("%s, frame %u by %s (%s): not the pairs of lbvh", names[(pair + which) % 4], frame, got.route,
                         got.veto);
            if ((frame >= 4 && frame < 20) || frame >= 24)
                if (strcmp(got.route, "bins") != 0)
                    fail_msg("%s and %s, frame %u: %s (%s)", names[pair], names[(pair + 1) % 4], frame, got.route,
                             got.veto);
        }
        psv_destroy_pair_finder(finder);
        psv_destroy_pair_finder(other);
        for (int which = 0; which < 2; ++which)
            psv_free_buffer(context, &buffers[which]);
    }
}

// In profiles a launch that does all tells what its sort took.
static void test_sort_is_measured(void **state) {
    (void)state;
    static const uint64_t counts[] = {20000, 100000, 190000, 300000, 1000000, 3000000};
    CHECK(psv_enable_profile(context, true));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        psv_profile profile;
        psv_buffer buffer = upload_scene("cube", counts[i]);
        const psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), counts[i]);
        psv_pair_finder *finder = make_finder(counts[i], NULL);
        for (int frame = 0; frame < FRAMES; ++frame) {
            CHECK(psv_find_pairs(finder, &set));
            CHECK(psv_wait_profile(context, &profile));
            double sum = 0;
            for (int phase = 0; phase < PSV_PHASE_COUNT; ++phase) {
                assert_true(profile.phase_ms[phase] >= 0);
                sum += profile.phase_ms[phase];
            }
            if (profile.phase_ms[PSV_PHASE_SORT] <= 0 || profile.phase_ms[PSV_PHASE_SWEEP] <= 0 ||
                profile.phase_ms[PSV_PHASE_KEYS] <= 0)
                fail_msg("%llu boxes, frame %d: keys %g, sort %g, sweep %g ms", (unsigned long long)counts[i], frame,
                         profile.phase_ms[PSV_PHASE_KEYS], profile.phase_ms[PSV_PHASE_SORT],
                         profile.phase_ms[PSV_PHASE_SWEEP]);
            assert_true(profile.phase_ms[PSV_PHASE_SORT] < 0.8 * profile.frame_ms);
            assert_true(sum <= 1.001 * profile.frame_ms + 0.002);
        }
        psv_destroy_pair_finder(finder);
        psv_free_buffer(context, &buffer);
    }
    CHECK(psv_enable_profile(context, false));
}

// What was found, whatever its order: a sum over the pairs. 0: there was no room for all of them.
static uint64_t digest_of(psv_pair_finder *finder) {
    uint64_t pairs = 0, digest = 0;
    const psv_status status = psv_finish_pairs(finder, &pairs);
    if (status == PSV_ERROR_CAPACITY) return 0;
    CHECK(status);
    psv_pair *list = malloc((pairs + 1) * sizeof *list);
    assert_non_null(list);
    CHECK(psv_read_pairs(finder, list, pairs, &pairs));
    for (uint64_t p = 0; p < pairs; ++p)
        digest += box_random_bits(1, (uint64_t)list[p].a << 32 | list[p].b, 0);
    free(list);
    return digest + 1;
}

// The pairs of every route that a scene takes from its first frame on are those of another method.
static void test_pairs_of_scenes(void **state) {
    (void)state;
    static const uint64_t counts[] = {300000, 2100000};
    for (uint32_t s = 0; box_scene_at(s) != NULL; ++s) {
        if (box_scene_at(s)->degenerate) continue;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            psv_buffer buffer = upload_scene(box_scene_at(s)->name, counts[c]);
            const psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), counts[c]);
            psv_pair_finder *finders[2] = {make_finder(counts[c], NULL), make_other(counts[c])};
            CHECK(psv_find_pairs(finders[1], &set));
            const uint64_t right = digest_of(finders[1]);
            for (int frame = 0; frame < 3; ++frame) {
                const psv_pair_statistics got = run_frames(finders[0], &set, 1);
                const uint64_t digest = digest_of(finders[0]);
                if (digest != right)
                    fail_msg("%s of %llu boxes, frame %d by %s (%s): %llu pairs are not those of lbvh",
                             box_scene_at(s)->name, (unsigned long long)counts[c], frame, got.route, got.veto,
                             (unsigned long long)got.pairs);
            }
            psv_destroy_pair_finder(finders[0]);
            psv_destroy_pair_finder(finders[1]);
            psv_free_buffer(context, &buffer);
        }
    }
}

// Tiny boxes are scaled up; a few boxes so far away that the product is infinite do not change what is found.
static void test_far_from_tiny_boxes(void **state) {
    (void)state;
    static const uint64_t counts[] = {3000, 20000, 60000, 300000, 2200000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        const uint64_t count = counts[c];
        psv_aabb *boxes = malloc(count * sizeof *boxes);
        assert_non_null(boxes);
        box_scene_named("tiny")->make(boxes, count, 5);
        psv_buffer near = {0}, far = {0};
        CHECK(psv_alloc_buffer(context, count * sizeof *boxes, &near));
        CHECK(psv_upload(context, near, boxes, count * sizeof *boxes));
        for (uint64_t i = 7; i < count; i += count / 9)
            for (int axis = 0; axis < 3; ++axis)
                boxes[i].min[axis] = 1e30f * (float)(i % 3), boxes[i].max[axis] = 3e30f;
        CHECK(psv_alloc_buffer(context, count * sizeof *boxes, &far));
        CHECK(psv_upload(context, far, boxes, count * sizeof *boxes));
        psv_pair_finder *finders[2] = {make_finder(count, NULL), make_other(count)};
        for (int frame = 0; frame < 8; ++frame) { // by turns, three of each
            const psv_box_set set = psv_boxes_of(frame / 3 % 2 ? far : near, sizeof(psv_aabb), count);
            const psv_pair_statistics got = run_frames(finders[0], &set, 1);
            CHECK(psv_find_pairs(finders[1], &set));
            if (digest_of(finders[0]) != digest_of(finders[1]))
                fail_msg("%llu tiny boxes, frame %d by %s (%s): %llu pairs are not those of lbvh",
                         (unsigned long long)count, frame, got.route, got.veto, (unsigned long long)got.pairs);
        }
        for (int which = 0; which < 2; ++which)
            psv_destroy_pair_finder(finders[which]);
        psv_free_buffer(context, &near);
        psv_free_buffer(context, &far);
        free(boxes);
    }
}

static int by_height(const void *a, const void *b) {
    const float x = ((const psv_aabb *)a)->min[1], y = ((const psv_aabb *)b)->min[1];
    return (x > y) - (x < y);
}

// Boxes in the order of their place, as a simulation makes them, go the way of the same boxes in any order, and have as
// many candidates.
static void test_boxes_in_order(void **state) {
    (void)state;
    static const uint64_t counts[] = {100000, 300000, 3000000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        const psv_pair_statistics usual = run_scene("cube", counts[c], NULL);
        psv_aabb *boxes = malloc(counts[c] * sizeof *boxes);
        assert_non_null(boxes);
        box_scene_named("cube")->make(boxes, counts[c], 1);
        qsort(boxes, counts[c], sizeof *boxes, by_height);
        psv_buffer buffer;
        CHECK(psv_alloc_buffer(context, counts[c] * sizeof *boxes, &buffer));
        CHECK(psv_upload(context, buffer, boxes, counts[c] * sizeof *boxes));
        free(boxes);
        const psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), counts[c]);
        psv_pair_finder *finder = make_finder(counts[c], NULL);
        const psv_pair_statistics got = run_frames(finder, &set, FRAMES);
        if (strcmp(got.route, usual.route) != 0 || got.candidates > usual.candidates + usual.candidates / 4)
            fail_msg("%llu boxes in order: %s (%s), %llu candidates; usually %s, %llu", (unsigned long long)counts[c],
                     got.route, got.veto, (unsigned long long)got.candidates, usual.route,
                     (unsigned long long)usual.candidates);
        psv_destroy_pair_finder(finder);
        psv_free_buffer(context, &buffer);
    }
}

#define ALIKE_WORLDS 8192
#define ALIKE_BODIES 32

// Worlds of the same bodies, as robots learn in: whatever sizes those have, no box is tested against other worlds'
// ones.
static void test_worlds_alike(void **state) {
    (void)state;
    const uint32_t count = ALIKE_WORLDS * ALIKE_BODIES;
    psv_aabb *boxes = malloc(count * sizeof *boxes);
    uint32_t *worlds = malloc(count * sizeof *worlds);
    assert_true(boxes != NULL && worlds != NULL);
    psv_buffer buffer, numbers;
    CHECK(psv_alloc_buffer(context, count * sizeof *boxes, &buffer));
    CHECK(psv_alloc_buffer(context, count * sizeof *worlds, &numbers));
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        for (uint32_t i = 0; i < count; ++i) {
            worlds[i] = i / ALIKE_BODIES;
            for (uint32_t axis = 0; axis < 3; ++axis) {
                const uint64_t size = box_random_bits(seed, i % ALIKE_BODIES, axis),
                               at = box_random_bits(~seed, i, axis);
                const float half = 0.2f + 0.25f * (float)(size >> 40) / 16777216.0f;
                const float middle = 3.2f * (float)(at >> 40) / 16777216.0f;
                boxes[i].min[axis] = middle - half;
                boxes[i].max[axis] = middle + half;
            }
        }
        CHECK(psv_upload(context, buffer, boxes, count * sizeof *boxes));
        CHECK(psv_upload(context, numbers, worlds, count * sizeof *worlds));
        psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), count);
        set.worlds = numbers;
        psv_pair_finder_def def = psv_default_pair_finder_def();
        def.method = "rows";
        def.max_boxes = count;
        def.world_count = ALIKE_WORLDS;
        psv_pair_finder *finder = NULL;
        CHECK(psv_create_pair_finder(context, &def, &finder));
        const psv_pair_statistics got = run_frames(finder, &set, 4);
        if (got.candidates > (uint64_t)count * ALIKE_BODIES)
            fail_msg("seed %llu: %llu boxes are tested against %llu", (unsigned long long)seed,
                     (unsigned long long)count, (unsigned long long)got.candidates);
        psv_destroy_pair_finder(finder);
    }
    psv_free_buffer(context, &buffer);
    psv_free_buffer(context, &numbers);
    free(boxes);
    free(worlds);
}

static int print_table(void) {
    static const uint64_t counts[] = {10000, 300000, 1000000, 3000000};
    for (uint32_t s = 0; box_scene_at(s) != NULL; ++s) {
        if (box_scene_at(s)->degenerate) continue;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            const psv_pair_statistics got = run_scene(box_scene_at(s)->name, counts[c], NULL);
            printf("    {\"%s\", %llu, \"%s\", \"%s\"},\n", box_scene_at(s)->name, (unsigned long long)counts[c],
                   got.route, got.veto);
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CUDA;
    if (!psv_backend_available(PSV_BACKEND_CUDA) || psv_create_context(&def, &context) != PSV_OK) {
        printf("no CUDA device\n");
        return 77;
    }
    const psvi_device_info *info = &context->info;
    if (info->code_capability < 90 || info->shared_bytes_per_block < 227 * 1024 || info->multiprocessors < 132) {
        printf("not a device that takes every route\n");
        psv_destroy_context(context);
        return 77;
    }
    if (argc > 1 && strcmp(argv[1], "print") == 0) return print_table();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_scenes),           cmocka_unit_test(test_scenes),
        cmocka_unit_test(test_named_sorter),         cmocka_unit_test(test_way_of_bins),
        cmocka_unit_test(test_sort_is_measured),     cmocka_unit_test(test_pairs_of_scenes),
        cmocka_unit_test(test_after_scenes),         cmocka_unit_test(test_scenes_in_turn),
        cmocka_unit_test(test_pause_of_fused),       cmocka_unit_test(test_worlds_alike),
        cmocka_unit_test(test_boxes_in_order),       cmocka_unit_test(test_first_frames),
        cmocka_unit_test(test_tree_of_graded_boxes), cmocka_unit_test(test_far_from_tiny_boxes),
        cmocka_unit_test(test_bins_in_turn),
    };
    const int failed = cmocka_run_group_tests_name("rows_scenes", tests, NULL, NULL);
    psv_destroy_context(context);
    return failed;
}
