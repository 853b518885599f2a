// What a host program does with its process: threads of its own (run_parallel), fork, a floating-point environment of
// its own. Sorts, pairs, events and bodies come out the same.
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../test_scale.h"
#include "expect.h"

#include <pairsieve/collision.h>
#include <pairsieve/sim.h>
#include <pairsieve/sort.h>

#define BOXES 20000u
#define KEYS 200000u
#define MOST_PAIRS 200000u

// What a context computes, as one number for each kind of result.
typedef struct digest {
    uint64_t sorted, pairs, events, bodies;
} digest;

static uint64_t add_bytes(uint64_t sum, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        sum = (sum ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return sum;
}

static uint32_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static uint64_t sort_numbers(psv_context *context, const char *method) {
    float *keys = malloc(KEYS * sizeof *keys);
    uint32_t *values = malloc(KEYS * sizeof *values);
    uint64_t state = 7;
    for (uint32_t i = 0; i < KEYS; ++i) {
        keys[i] = (float)random_bits(&state) * (i % 3 == 0 ? 1e-44f : 1.0f); // a third below the smallest normal number
        values[i] = i;
    }
    psv_sorter_def def = psv_default_sorter_def();
    def.method = method;
    def.key_type = PSV_KEY_F32;
    def.value_bytes = 4;
    def.max_count = KEYS;
    psv_sorter *sorter = NULL;
    EXPECT_OK(psv_create_sorter(context, &def, &sorter), context);
    EXPECT_OK(psv_sort_pairs(sorter, psv_buffer_of(keys, KEYS * sizeof *keys),
                             psv_buffer_of(values, KEYS * sizeof *values), KEYS),
              context);
    psv_destroy_sorter(sorter);
    const uint64_t sum = add_bytes(1, values, KEYS * sizeof *values);
    free(keys);
    free(values);
    return sum;
}

// Boxes of 1e-40: all of their coordinates are subnormal numbers.
static void make_boxes(psv_aabb *boxes, float scale, uint64_t seed) {
    for (uint32_t i = 0; i < BOXES; ++i)
        for (int k = 0; k < 3; ++k) {
            boxes[i].min[k] = (float)(random_bits(&seed) % 30000) * scale;
            boxes[i].max[k] = boxes[i].min[k] + (float)(random_bits(&seed) % 1200) * scale;
        }
}

static void find_pairs(psv_context *context, const char *method, float scale, digest *sum) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = method;
    def.max_boxes = BOXES;
    def.max_pairs = MOST_PAIRS;
    def.sort_output = def.events = true;
    psv_pair_finder *finder = NULL;
    psv_aabb *boxes = malloc(BOXES * sizeof *boxes);
    psv_pair *begin = malloc(MOST_PAIRS * sizeof *begin), *end = malloc(MOST_PAIRS * sizeof *end);
    EXPECT_OK(psv_create_pair_finder(context, &def, &finder), context);
    for (uint64_t frame = 0; frame < 2; ++frame) {
        uint64_t count = 0, begins = 0, ends = 0;
        make_boxes(boxes, scale, frame);
        const psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, BOXES * sizeof *boxes), sizeof *boxes, BOXES);
        EXPECT_OK(psv_find_pairs(finder, &set), context);
        EXPECT_OK(psv_read_pairs(finder, begin, MOST_PAIRS, &count), context);
        assert_true(count > BOXES / 10);
        sum->pairs = add_bytes(sum->pairs, begin, count * sizeof *begin);
        EXPECT_OK(psv_read_pair_events(finder, begin, MOST_PAIRS, &begins, end, MOST_PAIRS, &ends), context);
        sum->events = add_bytes(sum->events, begin, begins * sizeof *begin);
        sum->events = add_bytes(sum->events, end, ends * sizeof *end);
    }
    psv_destroy_pair_finder(finder);
    free(boxes);
    free(begin);
    free(end);
}

static uint64_t move_bodies(psv_context *context) {
    psv_scene_options options = psv_default_scene_options();
    psv_scene *scene = NULL;
    options.bodies = 3000;
    EXPECT_OK(psv_load_scene(context, "drop", &options, &scene), context);
    for (int frame = 0; frame < 30; ++frame)
        EXPECT_OK(psv_scene_step(scene), context);
    psv_world *world = psv_scene_world(scene);
    const uint64_t bytes = psv_world_slot_count(world) * 4 * sizeof(float);
    float *positions = malloc(bytes);
    EXPECT_OK(psv_download(context, positions, psv_world_positions(world), bytes), context);
    const uint64_t sum = add_bytes(1, positions, bytes);
    free(positions);
    psv_destroy_scene(scene);
    return sum;
}

static digest compute(psv_context *context) {
    static const char *const methods[] = {"rows", "sweep", "lbvh", "sap3"};
    digest sum = {.sorted = sort_numbers(context, "radix") ^ 31 * sort_numbers(context, "merge")};
    for (uint32_t m = 0; m < 4; ++m) {
        digest one = {0};
        find_pairs(context, methods[m], 1e-44f, &one);
        if (m > 0 && (sum.pairs != one.pairs || sum.events != one.events))
            fail_msg("%s finds other pairs than rows", methods[m]);
        sum.pairs = one.pairs;
        sum.events = one.events;
    }
    sum.bodies = move_bodies(context);
    return sum;
}

static void expect_same(digest a, digest b, const char *what) {
    if (a.sorted != b.sorted) fail_msg("%s: another order", what);
    if (a.pairs != b.pairs) fail_msg("%s: other pairs", what);
    if (a.events != b.events) fail_msg("%s: other events", what);
    if (a.bodies != b.bodies) fail_msg("%s: bodies are elsewhere", what);
}

static psv_context *open_context(int workers) {
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = workers;
    EXPECT_OK(psv_create_context(&def, &context), NULL);
    return context;
}

// --- threads ---------------------------------------------------------------------------------------------------------

typedef struct hook_state {
    uint32_t calls, most;
    bool nested, inside;
} hook_state;

static void note_call(hook_state *state, uint32_t count) {
    ++state->calls;
    if (count > state->most) state->most = count;
    state->nested |= state->inside;
    state->inside = true;
}

static void run_in_turn(psv_task *task, void *data, uint32_t count, void *user) {
    hook_state *state = user;
    note_call(state, count);
    for (uint32_t i = 0; i < count; ++i)
        task(data, i);
    state->inside = false;
}

static void run_backwards(psv_task *task, void *data, uint32_t count, void *user) {
    hook_state *state = user;
    note_call(state, count);
    while (count-- > 0)
        task(data, count);
    state->inside = false;
}

typedef struct thread_call {
    psv_task *task;
    void *data;
    uint32_t index;
} thread_call;

static void *run_call(void *argument) {
    const thread_call *call = argument;
    call->task(call->data, call->index);
    return NULL;
}

// A thread for each task.
static void run_on_threads(psv_task *task, void *data, uint32_t count, void *user) {
    hook_state *state = user;
    pthread_t threads[8];
    thread_call calls[8];
    assert_in_range(count, 2, 8);
    note_call(state, count);
    for (uint32_t i = 0; i < count; ++i) {
        calls[i] = (thread_call){task, data, i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_call, &calls[i]), 0);
    }
    for (uint32_t i = 0; i < count; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    state->inside = false;
}

static void test_any_threads(void **unused) {
    (void)unused;
    psv_context *context = open_context(1);
    const digest alone = compute(context);
    psv_destroy_context(context);
    context = open_context(2);
    expect_same(alone, compute(context), "two workers");
    psv_destroy_context(context);
    void (*const hooks[])(psv_task *, void *, uint32_t, void *) = {run_in_turn, run_backwards, run_on_threads};
    for (uint32_t h = 0; h < 3; ++h) {
        hook_state state = {0};
        psv_context_def def = psv_default_context_def();
        def.backend = PSV_BACKEND_CPU;
        def.worker_count = 3 + (int)h;
        def.run_parallel = hooks[h];
        def.parallel_user = &state;
        EXPECT_OK(psv_create_context(&def, &context), NULL);
        expect_same(alone, compute(context), "run_parallel");
        assert_true(state.calls > 100);
        assert_int_equal(state.most, def.worker_count);
        assert_false(state.nested);
        psv_destroy_context(context);
    }
}

// --- fork ------------------------------------------------------------------------------------------------------------

// What the child of a fork computes in `context`; its failures are its exit code.
static void expect_same_in_child(psv_context *context, digest expected) {
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(120); // a child that hangs ends here
        const digest sum = compute(context);
        psv_context *own = open_context(TEST_UNDER_TSAN ? 1 : 2); // two start a thread
        const digest own_sum = compute(own);
        psv_destroy_context(own);
        _exit(memcmp(&sum, &expected, sizeof sum) == 0 && memcmp(&own_sum, &expected, sizeof own_sum) == 0 ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) fail_msg("the child ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_fork(void **unused) {
    (void)unused;
    if (PAIRSIEVE_EMULATED) skip(); // qemu-user 7.2 aborts when the child of a program with threads starts one
    psv_context *context = open_context(2);
    const digest expected = compute(context);
    expect_same_in_child(context, expected);
    expect_same(expected, compute(context), "the parent, after its child"); // and it has its threads still
    psv_context *fresh = open_context(TEST_UNDER_TSAN ? 1 : 2); // its child is the first to start a thread in it
    expect_same_in_child(fresh, expected);
    psv_destroy_context(fresh);
    psv_destroy_context(context);
}

// --- floating point --------------------------------------------------------------------------------------------------

static void count_modes(psv_task *task, void *data, uint32_t count, void *user) {
    uint32_t *wrong = user;
    if (fegetround() != FE_UPWARD) ++*wrong; // the program's own work, while it waits, runs in its own mode
    for (uint32_t i = 0; i < count; ++i) {
        task(data, i);
        if (fegetround() != FE_UPWARD || fetestexcept(FE_ALL_EXCEPT) != FE_DIVBYZERO) ++*wrong;
    }
}

// Modes are put back, in the calling thread and in each task, flags too; nothing traps.
static void test_modes(void **unused) {
    (void)unused;
    uint32_t wrong = 0;
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 2;
    def.run_parallel = count_modes;
    def.parallel_user = &wrong;
    EXPECT_OK(psv_create_context(&def, &context), NULL);
    psv_aabb boxes[40];
    for (int i = 0; i < 40; ++i)
        boxes[i] = (psv_aabb){{(float)i, 0, 0}, {(float)i + (i == 7 ? -3.0f : 0.5f), i == 9 ? 0.0f / 0.0f : 1, 1}};
    psv_pair_finder_def finder_def = psv_default_pair_finder_def();
    finder_def.max_boxes = 40;
    finder_def.max_pairs = 100;
    psv_pair_finder *finder = NULL;
    EXPECT_OK(psv_create_pair_finder(context, &finder_def, &finder), context);
    fenv_t usual;
    assert_int_equal(fegetenv(&usual), 0);
    (void)feclearexcept(FE_ALL_EXCEPT);
    (void)feraiseexcept(FE_DIVBYZERO);
    const bool traps = feenableexcept(FE_INVALID | FE_OVERFLOW) != -1; // most processors of Arm have none
    const psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, 40);
    const psv_status status = psv_find_pairs(finder, &set);
    const int enabled = fegetexcept(), flags = fetestexcept(FE_ALL_EXCEPT);
    (void)fesetenv(&usual);
    EXPECT_OK(status, context);
    assert_int_equal(enabled, traps ? FE_INVALID | FE_OVERFLOW : 0);
    assert_int_equal(flags, FE_DIVBYZERO);
    psv_destroy_pair_finder(finder);
    // malloc and the checks here do not compute; what does is pairsieve.
    (void)fesetround(FE_UPWARD);
    (void)feclearexcept(FE_ALL_EXCEPT);
    (void)feraiseexcept(FE_DIVBYZERO);
    uint64_t pairs = 0;
    finder_def.max_boxes = BOXES;
    finder_def.max_pairs = MOST_PAIRS;
    finder_def.sort_output = true;
    psv_aabb *many = calloc(BOXES, sizeof *many);
    const psv_box_set all = psv_boxes_of(psv_buffer_of(many, BOXES * sizeof *many), sizeof *many, 500);
    EXPECT_OK(psv_create_pair_finder(context, &finder_def, &finder), context);
    EXPECT_OK(psv_find_pairs(finder, &all), context);
    EXPECT_OK(psv_finish_pairs(finder, &pairs), context);
    assert_int_equal(fegetround(), FE_UPWARD);
    (void)fesetenv(&usual);
    assert_int_equal(pairs, 500 * 499 / 2);
    assert_int_equal(wrong, 0);
    psv_destroy_pair_finder(finder);
    free(many);
    psv_destroy_context(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_threads),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
