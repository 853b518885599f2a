// «auto» while it changes its method: the pairs of every frame are those of `brute`, whatever runs. On CUDA and
// OpenGL `lbvh` is tried where `rows` takes long (collision/src/trials.h), on the CPU where it tests far more than
// there are pairs. usage: test_auto [cpu|cuda|gl]
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#include <pairsieve/collision.h>

#include "../scenes/box_scenes.h"

#define BOXES 20000                                     // of a finder: enough for trials
#define USED (backend == PSV_BACKEND_GL ? 3000 : BOXES) // of each scene: software drivers of OpenGL are slow
#define ROOM (1u << 20)
#define FRAMES (backend == PSV_BACKEND_GL ? 20 : 40) // of each scene: a trial needs some 15

static psv_context *context;
static psv_backend backend;

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s", #call, psv_last_error(context));                                      \
    } while (0)

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
    uint32_t rows, other;
} method_counts;

static method_counts run_scene(psv_pair_finder *finder, const char *name, uint64_t count, uint64_t seed) {
    psv_buffer buffer;
    const psv_box_set set = upload_scene(name, count, seed, &buffer);
    psv_pair_finder *reference = make_finder("brute", false);
    pair_list expected = make_list(), got = make_list();
    method_counts counts = {0, 0};
    find(reference, &set, &expected);
    for (int frame = 0; frame < FRAMES; ++frame) {
        psv_pair_statistics statistics;
        find(finder, &set, &got);
        if (got.count != expected.count || memcmp(got.pairs, expected.pairs, got.count * sizeof *got.pairs) != 0)
            fail_msg("%s, seed %llu, frame %d: not the pairs of brute", name, (unsigned long long)seed, frame);
        CHECK(psv_read_pair_statistics(finder, &statistics));
        ++*(strcmp(statistics.method, "rows") == 0 ? &counts.rows : &counts.other);
        if (strcmp(statistics.method, "lbvh") == 0)
            assert_string_equal(statistics.veto, backend == PSV_BACKEND_CPU ? "tests" : "slower");
    }
    free(expected.pairs);
    free(got.pairs);
    psv_destroy_pair_finder(reference);
    psv_free_buffer(context, &buffer);
    return counts;
}

static const char *const scenes[] = {"sticks",    "cube",     "power", "clusters", "needles",
                                     "lattice_3", "denormal", "cube",  "sticks"};

static void test_pairs_whatever_runs(void **state) {
    (void)state;
    for (int events = 0; events < 2; ++events) {
        psv_pair_finder *finder = make_finder("auto", events);
        uint32_t others = 0;
        for (uint32_t s = 0; s < sizeof scenes / sizeof *scenes; ++s)
            others += run_scene(finder, scenes[s], s % 3 == 2 ? USED - 1234 : USED, 411 + s).other;
        // By the clock sticks: `rows` is above the least of `lbvh` on any device. On the CPU denormal: after its first
        // frame there are 32 without `rows`, after the next one 64.
        if (backend != PSV_BACKEND_CPU)
            assert_true(others > 0);
        else
            assert_int_equal(others, 96);
        psv_destroy_pair_finder(finder);
    }
}

// A finder that is too small for trials holds no memory for them, and never runs another method.
static void test_small_finders_try_nothing(void **state) {
    (void)state;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    if (backend == PSV_BACKEND_CPU) skip();
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
#define CUDA(call) assert_int_equal(call, cudaSuccess)

// Frames are captured at every step of a trial. A graph keeps its method, and what it finds.
static void test_captured_in_a_trial(void **state) {
    (void)state;
    if (backend != PSV_BACKEND_CUDA) skip();
    psv_context *const own = context;
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.borrow_stream = true;
    def.stream = stream;
    assert_int_equal(psv_create_context(&def, &context), PSV_OK);
    psv_buffer buffer;
    const psv_box_set set = upload_scene("sticks", BOXES, 8, &buffer);
    psv_pair_finder *finder = make_finder("auto", false), *reference = make_finder("brute", false);
    pair_list expected = make_list(), got = make_list();
    find(reference, &set, &expected);
    for (int frame = 0; frame < FRAMES; ++frame) {
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        CHECK(psv_find_pairs(finder, &set)); // its clock still runs
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        CHECK(psv_find_pairs(finder, &set));
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&executable, graph, 0));
        for (int replay = 0; replay < 2; ++replay) {
            CUDA(cudaGraphLaunch(executable, stream));
            CHECK(psv_read_pairs(finder, got.pairs, ROOM, &got.count));
            assert_int_equal(got.count, expected.count);
            assert_memory_equal(got.pairs, expected.pairs, got.count * sizeof *got.pairs);
        }
        CUDA(cudaGraphExecDestroy(executable));
        CUDA(cudaGraphDestroy(graph));
    }
    free(expected.pairs);
    free(got.pairs);
    psv_destroy_pair_finder(finder);
    psv_destroy_pair_finder(reference);
    psv_free_buffer(context, &buffer);
    psv_destroy_context(context);
    CUDA(cudaStreamDestroy(stream));
    context = own;
}
#endif

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_whatever_runs),
        cmocka_unit_test(test_small_finders_try_nothing),
        cmocka_unit_test(test_clocks_do_not_meet),
#if PSV_HAVE_CUDA
        cmocka_unit_test(test_captured_in_a_trial),
#endif
    };
    const char *name = argc > 1 ? argv[1] : "cpu";
    backend = strcmp(name, "cuda") == 0 ? PSV_BACKEND_CUDA : strcmp(name, "gl") == 0 ? PSV_BACKEND_GL : PSV_BACKEND_CPU;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const psv_status status = psv_create_context(&def, &context);
    if (status == PSV_ERROR_DEVICE || status == PSV_ERROR_UNSUPPORTED) {
        printf("skipped: %s\n", psv_last_error(NULL));
        return 77;
    }
    if (status != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(NULL));
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    psv_destroy_context(context);
    return failed;
}
