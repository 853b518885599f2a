// «auto» while scenes change: the pairs of every frame are those of `brute`, whatever runs. On OpenGL `lbvh` is tried
// where `rows` takes long (collision/src/trials.h). On the CPU `rows` gives up where its tests would take longer than
// `lbvh`, which finds the pairs of the same frame; on CUDA it goes by the tree itself. usage: test_auto
// [cpu|cuda|gl|vulkan]
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/collision.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"
#include "../test_scale.h"

#if PSV_HAVE_CUDA
#include "../cases/graph_capture.h"
#endif

#define BOXES (backend == PSV_BACKEND_CUDA ? 60000 : 20000) // of a finder: enough for trials, and for a tree
#define USED (backend >= PSV_BACKEND_GL ? 1900 : BOXES)     // of each scene: software drivers of OpenGL are slow
#define ROOM                                                                                                           \
    (backend >= PSV_BACKEND_GL ? 1u << 16 : 1u << 22) // pairs; each frame of OpenGL and Vulkan goes over all of it
#define FRAMES (backend >= PSV_BACKEND_GL ? 20 : 40)  // of each scene: a trial needs some 15

static psv_context *context;
static psv_backend backend;

typedef struct pair_list {
    psv_pair *pairs;
    uint64_t count;
} pair_list;

static psv_pair_finder *make_finder(const char *method, bool events) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = method;
    def.max_boxes = BOXES;
    def.max_pairs = ROOM;
    def.sort_output = true;
    def.events = events;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    return finder;
}

static psv_box_set upload_scene(const char *name, uint64_t count, uint64_t seed, psv_buffer *buffer) {
    psv_aabb *boxes = malloc(count * sizeof *boxes);
    assert_non_null(boxes);
    box_scene_named(name)->make(boxes, count, seed);
    CHECK(psv_alloc_buffer(context, count * sizeof *boxes, buffer));
    CHECK(psv_upload(context, *buffer, boxes, count * sizeof *boxes));
    free(boxes);
    return psv_boxes_of(*buffer, sizeof(psv_aabb), count);
}

static pair_list make_list(void) {
    pair_list list = {malloc(ROOM * sizeof(psv_pair)), 0};
    assert_non_null(list.pairs);
    return list;
}

static void find(psv_pair_finder *finder, const psv_box_set *set, pair_list *list) {
    CHECK(psv_find_pairs(finder, set));
    CHECK(psv_read_pairs(finder, list->pairs, ROOM, &list->count));
}

typedef struct method_counts {
    uint32_t rows, other; // frames by their method,
    uint32_t tree;        // and those that `rows` found by its tree
} method_counts;

static method_counts run_scene(psv_pair_finder *finder, const char *name, uint64_t count, uint64_t seed) {
    psv_buffer buffer;
    const psv_box_set set = upload_scene(name, count, seed, &buffer);
    psv_pair_finder *reference = make_finder("brute", false);
    pair_list expected = make_list(), got = make_list();
    method_counts counts = {0, 0, 0};
    find(reference, &set, &expected);
    for (int frame = 0; frame < FRAMES; ++frame) {
        psv_pair_statistics statistics;
        find(finder, &set, &got);
        if (got.count != expected.count || memcmp(got.pairs, expected.pairs, got.count * sizeof *got.pairs) != 0)
            fail_msg("%s, seed %llu, frame %d: not the pairs of brute", name, (unsigned long long)seed, frame);
        CHECK(psv_read_pair_statistics(finder, &statistics));
        ++*(strcmp(statistics.method, "rows") == 0 ? &counts.rows : &counts.other);
        counts.tree += strcmp(statistics.route, "tree") == 0;
        if (strcmp(statistics.method, "lbvh") == 0)
            assert_string_equal(statistics.veto, backend == PSV_BACKEND_CPU ? "tests" : "slower");
    }
    free(expected.pairs);
    free(got.pairs);
    psv_destroy_pair_finder(reference);
    psv_free_buffer(context, &buffer);
    return counts;
}

static const char *const scenes[] = {"sticks",    "cube", "spiral",   "power", "clusters", "shells", "needles",
                                     "lattice_3", "tiny", "denormal", "cube",  "vast",     "spiral", "sticks"};

static void test_pairs_whatever_runs(void **state) {
    (void)state;
    for (int events = 0; events < 2; ++events) {
        psv_pair_finder *finder = make_finder("auto", events);
        method_counts all = {0, 0, 0};
        const uint32_t stride = test_scale() > 1 || (events && backend >= PSV_BACKEND_GL) ? 4 : 1;
        const uint32_t least = stride == 1 ? 2 * FRAMES : FRAMES / 2;
        for (uint32_t s = 0; s < sizeof scenes / sizeof *scenes; s += stride) {
            const method_counts its = run_scene(finder, scenes[s], s % 3 == 2 ? USED - 1234 : USED, 411 + s);
            all.other += its.other;
            all.tree += its.tree;
        }
        // On OpenGL sticks: `rows` is above the least of `lbvh` on any device. Else at least the spirals.
        if (backend == PSV_BACKEND_CUDA) {
            assert_int_equal(all.other, 0);
            assert_in_range(all.tree, least, UINT32_MAX);
        } else {
            assert_in_range(all.other, backend == PSV_BACKEND_CPU ? least : 1, UINT32_MAX);
        }
        psv_destroy_pair_finder(finder);
    }
}

// The sweep of a costly scene ends before it takes long in the first frame of that scene, and the frames of an even
// scene behind it are swept from the first one on.
static void test_each_frame_decides(void **state) {
    (void)state;
    if (backend >= PSV_BACKEND_GL) skip();
    psv_buffer buffers[2];
    const psv_box_set sets[2] = {upload_scene("spiral", BOXES, 3, &buffers[0]),
                                 upload_scene("cube", BOXES, 4, &buffers[1])};
    psv_pair_finder *finder = make_finder("auto", false);
    for (int frame = 0; frame < 12; ++frame) {
        const int which = frame / 3 % 2; // three frames of each
        psv_pair_statistics statistics;
        CHECK(psv_find_pairs(finder, &sets[which]));
        CHECK(psv_read_pair_statistics(finder, &statistics));
        const bool by_tree = strcmp(statistics.route, "tree") == 0 || strcmp(statistics.method, "lbvh") == 0;
        if (by_tree != (which == 0))
            fail_msg("frame %d, of %s: method %s, route %s", frame, which == 0 ? "spiral" : "cube", statistics.method,
                     statistics.route);
        // All boxes against all: 30,000 each. On the CPU vain tests count too, and the first pieces tell what is to
        // come.
        assert_in_range(statistics.candidates, 0, (backend == PSV_BACKEND_CPU ? 150 : 300) * (uint64_t)BOXES);
    }
    psv_destroy_pair_finder(finder);
    for (int which = 0; which < 2; ++which)
        psv_free_buffer(context, &buffers[which]);
}

// A finder that is too small for trials holds no memory for them, and never runs another method.
static void test_small_finders_try_nothing(void **state) {
    (void)state;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    if (backend < PSV_BACKEND_GL) skip();
    for (uint64_t boxes = 8192; boxes <= 16384; boxes *= 2) {
        def.max_boxes = boxes;
        def.max_pairs = 1024;
        def.method = "rows";
        const uint64_t alone = psv_pair_finder_bytes(backend, &def);
        def.method = "lbvh";
        const uint64_t other = psv_pair_finder_bytes(backend, &def);
        def.method = "auto";
        const uint64_t both = psv_pair_finder_bytes(backend, &def);
        if (boxes < 16384)
            assert_int_equal(both, alone);
        else
            assert_in_range(both, alone + 1, alone + other);
    }
}

// The order of calls on two finders of one context, and a finder that is destroyed while its clock runs.
static void test_clocks_do_not_meet(void **state) {
    (void)state;
    psv_buffer buffers[2];
    const psv_box_set sets[2] = {upload_scene("sticks", USED, 5, &buffers[0]),
                                 upload_scene("cube", USED, 6, &buffers[1])};
    psv_pair_finder *finders[2] = {make_finder("auto", false), make_finder("auto", false)};
    uint64_t counts[2] = {0, 0};
    for (int frame = 0; frame < 2 * FRAMES; ++frame) {
        uint64_t count = 0;
        const int which = frame % 2;
        CHECK(psv_find_pairs(finders[which], &sets[which]));
        CHECK(psv_find_pairs(finders[which], &sets[which])); // this one is not waited for
        CHECK(psv_finish_pairs(finders[which], &count));
        if (frame < 2)
            counts[which] = count;
        else
            assert_int_equal(count, counts[which]);
    }
    for (int which = 0; which < 2; ++which) {
        CHECK(psv_find_pairs(finders[which], &sets[which]));
        psv_destroy_pair_finder(finders[which]);
        psv_free_buffer(context, &buffers[which]);
    }
}

#if PSV_HAVE_CUDA
// One graph for all scenes: what it goes by is chosen on the device, frame by frame.
static void test_captured(void **state) {
    (void)state;
    if (backend != PSV_BACKEND_CUDA) skip();
    psv_context *const own = context;
    cudaStream_t stream;
    context = open_stream_context(&stream);
    psv_buffer buffer;
    const psv_box_set set = upload_scene("cube", BOXES, 8, &buffer);
    psv_pair_finder *finder = make_finder("auto", false), *reference = make_finder("brute", false);
    pair_list expected = make_list(), got = make_list();
    psv_aabb *boxes = malloc(BOXES * sizeof *boxes);
    assert_non_null(boxes);
    CHECK(psv_find_pairs(finder, &set));
    begin_capture(stream);
    const cudaGraphExec_t graph = end_capture(stream, context, psv_find_pairs(finder, &set));
    uint32_t trees = 0;
    for (int frame = 0; frame < FRAMES; ++frame) {
        static const char *const names[] = {"cube", "spiral", "shells"};
        psv_pair_statistics statistics;
        box_scene_named(names[frame / 2 % 3])->make(boxes, BOXES, (uint64_t)frame);
        CHECK(psv_upload(context, buffer, boxes, BOXES * sizeof *boxes));
        find(reference, &set, &expected);
        CUDA(cudaGraphLaunch(graph, stream));
        CHECK(psv_read_pairs(finder, got.pairs, ROOM, &got.count));
        assert_int_equal(got.count, expected.count);
        assert_memory_equal(got.pairs, expected.pairs, got.count * sizeof *got.pairs);
        CHECK(psv_read_pair_statistics(finder, &statistics));
        trees += strcmp(statistics.route, "tree") == 0;
    }
    assert_in_range(trees, FRAMES / 4, FRAMES - FRAMES / 4);
    CUDA(cudaGraphExecDestroy(graph));
    free(boxes);
    free(expected.pairs);
    free(got.pairs);
    psv_destroy_pair_finder(finder);
    psv_destroy_pair_finder(reference);
    psv_free_buffer(context, &buffer);
    close_stream_context(context, stream);
    context = own;
}
#endif

int main(int argc, char **argv) {
    const number_option no_options = {NULL, NULL};
    if (!read_backend_arguments(argc, argv, &backend, &no_options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_whatever_runs),
        cmocka_unit_test(test_each_frame_decides),
        cmocka_unit_test(test_small_finders_try_nothing),
        cmocka_unit_test(test_clocks_do_not_meet),
#if PSV_HAVE_CUDA
        cmocka_unit_test(test_captured),
#endif
    };
    return RUN_BACKEND_TESTS("auto", &def, &context, tests);
}
