// Friction of flat contacts: Coulomb's law for what slides, what holds, what turns on the spot, and both at once. The
// oracles are Newton's law for a block on a slope, and the torque of friction at the four corners of a box's face.
#include <math.h>

#include "stage.h"

#define GRAVITY 9.81

// A box that lies on the floor, of these half widths and friction.
static psv_body_id lay_box(stage *s, float x, float y, float z, float friction, const float velocity[3], float spin) {
    (void)add_box_floor(s, 50, friction, 0);
    psv_shape_def shape = shape_of(PSV_SHAPE_BOX, x, y, z);
    shape.friction = friction;
    psv_body_def body = body_at(add_shape(s, &shape), 0, y, 0);
    for (int k = 0; k < 3; ++k)
        body.velocity[k] = velocity[k];
    body.angular_velocity[1] = spin;
    return add_body(s, &body);
}

// Gravity is tilted instead of the floor.
static void slopes_hold_or_let_go(void **unused) {
    (void)unused;
    const double pi = 3.14159265358979;
    double worst = 0, held = 0;
    for (int i = 0; i < 12; ++i) {
        const double slope = (10 + 4 * i) * pi / 180, friction = i % 3 == 0 ? 0.1 : 0.1 + 0.06 * i;
        psv_world_def def = stage_def(8);
        def.gravity[0] = (float)(GRAVITY * sin(slope));
        def.gravity[1] = (float)(-GRAVITY * cos(slope));
        def.substeps = i % 2 == 0 ? 4 : 0;
        stage s = make_stage(&def);
        psv_body_id id = lay_box(&s, 0.5f, 0.2f, 0.4f, (float)friction, (const float[3]){0, 0, 0}, 0);
        step(&s, 30); // the contact settles
        double before = (double)state_of(&s, id).velocity[0];
        step(&s, 60);
        double gained = (double)state_of(&s, id).velocity[0] - before;
        double due = GRAVITY * (sin(slope) - friction * cos(slope));
        if (due > 0)
            worst = fmax(worst, fabs(gained / due - 1));
        else
            held = fmax(held, fabs(gained + before));
        end_stage(&s);
    }
    print_message("12 slopes of 10 to 54 degrees: acceleration off by %.1e, what holds moves at %.1e m/s\n", worst,
                  held);
    assert_true(worst < 5e-4);
    assert_true(held < 1e-3);
}

static void spins_stop_in_time(void **unused) {
    (void)unused;
    const float half[3][3] = {{0.5f, 0.1f, 0.5f}, {0.8f, 0.1f, 0.3f}, {0.2f, 0.05f, 0.4f}};
    double worst = 0;
    for (int i = 0; i < 6; ++i) {
        const float *h = half[i % 3];
        const float friction = i < 3 ? 0.3f : 0.6f, spin = 6;
        psv_world_def def = stage_def(8);
        stage s = make_stage(&def);
        psv_body_id id = lay_box(&s, h[0], h[1], h[2], friction, (const float[3]){0, 0, 0}, spin);
        double squared = (double)(h[0] * h[0] + h[2] * h[2]), inertia = squared / 3; // for a mass of 1
        double due = (double)spin * inertia / ((double)friction * GRAVITY * sqrt(squared)), time = 0;
        int frames = 0;
        for (; frames < 600 && state_of(&s, id).angular_velocity[1] > 0.5f; ++frames)
            step(&s, 1);
        // the rest of the time from the speed that is left, as it falls evenly
        double left = (double)state_of(&s, id).angular_velocity[1];
        time = frames / 60.0 / (1 - left / (double)spin);
        worst = fmax(worst, fabs(time / due - 1));
        end_stage(&s);
    }
    print_message("6 boxes that spin on the spot: the time until they stop is off by %.4f\n", worst);
    assert_true(worst < 0.02);
}

// How far a box of half width h slides that spins too, if friction at its corners opposes both as one vector, by small
// steps of time.
static double distance_of(double h, double friction, double speed, double spin) {
    const double reach = sqrt(2.0) * h, inertia = 2 * h * h / 3, dt = 1e-5; // for a mass of 1
    double x = 0;
    while (speed > 1e-3) {
        double whole = sqrt(speed * speed + reach * spin * reach * spin);
        x += speed * dt;
        spin -= friction * GRAVITY * reach / inertia * reach * spin / whole * dt;
        speed -= friction * GRAVITY * speed / whole * dt;
    }
    return x;
}

// What slides and spins goes straight on, and further than it would alone: each slows the other's loss.
static void spins_let_slide_further(void **unused) {
    (void)unused;
    double aside = 0, off = 0, longest = 0;
    for (int i = 0; i < 6; ++i) {
        const float speed = 2 + 0.5f * (float)i, spin = 9 - (float)i;
        psv_world_def def = stage_def(8);
        stage s = make_stage(&def);
        psv_body_id id = lay_box(&s, 0.4f, 0.1f, 0.4f, 0.4f, (const float[3]){speed, 0, 0}, spin);
        step(&s, 300);
        psv_body_state end = state_of(&s, id);
        double x = (double)end.pose.position[0], due = distance_of(0.4, 0.4, (double)speed, (double)spin);
        aside = fmax(aside, fabs((double)end.pose.position[2]) / x);
        off = fmax(off, fabs(x / due - 1));
        longest = fmax(longest, due / ((double)(speed * speed) / (2 * 0.4 * GRAVITY)));
        end_stage(&s);
    }
    print_message("6 boxes that slide and spin, up to %.2f times as far: the way off by %.4f, %.4f aside\n", longest,
                  off, aside);
    assert_true(longest > 1.2);
    assert_true(off < 0.02);
    assert_true(aside < 0.02);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_hold_or_let_go),
        cmocka_unit_test(spins_stop_in_time),
        cmocka_unit_test(spins_let_slide_further),
    };
    return RUN_TESTS(argc, argv, "sliding", tests);
}
