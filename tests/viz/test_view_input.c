// Scripted input through every key, the mouse and every part of the panel; resize, minimise, focus loss, quit in a
// load.
#include "view_driver.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static view_app *open_with_panel(void) {
    view_options options = driver_options();
    options.headless = false; // a real (if unseen) window: events reach it as from a user
    options.no_vsync = true;
    options.hide_hud = false;
    options.width = 500;
    options.height = 400;
    options.bodies = 60;
    options.scene = "stack";
    options.supersample = 1;
    options.no_shadows = true;
    return driver_open(&options);
}

static bool pictures_differ(const driver_picture *a, const driver_picture *b) {
    return driver_compare(a, b).largest > 2.0;
}

static void test_run_keys(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    driver_key(app, SDLK_p, KMOD_NONE);
    assert_true(app->paused);
    uint64_t steps = app->steps;
    driver_turns(app, 2);
    assert_int_equal(app->steps, steps);
    driver_key(app, SDLK_o, KMOD_NONE);
    driver_turns(app, 1);
    assert_int_equal(app->steps, steps + 1);
    driver_key(app, SDLK_p, KMOD_NONE);
    driver_turns(app, 2);
    assert_true(app->steps > steps + 1);
    uint64_t loads = app->load_count;
    driver_key(app, SDLK_r, KMOD_NONE);
    driver_wait_load(app);
    assert_int_equal(app->load_count, loads + 1);
    assert_string_equal(app->scene_name, "stack");
    driver_key(app, SDLK_RIGHTBRACKET, KMOD_NONE);
    driver_wait_load(app);
    assert_string_not_equal(app->scene_name, "stack");
    driver_key(app, SDLK_LEFTBRACKET, KMOD_NONE);
    driver_wait_load(app);
    assert_string_equal(app->scene_name, "stack");
    driver_key(app, SDLK_k, KMOD_NONE); // the other backend, where there is one
    driver_wait_load(app);
    driver_key(app, SDLK_q, KMOD_LCTRL);
    assert_true(app->quit);
    assert_int_equal(app->exit_code, VIEW_EXIT_GOOD);
    driver_close(app);
}

static void test_view_keys(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    driver_key(app, SDLK_p, KMOD_NONE);
    const SDL_Keycode overlays[4] = {SDLK_1, SDLK_2, SDLK_3, SDLK_4};
    for (uint32_t i = 0; i < 4; ++i) {
        driver_key(app, overlays[i], KMOD_NONE);
        assert_int_equal(app->overlays, 1u << i);
        driver_key(app, overlays[i], KMOD_NONE);
        assert_int_equal(app->overlays, 0);
    }
    for (uint32_t i = 1; i <= VIEW_COLOUR_COUNT; ++i) {
        driver_key(app, SDLK_v, KMOD_NONE);
        assert_int_equal(app->colour, i % VIEW_COLOUR_COUNT);
    }
    driver_key(app, SDLK_t, KMOD_NONE);
    assert_true(app->transparent);
    assert_true(app->hud_model.ordering);
    assert_true(app->hud_model.order_ms > 0.0);
    driver_key(app, SDLK_t, KMOD_NONE);
    driver_key(app, SDLK_h, KMOD_NONE);
    assert_true(app->shadows);
    driver_key(app, SDLK_TAB, KMOD_NONE);
    assert_true(app->show_panel && app->folded);
    driver_key(app, SDLK_TAB, KMOD_NONE);
    assert_false(app->show_panel);
    driver_picture without = driver_take(app);
    driver_key(app, SDLK_TAB, KMOD_NONE);
    driver_turns(app, 1);
    driver_picture with = driver_take(app);
    assert_true(pictures_differ(&with, &without));
    driver_key(app, SDLK_F1, KMOD_NONE);
    driver_turns(app, 1);
    driver_picture help = driver_take(app);
    assert_true(app->show_help && pictures_differ(&with, &help));
    driver_key(app, SDLK_ESCAPE, KMOD_NONE);
    assert_false(app->show_help);
    driver_key(app, SDLK_HOME, KMOD_NONE);
    assert_true(fabsf(app->camera.target[1] - app->model.centre[1]) < 1.0e-4f);
    driver_key(app, SDLK_c, KMOD_NONE);
    assert_true(app->camera.fly);
    driver_key(app, SDLK_F11, KMOD_NONE); // full screen; offscreen has none, and says so
    driver_key(app, SDLK_F5, KMOD_NONE);  // means nothing
    driver_free(&without);
    driver_free(&with);
    driver_free(&help);
    driver_close(app);
}

static void test_method_keys(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    driver_turns(app, 2);
    driver_key(app, SDLK_p, KMOD_NONE);
    driver_key(app, SDLK_x, KMOD_NONE);
    assert_true(app->check.done);
    assert_int_equal(app->check.pairs, app->check.other_pairs);
    assert_true(app->check.pairs > 0);
    uint64_t pairs = app->check.pairs;
    const uint64_t stepped = app->counters.pairs;
    assert_true(stepped > 0);
    for (uint32_t i = 0; psv_broad_phase_name(PSV_BACKEND_CPU, i) != NULL; ++i) {
        driver_key(app, SDLK_b, KMOD_NONE);
        driver_turns(app, 1);
        assert_int_equal(app->counters.pairs, stepped); // of the last step, by whatever method
        assert_true(app->check.done);                   // a switch on a paused frame checks itself again
        assert_int_equal(app->check.pairs, pairs);
        assert_int_equal(app->check.other_pairs, pairs);
    }
    for (uint32_t i = 0; psv_sort_method_name(PSV_BACKEND_CPU, i) != NULL; ++i) {
        driver_key(app, SDLK_n, KMOD_NONE);
        assert_int_equal(app->check.pairs, pairs);
    }
    driver_close(app);
}

// Finds a pixel with a moving body under it.
static bool find_body(view_app *app, int *x, int *y) {
    for (*y = 150; *y < 390; *y += 5) {
        for (*x = 5; *x < 495; *x += 5) {
            float direction[3], distance = 0.0f;
            view_camera_ray(&app->camera, ((float)*x + 0.5f) / 500.0f, ((float)*y + 0.5f) / 400.0f, 500.0f / 400.0f,
                            direction);
            psv_body_id id = view_pick(app->world, &app->camera, direction, &distance);
            if (id.index1 == 0) continue;
            view_touch touch = {0};
            if (view_grab(&touch, app->world, &app->camera, direction)) return true;
        }
    }
    return false;
}

static void test_pick_grab_shoot(void **state) {
    (void)state;
    int x = 0, y = 0;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    driver_turns(app, 3);
    driver_key(app, SDLK_HOME, KMOD_NONE);
    driver_key(app, SDLK_p, KMOD_NONE);
    driver_key(app, SDLK_TAB, KMOD_NONE); // the panel takes the mouse where it is
    assert_true(find_body(app, &x, &y));
    driver_button(app, SDL_BUTTON_LEFT, true, x, y);
    driver_button(app, SDL_BUTTON_LEFT, false, x, y);
    driver_turns(app, 7);
    assert_true(app->touch.picked.index1 != 0);
    assert_true(app->hud_model.has_picked);
    assert_int_equal(app->hud_model.picked_slot, app->touch.picked.index1 - 1);
    assert_true(app->hud_model.partner_count > 0); // bodies of a stack lie on something
    assert_true(app->hud_model.picked_box.min[1] < app->hud_model.picked_box.max[1]);

    psv_body_state before, after;
    psv_body_id id = app->touch.picked;
    assert_int_equal(psv_get_body_state(app->world, id, &before), PSV_OK);
    driver_button(app, SDL_BUTTON_LEFT, true, x, y);
    driver_move(app, x, y - 30, 0, -30);
    driver_move(app, x, y - 60, 0, -30);
    assert_int_equal(psv_get_body_state(app->world, id, &after), PSV_OK);
    assert_true(after.pose.position[1] > before.pose.position[1]); // it follows the mouse up
    driver_window_event(app, SDL_WINDOWEVENT_FOCUS_LOST);
    driver_turns(app, 1);
    assert_int_equal(app->touch.grabbed.index1, 0);
    assert_false(app->mouse.left);
    driver_key(app, SDLK_ESCAPE, KMOD_NONE);
    assert_int_equal(app->touch.picked.index1, 0);

    float yaw = app->camera.yaw, distance = app->camera.distance;
    driver_button(app, SDL_BUTTON_RIGHT, true, 420, 200);
    driver_move(app, 460, 200, 40, 0);
    driver_button(app, SDL_BUTTON_RIGHT, false, 460, 200);
    assert_true(fabsf(app->camera.yaw - yaw) > 0.1f);
    driver_button(app, SDL_BUTTON_MIDDLE, true, 420, 200);
    driver_move(app, 460, 220, 40, 20);
    driver_button(app, SDL_BUTTON_MIDDLE, false, 460, 220);
    SDL_Event wheel = {0};
    wheel.wheel.type = SDL_MOUSEWHEEL;
    wheel.wheel.y = 2;
    assert_int_equal(SDL_PushEvent(&wheel), 1);
    driver_turns(app, 1);
    assert_true(app->camera.distance < distance);

    uint64_t bodies = psv_world_body_count(app->world);
    driver_key(app, SDLK_p, KMOD_NONE);
    for (int i = 0; i < 3; ++i) {
        driver_key(app, SDLK_SPACE, KMOD_NONE);
    }
    driver_turns(app, 2);
    uint64_t made = psv_world_body_count(app->world) - bodies;
    print_message("balls shot: %llu%s%s\n", (unsigned long long)made, made < 3 ? ", then: " : "", app->toast.text);
    assert_true(made == 3 || strncmp(app->toast.text, "shoot: ", 7) == 0); // or the reason is shown
    driver_close(app);
}

static void choose(view_app *app, const char *list, const char *name) {
    driver_click(app, list);
    driver_turns(app, 1); // the list is laid out when it has been open for a frame
    driver_click(app, name);
    driver_turns(app, 1);
}

static void check_panel_lists(view_app *app) {
    choose(app, "sort", "qsort");
    assert_string_equal(app->sort_method, "qsort");
    choose(app, "broad phase", "brute");
    assert_string_equal(app->broad_phase, "brute");
    choose(app, "colour", "cell");
    assert_int_equal(app->colour, VIEW_COLOUR_CELL);
    choose(app, "scene", "pyramid");
    driver_wait_load(app);
    assert_string_equal(app->scene_name, "pyramid");
    assert_string_equal(app->sort_method, "qsort"); // methods stay over a change of scene
    driver_click(app, "backend");
    driver_turns(app, 1);
    driver_click(app, "cpu");
    assert_int_equal(psv_context_backend(app->context), PSV_BACKEND_CPU);
}

static void check_panel_switches(view_app *app) {
    for (uint32_t i = 0; i < VIEW_OVERLAY_COUNT; ++i) {
        driver_click(app, view_overlay_name(i));
        assert_int_equal(app->overlays, 1u << i);
        driver_click(app, view_overlay_name(i));
        assert_int_equal(app->overlays, 0);
    }
    driver_click(app, "transparent");
    assert_true(app->transparent);
    driver_click(app, "transparent");
    driver_click(app, "shadows");
    assert_true(app->shadows);
    driver_click(app, "shadows");
    driver_click(app, "pause");
    assert_true(app->paused);
    uint64_t steps = app->steps;
    driver_click(app, "step");
    driver_turns(app, 1);
    assert_int_equal(app->steps, steps + 1);
    driver_click(app, "check pairs (X)");
    assert_true(app->check.done && app->check.pairs == app->check.other_pairs);
    driver_click(app, "explain");
    driver_turns(app, 1);
    assert_non_null(strstr(app->hud_model.explanation, "\nmethod: "));
    assert_non_null(strstr(app->hud_model.explanation, "\nnext frame: "));
    driver_click(app, "explain");
    driver_turns(app, 1);
    assert_string_equal(app->hud_model.explanation, "");
    driver_click(app, "frame");
    assert_true(fabsf(app->camera.target[1] - app->model.centre[1]) < 1.0e-4f);
    driver_click(app, "help");
    assert_true(app->show_help);
    driver_click(app, "help");
    driver_click(app, "go on");
    assert_false(app->paused);
}

// The toast ends with ": PATH" of a file that is there, in the folder.
static void expect_file(const view_app *app, const char *ending) {
    const char *path = strstr(app->toast.text, ": ");
    assert_non_null(path);
    path += 2;
    assert_memory_equal(path, app->options.folder, strlen(app->options.folder));
    assert_string_equal(path + strlen(path) - strlen(ending), ending);
    assert_int_equal(access(path, R_OK), 0);
}

static void check_panel_files(view_app *app) {
    driver_click(app, "CSV");
    expect_file(app, ".csv");
    driver_click(app, "trace");
    expect_file(app, ".trace.json");
    driver_click(app, "picture");
    driver_turns(app, 1);
    expect_file(app, ".png");
    driver_click(app, "video");
    if (view_is_recording(&app->video)) { // ffmpeg is there
        driver_turns(app, 2);
        driver_click(app, "stop video");
        expect_file(app, ".mp4");
    } else {
        assert_non_null(strstr(app->toast.text, "ffmpeg"));
    }
}

static void remove_folder(const char *folder) {
    char path[1200];
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        if (strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0) assert_int_equal(remove(path), 0);
    }
    closedir(files);
    assert_int_equal(rmdir(folder), 0);
}

static void test_panel(void **state) {
    (void)state;
    char folder[] = "/tmp/pairsieve-view-XXXXXX";
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    SDL_SetWindowSize(app->window.window, 380, 740); // little more than the panel: quick to draw
    assert_non_null(mkdtemp(folder));
    app->options.folder = folder; // the buttons write here
    driver_turns(app, 2);
    check_panel_switches(app);
    check_panel_files(app);
    check_panel_lists(app);
    uint64_t loads = app->load_count;
    driver_click(app, "restart");
    driver_wait_load(app);
    assert_int_equal(app->load_count, loads + 1);
    remove_folder(folder);
    driver_close(app);
}

static void test_window_changes(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    if (strcmp(SDL_GetCurrentVideoDriver(), "wayland") == 0 && strstr(app->window.renderer, "llvmpipe") != NULL) {
        print_message("no resize: Mesa 22.3's software renderer copies past its buffer then, on Wayland\n");
    } else {
        SDL_SetWindowSize(app->window.window, 400, 300);
        driver_turns(app, 3);
        int width = 0, height = 0;
        SDL_GL_GetDrawableSize(app->window.window, &width, &height);
        assert_int_equal(app->renderer.targets.width, width);
        assert_int_equal(app->renderer.targets.height, height);
        assert_int_equal(width, 400);
    }
    driver_window_event(app, SDL_WINDOWEVENT_MINIMIZED);
    driver_turns(app, 1);
    uint64_t steps = app->steps;
    driver_turns(app, 2);
    assert_int_equal(app->steps, steps);
    driver_window_event(app, SDL_WINDOWEVENT_RESTORED);
    driver_turns(app, 2);
    assert_true(app->steps > steps);
    driver_window_event(app, SDL_WINDOWEVENT_CLOSE);
    assert_false(view_turn_app(app));
    driver_close(app);
}

// A quit while a scene loads ends in order; ASan sees to it that nothing is left behind.
static void test_quit_in_load(void **state) {
    (void)state;
    view_options options = driver_options();
    view_message message = {""};
    options.headless = false;
    options.bodies = 20000;
    view_app *app = calloc(1, sizeof *app);
    assert_non_null(app);
    if (!view_open_app(app, &options, &message)) {
        driver_close(app);
        skip();
    }
    assert_non_null(app->load);
    SDL_Event quit = {.type = SDL_QUIT};
    assert_int_equal(SDL_PushEvent(&quit), 1);
    assert_false(view_turn_app(app));
    assert_int_equal(app->exit_code, VIEW_EXIT_GOOD);
    driver_close(app);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_keys),        cmocka_unit_test(test_view_keys), cmocka_unit_test(test_method_keys),
        cmocka_unit_test(test_pick_grab_shoot), cmocka_unit_test(test_panel),     cmocka_unit_test(test_window_changes),
        cmocka_unit_test(test_quit_in_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
