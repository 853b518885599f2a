#include "smoke.h"

#include <stdlib.h>

#define SMOKE_FRAMES 5
#define SMOKE_BODIES 2000

// Share of pixels that differ from their left neighbour: a blank picture has none.
static double detail_of(const view_app *app) {
    int width = app->renderer.targets.width, height = app->renderer.targets.height;
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 3);
    if (pixels == NULL) return 0.0;
    view_read_picture(&app->renderer, pixels);
    size_t changes = 0, count = (size_t)width * (size_t)height;
    for (size_t i = 1; i < count; ++i) {
        int difference = abs(pixels[3 * i] - pixels[3 * i - 3]) + abs(pixels[3 * i + 1] - pixels[3 * i - 2]);
        changes += difference > 6;
    }
    free(pixels);
    return (double)changes / (double)count;
}

static bool run_scene(const view_options *options, const char *scene) {
    view_app *app = calloc(1, sizeof *app);
    view_options own = *options;
    view_message message = {""};
    own.scene = scene;
    own.headless = own.hide_hud = true;
    own.screenshot = own.video = own.csv = own.trace = NULL;
    if (own.frames == 0 || options->frames == 120) own.frames = SMOKE_FRAMES;
    if (own.bodies == 0) own.bodies = SMOKE_BODIES;
    bool good = app != NULL && view_open_app(app, &own, &message);
    if (!good) fprintf(stderr, "pairsieve-view: %s: %s\n", scene, message.text);
    if (good) {
        while (view_turn_app(app)) {
        }
        good = app->exit_code == VIEW_EXIT_GOOD && app->world != NULL;
    }
    if (good) {
        double detail = detail_of(app);
        view_run_check(app);
        bool equal = view_check_agrees(&app->check);
        good = equal && detail > 0.002;
        printf("%-14s %9llu bodies %9llu pairs  %s  picture %s  %8.2f ms a step\n", scene,
               (unsigned long long)app->counters.bodies, (unsigned long long)app->check.pairs,
               equal ? "checked" : "DIFFERENT", detail > 0.002 ? "good" : "BLANK", app->sample.profile.frame_ms);
    } else {
        printf("%-14s failed\n", scene);
    }
    if (app != NULL) view_close_app(app);
    free(app);
    return good;
}

int view_run_smoke(const view_options *options) {
    int failures = 0, count = 0;
    const char *scene = NULL;
    for (uint32_t i = 0; (scene = psv_shipped_scene_name(i)) != NULL; ++i) {
        if (!run_scene(options, scene)) ++failures;
        ++count;
    }
    printf("%d scenes, %d failed\n", count, failures);
    return failures == 0 && count > 0 ? VIEW_EXIT_GOOD : VIEW_EXIT_FAILED;
}
