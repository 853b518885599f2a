// The phase profile on the CPU: frames nest, phases add up, old frames go.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/context.h"

static psv_context *open_context(void) {
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    psv_context *context = NULL;
    assert_int_equal(psv_create_context(&def, &context), PSV_OK);
    return context;
}

static void wait_a_little(void) {
    const struct timespec pause = {.tv_nsec = 2000000};
    (void)nanosleep(&pause, NULL);
}

static void run_phase(psv_context *context, psv_phase phase) {
    psvi_phase_begin(context, phase);
    wait_a_little();
    psvi_phase_end(context, phase);
}

static void test_off_by_default(void **state) {
    (void)state;
    psv_context *context = open_context();
    psv_profile profile;
    psvi_frame_begin(context);
    run_phase(context, PSV_PHASE_SORT);
    psvi_frame_end(context);
    assert_int_equal(psv_read_profile(context, &profile), PSV_OK);
    assert_int_equal(profile.frame, 0);
    psv_destroy_context(context);
}

static void test_phases_of_a_frame(void **state) {
    (void)state;
    psv_context *context = open_context();
    psv_profile profile;
    assert_int_equal(psv_enable_profile(context, true), PSV_OK);
    psvi_frame_begin(context);
    run_phase(context, PSV_PHASE_SORT);
    run_phase(context, PSV_PHASE_SWEEP);
    run_phase(context, PSV_PHASE_SORT);
    assert_int_equal(psv_read_profile(context, &profile), PSV_OK);
    assert_int_equal(profile.frame, 0); // not complete yet
    psvi_frame_end(context);
    assert_int_equal(psv_wait_profile(context, &profile), PSV_OK);
    assert_int_equal(profile.frame, 1);
    assert_true(profile.phase_ms[PSV_PHASE_SORT] >= 3.9); // twice 2 ms
    assert_true(profile.phase_ms[PSV_PHASE_SWEEP] >= 1.9);
    assert_true(profile.phase_ms[PSV_PHASE_BOUNDS] == 0);
    assert_true(profile.frame_ms >= profile.phase_ms[PSV_PHASE_SORT] + profile.phase_ms[PSV_PHASE_SWEEP]);
    // Iterated in the order of the phases, without those that did not run.
    uint32_t cursor = 0;
    const char *name;
    double ms;
    assert_true(psv_profile_next(&profile, &cursor, &name, &ms));
    assert_string_equal(name, "sort");
    assert_true(ms == profile.phase_ms[PSV_PHASE_SORT]);
    assert_true(psv_profile_next(&profile, &cursor, &name, NULL));
    assert_string_equal(name, "sweep");
    assert_false(psv_profile_next(&profile, &cursor, &name, &ms));
    psv_destroy_context(context);
}

// A call within a call is part of the outer frame.
static void test_nested_frames(void **state) {
    (void)state;
    psv_context *context = open_context();
    psv_profile profile;
    assert_int_equal(psv_enable_profile(context, true), PSV_OK);
    for (uint64_t frame = 1; frame <= 10; ++frame) {
        psvi_frame_begin(context);
        psvi_frame_begin(context);
        run_phase(context, PSV_PHASE_KEYS);
        psvi_frame_end(context);
        psvi_frame_end(context);
        assert_int_equal(psv_read_profile(context, &profile), PSV_OK);
        assert_int_equal(profile.frame, frame);
        assert_true(profile.phase_ms[PSV_PHASE_KEYS] >= 1.9);
    }
    assert_int_equal(psv_enable_profile(context, false), PSV_OK);
    assert_int_equal(psv_read_profile(context, &profile), PSV_OK);
    assert_int_equal(profile.frame, 0);
    psv_destroy_context(context);
}

// A sort in the middle of the solver: counted once, as sorting.
static void test_nested_phases(void **state) {
    (void)state;
    psv_context *context = open_context();
    psv_profile profile;
    assert_int_equal(psv_enable_profile(context, true), PSV_OK);
    psvi_frame_begin(context);
    psvi_phase_begin(context, PSV_PHASE_SOLVE);
    run_phase(context, PSV_PHASE_GATHER);
    psvi_phase_begin(context, PSV_PHASE_SORT);
    run_phase(context, PSV_PHASE_SORT);
    run_phase(context, PSV_PHASE_KEYS);
    psvi_phase_end(context, PSV_PHASE_SORT);
    psvi_phase_end(context, PSV_PHASE_SOLVE);
    run_phase(context, PSV_PHASE_SWEEP);
    psvi_frame_end(context);
    assert_int_equal(psv_wait_profile(context, &profile), PSV_OK);
    double sum = 0;
    for (int phase = 0; phase < PSV_PHASE_COUNT; ++phase) {
        assert_true(profile.phase_ms[phase] >= 0);
        sum += profile.phase_ms[phase];
    }
    assert_true(profile.phase_ms[PSV_PHASE_SORT] >= 1.9 && profile.phase_ms[PSV_PHASE_KEYS] >= 1.9);
    assert_true(profile.phase_ms[PSV_PHASE_GATHER] >= 1.9 && profile.phase_ms[PSV_PHASE_SWEEP] >= 1.9);
    assert_true(sum >= 7.9 && sum <= profile.frame_ms * 1.001);
    psv_destroy_context(context);
}

// A backend of events on a clock that only moves when it is told to, in milliseconds.
static double fake_now;
static psvi_phase_times *fake_times;

static psv_status create_fake_event(psv_context *context, void **event) {
    (void)context;
    *event = calloc(1, sizeof(double));
    return PSV_OK;
}

static void destroy_fake_event(psv_context *context, void *event) {
    (void)context;
    free(event);
}

static void record_fake_event(psv_context *context, void *event) {
    (void)context;
    *(double *)event = fake_now;
}

static bool fake_event_done(psv_context *context, void *event) {
    (void)context;
    (void)event;
    return true;
}

static double fake_event_ms(psv_context *context, void *begin, void *end) {
    (void)context;
    return *(double *)end - *(double *)begin;
}

static void *alloc_fake_told(psv_context *context, uint64_t bytes, void **device) {
    (void)context;
    *device = fake_times = calloc(1, bytes);
    return fake_times;
}

static void release_fake_told(psv_context *context, void *address, uint64_t bytes) {
    (void)context;
    assert_int_equal(bytes, sizeof(psvi_phase_times) * PSVI_PROFILE_FRAMES * PSVI_PROFILE_SPLITS);
    free(address);
    fake_times = NULL;
}

static psv_context *open_fake(psvi_backend_ops *ops) {
    psv_context *context = open_context();
    *ops = *context->ops;
    ops->create_event = create_fake_event;
    ops->destroy_event = destroy_fake_event;
    ops->record_event = record_fake_event;
    ops->event_done = fake_event_done;
    ops->event_ms = fake_event_ms;
    ops->alloc_told = alloc_fake_told;
    ops->release_told = release_fake_told;
    context->ops = ops;
    fake_now = 0;
    assert_int_equal(psv_enable_profile(context, true), PSV_OK);
    return context;
}

static void assert_ms(double value, double expected) {
    assert_true(value > expected - 1e-9 && value < expected + 1e-9);
}

// A kernel that runs three phases in one launch; the first of them has what the others leave.
static void test_split_phase(void **state) {
    (void)state;
    psvi_backend_ops ops;
    psv_context *context = open_fake(&ops);
    psv_profile profile;
    for (int frame = 1; frame <= 5; ++frame) {
        psvi_frame_begin(context);
        psvi_phase_begin(context, PSV_PHASE_KEYS);
        psvi_phase_times *times = psvi_phase_split(context);
        assert_non_null(times);
        times->ns[PSV_PHASE_SORT] = (uint64_t)frame * 100000;
        times->ns[PSV_PHASE_SWEEP] = 2000000;
        fake_now += 4;
        psvi_phase_end(context, PSV_PHASE_KEYS);
        assert_null(psvi_phase_split(context)); // no phase is open
        psvi_frame_end(context);
        assert_int_equal(psv_wait_profile(context, &profile), PSV_OK);
        assert_int_equal(profile.frame, frame);
        assert_ms(profile.phase_ms[PSV_PHASE_SORT], 0.1 * frame);
        assert_ms(profile.phase_ms[PSV_PHASE_SWEEP], 2);
        assert_ms(profile.phase_ms[PSV_PHASE_KEYS], 2 - 0.1 * frame);
    }
    // More than the whole: in proportion. More of them than there is room for: the whole is the phase's own.
    psvi_frame_begin(context);
    for (int i = 0; i <= PSVI_PROFILE_SPLITS; ++i) {
        psvi_phase_begin(context, PSV_PHASE_KEYS);
        psvi_phase_times *times = psvi_phase_split(context);
        assert_true((times == NULL) == (i == PSVI_PROFILE_SPLITS));
        if (times != NULL) times->ns[PSV_PHASE_SORT] = 3000000, times->ns[PSV_PHASE_SWEEP] = 1000000;
        fake_now += 2;
        psvi_phase_end(context, PSV_PHASE_KEYS);
    }
    psvi_frame_end(context);
    assert_int_equal(psv_wait_profile(context, &profile), PSV_OK);
    assert_ms(profile.phase_ms[PSV_PHASE_SORT], 1.5 * PSVI_PROFILE_SPLITS);
    assert_ms(profile.phase_ms[PSV_PHASE_SWEEP], 0.5 * PSVI_PROFILE_SPLITS);
    assert_ms(profile.phase_ms[PSV_PHASE_KEYS], 2);
    psv_destroy_context(context);
    assert_null(fake_times);
}

// What lies between two phases on a device belongs to the later one; within a phase to that phase.
static void test_gaps_between_phases(void **state) {
    (void)state;
    psvi_backend_ops ops;
    psv_context *context = open_fake(&ops);
    psv_profile profile;
    psvi_frame_begin(context);
    fake_now += 1; // of the keys
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    fake_now += 2;
    psvi_phase_end(context, PSV_PHASE_KEYS);
    fake_now += 3; // of the solver
    psvi_phase_begin(context, PSV_PHASE_SOLVE);
    fake_now += 4;
    psvi_phase_begin(context, PSV_PHASE_SORT);
    fake_now += 5;
    psvi_phase_end(context, PSV_PHASE_SORT);
    fake_now += 6;
    psvi_phase_end(context, PSV_PHASE_SOLVE);
    psvi_frame_end(context);
    assert_int_equal(psv_wait_profile(context, &profile), PSV_OK);
    assert_ms(profile.frame_ms, 21);
    assert_ms(profile.phase_ms[PSV_PHASE_KEYS], 3);
    assert_ms(profile.phase_ms[PSV_PHASE_SOLVE], 13);
    assert_ms(profile.phase_ms[PSV_PHASE_SORT], 5);
    psv_destroy_context(context);
}

// More phases than a frame has room for are left out, and nothing else breaks.
static void test_too_many_marks(void **state) {
    (void)state;
    psv_context *context = open_context();
    psv_profile profile;
    assert_int_equal(psv_enable_profile(context, true), PSV_OK);
    psvi_frame_begin(context);
    for (int i = 0; i < 3 * PSVI_PROFILE_MARKS; ++i) {
        psvi_phase_begin(context, PSV_PHASE_SOLVE);
        psvi_phase_end(context, PSV_PHASE_SOLVE);
    }
    psvi_frame_end(context);
    assert_int_equal(psv_read_profile(context, &profile), PSV_OK);
    assert_int_equal(profile.frame, 1);
    assert_true(profile.phase_ms[PSV_PHASE_SOLVE] <= profile.frame_ms);
    psv_destroy_context(context);
}

static void test_align(void **state) {
    (void)state;
    assert_int_equal(psvi_align(0), 0);
    assert_int_equal(psvi_align(1), 256);
    assert_int_equal(psvi_align(256), 256);
    assert_int_equal(psvi_align(257), 512);
    assert_int_equal(psvi_align((uint64_t)1 << 40), (uint64_t)1 << 40);
}

// An error's own sentence may be an argument of the next.
static void test_sentences(void **state) {
    (void)state;
    psv_context *context = open_context();
    assert_int_equal(psvi_fail(context, PSV_ERROR_FILE, "no %s", "file"), PSV_ERROR_FILE);
    (void)psvi_fail(context, PSV_ERROR_FILE, "again: %s", psv_last_error(context));
    assert_string_equal(psv_last_error(context), "again: no file");
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    (void)psvi_fail(context, PSV_ERROR_FILE, "%s", longer);
    assert_true(strlen(psv_last_error(context)) < sizeof context->error);
    psv_destroy_context(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_by_default), cmocka_unit_test(test_phases_of_a_frame),
        cmocka_unit_test(test_nested_frames),  cmocka_unit_test(test_nested_phases),
        cmocka_unit_test(test_split_phase),    cmocka_unit_test(test_gaps_between_phases),
        cmocka_unit_test(test_too_many_marks), cmocka_unit_test(test_align),
        cmocka_unit_test(test_sentences),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
