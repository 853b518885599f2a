// Pictures on OpenGL and Vulkan against those of the CPU: what each pixel meets is the same bytes, shadows too, and
// each byte of the picture is within one grey level. Triangles: one picture, pictures that add up with less and less
// smoothing, both skies. Worlds of the CPU: every solid, compounds, colours of shapes, mirrors and glass. Then what
// these backends have not. usage: test_render_gpu gl|vulkan [--seed N]
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/render.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"

#define WIDTH 93u // no multiple of a group's side
#define HEIGHT 61u
#define PIXELS (WIDTH * HEIGHT)
#define SIDE 24 // cells of the ground along a side
#define BALLS 14
#define ROUND 12 // corners of a ball's rings
#define RINGS 8
#define TRIANGLES (2 * SIDE * SIDE + BALLS * 2 * ROUND * RINGS)

static psv_backend backend = PSV_BACKEND_GL;
static psv_context *context, *cpu;
static uint64_t seed = 1;
static float vertices[3 * TRIANGLES][3];
static uint32_t vertex_count;

#define CHECK(from, call)                                                                                              \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s", #call, psv_last_error(from));                                         \
    } while (0)

static float draw(uint64_t i, uint32_t channel) { return box_random((uint32_t)seed, i, channel); }

static void add_triangle(const float a[3], const float b[3], const float c[3]) {
    memcpy(vertices[vertex_count++], a, 12);
    memcpy(vertices[vertex_count++], b, 12);
    memcpy(vertices[vertex_count++], c, 12);
}

static void add_four(float corner[4][3]) {
    add_triangle(corner[0], corner[1], corner[2]);
    add_triangle(corner[0], corner[2], corner[3]);
}

static void ground_corner(int x, int z, float corner[3]) {
    corner[0] = 0.4f * (float)(x - SIDE / 2);
    corner[1] = 0.3f * draw((uint64_t)(x * 1000 + z), 0);
    corner[2] = 0.4f * (float)(z - SIDE / 2);
}

static void ball_corner(uint64_t ball, int ring, int corner, float at[3]) {
    const float across = 3.14159265f * (float)ring / RINGS, around = 6.2831853f * (float)(corner % ROUND) / ROUND;
    const float radius = 0.2f + 0.5f * draw(ball, 1);
    at[0] = 6 * draw(ball, 2) - 3 + radius * sinf(across) * cosf(around);
    at[1] = 0.3f + 1.5f * draw(ball, 3) + radius * cosf(across);
    at[2] = 6 * draw(ball, 4) - 3 + radius * sinf(across) * sinf(around);
}

static void make_mesh(void) {
    static const int next[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    float four[4][3];
    vertex_count = 0;
    for (int x = 0; x < SIDE; ++x)
        for (int z = 0; z < SIDE; ++z) {
            for (int c = 0; c < 4; ++c)
                ground_corner(x + next[c][0], z + next[c][1], four[c]);
            add_four(four);
        }
    for (uint64_t ball = 0; ball < BALLS; ++ball)
        for (int ring = 0; ring < RINGS; ++ring)
            for (int corner = 0; corner < ROUND; ++corner) {
                for (int c = 0; c < 4; ++c)
                    ball_corner(ball, ring + next[c][0], corner + next[c][1], four[c]);
                add_four(four);
            }
}

// A backend's renderer and its picture.
typedef struct painter {
    psv_context *context;
    psv_world *world; // NULL: the mesh
    psv_renderer *renderer;
    psv_buffer mesh, pixels, hits;
    uint32_t words[PIXELS];
    psv_pixel_hit found[PIXELS];
    psv_render_statistics statistics;
} painter;

static void begin(painter *p, psv_context *from, psv_world *world) {
    psv_renderer_def def = psv_default_renderer_def();
    *p = (painter){.context = from, .world = world};
    def.max_width = WIDTH;
    def.max_height = HEIGHT;
    def.world = world;
    def.max_triangles = world == NULL ? TRIANGLES : 0;
    CHECK(from, psv_create_renderer(from, &def, &p->renderer));
    CHECK(from, psv_alloc_buffer(from, sizeof vertices, &p->mesh));
    CHECK(from, psv_alloc_buffer(from, sizeof p->words, &p->pixels));
    CHECK(from, psv_alloc_buffer(from, sizeof p->found, &p->hits));
    CHECK(from, psv_upload(from, p->mesh, vertices, sizeof vertices));
}

static void end(painter *p) {
    psv_destroy_renderer(p->renderer);
    psv_free_buffer(p->context, &p->mesh);
    psv_free_buffer(p->context, &p->pixels);
    psv_free_buffer(p->context, &p->hits);
}

static void paint(painter *p, const psv_picture_def *picture, uint32_t triangles) {
    const psv_triangle_set set = psv_triangles_of(p->mesh, 3 * (uint64_t)triangles, (psv_buffer){0}, triangles);
    if (p->world != NULL)
        CHECK(p->context, psv_render_world(p->renderer, picture, p->pixels, p->hits));
    else
        CHECK(p->context, psv_render_triangles(p->renderer, &set, picture, p->pixels, p->hits));
    CHECK(p->context, psv_download(p->context, p->words, p->pixels, sizeof p->words));
    CHECK(p->context, psv_download(p->context, p->found, p->hits, sizeof p->found));
    CHECK(p->context, psv_read_render_statistics(p->renderer, &p->statistics));
}

static void compare(const painter *a, const painter *b, uint32_t frame) {
    if (memcmp(a->found, b->found, sizeof a->found) != 0)
        for (uint32_t i = 0; i < PIXELS; ++i)
            if (memcmp(&a->found[i], &b->found[i], sizeof *a->found) != 0)
                fail_msg(
                    "seed %u, frame %u, pixel %u: item %u at %.9g (sun %g, sky %g); on the CPU %u at %.9g (%g, %g)",
                    (unsigned)seed, frame, i, a->found[i].slot, (double)a->found[i].t, (double)a->found[i].sun,
                    (double)a->found[i].sky, b->found[i].slot, (double)b->found[i].t, (double)b->found[i].sun,
                    (double)b->found[i].sky);
    for (uint32_t i = 0; i < 4 * PIXELS; ++i) {
        const int own = (int)(a->words[i / 4] >> 8 * (i % 4) & 255u),
                  other = (int)(b->words[i / 4] >> 8 * (i % 4) & 255u);
        if (abs(own - other) > 1)
            fail_msg("seed %u, frame %u, pixel %u: byte %u is %d; on the CPU %d", (unsigned)seed, frame, i / 4, i % 4,
                     own, other);
    }
    assert_int_equal(a->statistics.rays, b->statistics.rays);
    assert_int_equal(a->statistics.items, b->statistics.items);
    assert_int_equal(a->statistics.added_up, b->statistics.added_up);
}

static psv_picture_def make_picture(void) {
    psv_picture_def picture = psv_default_picture_def();
    const float eye[3] = {4.5f, 3.2f, 6.1f}, target[3] = {0, 0.6f, 0};
    picture.width = WIDTH;
    picture.height = HEIGHT;
    memcpy(picture.camera.eye, eye, sizeof eye);
    memcpy(picture.camera.target, target, sizeof target);
    picture.seed = (uint32_t)seed;
    return picture;
}

static painter here, there;

static void test_pictures(void **state) {
    (void)state;
    make_mesh();
    assert_int_equal(vertex_count, 3 * TRIANGLES);
    begin(&here, context, NULL);
    begin(&there, cpu, NULL);
    psv_picture_def picture = make_picture();
    uint32_t shadows = 0, sky = 0;
    for (uint32_t frame = 0; frame < 24; ++frame) { // 5, 4 and 3 passes of the filter
        picture.frame = frame;
        picture.rests = frame > 0;
        paint(&here, &picture, TRIANGLES);
        paint(&there, &picture, TRIANGLES);
        compare(&here, &there, frame);
    }
    for (uint32_t i = 0; i < PIXELS; ++i) {
        shadows += here.found[i].slot != PSV_NO_ITEM && here.found[i].sun == 0;
        sky += here.found[i].slot == PSV_NO_ITEM;
    }
    assert_true(shadows > PIXELS / 40 && sky > PIXELS / 20);
    picture.rests = false;
    picture.denoise = false; // no pass
    picture.sky = PSV_SKY_SPACE;
    picture.sun_radius = 0;
    paint(&here, &picture, TRIANGLES);
    paint(&there, &picture, TRIANGLES);
    compare(&here, &there, 100);
    picture.shading = PSV_SHADING_PHONG;
    for (uint32_t frame = 200; frame < 203; ++frame) {
        picture.rests = frame > 200;
        picture.frame = frame;
        paint(&here, &picture, TRIANGLES);
        paint(&there, &picture, TRIANGLES);
        compare(&here, &there, frame);
    }
    picture.rests = false;
    paint(&here, &picture, 0); // sky alone
    paint(&there, &picture, 0);
    compare(&here, &there, 101);
    end(&here);
    end(&there);
}

// A scene that moves, then rests under pictures that add up.
static void paint_scene(const char *name) {
    psv_scene_options options = psv_default_scene_options();
    psv_scene *scene = NULL;
    options.bodies = 60;
    CHECK(cpu, psv_load_scene(cpu, name, &options, &scene));
    psv_picture_def picture = make_picture();
    psv_scene_view(scene, picture.camera.eye, picture.camera.target);
    picture.mirrors = 0.3f;
    picture.glass = 0.3f;
    begin(&here, context, psv_scene_world(scene));
    begin(&there, cpu, psv_scene_world(scene));
    uint32_t bodies = 0;
    for (uint32_t frame = 0; frame < 8; ++frame) {
        if (frame < 4)
            for (int step = 0; step < 5; ++step)
                CHECK(cpu, psv_scene_step(scene));
        picture.frame = frame;
        picture.rests = frame > 4;
        paint(&here, &picture, 0);
        paint(&there, &picture, 0);
        compare(&here, &there, frame);
    }
    for (uint32_t i = 0; i < PIXELS; ++i) // not ground alone
        bodies += here.found[i].slot != PSV_NO_ITEM && here.found[i].slot > 1;
    if (bodies < PIXELS / 50) fail_msg("%s: bodies are seen in %u of %u pixels", name, bodies, PIXELS);
    end(&here);
    end(&there);
    psv_destroy_scene(scene);
}

static void test_worlds(void **state) {
    (void)state;
    paint_scene("drop");
    paint_scene("dice"); // shapes with colours, ground too
    paint_scene("chairs");
    paint_scene("assorted");
}

// Sentences name what there is.
static void test_refusals(void **state) {
    (void)state;
    psv_renderer_def def = psv_default_renderer_def();
    psv_renderer *renderer = NULL;
    psv_scene *scene = NULL;
    def.max_triangles = 4;
    def.quality = PSV_TREE_FINE;
    assert_int_equal(psv_create_renderer(context, &def, &renderer), PSV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(psv_last_error(context), "PSV_TREE_LINEAR alone"));
    assert_null(renderer);
    assert_int_equal(psv_load_scene(context, "drop", NULL, &scene), PSV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(psv_last_error(context), "steps no worlds; take cpu or cuda"));
    assert_null(scene);
    psv_scene_options options = psv_default_scene_options();
    options.bodies = 20;
    CHECK(cpu, psv_load_scene(cpu, "landscape", &options, &scene));
    begin(&here, context, psv_scene_world(scene));
    const psv_picture_def picture = make_picture();
    assert_int_equal(psv_render_world(here.renderer, &picture, here.pixels, here.hits), PSV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(psv_last_error(context), "ground of planes; cpu and cuda render height fields and meshes"));
    end(&here);
    psv_destroy_scene(scene);
}

static int open_cpu(void **state) {
    (void)state;
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    return psv_create_context(&def, &cpu) == PSV_OK ? 0 : 1;
}

static int close_cpu(void **state) {
    (void)state;
    psv_destroy_context(cpu);
    return 0;
}

int main(int argc, char **argv) {
    const number_option options[] = {{"--seed", &seed}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_pictures, open_cpu, close_cpu),
                                       cmocka_unit_test_setup_teardown(test_worlds, open_cpu, close_cpu),
                                       cmocka_unit_test_setup_teardown(test_refusals, open_cpu, close_cpu)};
    return RUN_BACKEND_TESTS("render_gpu", &def, &context, tests);
}
