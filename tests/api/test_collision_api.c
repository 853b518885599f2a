// Misuse of pairsieve/collision.h, each with its status and sentence, and the small promises of its comments.
//   test_collision_api [cpu|cuda]
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <pairsieve/collision.h>

#include "../../core/portable/aligned_memory.h"
#include "expect.h"

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static const psv_aabb three[3] = {{{0, 0, 0}, {1, 1, 1}}, {{1, 1, 1}, {2, 2, 2}}, {{0, 0, 0}, {2, 2, 2}}};

static int open_context(void **state) {
    (void)state;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.check_buffers = true;
    return psv_create_context(&def, &context) == PSV_OK ? 0 : -1;
}

static int close_context(void **state) {
    (void)state;
    psv_destroy_context(context);
    return 0;
}

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer;
    EXPECT_OK(psv_alloc_buffer(context, bytes, &buffer), context);
    EXPECT_OK(psv_upload(context, buffer, data, bytes), context);
    return buffer;
}

static psv_pair_finder *make_finder(uint64_t max_boxes, uint64_t max_pairs, bool events) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.max_boxes = max_boxes;
    def.max_pairs = max_pairs;
    def.events = events;
    EXPECT_OK(psv_create_pair_finder(context, &def, &finder), context);
    return finder;
}

static void test_defs(void **state) {
    (void)state;
    psv_pair_finder *finder = (psv_pair_finder *)&finder;
    psv_pair_finder_def def = {0};
    EXPECT_FAILURE(psv_create_pair_finder(NULL, &def, &finder), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    assert_null(finder);
    EXPECT_FAILURE(psv_create_pair_finder(context, NULL, &finder), PSV_ERROR_ARGUMENT, context, "def", "NULL");
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_ARGUMENT, context, "def",
                   "psv_default_pair_finder_def");
    def = psv_default_pair_finder_def();
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, NULL), PSV_ERROR_ARGUMENT, context, "finder", "NULL");
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_ARGUMENT, context, "def.max_boxes", "0");
    def.max_boxes = ((uint64_t)1 << 31) + 1;
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_ARGUMENT, context, "2147483649",
                   "2147483648");
    def.max_boxes = 10;
    def.max_pairs = UINT64_MAX;
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_ARGUMENT, context, "def.max_pairs",
                   "18446744073709551615");
    def.max_pairs = 10;
    def.method = "octree";
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_UNSUPPORTED, context, "octree", "sweep");
    assert_int_equal(psv_pair_finder_bytes(backend, &def), 0);
    def.method = NULL;
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_ARGUMENT, context, "def.method", "NULL");
    def.method = "auto";
    def.sort_method = NULL;
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_ARGUMENT, context, "def.sort_method",
                   "NULL");
    def.sort_method = "bogosort";
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_UNSUPPORTED, context, "bogosort", "radix");
    def.method = "brute"; // sorts nothing
    EXPECT_FAILURE(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_UNSUPPORTED, context, "bogosort", "radix");
    assert_int_equal(psv_pair_finder_bytes(backend, &def), 0);
    assert_null(finder);
}

// Names are the caller's to change once the finder is there.
static void test_names_of_the_caller(void **state) {
    (void)state;
    char method[8] = "brute", sort_method[8] = "radix";
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    psv_pair_statistics statistics;
    def.method = method;
    def.sort_method = sort_method;
    def.max_boxes = 3;
    EXPECT_OK(psv_create_pair_finder(context, &def, &finder), context);
    memset(method, 'x', sizeof method - 1);
    memset(sort_method, 'x', sizeof sort_method - 1);
    psv_buffer boxes = upload(three, sizeof three);
    psv_box_set set = psv_boxes_of(boxes, sizeof(psv_aabb), 3);
    EXPECT_OK(psv_find_pairs(finder, &set), context);
    EXPECT_OK(psv_read_pair_statistics(finder, &statistics), context);
    assert_string_equal(statistics.method, "brute");
    assert_string_equal(statistics.sort_method, "radix");
    psv_free_buffer(context, &boxes);
    psv_destroy_pair_finder(finder);
}

// Of two sets only pairs across are tested, whichever set is the small one.
static void test_brute_between(void **state) {
    (void)state;
    enum { MANY = 50000 };
    psv_aabb *many = malloc(MANY * sizeof *many);
    assert_non_null(many);
    for (int i = 0; i < MANY; ++i)
        many[i] = (psv_aabb){{(float)i, 0, 0}, {(float)i + 0.5f, 1, 1}};
    const psv_aabb one = {{10.25f, 0, 0}, {12.25f, 1, 1}}; // 10, 11 and 12
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = "brute";
    def.max_boxes = MANY + 1;
    def.sort_output = true;
    EXPECT_OK(psv_create_pair_finder(context, &def, &finder), context);
    psv_buffer many_boxes = upload(many, MANY * sizeof *many), one_box = upload(&one, sizeof one);
    const psv_box_set large = psv_boxes_of(many_boxes, sizeof *many, MANY),
                      small = psv_boxes_of(one_box, sizeof one, 1);
    for (int turn = 0; turn < 2; ++turn) {
        psv_pair pairs[4];
        uint64_t count = 0;
        psv_pair_statistics statistics;
        EXPECT_OK(psv_find_pairs_between(finder, turn ? &large : &small, turn ? &small : &large), context);
        EXPECT_OK(psv_read_pairs(finder, pairs, 4, &count), context);
        EXPECT_OK(psv_read_pair_statistics(finder, &statistics), context);
        assert_int_equal(count, 3);
        for (uint32_t i = 0; i < 3; ++i)
            assert_true((turn ? pairs[i].a : pairs[i].b) == 10 + i && (turn ? pairs[i].b : pairs[i].a) == 0);
        assert_int_equal(statistics.candidates, MANY);
    }
    psv_free_buffer(context, &many_boxes);
    psv_free_buffer(context, &one_box);
    psv_destroy_pair_finder(finder);
    free(many);
}

static void test_memory_need(void **state) {
    (void)state;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = 1000;
    def.max_pairs = 1024;
    uint64_t bytes = psv_pair_finder_bytes(backend, &def);
    assert_true(bytes > 1024 * sizeof(psv_pair));
    def.max_pairs = 2048;
    assert_int_equal(psv_pair_finder_bytes(backend, &def), bytes + 1024 * sizeof(psv_pair));
    def.events = true;
    assert_true(psv_pair_finder_bytes(backend, &def) >= bytes + 7 * 1024 * sizeof(psv_pair));
    assert_int_equal(psv_pair_finder_bytes(PSV_BACKEND_AUTO, &def), 0);
    assert_int_equal(psv_pair_finder_bytes(backend, NULL), 0);
}

static uint64_t bytes_left;

static void *allocate(uint64_t bytes, void *user) {
    (void)user;
    if (bytes > bytes_left) return NULL;
    bytes_left -= bytes;
    return psvi_alloc_aligned(256, (bytes + 255) / 256 * 256);
}

static void release(void *address, uint64_t bytes, void *user) {
    (void)user;
    bytes_left += bytes;
    psvi_free_aligned(address);
}

// Each feature adds to its own part, and the parts are what a finder takes.
static void test_memory_parts(void **state) {
    (void)state;
    psv_pair_finder_parts plain, parts;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    EXPECT_FAILURE(psv_pair_finder_memory(backend, &def, NULL), PSV_ERROR_ARGUMENT, NULL, "parts", "NULL");
    EXPECT_FAILURE(psv_pair_finder_memory(backend, &def, &parts), PSV_ERROR_ARGUMENT, NULL, "def.max_boxes", "0");
    assert_int_equal(parts.total, 0);
    EXPECT_FAILURE(psv_pair_finder_memory(PSV_BACKEND_AUTO, &def, &parts), PSV_ERROR_UNSUPPORTED, NULL, "auto",
                   "no pair finder");
    def.max_boxes = 10000;
    EXPECT_OK(psv_pair_finder_memory(backend, &def, &plain), NULL);
    assert_int_equal(plain.total, psv_pair_finder_bytes(backend, &def));
    assert_int_equal(plain.pairs, 10000 * 8 * sizeof(psv_pair));
    assert_int_equal(plain.order + plain.events + plain.kept_boxes + plain.margins, 0);
    assert_true(plain.methods > 10000 * 4 && plain.results >= 10000 * 4);
    for (int feature = 0; feature < 4; ++feature) {
        psv_pair_finder_def more = def;
        more.sort_output = feature == 0;
        more.max_excluded = feature == 1 ? 5000 : 0;
        more.max_kept = feature == 2 ? 4000 : 0;
        more.margins = feature == 3;
        EXPECT_OK(psv_pair_finder_memory(backend, &more, &parts), NULL);
        assert_int_equal(parts.order > plain.order, feature == 0);
        assert_int_equal(parts.rules > plain.rules, feature == 1);
        assert_int_equal(parts.kept_boxes > 0, feature == 2);
        assert_int_equal(parts.margins > 0, feature == 3 && backend == PSV_BACKEND_CPU); // without effect elsewhere
        assert_int_equal(parts.pairs, plain.pairs);
        assert_int_equal(parts.total, psv_pair_finder_bytes(backend, &more));
    }
    if (backend != PSV_BACKEND_CPU) return;
    def.events = def.doubles = def.margins = true;
    def.max_excluded = def.max_kept = 3000;
    EXPECT_OK(psv_pair_finder_memory(backend, &def, &parts), NULL);
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_CPU;
    context_def.allocator = (psv_allocator){allocate, release, NULL};
    psv_context *counted = NULL;
    psv_pair_finder *finder = NULL;
    bytes_left = parts.total;
    EXPECT_OK(psv_create_context(&context_def, &counted), NULL);
    EXPECT_OK(psv_create_pair_finder(counted, &def, &finder), counted);
    assert_true(bytes_left < 16384); // parts are rounded up to 256 bytes, and sorters have some slack
    psv_destroy_pair_finder(finder);
    psv_destroy_context(counted);
}

static void explain(psv_pair_finder *finder, char text[4096]) {
    uint64_t needed = 0;
    memset(text, 'x', 4096);
    EXPECT_OK(psv_explain_frame(finder, text, 4096, &needed), context);
    assert_int_equal(strlen(text) + 1, needed);
    assert_int_equal(text[needed - 2], '\n');
}

static void expect_line(const char *text, const char *line) {
    if (strstr(text, line) == NULL) fail_msg("«%s» is not in:\n%s", line, text);
}

static void test_explanations(void **state) {
    (void)state;
    char text[4096], again[4096];
    uint64_t needed = 0;
    psv_buffer boxes = upload(three, sizeof three);
    psv_box_set set = psv_boxes_of(boxes, sizeof *three, 3);
    psv_pair_finder *finder = make_finder(3, 2, false);
    EXPECT_FAILURE(psv_explain_frame(NULL, text, sizeof text, NULL), PSV_ERROR_ARGUMENT, NULL, "finder", "NULL");
    EXPECT_FAILURE(psv_explain_frame(finder, text, sizeof text, NULL), PSV_ERROR_ARGUMENT, context, "no frame",
                   "finder");
    const psv_status status = psv_find_pairs(finder, &set); // three pairs
    assert_int_equal(status, backend == PSV_BACKEND_CPU ? PSV_ERROR_CAPACITY : PSV_OK);
    EXPECT_FAILURE(psv_explain_frame(finder, NULL, 10, NULL), PSV_ERROR_ARGUMENT, context, "text", "NULL");
    explain(finder, text);
    expect_line(text, "boxes: 3 took part; 0 are bad");
    expect_line(text, "by auto, which chooses between rows");
    expect_line(text, "pairs: 3, room for 2; those beyond it are missing, and def.grow_pairs is not set\n");
    expect_line(text, "\nmemory: ");
    expect_line(text, "\nnext frame: ");
    expect_line(text, backend == PSV_BACKEND_CPU ? "route: the method has one way\n" : "why not a faster one: ");
    const uint64_t length = strlen(text);
    for (uint64_t room = 0; room <= length; room += 7) { // cut, and never written beyond
        memset(again, 'x', sizeof again);
        EXPECT_FAILURE(psv_explain_frame(finder, again, room, &needed), PSV_ERROR_CAPACITY, context, "capacity is",
                       "needs");
        assert_int_equal(needed, length + 1);
        assert_int_equal(again[room], 'x');
        if (room > 0) assert_int_equal(strlen(again), room - 1);
        if (room > 0) assert_memory_equal(again, text, room - 1);
    }
    psv_destroy_pair_finder(finder);
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = "brute";
    def.max_boxes = 10;
    def.margins = true;
    def.max_kept = 2;
    EXPECT_OK(psv_create_pair_finder(context, &def, &finder), context);
    set.kept = 2;
    set.kept_version = 77;
    EXPECT_OK(psv_find_pairs(finder, &set), context);
    explain(finder, text);
    expect_line(text, "method: brute, as def.method says\n");
    expect_line(text, "kept boxes: what is known of 2 boxes serves again while kept_version is 77\n");
    expect_line(text, "next frame: the same method\n");
    set.kept = 0;
    set.margin = 1;
    EXPECT_OK(psv_find_pairs(finder, &set), context);
    explain(finder, text);
    if (backend == PSV_BACKEND_CPU) expect_line(text, "margins: the pairs of 3 widened boxes serve again");
    EXPECT_OK(psv_find_pairs_between(finder, &set, &set), context);
    set.margin = 0;
    psv_box_set kept = set;
    kept.kept = kept.count = 2;
    EXPECT_OK(psv_find_pairs_between(finder, &set, &kept), context);
    explain(finder, text);
    expect_line(text, "over the kept boxes, which is always so between two sets\n");
    psv_destroy_pair_finder(finder);
    psv_free_buffer(context, &boxes);
}

// Whichever allocation fails, the sentence tells the need, and what was taken is given back.
static void test_no_memory(void **state) {
    (void)state;
    if (backend != PSV_BACKEND_CPU) return;
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_CPU;
    context_def.allocator = (psv_allocator){allocate, release, NULL};
    psv_context *poor = NULL;
    EXPECT_OK(psv_create_context(&context_def, &poor), NULL);
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = 10000;
    def.events = true;
    const uint64_t need = psv_pair_finder_bytes(PSV_BACKEND_CPU, &def);
    int failures = 0;
    for (uint64_t given = 0;; given += need / 40) {
        psv_pair_finder *finder = NULL;
        bytes_left = given;
        psv_status status = psv_create_pair_finder(poor, &def, &finder);
        psv_destroy_pair_finder(finder);
        assert_int_equal(bytes_left, given);
        if (status == PSV_OK) break;
        assert_null(finder);
        expect_failure(status, PSV_ERROR_MEMORY, poor, "memory", "bytes", "psv_create_pair_finder", __LINE__);
        ++failures;
        assert_true(given <= need);
    }
    assert_true(failures > 10);
    psv_destroy_context(poor);
}

static void test_methods(void **state) {
    (void)state;
    assert_null(psv_broad_phase_name(PSV_BACKEND_AUTO, 0));
    assert_null(psv_broad_phase_description(backend, "octree"));
    assert_null(psv_broad_phase_description(backend, NULL));
    uint32_t count = 0;
    for (const char *name; (name = psv_broad_phase_name(backend, count)) != NULL; ++count) {
        assert_string_not_equal(name, "auto");
        assert_non_null(psv_broad_phase_description(backend, name));
        assert_null(strchr(psv_broad_phase_description(backend, name), '\n'));
    }
    assert_true(count >= 3);
    psv_destroy_pair_finder(NULL);
}

static void test_box_sets(void **state) {
    (void)state;
    psv_pair_finder *finder = make_finder(3, 8, false);
    psv_buffer boxes = upload(three, sizeof three);
    psv_box_set set = psv_boxes_of(boxes, sizeof(psv_aabb), 3), good = set;
    EXPECT_FAILURE(psv_find_pairs(NULL, &set), PSV_ERROR_ARGUMENT, NULL, "finder", "NULL");
    EXPECT_FAILURE(psv_find_pairs(finder, NULL), PSV_ERROR_ARGUMENT, context, "boxes", "NULL");
    EXPECT_FAILURE(psv_find_pairs_between(finder, &good, NULL), PSV_ERROR_ARGUMENT, context, "b", "NULL");
    set.min_stride = 20;
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.min_stride", "20");
    set.min_stride = 26;
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.min_stride", "multiple of 4");
    set.min_stride = 28;
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.min", "80");
    set = good;
    set.max_stride = 24;
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.max_stride", "24");
    set = psv_boxes_of_arrays(boxes, 12, boxes, 8, 3);
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.max_stride", "8");
    set = good;
    set.min = (psv_buffer){0};
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.min", "empty");
    set.min = (psv_buffer){.gl_name = 3, .bytes = 72};
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_UNSUPPORTED, context, "boxes.min", "GL");
    set = good;
    set.min.offset = 2;
    set.min.bytes = 100;
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.min", "aligned");
    set = good;
    set.count = 4;
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.min", "96");
    EXPECT_FAILURE(psv_find_pairs_between(finder, &good, &good), PSV_ERROR_CAPACITY, context, "6", "3");
    set.count = UINT64_MAX;
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_CAPACITY, context, "boxes.count", "2147483648");
    psv_free_buffer(context, &boxes);
    psv_destroy_pair_finder(finder);
}

static void test_optional_parts(void **state) {
    (void)state;
    psv_pair_finder *finder = make_finder(3, 8, false);
    psv_buffer boxes = upload(three, sizeof three), small = upload(three, 16);
    psv_box_set good = psv_boxes_of(boxes, sizeof(psv_aabb), 3), set = good;
    set.flags = psv_sub_buffer(small, 0, 2);
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.flags", "3");
    set = good;
    set.filters = small;
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.filters", "24");
    set = good;
    set.worlds = psv_sub_buffer(small, 0, 8);
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.worlds", "12");
    set = good;
    set.count_buffer = psv_sub_buffer(small, 4, 8);
    EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context, "boxes.count_buffer", "aligned");
    EXPECT_FAILURE(psv_find_pairs_between(finder, &good, &set), PSV_ERROR_ARGUMENT, context, "b.count_buffer",
                   "aligned");
    psv_free_buffer(context, &small);
    psv_free_buffer(context, &boxes);
    psv_destroy_pair_finder(finder);
}

static void test_results_before_a_frame(void **state) {
    (void)state;
    psv_pair_finder *finder = make_finder(3, 8, true);
    psv_pair_event_lists lists;
    psv_pair_statistics statistics;
    uint64_t count;
    EXPECT_FAILURE(psv_finish_pairs(finder, &count), PSV_ERROR_ARGUMENT, context, "frame", "psv_find_pairs");
    EXPECT_FAILURE(psv_read_pairs(finder, NULL, 0, &count), PSV_ERROR_ARGUMENT, context, "frame", "psv_find_pairs");
    EXPECT_FAILURE(psv_pair_events(finder, &lists), PSV_ERROR_ARGUMENT, context, "frame", "psv_find_pairs");
    EXPECT_FAILURE(psv_read_pair_statistics(finder, &statistics), PSV_ERROR_ARGUMENT, context, "frame",
                   "psv_find_pairs");
    EXPECT_FAILURE(psv_read_bad_boxes(finder, NULL, 0, &count), PSV_ERROR_ARGUMENT, context, "frame", "psv_find_pairs");
    EXPECT_FAILURE(psv_finish_pairs(NULL, &count), PSV_ERROR_ARGUMENT, NULL, "finder", "NULL");
    assert_int_equal(psv_pair_buffer(NULL).bytes, 0);
    assert_int_equal(psv_pair_count_buffer(NULL).bytes, 0);
    assert_int_equal(psv_pair_buffer(finder).bytes, 8 * sizeof(psv_pair));
    psv_destroy_pair_finder(finder);
}

static void test_results(void **state) {
    (void)state;
    psv_pair_finder *finder = make_finder(3, 8, false);
    psv_buffer boxes = upload(three, sizeof three);
    psv_box_set set = psv_boxes_of(boxes, sizeof(psv_aabb), 3);
    psv_pair pairs[8];
    psv_pair_event_lists lists;
    uint64_t count = 0;
    EXPECT_OK(psv_find_pairs(finder, &set), context);
    EXPECT_OK(psv_finish_pairs(finder, NULL), context);
    EXPECT_FAILURE(psv_read_pairs(finder, NULL, 1, &count), PSV_ERROR_ARGUMENT, context, "pairs", "NULL");
    EXPECT_FAILURE(psv_read_pairs(finder, pairs, 2, &count), PSV_ERROR_CAPACITY, context, "2", "3");
    assert_int_equal(count, 3);
    EXPECT_OK(psv_read_pairs(finder, pairs, 8, &count), context);
    assert_int_equal(count, 3);
    EXPECT_FAILURE(psv_read_pair_statistics(finder, NULL), PSV_ERROR_ARGUMENT, context, "statistics", "NULL");
    EXPECT_FAILURE(psv_pair_events(finder, &lists), PSV_ERROR_ARGUMENT, context, "def.events", "created");
    uint64_t device_count = 0;
    EXPECT_OK(psv_download(context, &device_count, psv_pair_count_buffer(finder), sizeof device_count), context);
    assert_int_equal(device_count, 3);
    // No boxes are no pairs, whatever the rest of the view says.
    psv_box_set none = {0};
    EXPECT_OK(psv_find_pairs(finder, &none), context);
    EXPECT_OK(psv_read_pairs(finder, NULL, 0, &count), context);
    assert_int_equal(count, 0);
    psv_free_buffer(context, &boxes);
    psv_destroy_pair_finder(finder);
}

static void test_bad_boxes(void **state) {
    (void)state;
    psv_aabb boxes[3] = {three[0], three[1], three[2]};
    boxes[0].min[1] = NAN;
    boxes[2].max[2] = -1;
    psv_buffer buffer = upload(boxes, sizeof boxes);
    psv_pair_finder *finder = make_finder(3, 8, false);
    psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), 3);
    uint32_t bad[3] = {9, 9, 9};
    uint64_t count = 0;
    EXPECT_OK(psv_find_pairs(finder, &set), context);
    EXPECT_FAILURE(psv_read_bad_boxes(finder, NULL, 2, &count), PSV_ERROR_ARGUMENT, context, "indices", "NULL");
    EXPECT_FAILURE(psv_read_bad_boxes(finder, NULL, 0, &count), PSV_ERROR_CAPACITY, context, "0", "2");
    EXPECT_FAILURE(psv_read_bad_boxes(finder, bad, 1, &count), PSV_ERROR_CAPACITY, context, "1", "2");
    assert_int_equal(count, 2);
    assert_int_equal(bad[0], 0);
    EXPECT_OK(psv_read_bad_boxes(finder, bad, 3, &count), context);
    assert_int_equal(bad[1], 2);
    psv_free_buffer(context, &buffer);
    psv_destroy_pair_finder(finder);
}

// The smallest indices come in order, whatever order the backend found them in and however little room there is.
static void test_many_bad_boxes(void **state) {
    (void)state;
    enum { BOXES = 20000, BAD = (BOXES + 2) / 3 };
    static psv_aabb boxes[BOXES];
    static uint32_t bad[BAD + 1];
    for (uint32_t i = 0; i < BOXES; ++i)
        boxes[i] = (psv_aabb){{(float)i, 0, 0}, {(float)i + (i % 3 == 0 ? -0.5f : 0.5f), 1, 1}};
    psv_buffer buffer = upload(boxes, sizeof boxes);
    psv_pair_finder *finder = make_finder(BOXES, BOXES, false);
    psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), BOXES);
    EXPECT_OK(psv_find_pairs(finder, &set), context);
    const uint64_t rooms[] = {1, 2, 100, 2047, 2048, 2049, BAD - 1, BAD, BAD + 1};
    for (size_t r = 0; r < sizeof rooms / sizeof *rooms; ++r) {
        uint64_t count = 0;
        bad[BAD] = 99;
        const psv_status status = psv_read_bad_boxes(finder, bad, rooms[r], &count);
        assert_int_equal(status, rooms[r] < BAD ? PSV_ERROR_CAPACITY : PSV_OK);
        assert_int_equal(count, BAD);
        for (uint64_t i = 0; i < rooms[r] && i < BAD; ++i)
            assert_int_equal(bad[i], 3 * i);
        assert_int_equal(bad[BAD], 99);
    }
    psv_free_buffer(context, &buffer);
    psv_destroy_pair_finder(finder);
}

static void test_capacity(void **state) {
    (void)state;
    psv_buffer boxes = upload(three, sizeof three);
    psv_box_set set = psv_boxes_of(boxes, sizeof(psv_aabb), 3);
    psv_pair_finder *finder = make_finder(3, 1, true);
    psv_pair pairs[3], begin[3];
    uint64_t count = 0;
    if (backend == PSV_BACKEND_CPU)
        EXPECT_FAILURE(psv_find_pairs(finder, &set), PSV_ERROR_CAPACITY, context, "1", "3");
    else
        EXPECT_OK(psv_find_pairs(finder, &set), context);
    EXPECT_FAILURE(psv_finish_pairs(finder, &count), PSV_ERROR_CAPACITY, context, "1", "3");
    assert_int_equal(count, 3);
    EXPECT_FAILURE(psv_read_pairs(finder, pairs, 3, &count), PSV_ERROR_CAPACITY, context, "1", "3");
    EXPECT_FAILURE(psv_read_pair_events(finder, begin, 3, &count, NULL, 0, NULL), PSV_ERROR_CAPACITY, context, "1",
                   "3");
    assert_int_equal(count, 0);
    EXPECT_FAILURE(psv_read_pair_events(finder, NULL, 3, NULL, NULL, 0, NULL), PSV_ERROR_ARGUMENT, context, "begin",
                   "NULL");
    psv_free_buffer(context, &boxes);
    psv_destroy_pair_finder(finder);
}

static void test_bounds_arguments(void **state) {
    (void)state;
    const psv_bounds_shape sphere = {.type = PSV_BOUNDS_SPHERE, .size = {1}};
    const psv_pose pose = {{0, 0, 0}, {0, 0, 0, 1}};
    psv_buffer shapes = upload(&sphere, sizeof sphere), poses = upload(&pose, sizeof pose);
    psv_buffer boxes;
    EXPECT_OK(psv_alloc_buffer(context, sizeof(psv_aabb), &boxes), context);
    psv_bounds_input good = {.shapes = shapes, .shape_count = 1, .poses = poses, .instance_count = 1}, input = good;
    EXPECT_FAILURE(psv_compute_bounds(NULL, &good, boxes), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    EXPECT_FAILURE(psv_compute_bounds(context, NULL, boxes), PSV_ERROR_ARGUMENT, context, "input", "NULL");
    input.margin = -1;
    EXPECT_FAILURE(psv_compute_bounds(context, &input, boxes), PSV_ERROR_ARGUMENT, context, "input.margin", "-1");
    input.margin = NAN;
    EXPECT_FAILURE(psv_compute_bounds(context, &input, boxes), PSV_ERROR_ARGUMENT, context, "input.margin", "nan");
    input = good;
    input.instance_count = 2;
    EXPECT_FAILURE(psv_compute_bounds(context, &input, boxes), PSV_ERROR_ARGUMENT, context, "input.poses", "56");
    input = good;
    input.shape_count = 2;
    EXPECT_FAILURE(psv_compute_bounds(context, &input, boxes), PSV_ERROR_ARGUMENT, context, "input.shapes", "bytes");
    input = good;
    input.point_count = 5;
    EXPECT_FAILURE(psv_compute_bounds(context, &input, boxes), PSV_ERROR_ARGUMENT, context, "input.points", "60");
    EXPECT_FAILURE(psv_compute_bounds(context, &good, psv_sub_buffer(boxes, 0, 20)), PSV_ERROR_ARGUMENT, context,
                   "boxes", "24");
    EXPECT_OK(psv_compute_bounds(context, &good, boxes), context);
    input = good;
    input.instance_count = 0;
    EXPECT_OK(psv_compute_bounds(context, &input, (psv_buffer){0}), context);
    psv_free_buffer(context, &boxes);
    psv_free_buffer(context, &poses);
    psv_free_buffer(context, &shapes);
}

int main(int argc, char **argv) {
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) {
        printf("skipped: no %s device on this machine\n", psv_backend_name(backend));
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defs),
        cmocka_unit_test(test_names_of_the_caller),
        cmocka_unit_test(test_brute_between),
        cmocka_unit_test(test_memory_need),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_box_sets),
        cmocka_unit_test(test_optional_parts),
        cmocka_unit_test(test_results_before_a_frame),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_memory_parts),
        cmocka_unit_test(test_explanations),
        cmocka_unit_test(test_bad_boxes),
        cmocka_unit_test(test_many_bad_boxes),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_bounds_arguments),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
