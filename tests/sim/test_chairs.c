// Piles of bodies with legs, each with its figure printed, on one backend:
//   test_chairs cpu|cuda [long] [[but] TEST]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_scale.h"
#include "box_overlap.h"
#include "contact_points.h"
#include "sim_stage.h"

typedef struct at_rest {
    double mean_speed, fastest, lowest;
    box_overlap overlap;
} at_rest;

// Downloads what a world's bodies are and measures it.
static at_rest look_at_rest(psv_context *context, psv_world *world) {
    uint64_t slots = psv_world_slot_count(world), moving = 0;
    at_rest r = {.lowest = 1e9};
    const psv_buffer buffers[] = {psv_world_positions(world), psv_world_rotations(world), psv_world_velocities(world),
                                  psv_world_shape_indices(world)};
    void *copy[4];
    for (int i = 0; i < 4; ++i) {
        copy[i] = malloc(buffers[i].bytes);
        assert_non_null(copy[i]);
        check(context, psv_download(context, copy[i], buffers[i], buffers[i].bytes));
    }
    const float(*position)[4] = copy[0], (*velocity)[4] = copy[2];
    for (uint64_t i = 0; i < slots; ++i) {
        const float *v = velocity[i];
        if (!(v[3] > 0)) continue;
        double speed = sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
        r.mean_speed += speed;
        r.fastest = fmax(r.fastest, speed);
        r.lowest = fmin(r.lowest, (double)position[i][1]);
        ++moving;
    }
    r.mean_speed /= (double)moving;
    assert_true(measure_box_overlap(world, slots, position, copy[1], copy[3], &r.overlap));
    for (int i = 0; i < 4; ++i)
        free(copy[i]);
    return r;
}

// A pile of chairs comes to rest, and no two boxes of different chairs lie deeper in each other than a tenth of a leg.
static void chairs_come_to_rest(void **unused) {
    (void)unused;
    if (test_thinning() > 1) skip();
    const double leg = 0.05; // width of a leg of the scene's chair
    psv_context *context = make_context();
    psv_scene_options options = psv_default_scene_options();
    options.bodies = long_run ? 5000 : test_scale() > 1 ? 60 : 300;
    psv_scene *scene = NULL;
    check(context, psv_load_scene(context, "chairs", &options, &scene));
    psv_world *world = psv_scene_world(scene);
    int seconds = long_run ? 40 : 10;
    for (int i = 0; i < 60 * seconds; ++i) {
        check(context, psv_scene_step(scene));
        if (!long_run || (i + 1) % 600 != 0 || i + 1 == 60 * seconds) continue;
        at_rest r = look_at_rest(context, world);
        print_message("%d s: mean speed %.4f m/s, fastest %.3f, deepest overlap %.2f mm\n", (i + 1) / 60, r.mean_speed,
                      r.fastest, 1000 * r.overlap.deepest);
    }
    psv_world_counters counters;
    check(context, psv_read_world_counters(world, &counters));
    at_rest r = look_at_rest(context, world);
    print_message("%llu chairs after %d s: mean speed %.4f m/s, fastest %.3f, lowest middle %.3f m, %llu contacts; of "
                  "%llu pairs of boxes in each other the deepest is %.2f mm (a tenth of a leg: %.1f), %.2f mm in the "
                  "ground\n",
                  (unsigned long long)options.bodies, seconds, r.mean_speed, r.fastest, r.lowest,
                  (unsigned long long)counters.contacts, (unsigned long long)r.overlap.overlapping,
                  1000 * r.overlap.deepest, 100 * leg, 1000 * r.overlap.below);
    assert_true(r.mean_speed < 0.01);
    assert_true(r.lowest > 0);
    assert_true(r.overlap.boxes == 6 * options.bodies);
    assert_true(r.overlap.deepest < 0.1 * leg && r.overlap.below < 0.1 * leg);
    psv_destroy_scene(scene);
    psv_destroy_context(context);
}

// Two chairs hold each other: a leg of one stands through the back of the other, whose far side its seat has passed by
// `depth` metres, so that seat and leg are pushed apart in opposite directions. They come free.
static void caught_chairs_come_free(void **unused) {
    (void)unused;
    if (test_kernels_only()) skip();
    const float half[6][3] = {{0.22f, 0.025f, 0.22f},  {0.22f, 0.25f, 0.025f},  {0.025f, 0.22f, 0.025f},
                              {0.025f, 0.22f, 0.025f}, {0.025f, 0.22f, 0.025f}, {0.025f, 0.22f, 0.025f}};
    const float middle[6][3] = {{0, 0, 0},
                                {0, 0.275f, -0.195f},
                                {-0.195f, -0.245f, -0.195f},
                                {0.195f, -0.245f, -0.195f},
                                {-0.195f, -0.245f, 0.195f},
                                {0.195f, -0.245f, 0.195f}};
    for (int run = 0; run < (int)test_thinned(6, 2); ++run) {
        stage s = make_stage(8, false);
        const float depth = 0.030f + 0.003f * (float)run;
        psv_shape_child parts[6];
        for (int i = 0; i < 6; ++i) {
            parts[i] = (psv_shape_child){.type = PSV_SHAPE_BOX};
            parts[i].pose.rotation[3] = 1;
            for (int k = 0; k < 3; ++k) {
                parts[i].size[k] = half[i][k];
                parts[i].pose.position[k] = middle[i][k];
            }
        }
        psv_shape_def shape = psv_default_shape_def();
        shape.type = PSV_SHAPE_COMPOUND;
        shape.children = parts;
        shape.child_count = 6;
        psv_body_def def = psv_default_body_def();
        check(s.context, psv_create_shape(s.world, &shape, &def.shape));
        check(s.context, psv_create_bodies(s.world, &def, 1, NULL));
        def.pose.rotation[0] = def.pose.rotation[3] = 0.70710678f; // legs along -z, through the back of the first
        def.pose.position[0] = 0.01f * (float)run;
        def.pose.position[1] = 0.36f;
        def.pose.position[2] = -0.145f - depth;
        check(s.context, psv_create_bodies(s.world, &def, 1, NULL));
        at_rest first = look_at_rest(s.context, s.world);
        step(&s, 120);
        at_rest last = look_at_rest(s.context, s.world);
        print_message("chairs %.0f mm in each other: %.2f mm after 2 s, fastest %.2f m/s\n",
                      1000 * first.overlap.deepest, 1000 * last.overlap.deepest, last.fastest);
        assert_true(first.overlap.deepest > 0.02);
        assert_true(last.overlap.deepest < 0.005);
        end_stage(&s);
    }
}

// Seats on one, two, three and four legs stand on the ground, and more of them fall on those: contacts of 4, 8, 12 and
// 16 points, which on CUDA teams of 4, 8 and 16 lanes share. Few bodies, four frames of one substep: for racecheck.
static void seats_stand_on_many_points(void **unused) {
    (void)unused;
    static const float leg_at[4][4][2] = {{{0, 0}},
                                          {{-0.15f, 0}, {0.15f, 0}},
                                          {{-0.15f, -0.15f}, {0.15f, -0.15f}, {0, 0.15f}},
                                          {{-0.15f, -0.15f}, {0.15f, -0.15f}, {-0.15f, 0.15f}, {0.15f, 0.15f}}};
    stage s = {.context = make_context()};
    psv_world_def world = psv_default_world_def();
    world.max_bodies = 16;
    world.substeps = 1;
    check(s.context, psv_create_world(s.context, &world, &s.world));
    add_body(&s, add_shape(&s, PSV_SHAPE_PLANE, 1, 1, 1, 0.6f, 0.2f), 0, 0, 0);
    psv_body_id id[4][2];
    const float height[2] = {0.465f, 0.955f}; // of the seat's middle
    for (int legs = 1; legs <= 4; ++legs) {
        psv_shape_child parts[5] = {{.type = PSV_SHAPE_BOX, .size = {0.22f, 0.025f, 0.22f}, .pose.rotation[3] = 1}};
        for (int i = 0; i < legs; ++i) {
            const float *at = leg_at[legs - 1][i];
            parts[i + 1] = (psv_shape_child){.type = PSV_SHAPE_BOX,
                                             .size = {0.025f, 0.22f, 0.025f},
                                             .pose = {.position = {at[0], -0.245f, at[1]}, .rotation[3] = 1}};
        }
        psv_shape_def shape = psv_default_shape_def();
        shape.type = PSV_SHAPE_COMPOUND;
        shape.restitution = 0.2f;
        shape.children = parts;
        shape.child_count = (uint32_t)legs + 1;
        uint32_t seat = 0;
        check(s.context, psv_create_shape(s.world, &shape, &seat));
        for (int i = 0; i < 2; ++i)
            id[legs - 1][i] = add_body(&s, seat, (float)legs, height[i], 0);
        set_velocity(&s, id[legs - 1][1], 0, -2, 0); // it bounces
    }
    uint64_t contacts[MOST_CONTACT_POINTS + 1];
    double moved = 0;
    for (int frame = 0; frame < 4; ++frame) {
        step(&s, 1);
        check(s.context, count_contact_points(s.world, contacts));
        for (int points = 4; points <= 16; points += 4)
            assert_true(contacts[points] > 0);
        for (int legs = 1; legs <= 4; ++legs)
            for (int i = 0; i < 2; ++i) {
                const psv_body_state state = state_of(&s, id[legs - 1][i]);
                const float *p = state.pose.position;
                moved = fmax(moved, fmax(fabs((double)p[0] - legs), fabs((double)p[2])));
                moved = fmax(moved, fabs((double)(p[1] - height[i])));
            }
    }
    print_message("seats on 1 to 4 legs: contacts of 4, 8, 12, 16 points: %llu, %llu, %llu, %llu; moved %.2f mm\n",
                  (unsigned long long)contacts[4], (unsigned long long)contacts[8], (unsigned long long)contacts[12],
                  (unsigned long long)contacts[16], 1000 * moved);
    assert_true(moved < 0.05);
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chairs_come_to_rest),
        cmocka_unit_test(caught_chairs_come_free),
        cmocka_unit_test(seats_stand_on_many_points),
    };
    return RUN_SIM_TESTS(argc, argv, tests);
}
