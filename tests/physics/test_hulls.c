// Convex hulls: how they are built and measured, how they lie, tip, slide and stack, and dice that come to rest on a
// face. Oracles: all planes through three points (hulls), tetrahedra from a corner and analytic tensors (masses), the
// same thing built as a box, and separating axes over all faces and all pairs of edges in double (distances).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hull_points.h"

// Points of a plane through three of them that has all others on one side are on the hull; volume by tetrahedra from
// the middle of all over each such plane's triangles is left out: corners are enough.
static bool is_corner_plane(const float *points, uint32_t count, uint32_t i, uint32_t j, uint32_t k) {
    const d3 n = cross(minus(at(points, j), at(points, i)), minus(at(points, k), at(points, i)));
    if (dot(n, n) < 1e-12) return false;
    bool above = false, below = false;
    for (uint32_t m = 0; m < count; ++m) {
        const double h = dot(n, minus(at(points, m), at(points, i))) / sqrt(dot(n, n));
        above |= h > 1e-7;
        below |= h < -1e-7;
    }
    return !(above && below);
}

static double volume_of(const psv_shape_def *hull) {
    double sum = 0;
    for (uint32_t i = 0; i < hull->triangle_count; ++i) {
        const uint32_t *t = hull->indices + 3 * i;
        sum += dot(at(hull->vertices, t[0]), cross(at(hull->vertices, t[1]), at(hull->vertices, t[2]))) / 6;
    }
    return sum;
}

static float mass_of_first(stage *s) {
    float v[4];
    check(s, psv_download(s->context, v, psv_world_velocities(s->world), sizeof v));
    return 1 / v[3];
}

static void random_points_have_their_hull(void **unused) {
    (void)unused;
    uint64_t seed = 7;
    float points[90];
    for (int round = 0; round < 40; ++round) {
        const uint32_t count = 4 + (uint32_t)round % 27;
        for (uint32_t i = 0; i < 3 * count; ++i)
            points[i] = random_float(&seed) + (round % 3 == 0 ? 2.0f : 0.0f);
        const psv_world_def world = stage_def(4);
        stage s = make_stage(&world);
        psv_shape_def def = hull_of(points, count);
        const uint32_t shape = add_shape(&s, &def);
        check(&s, psv_world_shape(s.world, shape, &def));
        bool corner[30] = {false}, used[30] = {false};
        for (uint32_t i = 0; i < count; ++i)
            for (uint32_t j = 0; j < i; ++j)
                for (uint32_t k = 0; k < j; ++k)
                    if (is_corner_plane(points, count, i, j, k)) corner[i] = corner[j] = corner[k] = true;
        for (uint32_t t = 0; t < def.triangle_count; ++t) {
            const uint32_t *v = def.indices + 3 * t;
            d3 n = cross(minus(at(points, v[1]), at(points, v[0])), minus(at(points, v[2]), at(points, v[0])));
            for (uint32_t m = 0; m < count; ++m)
                assert_true(dot(n, minus(at(points, m), at(points, v[0]))) <= 1e-6 * sqrt(dot(n, n)));
            for (int k = 0; k < 3; ++k)
                used[v[k]] = true;
        }
        assert_memory_equal(corner, used, sizeof corner);
        const psv_body_def body = body_at(shape, 0, 0, 0);
        (void)add_body(&s, &body);
        const double volume = volume_of(&def);
        assert_true(volume > 0);
        assert_true(fabs((double)mass_of_first(&s) / (1000 * volume) - 1) < 1e-5);
        end_stage(&s);
    }
}

// Many of the triangles of thin plates, and a few of those of balls, have a fourth point nearly in their plane. Each
// plate and ball has a hull: closed (each edge is met once each way), and no point lies further out than its corners.
static void nearly_flat_neighbours_are_no_trouble(void **unused) {
    (void)unused;
    uint64_t seed = 3;
    psv_world_def world = stage_def(4);
    stage s = make_stage(&world);
    for (int round = 0; round < 600; ++round) {
        float points[90];
        for (uint32_t i = 0; i < 30; ++i) {
            float *p = points + 3 * i;
            float thin = round % 2 == 0 ? 0.002f : 1.0f, length = 0;
            for (int k = 0; k < 3; ++k) {
                p[k] = random_float(&seed) * (k == 1 ? thin : 1.0f);
                length += p[k] * p[k];
            }
            for (int k = 0; k < 3 && round % 2 != 0; ++k)
                p[k] *= 0.2f / sqrtf(length);
        }
        psv_shape_def def = hull_of(points, 30);
        check(&s, psv_world_shape(s.world, add_shape(&s, &def), &def));
        bool used[30] = {false};
        for (uint32_t e = 0; e < 3 * def.triangle_count; ++e) {
            const uint32_t x = def.indices[e], y = def.indices[e / 3 * 3 + (e + 1) % 3];
            uint32_t there = 0, back = 0;
            for (uint32_t other = 0; other < 3 * def.triangle_count; ++other) {
                const uint32_t from = def.indices[other], to = def.indices[other / 3 * 3 + (other + 1) % 3];
                there += from == x && to == y;
                back += from == y && to == x;
            }
            assert_true(there == 1 && back == 1);
            used[x] = true;
        }
        for (int way = 0; way < 60; ++way) {
            const d3 n = {{random_float(&seed), random_float(&seed), random_float(&seed)}};
            double all = -10, corners = -10;
            for (uint32_t m = 0; m < 30; ++m) {
                all = fmax(all, dot(n, at(points, m)));
                if (used[m]) corners = fmax(corners, dot(n, at(points, m)));
            }
            assert_true(all - corners <= 1e-5);
        }
    }
    end_stage(&s);
}

// What a unit impulse at a point does tells mass, centre and the whole tensor.
static void kick(stage *s, psv_body_id id, d3 point, d3 impulse) {
    float p[3], j[3];
    for (int k = 0; k < 3; ++k) {
        p[k] = (float)point.x[k];
        j[k] = (float)impulse.x[k];
    }
    check(s, psv_apply_impulse(s->world, id, j, p));
}

static void boxes_weigh_the_same(void **unused) {
    (void)unused;
    psv_world_def world = stage_def(8);
    stage s = make_stage(&world);
    float points[24];
    box_points(0.5f, 0.3f, 0.2f, points);
    const psv_shape_def hull = hull_of(points, 8), box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.3f, 0.2f);
    const psv_body_def a = body_at(add_shape(&s, &hull), 0, 10, 0), b = body_at(add_shape(&s, &box), 5, 10, 0);
    const psv_body_id ia = add_body(&s, &a), ib = add_body(&s, &b);
    for (int k = 0; k < 3; ++k) {
        d3 impulse = {{10, -20, 30}}, arm = {{0.3, 0.1 * k, -0.2 * k}}, where = arm;
        where.x[1] += 10;
        kick(&s, ia, where, impulse);
        where.x[0] += 5;
        kick(&s, ib, where, impulse);
    }
    const psv_body_state sa = state_of(&s, ia), sb = state_of(&s, ib);
    for (int k = 0; k < 3; ++k) {
        assert_float_equal(sa.velocity[k], sb.velocity[k], 1e-5f);
        assert_float_equal(sa.angular_velocity[k], sb.angular_velocity[k], 1e-4f);
    }
    end_stage(&s);
}

// A regular tetrahedron of edge a turns as a ball with inertia m a^2 / 20 about its middle.
static void tetrahedra_turn_as_balls(void **unused) {
    (void)unused;
    psv_world_def world = stage_def(8);
    stage s = make_stage(&world);
    float points[12];
    for (int i = 0; i < 12; ++i)
        points[i] = tetrahedron[i] + (i % 3 == 0 ? 3.0f : 0.0f); // its frame is elsewhere
    const psv_shape_def hull = hull_of(points, 4);
    const psv_body_def a = body_at(add_shape(&s, &hull), 0, 0, 0);
    const psv_body_id id = add_body(&s, &a);
    const double mass = 1000 * 8.0 / 3, inertia = mass * 8 / 20;
    const d3 arm = {{0.3, -0.4, 0.5}}, impulse = {{700, 500, -900}}, turn = cross(arm, impulse);
    d3 where = arm;
    where.x[0] += 3;
    kick(&s, id, where, impulse);
    const psv_body_state state = state_of(&s, id);
    for (int k = 0; k < 3; ++k) {
        assert_true(fabs((double)state.velocity[k] - impulse.x[k] / mass) < 1e-5);
        assert_true(fabs((double)state.angular_velocity[k] - turn.x[k] / inertia) < 1e-5);
    }
    end_stage(&s);
}

static void refuse(stage *s, const float *points, uint32_t count, const char *word) {
    const psv_shape_def def = hull_of(points, count);
    uint32_t shape;
    assert_int_equal(psv_create_shape(s->world, &def, &shape), PSV_ERROR_ARGUMENT);
    if (strstr(psv_last_error(s->context), word) == NULL) fail_msg("no «%s» in: %s", word, psv_last_error(s->context));
}

static void bad_points_are_refused(void **unused) {
    (void)unused;
    const psv_world_def world = stage_def(4);
    stage s = make_stage(&world);
    float points[600], flat[30], line[30];
    uint64_t seed = 3;
    for (int i = 0; i < 30; ++i) {
        flat[i] = i % 3 == 1 ? 0.25f : random_float(&seed);
        line[i] = (float)(i / 3) * (float)(1 + i % 3);
    }
    for (int i = 0; i < 200; ++i) {
        const double z = 1 - (i + 0.5) / 100, r = sqrt(1 - z * z), turn = 2.399963 * i;
        points[3 * i] = (float)(r * cos(turn));
        points[3 * i + 1] = (float)(r * sin(turn));
        points[3 * i + 2] = (float)z;
    }
    refuse(&s, NULL, 4, "4 to 65536 points");
    refuse(&s, points, 3, "4 to 65536 points");
    refuse(&s, points, 65537, "4 to 65536 points");
    refuse(&s, flat, 10, "one plane");
    refuse(&s, line, 10, "one line");
    refuse(&s, points, 200, "more than 64 vertices");
    points[4] = NAN;
    refuse(&s, points, 64, "finite");
    memset(points, 0, sizeof points);
    refuse(&s, points, 10, "at one place");
    assert_int_equal(psv_world_shape_count(s.world), 0);
    end_stage(&s);
}

// Points within, on edges and faces, and doubled do not matter; 64 corners on a ball do.
static void only_corners_count(void **unused) {
    (void)unused;
    const psv_world_def world = stage_def(4);
    stage s = make_stage(&world);
    float points[3 * 343 * 2];
    uint32_t n = 0;
    for (int i = 0; i < 343 * 2; ++i, ++n) {
        points[3 * n] = (float)(i % 7) - 3;
        points[3 * n + 1] = (float)(i / 7 % 7) - 3;
        points[3 * n + 2] = 0.5f * (float)(i / 49 % 7) - 1.5f;
    }
    psv_shape_def def = hull_of(points, n);
    uint32_t shape = add_shape(&s, &def);
    check(&s, psv_world_shape(s.world, shape, &def));
    assert_int_equal(def.triangle_count, 12);
    assert_true(fabs(volume_of(&def) - 6 * 6 * 3) < 1e-6);
    for (int i = 0; i < 64; ++i) {
        const double z = 1 - (i + 0.5) / 32, r = sqrt(1 - z * z), turn = 2.399963 * i;
        points[3 * i] = (float)(r * cos(turn));
        points[3 * i + 1] = (float)(r * sin(turn));
        points[3 * i + 2] = (float)z;
    }
    def = hull_of(points, 64);
    shape = add_shape(&s, &def);
    check(&s, psv_world_shape(s.world, shape, &def));
    assert_int_equal(def.triangle_count, 124);
    end_stage(&s);
}

// --- motion ----------------------------------------------------------------------------------------------------------

static void towers_of_hulls_stand(void **unused) {
    (void)unused;
    const psv_world_def world = stage_def(64);
    stage s = make_stage(&world);
    (void)add_box_floor(&s, 20, 0.6f, 0);
    float points[24];
    box_points(0.5f, 0.25f, 0.5f, points);
    psv_shape_def hull = hull_of(points, 8), box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.25f, 0.5f);
    hull.friction = box.friction = 0.6f;
    const uint32_t a = add_shape(&s, &hull), b = add_shape(&s, &box);
    psv_body_id top = {0}, mixed = {0};
    for (int i = 0; i < 10; ++i) {
        psv_body_def body = body_at(a, 0, 0.25f + 0.5f * (float)i, 0);
        top = add_body(&s, &body);
        body = body_at(i % 2 == 0 ? a : b, 5, 0.25f + 0.5f * (float)i, 0);
        mixed = add_body(&s, &body);
    }
    step(&s, 600);
    const psv_body_state states[2] = {state_of(&s, top), state_of(&s, mixed)};
    for (int i = 0; i < 2; ++i) {
        const float *p = states[i].pose.position, *v = states[i].velocity;
        (void)printf("tower %d: aside %.4f %.4f, down %.4f, speed %.4f\n", i, (double)(p[0] - 5 * (float)i),
                     (double)p[2], (double)(4.75f - p[1]), (double)sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
        assert_float_equal(p[0], 5 * (float)i, 0.01f);
        assert_float_equal(p[2], 0, 0.01f);
        assert_float_equal(p[1], 4.75f, 0.02f);
        assert_true(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] < 1e-4f);
    }
    end_stage(&s);
}

// A block of half width 0.3 and half height 0.5 tips on slopes of more than atan(0.6) = 31 degrees, if friction holds.
static void hulls_slide_and_tip_as_boxes(void **unused) {
    (void)unused;
    float points[24];
    box_points(0.3f, 0.5f, 0.3f, points);
    const double pi = 3.14159265358979;
    for (int i = 0; i < 4; ++i) {
        const double slope = (i == 0   ? 29.5
                              : i == 1 ? 32.5
                                       : 25) *
                             pi / 180,
                     friction = i < 2    ? 1.5
                                : i == 2 ? 0.3
                                         : 0.6;
        psv_world_def world = stage_def(8);
        world.gravity[0] = (float)(9.81 * sin(slope));
        world.gravity[1] = (float)(-9.81 * cos(slope));
        stage s = make_stage(&world);
        (void)add_box_floor(&s, 60, (float)friction, 0);
        psv_shape_def hull = hull_of(points, 8);
        hull.friction = (float)friction;
        const psv_body_def body = body_at(add_shape(&s, &hull), 0, 0.5f, 0);
        const psv_body_id id = add_body(&s, &body);
        step(&s, 30);
        const float before = state_of(&s, id).velocity[0];
        step(&s, i < 2 ? 300 : 60);
        const psv_body_state state = state_of(&s, id);
        const double gained = (double)(state.velocity[0] - before), due = 9.81 * (sin(slope) - friction * cos(slope));
        if (i < 2)
            assert_int_equal(state.pose.position[1] < 0.45f, i == 1);
        else if (due > 0)
            assert_true(fabs(gained / due - 1) < 2e-3);
        else
            assert_true(fabs((double)state.velocity[0]) < 1e-3);
        end_stage(&s);
    }
}

// Dice fall on a floor: each ends on a face, so its middle is as high as a face is from the middle.
static void dice_rest_on_a_face(void **unused) {
    (void)unused;
    static const int kinds[5] = {4, 6, 8, 12, 20};
    psv_world_def world = stage_def(256);
    stage s = make_stage(&world);
    psv_shape_def plane = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    psv_body_def floor = body_at(add_shape(&s, &plane), 0, 0, 0);
    floor.is_static = true;
    (void)add_body(&s, &floor);
    float points[60];
    double in_radius[5];
    uint32_t shapes[5];
    for (int k = 0; k < 5; ++k) {
        const uint32_t n = die_points(kinds[k], 0.5f, points);
        psv_shape_def def = hull_of(points, n);
        shapes[k] = add_shape(&s, &def);
        check(&s, psv_world_shape(s.world, shapes[k], &def));
        assert_int_equal(def.triangle_count, 2 * n - 4);
        const uint32_t *t = def.indices;
        const d3 normal = cross(minus(at(points, t[1]), at(points, t[0])), minus(at(points, t[2]), at(points, t[0])));
        in_radius[k] = dot(normal, at(points, t[0])) / sqrt(dot(normal, normal));
    }
    psv_body_id ids[60];
    uint64_t seed = 11;
    for (int i = 0; i < 60; ++i) {
        psv_body_def body = body_at(shapes[i % 5], 2.5f * (float)(i % 8), 1.2f, 2.5f * (float)(i / 8));
        for (int k = 0; k < 4; ++k)
            body.pose.rotation[k] = random_float(&seed);
        for (int k = 0; k < 3; ++k)
            body.angular_velocity[k] = 3 * random_float(&seed);
        ids[i] = add_body(&s, &body);
    }
    step(&s, 480);
    int flat = 0;
    double fastest = 0;
    for (int i = 0; i < 60; ++i) {
        const psv_body_state state = state_of(&s, ids[i]);
        const float *v = state.velocity, *w = state.angular_velocity;
        fastest =
            fmax(fastest, (double)(fabsf(v[0]) + fabsf(v[1]) + fabsf(v[2]) + fabsf(w[0]) + fabsf(w[1]) + fabsf(w[2])));
        flat += fabs((double)state.pose.position[1] - in_radius[i % 5]) < 5e-3;
    }
    (void)printf("%d of 60 dice lie on a face; fastest %.5f\n", flat, fastest);
    assert_int_equal(flat, 60);
    assert_true(fastest < 0.05);
    end_stage(&s);
}

// --- distances -------------------------------------------------------------------------------------------------------

typedef struct solid {
    d3 points[30];
    uint32_t count;
} solid;

// The most that two sets of points are apart along a direction; negative: they overlap.
static double apart(const solid *a, const solid *b, d3 n) {
    double high = -1e30, low = 1e30;
    for (uint32_t i = 0; i < a->count; ++i)
        high = fmax(high, dot(n, a->points[i]));
    for (uint32_t i = 0; i < b->count; ++i)
        low = fmin(low, dot(n, b->points[i]));
    return (low - high) / sqrt(dot(n, n));
}

// Over the normals of all triangles of points, and the products of all pairs of segments, both ways.
static double axes_of(const solid *a, const solid *b) {
    double most = -1e30;
    for (int turn = 0; turn < 2; ++turn) {
        const solid *s = turn == 0 ? a : b;
        for (uint32_t i = 0; i < s->count; ++i)
            for (uint32_t j = 0; j < s->count; ++j)
                for (uint32_t k = 0; k < j; ++k) {
                    d3 n = cross(minus(s->points[j], s->points[i]), minus(s->points[k], s->points[i]));
                    if (dot(n, n) < 1e-12) continue;
                    const d3 m = {{-n.x[0], -n.x[1], -n.x[2]}};
                    most = fmax(most, fmax(apart(a, b, n), apart(a, b, m)));
                }
    }
    for (uint32_t i = 0; i < a->count; ++i)
        for (uint32_t j = 0; j < i; ++j)
            for (uint32_t k = 0; k < b->count; ++k)
                for (uint32_t m = 0; m < k; ++m) {
                    const d3 n = cross(minus(a->points[i], a->points[j]), minus(b->points[k], b->points[m]));
                    if (dot(n, n) < 1e-12) continue;
                    const d3 o = {{-n.x[0], -n.x[1], -n.x[2]}};
                    most = fmax(most, fmax(apart(a, b, n), apart(a, b, o)));
                }
    return most;
}

static solid solid_of(const float *points, uint32_t count, const psv_body_state *state) {
    solid s = {.count = count};
    for (uint32_t i = 0; i < count; ++i) {
        s.points[i] = rotated(state->pose.rotation, at(points, i));
        for (int k = 0; k < 3; ++k)
            s.points[i].x[k] += (double)state->pose.position[k];
    }
    return s;
}

// Two random hulls that overlap a little, without forces, are pushed apart until they just touch, and no further.
static void overlap_is_undone(void **unused) {
    (void)unused;
    uint64_t seed = 5;
    double worst_left = 0, worst_past = 0;
    for (int round = 0; round < 24; ++round) {
        psv_world_def world = stage_def(4);
        for (int k = 0; k < 3; ++k)
            world.gravity[k] = 0;
        stage s = make_stage(&world);
        float points[2][30];
        psv_body_id ids[2];
        const uint32_t n = 6 + (uint32_t)round % 4;
        for (int i = 0; i < 2; ++i) {
            for (uint32_t k = 0; k < 3 * n; ++k)
                points[i][k] = random_float(&seed);
            const psv_shape_def def = hull_of(points[i], n);
            psv_body_def body = body_at(add_shape(&s, &def), (float)i * 2.6f, 0, 0);
            for (int k = 0; k < 4; ++k)
                body.pose.rotation[k] = random_float(&seed);
            ids[i] = add_body(&s, &body);
        }
        // Nearer until they overlap by 1 to 4 cm.
        double overlap = 0;
        for (int i = 0; i < 400 && overlap > -0.01; ++i) {
            psv_body_state a = state_of(&s, ids[0]), b = state_of(&s, ids[1]);
            const solid p = solid_of(points[0], n, &a), q = solid_of(points[1], n, &b);
            overlap = axes_of(&p, &q);
            if (overlap <= -0.01) break;
            b.pose.position[0] -= (float)fmax(0.01, 0.5 * overlap);
            check(&s, psv_set_body_state(s.world, ids[1], &b));
        }
        assert_true(overlap < 0);
        step(&s, 120);
        const psv_body_state a = state_of(&s, ids[0]), b = state_of(&s, ids[1]);
        const solid p = solid_of(points[0], n, &a), q = solid_of(points[1], n, &b);
        const double after = axes_of(&p, &q);
        worst_left = fmin(worst_left, after);
        worst_past = fmax(worst_past, after);
        end_stage(&s);
    }
    (void)printf("overlap left %.5f, pushed past %.5f\n", worst_left, worst_past);
    assert_true(worst_left > -0.006);
    assert_true(worst_past < 0.01);
}

// Rays at a turned icosahedron meet it where they first meet one of its triangles, which are found one by one.
static void rays_meet_the_nearest_triangle(void **unused) {
    (void)unused;
    const psv_world_def world = stage_def(4);
    stage s = make_stage(&world);
    float points[60];
    psv_shape_def def = hull_of(points, die_points(20, 0.7f, points));
    const uint32_t shape = add_shape(&s, &def);
    psv_body_def body = body_at(shape, 1, 2, 3);
    const float turn[4] = {0.1f, -0.5f, 0.3f, 0.8f};
    memcpy(body.pose.rotation, turn, sizeof turn);
    const psv_body_id id = add_body(&s, &body);
    check(&s, psv_world_shape(s.world, shape, &def));
    const psv_body_state state = state_of(&s, id);
    const solid hull = solid_of(points, def.vertex_count, &state);
    uint64_t seed = 21;
    int hits = 0;
    for (int i = 0; i < 400; ++i) {
        float origin[3], direction[3], distance = 0;
        for (int k = 0; k < 3; ++k) {
            origin[k] = (float)(k + 1) + 3 * random_float(&seed);
            direction[k] = (float)(k + 1) + 0.8f * random_float(&seed) - origin[k];
        }
        const d3 o = at(origin, 0), d = at(direction, 0);
        double nearest = 1e30;
        for (uint32_t t = 0; t < def.triangle_count; ++t) {
            const uint32_t *v = def.indices + 3 * t;
            const d3 a = hull.points[v[0]], e = minus(hull.points[v[1]], a), f = minus(hull.points[v[2]], a);
            const d3 n = cross(e, f), r = minus(o, a);
            const double rate = -dot(n, d), along = dot(n, r) / rate;
            const d3 q = cross(d, r);
            const double u = -dot(f, q) / rate, w = dot(e, q) / rate;
            if (rate > 0 && along >= 0 && u >= 0 && w >= 0 && u + w <= 1) nearest = fmin(nearest, along);
        }
        psv_body_id met;
        check(&s, psv_cast_ray(s.world, origin, direction, 100, &met, &distance));
        const bool hit = met.index1 == id.index1;
        if (hit && distance == 0) { // began inside: no triangle is met from outside
            assert_true(nearest > 1e29);
            continue;
        }
        if (hit && nearest < 1e29) assert_true(fabs((double)distance - nearest) < 1e-5);
        hits += hit;
        assert_true(hit == (nearest < 1e29));
    }
    assert_in_range(hits, 100, 399);
    end_stage(&s);
}

// Balls and capsules lie on a hull as on the box that it is; a capsule lies on two points and does not rock.
static void round_shapes_rest_on_hulls(void **unused) {
    (void)unused;
    const psv_world_def world = stage_def(16);
    stage s = make_stage(&world);
    float points[24];
    box_points(4, 0.5f, 4, points);
    const psv_shape_def hull = hull_of(points, 8), ball = shape_of(PSV_SHAPE_SPHERE, 0.3f, 0, 0);
    const psv_shape_def capsule = shape_of(PSV_SHAPE_CAPSULE, 0.2f, 0.6f, 0);
    psv_body_def table = body_at(add_shape(&s, &hull), 0, -0.5f, 0);
    table.is_static = true;
    (void)add_body(&s, &table);
    psv_body_def a = body_at(add_shape(&s, &ball), -1, 0.5f, 0), b = body_at(add_shape(&s, &capsule), 1, 0.4f, 0);
    b.pose.rotation[2] = b.pose.rotation[3] = sqrtf(0.5f); // along x
    const psv_body_id ia = add_body(&s, &a), ib = add_body(&s, &b);
    step(&s, 180);
    const psv_body_state sa = state_of(&s, ia), sb = state_of(&s, ib);
    assert_float_equal(sa.pose.position[1], 0.3f, 2e-3f);
    assert_float_equal(sa.pose.position[0], -1, 1e-3f);
    assert_float_equal(sb.pose.position[1], 0.2f, 2e-3f);
    const d3 up = {{0, 1, 0}}, axis = rotated(sb.pose.rotation, up);
    assert_true(fabs(axis.x[1]) < 2e-3);
    for (int k = 0; k < 3; ++k)
        assert_true(fabsf(sb.velocity[k]) < 1e-2f && fabsf(sb.angular_velocity[k]) < 1e-2f);
    end_stage(&s);
}

// On a mesh and on a height field, with the frame's origin below the hull: what is outside says where the hull is. And
// a hull that is static can be told to go somewhere.
static void hulls_rest_on_meshes_and_fields(void **unused) {
    (void)unused;
    const psv_world_def world = stage_def(16);
    stage s = make_stage(&world);
    static const float corners[] = {-9, 0, -9, 9, 0, -9, 9, 0, 9, -9, 0, 9}, heights[9] = {0};
    static const uint32_t faces[] = {0, 2, 1, 0, 3, 2};
    psv_shape_def mesh = shape_of(PSV_SHAPE_MESH, 1, 1, 1), field = shape_of(PSV_SHAPE_HEIGHT_FIELD, 8, 1, 8);
    mesh.vertices = corners;
    mesh.vertex_count = 4;
    mesh.indices = faces;
    mesh.triangle_count = 2;
    field.heights = heights;
    field.columns = field.rows = 3;
    psv_body_def ground = body_at(add_shape(&s, &mesh), 0, 0, 0), hill = body_at(add_shape(&s, &field), 20, 0, 0);
    ground.is_static = hill.is_static = true;
    (void)add_body(&s, &ground);
    (void)add_body(&s, &hill);
    float points[24];
    box_points(0.5f, 0.5f, 0.5f, points);
    for (int i = 0; i < 8; ++i)
        points[3 * i + 1] += 0.7f; // the frame's origin lies 0.2 below
    const psv_shape_def hull = hull_of(points, 8);
    const uint32_t shape = add_shape(&s, &hull);
    const psv_body_def a = body_at(shape, 0.3f, 0.1f, 0.2f), b = body_at(shape, 20.3f, 0.1f, 0.2f);
    const psv_body_id ia = add_body(&s, &a), ib = add_body(&s, &b);
    psv_body_def door = body_at(shape, -5, 3, 0);
    door.is_static = true;
    const psv_body_id id = add_body(&s, &door);
    psv_pose target = door.pose;
    target.position[0] += 0.5f;
    check(&s, psv_set_body_target(s.world, id, &target, 0.5f));
    step(&s, 30);
    assert_float_equal(state_of(&s, id).pose.position[0], -4.5f, 1e-3f);
    step(&s, 120);
    assert_float_equal(state_of(&s, ia).pose.position[1], -0.2f, 5e-3f);
    assert_float_equal(state_of(&s, ib).pose.position[1], -0.2f, 5e-3f);
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_points_have_their_hull),
        cmocka_unit_test(nearly_flat_neighbours_are_no_trouble),
        cmocka_unit_test(boxes_weigh_the_same),
        cmocka_unit_test(tetrahedra_turn_as_balls),
        cmocka_unit_test(bad_points_are_refused),
        cmocka_unit_test(only_corners_count),
        cmocka_unit_test(towers_of_hulls_stand),
        cmocka_unit_test(hulls_slide_and_tip_as_boxes),
        cmocka_unit_test(dice_rest_on_a_face),
        cmocka_unit_test(overlap_is_undone),
        cmocka_unit_test(rays_meet_the_nearest_triangle),
        cmocka_unit_test(round_shapes_rest_on_hulls),
        cmocka_unit_test(hulls_rest_on_meshes_and_fields),
    };
    return RUN_TESTS(argc, argv, "hulls", tests);
}
