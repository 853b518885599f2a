// Misuse of sim.h, each with its error, and what bodies, shapes, rays and impulses promise. Public headers only.
//   test_sim_api [cpu|cuda]
#include <math.h>
#include <stdlib.h>

#include "../own_file.h"
#include "expect.h"
#include "pairsieve/sim.h"

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static psv_world *world;
static uint32_t ball, box, floor_shape;

static int open_world(void **unused) {
    (void)unused;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = backend == PSV_BACKEND_CPU ? 1 : 0;
    if (psv_create_context(&def, &context) != PSV_OK) return -1;
    psv_world_def world_def = psv_default_world_def();
    world_def.max_bodies = 64;
    world_def.max_shapes = 16;
    if (psv_create_world(context, &world_def, &world) != PSV_OK) return -1;
    psv_shape_def shape = psv_default_shape_def();
    if (psv_create_shape(world, &shape, &ball) != PSV_OK) return -1;
    shape.type = PSV_SHAPE_BOX;
    if (psv_create_shape(world, &shape, &box) != PSV_OK) return -1;
    shape.type = PSV_SHAPE_PLANE;
    return psv_create_shape(world, &shape, &floor_shape) == PSV_OK ? 0 : -1;
}

static int close_world(void **unused) {
    (void)unused;
    psv_destroy_world(world);
    psv_destroy_context(context);
    return 0;
}

static psv_body_id add(uint32_t shape, float x, float y, float z) {
    psv_body_def def = psv_default_body_def();
    def.shape = shape;
    def.pose.position[0] = x;
    def.pose.position[1] = y;
    def.pose.position[2] = z;
    psv_body_id id = {0, 0};
    EXPECT_OK(psv_create_bodies(world, &def, 1, &id), context);
    return id;
}

static void worlds(void **unused) {
    (void)unused;
    psv_world *made = (psv_world *)&made;
    psv_world_def def = psv_default_world_def();
    psv_world_def bad = {0};
    EXPECT_FAILURE(psv_create_world(NULL, &def, &made), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    EXPECT_FAILURE(psv_create_world(context, &def, NULL), PSV_ERROR_ARGUMENT, context, "world", "NULL");
    EXPECT_FAILURE(psv_create_world(context, NULL, &made), PSV_ERROR_ARGUMENT, context, "def", "NULL");
    assert_null(made);
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "cookie",
                   "psv_default_world_def");
    bad = def;
    bad.max_bodies = 0;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "max_bodies", "0");
    bad = def;
    bad.max_bodies = 1u << 30;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_MEMORY, context, "bytes", "1073741824");
    bad = def;
    bad.substeps = 65;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "substeps", "65");
    bad = def;
    bad.gravity[1] = NAN;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "gravity", "nan");
    bad = def;
    bad.sub_world_count = 0;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "sub_world_count", "0");
    bad = def;
    bad.self_gravity = 1;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "softening", "0");
    bad.softening = 1;
    bad.self_gravity = INFINITY;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "self_gravity", "inf");
    bad.self_gravity = 1;
    bad.softening = INFINITY;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "softening", "inf");
    bad = def;
    bad.max_contacts = ((uint64_t)1 << 62) + 1; // twice that is little more than 2^63
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "max_contacts", "2147483647");
    bad = def;
    bad.max_pairs = UINT64_MAX;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "max_pairs", "1099511627776");
    bad = def;
    bad.bounds_min[2] = 2e6f;
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_ARGUMENT, context, "bounds_min", "bounds_max");
    bad = def;
    bad.broad_phase = "guess";
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_UNSUPPORTED, context, "guess", "brute");
    bad = def;
    bad.sort_method = "guess";
    EXPECT_FAILURE(psv_create_world(context, &bad, &made), PSV_ERROR_UNSUPPORTED, context, "guess", "radix");
    psv_destroy_world(NULL);
    EXPECT_FAILURE(psv_world_step(NULL, 0.01f), PSV_ERROR_ARGUMENT, NULL, "world", "NULL");
    EXPECT_FAILURE(psv_world_step(world, 0), PSV_ERROR_ARGUMENT, context, "seconds", "0");
    EXPECT_FAILURE(psv_world_step(world, NAN), PSV_ERROR_ARGUMENT, context, "seconds", "nan");
    EXPECT_FAILURE(psv_world_set_broad_phase(world, "guess"), PSV_ERROR_UNSUPPORTED, context, "guess", "brute");
    EXPECT_FAILURE(psv_world_set_sort_method(world, "guess"), PSV_ERROR_UNSUPPORTED, context, "guess", "radix");
    EXPECT_OK(psv_world_set_broad_phase(world, "brute"), context);
    EXPECT_OK(psv_world_step(world, 0.01f), context);
}

static void shapes(void **unused) {
    (void)unused;
    uint32_t shape = 99;
    psv_shape_def def = psv_default_shape_def(), bad = {0};
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "cookie", "def");
    bad = def;
    bad.size[0] = -1;
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "size[0]", "-1");
    bad = def;
    bad.density = 0;
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "density", "0");
    bad = def;
    bad.restitution = 1.5f;
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "restitution", "1.5");
    bad = def;
    bad.type = (psv_shape_type)12;
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "type", "12");
    bad = def;
    bad.type = PSV_SHAPE_COMPOUND;
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "child", "64");
    bad = def;
    bad.type = PSV_SHAPE_HEIGHT_FIELD;
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "heights", "2 by 2");
    psv_shape_child child = {PSV_SHAPE_BOX, {0.5f, 0.5f, 0.5f}, {{0, 0, 0}, {0, 0, 0, 0}}};
    bad = def;
    bad.type = PSV_SHAPE_COMPOUND;
    bad.children = &child;
    bad.child_count = 1;
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "children[0]", "quaternion");
    child.pose.rotation[3] = 1e30f; // its square is no float
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "children[0]", "quaternion");
    const float corners[9] = {0, 0, 0, 1, 0, 0, 0, 0, 1};
    const uint32_t indices[3] = {0, 1, 3};
    bad = def;
    bad.type = PSV_SHAPE_MESH;
    bad.vertices = corners;
    bad.vertex_count = 3;
    bad.indices = indices;
    bad.triangle_count = 1;
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "indices[2]", "3");
    const float nowhere[9] = {0};
    bad.vertices = nowhere;
    bad.triangle_count = 1;
    bad.indices = (const uint32_t[3]){0, 1, 2};
    EXPECT_FAILURE(psv_create_shape(world, &bad, &shape), PSV_ERROR_ARGUMENT, context, "def", "extent");
    assert_int_equal(psv_world_shape_count(world), 3);
    EXPECT_FAILURE(psv_world_shape(world, 3, &def), PSV_ERROR_ARGUMENT, context, "shape is 3", "3 shapes");
    EXPECT_OK(psv_world_shape(world, box, &def), context);
    assert_int_equal(def.type, PSV_SHAPE_BOX);
    for (uint32_t i = 3; i < 16; ++i)
        EXPECT_OK(psv_create_shape(world, &def, &shape), context);
    EXPECT_FAILURE(psv_create_shape(world, &def, &shape), PSV_ERROR_CAPACITY, context, "max_shapes", "16");
}

static void bodies(void **unused) {
    (void)unused;
    psv_body_def def = psv_default_body_def(), bad = {0};
    psv_body_state state;
    psv_body_id id = {0, 0};
    EXPECT_FAILURE(psv_create_bodies(world, &bad, 1, &id), PSV_ERROR_ARGUMENT, context, "cookie", "defs[0]");
    EXPECT_FAILURE(psv_create_bodies(world, NULL, 1, &id), PSV_ERROR_ARGUMENT, context, "defs", "NULL");
    EXPECT_FAILURE(psv_create_bodies(world, &def, 65, &id), PSV_ERROR_CAPACITY, context, "65", "64");
    bad = def;
    bad.shape = 7;
    EXPECT_FAILURE(psv_create_bodies(world, &bad, 1, &id), PSV_ERROR_ARGUMENT, context, "shape is 7", "3 shapes");
    bad = def;
    bad.pose.position[1] = INFINITY;
    EXPECT_FAILURE(psv_create_bodies(world, &bad, 1, &id), PSV_ERROR_ARGUMENT, context, "pose", "finite");
    bad = def;
    bad.pose.rotation[3] = 0;
    EXPECT_FAILURE(psv_create_bodies(world, &bad, 1, &id), PSV_ERROR_ARGUMENT, context, "rotation", "quaternion");
    bad.pose.rotation[3] = 1e30f; // its square is no float
    EXPECT_FAILURE(psv_create_bodies(world, &bad, 1, &id), PSV_ERROR_ARGUMENT, context, "rotation", "quaternion");
    bad = def;
    bad.sub_world = 1;
    EXPECT_FAILURE(psv_create_bodies(world, &bad, 1, &id), PSV_ERROR_ARGUMENT, context, "sub_world", "1");
    assert_int_equal(psv_world_body_count(world), 0);
    EXPECT_FAILURE(psv_get_body_state(world, id, &state), PSV_ERROR_ARGUMENT, context, "id", "body");

    id = add(ball, 1, 2, 3);
    assert_true(id.index1 == 1 && psv_body_is_valid(world, id));
    EXPECT_OK(psv_get_body_state(world, id, &state), context);
    assert_true(state.pose.position[0] == 1 && state.pose.position[2] == 3 && state.pose.rotation[3] == 1);
    EXPECT_OK(psv_destroy_body(world, id), context);
    assert_false(psv_body_is_valid(world, id));
    EXPECT_FAILURE(psv_destroy_body(world, id), PSV_ERROR_ARGUMENT, context, "id", "any more");
    psv_body_id next = add(ball, 0, 0, 0);
    assert_true(next.index1 == id.index1 && next.generation != id.generation); // the slot, not the body
    EXPECT_FAILURE(psv_set_body_state(world, id, &state), PSV_ERROR_ARGUMENT, context, "id", "any more");
    const psv_body_state good = state;
    state.pose.rotation[0] = 3e19f;
    EXPECT_FAILURE(psv_set_body_state(world, next, &state), PSV_ERROR_ARGUMENT, context, "state", "quaternion");
    EXPECT_FAILURE(psv_set_body_states(world, &next, 1, &state), PSV_ERROR_ARGUMENT, context, "states[0]",
                   "quaternion");
    state = good;
    state.velocity[0] = NAN;
    EXPECT_FAILURE(psv_set_body_state(world, next, &state), PSV_ERROR_ARGUMENT, context, "state", "finite");
    for (int i = 1; i < 64; ++i)
        (void)add(ball, 0, (float)i * 2, 0);
    EXPECT_FAILURE(psv_create_bodies(world, &def, 1, NULL), PSV_ERROR_CAPACITY, context, "max_bodies", "64");
    assert_int_equal(psv_world_body_count(world), 64);
    assert_int_equal(psv_world_slot_count(world), 64);
}

static void impulses(void **unused) {
    (void)unused;
    psv_body_id id = add(box, 0, 0, 0), ground = add(floor_shape, 0, -100, 0);
    const float impulse[3] = {1000, 0, 0}, above[3] = {0, 0.5f, 0};
    psv_body_state state;
    EXPECT_OK(psv_apply_impulse(world, id, impulse, above), context);
    EXPECT_OK(psv_get_body_state(world, id, &state), context);
    assert_true(fabsf(state.velocity[0] - 1) < 1e-6f); // 1 m^3 of 1000 kg
    // r x P = (0, 0, -500), I = m (1 + 1) / 12 = 166.7
    assert_true(fabsf(state.angular_velocity[2] + 3) < 1e-5f && state.angular_velocity[0] == 0);
    EXPECT_OK(psv_apply_impulse(world, ground, impulse, above), context); // static bodies do not move
    EXPECT_OK(psv_get_body_state(world, ground, &state), context);
    assert_true(state.velocity[0] == 0);
    EXPECT_FAILURE(psv_apply_impulse(world, id, NULL, above), PSV_ERROR_ARGUMENT, context, "impulse", "NULL");
    const float huge[3] = {3e38f, 0, 0};
    const psv_body_impulse push = {{3e38f, 0, 0}, {0, 1e5f, 0}};
    EXPECT_FAILURE(psv_apply_impulse(world, id, huge, push.point), PSV_ERROR_ARGUMENT, context, "velocity", "finite");
    EXPECT_OK(psv_apply_impulses(world, &id, 1, &push), context); // left out
    double energy = 0, momentum[3];
    EXPECT_OK(psv_world_energy(world, &energy, momentum), context);
    // 1/2 m v^2 + 1/2 I w^2 with I = 1000 / 6
    assert_true(fabs(energy - (500 + 0.5 * 1000 / 6 * 9)) < 0.01 && fabs(momentum[0] - 1000) < 0.01);
}

static void rays(void **unused) {
    (void)unused;
    psv_body_id ground = add(floor_shape, 0, 0, 0), first = add(ball, 0, 5, 0), second = add(box, 4, 3, 0), hit;
    const float down[3] = {0, -2, 0}, up[3] = {0, 1, 0};
    const struct {
        float origin[3];
        psv_body_id body;
        float distance; // in lengths of `down`
    } cases[] = {{{0, 10, 0}, first, 2.25f}, {{4.4f, 10, 0.4f}, second, 3.25f}, {{9, 10, 0}, ground, 5}};
    for (int i = 0; i < 3; ++i) {
        float distance = 0;
        EXPECT_OK(psv_cast_ray(world, cases[i].origin, down, 100, &hit, &distance), context);
        assert_true(hit.index1 == cases[i].body.index1);
        assert_true(fabsf(distance - cases[i].distance) < 1e-5f);
    }
    float distance = 0;
    EXPECT_OK(psv_cast_ray(world, cases[2].origin, up, 100, &hit, &distance), context);
    assert_true(hit.index1 == 0);
    EXPECT_OK(psv_cast_ray(world, cases[0].origin, down, 2, &hit, &distance), context);
    assert_true(hit.index1 == 0); // too far
    const float zero[3] = {0, 0, 0};
    EXPECT_FAILURE(psv_cast_ray(world, zero, zero, 1, &hit, &distance), PSV_ERROR_ARGUMENT, context, "direction",
                   "zero");
    EXPECT_FAILURE(psv_cast_ray(world, zero, up, NAN, &hit, &distance), PSV_ERROR_ARGUMENT, context, "max_distance",
                   "nan");
}

// Rays without an end, from far away and with directions of any length come back, and hit what is there.
static void endless_rays(void **unused) {
    (void)unused;
    psv_shape_def def = psv_default_shape_def();
    uint32_t hills;
    const float heights[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    def.type = PSV_SHAPE_HEIGHT_FIELD;
    def.heights = heights;
    def.columns = def.rows = 3;
    def.size[0] = def.size[2] = 10;
    EXPECT_OK(psv_create_shape(world, &def, &hills), context);
    psv_body_id ground = add(hills, 0, 0, 0), first = add(ball, 3, 3, 0), hit;
    (void)add(box, -3, 1.5f, 0);
    const struct {
        float origin[3], direction[3], distance; // INFINITY: nothing is hit
        psv_body_id body;
    } cases[] = {{{0, 5, 0}, {0, -1, 0}, 4, ground},
                 {{0, 5, 0}, {0, -2e30f, 0}, 2e-30f, ground},
                 {{0, 5, 0}, {0, -2e-30f, 0}, 2e30f, ground},
                 {{0, 5, 0}, {1e-25f, -1, 0}, 4, ground},
                 {{3, 9, 0}, {0, -1, 0}, 5.5f, first},
                 {{0, 5, 0}, {0, 1, 0}, INFINITY, first},
                 {{0, 5, 0}, {1, 0, 0}, INFINITY, first},
                 {{0, 1e30f, 0}, {1, 0, 0}, INFINITY, first},
                 {{-1e30f, 5, 1e30f}, {1, 0, -1}, INFINITY, first},
                 {{100, 50, 3}, {3e38f, 3e38f, 3e38f}, INFINITY, first}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        float distance = 0;
        EXPECT_OK(psv_cast_ray(world, cases[i].origin, cases[i].direction, INFINITY, &hit, &distance), context);
        assert_int_equal(hit.index1, cases[i].distance < INFINITY ? cases[i].body.index1 : 0);
        if (cases[i].distance < INFINITY)
            assert_true(fabsf(distance / cases[i].distance - 1) < 1e-5f);
        else
            assert_true(distance == INFINITY);
    }
}

// A sphere comes to rest on a mesh and on a height field at its radius above them.
static void ground_of_every_kind(void **unused) {
    (void)unused;
    const float corners[12] = {-20, 1, -20, 20, 1, -20, 20, 1, 20, -20, 1, 20};
    const uint32_t indices[6] = {0, 2, 1, 0, 3, 2};
    float heights[25];
    for (int i = 0; i < 25; ++i)
        heights[i] = 1;
    psv_shape_def def = psv_default_shape_def();
    def.type = PSV_SHAPE_MESH;
    def.vertices = corners;
    def.vertex_count = 4;
    def.indices = indices;
    def.triangle_count = 2;
    uint32_t grounds[2];
    EXPECT_OK(psv_create_shape(world, &def, &grounds[0]), context);
    def = psv_default_shape_def();
    def.type = PSV_SHAPE_HEIGHT_FIELD;
    def.heights = heights;
    def.columns = def.rows = 5;
    def.size[0] = def.size[2] = 40;
    EXPECT_OK(psv_create_shape(world, &def, &grounds[1]), context);
    psv_shape_def capsule = psv_default_shape_def();
    capsule.type = PSV_SHAPE_CAPSULE;
    uint32_t capsule_shape;
    EXPECT_OK(psv_create_shape(world, &capsule, &capsule_shape), context);
    const uint32_t shapes_of[3] = {ball, box, capsule_shape};
    for (int g = 0; g < 2; ++g) {
        psv_body_id ground = add(grounds[g], 0, 0, 0), id[3];
        for (int k = 0; k < 3; ++k)
            id[k] = add(shapes_of[k], 3.0f * (float)k - 3.3f, k == 2 ? 2.2f : 1.8f, 0.4f);
        for (int i = 0; i < 180; ++i)
            EXPECT_OK(psv_world_step(world, 1.0f / 60), context);
        for (int k = 0; k < 3; ++k) {
            psv_body_state state;
            EXPECT_OK(psv_get_body_state(world, id[k], &state), context);
            print_message("shape %d on ground %d rests at %.4f m\n", k, g, (double)state.pose.position[1]);
            // the capsule stands or lies, the others rest at half a metre above
            float y = state.pose.position[1];
            assert_true(fabsf(y - 1.5f) < 0.01f || (k == 2 && fabsf(y - 2.0f) < 0.01f));
            EXPECT_OK(psv_destroy_body(world, id[k]), context);
        }
        EXPECT_OK(psv_destroy_body(world, ground), context);
    }
}

// What leaves the bounds is taken out and counted, and its id is no longer valid.
static void lost_bodies_are_reported(void **unused) {
    (void)unused;
    psv_world_def def = psv_default_world_def();
    def.max_bodies = 4;
    def.bounds_min[1] = -1;
    psv_world *small = NULL;
    EXPECT_OK(psv_create_world(context, &def, &small), context);
    uint32_t shape;
    psv_shape_def shape_def = psv_default_shape_def();
    EXPECT_OK(psv_create_shape(small, &shape_def, &shape), context);
    psv_body_def body = psv_default_body_def();
    body.shape = shape;
    psv_body_id id;
    EXPECT_OK(psv_create_bodies(small, &body, 1, &id), context);
    for (int i = 0; i < 60; ++i)
        EXPECT_OK(psv_world_step(small, 1.0f / 60), context);
    assert_false(psv_body_is_valid(small, id)); // before any other call looks
    psv_world_counters counters;
    EXPECT_OK(psv_read_world_counters(small, &counters), context);
    assert_int_equal(counters.lost_bodies, 1);
    assert_int_equal(counters.bodies, 0);
    assert_int_equal(counters.frame, 60);
    EXPECT_OK(psv_create_bodies(small, &body, 1, &id), context); // its slot is free again
    assert_int_equal(psv_world_slot_count(small), 1);
    psv_destroy_world(small);
}

// A scene that asks for more memory than there is says how much.
static void scenes_too_large_say_so(void **unused) {
    (void)unused;
    for (uint32_t i = 0; psv_shipped_scene_name(i) != NULL; ++i) {
        psv_scene_options options = psv_default_scene_options();
        psv_scene *scene = (psv_scene *)&options;
        options.bodies = 900000000;
        const char *name = psv_shipped_scene_name(i);
        EXPECT_FAILURE(psv_load_scene(context, name, &options, &scene), PSV_ERROR_MEMORY, context, name, "bytes");
        assert_null(scene);
    }
}

static void scenes_and_snapshots(void **unused) {
    (void)unused;
    psv_scene *scene = NULL;
    psv_world *made = NULL;
    psv_scene_options bad = {0};
    EXPECT_FAILURE(psv_load_scene(context, NULL, NULL, &scene), PSV_ERROR_ARGUMENT, context, "name_or_path", "NULL");
    EXPECT_FAILURE(psv_load_scene(context, "drop", NULL, NULL), PSV_ERROR_ARGUMENT, context, "scene", "NULL");
    EXPECT_FAILURE(psv_load_scene(context, "drop", &bad, &scene), PSV_ERROR_ARGUMENT, context, "options", "cookie");
    EXPECT_FAILURE(psv_load_scene(context, "dorp", NULL, &scene), PSV_ERROR_FILE, context, "dorp", "drop");
    EXPECT_FAILURE(psv_load_scene(context, "none/such.json", NULL, &scene), PSV_ERROR_FILE, context, "none/such.json",
                   "No such");
    EXPECT_FAILURE(psv_scene_step(NULL), PSV_ERROR_ARGUMENT, NULL, "scene", "NULL");
    psv_destroy_scene(NULL);
    EXPECT_FAILURE(psv_save_snapshot(world, NULL), PSV_ERROR_ARGUMENT, context, "path", "NULL");
    EXPECT_FAILURE(psv_save_snapshot(world, "none/such"), PSV_ERROR_FILE, context, "none/such", "No such");
    EXPECT_FAILURE(psv_restore_snapshot(context, "none/such", &made), PSV_ERROR_FILE, context, "none/such", "No such");
    assert_null(made);
    // every cut of a snapshot is refused
    const char *path = own_snapshot("test_sim_api");
    (void)add(ball, 0, 0, 0);
    EXPECT_OK(psv_world_step(world, 0.01f), context);
    EXPECT_OK(psv_save_snapshot(world, path), context);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static char data[65536];
    size_t size = fread(data, 1, sizeof data, file);
    (void)fclose(file);
    for (size_t cut = 0; cut < size; cut += 7) {
        file = fopen(path, "wb");
        assert_non_null(file);
        assert_true(fwrite(data, 1, cut, file) == cut);
        (void)fclose(file);
        assert_int_equal(psv_restore_snapshot(context, path, &made), PSV_ERROR_FORMAT);
        assert_null(made);
    }
    (void)remove(path);
}

int main(int argc, char **argv) {
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) {
        (void)printf("no %s device here: skipped\n", psv_backend_name(backend));
        return 77;
    }
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        TEST(worlds),
        TEST(shapes),
        TEST(bodies),
        TEST(impulses),
        TEST(rays),
        TEST(endless_rays),
        TEST(ground_of_every_kind),
        TEST(lost_bodies_are_reported),
        TEST(scenes_too_large_say_so),
        TEST(scenes_and_snapshots),
    };
    return cmocka_run_group_tests_name("sim api", tests, NULL, NULL);
}
