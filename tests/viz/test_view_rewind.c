// Back in time: five seconds back and on again gives the bytes of the first time, also in slow and in fast motion; what
// the user changed ends the way that can be repeated.
#include "view_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BACK 300 // frames: five seconds
#define MOST 720

static char path[64];

static uint64_t hash_of(view_app *app) {
    uint64_t hash = 0;
    assert_int_equal(psv_world_hash(app->world, &hash), PSV_OK);
    return hash;
}

// A scene in which bodies appear while it runs.
static void write_emitter(void) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    (void)fputs(
        "{\"bodies\": 120, \"shapes\": {\"ground\": {\"type\": \"plane\"}, \"ball\": {\"type\": \"sphere\"}},"
        "\"fixed\": [{\"shape\": \"ground\"}], \"view\": {\"eye\": [0, 4, 20], \"target\": [0, 2, 0]},"
        "\"generators\": [{\"type\": \"emitter\", \"shapes\": [\"ball\"], \"rate\": 15, \"position\": [0, 9, 0]}]}",
        file);
    assert_int_equal(fclose(file), 0);
}

// Nothing is drawn: the pictures of these turns are not kept.
static view_app *open_scene(const char *scene) {
    view_options options = driver_options();
    options.scene = scene;
    options.bodies = 80;
    options.frames = UINT64_MAX;
    return driver_open(&options);
}

static void run(view_app *app, uint64_t *hashes, int first, int last) {
    for (int turn = first + 1; turn <= last; ++turn) {
        driver_turns(app, 1);
        hashes[turn] = hash_of(app);
    }
}

static void go_to(view_app *app, uint64_t step, uint64_t hash) {
    view_set_time(app, step);
    assert_int_equal(app->rewind.now, step);
    if (hash_of(app) != hash) fail_msg("step %d has other bytes than the first time", (int)step);
}

static void five_seconds_back(void **state) {
    (void)state;
    static const char *const scenes[] = {"drop", "gravity", "brownian", "stack", path};
    static uint64_t first[MOST + 1], again[MOST + 1];
    write_emitter();
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) {
        view_app *app = open_scene(scenes[i]);
        if (app == NULL) skip();
        first[0] = hash_of(app);
        run(app, first, 0, 400);
        app->paused = true;
        go_to(app, 400 - BACK, first[400 - BACK]);
        app->paused = false;
        run(app, again, 400 - BACK, 400);
        assert_memory_equal(again + 401 - BACK, first + 401 - BACK, BACK * sizeof *first);
        app->paused = true; // to and fro, without going on in between
        static const uint64_t steps[] = {31, 30, 29, 400, 399, 155, 156, 0, 1, 210};
        for (size_t k = 0; k < sizeof steps / sizeof *steps; ++k)
            go_to(app, steps[k], first[steps[k]]);
        driver_close(app);
    }
}

// Ten seconds are kept, not more; speeds are repeated as they were.
static void ten_seconds_at_any_speed(void **state) {
    (void)state;
    static uint64_t first[MOST + 1];
    view_app *app = open_scene("drop");
    if (app == NULL) skip();
    run(app, first, 0, 300);
    app->play.time_scale = 0.3f;
    run(app, first, 300, 500);
    app->play.time_scale = 1.7f;
    run(app, first, 500, MOST);
    app->play.time_scale = 1.0f;
    app->paused = true;
    view_time_line line;
    view_fill_time_line(app, &line);
    assert_true(line.shown && line.now == MOST && line.last == MOST);
    assert_in_range(line.first, MOST - VIEW_REWIND_STEPS, MOST - VIEW_REWIND_STEPS + 30);
    go_to(app, line.first, first[line.first]);
    go_to(app, 430, first[430]);
    go_to(app, 640, first[640]);
    view_set_time(app, 0);
    assert_int_equal(app->rewind.now, line.first);
    view_move_time(app, 17);
    assert_int_equal(app->rewind.now, line.first + 17);
    assert_true(hash_of(app) == first[line.first + 17]);
    driver_close(app);
}

static void what_the_user_changed(void **state) {
    (void)state;
    static uint64_t first[MOST + 1];
    view_app *app = open_scene("drop");
    if (app == NULL) skip();
    run(app, first, 0, 40);
    driver_key(app, SDLK_SPACE, KMOD_NONE); // shoots, and makes a turn
    first[41] = hash_of(app);
    run(app, first, 41, 100);
    app->paused = true;
    go_to(app, 40, first[40]);
    view_set_time(app, 50); // the state of step 30 lies before the shot, the next one after 50
    assert_int_equal(app->rewind.now, 40);
    assert_true(hash_of(app) == first[40]);
    go_to(app, 75, first[75]);
    go_to(app, 60, first[60]);
    view_set_time(app, 40);
    app->paused = false;
    driver_turns(app, 1); // another future: without the shot
    assert_true(hash_of(app) != first[41]);
    assert_int_equal(app->rewind.last, 41);
    const uint64_t hash = hash_of(app);
    app->paused = true;
    go_to(app, 12, first[12]);
    go_to(app, 41, hash);
    driver_close(app);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_seconds_back),
        cmocka_unit_test(ten_seconds_at_any_speed),
        cmocka_unit_test(what_the_user_changed),
    };
    (void)snprintf(path, sizeof path, "./test_view_rewind_%ld.json", (long)getpid());
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    (void)remove(path);
    return failures;
}
