// sim/solver: the three forms of the contact solver (any contact, rows with inertia made 1, round contacts) are the
// same formulas: from the same random contact they give the same impulses and velocities but for rounding.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/solver/contact_round.h"
#include "sim/solver/contact_rows.h"
#include "sim/solver/contact_solver.h"

#define CASES 20000

static uint64_t seed = 1;

static float uniform(float low, float high) {
    seed = psvi_mix64(seed);
    return low + (high - low) * (float)(seed >> 40) / 16777215.0f;
}

static v3 random_vector(float size) {
    return v3_make(uniform(-size, size), uniform(-size, size), uniform(-size, size));
}

static quat random_rotation(void) {
    return quat_unit(quat_make(uniform(-1, 1), uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)));
}

static psvi_step random_step(void) {
    psvi_step step = {.substep = uniform(0.001f, 0.01f), .push_speed = 3};
    step.rate = 1 / step.substep;
    for (int i = 0; i < 3; ++i) {
        step.bias_rate[i] = uniform(5, 60);
        step.mass_scale[i] = uniform(0.5f, 1);
        step.impulse_scale[i] = uniform(0, 0.5f);
    }
    step.deep_shift[0] = step.deep_shift[1] = 0.5f;
    step.restitution_threshold = 0.1f;
    return step;
}

static float tangent_mass_of(const psvi_two *t, v3 arm_a, v3 arm_b, v3 direction) {
    v3 a = v3_cross(arm_a, direction), b = v3_cross(arm_b, direction);
    float k = t->ma + t->mb;
    if (t->turn_a) k += v3_dot(a, sym3_mul(t->ia, a));
    if (t->turn_b) k += v3_dot(b, sym3_mul(t->ib, b));
    return 1 / k;
}

static void set3(float *target, v3 a) {
    target[0] = a.x;
    target[1] = a.y;
    target[2] = a.z;
}

// A contact of two bodies with the given inverse inertias and arms.
static void make_contact(psvi_two *t, psvi_point *p, v3 n, v3 arm_a, v3 arm_b) {
    v3 t1, t2;
    v3_tangents(n, &t1, &t2);
    *p = (psvi_point){.separation = uniform(-0.05f, 0.02f)};
    set3(p->normal, n);
    set3(p->arm_a, arm_a);
    set3(p->arm_b, arm_b);
    p->normal_mass = tangent_mass_of(t, arm_a, arm_b, n);
    p->tangent_mass = fminf(tangent_mass_of(t, arm_a, arm_b, t1), tangent_mass_of(t, arm_a, arm_b, t2));
    p->impulse = f4_make(v3_make(uniform(0, 2), uniform(-0.5f, 0.5f), uniform(-0.5f, 0.5f)), 0);
}

static double worst, tolerance = 2e-4;

static void expect_near(v3 a, v3 b, float size, const char *what, int number) {
    double off = (double)v3_length(v3_sub(a, b)) / (double)size;
    if (!(off < tolerance)) fail_msg("case %d: %s is off by %g of its size", number, what, off);
    worst = fmax(worst, off);
}

static psvi_two random_bodies(void) {
    psvi_two t = {.va = random_vector(3), .vb = random_vector(3)};
    t.ma = uniform(0, 1) < 0.1f ? 0 : uniform(0.2f, 3);
    t.mb = t.ma > 0 && uniform(0, 1) < 0.2f ? 0 : uniform(0.2f, 3);
    t.turn_a = t.ma > 0 && uniform(0, 1) < 0.8f;
    t.turn_b = t.mb > 0 && uniform(0, 1) < 0.8f;
    if (t.turn_a) t.wa = random_vector(5);
    if (t.turn_b) t.wb = random_vector(5);
    return t;
}

static sym3 random_inertia(void) {
    sym3 m = {uniform(0.5f, 8), uniform(0.5f, 8), uniform(0.5f, 8), 0, 0, 0};
    return sym3_rotate(m, quat_axes(random_rotation()));
}

static psvi_row row_of(psvi_root a, psvi_root b, v3 arm_a, v3 arm_b, v3 direction) {
    return (psvi_row){.direction = direction,
                      .spin_a = psvi_root_mul_transposed(a, v3_cross(arm_a, direction)),
                      .spin_b = psvi_root_mul_transposed(b, v3_cross(arm_b, direction))};
}

static void rows_are_the_same(void **unused) {
    (void)unused;
    worst = 0;
    for (int number = 0; number < CASES; ++number) {
        psvi_step step = random_step();
        psvi_two t = random_bodies();
        if (t.turn_a) t.ia = random_inertia();
        if (t.turn_b) t.ib = random_inertia();
        v3 n = v3_unit_or(random_vector(1), v3_make(0, 1, 0)), t1, t2;
        v3_tangents(n, &t1, &t2);
        v3 arm_a = random_vector(1), arm_b = random_vector(1);
        psvi_point p;
        make_contact(&t, &p, n, arm_a, arm_b);
        bool relax = uniform(0, 1) < 0.5f;
        float friction = uniform(0, 1), split = uniform(0, 1) < 0.5f ? 1.0f : 0.25f;

        psvi_root a = psvi_root_of(t.ia), b = psvi_root_of(t.ib);
        psvi_pair_state rows = {.va = t.va, .vb = t.vb, .ma = t.ma, .mb = t.mb};
        rows.wa = psvi_root_solve(a, t.wa);
        rows.wb = psvi_root_solve(b, t.wb);
        psvi_row rn = row_of(a, b, arm_a, arm_b, n), r1 = row_of(a, b, arm_a, arm_b, t1),
                 r2 = row_of(a, b, arm_a, arm_b, t2);
        psvi_f4 impulse = p.impulse;
        const psvi_contact c = {.size = uniform(0.02f, 1)};
        const psvi_soft_limits limits = psvi_limits_of(&step, c.size);
        psvi_softness soft = psvi_softness_of(&step, p.separation, relax, t.ma > 0 && t.mb > 0, limits);

        psvi_solve_friction(&t, &p, friction, split);
        psvi_solve_normal(&t, &p, v3_make(0, 0, 0), &step, &c, limits, relax, split);
        psvi_rows_friction(&rows, &r1, &r2, &impulse, friction, split * p.tangent_mass);
        psvi_row_normal(&rows, &rn, &impulse, soft, split * p.normal_mass);

        expect_near(v3_of4(impulse), v3_of4(p.impulse), 1 + v3_length(v3_of4(p.impulse)), "impulse", number);
        expect_near(rows.va, t.va, 1 + v3_length(t.va), "velocity of a", number);
        expect_near(rows.vb, t.vb, 1 + v3_length(t.vb), "velocity of b", number);
        expect_near(psvi_root_mul(a, rows.wa), t.wa, 1 + v3_length(t.wa), "spin of a", number);
        expect_near(psvi_root_mul(b, rows.wb), t.wb, 1 + v3_length(t.wb), "spin of b", number);
    }
    print_message("%d contacts as rows: within %.1e\n", CASES, worst);
}

static void round_contacts_are_the_same(void **unused) {
    (void)unused;
    worst = 0;
    int took = 0;
    for (int number = 0; number < CASES; ++number) {
        psvi_step step = random_step();
        psvi_two t = random_bodies();
        float ia = t.turn_a ? uniform(0.5f, 8) : 0, ib = t.turn_b ? uniform(0.5f, 8) : 0;
        t.ia = sym3_isotropic(ia);
        t.ib = sym3_isotropic(ib);
        v3 n = v3_unit_or(random_vector(1), v3_make(0, 1, 0));
        float ra = uniform(0.1f, 2), rb = t.mb > 0 ? uniform(0.1f, 2) : 0;
        psvi_point p;
        make_contact(&t, &p, n, v3_scale(n, ra), v3_scale(n, -rb));
        bool relax = uniform(0, 1) < 0.5f, later = uniform(0, 1) < 0.5f;
        float friction = uniform(0, 1), split = uniform(0, 1) < 0.5f ? 1.0f : 0.25f;

        float root_a = sqrtf(ia), root_b = sqrtf(ib);
        psvi_balls balls = {.va = t.va, .vb = t.vb, .ma = t.ma, .mb = t.mb, .ra = root_a * ra, .rb = root_b * rb};
        if (t.turn_a) balls.wa = v3_scale(t.wa, 1 / root_a);
        if (t.turn_b) balls.wb = v3_scale(t.wb, 1 / root_b);
        bool turning = t.turn_a || t.turn_b;
        v3 impulse = v3_of4(p.impulse);

        const psvi_contact c = {.restitution = later ? 0.5f : 0};
        psvi_solve_friction(&t, &p, friction, split);
        psvi_solve_normal(&t, &p, v3_make(0, 0, 0), &step, &c, psvi_round_limits(&step), relax, split);
        psvi_round_friction(&balls, n, &impulse, friction, turning, split);
        float change = psvi_round_normal(&balls, n, &impulse.x, p.separation, &step, relax, relax && later, split);
        if (change != 0) ++took;
        expect_near(impulse, v3_of4(p.impulse), 1 + v3_length(v3_of4(p.impulse)), "impulse", number);
        expect_near(balls.va, t.va, 1 + v3_length(t.va), "velocity of a", number);
        expect_near(balls.vb, t.vb, 1 + v3_length(t.vb), "velocity of b", number);
        expect_near(v3_scale(balls.wa, root_a), t.wa, 1 + v3_length(t.wa), "spin of a", number);
        expect_near(v3_scale(balls.wb, root_b), t.wb, 1 + v3_length(t.wb), "spin of b", number);
    }
    print_message("%d round contacts: within %.1e\n", CASES, worst);
    assert_true(took > CASES / 20);
}

// The energy of two bodies, about which nothing else is known.
static double energy_of(const psvi_two *t, psvi_root a, psvi_root b) {
    v3 wa = psvi_root_solve(a, t->wa), wb = psvi_root_solve(b, t->wb);
    double energy = 0.5 * ((double)v3_dot(wa, wa) + (double)v3_dot(wb, wb));
    if (t->ma > 0) energy += 0.5 / (double)t->ma * (double)v3_dot(t->va, t->va);
    if (t->mb > 0) energy += 0.5 / (double)t->mb * (double)v3_dot(t->vb, t->vb);
    return energy;
}

static psvi_pair_state rows_of(const psvi_two *t, psvi_root a, psvi_root b) {
    psvi_pair_state state = {.va = t->va, .vb = t->vb, .ma = t->ma, .mb = t->mb};
    state.wa = psvi_root_solve(a, t->wa);
    state.wb = psvi_root_solve(b, t->wb);
    return state;
}

static void take_rows(psvi_two *t, const psvi_pair_state *state, psvi_root a, psvi_root b) {
    t->va = state->va;
    t->vb = state->vb;
    t->wa = psvi_root_mul(a, state->wa);
    t->wb = psvi_root_mul(b, state->wb);
}

// Without friction, a hit of one to four points loses (1 - e^2) of the energy of the motion along its row, in two parts
// together, wherever in the substep it falls; with weights that fit the points no other motion has a part in it.
static void hits_return_what_is_due(void **unused) {
    (void)unused;
    int hits = 0;
    for (int number = 0; number < CASES; ++number) {
        psvi_step step = random_step();
        psvi_two t = random_bodies();
        if (t.ma == 0) t.va = v3_make(0, 0, 0);
        if (t.mb == 0) t.vb = v3_make(0, 0, 0);
        if (t.turn_a) t.ia = random_inertia();
        if (t.turn_b) t.ib = random_inertia();
        psvi_root a = psvi_root_of(t.ia), b = psvi_root_of(t.ib);
        v3 n = v3_unit_or(random_vector(1), v3_make(0, 1, 0));
        psvi_point point[4];
        psvi_contact c = {.count = (uint16_t)(1 + number % 4), .restitution = uniform(0, 1)};
        for (uint32_t i = 0; i < c.count; ++i) {
            make_contact(&t, &point[i], n, random_vector(1), random_vector(1));
            point[i].separation = uniform(-0.01f, 0.01f);
        }
        psvi_points points = {&point[0], &point[0]};
        psvi_angular still = {.velocity = f4_make(n, 0), .turned = f4_make(v3_make(0, 0, 0), 0)};
        float time = 0;
        if (!psvi_weigh_hit(&t, points, &c, &step, false, v3_make(0, 0, 0), &still, &still, &time)) continue;
        ++hits;
        assert_true(time >= 0 && time <= 1);
        psvi_pair_state state = rows_of(&t, a, b);
        psvi_row whole = psvi_whole_row(points, &c, a, b);
        double start = energy_of(&t, a, b), speed = (double)psvi_row_speed(&state, &whole);
        double along = 0.5 * speed * speed / (double)psvi_row_response(&state, &whole), e = (double)c.restitution;
        psvi_begin_hit(&state, points, &c, &step, a, b, false, time);
        if (point[0].pending > 0) psvi_end_hit(&state, points, &c, &step, a, b);
        take_rows(&t, &state, a, b);
        double lost = start - energy_of(&t, a, b), due = (1 - e * e) * along;
        if (fabs(lost - due) > 1e-4 * (start + 1))
            fail_msg("case %d: %g J lost, %g are due (restitution %g, after %g of the substep)", number, lost, due, e,
                     (double)time);
    }
    print_message("%d hits lose what is due\n", hits);
    assert_true(hits > CASES / 4);
}

// A ball's hit by the form of balls and by the general one.
static void round_hits_are_the_same(void **unused) {
    tolerance = 0.05f; // of friction at shortened arms the general form keeps the mass of the whole ones
    (void)unused;
    worst = 0;
    int hits = 0;
    for (int number = 0; number < CASES; ++number) {
        psvi_step step = random_step();
        set3(step.gravity, random_vector(10));
        psvi_two t = random_bodies();
        float ia = t.turn_a ? uniform(0.5f, 8) : 0, ib = t.turn_b ? uniform(0.5f, 8) : 0;
        t.ia = sym3_isotropic(ia);
        t.ib = sym3_isotropic(ib);
        v3 n = v3_unit_or(random_vector(1), v3_make(0, 1, 0));
        float ra = uniform(0.1f, 2), rb = t.mb > 0 ? uniform(0.1f, 2) : 0;
        bool after = uniform(0, 1) < 0.3f;
        psvi_point p;
        make_contact(&t, &p, n, v3_scale(n, ra), v3_scale(n, -rb));
        psvi_contact c = {.count = 1, .restitution = uniform(0, 1), .friction = uniform(0, 1)};
        float root_a = sqrtf(ia), root_b = sqrtf(ib), total = 0, pending = 0, time = 0;
        psvi_balls balls = {.va = t.va, .vb = t.vb, .ma = t.ma, .mb = t.mb, .ra = root_a * ra, .rb = root_b * rb};
        if (t.turn_a) balls.wa = v3_scale(t.wa, 1 / root_a);
        if (t.turn_b) balls.wb = v3_scale(t.wb, 1 / root_b);
        psvi_points points = {&p, &p};
        psvi_angular still = {.velocity = f4_make(n, 0), .turned = f4_make(v3_make(0, 0, 0), 0)};
        bool hit = psvi_weigh_hit(&t, points, &c, &step, after, v3_make(0, 0, 0), &still, &still, &time);
        assert_true(hit == psvi_round_hit(&balls, n, p.separation, c.friction, c.restitution, &step, after,
                                          t.turn_a || t.turn_b, ra, rb, &total, &pending));
        if (!hit) continue;
        ++hits;
        psvi_root a = psvi_root_of(t.ia), b = psvi_root_of(t.ib);
        psvi_pair_state state = rows_of(&t, a, b);
        psvi_begin_hit(&state, points, &c, &step, a, b, after, time);
        assert_true(fabsf(p.pending - pending) < 1e-4f);
        if (pending > 0) {
            psvi_end_hit(&state, points, &c, &step, a, b);
            psvi_round_rebound(&balls, n, c.restitution, &step, total, pending);
        }
        take_rows(&t, &state, a, b);
        expect_near(balls.va, t.va, 1 + v3_length(t.va), "velocity of a", number);
        expect_near(balls.vb, t.vb, 1 + v3_length(t.vb), "velocity of b", number);
        expect_near(v3_scale(balls.wa, root_a), t.wa, 1 + v3_length(t.wa), "spin of a", number);
        expect_near(v3_scale(balls.wb, root_b), t.wb, 1 + v3_length(t.wb), "spin of b", number);
    }
    print_message("%d hits of balls: within %.1e\n", hits, worst);
    assert_true(hits > CASES / 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_same), cmocka_unit_test(round_contacts_are_the_same),
        cmocka_unit_test(hits_return_what_is_due), cmocka_unit_test(round_hits_are_the_same)};
    return cmocka_run_group_tests_name("contact_forms", tests, NULL, NULL);
}
