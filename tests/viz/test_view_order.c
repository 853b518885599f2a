// Transparent order of 100,000 bodies against a plain sort; the panel's phase times against the world's; switching
// methods leaves the pairs of a paused frame alone; CSV and trace files.
#include "view_driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct keyed {
    float depth;
    uint32_t slot;
} keyed;

// Far first; equal depths by slot: what a stable descending sort gives.
static int compare_keyed(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->depth != y->depth) return x->depth > y->depth ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static void check_order(view_app *app, uint64_t count) {
    const float(*positions)[4] = psv_buffer_address(psv_world_positions(app->world));
    keyed *expected = malloc(count * sizeof *expected);
    uint32_t *drawn = malloc(4 * count);
    assert_non_null(expected);
    assert_non_null(drawn);
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t bits = view_depth_key(positions[i], app->renderer.constants.eye, app->renderer.constants.forward);
        memcpy(&expected[i].depth, &bits, sizeof bits);
        expected[i].slot = (uint32_t)i;
    }
    qsort(expected, count, sizeof *expected, compare_keyed);
    const view_stream *stream = &app->streams.streams[VIEW_STREAM_ORDER];
    glGetNamedBufferSubData(stream->buffer, (GLintptr)stream->offset, (GLsizeiptr)(4 * count), drawn);
    for (uint64_t i = 0; i < count; ++i) {
        if (drawn[i] != expected[i].slot)
            fail_msg("place %llu: body %u drawn, %u expected", (unsigned long long)i, drawn[i], expected[i].slot);
    }
    free(expected);
    free(drawn);
}

static void test_transparent_order(void **state) {
    (void)state;
    view_options options = driver_options();
    options.bodies = 100000;
    options.paused = true;
    options.transparent = true;
    options.width = 64;
    options.height = 36;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, 1);
    uint64_t count = psv_world_slot_count(app->world);
    assert_true(count >= 100000);
    check_order(app, count);
    assert_true(app->order.sort_ms > 0.0);
    view_camera_turn(&app->camera, 1.3f, 0.2f);
    driver_turns(app, 1);
    check_order(app, count);
    print_message("depth sort of %llu bodies: %.3f ms\n", (unsigned long long)count, app->order.sort_ms);
    driver_close(app);
}

#if PSV_HAVE_GL
// The same bodies ordered on OpenGL: the same order, and the same picture to the last byte.
static void test_order_on_gl(void **state) {
    (void)state;
    driver_picture pictures[2];
    for (int on_gl = 0; on_gl < 2; ++on_gl) {
        view_options options = driver_options();
        options.bodies = 3000;
        options.transparent = true;
        options.order_on = on_gl ? "gl" : "cpu";
        view_app *app = driver_open(&options);
        if (app == NULL) skip();
        driver_turns(app, 12);
        assert_true((app->order.gl != NULL) == (on_gl != 0));
        check_order(app, psv_world_slot_count(app->world));
        pictures[on_gl] = driver_take(app);
        driver_close(app);
    }
    assert_int_equal(pictures[0].width, pictures[1].width);
    assert_memory_equal(pictures[0].pixels, pictures[1].pixels,
                        (size_t)3 * (size_t)pictures[0].width * (size_t)pictures[0].height);
    for (int i = 0; i < 2; ++i)
        driver_free(&pictures[i]);
}

// "auto" measures once, and then keeps to one of the two.
static void test_order_on_auto(void **state) {
    (void)state;
    view_options options = driver_options();
    options.transparent = true;
    options.order_on = "auto";
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, 2);
    assert_non_null(app->order.gl);
    assert_false(app->order.measure[VIEW_ORDER_DEPTH]);
    check_order(app, psv_world_slot_count(app->world));
    driver_close(app);
}

#endif

static void test_panel_times(void **state) {
    (void)state;
    view_options options = driver_options();
    options.hide_hud = false;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    for (int i = 0; i < 5; ++i) {
        driver_turns(app, 1);
        psv_profile profile;
        assert_int_equal(psv_world_profile(app->world, &profile), PSV_OK);
        const view_sample *shown = view_last_sample(app->hud_model.history);
        assert_non_null(shown);
        assert_true(profile.frame > 0);
        assert_memory_equal(&shown->profile, &profile, sizeof profile);
    }
    driver_close(app);
}

static void check_methods(const char *scene) {
    view_options options = driver_options();
    options.scene = scene;
    options.bodies = 1000;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, 4);
    app->paused = true;
    view_message message = {""};
    uint64_t expected = 0, of_step = 0;
    double ms = 0.0;
    assert_true(view_count_pairs(app->order.context, app->world, "brute", "radix", &expected, &ms, &message));
    assert_int_equal(psv_finish_pairs(psv_world_pair_finder(app->world), &of_step), PSV_OK);
    assert_int_equal(of_step, expected);
    const char *name = NULL;
    for (uint32_t i = 0; (name = psv_broad_phase_name(PSV_BACKEND_CPU, i)) != NULL; ++i) {
        uint64_t pairs = 0;
        view_set_broad_phase(app, name);
        assert_string_equal(app->broad_phase, name);
        driver_turns(app, 1);
        assert_true(view_count_pairs(app->order.context, app->world, name, "radix", &pairs, &ms, &message));
        assert_int_equal(pairs, expected);
    }
    print_message("%s: %llu pairs by every method\n", scene, (unsigned long long)expected);
    driver_close(app);
}

static void test_methods_agree(void **state) {
    (void)state;
    check_methods("mixed_sizes");
    check_methods("assorted");
    check_methods("worlds");
}

static long count_lines(const char *path) {
    FILE *file = fopen(path, "r");
    long lines = 0;
    assert_non_null(file);
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) {
        lines += c == '\n';
    }
    fclose(file);
    return lines;
}

static void test_logs(void **state) {
    (void)state;
    char csv[] = "/tmp/pairsieve-csv-XXXXXX", trace[] = "/tmp/pairsieve-trace-XXXXXX";
    view_options options = driver_options();
    const int files[] = {mkstemp(csv), mkstemp(trace)};
    assert_true(files[0] >= 0 && files[1] >= 0);
    close(files[0]); // Windows replaces no file that is open
    close(files[1]);
    options.csv = csv;
    options.trace = trace;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, 6);
    uint64_t samples = app->history.count;
    assert_true(samples >= 5);
    driver_close(app);
    assert_int_equal(count_lines(csv), (long)samples + 1);
    assert_true(count_lines(trace) > (long)samples);
    FILE *file = fopen(trace, "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, -4, SEEK_END), 0);
    char tail[8] = "";
    assert_int_equal(fread(tail, 1, 4, file), 4);
    assert_string_equal(tail, "\n]}\n");
    fclose(file);
    remove(csv);
    remove(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transparent_order),
#if PSV_HAVE_GL
        cmocka_unit_test(test_order_on_gl),
        cmocka_unit_test(test_order_on_auto),
#endif
        cmocka_unit_test(test_panel_times),
        cmocka_unit_test(test_methods_agree),
        cmocka_unit_test(test_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
