// A reader that is interrupted between looking up the newest copy and counting itself in, while other frames are
// published: it must not get a copy that the writer may be writing. The interruption is a call of the test's own.
static void interrupt_reader(void);
#define PSVI_READER_WAITS() interrupt_reader()
#include "../../collision/src/queries/readers.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static psv_context *context;
static psv_pair_finder *finder;
static psv_readers *readers;
static psv_aabb boxes[4];
static uint32_t turns; // frames that are published while the reader waits

static void publish(void) {
    const psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, 4);
    boxes[0].max[0] += 1;
    assert_int_equal(psv_find_pairs(finder, &set), PSV_OK);
    assert_int_equal(psv_publish_frame(readers, finder, &set), PSV_OK);
}

static void interrupt_reader(void) {
    for (; turns > 0; --turns)
        publish();
}

static void open_with(uint32_t copies) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_readers_def readers_def = psv_default_readers_def();
    def.max_boxes = readers_def.max_boxes = 4;
    readers_def.frames = copies;
    assert_int_equal(psv_create_pair_finder(context, &def, &finder), PSV_OK);
    assert_int_equal(psv_create_readers(context, &readers_def, &readers), PSV_OK);
}

static void close_all(void) {
    psv_destroy_readers(readers);
    psv_destroy_pair_finder(finder);
}

// However many frames are published meanwhile, the reader has the newest one, and its copy is not written any more.
static void test_reader_is_late(void **state) {
    (void)state;
    for (uint32_t copies = 2; copies <= 4; ++copies)
        for (uint32_t published = 0; published < 9; ++published) {
            open_with(copies);
            publish();
            turns = published;
            const psv_reader_frame *frame = psv_open_frame(readers);
            assert_int_equal(frame->number, 1 + published);
            const float end = frame->boxes[0].max[0];
            publish();
            assert_true(frame->boxes[0].max[0] == end && frame->number == 1 + published);
            psv_close_frame(readers, frame);
            for (uint32_t c = 0; c < copies; ++c)
                assert_int_equal(readers->copies[c].readers, 0);
            close_all();
        }
}

int main(void) {
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&def, &context) != PSV_OK) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reader_is_late)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    psv_destroy_context(context);
    return failed;
}
