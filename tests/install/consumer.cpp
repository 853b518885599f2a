// A program in C++ that knows only the installed package: it loads a shipped scene and steps it.
#include <cstdio>
#include <vector>

#include <pairsieve/sim.h>
#include <pairsieve/sort.h>

int main() {
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    psv_context *context = nullptr;
    if (psv_create_context(&def, &context) != PSV_OK) {
        std::fprintf(stderr, "%s\n", psv_last_error(nullptr));
        return 1;
    }
    psv_scene_options options = psv_default_scene_options();
    options.bodies = 20;
    psv_scene *scene = nullptr;
    psv_status status = psv_load_scene(context, "drop", &options, &scene);
    for (int frame = 0; frame < 3 && status == PSV_OK; ++frame)
        status = psv_scene_step(scene);
    psv_world_counters counters = {};
    if (status == PSV_OK) status = psv_read_world_counters(psv_scene_world(scene), &counters);
    std::vector<float> positions(4 * psv_world_slot_count(psv_scene_world(scene)));
    psv_buffer there = psv_world_positions(psv_scene_world(scene));
    if (status == PSV_OK) status = psv_download(context, positions.data(), there, there.bytes);
    if (status != PSV_OK) std::fprintf(stderr, "%s\n", psv_last_error(context));
    const bool good = status == PSV_OK && counters.frame == 3 && counters.bodies >= 20;
    psv_destroy_scene(scene);
    psv_destroy_context(context);
    std::puts(good ? "the installed package works in C++" : "the installed package gave a wrong result");
    return good ? 0 : 1;
}
