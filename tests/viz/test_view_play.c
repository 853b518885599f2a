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

// A picture by rays that nothing disturbs gets a pixel for each of the window's, and comes near the picture that many
// samples make. A turn of the camera makes it coarse again.
static void test_rays_at_rest(void **state) {
    (void)state;
    view_options options = driver_options();
    options.headless = false;
    options.no_vsync = true;
    options.ray_traced = true;
    options.paused = true;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    const uint32_t width = (uint32_t)app->renderer.targets.width, height = (uint32_t)app->renderer.targets.height;
    app->traced.coarse = 5;
    app->camera.yaw += 0.1f;
    driver_turns(app, 1);
    assert_true(app->traced.width < width / 2);
    for (int i = 0; i < 12 && app->traced.statistics.added_up < 8; ++i)
        driver_turns(app, 1);
    assert_int_equal(app->traced.width, width);
    assert_int_equal(app->traced.height, height);
    assert_int_equal(app->traced.statistics.added_up, 8);
    driver_picture early = driver_take(app);
    driver_turns(app, 56);
    assert_int_equal(app->traced.statistics.added_up, 64);
    driver_picture late = driver_take(app);
    driver_turns(app, 64);
    driver_picture later = driver_take(app);
    const double first = driver_compare(&early, &late).mean, then = driver_compare(&late, &later).mean;
    print_message("rays: 8 and 64 pictures differ by %.3f, 64 and 128 by %.3f\n", first, then);
    assert_true(then > 0 && then < 0.5 * first); // each sample changes less
    app->camera.yaw += 0.1f;
    driver_turns(app, 1);
    assert_true(app->traced.width < width);
    app->paused = false; // steps: nothing adds up, and no picture is whole
    app->traced.coarse = 8;
    driver_turns(app, 4);
    assert_true(app->traced.width < width);
    driver_free(&early);
    driver_free(&late);
    driver_free(&later);
    driver_close(app);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_as_bodies_fall_asleep),
        cmocka_unit_test(test_rays_at_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
