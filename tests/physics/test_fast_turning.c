// What turns fast is stopped by what it sweeps over: thin rods that fly and tumble against a thin wall, and rods that
// turn in place past a small ball.
#include "mesh_points.h"

static psv_world_def weightless(void) {
    psv_world_def def = stage_def(16);
    for (int k = 0; k < 3; ++k)
        def.gravity[k] = 0;
    return def;
}

enum { ROD_BOX, ROD_CAPSULE, ROD_HULL, ROD_COMPOUND, RODS };
static const char *rod_names[RODS] = {"box", "capsule", "hull", "compound"};

static psv_shape_def rod_shape(int kind, float half, float points[24], psv_shape_child parts[2]) {
    box_points(0.02f, half, 0.02f, points);
    psv_shape_def def = kind == ROD_HULL      ? hull_of(points, 8)
                        : kind == ROD_CAPSULE ? shape_of(PSV_SHAPE_CAPSULE, 0.02f, half, 0)
                                              : shape_of(PSV_SHAPE_BOX, 0.02f, half, 0.02f);
    for (int k = 0; k < 2; ++k)
        parts[k] = (psv_shape_child){.type = PSV_SHAPE_BOX,
                                     .size = {0.02f, 0.5f * half, 0.02f},
                                     .pose = {{0, k ? 0.5f * half : -0.5f * half, 0}, {0, 0, 0, 1}}};
    if (kind != ROD_COMPOUND) return def;
    def.type = PSV_SHAPE_COMPOUND;
    def.children = parts;
    def.child_count = 2;
    return def;
}

// One rod at a wall 4 cm thick at x = 0, of a box or a mesh; whether it is behind it after a second.
static bool passes(int kind, bool mesh, uint64_t *seed) {
    const psv_world_def def = weightless();
    stage s = make_stage(&def);
    static const double middle[3] = {0, 0, 0}, half[3] = {0.02, 20, 20};
    float points[24];
    psv_shape_child parts[2];
    if (mesh) {
        mesh_points m = mesh_box(middle, half, 6);
        (void)add_mesh(&s, &m, 0.5f);
        mesh_free(&m);
    } else {
        const psv_shape_def wall = shape_of(PSV_SHAPE_BOX, 0.02f, 20, 20);
        psv_body_def body = body_at(add_shape(&s, &wall), 0, 0, 0);
        body.is_static = true;
        (void)add_body(&s, &body);
    }
    const psv_shape_def rod = rod_shape(kind, 1, points, parts);
    psv_body_def body = body_at(add_shape(&s, &rod), -6 + 2 * random_float(seed), random_float(seed), 0);
    for (int k = 0; k < 4; ++k)
        body.pose.rotation[k] = random_float(seed);
    body.velocity[0] = 100 + 60 * random_float(seed);
    const float spin = 55 + 25 * random_float(seed), angle = 3.14159f * random_float(seed);
    body.angular_velocity[1] = spin * cosf(angle);
    body.angular_velocity[2] = spin * sinf(angle);
    const psv_body_id id = add_body(&s, &body);
    step(&s, 30);
    const bool through = state_of(&s, id).pose.position[0] > 0;
    end_stage(&s);
    return through;
}

static void tumbling_rods_stop_at_a_wall(void **unused) {
    (void)unused;
    int all = 0;
    for (int mesh = 0; mesh < 2; ++mesh)
        for (int kind = 0; kind < RODS; ++kind) {
            uint64_t seed = 11;
            int through = 0;
            const int count = on_cuda() ? 10 : 40; // a world on a device takes a tenth of a second
            for (int i = 0; i < count; ++i)
                through += passes(kind, mesh, &seed);
            (void)printf("rods, %s, at a wall, %s: %d of %d pass\n", rod_names[kind], mesh ? "mesh" : "box", through,
                         count);
            all += through;
        }
    assert_int_equal(all, 0);
}

// A rod of 2 m turns about its middle by `turn` a frame; a ball of 3 cm lies at an angle that it sweeps over.
static bool hits(int kind, float turn, float angle, float place) {
    const psv_world_def def = weightless();
    stage s = make_stage(&def);
    float points[24];
    psv_shape_child parts[2];
    const psv_shape_def rod = rod_shape(kind, 1, points, parts);
    psv_body_def body = body_at(add_shape(&s, &rod), 0, 0, 0);
    body.angular_velocity[2] = turn * 60;
    (void)add_body(&s, &body);
    const psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.015f, 0, 0);
    const psv_body_def small = body_at(add_shape(&s, &ball), -place * sinf(angle), place * cosf(angle), 0);
    const psv_body_id id = add_body(&s, &small);
    step(&s, 2);
    const psv_body_state now = state_of(&s, id);
    const float *v = now.velocity;
    end_stage(&s);
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2] > 1;
}

static void turning_rods_hit_what_they_sweep_over(void **unused) {
    (void)unused;
    int missed = 0;
    for (int kind = 0; kind < RODS; ++kind) {
        int hit = 0;
        const int stride = on_cuda() ? 4 : 1;
        for (int i = 0; i < 20; i += stride) {
            const float turn = 1 + 0.05f * (float)(i + 1), share = 0.1f + 0.04f * (float)i;
            hit += stride * hits(kind, turn, 0.15f + share * (turn - 0.2f), 0.3f + 0.035f * (float)i);
        }
        (void)printf("turning rods, %s: %d of 20 hit\n", rod_names[kind], hit);
        missed += 20 - hit;
    }
    assert_int_equal(missed, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tumbling_rods_stop_at_a_wall),
        cmocka_unit_test(turning_rods_hit_what_they_sweep_over),
    };
    return RUN_TESTS(argc, argv, "fast turning", tests);
}
