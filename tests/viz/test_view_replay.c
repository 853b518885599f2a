// Replays in the viewer: at frame n the picture of the run at frame n, within the bound of the poses; the time line.
#include "view_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 130          // past the 120th, by which the scene is measured again
#define CLEAR 24            // of 255: a pixel that differs by more is another one
#define MOST_CHANGED 0.0025 // share of pixels that are other ones; edges that a 400th of a body moves
#define MOST_MEAN 0.25      // of 255, over all pixels

static char path[64];

typedef struct picture_difference {
    double changed, mean;
} picture_difference;

static picture_difference compare(const driver_picture *a, const driver_picture *b) {
    picture_difference found = {0};
    const size_t pixels = (size_t)a->width * (size_t)a->height;
    assert_true(a->width == b->width && a->height == b->height);
    for (size_t i = 0; i < pixels; ++i) {
        int largest = 0;
        for (size_t c = 3 * i; c < 3 * i + 3; ++c) {
            const int difference = abs((int)a->pixels[c] - (int)b->pixels[c]);
            if (difference > largest) largest = difference;
            found.mean += difference;
        }
        found.changed += largest > CLEAR;
    }
    found.changed /= (double)pixels;
    found.mean /= 3.0 * (double)pixels;
    return found;
}

static view_options options_of(const char *scene, uint64_t bodies) {
    view_options options = driver_options();
    options.scene = scene;
    options.bodies = bodies;
    options.width = 320;
    options.height = 180;
    options.supersample = 2;
    return options;
}

// The run's pictures at two frames; the file is written when the viewer closes.
static bool record(const char *scene, uint64_t bodies, const int frames[2], driver_picture pictures[2]) {
    view_options options = options_of(scene, bodies);
    options.record = path;
    view_app *app = driver_open(&options);
    if (app == NULL) return false;
    for (int i = 0, now = 0; i < 2; ++i) {
        app->options.frames = UINT64_MAX; // none of them is kept, so none is drawn
        driver_turns(app, frames[i] - now - 1);
        app->options.frames = 0;
        driver_turns(app, 1);
        now = frames[i];
        pictures[i] = driver_take(app);
    }
    assert_int_equal(app->counters.frame, frames[1]);
    driver_close(app);
    return true;
}

static view_app *open_replay(uint64_t at, bool headless) {
    view_options options = options_of("drop", 0);
    options.replay = path;
    options.at = at;
    options.headless = headless;
    options.no_vsync = true;
    options.hide_hud = headless;
    if (!headless) options.supersample = 1;
    options.paused = !headless;
    return driver_open(&options);
}

static void same_pictures(void **state) {
    (void)state;
    static const struct {
        const char *scene;
        uint64_t bodies;
    } scenes[] = {{"drop", 300}, {"castle", 300}, {"chairs", 60}, {"dice", 100}, {"landscape", 300}};
    static const int frames[2] = {40, FRAMES};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) {
        driver_picture run[2], replayed[2];
        double most = 0;
        if (!record(scenes[i].scene, scenes[i].bodies, frames, run)) skip();
        for (int k = 0; k < 2; ++k) {
            view_app *app = open_replay((uint64_t)frames[k], true);
            assert_non_null(app);
            driver_turns(app, 1);
            assert_int_equal(app->counters.frame, frames[k]);
            replayed[k] = driver_take(app);
            driver_close(app);
            const picture_difference found = compare(&run[k], &replayed[k]);
            print_message("%-10s frame %3d: %.3f%% of pixels are other ones, mean %.4f\n", scenes[i].scene, frames[k],
                          100 * found.changed, found.mean);
            assert_true(found.changed <= MOST_CHANGED && found.mean <= MOST_MEAN);
            if (found.mean > most) most = found.mean;
        }
        const picture_difference other = compare(&run[0], &replayed[1]);
        print_message("%-10s frames 40 and 130 differ by %.2f%%, mean %.3f\n", scenes[i].scene, 100 * other.changed,
                      other.mean);
        assert_true(other.mean > 10 * most); // frames are told apart
        for (int k = 0; k < 2; ++k) {
            driver_free(&run[k]);
            driver_free(&replayed[k]);
        }
    }
}

// By keys, by the slider and by playing; a frame has one picture, however one came to it.
static void time_line(void **state) {
    (void)state;
    driver_picture pictures[2];
    const int frames[2] = {40, FRAMES};
    if (!record("drop", 100, frames, pictures)) skip();
    view_app *app = open_replay(0, false);
    assert_non_null(app);
    driver_turns(app, 1);
    assert_int_equal(app->counters.frame, 0);
    app->paused = false;
    driver_turns(app, 21); // the first shows frame 0
    assert_int_equal(app->counters.frame, 20);
    app->show_panel = false;
    driver_key(app, SDLK_LEFT, KMOD_NONE);
    assert_true(app->paused);
    driver_turns(app, 3);
    assert_int_equal(app->counters.frame, 19);
    driver_key(app, SDLK_RIGHT, KMOD_SHIFT);
    assert_int_equal(app->counters.frame, 79);
    driver_key(app, SDLK_LEFT, KMOD_SHIFT);
    driver_key(app, SDLK_LEFT, KMOD_SHIFT);
    assert_int_equal(app->counters.frame, 0);
    driver_key(app, SDLK_o, KMOD_NONE);
    assert_int_equal(app->counters.frame, 1);
    int x = 0, y = 0;
    assert_true(view_hud_find(app->hud, "time line", &x, &y));
    driver_move(app, x, y, 0, 0);
    driver_turns(app, 1);
    driver_button(app, SDL_BUTTON_LEFT, true, x, y);
    driver_turns(app, 2);
    driver_button(app, SDL_BUTTON_LEFT, false, x, y);
    driver_turns(app, 2);
    assert_in_range(app->counters.frame, FRAMES / 2 - 3, FRAMES / 2 + 3);
    app->paused = false;
    driver_turns(app, FRAMES);
    assert_int_equal(app->counters.frame, FRAMES);
    assert_true(app->paused); // at its end
    const uint64_t slots = psv_world_slot_count(app->world);
    driver_key(app, SDLK_SPACE, KMOD_NONE);
    assert_int_equal(psv_world_slot_count(app->world), slots); // nothing is shot at what was
    driver_key(app, SDLK_2, KMOD_NONE);
    driver_turns(app, 1);
    assert_int_equal(app->overlays, 0);
    driver_close(app);
    driver_free(&pictures[0]);
    driver_free(&pictures[1]);
}

static void damaged(void **state) {
    (void)state;
    view_options options = options_of("drop", 0);
    FILE *file = fopen(path, "wb");
    assert_true(file != NULL && fputs("no replay", file) >= 0 && fclose(file) == 0);
    options.replay = path;
    view_app *app = calloc(1, sizeof *app);
    view_message message = {""};
    assert_non_null(app);
    if (!view_open_app(app, &options, &message)) {
        driver_close(app);
        skip();
    }
    assert_null(app->world);
    assert_int_equal(app->exit_code, VIEW_EXIT_USAGE);
    driver_close(app);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_pictures),
        cmocka_unit_test(time_line),
        cmocka_unit_test(damaged),
    };
    (void)snprintf(path, sizeof path, "test_view_replay_%ld.replay", (long)getpid());
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    (void)remove(path);
    return failures;
}
