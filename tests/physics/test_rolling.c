// Rolling and spinning friction. The oracles: energy 0.7 m v^2 of a rolling ball against the work mu N of each metre;
// the torque mu R N against a spin; the angle up to which a slope holds; a heap that keeps its height.
#include <math.h>

#include "stage.h"

static void add_slope(stage *s, float angle, bool box) { // falls towards +x
    psv_shape_def shape = box ? shape_of(PSV_SHAPE_BOX, 200, 1, 200) : shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    const float below = box ? 1 : 0;
    psv_body_def ground = body_at(add_shape(s, &shape), -below * sinf(angle), -below * cosf(angle), 0);
    ground.is_static = true;
    ground.pose.rotation[2] = -sinf(angle / 2);
    ground.pose.rotation[3] = cosf(angle / 2);
    (void)add_body(s, &ground);
}

// Balls of three sizes, on a plane and on a box, with several numbers of substeps.
static void rolling_balls_stop(void **unused) {
    (void)unused;
    double least = 9, most = 0;
    for (int kind = 0; kind < 6; ++kind) {
        psv_world_def def = stage_def(16);
        def.substeps = kind % 3 == 0 ? 4 : kind % 3 == 1 ? 8 : 0;
        stage s = make_stage(&def);
        add_slope(&s, 0, kind >= 3);
        const float radius[] = {0.1f, 0.5f, 2};
        const double mu = 0.05, v = 2;
        psv_body_id id[3];
        for (int i = 0; i < 3; ++i) {
            psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, radius[i], 0, 0);
            ball.rolling_friction = (float)mu;
            psv_body_def body = body_at(add_shape(&s, &ball), 0, radius[i], 6 * (float)i);
            body.velocity[0] = (float)v;
            body.angular_velocity[2] = -(float)v / radius[i];
            id[i] = add_body(&s, &body);
        }
        step(&s, 480);
        for (int i = 0; i < 3; ++i) {
            psv_body_state state = state_of(&s, id[i]);
            const double share = (double)state.pose.position[0] / (0.7 * v * v / (mu * 9.81));
            least = fmin(least, share);
            most = fmax(most, share);
            assert_true(fabs((double)state.velocity[0]) < 1e-3 && fabs((double)state.angular_velocity[2]) < 1e-2);
        }
        end_stage(&s);
    }
    print_message("rolling balls stop after %.4f to %.4f of the distance that is due\n", least, most);
    assert_true(least > 0.98 && most < 1.02);
}

static void spinning_balls_slow_down(void **unused) {
    (void)unused;
    double off = 0;
    for (int box = 0; box < 2; ++box) {
        psv_world_def def = stage_def(16);
        stage s = make_stage(&def);
        add_slope(&s, 0, box == 1);
        psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
        ball.spinning_friction = 0.1f;
        psv_body_def body = body_at(add_shape(&s, &ball), 0, 0.5f, 0);
        body.angular_velocity[1] = 10;
        psv_body_id id = add_body(&s, &body);
        const double rate = 0.1 * 9.81 / (0.4 * 0.5); // 4.9 rad/s^2: stands after 2.04 s
        for (int frame = 1; frame <= 180; ++frame) {
            step(&s, 1);
            const double due = fmax(10 - rate * frame / 60.0, 0);
            off = fmax(off, fabs((double)state_of(&s, id).angular_velocity[1] - due));
        }
        end_stage(&s);
    }
    print_message("spinning balls: off by %.4f of 10 rad/s\n", off);
    assert_true(off < 0.1);
}

// Slopes a little flatter and a little steeper than what holds; steeper, the ball speeds up at (g sin - mu g cos)
// / 1.4.
static void slopes_hold_balls(void **unused) {
    (void)unused;
    double creep = 0, off = 0;
    for (int kind = 0; kind < 4; ++kind) {
        const bool box = kind >= 2, holds = kind % 2 == 0;
        psv_world_def def = stage_def(16);
        if (box) def.substeps = 4;
        stage s = make_stage(&def);
        const float mu = 0.1f, angle = atanf(mu) * (holds ? 0.9f : 1.5f);
        add_slope(&s, angle, box);
        psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
        ball.rolling_friction = mu;
        psv_body_def body = body_at(add_shape(&s, &ball), 0.5f * sinf(angle), 0.5f * cosf(angle), 0);
        psv_body_id id = add_body(&s, &body);
        step(&s, 60);
        const double before = (double)state_of(&s, id).pose.position[0];
        step(&s, 120);
        psv_body_state state = state_of(&s, id);
        if (holds) {
            creep = fmax(creep, fabs((double)state.pose.position[0] - before));
        } else {
            const double due = 3 * 9.81 / 1.4 * (sin((double)angle) - (double)mu * cos((double)angle));
            const double speed = hypot((double)state.velocity[0], (double)state.velocity[1]);
            off = fmax(off, fabs(speed / due - 1));
        }
        end_stage(&s);
    }
    print_message("on slopes balls creep by %.5f m in 2 s; steeper ones are off by %.4f of their speed\n", creep, off);
    assert_true(creep < 1e-3);
    assert_true(off < 0.02);
}

// Balls that fall on each other in one place: with rolling friction they stay a heap, without they run apart.
// `drop`: its balls begin that many hundredths of a millimetre to the side.
static double heap_height(float rolling, int drop, double *reach, double *fastest, double *mean) {
    psv_world_def def = stage_def(512);
    def.substeps = 4;
    stage s = make_stage(&def);
    add_slope(&s, 0, false);
    psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.1f, 0, 0);
    ball.friction = 0.5f;
    ball.rolling_friction = rolling;
    uint32_t shape = add_shape(&s, &ball);
    enum { BALLS = 300 };
    psv_body_id id[BALLS];
    for (int i = 0; i < BALLS; ++i) {
        const int layer = i / 25, place = i % 25;
        psv_body_def body =
            body_at(shape, 0.205f * (float)(place % 5 - 2) + 0.01f * (float)(layer % 3) + 1e-5f * (float)drop,
                    0.11f + 0.205f * (float)layer, 0.205f * (float)(place / 5 - 2) + 0.01f * (float)(layer % 2));
        id[i] = add_body(&s, &body);
    }
    step(&s, 600);
    double top = 0;
    *reach = *fastest = *mean = 0;
    for (int i = 0; i < BALLS; ++i) {
        psv_body_state state = state_of(&s, id[i]);
        top = fmax(top, (double)state.pose.position[1]);
        *reach += hypot((double)state.pose.position[0], (double)state.pose.position[2]) / BALLS;
        const float *v = state.velocity;
        const double speed = sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
        *fastest = fmax(*fastest, speed);
        *mean += speed / BALLS;
    }
    end_stage(&s);
    return top;
}

// The topmost ball of one heap lies anywhere from 0.44 to 0.60 m, so heights and reaches are means of several drops.
static void heaps_keep_their_slope(void **unused) {
    (void)unused;
    enum { DROPS = 6 };
    double high = 0, reach = 0, far, fastest = 0, mean = 0, flat_fastest, flat_mean;
    for (int drop = 0; drop < DROPS; ++drop) {
        double its_reach, its_fastest, its_mean;
        const double its_height = heap_height(0.2f, drop, &its_reach, &its_fastest, &its_mean);
        print_message("drop %d: %.3f m high\n", drop, its_height);
        high += its_height / DROPS;
        reach += its_reach / DROPS;
        fastest = fmax(fastest, its_fastest);
        mean = fmax(mean, its_mean);
    }
    const double flat = heap_height(0, 0, &far, &flat_fastest, &flat_mean);
    print_message("300 balls after 10 s: %.2f m high, %.2f m from the middle on average, speeds of %.5f m/s on average "
                  "and %.4f at most; without rolling friction %.2f and %.2f m\n",
                  high, reach, mean, fastest, flat, far);
    assert_true(high > 0.5 && reach < 1.2);
    assert_true(mean < 0.005 && fastest < 0.1); // a single ball may still find its place
    assert_true(flat < 0.35 && far > 2 * reach);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rolling_balls_stop),
        cmocka_unit_test(spinning_balls_slow_down),
        cmocka_unit_test(slopes_hold_balls),
        cmocka_unit_test(heaps_keep_their_slope),
    };
    return RUN_TESTS(argc, argv, "rolling", tests);
}
