// One elastic, smooth body alone in a box without gravity keeps its energy, whatever its shape, through hundreds of
// hits.
#include "../test_scale.h"
#include "mesh_points.h"

enum { E_BALL, E_BOX, E_CAPSULE, E_HULL, E_DIE, E_COMPOUND, SHAPES };
static const char *shape_names[SHAPES] = {"ball", "box", "capsule", "hull", "die of 20", "compound"};

static uint32_t add_elastic(stage *s, int kind) {
    float points[60];
    const psv_shape_child parts[3] = {
        {.type = PSV_SHAPE_BOX, .size = {0.3f, 0.1f, 0.15f}, .pose = {{-0.1f, 0.1f, 0}, {0, 0, 0, 1}}},
        {.type = PSV_SHAPE_SPHERE, .size = {0.2f, 0, 0}, .pose = {{0.3f, 0, 0}, {0, 0, 0, 1}}},
        {.type = PSV_SHAPE_CAPSULE, .size = {0.1f, 0.2f, 0}, .pose = {{-0.2f, -0.1f, 0.1f}, {0, 0, 0, 1}}}};
    psv_shape_def def = shape_of(PSV_SHAPE_SPHERE, 0.3f, 0.2f, 0.25f);
    if (kind == E_BOX) def.type = PSV_SHAPE_BOX;
    if (kind == E_CAPSULE) def = shape_of(PSV_SHAPE_CAPSULE, 0.15f, 0.25f, 0);
    if (kind == E_HULL) box_points(0.3f, 0.2f, 0.25f, points);
    if (kind == E_HULL) def = hull_of(points, 8);
    if (kind == E_DIE) def = hull_of(points, die_points(20, 0.3f, points));
    if (kind == E_COMPOUND) {
        def.type = PSV_SHAPE_COMPOUND;
        def.children = parts;
        def.child_count = 3;
    }
    def.restitution = 1;
    def.friction = 0;
    return add_shape(s, &def);
}

// Walls of a box of half width 1: planes, or boxes 1 m thick.
static void add_walls(stage *s, bool planes) {
    psv_shape_def wall = planes ? shape_of(PSV_SHAPE_PLANE, 1, 1, 1) : shape_of(PSV_SHAPE_BOX, 2, 0.5f, 2);
    wall.restitution = 1;
    wall.friction = 0;
    const uint32_t shape = add_shape(s, &wall);
    const float c = 0.70710678f;
    const float turns[6][4] = {{0, 0, 0, 1}, {1, 0, 0, 0}, {c, 0, 0, c}, {-c, 0, 0, c}, {0, 0, c, c}, {0, 0, -c, c}};
    for (int i = 0; i < 6; ++i) {
        psv_body_def body = body_at(shape, 0, 0, 0);
        memcpy(body.pose.rotation, turns[i], sizeof turns[i]);
        const d3 up = rotated(turns[i], (d3){{0, 1, 0}});
        for (int k = 0; k < 3; ++k)
            body.pose.position[k] = (float)up.x[k] * (planes ? -1.0f : -1.5f);
        body.is_static = true;
        (void)add_body(s, &body);
    }
}

static double kept_energy(int kind, bool planes, uint64_t *seed, float speed, float seconds) {
    psv_world_def def = stage_def(16);
    for (int k = 0; k < 3; ++k)
        def.gravity[k] = 0;
    stage s = make_stage(&def);
    add_walls(&s, planes);
    psv_body_def body = body_at(add_elastic(&s, kind), 0, 0, 0);
    for (int k = 0; k < 4; ++k)
        body.pose.rotation[k] = random_float(seed);
    for (int k = 0; k < 3; ++k) {
        body.velocity[k] = speed * random_float(seed);
        body.angular_velocity[k] = 3 * random_float(seed);
    }
    (void)add_body(&s, &body);
    double before, after, momentum[3];
    check(&s, psv_world_energy(s.world, &before, momentum));
    step(&s, (int)(60 * seconds));
    check(&s, psv_world_energy(s.world, &after, momentum));
    end_stage(&s);
    return after / before;
}

static void elastic_bodies_keep_their_energy(void **unused) {
    (void)unused;
    int wrong = 0;
    for (int planes = 0; planes < 2; ++planes)
        for (int kind = 0; kind < SHAPES; ++kind) {
            uint64_t seed = 7;
            for (int i = 0; i < (on_cuda() || test_scale() > 1 ? 1 : 3); ++i) {
                const double share = kept_energy(kind, planes, &seed, 3, on_cuda() ? 10 : 60);
                const bool good = share > 0.98 && share < 1.01;
                (void)printf("%s between %s: keeps %.4f of its energy%s\n", shape_names[kind],
                             planes ? "planes" : "boxes", share, good ? "" : " <-");
                wrong += !good;
            }
        }
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elastic_bodies_keep_their_energy),
    };
    return RUN_TESTS(argc, argv, "elastic bodies in boxes", tests);
}
