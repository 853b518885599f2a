// The start page: a picture of each shipped scene, chosen by keys or by the mouse. Driven turn by turn.
#include "view_driver.h"

#include <math.h>
#include <string.h>

static view_app *open_page(void) {
    view_options options = driver_options();
    options.headless = false;
    options.no_vsync = true;
    options.hide_hud = false;
    options.no_shadows = true;
    options.start_page = true;
    options.bodies = 40;
    options.width = 960;
    options.height = 540;
    view_app *app = driver_open(&options);
    if (app != NULL) driver_turns(app, 2);
    return app;
}

static void test_command_line(void **state) {
    (void)state;
    char *lines[][4] = {{"pairsieve-view", "--bodies", "9"},     {"pairsieve-view", "drop", "--paused"},
                        {"pairsieve-view", "--headless", "-h"},  {"pairsieve-view", "--frames", "3"},
                        {"pairsieve-view", "--replay", "a.zip"}, {"pairsieve-view"}};
    const bool wanted[] = {true, false, false, false, false, true};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        view_options options = view_default_options();
        view_message message = {""};
        int count = 0;
        while (count < 4 && lines[i][count] != NULL)
            ++count;
        assert_true(view_parse_options(count, lines[i], &options, &message));
        assert_int_equal(options.start_page, wanted[i]);
        assert_string_equal(options.scene, "drop"); // without a window it is this one, as ever
    }
}

// Mean colour of a square of 2 * half + 1 pixels.
static void mean_at(const driver_picture *picture, int x, int y, int half, double mean[3]) {
    memset(mean, 0, 3 * sizeof *mean);
    for (int dy = -half; dy <= half; ++dy)
        for (int dx = -half; dx <= half; ++dx)
            for (int k = 0; k < 3; ++k)
                mean[k] += picture->pixels[3 * ((y + dy) * picture->width + x + dx) + k];
    for (int k = 0; k < 3; ++k)
        mean[k] /= (2 * half + 1) * (2 * half + 1);
}

// In a window of 960x540 all scenes are in sight, each with the middle of its own file.
static void test_pictures(void **state) {
    (void)state;
    view_app *app = open_page();
    if (app == NULL) skip();
    assert_true(app->start.shown && app->world == NULL && app->load == NULL);
    app->start.chosen = VIEW_START_SCENES; // no frame about one of them
    driver_turns(app, 1);
    driver_picture page = driver_take(app);
    uint32_t count = 0;
    double sum = 0;
    for (const char *name; (name = psv_shipped_scene_name(count)) != NULL; ++count) {
        char place[64], path[1024];
        double shown[3], stored[3], difference = 0;
        int x = 0, y = 0;
        snprintf(place, sizeof place, "start %s", name);
        assert_true(view_hud_find(app->hud, place, &x, &y));
        assert_true(x > 40 && x < page.width - 40 && y > 20 && y < page.height - 20);
        snprintf(path, sizeof path, "%s/viz/start/pictures/start_%s.jpg", PAIRSIEVE_SOURCE_DIR, name);
        driver_picture file = driver_load_png(path);
        assert_non_null(file.pixels);
        assert_true(file.width * 9 == file.height * 16);
        mean_at(&page, x, y, 6, shown);
        mean_at(&file, file.width / 2, file.height / 2, 12, stored);
        for (int k = 0; k < 3; ++k)
            difference = fmax(difference, fabs(shown[k] - stored[k]));
        if (difference > 20) fail_msg("the picture of %s differs by %.1f", name, difference);
        sum += difference;
        driver_free(&file);
    }
    print_message("%u scenes, mean difference %.2f\n", count, sum / count);
    assert_int_equal(count, app->start.count);
    assert_true(sum / count < 6);
    driver_free(&page);
    driver_close(app);
}

static void test_choice(void **state) {
    (void)state;
    view_app *app = open_page();
    if (app == NULL) skip();
    const uint32_t columns = view_hud_start_columns(app->hud);
    assert_true(columns > 2);
    assert_int_equal(app->start.chosen, 0);
    driver_key(app, SDLK_LEFT, KMOD_NONE); // nothing lies before the first one
    driver_key(app, SDLK_UP, KMOD_NONE);
    assert_int_equal(app->start.chosen, 0);
    driver_key(app, SDLK_DOWN, KMOD_NONE);
    driver_key(app, SDLK_RIGHT, KMOD_NONE);
    assert_int_equal(app->start.chosen, columns + 1);
    driver_key(app, SDLK_END, KMOD_NONE);
    assert_null(psv_shipped_scene_name(app->start.chosen + 1));
    driver_key(app, SDLK_ESCAPE, KMOD_NONE); // there is no scene to go back to
    driver_key(app, SDLK_p, KMOD_NONE);      // keys are the page's
    assert_true(app->start.shown && !app->paused);
    driver_key(app, SDLK_HOME, KMOD_NONE);
    driver_key(app, SDLK_RETURN, KMOD_NONE);
    driver_wait_load(app);
    assert_string_equal(app->scene_name, psv_shipped_scene_name(0));
    assert_false(app->start.shown);
    driver_turns(app, 2);
    driver_key(app, SDLK_F2, KMOD_NONE);
    const uint64_t steps = app->steps;
    driver_turns(app, 3);
    assert_true(app->start.shown && app->steps == steps && steps > 0);
    driver_key(app, SDLK_ESCAPE, KMOD_NONE);
    driver_turns(app, 1);
    assert_true(!app->start.shown && app->steps > steps);
    driver_click(app, "start page"); // of the panel
    driver_turns(app, 1);
    driver_click(app, "start stack");
    driver_wait_load(app);
    assert_string_equal(app->scene_name, "stack");
    assert_false(app->start.shown);
    driver_close(app);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_line),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
