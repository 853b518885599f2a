// Ray-traced pictures against a brute-force tracer in double precision, pixel by pixel: what the eye sees first,
// whether the sun and the documented ray to the sky come through; then pictures that rest, stored ones, and bad calls.
// usage: test_render cpu|cuda
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"
#include "../test_scale.h"
#include "render_oracle.h"

#define BODIES 48
#define WIDTH 64u
#define HEIGHT 40u
#define PIXELS (WIDTH * HEIGHT)
#define SIDE 6 // vertices of the ground along a side

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static psv_world *world;
static psv_renderer *renderer;
static psv_buffer pixels, hits;
static uint32_t picture_words[PIXELS];
static psv_pixel_hit found[PIXELS];

// --- a world with every kind of shape --------------------------------------------------------------------------------

enum { PARTICLE, BALL, BLOCK, CAPSULE, COMPOUND, PLANE, FIELD, MESH, SHAPES };

static psv_shape_child children[64];
static float heights[SIDE * SIDE], corners[SIDE * SIDE][3];
static uint32_t faces[2 * (SIDE - 1) * (SIDE - 1)][3];
static psv_shape_def shapes[SHAPES];
static oracle_body bodies[BODIES];
static const oracle_scene scene = {bodies, BODIES};
static bool coloured; // the shapes have colours of their own
static const uint32_t own_colours[SHAPES] = {
    [PARTICLE] = 0xff3ba0e0, [BALL] = 0xff0000ff,  [BLOCK] = 0x80c0d020, [CAPSULE] = 0xffffffff,
    [COMPOUND] = 0xff00a000, [PLANE] = 0xff000000, [FIELD] = 0x01604020, [MESH] = 0xffe08040};

static float draw(uint32_t seed, uint64_t i, uint32_t channel) { return box_random(seed, i, channel); }

static void random_turn(uint32_t seed, uint64_t i, float q[4]) {
    float length = 0;
    for (uint32_t k = 0; k < 4; ++k) {
        q[k] = draw(seed, i, 40 + k) - 0.5f;
        length += q[k] * q[k];
    }
    for (int k = 0; k < 4; ++k)
        q[k] /= sqrtf(length);
}

static void make_ground_shapes(uint32_t seed) {
    for (uint32_t v = 0; v < SIDE * SIDE; ++v) {
        corners[v][0] = (float)(v % SIDE) * 0.8f - 2;
        corners[v][2] = (float)(v / SIDE) * 0.8f - 2;
        corners[v][1] = heights[v] = 1.4f * draw(seed, v, 1);
    }
    for (uint32_t c = 0; c < (SIDE - 1) * (SIDE - 1); ++c) {
        const uint32_t v = c / (SIDE - 1) * SIDE + c % (SIDE - 1);
        const uint32_t two[6] = {v, v + 1, v + SIDE + 1, v, v + SIDE + 1, v + SIDE};
        memcpy(faces[2 * (size_t)c], two, sizeof two);
    }
    shapes[PLANE].type = PSV_SHAPE_PLANE;
    shapes[FIELD].type = PSV_SHAPE_HEIGHT_FIELD;
    shapes[FIELD].heights = heights;
    shapes[FIELD].columns = shapes[FIELD].rows = SIDE;
    shapes[FIELD].size[0] = shapes[FIELD].size[2] = 5;
    shapes[MESH].type = PSV_SHAPE_MESH;
    shapes[MESH].vertices = corners[0];
    shapes[MESH].vertex_count = SIDE * SIDE;
    shapes[MESH].indices = faces[0];
    shapes[MESH].triangle_count = sizeof faces / sizeof *faces;
}

static void make_shapes(uint32_t seed) {
    for (int s = 0; s < SHAPES; ++s)
        shapes[s] = psv_default_shape_def();
    shapes[PARTICLE].type = PSV_SHAPE_PARTICLE;
    shapes[PARTICLE].size[0] = 0.3f;
    shapes[BALL].size[0] = 0.6f;
    shapes[BLOCK].type = PSV_SHAPE_BOX;
    memcpy(shapes[BLOCK].size, (float[3]){0.3f, 0.9f, 0.5f}, 12);
    shapes[CAPSULE].type = PSV_SHAPE_CAPSULE;
    memcpy(shapes[CAPSULE].size, (float[3]){0.3f, 0.6f, 0}, 12);
    shapes[COMPOUND].type = PSV_SHAPE_COMPOUND;
    shapes[COMPOUND].children = children;
    // Of so many parts not all find room as items of their own.
    shapes[COMPOUND].child_count = seed % 4 == 1 ? 64 : 3;
    for (uint32_t c = 0; c < shapes[COMPOUND].child_count; ++c) {
        const float scale = c < 3 ? 1 : 0.3f;
        children[c] = (psv_shape_child){.type = (psv_shape_type)(PSV_SHAPE_SPHERE + c % 3),
                                        .size = {0.3f * scale, 0.4f * scale, 0.2f * scale}};
        for (uint32_t k = 0; k < 3; ++k)
            children[c].pose.position[k] = draw(seed, c, 10 + k) - 0.5f;
        random_turn(seed, 1000 + c, children[c].pose.rotation);
    }
    make_ground_shapes(seed);
    for (int s = 0; coloured && s < SHAPES; ++s)
        shapes[s].colour = own_colours[s];
}

static void make_world(uint32_t seed) {
    psv_world_def def = psv_default_world_def();
    uint32_t numbers[SHAPES];
    psv_body_def defs[BODIES];
    psv_body_id ids[BODIES];
    psv_body_state states[BODIES];
    def.max_bodies = BODIES;
    CHECK(psv_create_world(context, &def, &world));
    make_shapes(seed);
    for (int s = 0; s < SHAPES; ++s)
        CHECK(psv_create_shape(world, &shapes[s], &numbers[s]));
    for (uint32_t i = 0; i < BODIES; ++i) {
        psv_body_def *b = &defs[i];
        *b = psv_default_body_def();
        const uint32_t shape = i < 3 ? PLANE + i : (uint32_t)(box_random_bits(seed, i, 20) % PLANE);
        b->shape = numbers[shape];
        b->pose.position[0] = 8 * draw(seed, i, 21) - 4;
        b->pose.position[1] = i == 0 ? 0 : i < 3 ? 0.3f : 0.4f + 4 * draw(seed, i, 22);
        b->pose.position[2] = 8 * draw(seed, i, 23) - 4;
        if (i > 0) random_turn(seed, i, b->pose.rotation);
        if (i == 1 || i == 2) memcpy(b->pose.rotation, (float[4]){0.06f, 0.4f, -0.05f, 0.9f}, 16);
        bodies[i].shape = &shapes[shape];
    }
    CHECK(psv_create_bodies(world, defs, BODIES, ids));
    CHECK(psv_get_body_states(world, ids, BODIES, states));
    for (uint32_t i = 0; i < BODIES; ++i)
        bodies[i].pose = states[i].pose;
}

static void make_renderer(psv_tree_quality quality, uint64_t triangles) {
    psv_renderer_def def = psv_default_renderer_def();
    def.max_width = WIDTH;
    def.max_height = HEIGHT;
    def.world = triangles > 0 ? NULL : world;
    def.max_triangles = triangles;
    def.quality = quality;
    CHECK(psv_create_renderer(context, &def, &renderer));
    CHECK(psv_alloc_buffer(context, sizeof picture_words, &pixels));
    CHECK(psv_alloc_buffer(context, sizeof found, &hits));
}

static void begin(uint32_t seed, psv_tree_quality quality) {
    make_world(seed);
    make_renderer(quality, 0);
}

static void end(void) {
    psv_destroy_renderer(renderer);
    psv_free_buffer(context, &pixels);
    psv_free_buffer(context, &hits);
    psv_destroy_world(world);
    renderer = NULL;
    world = NULL;
}

static psv_picture_def make_picture(uint32_t seed) {
    psv_picture_def picture = psv_default_picture_def();
    picture.width = WIDTH;
    picture.height = HEIGHT;
    picture.seed = seed;
    picture.frame = seed * 7;
    picture.sun_radius = 0;
    picture.mirrors = picture.glass = 0; // whose light is that of what is behind them
    const float turn = 6.28f * draw(seed, 0, 30);
    memcpy(picture.camera.eye, (float[3]){10 * cosf(turn), 3 + 5 * draw(seed, 0, 31), 10 * sinf(turn)}, 12);
    memcpy(picture.camera.target, (float[3]){0.5f, 1.5f, -0.3f}, 12);
    return picture;
}

static void render(const psv_picture_def *picture) {
    CHECK(psv_render_world(renderer, picture, pixels, hits));
    CHECK(psv_download(context, picture_words, pixels, sizeof picture_words));
    CHECK(psv_download(context, found, hits, sizeof found));
}

// --- pixel by pixel --------------------------------------------------------------------------------------------------

// What is seen a thousandth of a pixel beside the centre: at an edge either side is right.
static bool seen_nearby(const psv_picture_def *picture, const oracle_scene *all, uint32_t pixel,
                        const psv_pixel_hit *hit, oracle_hit *match) {
    const double eye[3] = {(double)picture->camera.eye[0], (double)picture->camera.eye[1],
                           (double)picture->camera.eye[2]};
    for (int i = 0; i < 9; ++i) {
        double direction[3];
        oracle_eye_ray(picture, pixel, 0.5 + 1e-3 * ((i + 1) % 3 - 1), 0.5 + 1e-3 * ((i / 3 + 1) % 3 - 1), direction);
        *match = oracle_trace(all, eye, direction);
        const bool nothing = match->slot == PSV_NO_ITEM;
        if (hit->slot == match->slot && (nothing || fabs((double)hit->t - match->t) < 2e-3 + 1e-4 * match->t))
            return true;
    }
    return false;
}

// Whether a ray from the pixel's surface comes through; begun a little to the sides too, where grazing ones may differ.
static bool passes_nearby(const psv_picture_def *picture, const oracle_scene *all, uint32_t pixel,
                          const oracle_hit *hit, const double direction[3], bool passes) {
    double eye[3];
    oracle_eye_ray(picture, pixel, 0.5, 0.5, eye);
    for (int i = 0; i < 27; ++i) {
        double origin[3];
        const int side[3] = {(i + 1) % 3 - 1, (i / 3 + 1) % 3 - 1, (i / 9 + 1) % 3 - 1};
        for (int k = 0; k < 3; ++k)
            origin[k] = (double)picture->camera.eye[k] + hit->t * eye[k] + 4e-4 * hit->normal[k] + 3e-4 * side[k];
        if ((oracle_trace(all, origin, direction).slot == PSV_NO_ITEM) == passes) return true;
    }
    return false;
}

static void compare(const psv_picture_def *picture, const oracle_scene *all, uint32_t *seen, uint32_t *lit,
                    uint32_t *open) {
    double sun[3], length = 0;
    for (int k = 0; k < 3; ++k)
        length += (double)picture->sun[k] * (double)picture->sun[k];
    for (int k = 0; k < 3; ++k)
        sun[k] = (double)picture->sun[k] / sqrt(length);
    for (uint32_t i = 0; i < PIXELS; ++i) {
        const psv_pixel_hit *hit = &found[i];
        oracle_hit match;
        if (!seen_nearby(picture, all, i, hit, &match))
            fail_msg("pixel %u sees body %u at %g; the oracle %u at %g", i, hit->slot, (double)hit->t, match.slot,
                     match.t);
        if (hit->slot == PSV_NO_ITEM) continue;
        ++*seen;
        double same = 0, slope = 0, sky[3];
        for (int k = 0; k < 3; ++k) {
            same += (double)hit->normal[k] * match.normal[k];
            slope += sun[k] * match.normal[k];
        }
        if (!(same > 0.99)) continue; // at an edge of the body itself: two normals are right
        const bool shines = hit->sun > 0, opens = hit->sky > 0;
        if (slope > 1e-4 ? !passes_nearby(picture, all, i, &match, sun, shines) : shines && slope < -1e-4)
            fail_msg("pixel %u: sun %g, slope %g", i, (double)hit->sun, slope);
        oracle_sky_ray(picture, i, match.normal, sky);
        if (!passes_nearby(picture, all, i, &match, sky, opens)) fail_msg("pixel %u: sky %g", i, (double)hit->sky);
        *lit += shines;
        *open += opens;
    }
}

static void against_brute_force(void **state) {
    (void)state;
    const uint32_t cases = test_kernels_only() ? 1 : 8 / test_scale() + 1;
    uint32_t seen = 0, lit = 0, open = 0;
    for (uint32_t seed = 1; seed <= cases; ++seed) {
        begin(seed, seed % 3 == 0 ? PSV_TREE_FINE : PSV_TREE_LINEAR);
        const psv_picture_def picture = make_picture(seed);
        render(&picture);
        compare(&picture, &scene, &seen, &lit, &open);
        end();
    }
    if (cases < 3) return;
    // The pictures show what they should: not sky alone, and neither all light nor all shadow.
    assert_in_range(seen, PIXELS * cases / 2, PIXELS * cases - 1);
    assert_in_range(lit, seen / 8, seen * 7 / 8);
    assert_in_range(open, seen / 8, seen * 7 / 8);
}

static void triangles_against_brute_force(void **state) {
    (void)state;
    uint32_t seen = 0, lit = 0, open = 0;
    make_shapes(5);
    const oracle_body mesh = {&shapes[MESH], {{0, 0, 0}, {0, 0, 0, 1}}};
    const oracle_scene all = {&mesh, 1};
    psv_buffer vertices, indices;
    CHECK(psv_alloc_buffer(context, sizeof corners, &vertices));
    CHECK(psv_alloc_buffer(context, sizeof faces, &indices));
    CHECK(psv_upload(context, vertices, corners, sizeof corners));
    CHECK(psv_upload(context, indices, faces, sizeof faces));
    const psv_triangle_set set = psv_triangles_of(vertices, SIDE * SIDE, indices, sizeof faces / sizeof *faces);
    make_renderer(PSV_TREE_LINEAR, set.count);
    psv_picture_def picture = make_picture(5);
    memcpy(picture.camera.eye, (float[3]){3, 4, 3}, 12);
    CHECK(psv_render_triangles(renderer, &set, &picture, pixels, hits));
    CHECK(psv_download(context, found, hits, sizeof found));
    for (uint32_t i = 0; i < PIXELS; ++i) // the oracle's one body is the mesh
        if (found[i].slot != PSV_NO_ITEM) found[i].slot = 0;
    compare(&picture, &all, &seen, &lit, &open);
    assert_in_range(seen, PIXELS / 8, PIXELS - 1);
    psv_free_buffer(context, &vertices);
    psv_free_buffer(context, &indices);
    end();
}

// --- Phong's shading, by its formula in double precision -------------------------------------------------------------

static uint32_t mixed_bits(uint32_t x) { // as docs/how/rendering.md has it
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

static double gloss_at(const double p[3], double cell) {
    const uint32_t primes[3] = {73856093u, 19349663u, 83492791u};
    uint32_t bits = 0;
    for (int k = 0; k < 3; ++k)
        bits ^= (uint32_t)(int32_t)floor(p[k] / cell) * primes[k];
    return (mixed_bits(bits) >> 8) / 16777216.0;
}

static int grey_of(double x) {
    const double bent = x < 0.6 ? x : 0.6 + 0.4 * (1 - exp((0.6 - x) / 0.4));
    return (int)(255 * pow(bent < 0 ? 0 : bent > 1 ? 1 : bent, 1 / 2.2) + 0.5);
}

static double dot_of(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// Colours of the surface of a pixel; false: the sky. *highlight: what is added to them.
static bool phong_colour(const psv_picture_def *picture, const double paint[3], uint32_t pixel, int colour[3],
                         double *highlight) {
    static const double still[3] = {0.22, 0.23, 0.26}, bright[3] = {1.02, 0.96, 0.84};
    const psv_pixel_hit *hit = &found[pixel];
    double d[3], n[3], p[3], sun[3], mirrored[3], distance = 0, shine;
    if (hit->slot == PSV_NO_ITEM) return false;
    oracle_eye_ray(picture, pixel, 0.5, 0.5, d);
    for (int k = 0; k < 3; ++k) {
        n[k] = (double)hit->normal[k];
        p[k] = (double)picture->camera.eye[k] + d[k] * (double)hit->t;
        sun[k] = (double)picture->sun[k];
        distance += pow((double)picture->camera.target[k] - (double)picture->camera.eye[k], 2);
    }
    const double length = sqrt(dot_of(sun, sun)), along = dot_of(d, n);
    for (int k = 0; k < 3; ++k) {
        sun[k] /= length;
        mirrored[k] = d[k] - 2 * along * n[k];
    }
    shine = fmax(dot_of(mirrored, sun), 0);
    *highlight = hit->sun > 0 ? pow(shine, 32) * gloss_at(p, pow(10, floor(log10(sqrt(distance) / 8)))) : 0;
    for (int k = 0; k < 3; ++k)
        colour[k] = grey_of(paint[k] * (still[k] + (hit->sun > 0 ? bright[k] * dot_of(n, sun) : 0)) + *highlight);
    return true;
}

static void phong_by_its_formula(void **state) {
    (void)state;
    static const double paint[3] = {0.60, 0.55, 0.48}; // of all triangles
    static psv_pixel_hit daylight[PIXELS];
    make_shapes(5);
    psv_buffer vertices, indices;
    CHECK(psv_alloc_buffer(context, sizeof corners, &vertices));
    CHECK(psv_alloc_buffer(context, sizeof faces, &indices));
    CHECK(psv_upload(context, vertices, corners, sizeof corners));
    CHECK(psv_upload(context, indices, faces, sizeof faces));
    const psv_triangle_set set = psv_triangles_of(vertices, SIDE * SIDE, indices, sizeof faces / sizeof *faces);
    make_renderer(PSV_TREE_LINEAR, set.count);
    psv_picture_def picture = make_picture(5);
    memcpy(picture.camera.eye, (float[3]){-3, 4, -3}, 12); // against the sun, which is low
    memcpy(picture.sun, (float[3]){0.7f, 0.35f, 0.7f}, 12);
    CHECK(psv_render_triangles(renderer, &set, &picture, pixels, hits));
    CHECK(psv_download(context, daylight, hits, sizeof daylight));
    picture.shading = PSV_SHADING_PHONG;
    picture.sun_radius = 0.3f; // plays no part, nor does the noise of other frames
    uint32_t other = 0, glossy = 0, lit = 0, seen = 0, rays = PIXELS;
    for (picture.frame = 0; picture.frame < 2; ++picture.frame) {
        CHECK(psv_render_triangles(renderer, &set, &picture, pixels, hits));
        CHECK(psv_download(context, found, hits, sizeof found));
        CHECK(psv_download(context, picture_words, pixels, sizeof picture_words));
        for (uint32_t i = 0; i < PIXELS; ++i) {
            int colour[3];
            double highlight;
            assert_memory_equal(&found[i], &daylight[i], offsetof(psv_pixel_hit, sun));
            if (!phong_colour(&picture, paint, i, colour, &highlight)) continue;
            bool same = found[i].sun == daylight[i].sun && found[i].sky == 0;
            for (int k = 0; k < 3; ++k)
                same &= abs((int)(picture_words[i] >> 8 * k & 255u) - colour[k]) <= 1;
            other += !same;
            ++seen;
            lit += found[i].sun > 0;
            glossy += highlight > 0.1;
        }
    }
    // At the edge of a cube of the gloss map, and of a shadow, either side is right.
    assert_in_range(other, 0, seen / 100);
    assert_in_range(lit, seen / 8, seen * 7 / 8);
    assert_in_range(glossy, seen / 50, seen);
    psv_render_statistics statistics;
    CHECK(psv_read_render_statistics(renderer, &statistics));
    for (uint32_t i = 0; i < PIXELS; ++i) {
        const float *n = found[i].normal, *sun = picture.sun;
        rays += found[i].slot != PSV_NO_ITEM && n[0] * sun[0] + n[1] * sun[1] + n[2] * sun[2] > 0;
    }
    assert_int_equal(statistics.rays, rays); // one to the sun from each surface that looks to it, none to the sky
    psv_free_buffer(context, &vertices);
    psv_free_buffer(context, &indices);
    end();
}

// --- colours of shapes -----------------------------------------------------------------------------------------------

// The paint of a shape with a colour of its own, on a body that moves or is ground.
static void own_paint(uint32_t colour, uint32_t slot, bool ground, double paint[3]) {
    const double tint = ground ? 1 : 0.9 + 0.2 * (mixed_bits(slot + 1) & 255u) / 255;
    for (int k = 0; k < 3; ++k)
        paint[k] = tint * pow((colour >> 8 * k & 255u) / 255.0, 2.2);
}

// Each body of a world has its shape's colour by Phong's formula: red is red, and black hides a plane's grid. By
// daylight a red body's pixels have no other colour in them.
static void shapes_have_colours(void **state) {
    (void)state;
    uint32_t seen[SHAPES] = {0}, other = 0;
    coloured = true;
    for (uint32_t seed = 60; seed < 63; ++seed) {
        begin(seed, PSV_TREE_LINEAR);
        psv_picture_def picture = make_picture(seed);
        picture.shading = PSV_SHADING_PHONG;
        render(&picture);
        for (uint32_t i = 0; i < PIXELS; ++i) {
            const uint32_t slot = found[i].slot;
            if (slot == PSV_NO_ITEM || found[i].t > 30) continue; // far planes melt into the sky
            const long shape = bodies[slot].shape - shapes;
            int colour[3];
            double highlight, paint[3];
            own_paint(own_colours[shape], slot, shape >= PLANE, paint);
            assert_true(phong_colour(&picture, paint, i, colour, &highlight));
            // The plane is the edge of the gloss map's cubes. Black, it has a highlight alone, which is grey.
            if (shape == PLANE) colour[0] = colour[1] = colour[2] = (int)(picture_words[i] & 255u);
            bool same = shape != PLANE || found[i].sun > 0 || colour[0] <= 1;
            for (int k = 0; k < 3; ++k)
                same &= abs((int)(picture_words[i] >> 8 * k & 255u) - colour[k]) <= 1;
            other += !same;
            seen[shape] += same;
        }
        picture.shading = PSV_SHADING_DAYLIGHT;
        render(&picture);
        for (uint32_t i = 0; i < PIXELS; ++i)
            if (found[i].slot != PSV_NO_ITEM && bodies[found[i].slot].shape == &shapes[BALL])
                if ((picture_words[i] & 0xffff00u) != 0 || (picture_words[i] & 255u) < 16)
                    fail_msg("pixel %u of a red ball is %06x", i, picture_words[i] & 0xffffffu);
        end();
    }
    coloured = false;
    for (int s = 0; s < SHAPES; ++s)
        if (seen[s] < 40) fail_msg("shape %d: %u pixels have its colour", s, seen[s]);
    // At the edge of a cube of the gloss map either side is right.
    assert_in_range(other, 0, 3 * PIXELS / 100);
}

// --- pictures that rest ----------------------------------------------------------------------------------------------

// Mean distance of two pictures' bytes.
static double apart(const uint32_t *a, const uint32_t *b) {
    double sum = 0;
    for (uint32_t i = 0; i < 3 * PIXELS; ++i)
        sum += abs((int)(a[i / 3] >> 8 * (i % 3) & 255u) - (int)(b[i / 3] >> 8 * (i % 3) & 255u));
    return sum / (3 * PIXELS);
}

static uint32_t added_up(void) {
    psv_render_statistics statistics;
    CHECK(psv_read_render_statistics(renderer, &statistics));
    return statistics.added_up;
}

static void render_resting(psv_picture_def *picture, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i, ++picture->frame) {
        picture->rests = i > 0;
        render(picture);
    }
}

static void adding_up(void **state) {
    (void)state;
    static uint32_t once[PIXELS], first[PIXELS], other[PIXELS];
    begin(21, PSV_TREE_LINEAR);
    psv_picture_def picture = make_picture(21);
    picture.sun_radius = 0.05f;
    picture.denoise = false;
    render_resting(&picture, 1);
    memcpy(once, picture_words, sizeof once);
    render_resting(&picture, 64);
    assert_int_equal(added_up(), 64);
    memcpy(first, picture_words, sizeof first);
    render_resting(&picture, 64); // other random numbers
    memcpy(other, picture_words, sizeof other);
    const double noise = apart(once, other), rest = apart(first, other);
    if (!(rest < 0.25 * noise)) fail_msg("one sample is off by %g, 64 by %g", noise, rest);
    // One smoothed picture is nearer to it than one that is not.
    picture.denoise = true;
    render_resting(&picture, 1);
    if (!(apart(picture_words, other) < 0.8 * noise))
        fail_msg("smoothed %g, plain %g", apart(picture_words, other), noise);
    end();
}

static void begins_anew(void **state) {
    (void)state;
    begin(22, PSV_TREE_LINEAR);
    psv_picture_def picture = make_picture(22);
    render_resting(&picture, 3);
    assert_int_equal(added_up(), 3);
    picture.camera.eye[0] += 0.01f;
    render(&picture);
    assert_int_equal(added_up(), 1);
    render(&picture);
    assert_int_equal(added_up(), 2);
    CHECK(psv_world_step(world, 1.0f / 60));
    render(&picture);
    assert_int_equal(added_up(), 1);
    picture.mirrors = 0.5f;
    render(&picture);
    assert_int_equal(added_up(), 1);
    end();
}

// Ground that is moved, or comes, is seen in its new place.
static void ground_changes(void **state) {
    (void)state;
    begin(23, PSV_TREE_LINEAR);
    psv_picture_def picture = make_picture(23);
    render(&picture);
    for (uint32_t i = 1; i < 3; ++i) {
        psv_body_id id = {i + 1, 1};
        psv_body_state moved = {.pose = bodies[i].pose};
        if (!psv_body_is_valid(world, id)) id.generation = 0;
        moved.pose.position[1] += 1.5f;
        CHECK(psv_set_body_state(world, id, &moved));
        bodies[i].pose.position[1] += 1.5f;
    }
    render(&picture);
    uint32_t seen = 0, lit = 0, open = 0;
    compare(&picture, &scene, &seen, &lit, &open);
    end();
}

// Bodies that are made or placed by calls while the picture rests are seen: with shapes that are new, of which there
// are so many that the world's tables move.
static void bodies_come_at_rest(void **state) {
    (void)state;
    static uint32_t before[PIXELS];
    begin(27, PSV_TREE_LINEAR);
    psv_picture_def picture = make_picture(27);
    render_resting(&picture, 4);
    memcpy(before, picture_words, sizeof before);
    picture.frame -= 4;
    render_resting(&picture, 3);
    psv_shape_def ball = shapes[BALL];
    uint32_t shape = 0;
    for (int i = 0; i < 300; ++i) {
        ball.size[0] = 0.5f + 0.001f * (float)i;
        CHECK(psv_create_shape(world, &ball, &shape));
    }
    render(&picture); // the old bodies, by the new tables
    assert_int_equal(added_up(), 4);
    assert_memory_equal(before, picture_words, sizeof before);
    const psv_body_id gone = {BODIES, 1};
    CHECK(psv_destroy_body(world, gone));
    render(&picture);
    assert_int_equal(added_up(), 1);
    psv_body_def def = psv_default_body_def();
    def.shape = shape;
    memcpy(def.pose.position, (float[3]){0.5f, 1.5f, -0.3f}, 12); // where the eye looks
    psv_body_id id;
    CHECK(psv_create_bodies(world, &def, 1, &id));
    bodies[id.index1 - 1].shape = &ball;
    bodies[id.index1 - 1].pose = def.pose;
    render(&picture);
    assert_int_equal(added_up(), 1);
    uint32_t seen = 0, lit = 0, open = 0, of_new = 0;
    compare(&picture, &scene, &seen, &lit, &open);
    for (uint32_t i = 0; i < PIXELS; ++i)
        of_new += found[i].slot == id.index1 - 1;
    assert_true(of_new > 0);
    psv_body_state placed = {.pose = def.pose};
    placed.pose.position[1] = 2.5f;
    CHECK(psv_set_body_states(world, &id, 1, &placed));
    bodies[id.index1 - 1].pose = placed.pose;
    render(&picture);
    assert_int_equal(added_up(), 1);
    compare(&picture, &scene, &seen, &lit, &open);
    end();
}

static psv_render_statistics statistics_of(psv_renderer *of) {
    psv_render_statistics statistics;
    CHECK(psv_read_render_statistics(of, &statistics));
    return statistics;
}

// Two renderers of one context, of a large and of a tiny picture, with steps between: each tells of its own last one.
static void profiles_stay_apart(void **state) {
    (void)state;
    begin(28, PSV_TREE_LINEAR);
    CHECK(psv_enable_profile(context, true));
    psv_renderer_def def = psv_default_renderer_def();
    def.max_width = def.max_height = 2;
    def.world = world;
    psv_renderer *tiny = NULL;
    CHECK(psv_create_renderer(context, &def, &tiny));
    psv_picture_def large = make_picture(28), small = large;
    small.width = small.height = 2;
    render(&large);
    const psv_render_statistics first = statistics_of(renderer);
    for (int i = 0; i < 5; ++i) {
        CHECK(psv_render_world(tiny, &small, pixels, hits));
        CHECK(psv_world_step(world, 1.0f / 60));
    }
    const psv_render_statistics second = statistics_of(tiny);
    assert_true(statistics_of(renderer).frame_ms == first.frame_ms);
    assert_true(statistics_of(renderer).trace_ms == first.trace_ms);
    assert_true(first.trace_ms > 0 && second.frame_ms > 0 && second.frame_ms != first.frame_ms);
    assert_true(second.trace_ms >= 0 && second.trace_ms <= second.frame_ms && second.rays < first.rays);
    psv_destroy_renderer(tiny); // while the profile still has frames of it
    CHECK(psv_world_step(world, 1.0f / 60));
    psv_profile profile;
    CHECK(psv_wait_profile(context, &profile));
    assert_true(profile.frame_ms > 0);
    assert_true(statistics_of(renderer).frame_ms == first.frame_ms);
    CHECK(psv_enable_profile(context, false));
    render(&large);
    assert_true(statistics_of(renderer).frame_ms == 0);
    end();
}

static void same_bytes(void **state) {
    (void)state;
    static uint32_t before[PIXELS];
    begin(24, PSV_TREE_LINEAR);
    psv_picture_def picture = make_picture(24);
    picture.mirrors = picture.glass = 0.4f;
    render_resting(&picture, 5);
    memcpy(before, picture_words, sizeof before);
    picture.frame -= 5;
    render_resting(&picture, 5);
    assert_memory_equal(before, picture_words, sizeof before);
    picture.frame -= 4;
    render_resting(&picture, 5);
    assert_true(memcmp(before, picture_words, sizeof before) != 0);
    end();
}

// --- whole pictures --------------------------------------------------------------------------------------------------

// Against stored pictures, which somebody has looked at: mirrors, glass, paint, light and smoothing together. With
// PAIRSIEVE_WRITE_REFERENCES in the environment they are written instead.
static void whole_pictures(void **state) {
    (void)state;
    static const char *const names[2] = {"render_moving", "render_resting"};
    static uint8_t wanted[3 * PIXELS];
    begin(31, PSV_TREE_LINEAR);
    psv_picture_def picture = make_picture(31);
    picture.mirrors = picture.glass = 0.25f;
    picture.sun_radius = 0.03f;
    for (int i = 0; i < 2; ++i) {
        char path[512];
        render_resting(&picture, i == 0 ? 1 : 70);
        (void)snprintf(path, sizeof path, "%s/tests/sim/references/%s.ppm", PAIRSIEVE_SOURCE_DIR, names[i]);
        const bool writes = getenv("PAIRSIEVE_WRITE_REFERENCES") != NULL;
        FILE *file = fopen(path, writes ? "wb" : "rb");
        if (file == NULL) fail_msg("%s cannot be opened", path);
        if (writes) {
            for (uint32_t k = 0; k < 3 * PIXELS; ++k)
                wanted[k] = (uint8_t)(picture_words[k / 3] >> 8 * (k % 3));
            (void)fprintf(file, "P6\n%u %u\n255\n", WIDTH, HEIGHT);
            assert_int_equal(fwrite(wanted, 1, sizeof wanted, file), sizeof wanted);
        } else {
            assert_int_equal(fseek(file, -(long)sizeof wanted, SEEK_END), 0);
            assert_int_equal(fread(wanted, 1, sizeof wanted, file), sizeof wanted);
        }
        (void)fclose(file);
        uint32_t off = 0; // rounding sends a few rays of many bounces elsewhere
        for (uint32_t k = 0; k < 3 * PIXELS; ++k)
            off += abs((int)wanted[k] - (int)(picture_words[k / 3] >> 8 * (k % 3) & 255u)) > 6;
        if (off > 3 * PIXELS / 100) fail_msg("%s: %u of %u values differ", names[i], off, 3 * PIXELS);
    }
    end();
}

// --- bad calls -------------------------------------------------------------------------------------------------------

static void bad_pictures(void **state) {
    (void)state;
    begin(25, PSV_TREE_LINEAR);
    const psv_picture_def good = make_picture(25);
    psv_picture_def bad[12];
    static const char *const words[12] = {"default_picture_def", "same place", "up is zero", "not finite",
                                          "field is 0",          "65 x 40",    "0 x 40",     "sun must be",
                                          "sun_radius is -1",    "mirrors is", "sky is 3",   "shading is 2"};
    for (int i = 0; i < 12; ++i)
        bad[i] = good;
    bad[0].cookie = 1;
    memcpy(bad[1].camera.target, bad[1].camera.eye, 12);
    memset(bad[2].camera.up, 0, 12);
    bad[3].camera.eye[1] = NAN;
    bad[4].camera.field = 0;
    bad[5].width = 65;
    bad[6].width = 0;
    memset(bad[7].sun, 0, 12);
    bad[8].sun_radius = -1;
    bad[9].mirrors = 0.7f, bad[9].glass = 0.4f;
    bad[10].sky = (psv_sky)3;
    bad[11].shading = (psv_shading)2;
    for (int i = 0; i < 12; ++i)
        expect_refusal(context, psv_render_world(renderer, &bad[i], pixels, hits), PSV_ERROR_ARGUMENT, words[i]);
    psv_buffer small = psv_sub_buffer(pixels, 0, 4 * PIXELS - 4);
    expect_refusal(context, psv_render_world(renderer, &good, small, hits), PSV_ERROR_ARGUMENT, "pixels");
    small = psv_sub_buffer(hits, 0, sizeof found - 4);
    expect_refusal(context, psv_render_world(renderer, &good, pixels, small), PSV_ERROR_ARGUMENT, "hits");
    expect_refusal(context, psv_render_world(renderer, NULL, pixels, hits), PSV_ERROR_ARGUMENT, "default_picture_def");
    const psv_triangle_set none = {0};
    expect_refusal(context, psv_render_triangles(renderer, &none, &good, pixels, hits), PSV_ERROR_ARGUMENT,
                   "not for triangles");
    psv_render_statistics statistics;
    expect_refusal(context, psv_read_render_statistics(renderer, &statistics), PSV_ERROR_ARGUMENT, "no picture yet");
    render(&good); // nothing was harmed
    end();
}

static void bad_renderers(void **state) {
    (void)state;
    make_world(26);
    psv_renderer_def def = psv_default_renderer_def();
    psv_renderer *made = NULL;
    expect_refusal(context, psv_create_renderer(context, &def, &made), PSV_ERROR_ARGUMENT, "neither");
    def.world = world;
    def.max_triangles = 4;
    expect_refusal(context, psv_create_renderer(context, &def, &made), PSV_ERROR_ARGUMENT, "both");
    def.max_triangles = 0;
    def.max_width = 20000;
    expect_refusal(context, psv_create_renderer(context, &def, &made), PSV_ERROR_ARGUMENT, "20000 x 1080");
    def.max_width = 64;
    def.sort_method = "guess";
    expect_refusal(context, psv_create_renderer(context, &def, &made), PSV_ERROR_UNSUPPORTED, "guess");
    def.cookie = 0;
    expect_refusal(context, psv_create_renderer(context, &def, &made), PSV_ERROR_ARGUMENT, "default_renderer_def");
    assert_null(made);
    psv_destroy_renderer(NULL);
    psv_destroy_world(world);
    world = NULL;
}

int main(int argc, char **argv) {
    const number_option no_options = {NULL, NULL};
    if (!read_backend_arguments(argc, argv, &backend, &no_options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_brute_force),
        cmocka_unit_test(triangles_against_brute_force),
        cmocka_unit_test(phong_by_its_formula),
        cmocka_unit_test(shapes_have_colours),
        cmocka_unit_test(adding_up),
        cmocka_unit_test(begins_anew),
        cmocka_unit_test(ground_changes),
        cmocka_unit_test(bodies_come_at_rest),
        cmocka_unit_test(profiles_stay_apart),
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(whole_pictures),
        cmocka_unit_test(bad_pictures),
        cmocka_unit_test(bad_renderers),
    };
    return RUN_BACKEND_TESTS("render", &def, &context, tests);
}
