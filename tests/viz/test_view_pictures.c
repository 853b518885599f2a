// Every scene, overlay and colour mode against stored pictures; chunked drawing against drawing in one piece.
// usage: test_view_pictures [--update FOLDER]: writes the pictures instead, to be looked at and stored.
#include "view_driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 2           // the layout counts, not what the solver makes of it
#define MEAN_LIMIT 3.0     // of 255, over all blocks
#define LARGEST_LIMIT 45.0 // of one block

static const char *update_folder;

static void check_picture(view_app *app, const char *name) {
    char path[1024];
    view_message message = {""};
    driver_picture picture = driver_take(app);
    if (update_folder != NULL) {
        snprintf(path, sizeof path, "%s/%s.png", update_folder, name);
        assert_true(view_write_png(path, picture.pixels, picture.width, picture.height, &message));
        driver_free(&picture);
        return;
    }
    snprintf(path, sizeof path, "%s/tests/viz/references/%s.png", PAIRSIEVE_SOURCE_DIR, name);
    driver_picture reference = driver_load_png(path);
    if (reference.pixels == NULL) fail_msg("picture %s is missing", path);
    driver_difference difference = driver_compare(&picture, &reference);
    print_message("%-16s mean %.2f largest %.1f\n", name, difference.mean, difference.largest);
    assert_true(difference.mean <= MEAN_LIMIT);
    assert_true(difference.largest <= LARGEST_LIMIT);
    driver_free(&picture);
    driver_free(&reference);
}

static void test_scenes(void **state) {
    (void)state;
    const char *scene = NULL;
    for (uint32_t i = 0; (scene = psv_shipped_scene_name(i)) != NULL; ++i) {
        view_options options = driver_options();
        options.scene = scene;
        options.supersample = 2;
        view_app *app = driver_open(&options);
        if (app == NULL) skip();
        driver_turns(app, FRAMES);
        app->paused = true;
        view_frame_all(app);
        driver_turns(app, 1);
        check_picture(app, scene);
        driver_close(app);
    }
    assert_true(psv_shipped_scene_name(0) != NULL);
}

// A scene file, solid or as glass, at rest after a few frames; NULL: no OpenGL.
static view_app *open_at_rest(const char *path, bool transparent) {
    view_options options = driver_options();
    options.scene = path;
    options.bodies = 40;
    options.supersample = 2;
    options.transparent = transparent;
    view_app *app = driver_open(&options);
    if (app == NULL) return NULL;
    driver_turns(app, FRAMES);
    app->paused = true;
    view_frame_all(app);
    driver_turns(app, 1);
    return app;
}

static void write_bricks(const char *path, const char *shape) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "{\"bodies\": 40, \"view\": {\"eye\": [0, 8, 20], \"target\": [0, 3, 0]},"
                  "\"shapes\": {\"ground\": {\"type\": \"plane\"}, \"brick\": {%s}},"
                  "\"fixed\": [{\"shape\": \"ground\"}],"
                  "\"generators\": [{\"type\": \"fill\", \"shapes\": [\"brick\"], \"base\": [0, 2, 0]}]}",
                  shape);
    assert_int_equal(fclose(file), 0);
}

// Dice as they are stored, solid and as glass; and bricks look the same as boxes and as hulls of their corners, the
// origin of whose frame is in their middle.
static void test_hulls(void **state) {
    (void)state;
    for (int glass = 0; glass < 2; ++glass) {
        view_app *app = open_at_rest(PAIRSIEVE_SOURCE_DIR "/scenes/dice.json", glass);
        if (app == NULL) skip();
        check_picture(app, glass ? "few_dice_glass" : "few_dice");
        driver_close(app);
    }
    if (update_folder != NULL) return;
    write_bricks("view_boxes.json", "\"type\": \"box\", \"half_extents\": [0.5, 0.3, 0.4]");
    write_bricks("view_hulls.json",
                 "\"type\": \"hull\", \"points\": [[0.5, 0.3, 0.4], [0.5, 0.3, -0.4], [0.5, -0.3, 0.4],"
                 "[0.5, -0.3, -0.4], [-0.5, 0.3, 0.4], [-0.5, 0.3, -0.4], [-0.5, -0.3, 0.4], [-0.5, -0.3, -0.4]]");
    for (int glass = 0; glass < 2; ++glass) {
        driver_picture pictures[2];
        for (int i = 0; i < 2; ++i) {
            view_app *app = open_at_rest(i == 0 ? "view_boxes.json" : "view_hulls.json", glass);
            assert_non_null(app);
            pictures[i] = driver_take(app);
            driver_close(app);
        }
        const driver_difference difference = driver_compare(&pictures[0], &pictures[1]);
        print_message("bricks as boxes and as hulls: mean %.3f largest %.2f\n", difference.mean, difference.largest);
        assert_true(difference.mean < 0.5 && difference.largest < 12);
        driver_free(&pictures[0]);
        driver_free(&pictures[1]);
    }
    (void)remove("view_boxes.json");
    (void)remove("view_hulls.json");
}

// Mean of a part of the picture, in the middle of it; red, green, blue.
static void middle_of(view_app *app, double mean[3]) {
    driver_picture picture = driver_take(app);
    memset(mean, 0, 3 * sizeof *mean);
    for (int y = -4; y < 4; ++y)
        for (int x = -4; x < 4; ++x)
            for (int k = 0; k < 3; ++k)
                mean[k] +=
                    picture.pixels[3 * ((picture.height / 2 + y) * picture.width + picture.width / 2 + x) + k] / 64.0;
    driver_free(&picture);
}

// A yellow ball behind a blue pane, a box or a closed mesh: as opaque as its colour says, in each way of drawing.
static void open_pane(view_app **app, const char *pane, const char *opacity) {
    view_options options = driver_options();
    FILE *file = fopen("view_pane.json", "w");
    assert_non_null(file);
    (void)fprintf(
        file,
        "{\"world\": {\"gravity\": [0, 0, 0]}, \"view\": {\"eye\": [0, 0, 9], \"target\": [0, 0, 0]}, \"shapes\": {"
        "\"ball\": {\"type\": \"sphere\", \"radius\": 1, \"colour\": \"#ffff00\"}, \"pane\": {%s, \"colour\": "
        "\"#0000ff%s\"}},"
        "\"fixed\": [{\"shape\": \"pane\", \"position\": [0, 0, 3]}], \"generators\": ["
        "{\"type\": \"grid\", \"shapes\": [\"ball\"]}]}",
        pane, opacity);
    assert_int_equal(fclose(file), 0);
    options.scene = "view_pane.json";
    options.bodies = 1;
    options.no_shadows = true;
    *app = driver_open(&options);
    if (*app == NULL) skip();
    (*app)->paused = true;
    driver_turns(*app, 1);
}

static void write_cube(void) {
    static const char quads[6][5] = {"1243", "5687", "1562", "3487", "1375", "2684"};
    FILE *file = fopen("view_cube.obj", "w");
    assert_non_null(file);
    for (int i = 0; i < 8; ++i)
        (void)fprintf(file, "v %d %d %g\n", (i & 1) * 4 - 2, (i & 2) * 2 - 2, (i & 4) * 0.05 - 0.1);
    for (int i = 0; i < 6; ++i) // the first and the last two from inside; a pane is seen from both sides
        (void)fprintf(file, "f %c %c %c\nf %c %c %c\n", quads[i][0], quads[i][1], quads[i][2], quads[i][0], quads[i][2],
                      quads[i][3]);
    assert_int_equal(fclose(file), 0);
}

static void test_clear_colours(void **state) {
    (void)state;
    static const char *const panes[2] = {"\"type\": \"box\", \"half_extents\": [2, 2, 0.1]",
                                         "\"type\": \"mesh\", \"file\": \"view_cube.obj\""};
    static const char *const opacities[3] = {"10", "80", "ff"};
    write_cube();
    for (int pane = 0; pane < 2; ++pane) {
        double means[3][3];
        for (int i = 0; i < 3; ++i) {
            view_app *app = NULL;
            open_pane(&app, panes[pane], opacities[i]);
            middle_of(app, means[i]);
            print_message("pane %d %s: %.0f %.0f %.0f\n", pane, opacities[i], means[i][0], means[i][1], means[i][2]);
            driver_close(app);
        }
        assert_true(means[0][0] > means[0][2] + 60 && means[2][2] > means[2][0] + 60); // yellow; blue
        for (int i = 1; i < 3; ++i)
            assert_true(means[i][0] < means[i - 1][0] - 10 && means[i][2] > means[i - 1][2] + 10);
    }
    (void)remove("view_pane.json");
    (void)remove("view_cube.obj");
}

// Each mode's picture must match its reference, and must differ from the plain picture: else the mode draws nothing.
static void check_mode(view_app *app, const driver_picture *plain, const char *name) {
    driver_turns(app, 1);
    check_picture(app, name);
    driver_picture picture = driver_take(app);
    driver_difference difference = driver_compare(plain, &picture);
    if (!(difference.largest > 6.0)) fail_msg("%s looks like the plain picture", name);
    driver_free(&picture);
}

static void test_modes(void **state) {
    (void)state;
    view_options options = driver_options();
    char name[64];
    options.supersample = 2;
    options.scene = "stack"; // its boxes touch: there are pairs and forces to show
    options.overlays = VIEW_OVERLAY_FORCES;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, 3);
    app->paused = true;
    app->overlays = 0;
    app->stale = true;
    driver_turns(app, 2);
    driver_picture plain = driver_take(app);
    for (uint32_t i = 0; i < VIEW_OVERLAY_COUNT; ++i) {
        if (1u << i == VIEW_OVERLAY_SPEEDS) continue; // these boxes have none
        app->overlays = 1u << i;
        app->stale = true;
        snprintf(name, sizeof name, "overlay_%s", view_overlay_name(i));
        check_mode(app, &plain, name);
    }
    app->overlays = 0;
    for (uint32_t i = 1; i < VIEW_COLOUR_COUNT; ++i) {
        app->colour = (view_colour_mode)i;
        app->stale = true;
        snprintf(name, sizeof name, "colour_%s", view_colour_name((view_colour_mode)i));
        check_mode(app, &plain, name);
    }
    app->colour = VIEW_COLOUR_BODY;
    app->transparent = true;
    check_mode(app, &plain, "transparent");
    app->transparent = false;
    app->shadows = false;
    check_mode(app, &plain, "no_shadows");
    driver_free(&plain);
    driver_close(app);
}

// A driver's storage block may hold a few bodies only: the picture stays the same.
static void test_chunks(void **state) {
    (void)state;
    driver_picture pictures[2];
    for (int i = 0; i < 2; ++i) {
        view_options options = driver_options();
        options.bodies = 5000;
        options.paused = true;
        options.overlays = VIEW_OVERLAY_BOXES;
        options.block_limit = i == 0 ? 0 : 100000; // bytes: 2048 bodies
        view_app *app = driver_open(&options);
        if (app == NULL) skip();
        driver_turns(app, 2);
        assert_true(i == 0 ? app->renderer.chunks == 1 : app->renderer.chunks == 3);
        pictures[i] = driver_take(app);
        driver_close(app);
    }
    driver_difference difference = driver_compare(&pictures[0], &pictures[1]);
    print_message("chunks: mean %.3f largest %.2f\n", difference.mean, difference.largest);
    assert_true(difference.largest <= 4.0);
    driver_free(&pictures[0]);
    driver_free(&pictures[1]);
}

// The panel takes a part of a picture, not half of it, and about the same part of a small and of a large one.
static void test_panel_share(void **state) {
    (void)state;
    static const int sizes[2][2] = {{640, 360}, {1280, 720}};
    for (int i = 0; i < 2; ++i) {
        view_options options = driver_options();
        options.width = sizes[i][0];
        options.height = sizes[i][1];
        options.no_shadows = true;
        options.hide_hud = false;
        options.bodies = 50;
        view_app *app = driver_open(&options);
        if (app == NULL) skip();
        driver_turns(app, 3);
        app->paused = true;
        driver_turns(app, 2);
        driver_picture with = driver_take(app);
        app->show_panel = false;
        driver_turns(app, 1);
        driver_picture without = driver_take(app);
        size_t pixels = (size_t)with.width * (size_t)with.height, covered = 0;
        for (size_t k = 0; k < 3 * pixels; k += 3)
            covered += memcmp(with.pixels + k, without.pixels + k, 3) != 0;
        const double share = (double)covered / (double)pixels;
        print_message("%d x %d: the panel covers %.0f%%\n", with.width, with.height, 100 * share);
        assert_true(share > 0.05 && share < 0.25);
        driver_free(&with);
        driver_free(&without);
        driver_close(app);
    }
}

// The ray-traced mode shows what the renderer makes of the same world and camera, adds up while nothing moves, and the
// key goes there and back.
static void test_traced(void **state) {
    (void)state;
    view_options options = driver_options();
    options.ray_traced = true;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, 3);
    app->paused = true;
    driver_turns(app, 2);
    app->camera.yaw += 0.1f; // begins anew
    driver_turns(app, 1);
    assert_int_equal(app->traced.statistics.added_up, 1);
    const int width = app->renderer.targets.width, height = app->renderer.targets.height;
    psv_renderer_def def = psv_default_renderer_def();
    def.max_width = (uint32_t)width;
    def.max_height = (uint32_t)height;
    def.world = app->world;
    psv_picture_def wanted = psv_default_picture_def();
    wanted.width = (uint32_t)width;
    wanted.height = (uint32_t)height;
    wanted.camera.field = 0.78539816f;
    wanted.frame = app->traced.frame - 1;
    view_camera_eye(&app->camera, wanted.camera.eye);
    memcpy(wanted.camera.target, app->camera.target, sizeof wanted.camera.target);
    uint32_t *words = calloc((size_t)width * (size_t)height, 4);
    psv_renderer *renderer = NULL;
    assert_int_equal(psv_create_renderer(app->context, &def, &renderer), PSV_OK);
    const psv_buffer pixels = psv_buffer_of(words, 4ull * (uint64_t)width * (uint64_t)height);
    assert_int_equal(psv_render_world(renderer, &wanted, pixels, (psv_buffer){0}), PSV_OK);
    psv_destroy_renderer(renderer);
    driver_picture seen = driver_take(app), direct = {calloc((size_t)width * (size_t)height, 3), width, height};
    for (size_t i = 0; i < 3 * (size_t)width * (size_t)height; ++i)
        direct.pixels[i] = (uint8_t)(words[i / 3] >> 8 * (i % 3));
    const driver_difference same = driver_compare(&seen, &direct);
    print_message("traced: mean %.3f largest %.2f\n", same.mean, same.largest);
    assert_true(same.mean < 0.5 && same.largest < 12); // directions are rounded on another way
    driver_turns(app, 4);
    assert_int_equal(app->traced.statistics.added_up, 5);
    driver_key(app, SDLK_y, KMOD_NONE);
    driver_picture drawn = driver_take(app);
    const driver_difference other = driver_compare(&seen, &drawn);
    assert_true(other.mean > 2 && other.mean < 60); // the same scene, otherwise lit
    driver_key(app, SDLK_y, KMOD_NONE);
    assert_true(app->ray_traced && app->traced.statistics.added_up >= 1);
    driver_free(&seen);
    driver_free(&direct);
    driver_free(&drawn);
    free(words);
    driver_close(app);
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "--update") == 0) update_folder = arguments[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenes),      cmocka_unit_test(test_hulls),  cmocka_unit_test(test_clear_colours),
        cmocka_unit_test(test_modes),       cmocka_unit_test(test_chunks), cmocka_unit_test(test_traced),
        cmocka_unit_test(test_panel_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
