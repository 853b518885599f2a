// What a user does with a scene that is shown: checks, files, settings. Driven turn by turn.
#include "view_driver.h"

#include <stdlib.h>
#include <string.h>

static view_app *open_with_panel(void) {
    view_options options = driver_options();
    options.headless = false; // a real (if unseen) window: events reach it as from a user
    options.no_vsync = true;
    options.hide_hud = false;
    options.bodies = 60;
    options.scene = "stack";
    options.no_shadows = true;
    return driver_open(&options);
}

// A step counts the pairs of bodies that fall asleep at its end; a search after it leaves those pairs out.
static void test_check_as_bodies_fall_asleep(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    for (int turn = 0; turn < 400 && app->check.settled == 0; ++turn) {
        driver_turns(app, 1);
        view_run_check(app);
        assert_int_equal(app->check.pairs, app->counters.pairs);
        assert_int_equal(app->check.other_pairs, app->counters.pairs);
    }
    assert_true(app->check.settled > 0 && app->counters.asleep > 0);
    app->check.done = false;
    app->settled_frame = 0; // as if nobody had checked before the switch
    const uint64_t stepped = app->counters.pairs;
    app->paused = true;
    driver_key(app, SDLK_b, KMOD_NONE);
    driver_key(app, SDLK_x, KMOD_NONE);
    assert_int_equal(app->counters.pairs, stepped);
    assert_int_equal(app->check.pairs, stepped);
    assert_true(view_check_agrees(&app->check));
    driver_close(app);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_as_bodies_fall_asleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
