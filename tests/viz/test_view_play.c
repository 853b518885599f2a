// What a user does with a scene that is shown: checks, files, settings. Driven turn by turn.
#include "view_driver.h"

#include <math.h>
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

static void test_figures(void **state) {
    (void)state;
    static view_history history;
    const int values[] = {5, 1, 4, 2, 3};
    assert_true(view_quantile(&history, 9, PSV_PHASE_SORT, 0.5) == 0);
    assert_int_equal(view_recent_count(&history, 1), 0);
    for (uint32_t i = 0; i < VIEW_HISTORY + 1000; ++i) {
        view_sample sample = {.frame_ms = 10};
        sample.profile.phase_ms[PSV_PHASE_SORT] = values[i % 5];
        sample.profile.phase_ms[PSV_PHASE_SOLVE] = 10;
        sample.profile.frame_ms = 100 * values[i % 5];
        view_add_sample(&history, &sample);
    }
    assert_int_equal(view_recent_count(&history, 1), 100);
    assert_int_equal(view_recent_count(&history, 0), 1);
    assert_int_equal(view_recent_count(&history, 1e9), VIEW_HISTORY);
    for (int k = 1; k <= 5; ++k) { // of 1 to 5, each equally often
        assert_true(view_quantile(&history, 100, PSV_PHASE_SORT, 0.2 * k - 0.01) == k);
        assert_true(view_quantile(&history, 100, VIEW_OF_STEP, 0.2 * k - 0.01) == 100 * k);
        assert_true(view_quantile(&history, 100, VIEW_OF_PHASES, 0.2 * k - 0.01) == 10 + k);
    }
    assert_true(view_quantile(&history, 1u << 20, VIEW_OF_FRAME, 1) == 10);
}

// A window of twice the size has a panel of twice the size. On a dense display the panel is larger, but not too large.
static void test_scale(void **state) {
    (void)state;
    assert_true(view_hud_scale(1280, 720, 96) == 1);
    assert_true(view_hud_scale(960, 540, 96) == 0.75f);
    assert_true(view_hud_scale(2560, 1440, 96) == 2);
    assert_true(view_hud_scale(1280, 720, 192) == 1.125f);
    assert_true(view_hud_scale(2560, 1440, 192) == 2);
    assert_true(view_hud_scale(1600, 800, 40) >= 1);
    assert_true(view_hud_scale(100, 100, 96) > 0.5f && view_hud_scale(1e5f, 1e5f, 900) <= 4);
}

// In a small window each tab shows all of its widgets, with everything open, on less than a quarter. In one of 1280x720
// they have the same places, times 4/3 (test_scale).
static void test_panel_fits(void **state) {
    (void)state;
    view_options options = driver_options();
    options.headless = false;
    options.no_vsync = true;
    options.hide_hud = false;
    options.no_shadows = true;
    options.bodies = 20;
    options.width = 960;
    options.height = 540;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, 2);
    app->paused = true;
    app->show_explanation = true;
    app->touch.picked = (psv_body_id){2, 0};
    psv_body_id *id = &app->touch.picked;
    while (!psv_body_is_valid(app->world, *id) && id->generation < 4)
        id->generation += 1;
    static const char *const tabs[] = {"tab cost", "tab scene", "tab methods", "tab play"};
    for (size_t tab = 0; tab < sizeof tabs / sizeof *tabs; ++tab) {
        driver_click(app, tabs[tab]);
        if (tab == 2) driver_click(app, "time all sorts");
        if (tab == 2) driver_click(app, "time all broad phases");
        if (tab == 1) driver_click(app, "check pairs (X)");
        driver_turns(app, 2);
        assert_false(view_hud_scrolls(app->hud));
        driver_picture with = driver_take(app);
        app->show_panel = false;
        driver_turns(app, 1);
        driver_picture without = driver_take(app);
        app->show_panel = true;
        driver_turns(app, 2);
        const size_t pixels = (size_t)with.width * (size_t)with.height;
        size_t covered = 0;
        for (size_t k = 0; k < 3 * pixels; k += 3)
            covered += memcmp(with.pixels + k, without.pixels + k, 3) != 0;
        print_message("%d x %d, %s: %.1f%%\n", with.width, with.height, tabs[tab],
                      100.0 * (double)covered / (double)pixels);
        assert_true(covered > pixels / 50 && covered < pixels / 4);
        driver_free(&with);
        driver_free(&without);
    }
    assert_true(app->hud_model.has_picked);
    driver_close(app);
}

// Each phase says what it is when the mouse lies over it; the panel folds into one line and back.
static void test_phases_and_fold(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    SDL_SetWindowSize(app->window.window, 640, 480);
    driver_turns(app, 4);
    for (int phase = 0; phase < PSV_PHASE_COUNT; ++phase) {
        char place[40];
        int x = 0, y = 0;
        snprintf(place, sizeof place, "phase %s", psv_phase_name((psv_phase)phase));
        assert_true(view_hud_find(app->hud, place, &x, &y));
        driver_move(app, x, y, 1, 1);
        driver_turns(app, 1);
        const size_t length = strlen(place) - 6;
        assert_memory_equal(view_hud_tip(app->hud), place + 6, length); // begins with the name
        assert_true(strlen(view_hud_tip(app->hud)) > length + 20);
    }
    int x = 0, y = 0;
    assert_true(view_hud_find(app->hud, "sort curve", &x, &y));
    driver_click(app, "fold");
    driver_turns(app, 2);
    assert_true(app->folded && !view_hud_find(app->hud, "sort curve", &x, &y));
    assert_true(view_hud_find(app->hud, "sort share", &x, &y) && y > app->renderer.targets.height * 9 / 10);
    driver_click(app, "unfold");
    driver_turns(app, 2);
    assert_true(!app->folded && view_hud_find(app->hud, "sort curve", &x, &y));
    driver_close(app);
}

// Sliders set the world's gravity, substeps, friction and restitution of its shapes; slow motion moves less. Another
// number of bodies begins the scene again.
static void test_sliders(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    SDL_SetWindowSize(app->window.window, 640, 480);
    driver_turns(app, 3);
    psv_world_def def;
    psv_shape_def shape;
    assert_int_equal(psv_world_shape(app->world, 0, &shape), PSV_OK);
    assert_false(app->play.friction_set);
    driver_click(app, "friction"); // the middle of the slider
    driver_click(app, "bounce");
    driver_click(app, "gravity");
    assert_int_equal(psv_get_world_def(app->world, &def), PSV_OK);
    assert_true(def.gravity[1] > -1 && def.gravity[1] < 1);
    for (uint32_t i = 0; i < psv_world_shape_count(app->world); ++i) {
        assert_int_equal(psv_world_shape(app->world, i, &shape), PSV_OK);
        assert_true(shape.friction > 0.6f && shape.friction < 0.9f);
        assert_true(shape.restitution > 0.4f && shape.restitution < 0.6f);
    }
    driver_click(app, "restart"); // back to what the scene has
    driver_wait_load(app);
    assert_int_equal(psv_get_world_def(app->world, &def), PSV_OK);
    assert_true(def.gravity[1] < -9 && !app->play.friction_set);
    for (int i = 0; i < 2; ++i)
        driver_key(app, SDLK_COMMA, KMOD_NONE);
    assert_true(app->play.time_scale == 0.25f);
    for (int i = 0; i < 9; ++i)
        driver_key(app, SDLK_PERIOD, KMOD_NONE);
    assert_true(app->play.time_scale == 2);
    const uint32_t substeps = def.substeps;
    driver_click(app, "substeps"); // the middle of 0 to 64
    assert_int_equal(psv_get_world_def(app->world, &def), PSV_OK);
    assert_true(def.substeps >= 31 && def.substeps <= 33 && app->play.substeps == def.substeps);
    driver_click(app, "undo");
    assert_int_equal(psv_get_world_def(app->world, &def), PSV_OK);
    assert_true(def.substeps == substeps && app->play.substeps == substeps);
    psv_world_counters before, after;
    assert_int_equal(psv_read_world_counters(app->world, &before), PSV_OK);
    driver_turns(app, 3);
    assert_int_equal(psv_read_world_counters(app->world, &after), PSV_OK);
    assert_int_equal(after.frame - before.frame, 6);
    const uint64_t others = psv_world_body_count(app->world) - 60; // the ground
    assert_int_equal(app->play.bodies, 60);
    driver_click(app, "bodies"); // the middle of 1 to 1,000,000, by logarithms
    driver_turns(app, 1);
    driver_wait_load(app);
    assert_true(app->play.bodies > 900 && app->play.bodies < 1100);
    assert_int_equal(psv_world_body_count(app->world), app->play.bodies + others);
    view_next_scene(app, 1); // of which 60 are wanted, as on the command line
    driver_wait_load(app);
    assert_int_equal(app->play.bodies, 60);
    driver_close(app);
}

// Every method is timed on this frame: sorters agree about the order, broad phases find the pairs that a test of all
// boxes finds; the world's state and its last pairs are as before.
static void test_methods(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    SDL_SetWindowSize(app->window.window, 400, 300);
    driver_turns(app, 4);
    app->paused = true;
    uint64_t before = 0, after = 0, pairs = 0, found = 0;
    assert_int_equal(psv_world_hash(app->world, &before), PSV_OK);
    assert_int_equal(psv_finish_pairs(psv_world_pair_finder(app->world), &found), PSV_OK);
    driver_click(app, "time all sorts");
    driver_click(app, "time all broad phases");
    const psv_box_set set = psv_world_box_set(app->world);
    const psv_aabb *boxes = psv_buffer_address(psv_world_boxes(app->world));
    const uint8_t *flags = psv_buffer_address(set.flags);
    for (uint64_t i = 0; i < set.count; ++i)
        for (uint64_t k = i + 1; k < set.count; ++k) {
            bool touch = ((flags[i] | flags[k]) & PSV_BOX_DISABLED) == 0 && (flags[i] & flags[k] & PSV_BOX_STATIC) == 0;
            for (int axis = 0; axis < 3; ++axis)
                touch = touch && boxes[i].min[axis] <= boxes[k].max[axis] && boxes[k].min[axis] <= boxes[i].max[axis];
            pairs += touch;
        }
    const view_comparison *sorts = &app->sorts_timed, *phases = &app->broad_phases_timed;
    assert_true(pairs > 50 && sorts->count >= 3 && phases->count >= 3);
    assert_int_equal(sorts->elements, psv_world_slot_count(app->world));
    for (int kind = 0; kind < 2; ++kind) {
        const view_comparison *timed = kind == 0 ? sorts : phases;
        uint32_t fastest = 0;
        for (uint32_t i = 0; i < timed->count; ++i) {
            const char *name =
                kind == 0 ? psv_sort_method_name(PSV_BACKEND_CPU, i) : psv_broad_phase_name(PSV_BACKEND_CPU, i);
            assert_string_equal(timed->methods[i].name, name);
            assert_string_equal(timed->methods[i].note, "");
            assert_true(timed->methods[i].ms >= timed->best_ms && timed->best_ms > 0);
            assert_int_equal(timed->methods[i].result, kind == 0 ? 1 : pairs);
            fastest += timed->methods[i].ms == timed->best_ms;
            int x = 0, y = 0;
            char place[48];
            snprintf(place, sizeof place, "%s %s", kind == 0 ? "sort" : "broad phase", name);
            assert_true(view_hud_find(app->hud, place, &x, &y));
        }
        assert_true(fastest >= 1);
    }
    assert_int_equal(psv_world_hash(app->world, &after), PSV_OK);
    assert_true(before == after);
    assert_int_equal(psv_finish_pairs(psv_world_pair_finder(app->world), &pairs), PSV_OK);
    assert_int_equal(pairs, found);
    driver_close(app);
}

static double gravity_of(view_app *app, int axis) {
    psv_world_def def;
    assert_int_equal(psv_get_world_def(app->world, &def), PSV_OK);
    return (double)def.gravity[axis];
}

// Undo, and the way back in time, bring back what sliders and shots changed; sliders show what the world has.
static void test_undo_and_sliders(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    SDL_SetWindowSize(app->window.window, 400, 300);
    driver_turns(app, 4);
    uint64_t first = 0, hash = 0;
    app->paused = true;
    assert_int_equal(psv_world_hash(app->world, &first), PSV_OK);
    const uint64_t start = app->rewind.now;
    driver_click(app, "gravity"); // the middle: none
    driver_click(app, "wind");    // likewise; a change of its own
    app->paused = false;
    const view_options options = app->options;
    app->options.headless = true; // steps alone: nobody sees these turns
    app->options.frames = UINT64_MAX;
    driver_turns(app, 40); // so that a state is kept behind the change
    app->options = options;
    app->paused = true;
    assert_true(fabs(gravity_of(app, 1)) < 1 && fabsf(app->play.gravity) < 1);
    driver_key(app, SDLK_SPACE, KMOD_NONE);
    const uint64_t bodies = psv_world_body_count(app->world);
    driver_key(app, SDLK_z, KMOD_LCTRL); // the shot
    assert_int_equal(psv_world_body_count(app->world), bodies - 1);
    view_set_time(app, start); // before the slider was moved
    driver_turns(app, 1);
    assert_true(gravity_of(app, 1) < -9.7 && app->play.gravity > 9.7f && app->hud_model.play.gravity > 9.7f);
    view_set_time(app, app->rewind.last);
    driver_turns(app, 1);
    assert_true(fabs(gravity_of(app, 1)) < 1 && fabsf(app->play.gravity) < 1);
    driver_click(app, "undo"); // the wind
    driver_click(app, "undo"); // gravity
    assert_int_equal(app->rewind.now, start);
    assert_int_equal(app->rewind.last, start);
    assert_int_equal(psv_world_hash(app->world, &hash), PSV_OK);
    assert_true(hash == first && app->play.gravity > 9.7f);
    driver_click(app, "undo");
    assert_non_null(strstr(app->toast.text, "nothing"));
    view_hud_actions actions = {.set_wind = true, .play = app->play};
    actions.play.wind = 3;
    view_set_play(app, &actions);
    assert_true(gravity_of(app, 0) == 3 && gravity_of(app, 1) < -9.7);
    view_follow_play(app);
    assert_true(fabsf(app->play.wind - 3) < 1e-4f && fabsf(app->play.gravity - 9.81f) < 1e-3f);
    driver_close(app);
}

static psv_body_id pick_moving(view_app *app) {
    const float(*velocities)[4] = psv_buffer_address(psv_world_velocities(app->world));
    psv_body_id id = {0};
    for (uint32_t i = 0; i < psv_world_slot_count(app->world) && id.index1 == 0; ++i)
        if (velocities[i][3] > 0) id.index1 = i + 1;
    while (!psv_body_is_valid(app->world, id) && id.generation < 9)
        id.generation += 1;
    app->touch.picked = id;
    return id;
}

static float height_of(view_app *app) {
    psv_body_state state;
    assert_int_equal(psv_get_body_state(app->world, app->touch.picked, &state), PSV_OK);
    return state.pose.position[1];
}

static uint32_t colour_of_picked(view_app *app) {
    const uint32_t *shapes = psv_buffer_address(psv_world_shape_indices(app->world));
    psv_shape_def def = psv_default_shape_def();
    assert_int_equal(psv_world_shape(app->world, shapes[app->touch.picked.index1 - 1], &def), PSV_OK);
    return def.colour;
}

static double largest_change(view_app *app, const driver_picture *before) {
    driver_turns(app, 2);
    driver_picture now = driver_take(app);
    const double largest = driver_compare(before, &now).largest;
    driver_free(&now);
    return largest;
}

#define PICKS 64

// How far the first body is along rays through the picture.
static void pick_all(view_app *app, float hits[PICKS]) {
    for (int i = 0; i < PICKS; ++i) {
        float direction[3];
        view_camera_ray(&app->camera, 0.3f + 0.05f * (float)(i % 8), 0.3f + 0.05f * (float)(i / 8),
                        view_app_aspect(app), direction);
        (void)view_pick(app->world, &app->camera, direction, &hits[i]);
    }
}

// By buttons and by keys: a pinned body stays in the air, a painted one has other colours, the camera follows one, a
// cut leaves bodies out of the picture and of picking, an explosion gives speed, speeds are drawn; all can be undone.
static void test_tools(void **state) {
    (void)state;
    view_options options = driver_options();
    options.headless = false;
    options.no_vsync = true;
    options.hide_hud = false;
    options.bodies = 60;
    options.width = 400;
    options.height = 300;
    options.no_shadows = true;
    view_app *app = driver_open(&options); // bodies that fall
    if (app == NULL) skip();
    driver_turns(app, 2);
    pick_moving(app);
    const uint64_t bodies = psv_world_body_count(app->world);
    driver_click(app, "pin");
    const float height = height_of(app);
    driver_turns(app, 6);
    assert_true(height_of(app) == height);
    driver_key(app, SDLK_l, KMOD_NONE);
    driver_turns(app, 8);
    assert_true(height_of(app) < height - 0.03f);
    uint32_t colours[2];
    driver_click(app, "paint");
    colours[0] = colour_of_picked(app);
    driver_key(app, SDLK_g, KMOD_NONE);
    colours[1] = colour_of_picked(app);
    assert_true(colours[0] != 0 && colours[1] != 0 && colours[0] != colours[1]);
    assert_int_equal(psv_world_body_count(app->world), bodies);
    driver_key(app, SDLK_z, KMOD_LCTRL);
    assert_int_equal(colour_of_picked(app), colours[0]);
    driver_click(app, "follow");
    driver_turns(app, 3);
    assert_true(app->follow && fabsf(app->camera.target[1] - height_of(app)) < 1e-3f);
    driver_key(app, SDLK_f, KMOD_NONE);
    assert_false(app->follow);

    app->paused = true;
    driver_key(app, SDLK_HOME, KMOD_NONE);
    app->show_panel = false;
    app->toast_until = 0; // «undone», which ends by the clock, would be in some of the pictures
    driver_turns(app, 2);
    driver_picture whole = driver_take(app);
    float hits[PICKS], cut_hits[PICKS];
    pick_all(app, hits);
    driver_key(app, SDLK_m, KMOD_NONE);
    assert_true(largest_change(app, &whole) > 20);
    pick_all(app, cut_hits);
    int farther = 0;
    for (int i = 0; i < PICKS; ++i) {
        assert_true(cut_hits[i] > 0.999f * hits[i]);
        farther += cut_hits[i] > hits[i] + 0.2f;
    }
    assert_true(farther > 0);
    driver_key(app, SDLK_m, KMOD_NONE);
    assert_true(largest_change(app, &whole) < 1);
    app->show_panel = true;
    driver_turns(app, 2);
    driver_click(app, "cut"); // the middle of the slider
    assert_true(app->cut_share > 0.4f && app->cut_share < 0.6f);
    view_set_cut(app, 0);
    app->show_panel = false;

    driver_key(app, SDLK_5, KMOD_NONE);
    assert_true(largest_change(app, &whole) > 4); // they fall
    driver_key(app, SDLK_5, KMOD_NONE);
    app->show_panel = true;
    driver_turns(app, 2);
    double before = 0, after = 0, momentum[3];
    assert_int_equal(psv_world_energy(app->world, &before, momentum), PSV_OK);
    driver_click(app, "explode");
    assert_int_equal(psv_world_energy(app->world, &after, momentum), PSV_OK);
    print_message("%s: energy %.3f of before\n", app->toast.text, after / before);
    assert_true(after > 1.02 * before);
    driver_key(app, SDLK_z, KMOD_LCTRL);
    assert_int_equal(psv_world_energy(app->world, &after, momentum), PSV_OK);
    assert_true(after == before);
    driver_move(app, app->renderer.targets.width / 2, app->renderer.targets.height / 2, 1, 1);
    driver_key(app, SDLK_j, KMOD_NONE);
    assert_int_equal(psv_world_energy(app->world, &after, momentum), PSV_OK);
    assert_true(after > before);
    driver_free(&whole);
    driver_close(app);
}

// Whether a pixel near the place of a point in the picture differs in two pictures of the same camera.
static bool differs_at(const view_app *app, const driver_picture *a, const driver_picture *b, const float p[3]) {
    const float *m = app->renderer.constants.view_projection;
    float clip[4];
    for (int i = 0; i < 4; ++i)
        clip[i] = m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
    const int x = (int)((0.5f + 0.5f * clip[0] / clip[3]) * (float)a->width);
    const int y = (int)((0.5f - 0.5f * clip[1] / clip[3]) * (float)a->height);
    assert_true(x > 1 && y > 1 && x < a->width - 2 && y < a->height - 2);
    for (int row = y - 1; row <= y + 1; ++row)
        for (int k = 3 * (x - 1); k < 3 * (x + 2); ++k)
            if (abs(a->pixels[3 * row * a->width + k] - b->pixels[3 * row * a->width + k]) > 12) return true;
    return false;
}

// The key begins the scene again, with a list of contacts. Of the highest contact of a tower, on which one box lies,
// the line is as long as a mean radius to each side; the lines of those below end under it.
static void test_forces(void **state) {
    (void)state;
    view_app *app = open_with_panel();
    if (app == NULL) skip();
    SDL_SetWindowSize(app->window.window, 400, 300);
    app->show_panel = false;
    driver_turns(app, 2);
    assert_true(psv_world_event_counts(app->world).bytes == 0);
    driver_key(app, SDLK_6, KMOD_NONE);
    driver_wait_load(app);
    driver_turns(app, 6);
    app->paused = true;
    view_frame_all(app);
    driver_turns(app, 2);
    driver_picture with = driver_take(app);
    const psv_event_counts *counts = psv_buffer_address(psv_world_event_counts(app->world));
    const psv_contact *contacts = psv_buffer_address(psv_world_contacts(app->world)), *top = contacts;
    assert_int_equal(app->streams.contacts, counts->contacts);
    assert_int_equal(counts->contacts, 60); // under each box
    driver_key(app, SDLK_6, KMOD_NONE);
    driver_turns(app, 1);
    driver_picture without = driver_take(app);
    for (uint64_t i = 1; i < counts->contacts; ++i)
        if (contacts[i].point[1] > top->point[1]) top = &contacts[i];
    const float(*positions)[4] = psv_buffer_address(psv_world_positions(app->world));
    const float(*velocities)[4] = psv_buffer_address(psv_world_velocities(app->world));
    const uint32_t box = top->a;
    const float reach = positions[box][3] * top->normal_force * velocities[box][3] / 9.81f;
    print_message("force of the highest box: %.2f of its weight\n", reach / positions[box][3]);
    assert_true(reach > 0.3f * positions[box][3] && reach < 3 * positions[box][3]);
    float p[3] = {top->point[0], top->point[1] + 0.85f * reach, top->point[2]};
    assert_true(differs_at(app, &with, &without, p));
    p[1] = top->point[1] + 1.4f * reach;
    assert_false(differs_at(app, &with, &without, p));
    app->show_panel = true;
    driver_turns(app, 2);
    driver_click(app, "forces"); // they are listed already
    assert_true(app->overlays == VIEW_OVERLAY_FORCES && app->load == NULL);
    driver_free(&with);
    driver_free(&without);
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
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_panel_fits),
        cmocka_unit_test(test_phases_and_fold),
        cmocka_unit_test(test_sliders),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_undo_and_sliders),
        cmocka_unit_test(test_forces),
        cmocka_unit_test(test_tools),
#if !defined(_WIN32)
        cmocka_unit_test(test_folder_of_pictures),
        cmocka_unit_test(test_key_picture),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
