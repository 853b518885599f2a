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

#include "../../sort/core/context.h"
#include "../scenes/box_scenes.h"
#include "../test_scale.h"

static cudaStream_t stream;
static psv_context *context;
static uint64_t most_boxes; // 0: as the test has it

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s", #call, psv_last_error(context));                                      \
    } while (0)
#define CUDA(call) assert_int_equal(call, cudaSuccess)

// Some frames of the same boxes. Pauses of 8 frames and their ends are among them.
typedef struct frame_step {
    const char *scene;
    uint64_t seed;
    int percent, skipped; // of the boxes; boxes before the first one, which then lies at an odd address
    int frames;
    bool bad; // some boxes are not
    int tags; // 1: flags, 2: also filters, all alike, 3: of several kinds
} frame_step;

static const frame_step steps[] = {
    {"cube", 1, 100, 0, 3, false, 0},
    {"cube", 2, 97, 0, 2, false, 0},
    {"pile", 1, 100, 0, 3, false, 0},
    {"cube", 3, 100, 1, 3, false, 0},
    {"cube", 3, 100, 0, 2, true, 0},
    {"cube", 3, 30, 0, 2, false, 0},
    {"cube", 4, 100, 0, 2, true, 0},
    {"planks", 1, 100, 0, 3, false, 0},
    {"cube", 1, 100, 0, 10, false, 0},
    {"lattice", 1, 100, 0, 3, false, 0},
    {"plane", 1, 100, 0, 20, false, 0},
    {"line", 1, 100, 0, 3, false, 0},
    {"clusters", 1, 100, 0, 2, false, 0},
    {"cube", 1, 100, 0, 18, false, 0},
    {"mixed_100", 1, 100, 0, 2, false, 0},
    {"one_huge", 1, 100, 0, 2, false, 0},
    {"bad", 1, 100, 0, 40, false, 0},
    {"cube", 1, 1, 0, 3, false, 0},
    {"cube", 5, 100, 1, 3, true, 0},
    {"identical", 1, 1, 0, 2, false, 0},
    {"cube", 1, 100, 0, 3, false, 0},
    // sizes of all kinds, with and without flags and filters
    {"giants", 1, 100, 0, 4, false, 0},
    {"power", 1, 100, 0, 3, false, 0},
    {"swept", 2, 100, 0, 4, true, 0},
    {"terrain", 1, 90, 0, 3, false, 0},
    {"power", 2, 100, 1, 3, false, 0},
    {"infinite", 1, 20, 0, 3, false, 0},
    {"gas", 1, 100, 0, 3, false, 0},
    {"mixed_1000", 1, 100, 0, 3, false, 0},
    {"needles", 1, 100, 0, 3, false, 0},
    {"swept", 3, 100, 0, 70, false, 2},
    {"cube", 1, 100, 0, 3, true, 2},
    {"power", 3, 100, 0, 3, false, 3},
    {"giants", 2, 100, 0, 4, true, 1},
    {"lattice_3", 1, 50, 0, 3, false, 0},
    {"swept", 4, 100, 0, 70, false, 1},
    {"extreme", 1, 2, 0, 2, false, 0},
    {"giants", 3, 100, 0, 4, false, 2},
    {"one_huge", 2, 100, 0, 2, true, 3},
    {"shell", 1, 100, 0, 2, false, 0},
    {"disc", 1, 100, 0, 2, false, 2},
    {"far", 1, 100, 0, 2, false, 2},
};
#define STEPS (int)(sizeof steps / sizeof *steps)

static uint64_t make_step(const frame_step *step, uint64_t most, psv_aabb *boxes) {
    uint64_t count = most * (uint64_t)step->percent / 100 - (uint64_t)step->skipped;
    if (strcmp(step->scene, "identical") == 0 && count > 1000) count = 1000;
    memset(boxes, 0, most * sizeof *boxes);
    box_scene_named(step->scene)->make(boxes + step->skipped, count, step->seed);
    for (uint64_t i = 0; step->bad && i < count; i += 1 + count / 7)
        boxes[(uint64_t)step->skipped + i].max[i % 3] = boxes[(uint64_t)step->skipped + i].min[i % 3] - 1.0f;
    return count;
}

// Flags and filters of a step, on the device.
typedef struct frame_tags {
    uint8_t *flags;
    psv_box_filter *filters;
} frame_tags;

static void make_tags(const frame_step *step, uint64_t count, const frame_tags *tags, psv_box_set *set) {
    if (step->tags == 0) return;
    uint8_t *flags = malloc(count);
    psv_box_filter *filters = malloc(count * sizeof *filters);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t bits = box_random_bits(step->seed, i, 7) >> 20;
        flags[i] = bits % 64 == 0 ? PSV_BOX_DISABLED : bits % 8 == 1 ? PSV_BOX_STATIC : 0;
        filters[i] =
            step->tags == 2 ? (psv_box_filter){2, 6} : (psv_box_filter){1u << (bits >> 8) % 2, 1 + (bits >> 9) % 3};
    }
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

// What is known of a frame: pairs and bad boxes, as sums over them, as their order is not certain.
typedef struct digest {
    uint64_t pairs, sum, boxes, bad, bad_sum;
} digest;

static digest digest_of(psv_pair_finder *finder) {
    digest made = {0};
    psv_pair_statistics statistics;
    CHECK(psv_finish_pairs(finder, &made.pairs));
    CHECK(psv_read_pair_statistics(finder, &statistics));
    made.boxes = statistics.boxes;
    made.bad = statistics.bad_boxes;
    psv_pair *pairs = malloc((made.pairs + 1) * sizeof *pairs);
    uint32_t *bad = malloc((made.bad + 1) * sizeof *bad);
    CHECK(psv_read_pairs(finder, pairs, made.pairs, &made.pairs));
    CHECK(psv_read_bad_boxes(finder, bad, made.bad, &made.bad));
    for (uint64_t p = 0; p < made.pairs; ++p) {
        assert_true(pairs[p].a < pairs[p].b);
        made.sum += box_random_bits(1, (uint64_t)pairs[p].a << 32 | pairs[p].b, 0);
    }
    for (uint64_t i = 0; i < made.bad; ++i)
        made.bad_sum += box_random_bits(2, bad[i], 0);
    free(bad);
    free(pairs);
    return made;
}

static void compare(const digest *got, const digest *expected, const char *form, int number, int frame) {
    if (memcmp(got, expected, sizeof *got) != 0)
        fail_msg("%s, step %d (%s), frame %d: %llu pairs, %llu boxes, %llu bad; expected %llu, %llu, %llu (sums %s)",
                 form, number, steps[number].scene, frame, (unsigned long long)got->pairs,
                 (unsigned long long)got->boxes, (unsigned long long)got->bad, (unsigned long long)expected->pairs,
                 (unsigned long long)expected->boxes, (unsigned long long)expected->bad,
                 got->sum == expected->sum && got->bad_sum == expected->bad_sum ? "equal" : "differ");
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
    for (int s = 0; s < STEPS; ++s) {
        if (in_graph && (steps[s].skipped != 0 || steps[s].tags != 0)) continue;
        const uint64_t count = make_step(&steps[s], most, boxes);
        CUDA(cudaMemcpyAsync(on_device, boxes, most * sizeof *boxes, cudaMemcpyHostToDevice, stream));
        CUDA(cudaMemcpyAsync(count_on_device, &count, sizeof count, cudaMemcpyHostToDevice, stream));
        psv_box_set set =
            psv_boxes_of(psv_buffer_of(on_device + steps[s].skipped, count * sizeof *boxes), sizeof *boxes, count);
        make_tags(&steps[s], count, &tags, &set);
        CHECK(psv_find_pairs(other, &set));
        const digest expected = digest_of(other);
        assert_true(expected.boxes + expected.bad == count || steps[s].tags != 0);
        if (in_graph && expected.pairs > 24 * most) continue; // a captured frame cannot make room
        for (int f = 0; f < (int)test_thinned((unsigned)steps[s].frames, 2); ++f) {
            if (in_graph)
                CUDA(cudaGraphLaunch(executable, stream));
            else
                CHECK(psv_find_pairs(finder, &set));
            const digest got = digest_of(finder);
            compare(&got, &expected, in_graph ? "graph" : "calls", s, f);
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
    digest first = {0};
    for (int i = 0; i < FINDERS; ++i) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        def.method = "rows";
        def.max_boxes = sizes[i];
        def.max_pairs = 4 * count;
        CHECK(psv_create_pair_finder(context, &def, &finders[i]));
        for (int k = 0; k <= 2 * i + 1; ++k) { // all that there are, twice
            CHECK(psv_find_pairs(finders[k % (i + 1)], &set));
            const digest got = digest_of(finders[k % (i + 1)]);
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
