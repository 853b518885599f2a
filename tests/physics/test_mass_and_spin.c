// Light bodies carry heavy ones to rest, a row of balls passes two on, and a heavy top precesses as mechanics in double
// says.
#include <math.h>
#include <stdlib.h>

#include "hull_points.h"
#include "stage.h"

// --- rest ------------------------------------------------------------------------------------------------------------

// A heavy cube of edge 2 m on a light one of 1 m. `times`: its mass over that of one of the same density.
static void rest_of_pair(float scale, float times, float hertz, uint32_t substeps) {
    psv_world_def def = stage_def(8);
    def.substeps = substeps;
    stage s = make_stage(&def);
    psv_shape_def small = shape_of(PSV_SHAPE_BOX, 0.5f * scale, 0.5f * scale, 0.5f * scale);
    psv_shape_def large = shape_of(PSV_SHAPE_BOX, scale, scale, scale);
    large.density = small.density * times;
    psv_body_def below = body_at(add_shape(&s, &small), 0, 0.5f * scale, 0);
    psv_body_def above = body_at(add_shape(&s, &large), 0, 2 * scale, 0);
    (void)add_box_floor(&s, 20 * scale, 0.5f, 0);
    const psv_body_id id[2] = {add_body(&s, &below), add_body(&s, &above)};
    const int frames = (int)(10 * hertz);
    for (int i = 0; i < frames; ++i)
        check(&s, psv_world_step(s.world, 1 / hertz));
    const psv_body_state before[2] = {state_of(&s, id[0]), state_of(&s, id[1])};
    double fastest = 0, crept = 0;
    for (int i = 0; i < frames; ++i) {
        check(&s, psv_world_step(s.world, 1 / hertz));
        for (int k = 0; k < 2 && i % 10 == 0; ++k) {
            const psv_body_state now = state_of(&s, id[k]);
            for (int axis = 0; axis < 3; ++axis) {
                fastest = fmax(fastest, fabs((double)now.velocity[axis]));
                crept = fmax(crept, fabs((double)(now.pose.position[axis] - before[k].pose.position[axis])));
            }
        }
    }
    const double sunk = 2 * (double)scale - (double)state_of(&s, id[1]).pose.position[1];
    print_message("%g m cube, mass ratio %g, %g Hz, %u substeps: %.5f m/s, crept %.5f m, sunk %.4f m\n",
                  2 * (double)scale, 8 * (double)times, (double)hertz, substeps, fastest, crept, sunk);
    assert_true(fastest < 0.001);
    assert_true(crept < 0.001 * (double)scale);
    end_stage(&s);
}

static void heavy_bodies_rest_on_light_ones(void **unused) {
    (void)unused;
    const float times[] = {1, 10, 100, 125};
    for (int i = 0; i < 4; ++i)
        rest_of_pair(1, times[i], 60, 0);
    rest_of_pair(0.1f, 10, 60, 0);
    rest_of_pair(10, 100, 60, 0);
    rest_of_pair(1, 10, 60, 4);
    rest_of_pair(1, 100, 120, 8);
    rest_of_pair(1, 100, 60, 64);
    rest_of_pair(1, 100, 30, 0);
}

// --- cradle ----------------------------------------------------------------------------------------------------------

static void cradle_of(int balls, int let_go, uint32_t substeps, float gap, bool backward) {
    psv_world_def def = stage_def(32);
    def.gravity[1] = 0;
    def.substeps = substeps;
    stage s = make_stage(&def);
    psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
    ball.restitution = 1;
    const uint32_t shape = add_shape(&s, &ball);
    psv_body_id id[32];
    for (int n = 0; n < balls; ++n) {
        const int i = backward ? balls - 1 - n : n;
        psv_body_def body = body_at(shape, (1 + gap) * (float)i - (i < let_go ? 1.3f : 0), 0, 0);
        body.velocity[0] = i < let_go ? 3 : 0;
        id[i] = add_body(&s, &body);
    }
    step(&s, 180);
    double out = 0, all = 0;
    print_message("cradle of %d, %d let go, %u substeps, gap %g:", balls, let_go, substeps, (double)gap);
    for (int i = 0; i < balls; ++i) {
        const double v = (double)state_of(&s, id[i]).velocity[0];
        print_message(" %.2f", v);
        all += v * v;
        if (i >= balls - let_go) out += v * v;
    }
    print_message("; last %d %.3f, all %.3f\n", let_go, out / (9 * let_go), all / (9 * let_go));
    assert_true(out / (9 * let_go) > 0.95);
    end_stage(&s);
}

static void cradle_passes_two_on(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; ++k) {
        cradle_of(12, 2, k % 2 ? 4 : 0, 0, k >= 2);
        cradle_of(5, 2, k % 2 ? 4 : 0, 0, k >= 2);
        cradle_of(12, 3, k % 2 ? 4 : 0, 0, k >= 2);
    }
}

// --- tops ------------------------------------------------------------------------------------------------------------

// A disc of radius 0.3 m, as a hull of 24 sides, on a point 0.4 m below its middle, leaning by 0.3 rad.
static void top_of(float spin, float hertz, uint32_t substeps, float seconds) {
    psv_world_def def = stage_def(8);
    def.substeps = substeps;
    stage s = make_stage(&def);
    psv_shape_def floor = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    floor.friction = 2;
    psv_body_def ground = body_at(add_shape(&s, &floor), 0, 0, 0);
    (void)add_body(&s, &ground);
    enum { SIDES = 24 };
    static float points[3 * (2 * SIDES + 1)];
    int n = 0;
    for (int k = 0; k < SIDES; ++k)
        for (int side = -1; side <= 1; side += 2) {
            const float angle = 6.2831853f * (float)k / SIDES;
            points[n++] = 0.3f * cosf(angle);
            points[n++] = 0.05f * (float)side;
            points[n++] = 0.3f * sinf(angle);
        }
    points[n++] = 0;
    points[n++] = -0.4f;
    points[n++] = 0;
    psv_shape_def top = hull_of(points, 2 * SIDES + 1);
    top.friction = 2;
    const uint32_t shape = add_shape(&s, &top);
    // In double: the disc (of the polygon's area) and the cone below it, about the tip.
    const double area = 0.5 * SIDES * 0.09 * sin(6.283185307179586 / SIDES), h = 0.35;
    const double second = area * 0.09 / 12 * (2 + cos(6.283185307179586 / SIDES)); // about a diameter
    const double disc = area * 0.1, cone = area * h / 3;
    const double i3 = 2 * second * 0.1 + 2 * second * h / 5;
    const double disc1 = second * 0.1 + disc * 0.01 / 12 + disc * 0.16;
    const double cone1 = second * h / 5 + cone * 0.6 * h * h;
    const double moment = disc * 0.4 + cone * 0.75 * h; // mass times distance, of density 1
    const double i1 = disc1 + cone1, lean = 0.3, cosine = cos(lean), w = (double)spin;
    // Steady precession p with the spin w about the axis: i1 p^2 cos - i3 w p + m g l = 0 (w: the whole spin along it).
    const double root = i3 * i3 * w * w - 4 * i1 * cosine * moment * 9.81;
    const double due = root > 0 ? (i3 * w - sqrt(root)) / (2 * i1 * cosine) : 0;
    psv_body_def body = body_at(shape, 0.4f * sinf(0.3f), 0.4f * cosf(0.3f), 0);
    body.pose.rotation[2] = -sinf(0.15f);
    body.pose.rotation[3] = cosf(0.15f);
    const double axis[3] = {sin(lean), cos(lean), 0};
    for (int k = 0; k < 3; ++k)
        body.angular_velocity[k] = (float)(axis[k] * (w - due * cosine)) + (k == 1 ? (float)due : 0);
    body.velocity[2] = (float)(-due * 0.4 * sin(lean)); // of the frame's origin
    const psv_body_id id = add_body(&s, &body);
    double turned = 0, last = 0, least = 9, slid = 0;
    const int frames = (int)(seconds * hertz);
    for (int i = 0; i < frames; ++i) {
        check(&s, psv_world_step(s.world, 1 / hertz));
        const psv_body_state b = state_of(&s, id);
        const double x = (double)b.pose.rotation[0], y = (double)b.pose.rotation[1], z = (double)b.pose.rotation[2],
                     q = (double)b.pose.rotation[3];
        const double up[3] = {2 * (x * y - q * z), 1 - 2 * (x * x + z * z), 2 * (y * z + q * x)};
        const double now = atan2(-up[2], up[0]);
        double change = now - last;
        if (change > 3.14159265358979) change -= 6.283185307179586;
        if (change < -3.14159265358979) change += 6.283185307179586;
        turned += change;
        last = now;
        least = fmin(least, up[1]);
        const double tip[2] = {(double)b.pose.position[0] - 0.4 * up[0], (double)b.pose.position[2] - 0.4 * up[2]};
        slid = fmax(slid, sqrt(tip[0] * tip[0] + tip[1] * tip[1]));
    }
    print_message(
        "top at %g rad/s, %g Hz, %u substeps: %.4f rad/s, %.4f are due (%.3f); least height %.3f of %.3f; tip %.3f m\n",
        w, (double)hertz, substeps, turned / (double)seconds, due, turned / (double)seconds / due, least, cosine, slid);
    assert_true(fabs(turned / (double)seconds / due - 1) < 0.05);
    end_stage(&s);
}

static void tops_precess(void **unused) {
    (void)unused;
    top_of(60, 60, 0, 5);
    top_of(150, 60, 0, 5);
    top_of(60, 240, 0, 5);
    top_of(150, 240, 0, 5);
    top_of(100, 60, 4, 5);
    top_of(100, 30, 0, 5);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(heavy_bodies_rest_on_light_ones),
                                       cmocka_unit_test(cradle_passes_two_on), cmocka_unit_test(tops_precess)};
    return RUN_TESTS(argc, argv, "mass_and_spin", tests);
}
