// Replay files: every pose within the stated bound of the run's, the same poses by any way to a frame, bodies that come
// and go, what rest costs, and damaged files.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay.h"
#include "tests/cases/small_world.h"

static psv_context *context;
static char path[64];

static int open_context(void **unused) {
    (void)unused;
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    (void)snprintf(path, sizeof path, "test_replay_%ld.replay", (long)getpid());
    return psv_create_context(&def, &context) == PSV_OK ? 0 : -1;
}

static int close_context(void **unused) {
    (void)unused;
    psv_destroy_context(context);
    (void)remove(path);
    return 0;
}

// --- the run's own poses, kept whole --------------------------------------------------------------------------------

typedef struct true_pose {
    float position[4], rotation[4];
} true_pose;

typedef struct true_run {
    true_pose *poses; // frame after frame
    uint64_t slots;   // of each frame
    uint32_t frames;
} true_run;

static void keep_truth(true_run *run, psv_world *world) {
    const float(*positions)[4] = psv_buffer_address(psv_world_positions(world));
    const float(*rotations)[4] = psv_buffer_address(psv_world_rotations(world));
    true_pose *frame = &run->poses[run->slots * run->frames++];
    for (uint64_t i = 0; i < psv_world_slot_count(world); ++i) {
        memcpy(frame[i].position, positions[i], 16);
        memcpy(frame[i].rotation, rotations[i], 16);
    }
}

static replay_writer *begin(FILE **file, float frame_seconds) {
    replay_error error = {""};
    const replay_head head = {
        .scene = "of a test", .frame_seconds = frame_seconds, .eye = {1, 2, 3}, .target = {4, 5, 6}};
    *file = fopen(path, "wb");
    assert_non_null(*file);
    replay_writer *writer = replay_begin(*file, &head, &error);
    if (writer == NULL) fail_msg("%s", error.text);
    return writer;
}

static void add(replay_writer *writer, psv_world *world, float seconds) {
    replay_error error = {""};
    psv_world_counters counters;
    assert_int_equal(psv_read_world_counters(world, &counters), PSV_OK);
    if (!replay_add_frame(writer, world, seconds, NULL, &counters, &error)) fail_msg("%s", error.text);
}

static void end(replay_writer *writer, FILE *file) {
    replay_error error = {""};
    if (!replay_end(writer, &error)) fail_msg("%s", error.text);
    replay_destroy_writer(writer);
    assert_int_equal(fclose(file), 0);
}

static replay_reader *open_replay(void) {
    replay_error error = {""};
    replay_reader *reader = replay_open(path, false, &error);
    if (reader == NULL) fail_msg("%s", error.text);
    return reader;
}

static void seek(replay_reader *reader, uint32_t frame) {
    replay_error error = {""};
    if (!replay_seek(reader, frame, &error)) fail_msg("frame %u: %s", frame, error.text);
}

// --- poses ----------------------------------------------------------------------------------------------------------

static double angle_between(const float a[4], const float b[4]) {
    double dot = 0, aa = 0, bb = 0;
    for (int i = 0; i < 4; ++i) {
        dot += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    // From the sine: the cosine of a small angle has no digits left.
    double sine2 = 0;
    for (int i = 0; i < 4; ++i) {
        const double rest = (double)b[i] / sqrt(bb) - dot / sqrt(aa * bb) * (double)a[i] / sqrt(aa);
        sine2 += rest * rest;
    }
    return 2 * asin(fmin(sqrt(sine2), 1));
}

static void expect_pose(const replay_reader *reader, uint32_t number, const true_pose *truth) {
    const replay_body *body = replay_get_body(reader, number);
    const uint32_t frame = replay_frame_now(reader);
    float position[3], rotation[4];
    assert_true(replay_get_pose(reader, number, position, rotation, NULL));
    const double bound = replay_position_bound(body->exponent) + 1e-6 * (double)fabsf(truth->position[0]) +
                         1e-6 * (double)fabsf(truth->position[1]) + 1e-6 * (double)fabsf(truth->position[2]);
    // The page says so: a 400th of the radius, or twice as much for each doubling of the bodies above 65,536.
    const int32_t coarser = 11 + replay_turn_exponent(reader);
    if (isfinite(body->radius))
        assert_true(replay_position_bound(body->exponent) <= ldexp((double)body->radius, coarser) / 400);
    for (int axis = 0; axis < 3; ++axis) {
        const double error = fabs((double)position[axis] - (double)truth->position[axis]);
        if (!(error <= bound))
            fail_msg("frame %u body %u axis %d: %g for %g, by %g, the bound is %g", frame, number, axis,
                     (double)position[axis], (double)truth->position[axis], error, bound);
    }
    const double angle = angle_between(rotation, truth->rotation);
    if (!(angle <= sqrt(3) * replay_rotation_bound(replay_turn_exponent(reader)) + 1e-5))
        fail_msg("frame %u body %u: turned by %g rad more", frame, number, angle);
}

static void expect_run(const true_run *run) {
    replay_reader *reader = open_replay();
    assert_int_equal(replay_frame_count(reader), run->frames);
    for (uint32_t f = 0; f < run->frames; ++f) {
        uint64_t there = 0, wanted = 0;
        seek(reader, f);
        for (uint32_t i = 0; i < replay_body_count(reader); ++i) {
            const replay_body *body = replay_get_body(reader, i);
            if (f < body->first_frame || f >= body->end_frame) continue;
            expect_pose(reader, i, &run->poses[run->slots * f + body->slot]);
            there += 1;
        }
        for (uint64_t slot = 0; slot < run->slots; ++slot)
            wanted += run->poses[run->slots * f + slot].position[3] != 0;
        assert_int_equal(there, wanted);
    }
    replay_close(reader);
}

static void record_scene(const char *name, uint64_t bodies, uint32_t frames, true_run *run) {
    psv_scene_options options = psv_default_scene_options();
    psv_scene *scene;
    FILE *file;
    options.bodies = bodies;
    if (psv_load_scene(context, name, &options, &scene) != PSV_OK) fail_msg("%s", psv_last_error(context));
    psv_world *world = psv_scene_world(scene);
    const float seconds = psv_scene_frame_seconds(scene);
    replay_writer *writer = begin(&file, seconds);
    *run = (true_run){.slots = psv_world_slot_count(world)};
    run->poses = calloc(run->slots * (frames + 1), sizeof *run->poses);
    assert_non_null(run->poses);
    for (uint32_t f = 0; f <= frames; ++f) {
        if (f > 0) assert_int_equal(psv_scene_step(scene), PSV_OK);
        assert_int_equal(psv_world_slot_count(world), run->slots);
        keep_truth(run, world);
        add(writer, world, f > 0 ? seconds : 0.0f);
    }
    end(writer, file);
    psv_destroy_scene(scene);
}

static void poses_of_scenes(void **unused) {
    (void)unused;
    static const struct {
        const char *name;
        uint64_t bodies;
        uint32_t frames;
    } scenes[] = {{"drop", 300, 300},     {"castle", 300, 200}, {"gravity", 200, 200},   {"galaxy", 200, 150},
                  {"brownian", 200, 100}, {"chairs", 60, 200},  {"landscape", 200, 100}, {"assorted", 150, 150}};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) {
        true_run run;
        record_scene(scenes[i].name, scenes[i].bodies, scenes[i].frames, &run);
        expect_run(&run);
        free(run.poses);
    }
}

// Bodies are coded by segments, and these many more coarsely.
static void many_bodies(void **unused) {
    (void)unused;
    true_run run;
    record_scene("free_fall", 70000, 3, &run);
    replay_reader *reader = open_replay();
    assert_true(replay_body_count(reader) > 65536);
    assert_int_equal(replay_turn_exponent(reader), -10); // half as fine
    replay_close(reader);
    expect_run(&run);
    free(run.poses);
}

// Whatever the way to a frame is, its poses are the same bits.
static void any_way_to_a_frame(void **unused) {
    (void)unused;
    true_run run;
    record_scene("drop", 200, 400, &run);
    replay_reader *reader = open_replay(), *jumps = open_replay();
    const uint32_t bodies = replay_body_count(reader);
    float(*poses)[401][7] = calloc(bodies, sizeof *poses);
    assert_non_null(poses);
    uint32_t keys = 0;
    for (uint32_t f = 0; f <= 400; ++f) {
        seek(reader, f);
        keys += replay_get_frame(reader, f)->is_key;
        for (uint32_t i = 0; i < bodies; ++i)
            assert_true(replay_get_pose(reader, i, poses[i][f], poses[i][f] + 3, NULL));
    }
    assert_true(keys > 2);
    uint32_t frame = 0;
    for (int turn = 0; turn < 200; ++turn) {
        frame = turn % 3 == 2 ? (frame + 1) % 401 : (frame * 173 + 91) % 401;
        seek(jumps, frame);
        assert_int_equal(replay_frame_now(jumps), frame);
        for (uint32_t i = 0; i < bodies; ++i) {
            float pose[7];
            assert_true(replay_get_pose(jumps, i, pose, pose + 3, NULL));
            assert_memory_equal(pose, poses[i][frame], sizeof pose);
        }
    }
    free(poses);
    free(run.poses);
    replay_close(reader);
    replay_close(jumps);
}

// --- bodies that come and go ----------------------------------------------------------------------------------------

static psv_body_id drop_ball(psv_world *world, uint32_t shape, float x) {
    psv_body_def def = psv_default_body_def();
    psv_body_id id;
    def.shape = shape;
    def.pose.position[0] = x;
    def.pose.position[1] = 5;
    assert_int_equal(psv_create_bodies(world, &def, 1, &id), PSV_OK);
    return id;
}

static void bodies_come_and_go(void **unused) {
    (void)unused;
    psv_world_def def = psv_default_world_def();
    psv_shape_def ball = psv_default_shape_def(), box = psv_default_shape_def();
    psv_world *world;
    FILE *file;
    uint32_t shapes[2];
    box.type = PSV_SHAPE_BOX;
    box.colour = 0x80ff0102;
    assert_int_equal(psv_create_world(context, &def, &world), PSV_OK);
    assert_int_equal(psv_create_shape(world, &ball, &shapes[0]), PSV_OK);
    assert_int_equal(psv_create_shape(world, &box, &shapes[1]), PSV_OK);
    true_run run = {.slots = 3};
    run.poses = calloc(3 * 40, sizeof *run.poses);
    assert_non_null(run.poses);
    const psv_body_id first = drop_ball(world, shapes[0], 0);
    (void)drop_ball(world, shapes[0], 3);
    replay_writer *writer = begin(&file, 1.0f / 60);
    for (uint32_t f = 0; f < 40; ++f) {
        if (f > 0) assert_int_equal(psv_world_step(world, 1.0f / 60), PSV_OK);
        if (f == 10) assert_int_equal(psv_destroy_body(world, first), PSV_OK);
        if (f == 20) assert_int_equal(drop_ball(world, shapes[1], -3).index1, first.index1); // in its slot
        if (f == 30) (void)drop_ball(world, shapes[0], 6);
        keep_truth(&run, world);
        add(writer, world, f > 0 ? 1.0f / 60 : 0.0f);
    }
    end(writer, file);
    expect_run(&run);
    replay_reader *reader = open_replay();
    assert_int_equal(replay_body_count(reader), 4);
    assert_int_equal(replay_slot_count(reader), 3);
    const replay_body *gone = replay_get_body(reader, 0), *next = replay_get_body(reader, 2);
    assert_int_equal(gone->first_frame, 0);
    assert_int_equal(gone->end_frame, 10);
    assert_int_equal(next->slot, gone->slot);
    assert_int_equal(next->first_frame, 20);
    assert_int_equal(next->shape, shapes[1]);
    assert_int_equal(replay_get_body(reader, 3)->first_frame, 30);
    for (uint32_t i = 0; i < replay_body_count(reader); ++i)
        assert_int_equal(replay_get_body(reader, i)->colour, replay_get_body(reader, i)->shape == 1 ? 0x80ff0102 : 0);
    static const uint64_t counts[4] = {2, 1, 2, 3};
    for (uint32_t f = 0; f < 40; ++f)
        assert_int_equal(replay_get_frame(reader, f)->bodies, counts[f / 10]);
    replay_close(reader);
    psv_destroy_world(world);
    free(run.poses);
}

// --- what it costs --------------------------------------------------------------------------------------------------

// Of the frames that are differences.
static uint64_t bytes_of(const replay_reader *reader, uint32_t first, uint32_t end_frame) {
    uint64_t bytes = 0;
    for (uint32_t f = first; f < end_frame; ++f)
        if (!replay_get_frame(reader, f)->is_key) bytes += replay_get_frame(reader, f)->bytes;
    return bytes;
}

// Boxes that came to rest, and bodies in free fall: a frame costs a few bytes in all.
static void rest_and_free_fall_are_free(void **unused) {
    (void)unused;
    true_run run;
    record_scene("stack", 100, 240, &run);
    replay_reader *reader = open_replay();
    const uint64_t rest = bytes_of(reader, 120, 240);
    print_message("100 boxes at rest: %llu bytes in 120 frames\n", (unsigned long long)rest);
    assert_true(rest < 120 * 2);
    replay_close(reader);
    free(run.poses);
    record_scene("drop", 500, 40, &run); // which fall for 40 frames and more
    reader = open_replay();
    const uint64_t fall = bytes_of(reader, 5, 41);
    print_message("500 bodies in free fall: %llu bytes in 36 frames\n", (unsigned long long)fall);
    assert_true(fall < 36 * 500 / 4);
    replay_close(reader);
    free(run.poses);
}

// --- shapes ---------------------------------------------------------------------------------------------------------

static void expect_same_shape(const psv_shape_def *a, const psv_shape_def *b) {
    assert_int_equal(a->type, b->type);
    assert_memory_equal(a->size, b->size, sizeof a->size);
    assert_true(a->density == b->density && a->friction == b->friction && a->restitution == b->restitution);
    const uint32_t children = a->type == PSV_SHAPE_COMPOUND ? a->child_count : 0;
    for (uint32_t i = 0; i < children; ++i)
        assert_memory_equal(&a->children[i], &b->children[i], sizeof *a->children);
    if (a->type == PSV_SHAPE_HEIGHT_FIELD) {
        assert_true(a->columns == b->columns && a->rows == b->rows);
        assert_memory_equal(a->heights, b->heights, 4 * a->columns * a->rows);
    }
    if (a->type != PSV_SHAPE_MESH && a->type != PSV_SHAPE_HULL) return;
    assert_true(a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count);
    assert_memory_equal(a->vertices, b->vertices, 12 * a->vertex_count);
    assert_memory_equal(a->indices, b->indices, 12 * a->triangle_count);
}

static void write_small_replay(void) {
    FILE *file;
    psv_world *world = make_small_world(context);
    assert_non_null(world);
    replay_writer *writer = begin(&file, 1.0f / 60);
    for (uint32_t f = 0; f < 4; ++f) {
        if (f > 0) assert_int_equal(psv_world_step(world, 1.0f / 60), PSV_OK);
        add(writer, world, f > 0 ? 1.0f / 60 : 0.0f);
    }
    end(writer, file);
    psv_destroy_world(world);
}

static void shapes_and_head(void **unused) {
    (void)unused;
    psv_world *world = make_small_world(context);
    assert_non_null(world);
    write_small_replay();
    replay_reader *reader = open_replay();
    assert_int_equal(replay_shape_count(reader), psv_world_shape_count(world));
    for (uint32_t i = 0; i < replay_shape_count(reader); ++i) {
        psv_shape_def def = psv_default_shape_def();
        assert_int_equal(psv_world_shape(world, i, &def), PSV_OK);
        expect_same_shape(replay_get_shape(reader, i), &def);
    }
    const replay_head *head = replay_get_head(reader);
    assert_string_equal(head->scene, "of a test");
    assert_true(head->frame_seconds == 1.0f / 60 && head->eye[2] == 3 && head->target[2] == 6);
    assert_true(replay_get_frame(reader, 1)->gravity[1] == -9.81f);
    psv_destroy_world(world);
    replay_close(reader);
}

// --- damaged files --------------------------------------------------------------------------------------------------

static uint8_t *read_file(size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);
    assert_true(file != NULL && bytes != NULL);
    *size = fread(bytes, 1, 1 << 20, file);
    (void)fclose(file);
    return bytes;
}

static void write_file(const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

// Opens the file and goes through its frames: false with a sentence.
static bool reads(replay_error *error) {
    replay_reader *reader = replay_open(path, false, error);
    bool good = reader != NULL;
    for (uint32_t f = 0; good && f < replay_frame_count(reader); ++f)
        good = replay_seek(reader, f, error);
    replay_close(reader);
    return good;
}

static void damaged_files(void **unused) {
    (void)unused;
    replay_error error = {""};
    size_t size;
    write_small_replay();
    uint8_t *bytes = read_file(&size);
    assert_true(reads(&error));
    for (size_t cut = 0; cut < size; ++cut) {
        error.text[0] = 0;
        write_file(bytes, cut);
        if (reads(&error) || error.text[0] == 0) fail_msg("%zu of %zu bytes are read: %s", cut, size, error.text);
    }
    for (size_t at = 0; at < size; ++at) {
        bytes[at] ^= (uint8_t)(1u << at % 8);
        error.text[0] = 0;
        write_file(bytes, size);
        if (reads(&error) || error.text[0] == 0)
            fail_msg("byte %zu of %zu was changed, and the file is read", at, size);
        bytes[at] ^= (uint8_t)(1u << at % 8);
    }
    bytes[8] = 99;
    write_file(bytes, size);
    assert_true(!reads(&error) && strstr(error.text, "version 99") != NULL);
    (void)remove(path);
    assert_true(!reads(&error) && strstr(error.text, "cannot be read") != NULL);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_of_scenes),
        cmocka_unit_test(many_bodies),
        cmocka_unit_test(any_way_to_a_frame),
        cmocka_unit_test(bodies_come_and_go),
        cmocka_unit_test(rest_and_free_fall_are_free),
        cmocka_unit_test(shapes_and_head),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
