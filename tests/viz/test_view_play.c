// What a user does with a scene that is shown: checks, files, settings. Driven turn by turn.
#include "view_driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

#if !defined(_WIN32)
static void expect_name(const char *chosen, const char *scene, const char *wanted) {
    char path[VIEW_PATH_BYTES];
    view_message message = {""};
    assert_true(view_name_user_file(path, chosen, scene, 7, "png", &message));
    assert_string_equal(path, wanted);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

// Pictures go to the user's folder of pictures, as XDG has it, under names that no file has.
static void test_folder_of_pictures(void **state) {
    (void)state;
    char folder[] = "/tmp/pairsieve-home-XXXXXX", path[1200], text[1200], wanted[1200];
    view_message message = {""};
    assert_non_null(mkdtemp(folder));
    setenv("HOME", folder, 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_PICTURES_DIR");
    snprintf(wanted, sizeof wanted, "%s/Pictures/pairsieve/pairsieve-drop-000007.png", folder);
    expect_name(NULL, "drop", wanted);
    write_file(wanted, "kept");
    snprintf(wanted, sizeof wanted, "%s/Pictures/pairsieve/pairsieve-drop-000007-2.png", folder);
    expect_name(NULL, "a folder/drop.json", wanted);
    snprintf(path, sizeof path, "%s/.config", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/.config/user-dirs.dirs", folder);
    write_file(path,
               "# XDG_PICTURES_DIR=\"/no\"\nXDG_MUSIC_DIR=\"$HOME/m\"\nXDG_PICTURES_DIR=\"$HOME/Meine Bilder\"\n");
    snprintf(wanted, sizeof wanted, "%s/Meine Bilder/pairsieve/pairsieve-my_scene-000007.png", folder);
    expect_name(NULL, "/x/my scene.json", wanted);
    snprintf(text, sizeof text, "%s/set", folder);
    setenv("XDG_PICTURES_DIR", text, 1);
    snprintf(wanted, sizeof wanted, "%s/set/pairsieve/pairsieve-drop-000007.png", folder);
    expect_name(NULL, "drop", wanted);
    snprintf(wanted, sizeof wanted, "%s/x/y/pairsieve-drop-000007.png", folder);
    snprintf(text, sizeof text, "%s/x/y", folder);
    expect_name(text, "drop", wanted);
    snprintf(text, sizeof text, "%s/.config/user-dirs.dirs/below", folder); // a file is in the way
    assert_false(view_name_user_file(path, text, "drop", 7, "png", &message));
    assert_non_null(strstr(message.text, "--folder names another"));
    snprintf(text, sizeof text, "rm -r '%s'", folder);
    assert_int_equal(system(text), 0);
}

// F12 writes no file into the working folder.
static void test_key_picture(void **state) {
    (void)state;
    char folder[] = "/tmp/pairsieve-view-XXXXXX", text[1200];
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    assert_non_null(mkdtemp(folder));
    app->options.folder = folder;
    driver_key(app, SDLK_F12, KMOD_NONE);
    driver_turns(app, 1);
    snprintf(text, sizeof text, "picture: %s/pairsieve-stack-", folder);
    assert_memory_equal(app->toast.text, text, strlen(text));
    driver_picture picture = driver_load_png(app->toast.text + 9);
    assert_int_equal(picture.width, app->renderer.targets.width);
    driver_free(&picture);
    driver_close(app);
    snprintf(text, sizeof text, "rm -r '%s'", folder);
    assert_int_equal(system(text), 0);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_as_bodies_fall_asleep),
        cmocka_unit_test(test_rays_at_rest),
#if !defined(_WIN32)
        cmocka_unit_test(test_folder_of_pictures),
        cmocka_unit_test(test_key_picture),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
