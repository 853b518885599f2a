// Kinematic bodies: they go where they are told to go, carry what lies on them, push what is in their way, and take
// nothing from it. The oracles are their paths, and the motion of a rider that does not slip.
#include <math.h>

#include "stage.h"

static psv_body_id add_moved(stage *s, const psv_shape_def *shape, float x, float y, float z, bool is_static) {
    psv_body_def body = body_at(add_shape(s, shape), x, y, z);
    body.is_kinematic = !is_static;
    body.is_static = is_static;
    return add_body(s, &body);
}

static psv_body_id add_driven(stage *s, const psv_shape_def *shape, float x, float y, float z) {
    return add_moved(s, shape, x, y, z, false);
}

static psv_pose pose_at(float x, float y, float z, float turn) {
    return (psv_pose){{x, y, z}, {0, sinf(turn / 2), 0, cosf(turn / 2)}};
}

// Riders on a platform that is given its next pose before each step: to and fro, up and down.
static void riders_are_carried(void **unused) {
    (void)unused;
    const psv_shape_type types[] = {PSV_SHAPE_BOX, PSV_SHAPE_CAPSULE, PSV_SHAPE_BOX, PSV_SHAPE_BOX};
    double slip = 0, miss = 0, lift = 0;
    for (int kind = 0; kind < 4; ++kind) { // the last stands still as a static body at first
        psv_world_def def = stage_def(16);
        if (kind == 2) def.substeps = 4;
        stage s = make_stage(&def);
        psv_shape_def platform = shape_of(PSV_SHAPE_BOX, 4, 0.25f, 4), rider = shape_of(types[kind], 0.3f, 0.3f, 0.3f);
        if (types[kind] == PSV_SHAPE_CAPSULE) rider.rolling_friction = 0.5f;
        psv_body_id below = add_moved(&s, &platform, 0, 0, 0, kind == 3);
        psv_body_def body = body_at(add_shape(&s, &rider), 0.5f, 0.25f + 0.3f, 0);
        if (types[kind] == PSV_SHAPE_CAPSULE) { // lies along z
            body.pose.rotation[0] = body.pose.rotation[3] = sqrtf(0.5f);
        }
        psv_body_id above = add_body(&s, &body);
        step(&s, 30);
        const float start = state_of(&s, above).pose.position[0], height = state_of(&s, above).pose.position[1];
        for (int frame = 1; frame <= 240; ++frame) {
            const float t =
                (float)frame * FRAME; // the largest acceleration is 1.6 m/s^2, a third of what friction holds
            const psv_pose to = pose_at(1 - cosf(1.27f * t), 0.5f * (1 - cosf(1.27f * t)), 0, 0);
            check(&s, psv_set_body_target(s.world, below, &to, FRAME));
            step(&s, 1);
            psv_body_state p = state_of(&s, below), r = state_of(&s, above);
            for (int k = 0; k < 3; ++k)
                miss = fmax(miss, fabs((double)(p.pose.position[k] - to.position[k])));
            slip = fmax(slip, fabs((double)(r.pose.position[0] - start - to.position[0])));
            lift = fmax(lift, fabs((double)(r.pose.position[1] - height - to.position[1])));
        }
        end_stage(&s);
    }
    print_message("platform off its path by %.1e m; riders slip by %.4f and lift by %.4f m\n", miss, slip, lift);
    assert_true(miss < 1e-5);
    assert_true(slip < 0.01 && lift < 0.005);
}

// On a turntable that begins slowly a rider goes round with it, at its place.
static void a_turntable_turns_its_rider(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(16);
    stage s = make_stage(&def);
    psv_shape_def table = shape_of(PSV_SHAPE_BOX, 3, 0.25f, 3), box = shape_of(PSV_SHAPE_BOX, 0.3f, 0.2f, 0.3f);
    psv_body_id below = add_driven(&s, &table, 0, 0, 0);
    psv_body_def body = body_at(add_shape(&s, &box), 1, 0.45f, 0);
    psv_body_id above = add_body(&s, &body);
    step(&s, 30);
    float turn = 0;
    for (int frame = 1; frame <= 300;
         ++frame) { // to 1 rad/s within two seconds: w^2 r is a fifth of what friction holds
        turn += fminf((float)frame / 120, 1) * FRAME;
        const psv_pose to = pose_at(0, 0, 0, turn);
        check(&s, psv_set_body_target(s.world, below, &to, FRAME));
        step(&s, 1);
    }
    psv_body_state p = state_of(&s, below), r = state_of(&s, above);
    const double x = cos((double)turn), z = -sin((double)turn);
    const double off = hypot((double)r.pose.position[0] - x, (double)r.pose.position[2] - z);
    const double turned = 2 * atan2((double)p.pose.rotation[1], (double)p.pose.rotation[3]);
    print_message("turned by %.4f of %.4f rad; the rider is %.4f m off its place, and spins with %.4f rad/s\n", turned,
                  (double)turn, off, (double)r.angular_velocity[1]);
    assert_true(fabs(remainder(turned - (double)turn, 6.283185307)) < 1e-3);
    assert_true(off < 0.02 && fabs((double)r.angular_velocity[1] - 1) < 0.01);
    end_stage(&s);
}

// A hammer of 1 m/s meets a ball: without gravity and with restitution 1 the ball leaves with twice its speed, whatever
// its mass. The hammer's shape is a box, a sphere and a capsule; it goes on as if nothing had been there.
static void hammers_do_not_feel_what_they_hit(void **unused) {
    (void)unused;
    const psv_shape_type types[] = {PSV_SHAPE_BOX, PSV_SHAPE_SPHERE, PSV_SHAPE_CAPSULE};
    for (int i = 0; i < 3; ++i)
        for (int heavy = 0; heavy < 2; ++heavy) {
            psv_world_def def = stage_def(16);
            def.gravity[1] = 0;
            stage s = make_stage(&def);
            psv_shape_def hammer = shape_of(types[i], 0.5f, 0.5f, 0.5f), ball = shape_of(PSV_SHAPE_SPHERE, 0.25f, 0, 0);
            ball.restitution = 1;
            ball.density = heavy ? 1e6f : 1;
            psv_body_id a = add_driven(&s, &hammer, 0, 0, 0);
            psv_body_def body = body_at(add_shape(&s, &ball), 1, 0, 0);
            psv_body_id b = add_body(&s, &body);
            psv_body_state state = state_of(&s, a);
            state.velocity[0] = 1;
            check(&s, psv_set_body_state(s.world, a, &state));
            const float impulse[3] = {1e9f, 1e9f, 0}, point[3] = {0, 0.5f, 0};
            check(&s, psv_apply_impulse(s.world, a, impulse, point)); // it takes none
            step(&s, 60);
            psv_body_state after = state_of(&s, a), hit = state_of(&s, b);
            assert_true(after.velocity[0] == 1 && fabs((double)after.pose.position[0] - 1) < 1e-5);
            assert_true(after.velocity[1] == 0 && after.angular_velocity[2] == 0);
            assert_true(fabs((double)hit.velocity[0] - 2) < 0.01);
            end_stage(&s);
        }
}

// A wall that comes along the floor pushes a row of boxes before it.
static void a_wall_pushes_boxes(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(32);
    stage s = make_stage(&def);
    (void)add_box_floor(&s, 20, 0.5f, 0);
    psv_shape_def wall = shape_of(PSV_SHAPE_BOX, 0.2f, 1, 2), box = shape_of(PSV_SHAPE_BOX, 0.25f, 0.25f, 0.25f);
    psv_body_id pusher = add_driven(&s, &wall, -1, 1.05f, 0);
    uint32_t shape = add_shape(&s, &box);
    psv_body_id id[6];
    for (int i = 0; i < 6; ++i) {
        psv_body_def body = body_at(shape, 0.6f * (float)i, 0.25f, 0);
        id[i] = add_body(&s, &body);
    }
    psv_body_state state = state_of(&s, pusher);
    state.velocity[0] = 1;
    check(&s, psv_set_body_state(s.world, pusher, &state));
    step(&s, 300);
    const double face = (double)state_of(&s, pusher).pose.position[0] + 0.2;
    assert_true(fabs(face - 4.2) < 1e-4);
    double deepest = 0, before = face - 0.25;
    for (int i = 0; i < 6; ++i) {
        psv_body_state b = state_of(&s, id[i]);
        deepest = fmax(deepest, before + 0.5 - (double)b.pose.position[0]);
        before = (double)b.pose.position[0];
        assert_true(fabs((double)b.velocity[0] - 1) < 0.1);
        assert_true(fabs((double)b.pose.position[1] - 0.25) < 0.02);
    }
    print_message("six boxes before a wall: the deepest overlap is %.4f m\n", deepest);
    assert_true(deepest < 0.01);
    end_stage(&s);
}

static void what_cannot_be_kinematic_is_refused(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(16);
    stage s = make_stage(&def);
    psv_shape_def plane = shape_of(PSV_SHAPE_PLANE, 1, 1, 1), ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
    psv_body_def ground = body_at(add_shape(&s, &plane), 0, 0, 0), body = body_at(add_shape(&s, &ball), 0, 9, 0);
    psv_body_id id = add_body(&s, &body);
    const psv_pose to = pose_at(0, 0, 0, 0);
    psv_pose none = to;
    none.rotation[3] = 0;
    assert_int_equal(psv_set_body_target(s.world, id, &to, FRAME), PSV_ERROR_ARGUMENT);
    ground.is_kinematic = body.is_kinematic = true;
    assert_int_equal(psv_create_bodies(s.world, &ground, 1, NULL), PSV_ERROR_ARGUMENT);
    id = add_body(&s, &body);
    body.is_static = true;
    assert_int_equal(psv_create_bodies(s.world, &body, 1, NULL), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_body_target(s.world, id, &to, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_body_target(s.world, id, NULL, FRAME), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_body_target(s.world, id, &none, FRAME), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_set_body_target(s.world, (psv_body_id){7, 7}, &to, FRAME), PSV_ERROR_ARGUMENT);
    step(&s, 60);
    assert_true(state_of(&s, id).pose.position[1] == 9); // nothing moves it, gravity neither
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(riders_are_carried),
        cmocka_unit_test(a_turntable_turns_its_rider),
        cmocka_unit_test(hammers_do_not_feel_what_they_hit),
        cmocka_unit_test(a_wall_pushes_boxes),
        cmocka_unit_test(what_cannot_be_kinematic_is_refused),
    };
    return RUN_TESTS(argc, argv, "kinematic", tests);
}
