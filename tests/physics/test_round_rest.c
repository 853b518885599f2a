// Round hulls, capsules and compounds come to rest on every kind of ground, no deeper in it than boxes are.
#include "mesh_points.h"

enum { PLANE, BOX_FLOOR, MESH, FIELD, GROUNDS };
static const char *ground_names[GROUNDS] = {"plane", "box", "mesh", "field"};

static void add_ground(stage *s, int ground, float scale) {
    const float heights[9] = {0};
    mesh_points m = mesh_grid((double)scale * -20, (double)scale * -20, 40, 40, (double)scale, 0.3, flat_height);
    psv_shape_def def = mesh_shape(&m);
    if (ground == PLANE) def = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    if (ground == BOX_FLOOR) def = shape_of(PSV_SHAPE_BOX, 20 * scale, 5 * scale, 20 * scale);
    if (ground == FIELD) {
        def = shape_of(PSV_SHAPE_HEIGHT_FIELD, 40 * scale, 1, 40 * scale);
        def.heights = heights;
        def.columns = def.rows = 3;
    }
    psv_body_def body = body_at(add_shape(s, &def), 0, ground == BOX_FLOOR ? -5 * scale : 0, 0);
    body.is_static = true;
    (void)add_body(s, &body);
    mesh_free(&m);
}

// A prism of `sides` sides with its axis along y.
static uint32_t prism_points(int sides, double radius, double half, float *points) {
    for (int i = 0; i < 2 * sides; ++i) {
        const double angle = 2 * 3.14159265358979 * ((i >> 1) + 0.5) / sides;
        points[3 * i] = (float)(radius * cos(angle));
        points[3 * i + 1] = (float)(i % 2 ? half : -half);
        points[3 * i + 2] = (float)(radius * sin(angle));
    }
    return (uint32_t)(2 * sides);
}

// Laid on its side or stood on its end just above the ground; its speed after `seconds` and how deep it is at the end.
static bool rests(int ground, int sides, float radius, float half, bool stands, float hertz, uint32_t substeps,
                  double *speed, double *depth) {
    psv_world_def def = stage_def(16);
    def.substeps = substeps;
    stage s = make_stage(&def);
    float points[3 * 64];
    add_ground(&s, ground, radius);
    const psv_shape_def hull = hull_of(points, prism_points(sides, (double)radius, (double)half, points));
    const float low = stands ? half : radius * (float)cos(3.14159265358979 / sides);
    psv_body_def body = body_at(add_shape(&s, &hull), 0.13f * radius, low * 1.001f, -0.21f * radius);
    if (!stands) body.pose.rotation[0] = body.pose.rotation[3] = 0.70710678f;
    const psv_body_id id = add_body(&s, &body);
    for (int i = 0; i < (int)(10 * hertz); ++i)
        check(&s, psv_world_step(s.world, 1 / hertz));
    const psv_body_state now = state_of(&s, id);
    const float *v = now.velocity, *w = now.angular_velocity;
    *speed = sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])) +
             (double)radius * sqrt((double)(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]));
    *depth = 0;
    for (int i = 0; i < 2 * sides; ++i)
        *depth = fmax(*depth, -(double)now.pose.position[1] - rotated(now.pose.rotation, at(points, (uint32_t)i)).x[1]);
    end_stage(&s);
    return *speed < 0.001 && *depth < 0.005 * (double)radius;
}

static void prisms_come_to_rest(void **unused) {
    (void)unused;
    static const int sides[4] = {16, 20, 24, 32};
    int wrong = 0;
    for (int ground = 0; ground < GROUNDS; ++ground)
        for (int k = on_cuda() ? 3 : 0; k < 4; ++k)
            for (int stands = 0; stands < 2; ++stands)
                for (int flat = 0; flat < 2; ++flat) {
                    double speed, depth;
                    const float half = flat ? 0.02f : 0.15f;
                    const bool good = rests(ground, sides[k], 0.1f, half, stands, 60, 0, &speed, &depth);
                    (void)printf("%d sides, %g m, %s on a %s: %.5f m/s, %.2f mm deep%s\n", sides[k], (double)half,
                                 stands ? "standing" : "lying", ground_names[ground], speed, 1e3 * depth,
                                 good ? "" : " <-");
                    wrong += !good;
                }
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prisms_come_to_rest),
    };
    return RUN_TESTS(argc, argv, "rest of round bodies", tests);
}
