// Meshes as surfaces: what slides or rolls over one feels no edge where there is none, and what lies across walls,
// ridges and edges stays there.
#include "../own_file.h"
#include "../test_scale.h"
#include "mesh_points.h"

static psv_world_def heavy_def(void) { return stage_def(16); }

// --- speed kept over a flat mesh -------------------------------------------------------------------------------------

enum { BALL, BOX, CAPSULE, CYLINDER, PLANK, COMPOUND, KINDS };
static const char *kind_names[KINDS] = {"ball", "box", "capsule", "cylinder", "plank", "compound"};

static uint32_t cylinder_points(int sides, double radius, double half, float *points) {
    for (int i = 0; i < 2 * sides; ++i) {
        const double angle = 2 * 3.14159265358979 * (i / 2) / sides;
        points[3 * i] = (float)(radius * cos(angle));
        points[3 * i + 1] = (float)(i % 2 ? half : -half);
        points[3 * i + 2] = (float)(radius * sin(angle));
    }
    return (uint32_t)(2 * sides);
}

// A body of about the size 2 r (a plank: 10 r long, along x; 3 r wide, r thick), with its lowest point `low` below its
// position.
static uint32_t add_kind(stage *s, int kind, float r, float friction, float *low) {
    float points[3 * 64];
    const float third = r / 3;
    psv_shape_child parts[3] = {{.type = PSV_SHAPE_BOX, .size = {third, third, 3 * third}},
                                {.type = PSV_SHAPE_BOX, .size = {third, third, 3 * third}},
                                {.type = PSV_SHAPE_BOX, .size = {5 * r, third, third}}};
    psv_shape_def def = shape_of(PSV_SHAPE_SPHERE, r, r, r);
    *low = r;
    for (int k = 0; k < 3; ++k)
        parts[k].pose.rotation[3] = 1;
    parts[0].pose.position[0] = -4 * r;
    parts[1].pose.position[0] = 4 * r;
    if (kind == BOX) def.type = PSV_SHAPE_BOX;
    if (kind == CAPSULE) def.type = PSV_SHAPE_CAPSULE;
    if (kind == CYLINDER) def = hull_of(points, cylinder_points(24, (double)r, (double)r, points));
    if (kind == PLANK) {
        def = shape_of(PSV_SHAPE_BOX, 5 * r, 0.5f * r, 1.5f * r);
        *low = 0.5f * r;
    }
    if (kind == COMPOUND) {
        def.type = PSV_SHAPE_COMPOUND;
        def.children = parts;
        def.child_count = 3;
        *low = third;
    }
    def.friction = friction;
    return add_shape(s, &def);
}

typedef struct ride {
    double kept, hop; // share of the speed along x, and the greatest way up or down
} ride;

// A row of static cubes of 1 m, times the scale, whose tops are flush, at y = 0; `hulls`: as hulls.
static void add_row(stage *s, float friction, float scale, bool hulls) {
    float points[24];
    const float half = 0.5f * scale;
    box_points(half, half, half, points);
    psv_shape_def cube = hulls ? hull_of(points, 8) : shape_of(PSV_SHAPE_BOX, half, half, half);
    cube.friction = friction;
    const uint32_t shape = add_shape(s, &cube);
    for (int i = 0; i < 40; ++i) {
        psv_body_def body = body_at(shape, scale * (-2.5f + (float)i), -half, scale * 0.1f);
        body.is_static = true;
        (void)add_body(s, &body);
    }
}

enum { MESH, IRREGULAR, BOXES, HULLS, FLOORS };
static const char *floor_names[FLOORS] = {"mesh", "irregular mesh", "boxes", "hulls"};

// A body of 0.4 m, over cells of 1 m, times the scale; 30 of them.
static ride ride_over(int floor, int kind, double scale, float speed) {
    const psv_world_def def = stage_def(64);
    stage s = make_stage(&def);
    const float friction = kind == BALL ? 0.5f : 0.0f, radius = 0.2f * (float)scale;
    if (floor <= IRREGULAR) {
        mesh_points m = mesh_grid(-3 * scale, -6 * scale, 40, 12, scale, floor * 0.35, flat_height);
        (void)add_mesh(&s, &m, friction);
        mesh_free(&m);
    } else {
        add_row(&s, friction, (float)scale, floor == HULLS);
    }
    float low;
    const uint32_t shape = add_kind(&s, kind, radius, friction, &low);
    psv_body_def body = body_at(shape, 0.37f * (float)scale, low, 0.21f * (float)scale);
    if (kind == CAPSULE) body.pose.rotation[0] = body.pose.rotation[3] = 0.70710678f; // lies, along z
    body.velocity[0] = speed;
    if (kind == BALL) body.angular_velocity[2] = -speed / radius;
    const psv_body_id id = add_body(&s, &body);
    ride r = {0, 0};
    const int frames = (int)ceilf(30 * (float)scale / speed / FRAME);
    for (int i = 0; i < frames; ++i) {
        step(&s, 1);
        const psv_body_state now = state_of(&s, id);
        r.hop = fmax(r.hop, fabs((double)now.pose.position[1] - (double)low));
        r.kept = (double)now.velocity[0] / (double)speed;
    }
    end_stage(&s);
    return r;
}

// Few rides: where each takes long.
static bool has_few(void) { return on_cuda() || test_scale() > 1; }

// Speeds are those at which as many lengths pass as 1 to 15 m/s are at a size of 1 m, by the square root of the scale.
static int count_bad_rides(int floor, double scale) {
    static const float speeds[4] = {1, 3, 8, 15};
    int wrong = 0;
    for (int kind = BALL; kind < KINDS; ++kind)
        for (int i = scale == 1 && !has_few() ? 0 : 1; i < 4; i += scale == 1 && !has_few() ? 1 : 2) {
            const ride r = ride_over(floor, kind, scale, speeds[i] * (float)sqrt(scale));
            const bool good = r.kept > 0.99 && r.kept < 1.005 && r.hop < 0.005 * fmax(scale, 0.05);
            (void)printf("%s, scale %g, %s at %g m/s: keeps %.4f, hops %.5f m%s\n", floor_names[floor], scale,
                         kind_names[kind], (double)speeds[i], r.kept, r.hop, good ? "" : " <-");
            wrong += !good;
        }
    return wrong;
}

static void flat_meshes_have_no_edges(void **unused) {
    (void)unused;
    static const double scales[3] = {0.05, 1, 100};
    int wrong = 0;
    for (int floor = MESH; floor <= IRREGULAR; ++floor)
        for (int k = has_few(); k < (has_few() ? 2 : 3); ++k)
            wrong += count_bad_rides(floor, scales[k]);
    assert_int_equal(wrong, 0);
}

static void flush_boxes_are_smooth(void **unused) {
    (void)unused;
    static const double scales[3] = {0.05, 1, 100};
    int wrong = 0;
    for (int floor = BOXES; floor <= HULLS; ++floor)
        for (int k = has_few(); k < (has_few() ? 2 : 3); ++k)
            wrong += count_bad_rides(floor, scales[k]);
    assert_int_equal(wrong, 0);
}

// --- lying across ----------------------------------------------------------------------------------------------------

typedef struct lie {
    double fall, speed; // below where it was laid, m; after the time
} lie;

// Lays a body turned about y by `angle` at `x` with its lowest point on `height`.
static lie lie_on(stage *s, int kind, float r, double x, double height, double angle, int frames) {
    float low;
    const uint32_t shape = add_kind(s, kind, r, 0.6f, &low);
    psv_body_def body = body_at(shape, (float)x, (float)height + low, 0);
    const float y = (float)sin(0.5 * angle), w = (float)cos(0.5 * angle), c = 0.70710678f;
    const float turn[4] = {0, y, 0, w}, lying[4] = {-y * c, y * c, -w * c, w * c}; // a capsule along what was x
    memcpy(body.pose.rotation, kind == CAPSULE ? lying : turn, sizeof turn);
    const psv_body_id id = add_body(s, &body);
    step(s, frames);
    const psv_body_state now = state_of(s, id);
    const float *v = now.velocity;
    return (lie){(double)body.pose.position[1] - (double)now.pose.position[1],
                 sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]))};
}

static int judge(const char *what, int kind, double angle, lie l, float r) {
    const bool good = fabs(l.fall) < 0.02 * (double)r + 0.002 && l.speed < 0.005;
    (void)printf("%s: %s at %.2f rad: %.4f m down, %.4f m/s%s\n", what, kind_names[kind], angle, l.fall, l.speed,
                 good ? "" : " <-");
    return !good;
}

static void solids_lie_across_walls(void **unused) {
    (void)unused;
    static const double half[3] = {0.15, 1, 2}, middle[3] = {0, 0, 0};
    int wrong = 0;
    for (int cells = 1; cells <= 7; cells += on_cuda() ? 6 : 3) {
        mesh_points m = mesh_box(middle, half, cells);
        for (int kind = CAPSULE; kind < KINDS; ++kind)
            for (int i = 0; i < 4; ++i) {
                const psv_world_def def = heavy_def();
                stage s = make_stage(&def);
                (void)add_mesh(&s, &m, 0.6f);
                const double angle = 0.37 * i;
                wrong += judge("a wall", kind, angle, lie_on(&s, kind, 0.2f, 0, 1, angle, 120), 0.2f);
                end_stage(&s);
            }
        mesh_free(&m);
    }
    assert_int_equal(wrong, 0);
}

static void solids_lie_across_two_walls(void **unused) {
    (void)unused;
    static const double half[3] = {0.05, 1, 1.5};
    int wrong = 0;
    for (int cells = 1; cells <= 5; cells += 4)
        for (int kind = CAPSULE; kind < KINDS; ++kind)
            for (int i = 0; i < 3; ++i) {
                const double apart = kind >= PLANK ? 0.7 : 0.1, angle = 0.3 * i;
                const double left[3] = {-apart, 0, 0}, right[3] = {apart, 0, 0};
                mesh_points a = mesh_box(left, half, cells), b = mesh_box(right, half, cells);
                const psv_world_def def = heavy_def();
                stage s = make_stage(&def);
                (void)add_mesh(&s, &a, 0.6f);
                (void)add_mesh(&s, &b, 0.6f);
                wrong += judge("two walls", kind, angle, lie_on(&s, kind, 0.2f, 0, 1, angle, 120), 0.2f);
                end_stage(&s);
                mesh_free(&a);
                mesh_free(&b);
            }
    assert_int_equal(wrong, 0);
}

// Less than half of the body hangs over the edge of a table.
static void solids_lie_on_the_edge_of_a_table(void **unused) {
    (void)unused;
    static const double half[3] = {2, 0.3, 2}, middle[3] = {0, 0, 0};
    int wrong = 0;
    for (int cells = 1; cells <= 25; cells += on_cuda() ? 24 : 8) {
        mesh_points m = mesh_box(middle, half, cells);
        for (int kind = BOX; kind < KINDS; ++kind)
            for (int i = 0; i < 4; ++i) {
                const psv_world_def def = heavy_def();
                stage s = make_stage(&def);
                (void)add_mesh(&s, &m, 0.6f);
                const double angle = 0.41 * i, over = kind >= PLANK ? 0.02 + 0.1 * i : 0.02 + 0.01 * i;
                if (kind != CAPSULE || i == 0)
                    wrong += judge("a table", kind, angle, lie_on(&s, kind, 0.2f, 2 - over, 0.3, angle, 120), 0.2f);
                end_stage(&s);
            }
        mesh_free(&m);
    }
    assert_int_equal(wrong, 0);
}

static double ridge_slope = 1;
static double ridge_height(double x, double z) {
    (void)z;
    return -ridge_slope * fabs(x);
}

// Across a ridge of a mesh or a field, with their middle over it.
static void solids_lie_across_ridges(void **unused) {
    (void)unused;
    int wrong = 0;
    for (int steep = 0; steep < 3; ++steep)
        for (int field = 0; field < 2; ++field) {
            ridge_slope = steep == 0 ? 0.3 : steep == 1 ? 1 : 5;
            mesh_points m = mesh_grid(-4, -4.1, 8, 9, 1, 0, ridge_height);
            float heights[9 * 9];
            for (int i = 0; i < 81; ++i)
                heights[i] = (float)ridge_height(i % 9 - 4, 0);
            psv_shape_def shape = mesh_shape(&m);
            if (field) {
                shape = shape_of(PSV_SHAPE_HEIGHT_FIELD, 8, 1, 8);
                shape.heights = heights;
                shape.columns = shape.rows = 9;
            }
            shape.friction = 0.6f;
            for (int kind = BOX; kind < KINDS; ++kind)
                for (int i = 0; i < 3; ++i) {
                    const psv_world_def def = heavy_def();
                    stage s = make_stage(&def);
                    const psv_body_def ground = body_at(add_shape(&s, &shape), 0, 0, 0);
                    (void)add_body(&s, &ground);
                    const double angle = 0.25 * i;
                    const lie l = lie_on(&s, kind, 0.2f, 0, 0, angle, 60);
                    // Balanced on an edge: it may tip, and then lies on a slope.
                    const bool good = l.fall < 0.15;
                    (void)printf("%s with slope %g: %s at %.2f rad: %.4f m down%s\n", field ? "field" : "mesh",
                                 ridge_slope, kind_names[kind], angle, l.fall, good ? "" : " <-");
                    wrong += !good;
                    end_stage(&s);
                }
            mesh_free(&m);
        }
    assert_int_equal(wrong, 0);
}

// --- slopes and bowls ------------------------------------------------------------------------------------------------

static double slope_height(double x, double z) {
    (void)z;
    return -0.1 * x;
}

// A ball rolls down a slope of 1:10: 5/7 of g sin a along it.
static void balls_roll_down_slopes(void **unused) {
    (void)unused;
    static const float radii[3] = {0.05f, 0.2f, 0.5f};
    int wrong = 0;
    for (int jitter = 0; jitter < 2; ++jitter) {
        mesh_points m = mesh_grid(-3, -6, 90, 12, 1, 0.3 * jitter, slope_height);
        for (int i = 0; i < 3; ++i) {
            const psv_world_def def = heavy_def();
            stage s = make_stage(&def);
            (void)add_mesh(&s, &m, 0.6f);
            const double length = sqrt(1.01), sine = 0.1 / length;
            psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, radii[i], 0, 0);
            psv_body_def body = body_at(add_shape(&s, &ball), (float)(0.3 + (double)radii[i] * sine),
                                        (float)(-0.03 + (double)radii[i] / length), 0.23f);
            const psv_body_id id = add_body(&s, &body);
            step(&s, 600);
            const psv_body_state now = state_of(&s, id);
            const double speed = sqrt((double)(now.velocity[0] * now.velocity[0] + now.velocity[1] * now.velocity[1]));
            const double share = speed / (10 * 9.81 * sine * 5 / 7);
            (void)printf("%sball of %g m down the slope: %.4f of the speed due\n", jitter ? "irregular, " : "",
                         (double)radii[i], share);
            wrong += !(share > 0.99 && share < 1.01);
            end_stage(&s);
        }
        mesh_free(&m);
    }
    assert_int_equal(wrong, 0);
}

static double bowl_height(double x, double z) { return 5 - sqrt(fmax(25 - x * x - z * z, 0)); }

// A smooth ball swings in a bowl of 5 m: how high it still comes after 10 s.
static void balls_swing_in_bowls(void **unused) {
    (void)unused;
    static const double cells[2] = {0.1, 0.25};
    int wrong = 0;
    for (int i = 0; i < 2; ++i) {
        mesh_points m = mesh_grid(-4, -4, (int)(8 / cells[i]), (int)(8 / cells[i]), cells[i], 0, bowl_height);
        const psv_world_def def = heavy_def();
        stage s = make_stage(&def);
        (void)add_mesh(&s, &m, 0);
        psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.2f, 0, 0);
        ball.friction = 0;
        const double x = 2, y = 5 - sqrt(4.8 * 4.8 - 4);
        psv_body_def body = body_at(add_shape(&s, &ball), (float)x, (float)y, 0.03f);
        const psv_body_id id = add_body(&s, &body);
        double high = 0;
        for (int frame = 0; frame < 720; ++frame) {
            step(&s, 1);
            if (frame >= 600) high = fmax(high, (double)state_of(&s, id).pose.position[1]);
        }
        const double share = (high - 0.2) / (y - 0.2);
        (void)printf("bowl of cells of %g m: %.3f of the height after 10 s\n", cells[i], share);
        wrong += !(share > 0.9 && share < 1.1);
        end_stage(&s);
        mesh_free(&m);
    }
    assert_int_equal(wrong, 0);
}

// --- sides and welds -------------------------------------------------------------------------------------------------

// What comes from behind passes a mesh with one side; what comes from the front, or to a mesh with two, is stopped.
static void one_sided_meshes_let_pass_from_behind(void **unused) {
    (void)unused;
    static const double half[3] = {2, 2, 2}, middle[3] = {0, 0, 0};
    int wrong = 0;
    for (int closed = 0; closed < 2; ++closed)
        for (int kind = BALL; kind < KINDS; ++kind)
            for (int one_sided = 0; one_sided < 2; ++one_sided)
                for (int behind = 0; behind < 2; ++behind) {
                    psv_world_def def = heavy_def();
                    def.gravity[1] = 0;
                    stage s = make_stage(&def);
                    // Both look up: the grid, and the top of the box.
                    mesh_points m = closed ? mesh_box(middle, half, 5) : mesh_grid(-4, -4, 8, 8, 1, 0.3, flat_height);
                    psv_shape_def shape = mesh_shape(&m);
                    shape.one_sided = one_sided;
                    const double top = closed ? 2 : 0;
                    const psv_body_def ground = body_at(add_shape(&s, &shape), 0, (float)-top, 0);
                    (void)add_body(&s, &ground);
                    float low;
                    const uint32_t solid = add_kind(&s, kind, 0.2f, 0, &low);
                    psv_body_def body = body_at(solid, 0.03f, behind ? -1.5f : 1.5f, 0.07f);
                    body.velocity[1] = behind ? 3 : -3;
                    const psv_body_id id = add_body(&s, &body);
                    step(&s, 60);
                    const double y = (double)state_of(&s, id).pose.position[1];
                    const bool passed = behind ? y > 1 : y < -1;
                    if (passed != (one_sided && behind)) {
                        (void)printf("%s, %s with %d sides, from %s: y %.3f\n", kind_names[kind],
                                     closed ? "box" : "grid", 2 - one_sided, behind ? "behind" : "the front", y);
                        ++wrong;
                    }
                    end_stage(&s);
                    mesh_free(&m);
                }
    assert_int_equal(wrong, 0);
}

// A box on a low ridge lies on the edge, or, where that is welded, on its own corners below it.
static void welded_edges_are_none(void **unused) {
    (void)unused;
    for (int welded = 0; welded < 2; ++welded) {
        const psv_world_def def = heavy_def();
        stage s = make_stage(&def);
        ridge_slope = 0.05;
        mesh_points m = mesh_grid(-4, -4.1, 8, 9, 1, 0, ridge_height);
        psv_shape_def shape = mesh_shape(&m);
        if (welded) shape.weld_angle = 0.15f;
        const psv_body_def ground = body_at(add_shape(&s, &shape), 0, 0, 0);
        (void)add_body(&s, &ground);
        const lie l = lie_on(&s, PLANK, 0.2f, 0, 0, 0, 120);
        (void)printf("a plank of 2 m on a ridge of 1:20 that is %s: %.4f m down\n", welded ? "welded" : "not", l.fall);
        assert_true(welded ? l.fall > 0.03 && l.fall < 0.06 : l.fall < 0.03);
        end_stage(&s);
        mesh_free(&m);
    }
    psv_world_def def = heavy_def();
    stage s = make_stage(&def);
    mesh_points m = mesh_grid(-1, -1, 2, 2, 1, 0, flat_height);
    psv_shape_def shape = mesh_shape(&m);
    uint32_t index;
    for (int i = 0; i < 3; ++i) {
        shape.weld_angle = i == 0 ? -0.1f : i == 1 ? 2.0f : NAN;
        assert_int_equal(psv_create_shape(s.world, &shape, &index), PSV_ERROR_ARGUMENT);
    }
    end_stage(&s);
    mesh_free(&m);
}

// --- meshes that move ------------------------------------------------------------------------------------------------

static psv_body_id add_moving_mesh(stage *s, const mesh_points *m, float x, float y, float vx, float vy, float spin) {
    psv_shape_def shape = mesh_shape(m);
    shape.friction = 0.8f;
    psv_body_def body = body_at(add_shape(s, &shape), x, y, 0);
    body.is_kinematic = true;
    body.velocity[0] = vx;
    body.velocity[1] = vy;
    body.angular_velocity[1] = spin;
    return add_body(s, &body);
}

// What lies on a mesh is carried by it: along, up, and around.
static void moving_meshes_carry(void **unused) {
    (void)unused;
    for (int way = 0; way < 3; ++way)
        for (int kind = BOX; kind < KINDS; ++kind) {
            if (kind == CAPSULE && way == 2) continue; // it rolls outward
            const psv_world_def def = heavy_def();
            stage s = make_stage(&def);
            mesh_points m = mesh_grid(-5, -5, 10, 10, 1, 0.3, flat_height);
            const psv_body_id floor =
                add_moving_mesh(&s, &m, 0, 0, way == 0 ? 1 : 0, way == 1 ? 1 : 0, way == 2 ? 1 : 0);
            float low;
            const uint32_t shape = add_kind(&s, kind, 0.2f, 0.8f, &low);
            psv_body_def body = body_at(shape, way == 2 ? 2 : 0, low, 0);
            if (kind == CAPSULE) body.pose.rotation[0] = body.pose.rotation[3] = 0.70710678f;
            body.velocity[0] = way == 0 ? 1 : 0;
            body.velocity[1] = way == 1 ? 1 : 0;
            body.velocity[2] = way == 2 ? -2 : 0;
            body.angular_velocity[1] = way == 2 ? 1 : 0;
            const psv_body_id id = add_body(&s, &body);
            step(&s, 120);
            const psv_body_state now = state_of(&s, id), ground = state_of(&s, floor);
            const double due[3] = {way == 0   ? 2
                                   : way == 2 ? 2 * cos(2)
                                              : 0,
                                   (way == 1 ? 2.0 : 0.0) + (double)low, way == 2 ? -2 * sin(2) : 0};
            double off = 0;
            for (int k = 0; k < 3; ++k)
                off = fmax(off, fabs((double)now.pose.position[k] - due[k]));
            (void)printf("%s on a mesh that %s: off by %.4f m\n", kind_names[kind],
                         way == 0   ? "goes along"
                         : way == 1 ? "rises"
                                    : "turns",
                         off);
            assert_true(off < 0.02);
            assert_true(fabs((double)ground.pose.position[0] - (way == 0 ? 2 : 0)) < 1e-3);
            end_stage(&s);
            mesh_free(&m);
        }
}

// A mesh that rises wakes who sleeps above it, and goes on from a snapshot; planes and fields cannot move.
static void moving_meshes_wake_and_are_kept(void **unused) {
    (void)unused;
    psv_world_def def = heavy_def();
    def.sleeping = true;
    stage s = make_stage(&def), other = s;
    static const double half[3] = {1, 0.5, 1}, middle[3] = {0, 0, 0};
    mesh_points m = mesh_box(middle, half, 2);
    (void)add_box_floor(&s, 10, 0.5f, 0);
    const psv_body_id lift = add_moving_mesh(&s, &m, 0, -0.6f, 0, 0, 0); // its top just below the floor's
    const psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.3f, 0.3f, 0.3f);
    const psv_body_def body = body_at(add_shape(&s, &box), 0, 0.3f, 0);
    const psv_body_id id = add_body(&s, &body);
    step(&s, 120);
    psv_world_counters counters;
    check(&s, psv_read_world_counters(s.world, &counters));
    assert_int_equal(counters.asleep, 1);
    psv_pose pose = {{0, 0.4f, 0}, {0, 0, 0, 1}};
    check(&s, psv_set_body_target(s.world, lift, &pose, 1));
    check(&s, psv_save_snapshot(s.world, own_snapshot("test_meshes")));
    check(&s, psv_restore_snapshot(s.context, own_snapshot("test_meshes"), &other.world));
    step(&s, 60);
    step(&other, 60);
    const psv_body_state here = state_of(&s, id), there = state_of(&other, id);
    (void)printf("a box that slept on a lift of 1 m is at %.4f m\n", (double)here.pose.position[1]);
    assert_true(fabsf(here.pose.position[1] - 1.2f) < 0.02f);
    assert_memory_equal(&here, &there, sizeof here);
    psv_destroy_world(other.world);
    (void)remove(own_snapshot("test_meshes"));
    const psv_shape_def plane = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    psv_body_def wrong = body_at(add_shape(&s, &plane), 0, -5, 0);
    wrong.is_kinematic = true;
    assert_int_equal(psv_create_bodies(s.world, &wrong, 1, NULL), PSV_ERROR_ARGUMENT);
    wrong.is_kinematic = false;
    const psv_body_id fixed = add_body(&s, &wrong);
    assert_int_equal(psv_set_body_target(s.world, fixed, &pose, 1), PSV_ERROR_ARGUMENT);
    end_stage(&s);
    mesh_free(&m);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flush_boxes_are_smooth),
        cmocka_unit_test(flat_meshes_have_no_edges),
        cmocka_unit_test(solids_lie_across_walls),
        cmocka_unit_test(solids_lie_across_two_walls),
        cmocka_unit_test(solids_lie_on_the_edge_of_a_table),
        cmocka_unit_test(solids_lie_across_ridges),
        cmocka_unit_test(balls_roll_down_slopes),
        cmocka_unit_test(balls_swing_in_bowls),
        cmocka_unit_test(one_sided_meshes_let_pass_from_behind),
        cmocka_unit_test(welded_edges_are_none),
        cmocka_unit_test(moving_meshes_carry),
        cmocka_unit_test(moving_meshes_wake_and_are_kept),
    };
    return RUN_TESTS(argc, argv, "meshes", tests);
}
