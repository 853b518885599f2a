// A scene that returns to a kept state repeats its steps bit by bit, with what it does beside its world: emitters,
// turning gravity, Brownian kicks. A return of the world alone does not.
#include "../own_file.h"
#include "stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 90, KEPT = 25 };

static psv_context *make_context(void) {
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    def.backend = on_cuda() ? PSV_BACKEND_CUDA : PSV_BACKEND_CPU;
    if (psv_create_context(&def, &context) != PSV_OK) fail_msg("%s", psv_last_error(NULL));
    return context;
}

static uint64_t step_and_hash(psv_scene *scene) {
    uint64_t hash = 0;
    assert_int_equal(psv_scene_step(scene), PSV_OK);
    assert_int_equal(psv_world_hash(psv_scene_world(scene), &hash), PSV_OK);
    return hash ^ (psv_world_body_count(psv_scene_world(scene)) << 32);
}

static psv_scene *load(psv_context *context, const char *name, uint64_t bodies) {
    psv_scene_options options = psv_default_scene_options();
    psv_scene *scene = NULL;
    options.bodies = bodies;
    if (psv_load_scene(context, name, &options, &scene) != PSV_OK) fail_msg("%s", psv_last_error(context));
    return scene;
}

static const char *write_emitter(void) {
    static char path[160];
    (void)snprintf(path, sizeof path, "./%s.json", own_snapshot("emitter"));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    (void)fputs(
        "{\"bodies\": 60, \"shapes\": {\"ground\": {\"type\": \"plane\"}, \"ball\": {\"type\": \"sphere\"}},"
        "\"fixed\": [{\"shape\": \"ground\"}], \"generators\": ["
        "{\"type\": \"emitter\", \"shapes\": [\"ball\"], \"rate\": 40, \"position\": [0, 9, 0], \"share\": 0.5},"
        "{\"type\": \"emitter\", \"shapes\": [\"ball\"], \"rate\": 25, \"position\": [9, 9, 0], \"share\": 0.5}]}",
        file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void repeats(void **state) {
    (void)state;
    const char *emitter = write_emitter();
    const char *const scenes[] = {"drop", "gravity", "brownian", emitter};
    psv_context *context = make_context();
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) {
        psv_scene *scene = load(context, scenes[i], 60);
        uint64_t first[FRAMES];
        assert_int_equal(psv_world_reserve_states(psv_scene_world(scene), 3), PSV_OK);
        for (int f = 0; f < FRAMES; ++f) {
            if (f == KEPT) assert_int_equal(psv_scene_keep(scene, 2), PSV_OK);
            first[f] = step_and_hash(scene);
        }
        for (int turn = 0; turn < 2; ++turn) {
            assert_int_equal(psv_scene_return(scene, 2), PSV_OK);
            for (int f = KEPT; f < FRAMES; ++f)
                if (step_and_hash(scene) != first[f]) fail_msg("%s: frame %d differs", scenes[i], f);
        }
        if (i > 0) { // which has more than its world
            assert_int_equal(psv_world_return(psv_scene_world(scene), 2), PSV_OK);
            bool same = true;
            for (int f = KEPT; f < FRAMES; ++f)
                same = step_and_hash(scene) == first[f] && same;
            assert_false(same);
        }
        psv_destroy_scene(scene);
    }
    (void)remove(emitter);
    psv_destroy_context(context);
}

static void refusals(void **state) {
    (void)state;
    psv_context *context = make_context();
    psv_scene *scene = load(context, "stack", 10);
    assert_int_equal(psv_scene_keep(NULL, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_scene_return(NULL, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_scene_keep(scene, 0), PSV_ERROR_ARGUMENT); // none are reserved
    assert_int_equal(psv_world_reserve_states(psv_scene_world(scene), 2), PSV_OK);
    assert_int_equal(psv_scene_return(scene, 0), PSV_ERROR_ARGUMENT);
    assert_non_null(strstr(psv_last_error(context), "nothing is kept"));
    assert_int_equal(psv_scene_keep(scene, 2), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_scene_keep(scene, 1), PSV_OK);
    assert_int_equal(psv_scene_return(scene, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_scene_return(scene, 1), PSV_OK);
    assert_int_equal(psv_world_reserve_states(psv_scene_world(scene), 2), PSV_OK);
    assert_int_equal(psv_scene_return(scene, 1), PSV_ERROR_ARGUMENT); // forgotten
    psv_destroy_scene(scene);
    psv_destroy_context(context);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(repeats), cmocka_unit_test(refusals)};
    return RUN_TESTS(argc, argv, "test_scene_states", tests);
}
