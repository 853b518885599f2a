// Frames of one finder on OpenGL or Vulkan whose boxes, numbers and kinds of scene follow each other: nothing that a
// frame leaves behind changes the next one. Pairs and bad boxes are those that the CPU finds, frame after frame. usage:
// test_pairs_frames_gpu gl|vulkan [COUNT]
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/collision.h>

#include "../test_scale.h"
#include "frame_steps.h"

static psv_context *cpu, *gpu;
static uint64_t most_boxes = 4003; // most drivers of test machines are processors
static int most_frames = 2;        // of a step

static void check(psv_context *context, psv_status status) {
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
}

static psv_pair_finder *make_finder(psv_context *context, const char *method, bool grow) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = method;
    def.max_boxes = most_boxes;
    def.max_pairs = grow ? most_boxes : 24 * most_boxes + 600000;
    def.grow_pairs = grow;
    check(context, psv_create_pair_finder(context, &def, &finder));
    return finder;
}

// A frame's arrays, here or in the buffers of the same sizes on the backend.
typedef struct frame_arrays {
    psv_aabb *boxes;
    uint8_t *flags;
    psv_box_filter *filters;
    uint64_t count;
    psv_buffer there[4];
} frame_arrays;

static psv_buffer part_of(psv_buffer buffer, const void *here, uint64_t offset, uint64_t bytes, bool on_gpu) {
    return on_gpu ? psv_buffer_of_gl(buffer.gl_name, offset, bytes)
                  : psv_buffer_of((char *)(uintptr_t)here + offset, bytes);
}

static psv_box_set set_of(const frame_arrays *arrays, const frame_step *step, bool on_gpu) {
    const uint64_t n = arrays->count, stride = sizeof *arrays->boxes;
    psv_box_set set = psv_boxes_of(
        part_of(arrays->there[0], arrays->boxes, (uint64_t)step->skipped * stride, n * stride, on_gpu), stride, n);
    if (step->tags != 0) set.flags = part_of(arrays->there[1], arrays->flags, 0, n, on_gpu);
    if (step->tags >= 2)
        set.filters = part_of(arrays->there[2], arrays->filters, 0, n * sizeof *arrays->filters, on_gpu);
    return set;
}

static void upload_frame(const frame_arrays *arrays) {
    const void *here[] = {arrays->boxes, arrays->flags, arrays->filters, &arrays->count};
    for (int a = 0; a < 4; ++a)
        check(gpu, psv_upload(gpu, arrays->there[a], here[a], arrays->there[a].bytes));
}

static void open_arrays(frame_arrays *arrays) {
    const uint64_t bytes[] = {most_boxes * sizeof *arrays->boxes, (most_boxes + 3) & ~(uint64_t)3,
                              most_boxes * sizeof *arrays->filters, 8};
    arrays->boxes = calloc(1, bytes[0]);
    arrays->flags = calloc(1, bytes[1]);
    arrays->filters = calloc(1, bytes[2]);
    for (int a = 0; a < 4; ++a)
        check(gpu, psv_alloc_buffer(gpu, bytes[a], &arrays->there[a]));
}

static void close_arrays(frame_arrays *arrays) {
    free(arrays->boxes);
    free(arrays->flags);
    free(arrays->filters);
    for (int a = 0; a < 4; ++a)
        psv_free_buffer(gpu, &arrays->there[a]);
}

// All steps through one finder. `counted`: the device reads the number of boxes, and the set has room for all of them.
static void run_steps(const char *method, const char *form, bool grow, bool counted) {
    frame_arrays arrays = {0};
    open_arrays(&arrays);
    psv_pair_finder *finder = make_finder(gpu, method, grow), *other = make_finder(cpu, "rows", true);
    uint64_t pairs = 0;
    for (int s = 0; s < frame_step_count; ++s) {
        const frame_step *step = &frame_steps[s];
        if (counted && step->skipped != 0) continue; // there would be less than all the room
        arrays.count = make_frame_step(step, most_boxes, arrays.boxes);
        make_frame_tags(step, arrays.count, arrays.flags, arrays.filters);
        upload_frame(&arrays);
        const psv_box_set here = set_of(&arrays, step, false);
        check(cpu, psv_find_pairs(other, &here));
        const frame_digest expected = digest_frame(cpu, other);
        psv_box_set there = set_of(&arrays, step, true);
        if (counted) {
            const uint64_t count = arrays.count;
            arrays.count = most_boxes;
            there = set_of(&arrays, step, true);
            there.count_buffer = arrays.there[3];
            arrays.count = count;
        }
        for (int f = 0; f < step->frames && f < most_frames; ++f) {
            check(gpu, psv_find_pairs(finder, &there));
            const frame_digest got = digest_frame(gpu, finder);
            compare_frames(&got, &expected, form, s, f);
        }
        pairs += expected.pairs;
    }
    assert_true(pairs > most_boxes);
    psv_destroy_pair_finder(finder);
    psv_destroy_pair_finder(other);
    close_arrays(&arrays);
}

static void test_rows(void **state) {
    (void)state;
    run_steps("rows", "rows", false, false);
}

static void test_lbvh(void **state) {
    (void)state;
    run_steps("lbvh", "lbvh, which grows", true, false);
}

static void test_counts_on_the_device(void **state) {
    (void)state;
    run_steps("rows", "rows, counted", false, true);
    run_steps("lbvh", "lbvh, counted", false, true);
}

// A grid planned from a few samples, as only one slot of fifty has a box, and boxes of all magnitudes: some look at a
// hundred thousand rows that share a few rows of cells.
static void test_few_of_many(void **state) {
    (void)state;
    const frame_step step = {"extreme", 1, 2, 0, 1, false, 0};
    const uint64_t usual = most_boxes;
    frame_arrays arrays = {0};
    most_boxes = 30011;
    open_arrays(&arrays);
    psv_pair_finder *finder = make_finder(gpu, "rows", true), *other = make_finder(cpu, "rows", true);
    arrays.count = make_frame_step(&step, most_boxes, arrays.boxes);
    upload_frame(&arrays);
    const psv_box_set here = set_of(&arrays, &step, false);
    arrays.count = most_boxes;
    psv_box_set there = set_of(&arrays, &step, true);
    there.count_buffer = arrays.there[3];
    check(cpu, psv_find_pairs(other, &here));
    check(gpu, psv_find_pairs(finder, &there));
    const frame_digest expected = digest_frame(cpu, other), got = digest_frame(gpu, finder);
    compare_frames(&got, &expected, "few of many", 0, 0);
    psv_destroy_pair_finder(finder);
    psv_destroy_pair_finder(other);
    close_arrays(&arrays);
    most_boxes = usual;
}

// A finder works on when others, larger and smaller, are created beside it.
static void test_sizes_in_turn(void **state) {
    (void)state;
    enum { FINDERS = 4 };
    static const uint64_t multiples[FINDERS] = {4, 1, 9, 2};
    const frame_step step = {"cube", 1, 100, 0, 1, false, 0};
    const uint64_t usual = most_boxes;
    psv_pair_finder *finders[FINDERS];
    frame_arrays arrays = {0};
    open_arrays(&arrays);
    arrays.count = make_frame_step(&step, most_boxes, arrays.boxes);
    upload_frame(&arrays);
    const psv_box_set here = set_of(&arrays, &step, false), there = set_of(&arrays, &step, true);
    psv_pair_finder *other = make_finder(cpu, "rows", true);
    check(cpu, psv_find_pairs(other, &here));
    const frame_digest expected = digest_frame(cpu, other);
    for (int i = 0; i < FINDERS; ++i) {
        most_boxes = usual * multiples[i];
        finders[i] = make_finder(gpu, i % 2 == 0 ? "rows" : "lbvh", false);
        most_boxes = usual;
        for (int k = 0; k <= i; ++k) { // all that there are
            check(gpu, psv_find_pairs(finders[k], &there));
            const frame_digest got = digest_frame(gpu, finders[k]);
            compare_frames(&got, &expected, "sizes in turn", 0, k);
        }
    }
    for (int i = 0; i < FINDERS; ++i)
        psv_destroy_pair_finder(finders[i]);
    psv_destroy_pair_finder(other);
    close_arrays(&arrays);
}

int main(int argc, char **argv) {
    psv_backend backend = PSV_BACKEND_GL;
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) {
        printf("skipped: %s is not available\n", psv_backend_name(backend));
        return 77;
    }
    if (argc > 2) most_boxes = strtoull(argv[2], NULL, 10), most_frames = 70;
    if (argc <= 2 && test_thinning() > 1) most_boxes = 1003, most_frames = 1;
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&def, &cpu) != PSV_OK) return 1;
    def.backend = backend;
    if (psv_create_context(&def, &gpu) != PSV_OK) {
        fprintf(stderr, "test_pairs_frames_gpu: %s\n", psv_last_error(NULL));
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_lbvh),
                                       cmocka_unit_test(test_counts_on_the_device), cmocka_unit_test(test_few_of_many),
                                       cmocka_unit_test(test_sizes_in_turn)};
    const int failed = cmocka_run_group_tests_name("pairs_frames_gpu", tests, NULL, NULL);
    psv_destroy_context(gpu);
    psv_destroy_context(cpu);
    return failed;
}
