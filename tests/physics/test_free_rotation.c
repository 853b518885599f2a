// A body that nothing touches keeps its angular momentum and its energy, whatever its shape and the length of a frame,
// and turns as Euler's equations say. The oracle integrates these in double precision with Runge and Kutta's method,
// about principal axes that the test works out itself.
#include <math.h>

#include "stage.h"

typedef struct rotor {
    const char *name;
    psv_shape_type type;
    float size[3], spin[3];
} rotor;

// Principal moments of inertia for a density of 1000 kg/m^3; a capsule lies along y.
static void moments_of(const rotor *r, double i[3]) {
    double a = (double)r->size[0], b = (double)r->size[1], c = (double)r->size[2];
    if (r->type == PSV_SHAPE_BOX) {
        double m = 8000 * a * b * c;
        i[0] = m / 3 * (b * b + c * c);
        i[1] = m / 3 * (a * a + c * c);
        i[2] = m / 3 * (a * a + b * b);
        return;
    }
    const double pi = 3.14159265358979323846;
    double rod = 1000 * pi * a * a * 2 * b, half_ball = 1000 * pi * a * a * a * 2 / 3;
    double out = b + 0.375 * a; // from the middle to a half ball's centre of mass
    i[1] = 0.5 * rod * a * a + 0.8 * half_ball * a * a;
    i[0] = i[2] = rod * (a * a / 4 + b * b / 3) + 2 * half_ball * (83.0 / 320 * a * a + out * out);
}

static void to_body(const float q[4], const double v[3], double out[3]) {
    double x = -(double)q[0], y = -(double)q[1], z = -(double)q[2], w = (double)q[3];
    double t[3] = {2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])};
    out[0] = v[0] + w * t[0] + y * t[2] - z * t[1];
    out[1] = v[1] + w * t[1] + z * t[0] - x * t[2];
    out[2] = v[2] + w * t[2] + x * t[1] - y * t[0];
}

// World momentum and twice the energy of a state.
static double momentum_of(const double i[3], const psv_body_state *state, double momentum[3]) {
    double w[3], body[3], energy = 0;
    for (int k = 0; k < 3; ++k)
        w[k] = (double)state->angular_velocity[k];
    to_body(state->pose.rotation, w, body);
    const float *q = state->pose.rotation;
    const float back[4] = {-q[0], -q[1], -q[2], q[3]};
    double m[3];
    for (int k = 0; k < 3; ++k) {
        m[k] = i[k] * body[k];
        energy += m[k] * body[k];
    }
    to_body(back, m, momentum);
    return energy;
}

static double length(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

// Euler's equations in the body's frame.
static void euler(const double i[3], const double w[3], double rate[3]) {
    rate[0] = (i[1] - i[2]) / i[0] * w[1] * w[2];
    rate[1] = (i[2] - i[0]) / i[1] * w[2] * w[0];
    rate[2] = (i[0] - i[1]) / i[2] * w[0] * w[1];
}

static void runge_kutta(const double i[3], double w[3], double h) {
    double k[4][3], at[3];
    const double share[4] = {0, 0.5, 0.5, 1};
    for (int n = 0; n < 4; ++n) {
        for (int a = 0; a < 3; ++a)
            at[a] = w[a] + (n > 0 ? share[n] * h * k[n - 1][a] : 0);
        euler(i, at, k[n]);
    }
    for (int a = 0; a < 3; ++a)
        w[a] += h / 6 * (k[0][a] + 2 * k[1][a] + 2 * k[2][a] + k[3][a]);
}

static psv_body_id add_rotor(stage *s, const rotor *r) {
    psv_shape_def shape = shape_of(r->type, r->size[0], r->size[1], r->size[2]);
    psv_body_def body = body_at(add_shape(s, &shape), 0, 0, 0);
    for (int k = 0; k < 3; ++k)
        body.angular_velocity[k] = r->spin[k];
    return add_body(s, &body);
}

static stage empty_space(void) {
    psv_world_def def = stage_def(8);
    def.gravity[1] = 0;
    return make_stage(&def);
}

static void keeps_momentum_and_energy(void **unused) {
    (void)unused;
    const rotor rotors[] = {
        {"rod", PSV_SHAPE_BOX, {1, 0.1f, 0.1f}, {3, 5, 4}},
        {"capsule", PSV_SHAPE_CAPSULE, {0.1f, 0.5f, 0}, {3, 5, 4}},
        {"middle axis", PSV_SHAPE_BOX, {0.5f, 0.3f, 0.1f}, {0.01f, 6, 0.01f}},
        {"plate", PSV_SHAPE_BOX, {1, 0.02f, 0.7f}, {2, 9, 1}},
        {"fast rod", PSV_SHAPE_BOX, {0.5f, 0.05f, 0.08f}, {60, 40, 10}},
    };
    const float frames[] = {1.0f / 240, 1.0f / 60, 1.0f / 20};
    for (size_t n = 0; n < sizeof rotors / sizeof *rotors; ++n)
        for (int f = 0; f < 3; ++f) {
            stage s = empty_space();
            psv_body_id id = add_rotor(&s, &rotors[n]);
            double i[3], before[3], now[3], off = 0, gained = 0;
            moments_of(&rotors[n], i);
            psv_body_state state = state_of(&s, id);
            double energy = momentum_of(i, &state, before);
            int count = (int)(60 / frames[f]);
            for (int k = 0; k < count; ++k) {
                check(&s, psv_world_step(s.world, frames[f]));
                if (k % 10 != 0 && k + 1 < count) continue;
                state = state_of(&s, id);
                gained = fmax(gained, fabs(momentum_of(i, &state, now) / energy - 1));
                double d[3] = {now[0] - before[0], now[1] - before[1], now[2] - before[2]};
                off = fmax(off, length(d) / length(before));
            }
            print_message("%s, %.4f s a frame, 60 s: momentum off by %.2e, energy by %.2e\n", rotors[n].name,
                          (double)frames[f], off, gained);
            assert_true(off < 0.01); // rounding alone, growing with the number of frames
            assert_true(gained < 0.01);
            end_stage(&s);
        }
}

// A box spun about its middle axis turns over again and again; how often, Euler's equations say.
static void turns_over_in_time(void **unused) {
    (void)unused;
    const rotor box = {"middle axis", PSV_SHAPE_BOX, {0.5f, 0.3f, 0.1f}, {0.3f, 6, 0.1f}};
    stage s = empty_space();
    psv_body_id id = add_rotor(&s, &box);
    double i[3], w[3] = {(double)box.spin[0], (double)box.spin[1], (double)box.spin[2]};
    moments_of(&box, i);
    int flips = 0, expected = 0;
    double side = 1, expected_side = 1, last = 0, expected_last = 0;
    for (int frame = 1; frame <= 3600; ++frame) {
        step(&s, 1);
        psv_body_state state = state_of(&s, id);
        double world[3], body[3];
        for (int k = 0; k < 3; ++k)
            world[k] = (double)state.angular_velocity[k];
        to_body(state.pose.rotation, world, body);
        if (body[1] * side < 0) {
            side = -side;
            ++flips;
            last = frame / 60.0;
        }
        for (int k = 0; k < 100; ++k)
            runge_kutta(i, w, 1.0 / 6000);
        if (w[1] * expected_side < 0) {
            expected_side = -expected_side;
            ++expected;
            expected_last = frame / 60.0;
        }
    }
    print_message("box about its middle axis, 60 s: %d flips, the last after %.2f s (%d, %.2f)\n", flips, last,
                  expected, expected_last);
    assert_true(expected >= 10);
    assert_int_equal(flips, expected);
    assert_true(fabs(last - expected_last) < 0.02 * expected_last);
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_momentum_and_energy),
        cmocka_unit_test(turns_over_in_time),
    };
    return RUN_TESTS(argc, argv, "free rotation", tests);
}
