// Worlds on the CPU whose pairs OpenGL or Vulkan finds: the bodies move as those of a world that finds them itself,
// byte for byte. Skips where the backend is not available.   test_world_gpu gl|vulkan
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pairsieve/sim.h"

enum { FRAMES = 25 };

static psv_backend backend = PSV_BACKEND_GL;

static psv_context *open_context(psv_backend wanted) {
    psv_context_def def = psv_default_context_def();
    psv_context *context;
    def.backend = wanted;
    def.worker_count = wanted == PSV_BACKEND_CPU ? 2 : 0;
    if (psv_create_context(&def, &context) != PSV_OK) fail_msg("%s", psv_last_error(NULL));
    return context;
}

static void check(psv_context *context, psv_status status) {
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
}

static psv_scene *load(psv_context *context, const char *name, uint64_t bodies, const char *broad_phase) {
    psv_scene_options options = psv_default_scene_options();
    psv_scene *scene;
    options.bodies = bodies;
    options.broad_phase = broad_phase;
    check(context, psv_load_scene(context, name, &options, &scene));
    return scene;
}

static void compare_array(const char *what, int frame, psv_buffer a, psv_buffer b) {
    assert_int_equal(a.bytes, b.bytes);
    if (memcmp(psv_buffer_address(a), psv_buffer_address(b), a.bytes) != 0)
        fail_msg("%s differ in frame %d", what, frame);
}

// Steps both; in frame `from` the second one's pairs go to the backend, in frame `to` back to the CPU.
static void run_scene(const char *name, uint64_t bodies, const char *broad_phase, int from, int to) {
    psv_context *cpu = open_context(PSV_BACKEND_CPU), *gpu = open_context(backend);
    psv_scene *one = load(cpu, name, bodies, broad_phase), *other = load(cpu, name, bodies, broad_phase);
    psv_world *a = psv_scene_world(one), *b = psv_scene_world(other);
    uint64_t most = 0;
    for (int frame = 0; frame < FRAMES; ++frame) {
        if (frame == from) check(cpu, psv_world_find_pairs_on(b, gpu));
        if (frame == to) check(cpu, psv_world_find_pairs_on(b, NULL));
        check(cpu, psv_scene_step(one));
        check(cpu, psv_scene_step(other));
        psv_world_counters counters[2];
        check(cpu, psv_read_world_counters(a, &counters[0]));
        check(cpu, psv_read_world_counters(b, &counters[1]));
        assert_int_equal(counters[0].pairs, counters[1].pairs);
        assert_int_equal(counters[0].contacts, counters[1].contacts);
        compare_array("positions", frame, psv_world_positions(a), psv_world_positions(b));
        compare_array("rotations", frame, psv_world_rotations(a), psv_world_rotations(b));
        compare_array("velocities", frame, psv_world_velocities(a), psv_world_velocities(b));
        most = counters[0].pairs > most ? counters[0].pairs : most;
    }
    assert_true(most > 0);
    psv_destroy_scene(one);
    psv_destroy_scene(other);
    psv_destroy_context(gpu);
    psv_destroy_context(cpu);
}

static void test_drop(void **state) {
    (void)state;
    run_scene("drop", 1200, "auto", 0, FRAMES);
}

// Sub-worlds; to the backend in the middle of the run and back.
static void test_worlds(void **state) {
    (void)state;
    run_scene("worlds", 900, "lbvh", 5, 15);
}

// A method that the backend lacks, and rotating bodies with many contacts.
static void test_pyramid(void **state) {
    (void)state;
    run_scene("pyramid", 0, "sap3", 1, 20);
}

// More pairs than room: the finder grows, and no step is lost.
static void test_growth(void **state) {
    (void)state;
    enum { BODIES = 60 };
    psv_context *cpu = open_context(PSV_BACKEND_CPU), *gpu = open_context(backend);
    psv_world_def def = psv_default_world_def();
    psv_shape_def ball = psv_default_shape_def();
    psv_world *world;
    uint32_t shape;
    def.max_bodies = BODIES;
    def.max_pairs = 8;
    check(cpu, psv_create_world(cpu, &def, &world));
    check(cpu, psv_create_shape(world, &ball, &shape));
    for (int i = 0; i < BODIES; ++i) {
        psv_body_def body = psv_default_body_def();
        psv_body_id id;
        body.shape = shape;
        body.pose.position[0] = 0.01f * (float)i;
        check(cpu, psv_create_bodies(world, &body, 1, &id));
    }
    check(cpu, psv_world_find_pairs_on(world, gpu));
    check(cpu, psv_world_step(world, 1.0f / 60));
    psv_world_counters counters;
    check(cpu, psv_read_world_counters(world, &counters));
    assert_int_equal(counters.pairs, BODIES * (BODIES - 1) / 2); // all of them touch
    psv_destroy_world(world);
    psv_destroy_context(gpu);
    psv_destroy_context(cpu);
}

// The phases of the pairs are told apart by the backend's clock, and are parts of the world's frame.
static void test_phases(void **state) {
    (void)state;
    psv_context *cpu = open_context(PSV_BACKEND_CPU), *gpu = open_context(backend);
    psv_scene *scene = load(cpu, "drop", 1200, "lbvh");
    psv_profile profile;
    double sum = 0;
    check(cpu, psv_world_find_pairs_on(psv_scene_world(scene), gpu));
    check(cpu, psv_enable_profile(cpu, true));
    for (int frame = 0; frame < 3; ++frame)
        check(cpu, psv_scene_step(scene));
    check(cpu, psv_read_profile(cpu, &profile));
    assert_true(profile.phase_ms[PSV_PHASE_KEYS] > 0);
    assert_true(profile.phase_ms[PSV_PHASE_SORT] > 0);
    assert_true(profile.phase_ms[PSV_PHASE_SWEEP] > 0);
    for (int p = 0; p < PSV_PHASE_COUNT; ++p)
        sum += profile.phase_ms[p];
    assert_true(sum <= 1.001 * profile.frame_ms);
    psv_destroy_scene(scene);
    psv_destroy_context(gpu);
    psv_destroy_context(cpu);
}

static void test_refusals(void **state) {
    (void)state;
    psv_context *cpu = open_context(PSV_BACKEND_CPU), *other = open_context(PSV_BACKEND_CPU);
    psv_scene *scene = load(cpu, "drop", 50, "auto");
    psv_world *world = psv_scene_world(scene);
    assert_int_equal(psv_world_find_pairs_on(NULL, other), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_world_find_pairs_on(world, other), PSV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(psv_last_error(cpu), "on OpenGL"));
    check(cpu, psv_world_find_pairs_on(world, cpu)); // where they are
    check(cpu, psv_scene_step(scene));
    psv_destroy_scene(scene);
    psv_destroy_context(other);
    psv_destroy_context(cpu);
}

int main(int argc, char **argv) {
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) {
        printf("skipped: %s is not available\n", psv_backend_name(backend));
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_drop),    cmocka_unit_test(test_worlds),
                                       cmocka_unit_test(test_pyramid), cmocka_unit_test(test_growth),
                                       cmocka_unit_test(test_phases),  cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests_name("world_gpu", tests, NULL, NULL);
}
