// Frames of one finder whose boxes, numbers and kinds of scene follow each other, as what a frame leaves behind decides
// how the next one is sorted: pairs are those of another method, frame after frame, plain and in a captured graph. Also
// finders of different sizes in turn.
// usage: test_pairs_frames [COUNT [--no-cooperative]]
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include <pairsieve/collision.h>

#include "../../core/context.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"
#include "../test_scale.h"
#include "frame_steps.h"

static cudaStream_t stream;
static psv_context *context;
static uint64_t most_boxes; // 0: as the test has it

#define CUDA(call) assert_int_equal(call, cudaSuccess)

// Flags and filters of a step, on the device.
typedef struct frame_tags {
    uint8_t *flags;
    psv_box_filter *filters;
} frame_tags;

static void make_tags(const frame_step *step, uint64_t count, const frame_tags *tags, psv_box_set *set) {
    if (step->tags == 0) return;
    uint8_t *flags = malloc(count);
    psv_box_filter *filters = malloc(count * sizeof *filters);
    make_frame_tags(step, count, flags, filters);
    CUDA(cudaMemcpyAsync(tags->flags, flags, count, cudaMemcpyHostToDevice, stream));
    CUDA(cudaMemcpyAsync(tags->filters, filters, count * sizeof *filters, cudaMemcpyHostToDevice, stream));
    CUDA(cudaStreamSynchronize(stream));
    set->flags = psv_buffer_of(tags->flags, count);
    if (step->tags >= 2) set->filters = psv_buffer_of(tags->filters, count * sizeof *filters);
    free(filters);
    free(flags);
}

static psv_pair_finder *make_finder(const char *method, uint64_t most, bool grow) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = method;
    def.max_boxes = most;
    def.max_pairs = 24 * most + 600000;
    def.grow_pairs = grow;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    return finder;
}

static void run_steps(uint64_t most, bool in_graph) {
    psv_aabb *boxes = malloc(most * sizeof *boxes), *on_device = NULL;
    uint64_t *count_on_device = NULL;
    frame_tags tags = {NULL, NULL};
    CUDA(cudaMalloc((void **)&tags.flags, most));
    CUDA(cudaMalloc((void **)&tags.filters, most * sizeof *tags.filters));
    CUDA(cudaMalloc((void **)&on_device, most * sizeof *boxes));
    CUDA(cudaMalloc((void **)&count_on_device, sizeof *count_on_device));
    psv_pair_finder *finder = make_finder("rows", most, !in_graph), *other = make_finder("lbvh", most, true);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    if (in_graph) {
        psv_box_set set = psv_boxes_of(psv_buffer_of(on_device, most * sizeof *boxes), sizeof *boxes, most);
        set.count_buffer = psv_buffer_of(count_on_device, sizeof *count_on_device);
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        CHECK(psv_find_pairs(finder, &set));
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&executable, graph, 0));
    }
    for (int s = 0; s < frame_step_count; ++s) {
        if (in_graph && (frame_steps[s].skipped != 0 || frame_steps[s].tags != 0)) continue;
        const uint64_t count = make_frame_step(&frame_steps[s], most, boxes);
        CUDA(cudaMemcpyAsync(on_device, boxes, most * sizeof *boxes, cudaMemcpyHostToDevice, stream));
        CUDA(cudaMemcpyAsync(count_on_device, &count, sizeof count, cudaMemcpyHostToDevice, stream));
        psv_box_set set = psv_boxes_of(psv_buffer_of(on_device + frame_steps[s].skipped, count * sizeof *boxes),
                                       sizeof *boxes, count);
        make_tags(&frame_steps[s], count, &tags, &set);
        CHECK(psv_find_pairs(other, &set));
        const frame_digest expected = digest_frame(context, other);
        assert_true(expected.boxes + expected.bad == count || frame_steps[s].tags != 0);
        if (in_graph && expected.pairs > 24 * most) continue; // a captured frame cannot make room
        for (int f = 0; f < (int)test_thinned((unsigned)frame_steps[s].frames, 2); ++f) {
            if (in_graph)
                CUDA(cudaGraphLaunch(executable, stream));
            else
                CHECK(psv_find_pairs(finder, &set));
            const frame_digest got = digest_frame(context, finder);
            compare_frames(&got, &expected, in_graph ? "graph" : "calls", s, f);
        }
    }
    if (in_graph) {
        CUDA(cudaGraphExecDestroy(executable));
        CUDA(cudaGraphDestroy(graph));
    }
    psv_destroy_pair_finder(finder);
    psv_destroy_pair_finder(other);
    CUDA(cudaFree(tags.filters));
    CUDA(cudaFree(tags.flags));
    CUDA(cudaFree(count_on_device));
    CUDA(cudaFree(on_device));
    free(boxes);
}

static void test_frames(void **state) {
    (void)state;
    run_steps(most_boxes != 0 ? most_boxes : test_thinning() > 1 ? 205003 : 230003, false);
}

static void test_frames_in_a_graph(void **state) {
    (void)state;
    if (test_thinning() > 1) skip();
    run_steps(most_boxes != 0 ? most_boxes : 230003, true);
}

// A finder works on when others, larger and smaller, are created beside it.
static void test_sizes_in_turn(void **state) {
    (void)state;
    static const uint64_t sizes[] = {9000000, 400000, 2300000, 20000000, 1900000};
    enum { FINDERS = sizeof sizes / sizeof *sizes };
    if (test_thinning() > 1) skip();
    const uint64_t count = 210003; // above what one launch takes
    psv_aabb *boxes = malloc(count * sizeof *boxes), *on_device = NULL;
    box_scene_named("cube")->make(boxes, count, 1);
    CUDA(cudaMalloc((void **)&on_device, count * sizeof *boxes));
    CUDA(cudaMemcpyAsync(on_device, boxes, count * sizeof *boxes, cudaMemcpyHostToDevice, stream));
    const psv_box_set set = psv_boxes_of(psv_buffer_of(on_device, count * sizeof *boxes), sizeof *boxes, count);
    psv_pair_finder *finders[FINDERS];
    frame_digest first = {0};
    for (int i = 0; i < FINDERS; ++i) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        def.method = "rows";
        def.max_boxes = sizes[i];
        def.max_pairs = 4 * count;
        CHECK(psv_create_pair_finder(context, &def, &finders[i]));
        for (int k = 0; k <= 2 * i + 1; ++k) { // all that there are, twice
            CHECK(psv_find_pairs(finders[k % (i + 1)], &set));
            const frame_digest got = digest_frame(context, finders[k % (i + 1)]);
            if (i == 0 && k == 0) first = got;
            assert_memory_equal(&got, &first, sizeof got);
        }
    }
    assert_true(first.pairs > count);
    for (int i = 0; i < FINDERS; ++i)
        psv_destroy_pair_finder(finders[i]);
    CUDA(cudaFree(on_device));
    free(boxes);
}

int main(int argc, char **argv) {
    if (argc > 1) most_boxes = strtoull(argv[1], NULL, 10);
    if (!psv_backend_available(PSV_BACKEND_CUDA)) {
        printf("skipped: no cuda device on this machine\n");
        return 77;
    }
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CUDA;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 1;
    def.borrow_stream = true;
    def.stream = stream;
    if (psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "test_pairs_frames: %s\n", psv_last_error(NULL));
        return 1;
    }
    if (argc > 2 && strcmp(argv[2], "--no-cooperative") == 0) context->info.cooperative_launch = false;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_frames_in_a_graph),
        cmocka_unit_test(test_sizes_in_turn),
    };
    const int failed = cmocka_run_group_tests_name("pairs_frames", tests, NULL, NULL);
    psv_destroy_context(context);
    (void)cudaStreamDestroy(stream);
    return failed;
}
