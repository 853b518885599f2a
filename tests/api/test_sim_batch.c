// Bodies by the thousand in one call, on the host's arrays and on buffers of the backend, against the calls for single
// bodies: the same bytes, up to the rounding of a GPU. Public headers only.
//   test_sim_batch [cpu|cuda]
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "expect.h"
#include "pairsieve/sim.h"

#define WORLDS 64
#define EACH 8 // moving bodies of a world; one more is its ground
#define MOVING (WORLDS * EACH)

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static psv_world *world;
static psv_body_id ids[MOVING];
static psv_body_state states[MOVING];
static psv_body_impulse impulses[MOVING];

static float number(uint32_t i, uint32_t k) { // in [-1, 1)
    uint32_t x = (i * 9781u + k * 6271u + 1) * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    return (float)(x >> 8) / 8388608.0f - 1;
}

static int open_world(void **unused) {
    (void)unused;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = backend == PSV_BACKEND_CPU ? 2 : 0;
    if (psv_create_context(&def, &context) != PSV_OK) return -1;
    psv_world_def world_def = psv_default_world_def();
    world_def.max_bodies = 2 * MOVING;
    world_def.sub_world_count = WORLDS;
    if (psv_create_world(context, &world_def, &world) != PSV_OK) return -1;
    const psv_shape_child children[2] = {
        {.type = PSV_SHAPE_BOX, .size = {0.3f, 0.2f, 0.1f}, .pose = {{0.1f, 0, 0}, {0, 0, 0, 1}}},
        {.type = PSV_SHAPE_SPHERE, .size = {0.2f}, .pose = {{-0.4f, 0.1f, 0}, {0, 0, 0, 1}}}};
    const psv_shape_type types[] = {PSV_SHAPE_PARTICLE, PSV_SHAPE_SPHERE, PSV_SHAPE_BOX, PSV_SHAPE_COMPOUND,
                                    PSV_SHAPE_PLANE};
    uint32_t shapes[5];
    for (int i = 0; i < 5; ++i) {
        psv_shape_def shape = psv_default_shape_def();
        shape.type = types[i];
        shape.size[0] = 0.3f;
        shape.children = children;
        shape.child_count = 2;
        if (psv_create_shape(world, &shape, &shapes[i]) != PSV_OK) return -1;
    }
    psv_body_def bodies[MOVING + WORLDS];
    for (uint32_t i = 0; i < MOVING + WORLDS; ++i) {
        bodies[i] = psv_default_body_def();
        bodies[i].shape = i < MOVING ? shapes[i % 4] : shapes[4];
        bodies[i].sub_world = i % WORLDS;
        bodies[i].is_static = i % 16 == 5;
    }
    psv_body_id made[MOVING + WORLDS];
    if (psv_create_bodies(world, bodies, MOVING + WORLDS, made) != PSV_OK) return -1;
    memcpy(ids, made, sizeof ids);
    for (uint32_t i = 0; i < MOVING; ++i) {
        for (uint32_t k = 0; k < 3; ++k) {
            states[i].pose.position[k] = 5 * number(i, k) + (k == 1 ? 6.0f : 0.0f);
            states[i].pose.rotation[k] = number(i, 3 + k);
            states[i].velocity[k] = number(i, 7 + k);
            states[i].angular_velocity[k] = 3 * number(i, 10 + k);
            impulses[i].impulse[k] = 40 * number(i, 13 + k);
            impulses[i].point[k] = states[i].pose.position[k] + 0.3f * number(i, 16 + k);
        }
        states[i].pose.rotation[3] = 1.1f + number(i, 6);
    }
    return 0;
}

static int close_world(void **unused) {
    (void)unused;
    psv_destroy_world(world);
    psv_destroy_context(context);
    return 0;
}

static double milliseconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

// All bodies, one by one.
static void read_singly(psv_body_state out[MOVING]) {
    for (uint32_t i = 0; i < MOVING; ++i)
        EXPECT_OK(psv_get_body_state(world, ids[i], &out[i]), context);
}

static psv_buffer buffer_of(const void *data, uint64_t bytes) {
    psv_buffer buffer = {0};
    EXPECT_OK(psv_alloc_buffer(context, bytes, &buffer), context);
    EXPECT_OK(psv_upload(context, buffer, data, bytes), context);
    return buffer;
}

static psv_buffer slot_buffer(void) {
    uint32_t slots[MOVING];
    for (uint32_t i = 0; i < MOVING; ++i)
        slots[i] = ids[i].index1 - 1;
    return buffer_of(slots, sizeof slots);
}

// Set, push and some steps in one of three ways: one by one, on arrays, on buffers.
static void drive(int way, psv_body_state after[MOVING]) {
    double begin = milliseconds();
    if (way == 0) {
        for (uint32_t i = 0; i < MOVING; ++i) {
            EXPECT_OK(psv_set_body_state(world, ids[i], &states[i]), context);
            EXPECT_OK(psv_apply_impulse(world, ids[i], impulses[i].impulse, impulses[i].point), context);
        }
        read_singly(after);
    } else if (way == 1) {
        EXPECT_OK(psv_set_body_states(world, ids, MOVING, states), context);
        EXPECT_OK(psv_apply_impulses(world, ids, MOVING, impulses), context);
        EXPECT_OK(psv_get_body_states(world, ids, MOVING, after), context);
    } else {
        psv_buffer slots = slot_buffer(), state = buffer_of(states, sizeof states);
        psv_buffer push = buffer_of(impulses, sizeof impulses);
        EXPECT_OK(psv_write_body_states(world, slots, MOVING, state), context);
        EXPECT_OK(psv_push_bodies(world, slots, MOVING, push), context);
        EXPECT_OK(psv_read_body_states(world, slots, MOVING, state), context);
        EXPECT_OK(psv_download(context, after, state, sizeof states), context);
        psv_free_buffer(context, &slots);
        psv_free_buffer(context, &state);
        psv_free_buffer(context, &push);
    }
    const char *names[] = {"one by one", "arrays", "buffers"};
    print_message("%d bodies of %d worlds set, pushed and read, %s: %.3f ms\n", MOVING, WORLDS, names[way],
                  milliseconds() - begin);
}

static void the_same_as_one_by_one(void **unused) {
    (void)unused;
    static psv_body_state after[3][MOVING], later[3][MOVING];
    for (int way = 0; way < 3; ++way) {
        drive(way, after[way]);
        for (int i = 0; i < 20; ++i)
            EXPECT_OK(psv_world_step(world, 1.0f / 60), context);
        read_singly(later[way]);
        if (way == 0) { // something happened
            assert_true(memcmp(after[0], states, sizeof states) != 0);
            assert_true(memcmp(after[0], later[0], sizeof states) != 0);
        }
        // From the first step on contacts are kept, which the next way would find: the same beginning for each.
        close_world(NULL);
        assert_int_equal(open_world(NULL), 0);
    }
    assert_memory_equal(after[2], after[1], sizeof states);
    assert_memory_equal(later[2], later[1], sizeof states);
    const float *single = (const float *)after[0], *batch = (const float *)after[1];
    double most = 0;
    for (size_t i = 0; i < MOVING * (sizeof(psv_body_state) / sizeof(float)); ++i)
        most = fmax(most, (double)fabsf(single[i] - batch[i]));
    print_message("in a batch and one by one differ by %.1e at most\n", most);
    if (backend == PSV_BACKEND_CPU) {
        assert_memory_equal(after[1], after[0], sizeof states);
        assert_memory_equal(later[1], later[0], sizeof states);
    }
    assert_true(most < 1e-5); // what is for one body is computed on the host, which rounds products and sums apart
}

static void what_cannot_be_done_is_left_out_or_refused(void **unused) {
    (void)unused;
    psv_body_state got[3], put[3];
    psv_body_id three[3] = {ids[0], ids[1], ids[2]};
    EXPECT_OK(psv_set_body_states(world, ids, MOVING, states), context);
    EXPECT_OK(psv_get_body_states(world, three, 3, put), context);
    EXPECT_OK(psv_destroy_body(world, ids[1]), context);
    // on arrays the whole call is refused
    EXPECT_FAILURE(psv_get_body_states(world, three, 3, got), PSV_ERROR_ARGUMENT, context, "ids[1]", "not a body");
    EXPECT_FAILURE(psv_set_body_states(world, three, 3, put), PSV_ERROR_ARGUMENT, context, "ids[1]", "not a body");
    EXPECT_FAILURE(psv_apply_impulses(world, three, 3, impulses), PSV_ERROR_ARGUMENT, context, "ids[1]", "not a body");
    EXPECT_FAILURE(psv_get_body_states(world, three, UINT64_MAX / 4 + 2, got), PSV_ERROR_ARGUMENT, context, "count",
                   "4294967295");
    EXPECT_FAILURE(psv_get_body_states(world, NULL, 3, got), PSV_ERROR_ARGUMENT, context, "ids", "NULL");
    EXPECT_FAILURE(psv_set_body_states(world, three, 3, NULL), PSV_ERROR_ARGUMENT, context, "states", "NULL");
    put[0].velocity[1] = NAN;
    three[1] = ids[3];
    EXPECT_FAILURE(psv_set_body_states(world, three, 3, put), PSV_ERROR_ARGUMENT, context, "states[0]", "finite");
    EXPECT_OK(psv_set_body_states(world, NULL, 0, NULL), context);
    // on buffers only what has no body, or is not finite, is left out
    const uint32_t slots[3] = {ids[0].index1 - 1, ids[1].index1 - 1, 1u << 30};
    psv_buffer slot = buffer_of(slots, sizeof slots), state = buffer_of(put, sizeof put);
    EXPECT_OK(psv_write_body_states(world, slot, 3, state), context);
    EXPECT_OK(psv_read_body_states(world, slot, 3, state), context);
    EXPECT_OK(psv_download(context, got, state, sizeof got), context);
    assert_memory_equal(got[0].pose.position, states[0].pose.position, sizeof got[0].pose.position);
    assert_true(got[0].velocity[1] == states[0].velocity[1]); // not the NaN
    // a rotation whose square overflows, or that is zero, cannot be made a unit one
    const psv_pose before = got[0].pose;
    for (int i = 0; i < 2; ++i) {
        put[0] = states[0];
        put[0].pose.position[0] += 1;
        put[0].pose.rotation[0] = put[0].pose.rotation[1] = put[0].pose.rotation[2] = 0;
        put[0].pose.rotation[3] = i == 0 ? 3e20f : 0;
        EXPECT_OK(psv_upload(context, state, put, sizeof put), context);
        EXPECT_OK(psv_write_body_states(world, slot, 3, state), context);
        EXPECT_OK(psv_read_body_states(world, slot, 3, state), context);
        EXPECT_OK(psv_download(context, got, state, sizeof got), context);
        assert_memory_equal(&got[0].pose, &before, sizeof before);
    }
    const psv_body_state none = {0};
    assert_memory_equal(&got[1], &none, sizeof none);
    assert_memory_equal(&got[2], &none, sizeof none);
    EXPECT_FAILURE(psv_read_body_states(world, slot, 4, state), PSV_ERROR_ARGUMENT, context, "slots", "16");
    EXPECT_FAILURE(psv_push_bodies(world, slot, 3, (psv_buffer){0}), PSV_ERROR_ARGUMENT, context, "impulses", "72");
    EXPECT_OK(psv_write_body_states(world, slot, 0, state), context);
    psv_free_buffer(context, &slot);
    psv_free_buffer(context, &state);
}

int main(int argc, char **argv) {
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) {
        (void)printf("no %s device here: skipped\n", psv_backend_name(backend));
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_as_one_by_one, open_world, close_world),
        cmocka_unit_test_setup_teardown(what_cannot_be_done_is_left_out_or_refused, open_world, close_world),
    };
    return cmocka_run_group_tests_name("sim batch", tests, NULL, NULL);
}
