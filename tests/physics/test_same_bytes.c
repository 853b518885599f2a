// The same bytes: a scene on this backend has, frame by frame, the hash that it has on the CPU with one thread. On the
// CPU the other run has five threads. A difference is shown by its first body. Not yet the same on CUDA: bodies that
// pull each other, and bodies of more than 24 contacts, some of which find no colour («assorted»; docs/how/solver.md).
#include <stdlib.h>
#include <string.h>

#include "../test_scale.h"
#include "stage.h"

#define ROW (4 * sizeof(float))

typedef struct run {
    psv_context *context;
    psv_scene *scene;
} run;

static void need(const run *r, psv_status status) {
    if (status != PSV_OK) fail_msg("%s: %s", psv_status_name(status), psv_last_error(r->context));
}

static run begin(psv_backend backend, int workers, const char *name, uint64_t bodies) {
    char path[1024];
    run r = {0};
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = workers;
    need(&r, psv_create_context(&def, &r.context));
    psv_scene_options options = psv_default_scene_options();
    options.bodies = bodies;
    (void)snprintf(path, sizeof path, "%s/scenes/%s.json", PAIRSIEVE_SOURCE_DIR, name);
    need(&r, psv_load_scene(r.context, path, &options, &r.scene));
    return r;
}

static void end(run *r) {
    psv_destroy_scene(r->scene);
    psv_destroy_context(r->context);
}

static uint64_t hash_after_step(const run *r) {
    uint64_t hash = 0;
    need(r, psv_scene_step(r->scene));
    need(r, psv_world_hash(psv_scene_world(r->scene), &hash));
    return hash;
}

static float (*read_rows(const run *r, psv_buffer buffer))[4] {
    const uint64_t slots = psv_world_slot_count(psv_scene_world(r->scene));
    float(*rows)[4] = calloc(slots + 1, ROW);
    assert_non_null(rows);
    need(r, psv_download(r->context, rows, buffer, slots * ROW));
    return rows;
}

static void show_first(const run *one, const run *other, const char *what, psv_buffer mine, psv_buffer its) {
    float(*a)[4] = read_rows(one, mine), (*b)[4] = read_rows(other, its);
    const uint64_t slots = psv_world_slot_count(psv_scene_world(one->scene));
    uint64_t differ = 0, first = slots;
    for (uint64_t i = 0; i < slots; ++i) {
        if (memcmp(a[i], b[i], ROW) == 0) continue;
        if (differ++ == 0) first = i;
    }
    if (differ > 0)
        (void)printf("  %s of %llu bodies differ; of %llu: %.9g %.9g %.9g and %.9g %.9g %.9g\n", what,
                     (unsigned long long)differ, (unsigned long long)first, (double)a[first][0], (double)a[first][1],
                     (double)a[first][2], (double)b[first][0], (double)b[first][1], (double)b[first][2]);
    free(a);
    free(b);
}

// Frames that are the same, at most `frames`.
static int same_frames(const char *name, uint64_t bodies, int frames) {
    run one = begin(PSV_BACKEND_CPU, 1, name, bodies);
    run other = begin(on_cuda() ? PSV_BACKEND_CUDA : PSV_BACKEND_CPU, on_cuda() ? 0 : 5, name, bodies);
    psv_world *a = psv_scene_world(one.scene), *b = psv_scene_world(other.scene);
    int frame = 0;
    while (frame < frames && hash_after_step(&one) == hash_after_step(&other))
        ++frame;
    (void)printf("%-20s %6llu bodies: %d of %d frames the same\n", name, (unsigned long long)psv_world_slot_count(a),
                 frame, frames);
    if (frame < frames) {
        show_first(&one, &other, "positions", psv_world_positions(a), psv_world_positions(b));
        show_first(&one, &other, "rotations", psv_world_rotations(a), psv_world_rotations(b));
        show_first(&one, &other, "velocities", psv_world_velocities(a), psv_world_velocities(b));
    }
    (void)fflush(stdout);
    end(&one);
    end(&other);
    return frame;
}

typedef struct scene_case {
    const char *name;
    uint64_t bodies;
    int frames;
} scene_case;

static void check_cases(const scene_case *cases, size_t count) {
    int wrong = 0;
    for (size_t i = 0; i < count; ++i) {
        const int frames = test_scale() > 1 ? cases[i].frames / 3 : cases[i].frames;
        wrong += same_frames(cases[i].name, cases[i].bodies, frames) != frames;
    }
    assert_int_equal(wrong, 0);
}
#define CHECK(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

static void round_bodies(void **state) {
    (void)state;
    static const scene_case cases[] = {{"free_fall", 1000, 60}, {"brownian", 1000, 60}, {"landscape", 2000, 200}};
    CHECK(cases);
}

static void bodies_with_corners(void **state) {
    (void)state;
    static const scene_case cases[] = {
        {"stack", 0, 200},         {"pyramid", 0, 200},  {"brick_wall", 0, 200},          {"drop", 1000, 150},
        {"dice", 500, 150},        {"chairs", 200, 150}, {"stacking/card_house", 0, 200}, {"stacking/arch", 0, 200},
        {"stacking/jenga", 0, 200}};
    CHECK(cases);
}

static void contacts_without_a_colour(void **state) {
    (void)state;
    static const scene_case cases[] = {{"assorted", 500, 150}};
    if (on_cuda())
        skip();
    else
        CHECK(cases);
}

static void crowds(void **state) {
    (void)state;
    static const scene_case cases[] = {{"castle", 0, 60},       {"avalanche", 2000, 150},   {"hourglass", 1000, 150},
                                       {"confetti", 1000, 150}, {"mixed_sizes", 1000, 150}, {"worlds", 2048, 150}};
    CHECK(cases);
}

int main(int argc, char **argv) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(round_bodies), cmocka_unit_test(bodies_with_corners),
                                              cmocka_unit_test(contacts_without_a_colour), cmocka_unit_test(crowds)};
    return RUN_TESTS(argc, argv, "the same bytes", tests);
}
