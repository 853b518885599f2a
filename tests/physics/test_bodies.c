// What single bodies have of their own: a slot that another body had, damping, a scale of gravity; and settings of a
// world that are changed while it runs. The oracles are worlds that never had the other body, and the closed solutions
// of v' = g - c v.
#include <math.h>
#include <string.h>

#include "../own_file.h"
#include "stage.h"

static uint32_t add_plane(stage *s) {
    psv_shape_def plane = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    uint32_t shape = add_shape(s, &plane);
    psv_body_def ground = body_at(shape, 0, 0, 0);
    (void)add_body(s, &ground);
    return shape;
}

// A body lies on the ground, is destroyed, and a light one comes to its slot: it must be as if the first had been
// somewhere else.
static psv_body_state body_after(float first_x, psv_shape_type type) {
    psv_world_def def = stage_def(16);
    stage s = make_stage(&def);
    (void)add_plane(&s);
    psv_shape_def heavy = shape_of(type, 0.5f, 0.5f, 0.5f), light = heavy;
    heavy.density = 1e6f;
    light.density = 1;
    uint32_t heavy_shape = add_shape(&s, &heavy), light_shape = add_shape(&s, &light);
    psv_body_def first = body_at(heavy_shape, first_x, 0.5f, 0), second = body_at(light_shape, 0, 0.5f, 0);
    // What is far away does not lie on the ground at all.
    if (first_x > 0) first.pose.position[1] = 500;
    psv_body_id before = add_body(&s, &first);
    step(&s, 30);
    check(&s, psv_destroy_body(s.world, before));
    psv_body_id after = add_body(&s, &second);
    assert_int_equal(after.index1, before.index1);
    step(&s, 1);
    psv_body_state state = state_of(&s, after);
    end_stage(&s);
    return state;
}

static void a_slot_forgets_its_last_body(void **unused) {
    (void)unused;
    const psv_shape_type types[] = {PSV_SHAPE_SPHERE, PSV_SHAPE_BOX};
    for (int i = 0; i < 2; ++i) {
        psv_body_state lay = body_after(0, types[i]), elsewhere = body_after(50, types[i]);
        assert_memory_equal(&lay, &elsewhere, sizeof lay);
        assert_true(fabsf(lay.velocity[1]) < 0.1f); // not thrown up by the impulses of a million times its mass
    }
}

static void damping_is_exact(void **unused) {
    (void)unused;
    double off = 0;
    for (int substeps = 1; substeps <= 16; substeps *= 4)
        for (int falls = 0; falls < 2; ++falls) {
            psv_world_def def = stage_def(16);
            def.substeps = (uint32_t)substeps;
            if (!falls) def.gravity[1] = 0;
            stage s = make_stage(&def);
            psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0),
                          box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f);
            psv_body_def bodies[2] = {body_at(add_shape(&s, &ball), 0, 1000, 0),
                                      body_at(add_shape(&s, &box), 9, 1000, 0)};
            const double c = 2, spin = 0.5;
            psv_body_id id[2];
            for (int i = 0; i < 2; ++i) {
                bodies[i].linear_damping = (float)c;
                bodies[i].angular_damping = (float)spin;
                bodies[i].velocity[0] = 3;
                bodies[i].angular_velocity[1] = 4;
                id[i] = add_body(&s, &bodies[i]);
            }
            for (int frame = 1; frame <= 180; ++frame) {
                step(&s, 1);
                const double t = frame / 60.0, g = falls ? -9.81 : 0;
                for (int i = 0; i < 2; ++i) {
                    psv_body_state state = state_of(&s, id[i]);
                    off = fmax(off, fabs((double)state.velocity[0] - 3 * exp(-c * t)));
                    off = fmax(off, fabs((double)state.velocity[1] - g / c * (1 - exp(-c * t))));
                    off = fmax(off, fabs((double)state.angular_velocity[1] - 4 * exp(-spin * t)));
                }
            }
            end_stage(&s);
        }
    print_message("velocities under damping, 1 to 16 substeps: off by %.1e of 5 m/s\n", off);
    assert_true(off < 2e-4);
}

// Up, down, half and not at all; energy with the scale in it stays.
static void gravity_has_a_scale(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(16);
    stage s = make_stage(&def);
    psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
    uint32_t shape = add_shape(&s, &ball);
    const float scales[] = {1, 0.5f, 0, -2};
    psv_body_id id[4];
    for (int i = 0; i < 4; ++i) {
        psv_body_def body = body_at(shape, 5 * (float)i, 100, 0);
        if (i < 3) body.gravity_scale = scales[i];
        id[i] = add_body(&s, &body);
    }
    check(&s, psv_set_gravity_scale(s.world, id[3], scales[3]));
    double energy, later, momentum[3];
    check(&s, psv_world_energy(s.world, &energy, momentum));
    step(&s, 60);
    for (int i = 0; i < 4; ++i)
        assert_true(fabs((double)state_of(&s, id[i]).velocity[1] + 9.81 * (double)scales[i]) < 1e-3);
    check(&s, psv_world_energy(s.world, &later, momentum));
    assert_true(fabs(later - energy) < 0.01 * 524 * 9.81 * 4.9); // of what one ball has fallen
    end_stage(&s);
}

static void settings_change_while_it_runs(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(16), now;
    stage s = make_stage(&def);
    (void)add_plane(&s);
    psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
    ball.restitution = 0.8f;
    psv_body_def body = body_at(add_shape(&s, &ball), 0, 20, 0);
    psv_body_id id = add_body(&s, &body);
    step(&s, 30);
    const float up[3] = {0, 9.81f, 0}, broken[3] = {0, NAN, 0};
    check(&s, psv_set_gravity(s.world, up));
    step(&s, 60);
    assert_true(fabs((double)state_of(&s, id).velocity[1] - 9.81 / 2) < 1e-3);
    check(&s, psv_get_world_def(s.world, &now));
    assert_true(now.gravity[1] == up[1] && now.substeps == 0 && now.push_speed == 3);
    assert_int_equal(psv_set_gravity(s.world, broken), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_gravity(s.world, NULL), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_substeps(s.world, 65), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_push_speed(s.world, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_restitution_threshold(s.world, -1), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_damping(s.world, id, -1, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_gravity_scale(s.world, id, 101), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_damping(s.world, (psv_body_id){9, 9}, 1, 0), PSV_ERROR_ARGUMENT);
    check(&s, psv_set_substeps(s.world, 3));
    // With a threshold over its speed the ball does not bounce.
    check(&s, psv_set_gravity(s.world, def.gravity));
    check(&s, psv_set_restitution_threshold(s.world, 1000));
    check(&s, psv_get_world_def(s.world, &now));
    assert_true(now.gravity[1] == def.gravity[1] && now.substeps == 3 && now.restitution_threshold == 1000);
    float fastest = 0;
    bool landed = false;
    for (int frame = 0; frame < 240; ++frame) {
        step(&s, 1);
        psv_body_state state = state_of(&s, id);
        landed = landed || state.pose.position[1] < 0.51f;
        if (landed) fastest = fmaxf(fastest, state.velocity[1]);
    }
    assert_true(landed && fastest < 0.1f);
    end_stage(&s);
}

// What bodies and shapes have goes through a snapshot: the same bytes afterwards.
static void snapshots_keep_them(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(16);
    def.push_speed = 2;
    stage s = make_stage(&def);
    (void)add_plane(&s);
    psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0), box = shape_of(PSV_SHAPE_BOX, 1, 0.1f, 1);
    ball.rolling_friction = 0.05f;
    ball.spinning_friction = 0.1f;
    psv_body_def rolls = body_at(add_shape(&s, &ball), 0, 0.5f, 0);
    psv_body_def lift = body_at(add_shape(&s, &box), 0, 3, 0), rider = body_at(rolls.shape, 0, 3.6f, 0);
    rolls.velocity[0] = 2;
    rolls.angular_velocity[1] = 3;
    rolls.linear_damping = 0.1f;
    rolls.gravity_scale = 1.5f;
    lift.is_kinematic = true;
    lift.velocity[0] = 0.5f;
    lift.angular_velocity[1] = 0.5f;
    psv_body_id id[3] = {add_body(&s, &rolls), add_body(&s, &lift), add_body(&s, &rider)};
    step(&s, 20);
    const char *path = own_snapshot("test_bodies");
    check(&s, psv_save_snapshot(s.world, path));
    psv_world *other = NULL;
    check(&s, psv_restore_snapshot(s.context, path, &other));
    (void)remove(path);
    psv_body_state one[3], two[3];
    step(&s, 40);
    check(&s, psv_get_body_states(s.world, id, 3, one));
    for (int i = 0; i < 40; ++i)
        check(&s, psv_world_step(other, FRAME));
    check(&s, psv_get_body_states(other, id, 3, two));
    assert_memory_equal(one, two, sizeof one);
    psv_destroy_world(other);
    end_stage(&s);
}

static float slid(stage *s, psv_body_id id, int frames) {
    const float before = state_of(s, id).pose.position[0];
    step(s, frames);
    return state_of(s, id).pose.position[0] - before;
}

// A box on rough ground stops where v^2 = 2 mu g x says, goes on for ever once the ground is ice, and bounces when both
// shapes do.
static void surfaces_change_while_it_runs(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(16);
    stage s = make_stage(&def);
    const uint32_t ground = add_plane(&s);
    psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f), got;
    const uint32_t shape = add_shape(&s, &box);
    psv_body_def body = body_at(shape, 0, 0.5f, 0);
    body.velocity[0] = 4;
    psv_body_id id = add_body(&s, &body);
    check(&s, psv_set_shape_surface(s.world, ground, 0.8f, 0));
    check(&s, psv_set_shape_surface(s.world, shape, 0.2f, 0)); // together sqrt(0.16)
    const float path = slid(&s, id, 180), wanted = 16 / (2 * 0.4f * 9.81f);
    print_message("a box of 4 m/s slides %.3f m, wanted %.3f\n", (double)path, (double)wanted);
    assert_true(fabsf(path - wanted) < 0.05f * wanted && slid(&s, id, 60) < 1e-3f);
    check(&s, psv_set_shape_surface(s.world, ground, 0, 1));
    check(&s, psv_set_shape_surface(s.world, shape, 0, 1));
    psv_body_state state = state_of(&s, id);
    state.velocity[0] = 3;
    state.pose.position[1] = 3;
    check(&s, psv_set_body_state(s.world, id, &state));
    float highest = 0;
    for (int frame = 0; frame < 90; ++frame) { // falls for 0.7 s
        step(&s, 1);
        if (frame > 50) highest = fmaxf(highest, state_of(&s, id).pose.position[1]);
    }
    print_message("bounces to %.3f m of 3\n", (double)highest);
    assert_true(highest > 2.5f && highest < 3.1f);
    assert_true(fabsf(state_of(&s, id).velocity[0] - 3) < 1e-3f);
    check(&s, psv_world_shape(s.world, shape, &got));
    assert_true(got.friction == 0 && got.restitution == 1);
    assert_int_equal(psv_set_shape_surface(s.world, 2, 0, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_shape_surface(s.world, shape, -1, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_shape_surface(s.world, shape, 0, 1.5f), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_shape_surface(NULL, 0, 0, 0), PSV_ERROR_ARGUMENT);
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_forgets_its_last_body),  cmocka_unit_test(damping_is_exact),
        cmocka_unit_test(gravity_has_a_scale),           cmocka_unit_test(settings_change_while_it_runs),
        cmocka_unit_test(surfaces_change_while_it_runs), cmocka_unit_test(snapshots_keep_them),
    };
    return RUN_TESTS(argc, argv, "bodies", tests);
}
