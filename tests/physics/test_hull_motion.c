// How hulls move: free rotation keeps angular momentum and energy, friction stops them where it should, nothing passes
// a thin wall, and built as a box they do what the box does. Oracles: tensors summed over tetrahedra, Coulomb's law,
// and the same thing built as a box.
#include <stdlib.h>

#include "hull_points.h"

static void no_gravity(psv_world_def *def) {
    for (int k = 0; k < 3; ++k)
        def->gravity[k] = 0;
}

// --- free rotation ---------------------------------------------------------------------------------------------------

typedef struct inertia {
    double mass, tensor[3][3]; // about the centre of mass
    d3 centre;
} inertia;

// Sums over the tetrahedra from the origin to each triangle: of x y^T over one, (v0 v0^T + v1 v1^T + v2 v2^T + s s^T)
// of its corners and their sum, times volume / 20.
static inertia inertia_of(const psv_shape_def *hull) {
    inertia r = {0};
    double products[3][3] = {{0}};
    for (uint32_t t = 0; t < hull->triangle_count; ++t) {
        d3 v[4] = {{{0, 0, 0}}};
        for (int c = 0; c < 3; ++c) {
            v[c] = at(hull->vertices, hull->indices[3 * t + (uint32_t)c]);
            for (int k = 0; k < 3; ++k)
                v[3].x[k] += v[c].x[k];
        }
        const double mass = (double)hull->density * dot(v[0], cross(v[1], v[2])) / 6;
        r.mass += mass;
        for (int i = 0; i < 3; ++i) {
            r.centre.x[i] += mass * v[3].x[i] / 4;
            for (int k = 0; k < 3; ++k)
                for (int c = 0; c < 4; ++c)
                    products[i][k] += mass * v[c].x[i] * v[c].x[k] / 20;
        }
    }
    for (int i = 0; i < 3; ++i)
        r.centre.x[i] /= r.mass;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            products[i][k] -= r.mass * r.centre.x[i] * r.centre.x[k];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            r.tensor[i][k] = (i == k ? products[0][0] + products[1][1] + products[2][2] : 0) - products[i][k];
    return r;
}

// Angular momentum about the centre of mass; returns twice the energy of rotation.
static double momentum_of(const inertia *i, const psv_body_state *state, d3 *momentum) {
    const float *q = state->pose.rotation, back[4] = {-q[0], -q[1], -q[2], q[3]};
    const d3 w = at(state->angular_velocity, 0), local = rotated(back, w);
    d3 l;
    for (int a = 0; a < 3; ++a)
        l.x[a] = i->tensor[a][0] * local.x[0] + i->tensor[a][1] * local.x[1] + i->tensor[a][2] * local.x[2];
    *momentum = rotated(q, l);
    return dot(w, *momentum);
}

static d3 middle_of(const inertia *i, const psv_body_state *state) {
    d3 c = rotated(state->pose.rotation, i->centre);
    for (int k = 0; k < 3; ++k)
        c.x[k] += (double)state->pose.position[k];
    return c;
}

// Long, flat and lopsided hulls, whose frame begins elsewhere, 30 s.
static void free_hulls_keep_momentum_and_energy(void **unused) {
    (void)unused;
    static const float stretch[4][3] = {{1, 1, 1}, {2, 0.2f, 0.3f}, {1, 0.1f, 0.8f}, {0.3f, 0.5f, 0.7f}};
    uint64_t seed = 99;
    for (int n = 0; n < 4; ++n) {
        psv_world_def world = stage_def(4);
        no_gravity(&world);
        stage s = make_stage(&world);
        float points[3 * 12];
        for (int i = 0; i < 36; ++i)
            points[i] = stretch[n][i % 3] * (random_float(&seed) + 0.3f);
        psv_shape_def def = hull_of(points, 12);
        psv_body_def body = body_at(add_shape(&s, &def), 1, 2, 3);
        check(&s, psv_world_shape(s.world, body.shape, &def));
        const inertia own = inertia_of(&def);
        for (int k = 0; k < 3; ++k)
            body.angular_velocity[k] = 6 * random_float(&seed);
        const psv_body_id id = add_body(&s, &body);
        psv_body_state state = state_of(&s, id);
        d3 before, now;
        const d3 start = middle_of(&own, &state);
        const double energy = momentum_of(&own, &state, &before);
        double off = 0, gained = 0, moved = 0;
        for (int i = 0; i < 180; ++i) {
            step(&s, 10);
            state = state_of(&s, id);
            gained = fmax(gained, fabs(momentum_of(&own, &state, &now) / energy - 1));
            const d3 d = minus(now, before), way = minus(middle_of(&own, &state), start);
            off = fmax(off, sqrt(dot(d, d) / dot(before, before)));
            // The centre of mass goes on as it went: along the velocity that it had, or stays.
            const d3 v = at(state.velocity, 0);
            d3 ahead = way;
            for (int k = 0; k < 3; ++k)
                ahead.x[k] -= v.x[k] * (i + 1) / 6;
            moved = fmax(moved, sqrt(dot(ahead, ahead)));
        }
        (void)printf("hull %d, 30 s: momentum off by %.1e, energy by %.1e, centre by %.1e m\n", n, off, gained, moved);
        assert_true(off < 0.01 && gained < 0.01 && moved < 5e-3);
        end_stage(&s);
    }
}

// --- friction --------------------------------------------------------------------------------------------------------

// A flat hull slides on a hull: between two frames it loses mu g of its speed.
static void friction_to_three_digits(void **unused) {
    (void)unused;
    for (int i = 0; i < 4; ++i) {
        const double mu = 0.05 + 0.15 * i;
        const psv_world_def world = stage_def(4);
        stage s = make_stage(&world);
        float points[2][24];
        box_points(40, 1, 4, points[0]);
        box_points(0.6f, 0.1f, 0.5f, points[1]);
        psv_shape_def table = hull_of(points[0], 8), slab = hull_of(points[1], 8);
        table.friction = slab.friction = (float)mu;
        psv_body_def below = body_at(add_shape(&s, &table), 0, -1, 0);
        below.is_static = true;
        (void)add_body(&s, &below);
        psv_body_def body = body_at(add_shape(&s, &slab), -20, 0.1f, 0);
        body.velocity[0] = 10;
        const psv_body_id id = add_body(&s, &body);
        step(&s, 10);
        const psv_body_state before = state_of(&s, id);
        step(&s, 60);
        const psv_body_state after = state_of(&s, id);
        const double lost = (double)(before.velocity[0] - after.velocity[0]);
        (void)printf("friction %.2f: %.5f\n", mu, lost / 9.81);
        assert_true(fabs(lost / (9.81 * mu) - 1) < 1e-3);
        assert_true(fabsf(after.velocity[2]) < 1e-3f && fabsf(after.angular_velocity[1]) < 1e-3f);
        end_stage(&s);
    }
}

// --- speed -----------------------------------------------------------------------------------------------------------

// Dice at up to 1,000 m/s against a wall of a centimetre, as a hull and as a box.
static void nothing_passes_a_thin_wall(void **unused) {
    (void)unused;
    static const int faces[5] = {4, 6, 8, 12, 20};
    uint64_t seed = 17;
    for (int kind = 0; kind < 2; ++kind) {
        psv_world_def world = stage_def(128);
        no_gravity(&world);
        stage s = make_stage(&world);
        float points[60], wall_points[24];
        box_points(6.5f, 6.5f, 0.005f, wall_points);
        const psv_shape_def hull = hull_of(wall_points, 8), box = shape_of(PSV_SHAPE_BOX, 6.5f, 6.5f, 0.005f);
        psv_body_def wall = body_at(add_shape(&s, kind == 0 ? &hull : &box), 0, 0, 0);
        wall.is_static = true;
        (void)add_body(&s, &wall);
        uint32_t shapes[5];
        for (int k = 0; k < 5; ++k) {
            const psv_shape_def die = hull_of(points, die_points(faces[k], 0.2f, points));
            shapes[k] = add_shape(&s, &die);
        }
        psv_body_id ids[100];
        for (int i = 0; i < 100; ++i) {
            psv_body_def body = body_at(shapes[i % 5], 1.2f * (float)(i % 10) - 5.4f, 1.2f * (float)(i / 10) - 5.4f,
                                        -1 - 5 * fabsf(random_float(&seed)));
            body.velocity[2] = i % 3 == 0 ? 1000 : i % 3 == 1 ? 100 : 20;
            for (int k = 0; k < 4; ++k)
                body.pose.rotation[k] = random_float(&seed);
            for (int k = 0; k < 3; ++k)
                body.angular_velocity[k] = 10 * random_float(&seed);
            ids[i] = add_body(&s, &body);
        }
        for (int frame = 0; frame < 30; ++frame) {
            step(&s, 1);
            for (int i = 0; i < 100; ++i) {
                const psv_body_state state = state_of(&s, ids[i]);
                const float *p = state.pose.position;
                // What has left the wall sideways may be where it likes.
                if (p[2] > 0 && fabsf(p[0]) < 6.4f && fabsf(p[1]) < 6.4f)
                    fail_msg("wall %d, frame %d: die %d of %d faces is %g behind it", kind, frame, i, faces[i % 5],
                             (double)p[2]);
            }
        }
        int met = 0; // a few are on their way back from others
        for (int i = 0; i < 100; ++i)
            met += state_of(&s, ids[i]).velocity[2] < 1;
        assert_in_range(met, 95, 100);
        end_stage(&s);
    }
}

// --- as a box --------------------------------------------------------------------------------------------------------

// The highest point of each of the first bounces, of a cube that falls flat.
static int bounces_of(const psv_shape_def *shape, double highest[3]) {
    const psv_world_def world = stage_def(4);
    stage s = make_stage(&world);
    (void)add_box_floor(&s, 20, 0.5f, 0);
    const psv_body_def body = body_at(add_shape(&s, shape), 0, 2.25f, 0);
    const psv_body_id id = add_body(&s, &body);
    int count = 0;
    double speed = -1, top = 0;
    for (int i = 0; i < 240 && count < 3; ++i) {
        step(&s, 1);
        const psv_body_state state = state_of(&s, id);
        top = fmax(top, (double)state.pose.position[1] - 0.25);
        if (speed > 0 && state.velocity[1] <= 0) {
            highest[count++] = top;
            top = 0;
        }
        if (speed <= 0 && state.velocity[1] > 0) top = 0;
        speed = (double)state.velocity[1];
        assert_float_equal(state.pose.position[0], 0, 1e-3f);
        for (int k = 0; k < 3; ++k)
            assert_true(fabsf(state.angular_velocity[k]) < 1e-2f);
    }
    end_stage(&s);
    return count;
}

static void cubes_bounce_as_boxes(void **unused) {
    (void)unused;
    float points[24];
    box_points(0.25f, 0.25f, 0.25f, points);
    psv_shape_def hull = hull_of(points, 8), box = shape_of(PSV_SHAPE_BOX, 0.25f, 0.25f, 0.25f);
    hull.restitution = box.restitution = 0.7f;
    double as_hull[3], as_box[3];
    assert_int_equal(bounces_of(&hull, as_hull), 3);
    assert_int_equal(bounces_of(&box, as_box), 3);
    double due = 2;
    for (int i = 0; i < 3; ++i) {
        due *= 0.49;
        (void)printf("bounce %d: hull %.4f, box %.4f, due %.4f m\n", i + 1, as_hull[i], as_box[i], due);
        assert_true(fabs(as_hull[i] / as_box[i] - 1) < 0.01);
        assert_true(fabs(as_hull[i] / due - 1) < 0.05);
    }
}

typedef struct outcome {
    double aside, down, fastest; // of all, in widths and widths a second
} outcome;

static outcome stand(const psv_shape_def *shape, int boxes) {
    const psv_world_def world = stage_def(64);
    stage s = make_stage(&world);
    (void)add_box_floor(&s, 20, 0.6f, 0);
    psv_body_id ids[40];
    const uint32_t kind = add_shape(&s, shape);
    for (int i = 0; i < boxes; ++i) {
        const psv_body_def body = body_at(kind, 0, 0.5f + (float)i, 0);
        ids[i] = add_body(&s, &body);
    }
    step(&s, 900);
    outcome r = {0, 0, 0};
    for (int i = 0; i < boxes; ++i) {
        const psv_body_state state = state_of(&s, ids[i]);
        const d3 v = at(state.velocity, 0);
        r.aside = fmax(r.aside, hypot((double)state.pose.position[0], (double)state.pose.position[2]));
        r.down = fmax(r.down, fabs(0.5 + i - (double)state.pose.position[1]));
        r.fastest = fmax(r.fastest, sqrt(dot(v, v)));
    }
    end_stage(&s);
    return r;
}

// Forty high, 15 s: as far down and as still as boxes.
static void high_towers_stand_as_boxes_do(void **unused) {
    (void)unused;
    float points[24];
    box_points(0.5f, 0.5f, 0.5f, points);
    psv_shape_def hull = hull_of(points, 8), box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f);
    hull.friction = box.friction = 0.6f;
    const outcome h = stand(&hull, 40), b = stand(&box, 40);
    (void)printf("40 hulls: aside %.4f, down %.4f, %.5f m/s; boxes %.4f, %.4f, %.5f\n", h.aside, h.down, h.fastest,
                 b.aside, b.down, b.fastest);
    assert_true(h.aside < 0.05 && h.down < 1.1 * b.down + 1e-3 && h.fastest < b.fastest + 5e-3);
}

// A cube lies where it is put on top of each kind of shape: the heights of their tops are known.
static void cubes_lie_on_every_shape(void **unused) {
    (void)unused;
    const psv_world_def world = stage_def(32);
    stage s = make_stage(&world);
    float points[24], slab[24];
    box_points(0.5f, 0.5f, 0.5f, points);
    box_points(2, 1, 2, slab);
    const psv_shape_child children[2] = {
        {.type = PSV_SHAPE_BOX, .size = {1, 0.5f, 1}, .pose = {{-1, 0.5f, 0}, {0, 0, 0, 1}}},
        {.type = PSV_SHAPE_CAPSULE, .size = {0.5f, 1, 0}, .pose = {{0.4f, 0.5f, 0}, {0.70710678f, 0, 0, 0.70710678f}}}};
    psv_shape_def below[5] = {shape_of(PSV_SHAPE_SPHERE, 1, 0, 0), shape_of(PSV_SHAPE_CAPSULE, 1, 2, 0),
                              shape_of(PSV_SHAPE_BOX, 2, 1, 2), shape_of(PSV_SHAPE_COMPOUND, 1, 1, 1),
                              hull_of(slab, 8)};
    below[3].children = children;
    below[3].child_count = 2;
    const psv_shape_def cube = hull_of(points, 8);
    const uint32_t kind = add_shape(&s, &cube);
    psv_body_id ids[5];
    for (int i = 0; i < 5; ++i) {
        psv_body_def base = body_at(add_shape(&s, &below[i]), 10 * (float)i, 0, 0);
        base.is_static = true;
        if (i == 1) base.pose.rotation[2] = base.pose.rotation[3] = sqrtf(0.5f); // the capsule along x
        (void)add_body(&s, &base);
        const psv_body_def body = body_at(kind, 10 * (float)i, 1.5f, 0);
        ids[i] = add_body(&s, &body);
    }
    step(&s, 60);
    for (int i = 0; i < 5; ++i) {
        const psv_body_state state = state_of(&s, ids[i]);
        (void)printf("on shape %d: at %.4f %.4f %.4f\n", i, (double)state.pose.position[0] - 10 * i,
                     (double)state.pose.position[1], (double)state.pose.position[2]);
        assert_float_equal(state.pose.position[0], 10 * (float)i, 2e-3f);
        assert_float_equal(state.pose.position[1], 1.5f, 3e-3f);
        assert_float_equal(state.pose.position[2], 0, 2e-3f);
    }
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_hulls_keep_momentum_and_energy), cmocka_unit_test(friction_to_three_digits),
        cmocka_unit_test(nothing_passes_a_thin_wall),          cmocka_unit_test(cubes_bounce_as_boxes),
        cmocka_unit_test(high_towers_stand_as_boxes_do),       cmocka_unit_test(cubes_lie_on_every_shape),
    };
    return RUN_TESTS(argc, argv, "motion of hulls", tests);
}
