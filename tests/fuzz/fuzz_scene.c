// Fuzz target: any bytes, read as a scene file scaled to few bodies, give a world that can be stepped, or a refusal.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "pairsieve/sim.h"

#define BODIES 40
#define MOST_STEPPED 4096u

static psv_context *shared_context(void) {
    static psv_context *context;
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    if (context == NULL && psv_create_context(&def, &context) != PSV_OK) abort();
    return context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    psv_context *context = shared_context();
    // The way that users take: a file, here one that has no name on disk.
    char path[64];
    int file = memfd_create("scene.json", 0);
    if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    psv_scene_options options = psv_default_scene_options();
    options.bodies = BODIES;
    psv_scene *scene;
    psv_status status = psv_load_scene(context, path, &options, &scene);
    (void)close(file);
    if (status != PSV_OK) {
        if (scene != NULL || psv_last_error(context)[0] == 0) abort(); // a refusal says why
        return 0;
    }
    if (psv_world_body_count(psv_scene_world(scene)) <= MOST_STEPPED && psv_scene_step(scene) != PSV_OK) abort();
    psv_destroy_scene(scene);
    return 0;
}
