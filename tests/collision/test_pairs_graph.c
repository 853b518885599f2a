// A frame in a captured CUDA graph, replayed with changed boxes, flags, counts and rules on the device: pairs and
// events are those of a plain run on the CPU. Also a borrowed stream, and what growth says inside a capture.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/collision.h>

#include "../../core/context.h"
#include "../cases/box_scenes.h"
#include "../cases/graph_capture.h"
#include "../test_scale.h"

#define MOST 4000
#define ROOM 60000
#define FRAMES 12
#define KEPT 1700

static cudaStream_t stream;
static psv_context *device, *host;

#define CHECK(context, call)                                                                                           \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s", #call, psv_last_error(context));                                      \
    } while (0)

typedef struct frame {
    uint64_t count;
    psv_aabb boxes[MOST];
    uint8_t flags[MOST];
    // With rules:
    psv_aabb64 doubles[MOST];
    uint32_t ids[MOST], owners[MOST];
    uint8_t layers[MOST];
    uint32_t layer_matrix[PSV_LAYERS];
    psv_pair excluded[MOST];
    float margins[MOST];
} frame;

// Another scene and another number of boxes each time; now and then none at all.
static void make_frame(frame *made, int number) {
    static const char *const scenes[] = {"cube", "pile", "mixed_100", "line", "lattice", "bad", "infinite"};
    static const uint64_t counts[FRAMES] = {3000, 3001, 17, 4000, 0, 1, 2500, 2500, 3999, 2, 1000, 4000};
    made->count = counts[number % FRAMES];
    memset(made->boxes, 0, sizeof made->boxes);
    box_scene_named(scenes[number % 7])->make(made->boxes, made->count, 5 + (uint64_t)number);
    for (uint64_t i = 0; i < MOST; ++i)
        made->flags[i] = box_random_bits(99, i, 0) % 10 < 3 ? PSV_BOX_STATIC : 0;
    for (int layer = 0; layer < PSV_LAYERS; ++layer)
        made->layer_matrix[layer] = ~(1u << (layer + number) % PSV_LAYERS);
    for (uint64_t i = 0; i < MOST; ++i) {
        // Most boxes keep their ids from frame to frame.
        const uint64_t bits = box_random_bits(98, i, 0);
        made->ids[i] = (uint32_t)(i + (bits % 10 == 0 ? (uint64_t)number * MOST : 0)) * 2654435761u;
        made->owners[i] = bits % 3 == 0 ? PSV_NO_OWNER : (uint32_t)(bits % 200);
        made->layers[i] = (uint8_t)(bits % PSV_LAYERS);
        made->margins[i] = (float)(bits % 5) * 0.1f;
        for (int axis = 0; axis < 3; ++axis) {
            made->doubles[i].min[axis] = 1e7 + (double)made->boxes[i].min[axis];
            made->doubles[i].max[axis] = 1e7 + (double)made->boxes[i].max[axis];
        }
    }
}

// Every third pair of a frame without rules.
static void exclude_some(frame *made, const psv_pair *pairs, uint64_t count) {
    for (uint64_t e = 0; e < MOST; ++e)
        made->excluded[e] = 3 * e < count ? pairs[3 * e] : (psv_pair){(uint32_t)e, (uint32_t)e};
}

static uint64_t most_boxes = MOST;
static bool in_order = true; // the finder on the device has sort_output

static psv_pair_finder *make_finder(psv_context *context, const char *method, const char *sort_method, bool grow,
                                    bool ruled) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = method;
    def.sort_method = sort_method;
    def.max_boxes = most_boxes;
    def.max_pairs = ROOM;
    def.sort_output = context == host || in_order;
    def.events = true;
    def.grow_pairs = grow;
    def.ids = def.doubles = def.count_worlds = def.margins = ruled;
    def.max_excluded = ruled ? MOST : 0;
    def.max_kept = ruled ? KEPT : 0;
    CHECK(context, psv_create_pair_finder(context, &def, &finder));
    return finder;
}

typedef struct results {
    uint64_t pairs, begins, ends;
    psv_pair pair[ROOM], begin[ROOM], end[ROOM];
} results;

static int compare_pairs(const void *x, const void *y) {
    const psv_pair *a = x, *b = y;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

static void read_results(psv_context *context, psv_pair_finder *finder, results *out) {
    CHECK(context, psv_read_pairs(finder, out->pair, ROOM, &out->pairs));
    if (context == device && !in_order) qsort(out->pair, out->pairs, sizeof *out->pair, compare_pairs);
    CHECK(context, psv_read_pair_events(finder, out->begin, ROOM, &out->begins, out->end, ROOM, &out->ends));
}

static void compare(const results *a, const results *b, const char *method, int number) {
    if (a->pairs != b->pairs || a->begins != b->begins || a->ends != b->ends)
        fail_msg("%s, frame %d: %llu pairs, %llu begins, %llu ends; the plain run has %llu, %llu, %llu", method, number,
                 (unsigned long long)a->pairs, (unsigned long long)a->begins, (unsigned long long)a->ends,
                 (unsigned long long)b->pairs, (unsigned long long)b->begins, (unsigned long long)b->ends);
    if (a->pairs > 0) assert_memory_equal(a->pair, b->pair, a->pairs * sizeof(psv_pair));
    if (a->begins > 0) assert_memory_equal(a->begin, b->begin, a->begins * sizeof(psv_pair));
    if (a->ends > 0) assert_memory_equal(a->end, b->end, a->ends * sizeof(psv_pair));
}

// The set of a frame in host or device memory.
static psv_box_set set_of(frame *at, bool ruled) {
    psv_box_set set = psv_boxes_of(psv_buffer_of(at->boxes, sizeof at->boxes), sizeof(psv_aabb), MOST);
    if (ruled) {
        set = psv_boxes64_of(psv_buffer_of(at->doubles, sizeof at->doubles), sizeof(psv_aabb64), MOST);
        set.origin[1] = 1e7;
        set.ids = psv_buffer_of(at->ids, sizeof at->ids);
        set.owners = psv_buffer_of(at->owners, sizeof at->owners);
        set.layers = psv_buffer_of(at->layers, sizeof at->layers);
    }
    set.flags = psv_buffer_of(at->flags, sizeof at->flags);
    set.count_buffer = psv_buffer_of(&at->count, sizeof at->count);
    return set;
}

static psv_status use_rules(psv_pair_finder *finder, frame *at) {
    psv_pair_rules rules = psv_default_pair_rules();
    rules.layer_matrix = psv_buffer_of(at->layer_matrix, sizeof at->layer_matrix);
    rules.excluded = psv_buffer_of(at->excluded, sizeof at->excluded);
    rules.excluded_count = MOST;
    return psv_set_pair_rules(finder, &rules);
}

// Frames that a graph on the device and brute force on the host find pairs of.
typedef struct replay {
    const char *method;
    psv_pair_finder *finder, *plain;
    frame *made, *first, *on_device; // first: of the frames, where its boxes are kept
    psv_box_set set, host_set;       // of on_device and of made
    results *got, *expected;
} replay;

static replay open_replay(const char *method, psv_pair_finder *finder, psv_pair_finder *plain, bool ruled) {
    replay r = {.method = method, .finder = finder, .plain = plain};
    r.made = calloc(1, sizeof *r.made);
    r.first = calloc(1, sizeof *r.first);
    r.got = malloc(sizeof *r.got);
    r.expected = malloc(sizeof *r.expected);
    CUDA(cudaMalloc((void **)&r.on_device, sizeof *r.on_device));
    CUDA(cudaMemsetAsync(r.on_device, 0, sizeof *r.on_device, stream)); // the default stream would not come before it
    r.set = set_of(r.on_device, ruled);
    r.host_set = set_of(r.made, ruled);
    return r;
}

static void close_replay(replay *r) {
    psv_destroy_pair_finder(r->finder);
    psv_destroy_pair_finder(r->plain);
    CUDA(cudaFree(r->on_device));
    free(r->expected);
    free(r->got);
    free(r->first);
    free(r->made);
}

static void put_frame(const replay *r, const frame *from) {
    CUDA(cudaMemcpyAsync(r->on_device, from, sizeof *from, cudaMemcpyHostToDevice, stream));
}

// A find and its events, captured.
static cudaGraphExec_t capture_events(const replay *r, psv_status status) {
    psv_pair_event_lists lists;
    if (status == PSV_OK) status = psv_find_pairs(r->finder, &r->set);
    if (status == PSV_OK) status = psv_pair_events(r->finder, &lists);
    if (status != PSV_OK) print_message("%s\n", r->method);
    return end_capture(stream, device, status);
}

// Frame `number` is in r->made: the graph's results are those of a plain run.
static void launch_and_compare(const replay *r, cudaGraphExec_t graph, int number) {
    put_frame(r, r->made);
    CUDA(cudaGraphLaunch(graph, stream));
    read_results(device, r->finder, r->got);
    CHECK(host, psv_find_pairs(r->plain, &r->host_set));
    read_results(host, r->plain, r->expected);
    compare(r->got, r->expected, r->method, number);
}

static void replay_method(const char *method, const char *sort_method, bool ruled) {
    replay r = open_replay(method, make_finder(device, method, sort_method, false, ruled),
                           make_finder(host, "brute", "radix", false, ruled), ruled);
    if (ruled) { // they change no result
        r.set.margin = 0.25f;
        r.set.margins = psv_buffer_of(r.on_device->margins, sizeof r.on_device->margins);
    }
    begin_capture(stream);
    const cudaGraphExec_t graph = capture_events(&r, ruled ? use_rules(r.finder, r.on_device) : PSV_OK);
    for (int number = 0; number < FRAMES; ++number) {
        make_frame(r.made, number);
        if (ruled) {
            CHECK(host, psv_set_pair_rules(r.plain, NULL));
            CHECK(host, psv_find_pairs(r.plain, &r.host_set));
            CHECK(host, psv_read_pairs(r.plain, r.expected->pair, ROOM, &r.expected->pairs));
            exclude_some(r.made, r.expected->pair, r.expected->pairs);
            CHECK(host, use_rules(r.plain, r.made));
        }
        launch_and_compare(&r, graph, number);
    }
    CUDA(cudaGraphExecDestroy(graph));
    close_replay(&r);
}

static void test_replay(void **state) {
    (void)state;
    replay_method("auto", "radix", false);
    in_order = false;
    replay_method("auto", "radix", false);
    replay_method("lbvh", "radix", true);
    in_order = true;
    for (uint32_t m = 0; psv_broad_phase_name(PSV_BACKEND_CUDA, m) != NULL; ++m)
        for (int ruled = 0; ruled < 2; ++ruled)
            replay_method(psv_broad_phase_name(PSV_BACKEND_CUDA, m), "radix", ruled != 0);
    // The other forms of rows: over a sorter, and without a cooperative launch.
    replay_method("rows", "merge", false);
    replay_method("rows", "cub", false);
    most_boxes = (1u << 21) + 1; // kernels of their own
    replay_method("rows", "radix", false);
    replay_method("rows", "radix", true);
    most_boxes = MOST;
    const bool cooperative = device->info.cooperative_launch;
    device->info.cooperative_launch = false;
    replay_method("rows", "radix", false);
    replay_method("rows", "radix", true);
    device->info.cooperative_launch = cooperative;
}

// The first boxes of every frame are those of the first one.
static void keep_boxes(frame *made, const frame *first) {
    memcpy(made->boxes, first->boxes, KEPT * sizeof *made->boxes);
    memcpy(made->flags, first->flags, KEPT * sizeof *made->flags);
    memcpy(made->doubles, first->doubles, KEPT * sizeof *made->doubles);
    memcpy(made->ids, first->ids, KEPT * sizeof *made->ids);
    memcpy(made->owners, first->owners, KEPT * sizeof *made->owners);
    memcpy(made->layers, first->layers, KEPT * sizeof *made->layers);
    memcpy(made->layer_matrix, first->layer_matrix, sizeof made->layer_matrix);
    memcpy(made->excluded, first->excluded, sizeof made->excluded);
    if (made->count < KEPT) made->count = KEPT;
}

// Kept boxes are sorted by a call before the capture; a capture before that is refused. The replays find what a finder
// that keeps nothing finds.
static void replay_kept(const char *method, bool ruled) {
    replay r = open_replay(method, make_finder(device, method, "radix", false, true),
                           make_finder(host, "brute", "radix", false, true), ruled);
    r.set.kept = KEPT;
    r.set.kept_version = 7;
    make_frame(r.first, 0);
    exclude_some(r.first, NULL, 0);
    put_frame(&r, r.first);
    *r.made = *r.first;
    if (ruled) {
        CHECK(device, use_rules(r.finder, r.on_device));
        CHECK(host, use_rules(r.plain, r.made));
    }
    cudaGraph_t refused = NULL;
    begin_capture(stream);
    assert_int_equal(psv_find_pairs(r.finder, &r.set), PSV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(psv_last_error(device), "kept"));
    CUDA(cudaStreamEndCapture(stream, &refused));
    CUDA(cudaGraphDestroy(refused));
    CHECK(device, psv_find_pairs(r.finder, &r.set));
    begin_capture(stream);
    const cudaGraphExec_t graph = capture_events(&r, PSV_OK);
    for (int number = 0; number < FRAMES; ++number) {
        make_frame(r.made, number);
        keep_boxes(r.made, r.first);
        launch_and_compare(&r, graph, number);
    }
    CUDA(cudaGraphExecDestroy(graph));
    close_replay(&r);
}

static void test_replay_with_kept_boxes(void **state) {
    (void)state;
    for (uint32_t m = 0; psv_broad_phase_name(PSV_BACKEND_CUDA, m) != NULL; ++m)
        for (int ruled = 0; ruled < 2; ++ruled)
            replay_kept(psv_broad_phase_name(PSV_BACKEND_CUDA, m), ruled != 0);
}

static void read_sorted(psv_context *context, psv_pair_finder *finder, results *out) {
    CHECK(context, psv_read_pairs(finder, out->pair, ROOM, &out->pairs));
    qsort(out->pair, out->pairs, sizeof *out->pair, compare_pairs);
    CHECK(context, psv_read_pair_events(finder, out->begin, ROOM, &out->begins, out->end, ROOM, &out->ends));
}

static psv_pair_finder *make_plain_finder(psv_context *context, const char *method, uint64_t kept, uint64_t excluded) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = method;
    def.max_boxes = MOST;
    def.max_pairs = ROOM;
    def.max_kept = kept;
    def.max_excluded = excluded;
    def.events = true;
    CHECK(context, psv_create_pair_finder(context, &def, &finder));
    return finder;
}

// Without an order or ids the pairs of kept boxes stay in the pair buffer. Replays, calls with and without kept boxes
// and calls that sort them anew in between, in any order, find what brute force finds.
static void mix_calls(const char *method, bool excludes) {
    replay r = open_replay(method, make_plain_finder(device, method, KEPT, MOST),
                           make_plain_finder(host, "brute", 0, MOST), false);
    const psv_box_set alone = r.set;
    r.set.kept = KEPT;
    make_frame(r.first, 0);
    if (excludes) { // half of the pairs of the first frame
        psv_pair_rules rules = psv_default_pair_rules();
        *r.made = *r.first;
        CHECK(host, psv_find_pairs(r.plain, &r.host_set)); // its events are not read, so it is no frame before others
        CHECK(host, psv_read_pairs(r.plain, r.expected->pair, ROOM, &r.expected->pairs));
        for (uint64_t e = 0; e < MOST; ++e)
            r.first->excluded[e] = 2 * e < r.expected->pairs ? r.expected->pair[2 * e] : (psv_pair){3, 3};
        rules.excluded = psv_buffer_of(r.first->excluded, sizeof r.first->excluded);
        rules.excluded_count = MOST;
        CHECK(host, psv_set_pair_rules(r.plain, &rules));
        put_frame(&r, r.first);
        rules.excluded = psv_buffer_of(r.on_device->excluded, sizeof r.on_device->excluded);
        CHECK(device, psv_set_pair_rules(r.finder, &rules));
    }
    put_frame(&r, r.first);
    *r.made = *r.first;
    for (int turn = 0; turn < 3; ++turn) { // the events of later ones leave the pairs of kept boxes out
        CHECK(device, psv_find_pairs(r.finder, &r.set));
        read_sorted(device, r.finder, r.got);
        CHECK(host, psv_find_pairs(r.plain, &r.host_set));
        read_sorted(host, r.plain, r.expected);
        compare(r.got, r.expected, method, -1 - turn);
    }
    begin_capture(stream);
    const cudaGraphExec_t graph = capture_events(&r, PSV_OK);
    for (int number = 0; number < 3 * FRAMES; ++number) {
        make_frame(r.made, number);
        keep_boxes(r.made, r.first);
        put_frame(&r, r.made);
        const uint64_t choice = box_random_bits(97, (uint64_t)number, 0) % 4;
        if (choice == 3) r.set.kept_version = (uint64_t)number;
        if (choice == 0)
            CUDA(cudaGraphLaunch(graph, stream));
        else
            CHECK(device, psv_find_pairs(r.finder, choice == 1 ? &alone : &r.set));
        read_sorted(device, r.finder, r.got);
        CHECK(host, psv_find_pairs(r.plain, &r.host_set));
        read_sorted(host, r.plain, r.expected);
        compare(r.got, r.expected, method, number);
    }
    CUDA(cudaGraphExecDestroy(graph));
    close_replay(&r);
}

static void test_kept_pairs_in_front(void **state) {
    (void)state;
    for (uint32_t m = 0; psv_broad_phase_name(PSV_BACKEND_CUDA, m) != NULL; ++m)
        for (int excludes = 0; excludes < 2; ++excludes)
            mix_calls(psv_broad_phase_name(PSV_BACKEND_CUDA, m), excludes != 0);
}

// A scene of the route «bins», whose uniform sweep has a form for frames whose only rules are excluded pairs: they are
// set again in each replay.
static void test_replay_with_excluded_pairs(void **state) {
    (void)state;
    enum { BOXES = 230000, SCENE_PAIRS = 4 * BOXES };
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL, *plain = NULL;
    psv_aabb *made = malloc(BOXES * sizeof *made), *boxes = NULL;
    psv_pair *got = malloc(SCENE_PAIRS * sizeof *got), *expected = malloc(SCENE_PAIRS * sizeof *expected), *out = NULL;
    def.max_boxes = BOXES;
    def.max_pairs = def.max_excluded = SCENE_PAIRS;
    def.sort_output = true;
    CHECK(host, psv_create_pair_finder(host, &def, &plain));
    def.method = "rows";
    CHECK(device, psv_create_pair_finder(device, &def, &finder));
    CUDA(cudaMalloc((void **)&boxes, BOXES * sizeof *boxes));
    CUDA(cudaMalloc((void **)&out, SCENE_PAIRS * sizeof *out));
    CUDA(cudaMemsetAsync(boxes, 0xff, BOXES * sizeof *boxes, stream));
    CUDA(cudaMemsetAsync(out, 0, SCENE_PAIRS * sizeof *out, stream));
    const psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, BOXES * sizeof *boxes), sizeof *boxes, BOXES),
                      host_set = psv_boxes_of(psv_buffer_of(made, BOXES * sizeof *made), sizeof *made, BOXES);
    psv_pair_rules rules = psv_default_pair_rules();
    rules.excluded = psv_buffer_of(out, SCENE_PAIRS * sizeof *out);
    rules.excluded_count = SCENE_PAIRS / 2;
    begin_capture(stream);
    CHECK(device, psv_set_pair_rules(finder, &rules));
    const cudaGraphExec_t graph = end_capture(stream, device, psv_find_pairs(finder, &set));
    for (uint64_t number = 0; number < 4; ++number) {
        uint64_t there = 0, count = 0, left = 0;
        box_scene_named("cube")->make(made, BOXES, 71 + number);
        CHECK(host, psv_find_pairs(plain, &host_set));
        CHECK(host, psv_read_pairs(plain, expected, SCENE_PAIRS, &there));
        memset(got, 0, SCENE_PAIRS * sizeof *got); // a box with itself excludes nothing
        for (uint64_t p = 0; p < there; ++p) {
            if (box_random_bits(number, p, 1) % 2 == 0)
                got[p % (SCENE_PAIRS / 2)] = expected[p];
            else
                expected[left++] = expected[p];
        }
        assert_true(there <= SCENE_PAIRS / 2 && left < there);
        CUDA(cudaMemcpyAsync(boxes, made, BOXES * sizeof *boxes, cudaMemcpyHostToDevice, stream));
        CUDA(cudaMemcpyAsync(out, got, SCENE_PAIRS * sizeof *out, cudaMemcpyHostToDevice, stream));
        CUDA(cudaGraphLaunch(graph, stream));
        CHECK(device, psv_read_pairs(finder, got, SCENE_PAIRS, &count));
        assert_int_equal(count, left);
        assert_memory_equal(got, expected, left * sizeof *got);
    }
    psv_pair_statistics statistics;
    CHECK(device, psv_read_pair_statistics(finder, &statistics));
    print_message("route of the last replay: %s (%s)\n", statistics.route, statistics.veto);
    CUDA(cudaGraphExecDestroy(graph));
    psv_destroy_pair_finder(finder);
    psv_destroy_pair_finder(plain);
    CUDA(cudaFree(boxes));
    CUDA(cudaFree(out));
    free(expected);
    free(got);
    free(made);
}

static void test_growth_in_a_capture(void **state) {
    (void)state;
    psv_aabb *boxes = NULL;
    CUDA(cudaMalloc((void **)&boxes, 10 * sizeof *boxes));
    CUDA(cudaMemsetAsync(boxes, 0, 10 * sizeof *boxes, stream));
    psv_pair_finder *finder = make_finder(device, "auto", "radix", true, false);
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, 10 * sizeof *boxes), sizeof *boxes, 10);
    cudaGraph_t graph = NULL;
    uint64_t count = 0;
    begin_capture(stream);
    psv_status status = psv_find_pairs(finder, &set);
    CUDA(cudaStreamEndCapture(stream, &graph));
    assert_int_equal(status, PSV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(psv_last_error(device), "grow_pairs"));
    if (graph != NULL) CUDA(cudaGraphDestroy(graph));
    CHECK(device, psv_find_pairs(finder, &set)); // and outside it works
    CHECK(device, psv_finish_pairs(finder, &count));
    assert_int_equal(count, 45);
    psv_destroy_pair_finder(finder);
    CUDA(cudaFree(boxes));
}

int main(void) {
    if (!psv_backend_available(PSV_BACKEND_CUDA)) {
        printf("skipped: no cuda device on this machine\n");
        return 77;
    }
    if (test_kernels_only()) {
        printf("skipped: these are the kernels of test_pairs\n");
        return 77;
    }
    psv_context_def def = psv_default_context_def();
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 1;
    def.backend = PSV_BACKEND_CUDA;
    def.borrow_stream = true;
    def.stream = stream;
    if (psv_create_context(&def, &device) != PSV_OK) return 1;
    def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&def, &host) != PSV_OK) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_replay), cmocka_unit_test(test_replay_with_kept_boxes),
                                       cmocka_unit_test(test_kept_pairs_in_front),
                                       cmocka_unit_test(test_replay_with_excluded_pairs),
                                       cmocka_unit_test(test_growth_in_a_capture)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    psv_destroy_context(device);
    psv_destroy_context(host);
    (void)cudaStreamDestroy(stream);
    return failed;
}
