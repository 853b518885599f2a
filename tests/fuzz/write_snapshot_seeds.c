// Writes the seeds of fuzz_snapshot, which are made anew by every build: a format that changes leaves none behind.
// usage: write_snapshot_seeds FOLDER
#include <stdio.h>

#include "tests/cases/small_world.h"

static bool save(psv_world *world, const char *folder, const char *name) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.snapshot", folder, name);
    return world != NULL && psv_save_snapshot(world, path) == PSV_OK;
}

static bool save_scene(psv_context *context, const char *folder, const char *name) {
    psv_scene_options options = psv_default_scene_options();
    psv_scene *scene = NULL;
    options.bodies = 20;
    bool good = psv_load_scene(context, name, &options, &scene) == PSV_OK;
    for (int i = 0; i < 60; ++i)
        good = good && psv_scene_step(scene) == PSV_OK;
    good = good && save(psv_scene_world(scene), folder, name);
    psv_destroy_scene(scene);
    return good;
}

// Numbers that ask for large tables, and ground in the last of many sub-worlds.
static bool save_large(psv_context *context, const char *folder) {
    psv_world_def def = psv_default_world_def();
    psv_shape_def plane = psv_default_shape_def();
    psv_body_def body = psv_default_body_def();
    psv_world *world = NULL;
    def.max_bodies = 16384;
    def.sub_world_count = 1u << 20;
    plane.type = PSV_SHAPE_PLANE;
    body.sub_world = def.sub_world_count - 1;
    bool good = psv_create_world(context, &def, &world) == PSV_OK;
    good = good && psv_create_shape(world, &plane, &body.shape) == PSV_OK;
    good = good && psv_create_bodies(world, &body, 1, NULL) == PSV_OK && save(world, folder, "large");
    psv_destroy_world(world);
    return good;
}

int main(int argc, char **argv) {
    psv_context_def def = psv_default_context_def();
    psv_context *context;
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    if (argc != 2 || psv_create_context(&def, &context) != PSV_OK) return 2;
    psv_world *world = make_small_world(context);
    bool good = save(world, argv[1], "small");
    psv_destroy_world(world);
    good = good && save_large(context, argv[1]) && save_scene(context, argv[1], "galaxy") &&
           save_scene(context, argv[1], "chairs");
    if (!good) (void)fprintf(stderr, "write_snapshot_seeds: %s\n", psv_last_error(context));
    psv_destroy_context(context);
    return good ? 0 : 1;
}
