// Scene files: what is refused and where, and what the generators make. Public headers only.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pairsieve/sim.h"

static psv_context *context;

static int open_context(void **unused) {
    (void)unused;
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    return psv_create_context(&def, &context) == PSV_OK ? 0 : -1;
}

static int close_context(void **unused) {
    (void)unused;
    psv_destroy_context(context);
    return 0;
}

static psv_status load_text(const char *text, uint64_t bodies, psv_scene **scene) {
    const char *path = "test_scene.json";
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fwrite(text, 1, strlen(text), file) == strlen(text));
    assert_int_equal(fclose(file), 0);
    psv_scene_options options = psv_default_scene_options();
    options.bodies = bodies;
    psv_status status = psv_load_scene(context, path, &options, scene);
    (void)remove(path);
    return status;
}

typedef struct refusal {
    const char *text, *place, *word;
} refusal;

#define GOOD_SHAPES "\"shapes\": {\"ball\": {\"type\": \"sphere\"}, \"floor\": {\"type\": \"plane\"}}"

static const refusal refusals[] = {
    {"", ":1:", ""},
    {"{\"shapes\": {},\n \"generators\": [}", ":2:", ""},
    {"[1, 2]", ":1:1:", "object"},
    {"{\n  \"shapse\": {}\n}", ":2:3:", "shapse"},
    {"{" GOOD_SHAPES ", \"generators\": [],\n\"gravity\": 3}", ":2:1:", "gravity"},
    {"{\"generators\": []}", ":1:1:", "shapes"},
    {"{" GOOD_SHAPES "}", ":1:1:", "generators"},
    {"{" GOOD_SHAPES ", \"generators\": 3}", ":1:", "array"},
    {"{\"bodies\": -4,\n" GOOD_SHAPES ", \"generators\": []}", ":1:12:", "bodies"},
    {"{\"bodies\": 0,\n" GOOD_SHAPES ", \"generators\": []}", ":1:12:", "bodies"},
    {"{\"bodies\": 1.5,\n" GOOD_SHAPES ", \"generators\": []}", ":1:12:", "bodies"},
    {"{\"frame_seconds\": 0,\n" GOOD_SHAPES ", \"generators\": []}", ":1:19:", "frame_seconds"},
    {"{\"world\": {\n\"gravity\": [0, 1]},\n" GOOD_SHAPES ", \"generators\": []}", ":2:12:", "gravity"},
    {"{\"world\": {\n\"gravity\": [0, \"a\", 2]},\n" GOOD_SHAPES ", \"generators\": []}", ":2:16:", "gravity"},
    {"{\"world\": {\"substeps\": 0},\n" GOOD_SHAPES ", \"generators\": []}", ":1:24:", "substeps"},
    {"{\"shapes\": {\"a\": {\"type\": \"sphere\",\n \"radius\": -1}}, \"generators\": []}", ":2:12:", "radius"},
    {"{\"shapes\": {\"a\": {\"type\": \"sphere\",\n \"radius\": 1e300}}, \"generators\": []}", ":2:12:", "radius"},
    {"{\"shapes\": {\"a\": {\"type\": \"torus\"}}, \"generators\": []}", ":1:27:", "torus"},
    {"{\"shapes\": {\"a\": {\"radius\": 1}}, \"generators\": []}", ":1:18:", "type"},
    {"{\"shapes\": {\"a\": {\"type\": \"compound\"}}, \"generators\": []}", ":1:18:", "children"},
    {"{\"shapes\": {\"a\": {\"type\": \"sphere\",\n \"colour\": \"red\"}}, \"generators\": []}", ":2:12:", "#rrggbb"},
    {"{\"shapes\": {\"a\": {\"type\": \"sphere\",\n \"colour\": \"#12345g\"}}, \"generators\": []}",
     ":2:12:", "#rrggbb"},
    {"{\"shapes\": {\"a\": {\"type\": \"sphere\",\n \"colour\": \"#12345600\"}}, \"generators\": []}",
     ":2:12:", "opacity"},
    {"{\"shapes\": {\"a\": {\"type\": \"sphere\",\n \"colour\": [\"#123456\", 7]}}, \"generators\": []}",
     ":2:24:", "#rrggbb"},
    {"{\"shapes\": {\"a\": {\"type\": \"sphere\",\n \"colour\": []}}, \"generators\": []}", ":2:12:", "1 to 64"},
    {"{\"shapes\": {\"a\": {\"type\": \"compound\", \"children\": []}}, \"generators\": []}", ":1:51:", "1 to 64"},
    {"{\"shapes\": {\"a\": {\"type\": \"box\", \"half_extents\": [1, 0, 1]}}, \"generators\": []}",
     ":1:50:", "half_extents"},
    {"{\"shapes\": {\"a\": {\"type\": \"mesh\", \"file\": \"nowhere.ply\"}}, \"generators\": []}", "", "nowhere.ply"},
    {"{" GOOD_SHAPES ",\n\"generators\": [{\"type\": \"rain\"}]}", ":2:", "rain"},
    {"{" GOOD_SHAPES ",\n\"generators\": [{\"type\": \"fill\"}]}", ":2:16:", "shapes"},
    {"{" GOOD_SHAPES ",\n\"generators\": [{\"type\": \"fill\", \"shapes\": [\"bal\"]}]}", ":2:44:", "bal"},
    {"{" GOOD_SHAPES ",\n\"generators\": [{\"type\": \"fill\", \"shapes\": [\"floor\"]}]}", ":2:44:", "floor"},
    {"{" GOOD_SHAPES ",\n\"generators\": [{\"type\": \"fill\", \"shapes\": [\"ball\"],\n \"spacin\": 2}]}",
     ":3:2:", "spacin"},
    {"{" GOOD_SHAPES ",\n\"generators\": [{\"type\": \"stack\", \"kind\": \"heap\", \"shapes\": [\"ball\"]}]}",
     ":2:42:", "heap"},
    {"{" GOOD_SHAPES ",\n\"generators\": [{\"type\": \"fill\", \"shapes\": [\"ball\"], \"over_landscape\": 0.5}]}",
     ":2:16:", "landscape"},
    {"{" GOOD_SHAPES ",\n\"fixed\": [{\"shape\": \"wall\"}], \"generators\": []}", ":2:11:", "shape"},
    {"{" GOOD_SHAPES ",\n\"fixed\": [{\"shape\": \"floor\", \"rotation\": [0,0,0,0]}], \"generators\": []}",
     ":2:11:", "rotation"},
    {"{\"bodies\": 5, \"bodies\": 6,\n" GOOD_SHAPES ", \"generators\": []}", ":1:", "duplicate"},
    {"{\"world\": {\"broad_phase\": \"guess\"},\n" GOOD_SHAPES
     ", \"generators\": [{\"type\": \"fill\", \"shapes\": [\"ball\"]}]}",
     ":1:27:", "guess"},
    {"{\"world\": {\"sort_method\":\n \"bogo\"}, " GOOD_SHAPES
     ", \"generators\": [{\"type\": \"fill\", \"shapes\": [\"ball\"]}]}",
     ":2:2:", "bogo"},
};

static void refuses_with_line_and_column(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
        psv_scene *scene = (psv_scene *)&scene;
        psv_status status = load_text(refusals[i].text, 10, &scene);
        const char *sentence = psv_last_error(context);
        if (status == PSV_OK || scene != NULL) fail_msg("accepted: %s", refusals[i].text);
        if (strstr(sentence, refusals[i].place) == NULL || strstr(sentence, refusals[i].word) == NULL)
            fail_msg("«%s» does not name %s and «%s» for %s", sentence, refusals[i].place, refusals[i].word,
                     refusals[i].text);
    }
}

static void replaces_unknown_methods(void **unused) {
    (void)unused;
    const char *path = "test_scene_methods.json";
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs("{\"world\": {\"broad_phase\": \"guess\", \"sort_method\": \"bogo\"}, " GOOD_SHAPES
                      ", \"generators\": [{\"type\": \"fill\", \"shapes\": [\"ball\"]}]}",
                      file) >= 0);
    assert_int_equal(fclose(file), 0);
    psv_scene_options options = psv_default_scene_options();
    options.broad_phase = "sweep";
    psv_scene *scene = NULL;
    assert_int_equal(psv_load_scene(context, path, &options, &scene), PSV_ERROR_FORMAT);
    assert_non_null(strstr(psv_last_error(context), "bogo"));
    options.sort_method = "merge";
    assert_int_equal(psv_load_scene(context, path, &options, &scene), PSV_OK);
    psv_destroy_scene(scene);
    (void)remove(path);
}

static void refuses_meshes_that_are_no_ground(void **unused) {
    (void)unused;
    static const char *const meshes[][2] = {{"v 0 0 0\nv 1 0 0\nv 0 0 1\n", "has no triangles"},
                                            {"v 0 0 0\nv 1e39 0 0\nv 0 0 1\nf 1 2 3\n", "not finite"}};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; ++i) {
        FILE *file = fopen("test_scene.obj", "wb");
        assert_non_null(file);
        assert_true(fputs(meshes[i][0], file) >= 0 && fclose(file) == 0);
        psv_scene *scene = NULL;
        const char *text = "{\"shapes\":\n {\"hill\": {\"type\": \"mesh\", \"file\": \"test_scene.obj\"}},"
                           "\"generators\": [{\"type\": \"mesh_instances\", \"mesh\": \"hill\"}]}";
        assert_int_equal(load_text(text, 10, &scene), PSV_ERROR_FORMAT);
        assert_null(scene);
        if (strstr(psv_last_error(context), ":2:36: the mesh test_scene.obj ") == NULL ||
            strstr(psv_last_error(context), meshes[i][1]) == NULL)
            fail_msg("%s", psv_last_error(context));
    }
    (void)remove("test_scene.obj");
}

static void comments_are_allowed_everywhere(void **unused) {
    (void)unused;
    psv_scene *scene = NULL;
    psv_status status =
        load_text("{\"//\": \"a\", \"//2\": 3, \"shapes\": {\"//\": 1, \"ball\": {\"//\": 1, \"type\": \"sphere\"}},"
                  "\"generators\": [{\"//\": [], \"type\": \"grid\", \"shapes\": [\"ball\"]}]}",
                  27, &scene);
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
    assert_int_equal(psv_world_body_count(psv_scene_world(scene)), 27);
    psv_destroy_scene(scene);
}

static void says_how_much_memory(void **unused) {
    (void)unused;
    const uint64_t counts[] = {800000000ull, 1ull << 31, 1ull << 50, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        psv_scene_options options = psv_default_scene_options();
        options.bodies = counts[i];
        psv_scene *scene = NULL;
        assert_int_equal(psv_load_scene(context, "drop", &options, &scene), PSV_ERROR_MEMORY);
        assert_null(scene);
        assert_non_null(strstr(psv_last_error(context), "bytes"));
    }
    print_message("%s\n", psv_last_error(context));
}

// Scenes whose bodies are listed or come one after another, whatever number is asked for.
static const char *const fixed_scenes[] = {"marble_run", "card_house", "arch", "jenga", NULL};

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names != NULL; ++names)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

static void shipped_scenes_scale(void **unused) {
    (void)unused;
    const uint64_t counts[] = {1, 2, 33, 1000};
    for (uint32_t i = 0; psv_shipped_scene_name(i) != NULL; ++i) {
        assert_true(strlen(psv_shipped_scene_description(i)) > 10);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
            psv_scene_options options = psv_default_scene_options();
            options.bodies = counts[k];
            psv_scene *scene = NULL;
            if (psv_load_scene(context, psv_shipped_scene_name(i), &options, &scene) != PSV_OK)
                fail_msg("%s with %d bodies: %s", psv_shipped_scene_name(i), (int)counts[k], psv_last_error(context));
            assert_string_equal(psv_scene_name(scene), psv_shipped_scene_name(i));
            const bool fixed = is_one_of(psv_scene_name(scene), fixed_scenes);
            assert_true(psv_world_body_count(psv_scene_world(scene)) >= (fixed ? 15 : counts[k]));
            float eye[3] = {NAN, 0, 0}, target[3];
            psv_scene_view(scene, NULL, NULL);
            psv_scene_view(scene, eye, target);
            assert_true(isfinite(eye[0]) && psv_scene_frame_seconds(scene) > 0);
            for (int frame = 0; frame < 3; ++frame)
                if (psv_scene_step(scene) != PSV_OK) fail_msg("%s", psv_last_error(context));
            psv_destroy_scene(scene);
        }
    }
    assert_null(psv_shipped_scene_name(1000));
    assert_null(psv_shipped_scene_description(1000));
}

static void download(psv_scene *scene, float (**positions)[4], uint64_t *count) {
    psv_buffer buffer = psv_world_positions(psv_scene_world(scene));
    *count = buffer.bytes / 16;
    *positions = malloc(buffer.bytes);
    assert_non_null(*positions);
    assert_int_equal(psv_download(context, *positions, buffer, buffer.bytes), PSV_OK);
}

static void seeds_change_the_scene(void **unused) {
    (void)unused;
    float(*first)[4] = NULL;
    uint64_t count = 0;
    for (int i = 0; i < 3; ++i) {
        psv_scene_options options = psv_default_scene_options();
        options.bodies = 100;
        options.has_seed = true;
        options.seed = i == 2 ? 8 : 7;
        psv_scene *scene = NULL;
        assert_int_equal(psv_load_scene(context, "free_fall", &options, &scene), PSV_OK);
        assert_int_equal(psv_scene_seed(scene), options.seed);
        float(*now)[4];
        uint64_t same;
        download(scene, &now, &same);
        if (i == 0) {
            first = now;
            count = same;
        } else {
            assert_int_equal(count, same);
            assert_int_equal(memcmp(first, now, count * 16) == 0, i == 1);
            free(now);
        }
        psv_destroy_scene(scene);
    }
    free(first);
}

// The Broadmark room: L = (10 N)^(1/3), bodies in a ball of 0.45 L, speeds up to 0.75 L, gravity 0.0981 L.
static void broadmark_room_has_its_size(void **unused) {
    (void)unused;
    psv_scene_options options = psv_default_scene_options();
    options.bodies = 2000;
    psv_scene *scene = NULL;
    assert_int_equal(psv_load_scene(context, "free_fall", &options, &scene), PSV_OK);
    double room = cbrt(10.0 * 2000), farthest = 0;
    float(*positions)[4];
    uint64_t count;
    download(scene, &positions, &count);
    for (uint64_t i = 6; i < count; ++i)
        farthest = fmax(farthest, sqrt((double)(positions[i][0] * positions[i][0] + positions[i][1] * positions[i][1] +
                                                positions[i][2] * positions[i][2])));
    free(positions);
    print_message("room %.3f, farthest body %.3f rooms from the middle\n", room, farthest / room);
    assert_true(farthest <= 0.4501 * room && farthest > 0.44 * room);
    assert_true(fabs((double)psv_scene_frame_seconds(scene) - 1.0 / 30) < 1e-6);
    psv_destroy_scene(scene);
}

static void emitters_emit(void **unused) {
    (void)unused;
    psv_scene *scene = NULL;
    psv_status status =
        load_text("{" GOOD_SHAPES ", \"generators\": [{\"type\": \"emitter\", \"shapes\": [\"ball\"], \"rate\": 120}]}",
                  20, &scene);
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
    uint64_t last = 0;
    for (int frame = 0; frame < 15; ++frame) {
        assert_int_equal(psv_scene_step(scene), PSV_OK);
        uint64_t now = psv_world_body_count(psv_scene_world(scene));
        assert_true(now >= last && now <= last + 3);
        last = now;
    }
    assert_int_equal(last, 20);
    psv_destroy_scene(scene);
}

// Bodies stand in a row that winds outwards, each along it; the first and every 40th more are tipped onto the next.
static void spirals_wind(void **unused) {
    (void)unused;
    psv_scene *scene = NULL;
    psv_status status =
        load_text("{\"shapes\": {\"stone\": {\"type\": \"box\"}}, \"generators\": [{\"type\": \"spiral\", "
                  "\"shapes\": [\"stone\"], \"radius\": 4, \"pitch\": 2, \"spacing\": 0.5, \"tip\": 2, "
                  "\"tip_every\": 40, \"base\": [1, 3, 0]}]}",
                  400, &scene);
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
    psv_world *world = psv_scene_world(scene);
    const float(*at)[4] = psv_buffer_address(psv_world_positions(world));
    const float(*turned)[4] = psv_buffer_address(psv_world_rotations(world));
    const float(*spins)[4] = psv_buffer_address(psv_world_angular_velocities(world));
    double round = 0;
    for (int i = 0; i < 399; ++i) {
        const double dx = (double)(at[i + 1][0] - at[i][0]), dz = (double)(at[i + 1][2] - at[i][2]),
                     way = hypot(dx, dz);
        const double x = (double)at[i][0] - 1, z = (double)at[i][2];
        assert_true(fabs(way - 0.5) < 0.02 && at[i][1] == 3);
        round += atan2(x * dz - z * dx, x * x + z * z + x * dx + z * dz); // the turn from one to the next
        assert_true(fabs(hypot(x + dx, z + dz) - (4 + 2 * round / 6.283185307)) < 0.02);
        // Its own x axis: the first column of its rotation.
        const double y = (double)turned[i][1], w = (double)turned[i][3];
        const double across = ((1 - 2 * y * y) * dx - 2 * y * w * dz) / way;
        assert_true(across > 0.98);
        const double spin = hypot((double)spins[i][0], (double)spins[i][2]);
        assert_true(fabs(spin - (i % 40 == 0 ? 2 : 0)) < 1e-5);
        // The top goes forward: spin x up.
        if (i % 40 == 0) assert_true((-(double)spins[i][2] * dx + (double)spins[i][0] * dz) / way > 1.9);
    }
    psv_destroy_scene(scene);
}

static uint32_t colour_of(psv_world *world, const uint32_t *shapes, uint64_t slot) {
    psv_shape_def def = psv_default_shape_def();
    assert_int_equal(psv_world_shape(world, shapes[slot], &def), PSV_OK);
    return def.colour;
}

// A shape has one colour, or its bodies have those of a list about equally often, whatever their size. Bodies stand
// where they stand without colours.
static void shapes_have_colours(void **unused) {
    (void)unused;
    static const char *const colours[2] = {"", ", \"colour\": [\"#ff8000\", \"#00Ff00\", \"#0000ff7F\"]"};
    psv_scene *scenes[2] = {NULL, NULL};
    for (int i = 0; i < 2; ++i) {
        char text[512];
        (void)snprintf(
            text, sizeof text,
            "{\"shapes\": {\"floor\": {\"type\": \"plane\", \"colour\": \"#102030\"}, \"die\": {\"type\": \"hull\", "
            "\"points\": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]%s}, \"ball\": {\"type\": \"sphere\", "
            "\"sizes\": {\"from\": 0.2, \"to\": 1}%s}}, \"fixed\": [{\"shape\": \"floor\"}], "
            "\"generators\": [{\"type\": \"fill\", \"shapes\": [\"ball\", \"die\"]}]}",
            colours[i], colours[i]);
        if (load_text(text, 600, &scenes[i]) != PSV_OK) fail_msg("%s", psv_last_error(context));
    }
    psv_world *plain = psv_scene_world(scenes[0]), *world = psv_scene_world(scenes[1]);
    const uint32_t *shapes = psv_buffer_address(psv_world_shape_indices(world)),
                   *plain_shapes = psv_buffer_address(psv_world_shape_indices(plain));
    const uint64_t slots = psv_world_slot_count(world);
    assert_int_equal(slots, 601);
    assert_memory_equal(psv_buffer_address(psv_world_positions(world)), psv_buffer_address(psv_world_positions(plain)),
                        16 * slots);
    int counts[3] = {0};
    for (uint64_t i = 0; i < slots; ++i) {
        psv_shape_def def = psv_default_shape_def();
        assert_int_equal(psv_world_shape(world, shapes[i], &def), PSV_OK);
        if (def.type == PSV_SHAPE_PLANE) {
            assert_int_equal(colour_of(world, shapes, i), 0xff302010u);
            continue;
        }
        const uint32_t colour = colour_of(world, shapes, i);
        assert_true(colour == 0xff0080ffu || colour == 0xff00ff00u || colour == 0x7fff0000u);
        assert_int_equal(colour_of(plain, plain_shapes, i), 0);
        counts[colour == 0xff0080ffu ? 0 : colour == 0xff00ff00u ? 1 : 2] += 1;
    }
    for (int i = 0; i < 3; ++i)
        assert_in_range(counts[i], 140, 260); // of 200
    psv_destroy_scene(scenes[0]);
    psv_destroy_scene(scenes[1]);
}

// Single bodies take the colours of a list in turn.
static void fixed_bodies_take_colours_in_turn(void **unused) {
    (void)unused;
    psv_scene *scene = NULL;
    const char *text =
        "{\"shapes\": {\"ball\": {\"type\": \"sphere\", \"colour\": [\"#000001\", \"#000002\", \"#000003\"]}}, "
        "\"fixed\": [{\"shape\": \"ball\"}, {\"shape\": \"ball\"}, {\"shape\": \"ball\"}, {\"shape\": \"ball\"}], "
        "\"generators\": []}";
    if (load_text(text, 1, &scene) != PSV_OK) fail_msg("%s", psv_last_error(context));
    psv_world *world = psv_scene_world(scene);
    const uint32_t *shapes = psv_buffer_address(psv_world_shape_indices(world));
    assert_int_equal(psv_world_slot_count(world), 4);
    for (uint64_t i = 0; i < 4; ++i)
        assert_int_equal(colour_of(world, shapes, i), 0xff000000u | (uint32_t)(i % 3 + 1) << 16);
    psv_destroy_scene(scene);
}

// In slow motion an emitter needs four steps for what it emits in a frame; gravity pulls for the seconds asked for.
static void scenes_step_by_parts(void **unused) {
    (void)unused;
    psv_scene *scene = NULL;
    psv_status status =
        load_text("{" GOOD_SHAPES ", \"generators\": [{\"type\": \"emitter\", \"shapes\": [\"ball\"], \"rate\": 60, "
                  "\"position\": [0, 900, 0], \"radius\": 90}]}",
                  20, &scene);
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
    const float frame = psv_scene_frame_seconds(scene);
    for (int part = 1; part <= 20; ++part) {
        assert_int_equal(psv_scene_step_by(scene, 0.25f * frame), PSV_OK);
        assert_int_equal(psv_world_body_count(psv_scene_world(scene)), part / 4);
    }
    const float *velocities = psv_buffer_address(psv_world_velocities(psv_scene_world(scene)));
    assert_true(fabs((double)velocities[1] + 9.81 * 17 * 0.25 * (double)frame) < 1e-3); // made in the fourth step
    assert_int_equal(psv_scene_step_by(scene, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_scene_step_by(scene, 2), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_scene_step_by(scene, NAN), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_scene_step_by(NULL, 0.01f), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_world_body_count(psv_scene_world(scene)), 5);
    psv_destroy_scene(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_with_line_and_column),
        cmocka_unit_test(replaces_unknown_methods),
        cmocka_unit_test(refuses_meshes_that_are_no_ground),
        cmocka_unit_test(comments_are_allowed_everywhere),
        cmocka_unit_test(says_how_much_memory),
        cmocka_unit_test(shipped_scenes_scale),
        cmocka_unit_test(seeds_change_the_scene),
        cmocka_unit_test(broadmark_room_has_its_size),
        cmocka_unit_test(emitters_emit),
        cmocka_unit_test(scenes_step_by_parts),
        cmocka_unit_test(spirals_wind),
        cmocka_unit_test(shapes_have_colours),
        cmocka_unit_test(fixed_bodies_take_colours_in_turn),
    };
    return cmocka_run_group_tests_name("scene", tests, open_context, close_context);
}
