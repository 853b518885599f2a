// Whatever random calls make of a world can be saved and restored: the restored world saves the same bytes, at once and
// after further steps of both. Calls have values of all magnitudes, bodies sleep, are lost, woken, destroyed.
//   test_snapshot_calls [cpu|cuda] [--seconds N] [--seed N]     (an hour by hand: --seconds 3600)
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include <pairsieve/sim.h>

#include "../cases/box_scenes.h"
#include "../test_scale.h"

enum { MOST_BODIES = 40, CALLS = 60, MOST_BYTES = 1 << 22 };

typedef struct call_soak {
    uint64_t seed, draws;
    psv_world *world;
    psv_body_id ids[MOST_BODIES * 4];
    uint32_t id_count;
    float size; // of what is ordinary in this world
} call_soak;

typedef struct saved_file {
    size_t size;
    unsigned char bytes[MOST_BYTES];
} saved_file;

static psv_backend backend = PSV_BACKEND_CPU;
static double most_seconds = 3;
static uint64_t base_seed = 1;
static char snapshot_path[64]; // a file in memory
static psv_context *context;

static uint32_t draw(call_soak *soak, uint32_t limit) {
    return (uint32_t)(box_random_bits(soak->seed, soak->draws++, 0) % limit);
}

// -1 to 1.
static float draw_share(call_soak *soak) { return 2 * box_random(soak->seed, soak->draws++, 0) - 1; }

// Mostly of the world's size, now and then of any magnitude.
static float draw_length(call_soak *soak) {
    static const float rare[] = {0, 1e-38f, 1e-20f, 1e-5f, 1e3f, 9e5f, 1e10f, 1e19f, 3e38f};
    const float length = draw(soak, 20) == 0 ? rare[draw(soak, sizeof rare / sizeof *rare)] : 3 * soak->size;
    return length * draw_share(soak);
}

static void draw_vector(call_soak *soak, float v[3], float scale) {
    for (int i = 0; i < 3; ++i)
        v[i] = draw(soak, 3) == 0 ? 0 : scale * draw_length(soak);
}

static void draw_pose(call_soak *soak, psv_pose *pose) {
    draw_vector(soak, pose->position, 1);
    pose->position[1] = fabsf(pose->position[1]);
    for (int i = 0; i < 4; ++i)
        pose->rotation[i] = draw(soak, 2) == 0 ? 0 : draw_share(soak);
}

// --- calls -----------------------------------------------------------------------------------------------------------
// What a call says does not matter, as long as the world can be saved after it.

static void create_shape(call_soak *soak) {
    static const float heights[6] = {0, 0.2f, 0, 0.1f, 0, 0.3f};
    static const uint32_t indices[6] = {0, 1, 2, 1, 3, 2};
    psv_shape_child parts[3];
    float vertices[24];
    psv_shape_def def = psv_default_shape_def();
    uint32_t number;
    def.type = (psv_shape_type)draw(soak, PSV_SHAPE_HULL + 1);
    for (int i = 0; i < 3; ++i) {
        def.size[i] = fabsf(draw_length(soak)) / 6;
        parts[i].type = (psv_shape_type)(PSV_SHAPE_SPHERE + draw(soak, 3));
        for (int k = 0; k < 3; ++k)
            parts[i].size[k] = fabsf(draw_length(soak)) / 6;
        draw_pose(soak, &parts[i].pose);
    }
    for (int i = 0; i < 24; ++i)
        vertices[i] = draw_length(soak);
    def.density = draw(soak, 4) == 0 ? fabsf(draw_length(soak)) : 1000;
    def.restitution = draw(soak, 3) == 0 ? 0.7f : 0;
    def.rolling_friction = draw(soak, 4) == 0 ? 0.1f : 0;
    def.friction = draw(soak, 9) == 0 ? fabsf(draw_length(soak)) : 0.5f;
    def.children = parts, def.child_count = def.type == PSV_SHAPE_COMPOUND ? 1 + draw(soak, 3) : 0;
    def.heights = heights, def.columns = 3, def.rows = 2;
    def.vertices = vertices, def.vertex_count = def.type == PSV_SHAPE_MESH ? 4 : 8;
    def.indices = indices, def.triangle_count = 2;
    (void)psv_create_shape(soak->world, &def, &number);
}

static void create_bodies(call_soak *soak) {
    psv_body_def defs[8];
    psv_body_id ids[8];
    const uint32_t count = 1 + draw(soak, 8), shapes = psv_world_shape_count(soak->world);
    for (uint32_t i = 0; i < count; ++i) {
        defs[i] = psv_default_body_def();
        defs[i].shape = draw(soak, shapes + (draw(soak, 30) == 0));
        draw_pose(soak, &defs[i].pose);
        if (draw(soak, 3) == 0) draw_vector(soak, defs[i].velocity, 1);
        if (draw(soak, 3) == 0) draw_vector(soak, defs[i].angular_velocity, 1);
        defs[i].is_static = draw(soak, 6) == 0;
        defs[i].is_kinematic = !defs[i].is_static && draw(soak, 8) == 0;
        defs[i].sub_world = draw(soak, 2);
        if (draw(soak, 8) == 0) defs[i].user_data = draw(soak, 1000);
        if (draw(soak, 8) == 0) defs[i].linear_damping = fabsf(draw_length(soak));
        if (draw(soak, 8) == 0) defs[i].gravity_scale = 100 * draw_share(soak);
    }
    if (psv_create_bodies(soak->world, defs, count, ids) != PSV_OK) return;
    for (uint32_t i = 0; i < count; ++i)
        soak->ids[soak->id_count < MOST_BODIES * 4 ? soak->id_count++ : draw(soak, MOST_BODIES * 4)] = ids[i];
}

static psv_body_id draw_body(call_soak *soak) {
    return soak->id_count == 0 ? (psv_body_id){0} : soak->ids[draw(soak, soak->id_count)];
}

static psv_body_state draw_state(call_soak *soak) {
    psv_body_state state;
    draw_pose(soak, &state.pose);
    draw_vector(soak, state.velocity, 1);
    draw_vector(soak, state.angular_velocity, 1);
    return state;
}

static psv_body_impulse draw_impulse(call_soak *soak) {
    psv_body_impulse push;
    draw_vector(soak, push.impulse, draw(soak, 4) == 0 ? 1e6f : 1000);
    draw_vector(soak, push.point, 1);
    return push;
}

static void change_body(call_soak *soak) {
    psv_world *world = soak->world;
    const psv_body_id id = draw_body(soak);
    const psv_body_state state = draw_state(soak);
    const psv_body_impulse push = draw_impulse(soak);
    switch (draw(soak, 9)) {
    case 0: (void)psv_destroy_body(world, id); break;
    case 1: (void)psv_set_body_state(world, id, &state); break;
    case 2: (void)psv_apply_impulse(world, id, push.impulse, push.point); break;
    case 3: (void)psv_set_body_states(world, &id, 1, &state); break;
    case 4: (void)psv_apply_impulses(world, &id, 1, &push); break;
    case 5: (void)psv_set_body_target(world, id, &state.pose, fabsf(draw_length(soak))); break;
    case 6: (void)psv_set_damping(world, id, fabsf(draw_length(soak)), fabsf(draw_length(soak))); break;
    case 7: (void)psv_set_gravity_scale(world, id, 100 * draw_share(soak)); break;
    default: (void)psv_set_user_data(world, id, draw(soak, 99)); break;
    }
}

static void change_world(call_soak *soak) {
    float gravity[3];
    draw_vector(soak, gravity, 3);
    switch (draw(soak, 4)) {
    case 0: (void)psv_set_gravity(soak->world, gravity); break;
    case 1: (void)psv_set_substeps(soak->world, draw(soak, 9)); break;
    case 2: (void)psv_set_restitution_threshold(soak->world, fabsf(draw_length(soak))); break;
    default: (void)psv_set_push_speed(soak->world, fabsf(draw_length(soak))); break;
    }
}

static float draw_seconds(call_soak *soak) {
    static const float times[] = {1.0f / 60, 1.0f / 60, 1.0f / 240, 0.1f, 1};
    return times[draw(soak, 5)];
}

static void step(call_soak *soak, uint32_t frames) {
    for (const float seconds = draw_seconds(soak); frames > 0; --frames)
        if (psv_world_step(soak->world, seconds) != PSV_OK) fail_msg("step: %s", psv_last_error(context));
}

static void call(call_soak *soak) {
    switch (draw(soak, 12)) {
    case 0: create_shape(soak); break;
    case 1: change_world(soak); break;
    case 2:
    case 3: create_bodies(soak); break;
    case 4:
    case 5: step(soak, 1 + draw(soak, 40)); break;
    case 6: step(soak, 1); break;
    default: change_body(soak); break;
    }
}

// --- what is saved ---------------------------------------------------------------------------------------------------

static void save(psv_world *world, saved_file *file) {
    if (psv_save_snapshot(world, snapshot_path) != PSV_OK) fail_msg("save: %s", psv_last_error(context));
    FILE *stream = fopen(snapshot_path, "rb");
    assert_non_null(stream);
    file->size = fread(file->bytes, 1, MOST_BYTES, stream);
    (void)fclose(stream);
    assert_in_range(file->size, 1, MOST_BYTES - 1);
}

// For who looks into a difference.
static void keep(const saved_file *file, const char *name) {
    FILE *stream = fopen(name, "wb");
    if (stream == NULL) return;
    (void)fwrite(file->bytes, 1, file->size, stream);
    (void)fclose(stream);
}

static void compare(psv_world *world, const saved_file *expected, const char *when) {
    static saved_file file;
    save(world, &file);
    size_t same = 0;
    while (same < file.size && same < expected->size && file.bytes[same] == expected->bytes[same])
        ++same;
    if (same == file.size && same == expected->size) return;
    keep(expected, "snapshot_calls_expected.snapshot");
    keep(&file, "snapshot_calls_got.snapshot");
    fail_msg("%s: %zu bytes, expected %zu; byte %zu differs, see snapshot_calls_*.snapshot here", when, file.size,
             expected->size, same);
}

// The world goes on, or the restored one in its place.
static void check_snapshot(call_soak *soak) {
    static saved_file file;
    psv_world *other = NULL;
    save(soak->world, &file);
    if (psv_restore_snapshot(context, snapshot_path, &other) != PSV_OK)
        fail_msg("restore: %s", psv_last_error(context));
    compare(other, &file, "restored");
    const uint32_t frames = 1 + draw(soak, 9);
    const float seconds = draw_seconds(soak);
    for (uint32_t i = 0; i < frames; ++i) {
        assert_int_equal(psv_world_step(soak->world, seconds), PSV_OK);
        assert_int_equal(psv_world_step(other, seconds), PSV_OK);
    }
    save(soak->world, &file);
    compare(other, &file, "restored and stepped");
    psv_world *left = draw(soak, 2) == 0 ? soak->world : other;
    psv_destroy_world(left == other ? soak->world : other);
    soak->world = left;
}

static void open_world(call_soak *soak, uint64_t seed) {
    static const float sizes[] = {1, 1, 1, 0.01f, 1e3f};
    psv_world_def def = psv_default_world_def();
    *soak = (call_soak){.seed = seed};
    soak->size = sizes[draw(soak, 5)];
    def.max_bodies = MOST_BODIES;
    def.max_pairs = def.max_contacts = draw(soak, 2) == 0 ? 0 : 4;
    def.sub_world_count = 2;
    def.contact_events = draw(soak, 2) == 0;
    def.sleeping = draw(soak, 3) != 0;
    def.sleep_speed = draw(soak, 3) == 0 ? 1e3f : 0.05f; // everything sleeps after half a second
    if (draw(soak, 8) == 0) def.self_gravity = def.sleeping ? 0 : 1, def.softening = 0.1f;
    if (draw(soak, 2) == 0)
        for (int i = 0; i < 3; ++i)
            def.bounds_min[i] = -6 * soak->size, def.bounds_max[i] = 6 * soak->size;
    if (psv_create_world(context, &def, &soak->world) != PSV_OK) fail_msg("create: %s", psv_last_error(context));
    for (int i = 0; i < 6; ++i)
        create_shape(soak);
    for (int i = 0; i < 3; ++i)
        create_bodies(soak);
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void test_reached_states(void **state) {
    static char where[60];
    static call_soak soak;
    const double until = now() + most_seconds / test_thinning();
    uint64_t worlds = 0, checks = 0;
    *state = where;
    do {
        (void)snprintf(where, sizeof where, "--seed %llu", (unsigned long long)(base_seed + worlds));
        open_world(&soak, base_seed + worlds++);
        for (int i = 0; i < CALLS; ++i) {
            call(&soak);
            if (draw(&soak, 3) == 0) {
                check_snapshot(&soak);
                ++checks;
            }
        }
        psv_destroy_world(soak.world);
    } while (now() < until);
    *state = NULL;
    print_message("%llu worlds, saved and restored %llu times\n", (unsigned long long)worlds,
                  (unsigned long long)checks);
}

static int report_seed(void **state) {
    if (*state != NULL) print_message("last: %s\n", (const char *)*state);
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        if (psv_parse_backend(argv[i], &backend) == PSV_OK) continue;
        if (i + 1 < argc && strcmp(argv[i], "--seconds") == 0) most_seconds = strtod(argv[++i], NULL);
        if (i + 1 < argc && strcmp(argv[i], "--seed") == 0) base_seed = strtoull(argv[++i], NULL, 10);
    }
    if (!psv_backend_available(backend)) {
        printf("skipped: no %s device on this machine\n", psv_backend_name(backend));
        return 77;
    }
    const int file = memfd_create("world.snapshot", 0);
    (void)snprintf(snapshot_path, sizeof snapshot_path, "/proc/self/fd/%d", file);
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = 1;
    if (file < 0 || psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "test_snapshot_calls: %s\n", psv_last_error(NULL));
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_reached_states, report_seed)};
    const int failed = cmocka_run_group_tests_name("snapshot_calls", tests, NULL, NULL);
    psv_destroy_context(context);
    return failed;
}
