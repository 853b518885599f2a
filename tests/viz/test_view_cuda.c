// On an NVIDIA GPU: bodies shared between CUDA and OpenGL without the host, checked by reading back what is drawn;
// the order of glass; and the time to draw 100 thousand and a million bodies, by the GPU's own clock.
// usage: test_view_cuda [FOLDER]: leaves pictures in FOLDER.
#include "../test_scale.h"
#include "view_driver.h"

#include <stdlib.h>
#include <string.h>

static const char *folder;
static psv_backend backend =
    PSV_BACKEND_CUDA; // CPU where this build steps no worlds on CUDA: then only drawing is tested

static void keep_picture(view_app *app, const char *name) {
    char path[1024];
    if (folder == NULL) return;
    snprintf(path, sizeof path, "%s/%s.png", folder, name);
    view_save_screenshot(app, path);
}

static view_options cuda_options(const char *scene, uint64_t bodies) {
    view_options options = driver_options();
    options.scene = scene;
    options.bodies = bodies;
    options.backend = backend;
    options.width = 1280;
    options.height = 720;
    return options;
}

// What OpenGL holds of a stream must be what CUDA holds of the world, byte for byte.
static void check_stream(view_app *app, view_stream_name name, psv_buffer array, uint64_t bytes) {
    const view_stream *stream = &app->streams.streams[name];
    char *drawn = malloc(bytes);
    char *world = view_read_array(app->world, array, 0, bytes);
    assert_non_null(drawn);
    assert_non_null(world);
    glGetNamedBufferSubData(stream->buffer, (GLintptr)stream->offset, (GLsizeiptr)bytes, drawn);
    assert_memory_equal(drawn, world, bytes);
    free(drawn);
    free(world);
}

static bool steps_on_cuda(void) {
    psv_context_def def = psv_default_context_def();
    psv_scene_options options = psv_default_scene_options();
    psv_context *context = NULL;
    psv_scene *scene = NULL;
    def.backend = PSV_BACKEND_CUDA;
    options.bodies = 10;
    bool good = psv_create_context(&def, &context) == PSV_OK &&
                psv_load_scene(context, "stack", &options, &scene) == PSV_OK && psv_scene_step(scene) == PSV_OK;
    if (!good) print_message("no worlds on CUDA: %s\n", psv_last_error(context));
    psv_destroy_scene(scene);
    psv_destroy_context(context);
    return good;
}

static void check_streams(const char *scene, bool interop) {
    view_options options = cuda_options(scene, 20000);
    options.no_interop = !interop;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, 20);
    if (interop && app->streams.transfer != VIEW_TRANSFER_INTEROP) {
        print_message("interop was refused: %s\n", app->streams.refusal.text);
    }
    assert_int_equal(app->streams.transfer, interop ? VIEW_TRANSFER_INTEROP : VIEW_TRANSFER_HOST);
    uint64_t n = psv_world_slot_count(app->world);
    check_stream(app, VIEW_STREAM_POSITIONS, psv_world_positions(app->world), 16 * n);
    check_stream(app, VIEW_STREAM_ROTATIONS, psv_world_rotations(app->world), 16 * n);
    check_stream(app, VIEW_STREAM_SHAPES, psv_world_shape_indices(app->world), 4 * n);
    print_message("%s: %llu bodies drawn as they are (%s)\n", scene, (unsigned long long)n,
                  view_transfer_name(app->streams.transfer));
    keep_picture(app, interop ? "interop" : "through_host");
    driver_close(app);
}

static void test_interop(void **state) {
    (void)state;
    if (backend != PSV_BACKEND_CUDA) skip();
    check_streams("drop", true);
    check_streams("drop", false);
}

static void test_order(void **state) {
    (void)state;
    if (backend != PSV_BACKEND_CUDA) skip();
    view_options options = cuda_options("drop", 100000);
    options.transparent = true;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, 10);
    uint64_t n = psv_world_slot_count(app->world);
    const view_stream *keys = &app->streams.streams[VIEW_STREAM_KEYS],
                      *order = &app->streams.streams[VIEW_STREAM_ORDER];
    float *depth = malloc(4 * n);
    uint32_t *slots = malloc(4 * n);
    bool *seen = calloc(n, sizeof *seen);
    assert_true(depth != NULL && slots != NULL && seen != NULL);
    glGetNamedBufferSubData(keys->buffer, 0, (GLsizeiptr)(4 * n), depth);
    glGetNamedBufferSubData(order->buffer, 0, (GLsizeiptr)(4 * n), slots);
    float(*positions)[4] = view_read_array(app->world, psv_world_positions(app->world), 0, 16 * n);
    assert_non_null(positions);
    for (uint64_t i = 0; i < n; ++i) {
        assert_true(slots[i] < n && !seen[slots[i]]);
        seen[slots[i]] = true;
        if (i > 0 && !(depth[slots[i - 1]] >= depth[slots[i]]))
            fail_msg("place %llu is out of order", (unsigned long long)i);
        // The keys are the depths: a matrix of another frame, or another body's position, would show here.
        uint32_t bits = view_depth_key(positions[i], app->renderer.constants.eye, app->renderer.constants.forward);
        float expected;
        memcpy(&expected, &bits, sizeof expected);
        if (expected > -1.0e38f) assert_true(expected - depth[i] < 1.0e-2f && depth[i] - expected < 1.0e-2f);
    }
    print_message("glass: %llu bodies in order, sort %.3f ms on the GPU, draw %.3f ms\n", (unsigned long long)n,
                  app->order.sort_ms, app->renderer.draw_ms);
    keep_picture(app, "glass");
    free(depth);
    free(slots);
    free(seen);
    free(positions);
    driver_close(app);
}

// Least GPU time to draw, over frames of a standing world.
static double measure(const char *scene, uint64_t bodies, bool shadows, int steps) {
    view_options options = cuda_options(scene, bodies);
    options.no_shadows = !shadows;
    view_app *app = driver_open(&options);
    if (app == NULL) skip();
    driver_turns(app, backend == PSV_BACKEND_CUDA ? steps : 1); // a million bodies fall slowly on a CPU
    app->paused = true;
    app->shadows = shadows;
    double least = 1.0e9, sum = 0.0;
    for (int i = 0; i < 40; ++i) {
        driver_turns(app, 1);
        glFinish(); // so that each turn finds the times of the one three before
        if (i < 8) continue;
        sum += app->renderer.draw_ms;
        if (app->renderer.draw_ms < least) least = app->renderer.draw_ms;
    }
    print_message("draw %-10s %8llu bodies%s: least %.3f ms, mean %.3f ms (%u points, %u spheres, %u boxes)\n", scene,
                  (unsigned long long)bodies, shadows ? ", shadows" : "", least, sum / 32.0, app->renderer.drawn[0],
                  app->renderer.drawn[1], app->renderer.drawn[2]);
    const double *stage = app->renderer.stage_ms;
    print_message("     shadows %.3f bodies %.3f surfaces %.3f light %.3f blend %.3f compose %.3f\n", stage[0],
                  stage[1], stage[2], stage[3], stage[4], stage[5]);
    char name[64];
    snprintf(name, sizeof name, "%s_%llu%s", scene, (unsigned long long)bodies, shadows ? "_shadows" : "");
    keep_picture(app, name);
    driver_close(app);
    return least;
}

static bool is_h200;

static bool hardware_driver(void) {
    view_options options = cuda_options("stack", 10);
    view_app *app = driver_open(&options);
    if (app == NULL) return false;
    bool hardware = strstr(app->window.renderer, "llvmpipe") == NULL;
    is_h200 = strstr(app->window.renderer, "H200") != NULL;
    print_message("OpenGL by %s\n", app->window.renderer);
    driver_close(app);
    return hardware;
}

static void test_draw_times(void **state) {
    (void)state;
    if (!hardware_driver() || test_thinning() > 1) skip();
    (void)measure("drop", 100000, true, 30);
    (void)measure("drop", 1000000, true, 10);
    double spheres = measure("landscape", 1000000, false, 10);
    double fewer = measure("landscape", 100000, true, 30);
    (void)measure("landscape", 1000000, true, 10);
    (void)measure("drop", 1000000, false, 10);
    // The targets are the H200's; another card only prints its times.
    if (!is_h200) return;
    assert_true(spheres <= 8.0);
    assert_true(fewer <= 2.0);
}

// A ray-traced picture gets to OpenGL on the device as it does through the host.
static void test_traced(void **state) {
    (void)state;
    driver_picture pictures[2];
    for (int i = 0; i < 2; ++i) {
        view_options options = cuda_options("chairs", 500);
        options.no_interop = i == 1;
        options.ray_traced = true;
        view_app *app = driver_open(&options);
        if (app == NULL) skip();
        driver_turns(app, 12);
        assert_true(app->ray_traced);
        assert_int_equal(app->traced.width, app->renderer.targets.width);
        print_message("ray-traced: %.3f ms, %s\n", app->traced.statistics.frame_ms,
                      view_transfer_name(app->streams.transfer));
        keep_picture(app, i == 0 ? "traced" : "traced_through_host");
        pictures[i] = driver_take(app);
        driver_close(app);
    }
    const driver_difference difference = driver_compare(&pictures[0], &pictures[1]);
    assert_true(difference.largest == 0);
    driver_free(&pictures[0]);
    driver_free(&pictures[1]);
}

int main(int count, char **arguments) {
    if (!psv_backend_available(PSV_BACKEND_CUDA)) {
        puts("no CUDA device: skipped");
        return 77;
    }
    if (test_kernels_only()) {
        puts("skipped: these are the kernels of test_sort and test_sim");
        return 77;
    }
    if (count > 1) folder = arguments[1];
    if (!steps_on_cuda()) backend = PSV_BACKEND_CPU;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interop),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_traced),
        cmocka_unit_test(test_draw_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
