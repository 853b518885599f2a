// Runs a scene without a display and reports the result: a whole program that embeds pairsieve's simulation.
//   headless [SCENE [BODIES [FRAMES [cpu|cuda|auto]]]]
#include <pairsieve/sim.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const psv_context *context, psv_status status) {
    (void)fprintf(stderr, "headless: %s: %s\n", psv_status_name(status), psv_last_error(context));
    return 1;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "drop";
    long frames = argc > 3 ? strtol(argv[3], NULL, 10) : 120;
    psv_context_def def = psv_default_context_def();
    if (argc > 4 && psv_parse_backend(argv[4], &def.backend) != PSV_OK) {
        (void)fprintf(stderr, "headless: backend is \"%s\"; auto, cpu and cuda are possible\n", argv[4]);
        return 2;
    }
    psv_context *context = NULL;
    psv_status status = psv_create_context(&def, &context);
    if (status != PSV_OK) return fail(NULL, status);
    (void)psv_enable_profile(context, true);

    psv_scene_options options = psv_default_scene_options();
    options.bodies = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
    psv_scene *scene = NULL;
    status = psv_load_scene(context, name, &options, &scene);
    double total = 0;
    for (long i = 0; i < frames && status == PSV_OK; ++i) {
        status = psv_scene_step(scene); // nothing is read back here on CUDA
        psv_profile profile;
        if (status == PSV_OK && psv_wait_profile(context, &profile) == PSV_OK) total += profile.frame_ms;
    }
    psv_world_counters counters = {0};
    double energy = 0, momentum[3];
    if (status == PSV_OK) status = psv_read_world_counters(psv_scene_world(scene), &counters);
    if (status == PSV_OK) status = psv_world_energy(psv_scene_world(scene), &energy, momentum);
    if (status != PSV_OK) return fail(context, status);
    printf(
        "%s on %s: %llu bodies, %llu frames, %.3f ms each, %llu pairs, %llu contacts, %u colours, %llu lost, %.4g J\n",
        psv_scene_name(scene), psv_context_device_name(context), (unsigned long long)counters.bodies,
        (unsigned long long)counters.frame, frames > 0 ? total / (double)frames : 0, (unsigned long long)counters.pairs,
        (unsigned long long)counters.contacts, counters.colours, (unsigned long long)counters.lost_bodies, energy);
    psv_destroy_scene(scene);
    psv_destroy_context(context);
    return 0;
}
