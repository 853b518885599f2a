// Restitution: every bounce gives back its share, of any height, shape and order of contacts; what is elastic keeps its
// energy, and hits keep angular momentum. The oracles are Newton's law of impact and sums over all bodies in double.
#include <math.h>
#include <stdlib.h>

#include "stage.h"

// A ball falls from many heights on a floor, one world each kind of floor; the first rebound's speed is e times that of
// the impact, both at the floor's height and from the energies there (so the frames' times do not matter).
static void balls_bounce_from_all_heights(void **unused) {
    (void)unused;
    const float restitutions[] = {0.5f, 0.8f, 1};
    enum { HEIGHTS = 400 };
    for (int r = 0; r < 3; ++r)
        for (int box = 0; box < 2; ++box) {
            psv_world_def def = stage_def(1024);
            def.substeps = 4;
            stage s = make_stage(&def);
            psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.1f, 0, 0);
            ball.restitution = restitutions[r];
            uint32_t shape = add_shape(&s, &ball);
            if (box) {
                (void)add_box_floor(&s, 200, 0.5f, 0);
            } else {
                psv_shape_def plane = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
                psv_body_def ground = body_at(add_shape(&s, &plane), 0, 0, 0);
                (void)add_body(&s, &ground);
            }
            psv_body_id id[HEIGHTS];
            double top[HEIGHTS];
            int phase[HEIGHTS]; // 0 falling, 1 rising, 2 over
            for (int i = 0; i < HEIGHTS; ++i) {
                float height = 0.3f + 0.01f * (float)i;
                psv_body_def body =
                    body_at(shape, 0.5f * (float)(i % 20) - 5, 0.1f + height, 0.5f * (float)(i / 20) - 5);
                id[i] = add_body(&s, &body);
                top[i] = 0;
                phase[i] = 0;
            }
            psv_body_state *state = malloc(HEIGHTS * sizeof *state);
            assert_non_null(state);
            for (int frame = 0; frame < 200; ++frame) {
                step(&s, 1);
                check(&s, psv_get_body_states(s.world, id, HEIGHTS, state));
                for (int i = 0; i < HEIGHTS; ++i) {
                    double v = (double)state[i].velocity[1], y = (double)state[i].pose.position[1] - 0.1;
                    if (phase[i] == 0 && v > 0) phase[i] = 1;
                    if (phase[i] == 1 && v > 0) top[i] = fmax(top[i], y + v * v / (2 * 9.81));
                    if (phase[i] == 1 && v < 0) phase[i] = 2;
                }
            }
            double least = 9, most = 0, e = (double)restitutions[r];
            for (int i = 0; i < HEIGHTS; ++i) {
                double height = 0.3 + 0.01 * i, share = sqrt(top[i] / height) / e;
                least = fmin(least, share);
                most = fmax(most, share);
            }
            print_message("restitution %.1f, %s, %d heights from 0.3 m: speeds %.4f to %.4f of what is due\n", e,
                          box ? "box" : "plane", HEIGHTS, least, most);
            assert_true(least > 0.98 && most < 1.02);
            free(state);
            end_stage(&s);
        }
}

static void flat_boxes_rise_without_spin(void **unused) {
    (void)unused;
    double most = 0, rise = 0;
    for (int i = 0; i < 12; ++i) {
        psv_world_def def = stage_def(8);
        def.substeps = i % 2 == 0 ? 4 : 0;
        stage s = make_stage(&def);
        psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.3f, 0.4f);
        box.restitution = 0.8f;
        box.friction = 0;
        (void)add_box_floor(&s, 20, 0, 0);
        psv_body_def body = body_at(add_shape(&s, &box), 0.1f * (float)i, 2.3f + 0.07f * (float)i, 0);
        psv_body_id id = add_body(&s, &body);
        double top = 0;
        bool up = false;
        for (int frame = 0; frame < 120; ++frame) {
            step(&s, 1);
            psv_body_state state = state_of(&s, id);
            for (int k = 0; k < 3; ++k)
                most = fmax(most, fabs((double)state.angular_velocity[k]));
            if (state.velocity[1] > 0) up = true;
            if (up && state.velocity[1] > 0)
                top = fmax(top, (double)state.pose.position[1] - 0.3 +
                                    (double)(state.velocity[1] * state.velocity[1]) / (2 * 9.81));
        }
        double due = 0.64 * (2 + 0.07 * i);
        rise = fmax(rise, fabs(top / due - 1));
        end_stage(&s);
    }
    print_message("12 flat boxes, restitution 0.8: spin %.5f rad/s at most, height off by %.4f\n", most, rise);
    assert_true(most < 0.01);
    assert_true(rise < 0.04); // twice that of the speed
}

static uint32_t seed = 7;
static float uniform(float low, float high) {
    seed = seed * 1664525u + 1013904223u;
    return low + (high - low) * (float)(seed >> 8) / 16777216.0f;
}

static void gas_keeps_its_energy(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(256);
    def.gravity[1] = 0;
    def.substeps = 4;
    stage s = make_stage(&def);
    psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.25f, 0, 0);
    ball.restitution = 1;
    ball.friction = 0;
    uint32_t shape = add_shape(&s, &ball);
    psv_shape_def wall = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    wall.friction = 0;
    uint32_t plane = add_shape(&s, &wall);
    const float h = 0.70710678f,
                turn[6][4] = {{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 0, h, h}, {0, 0, -h, h}, {h, 0, 0, h}, {-h, 0, 0, h}};
    const float at[6][3] = {{0, -3, 0}, {0, 3, 0}, {3, 0, 0}, {-3, 0, 0}, {0, 0, -3}, {0, 0, 3}};
    for (int i = 0; i < 6; ++i) {
        psv_body_def body = body_at(plane, at[i][0], at[i][1], at[i][2]);
        for (int k = 0; k < 4; ++k)
            body.pose.rotation[k] = turn[i][k];
        (void)add_body(&s, &body);
    }
    for (int i = 0; i < 200; ++i) {
        psv_body_def body =
            body_at(shape, 0.8f * (float)(i % 6) - 2, 0.8f * (float)(i / 6 % 6) - 2, 0.8f * (float)(i / 36) - 2);
        for (int k = 0; k < 3; ++k)
            body.velocity[k] = uniform(-3, 3);
        (void)add_body(&s, &body);
    }
    double momentum[3], start, now, off = 0;
    check(&s, psv_world_energy(s.world, &start, momentum));
    for (int frame = 1; frame <= 10000; ++frame) {
        step(&s, 1);
        if (frame % 100 != 0) continue;
        check(&s, psv_world_energy(s.world, &now, momentum));
        off = fmax(off, fabs(now / start - 1));
    }
    psv_world_counters counters;
    check(&s, psv_read_world_counters(s.world, &counters));
    print_message("200 elastic balls in a room, 10,000 frames: energy off by %.5f at most\n", off);
    assert_true(counters.bodies == 206);
    assert_true(off < 0.01);
    end_stage(&s);
}

// Two balls that meet off centre, with and without friction: the angular momentum of orbit and spin together stays.
static void hits_keep_angular_momentum(void **unused) {
    (void)unused;
    for (int rough = 0; rough < 2; ++rough) {
        double worst = 0, energy_off = 0;
        for (int i = 0; i < 40; ++i) {
            psv_world_def def = stage_def(8);
            def.gravity[1] = 0;
            def.substeps = i % 2 == 0 ? 4 : 0;
            stage s = make_stage(&def);
            psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
            ball.restitution = 1;
            ball.friction = rough ? 0.5f : 0;
            uint32_t shape = add_shape(&s, &ball);
            psv_body_def a = body_at(shape, -2.013f, 0, 0), b = body_at(shape, 2, 0.02f * (float)i + 0.05f, 0.1f);
            a.velocity[0] = 3 + 0.31f * (float)i;
            b.velocity[0] = -2;
            psv_body_id id[2] = {add_body(&s, &a), add_body(&s, &b)};
            double mass = 1000 * 4.0 / 3 * 3.14159265358979 * 0.125, inertia = 0.4 * mass * 0.25, l[2][3], e[2];
            for (int n = 0; n < 2; ++n) {
                if (n == 1) step(&s, 90);
                e[n] = 0;
                l[n][0] = l[n][1] = l[n][2] = 0;
                for (int k = 0; k < 2; ++k) {
                    psv_body_state state = state_of(&s, id[k]);
                    double p[3], v[3], w[3];
                    for (int j = 0; j < 3; ++j) {
                        p[j] = (double)state.pose.position[j];
                        v[j] = (double)state.velocity[j];
                        w[j] = (double)state.angular_velocity[j];
                        e[n] += mass * v[j] * v[j] + inertia * w[j] * w[j];
                    }
                    for (int j = 0; j < 3; ++j)
                        l[n][j] +=
                            inertia * w[j] + mass * (p[(j + 1) % 3] * v[(j + 2) % 3] - p[(j + 2) % 3] * v[(j + 1) % 3]);
                }
            }
            double change = 0, size = 0;
            for (int j = 0; j < 3; ++j) {
                change += (l[1][j] - l[0][j]) * (l[1][j] - l[0][j]);
                size += l[0][j] * l[0][j];
            }
            worst = fmax(worst, sqrt(change / size));
            energy_off = fmax(energy_off, rough ? e[1] / e[0] - 1 : fabs(e[1] / e[0] - 1));
            psv_body_state last = state_of(&s, id[1]);
            assert_true(fabs((double)last.velocity[0] + 2) > 0.1); // they did meet
            end_stage(&s);
        }
        print_message("40 hits off centre, friction %.1f: angular momentum off by %.2e, energy by %.2e\n",
                      rough ? 0.5 : 0.0, worst, energy_off);
        assert_true(worst < 1e-4);
        assert_true(energy_off < 1e-4);
    }
}

// Newton's cradle: balls that touch, hit by one, in either order of creation.
static void cradle_passes_the_blow_on(void **unused) {
    (void)unused;
    for (int run = 0; run < 8; ++run) {
        psv_world_def def = stage_def(8);
        def.gravity[1] = 0;
        def.substeps = run % 2 == 0 ? 4 : 0;
        stage s = make_stage(&def);
        psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
        ball.restitution = 1;
        uint32_t shape = add_shape(&s, &ball);
        const int order[4][5] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {3, 1, 4, 0, 2}};
        psv_body_id id[5];
        for (int n = 0; n < 5; ++n) {
            int i = order[run / 2][n];
            psv_body_def body = body_at(shape, i == 0 ? -2.3f : (float)i, 0, 0);
            body.velocity[0] = i == 0 ? 3 : 0;
            id[i] = add_body(&s, &body);
        }
        step(&s, 120);
        float v[5];
        double energy = 0;
        for (int i = 0; i < 5; ++i) {
            v[i] = state_of(&s, id[i]).velocity[0];
            energy += (double)(v[i] * v[i]) / 9;
        }
        print_message("cradle, order %d: %.3f %.3f %.3f %.3f %.3f of 3 m/s, energy %.4f\n", run / 2, (double)v[0],
                      (double)v[1], (double)v[2], (double)v[3], (double)v[4], energy);
        assert_true((double)(v[4] * v[4]) / 9 > 0.95);
        end_stage(&s);
    }
}

// What passes by a box or a ball without touching it flies on as it was.
static void near_misses_are_not_touched(void **unused) {
    (void)unused;
    double most = 0;
    int hits = 0;
    for (int i = 0; i < 60; ++i) {
        psv_world_def def = stage_def(8);
        def.gravity[1] = 0;
        stage s = make_stage(&def);
        bool box = i % 3 != 2;
        psv_shape_def target = box ? shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f) : shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
        psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.2f, 0, 0);
        ball.restitution = target.restitution = i % 2 == 0 ? 0 : 0.5f;
        psv_body_def still = body_at(add_shape(&s, &target), 0, 0, 0);
        psv_body_id id = add_body(&s, &still);
        float fast = i % 4 < 2 ? 10 : 100, clear = fast > 50 ? 0.2f : 0.03f;
        psv_body_def body = body_at(add_shape(&s, &ball), -1.7f * fast * 0.1f - 0.01f * (float)i, 0.7f + clear, 0);
        if (i % 5 == 4) { // over the corner, aslant
            body.pose.position[1] += body.pose.position[0];
            body.velocity[1] = fast;
            body.pose.position[1] += 0.6f;
        }
        body.velocity[0] = fast;
        psv_body_id shot = add_body(&s, &body);
        step(&s, 24);
        psv_body_state a = state_of(&s, shot), b = state_of(&s, id);
        double off = 0;
        for (int k = 0; k < 3; ++k)
            off = fmax(off, fmax(fabs((double)(a.velocity[k] - body.velocity[k])), fabs((double)b.velocity[k])));
        most = fmax(most, off);
        if (off > 1e-4) ++hits;
        end_stage(&s);
    }
    print_message("60 near misses at 10 and 100 m/s: %d touched, by %.3g m/s at most\n", hits, most);
    assert_int_equal(hits, 0);
}

// 64 balls meet one body in the same frame, which is more contacts than there are colours: a free plate from above, or
// a ball from all sides. They bounce as one alone would: of the energy e^2 stays (in the frame of the whole, whose
// speed is small), and momentum does.
static void many_bounce_off_one_body(void **unused) {
    (void)unused;
    enum { BALLS = 64 };
    for (int kind = 0; kind < 4; ++kind) {
        const bool plate = kind < 2;
        const double e = kind % 2 == 0 ? 1 : 0.5;
        psv_world_def def = stage_def(128);
        def.gravity[1] = 0;
        stage s = make_stage(&def);
        psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.1f, 0, 0);
        psv_shape_def target = plate ? shape_of(PSV_SHAPE_BOX, 3, 0.2f, 3) : shape_of(PSV_SHAPE_SPHERE, 2, 0, 0);
        ball.friction = target.friction = 0;
        ball.restitution = target.restitution = (float)e;
        psv_body_def body = body_at(add_shape(&s, &target), 0, 0, 0);
        (void)add_body(&s, &body);
        const uint32_t shape = add_shape(&s, &ball);
        for (int i = 0; i < BALLS; ++i) {
            const float up = 1 - (2 * (float)i + 1) / BALLS, turn = 2.39996323f * (float)i;
            const float n[3] = {sqrtf(1 - up * up) * cosf(turn), up, sqrtf(1 - up * up) * sinf(turn)};
            body = plate ? body_at(shape, 0.6f * (float)(i % 8) - 2.1f, 0.4f, 0.6f * (float)(i / 8) - 2.1f)
                         : body_at(shape, 2.2f * n[0], 2.2f * n[1], 2.2f * n[2]);
            for (int k = 0; k < 3; ++k)
                body.velocity[k] = plate ? (k == 1 ? -3.0f : 0.0f) : -3 * n[k];
            (void)add_body(&s, &body);
        }
        double before, after, momentum[2][3];
        check(&s, psv_world_energy(s.world, &before, momentum[0]));
        step(&s, 30);
        check(&s, psv_world_energy(s.world, &after, momentum[1]));
        const double brought = BALLS * 1000 * 4.18879e-3 * 3, off = fabs(momentum[1][1] - momentum[0][1]) / brought;
        print_message("%d balls on a %s, e = %.1f: %.4f of the energy, momentum off by %.1e\n", BALLS,
                      plate ? "plate" : "ball", e, after / before, off);
        assert_true(fabs(after / before - e * e) < 0.01);
        assert_true(off < 1e-4);
        end_stage(&s);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balls_bounce_from_all_heights), cmocka_unit_test(many_bounce_off_one_body),
        cmocka_unit_test(flat_boxes_rise_without_spin),  cmocka_unit_test(gas_keeps_its_energy),
        cmocka_unit_test(hits_keep_angular_momentum),    cmocka_unit_test(cradle_passes_the_blow_on),
        cmocka_unit_test(near_misses_are_not_touched),
    };
    return RUN_TESTS(argc, argv, "bounces", tests);
}
