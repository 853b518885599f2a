// The contact row: over single floats and over vectors it gives the same bits; and both give what a plain solver with
// matrices in double precision gives, which shares no code with it. Hits lose the energy that restitution says.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contact_row_lanes.h"

#include "sim/solver/row_lane.h"

#include "sim/solver/contact_row.h"

#define CASES 20000

static uint64_t seed = 1;

static float uniform(float low, float high) {
    seed = psvi_mix64(seed);
    return low + (high - low) * (float)(seed >> 40) / 16777215.0f;
}

static v3 random_vector(float size) {
    return v3_make(uniform(-size, size), uniform(-size, size), uniform(-size, size));
}

static psvi_step random_step(void) {
    psvi_step step = {.substep = uniform(0.001f, 0.01f), .restitution_threshold = 0.1f};
    step.rate = 1 / step.substep;
    for (int i = 0; i < 3; ++i) {
        step.bias_rate[i] = uniform(5, 60);
        step.mass_scale[i] = uniform(0.5f, 1);
        step.impulse_scale[i] = uniform(0, 0.5f);
    }
    step.deep_shift[0] = step.deep_shift[1] = 0.5f;
    return step;
}

// Of a body: the inverse inertia, in single precision, from which both sides begin.
static sym3 random_inertia(bool turns) {
    if (!turns) return (sym3){0, 0, 0, 0, 0, 0};
    const sym3 m = {uniform(0.5f, 8), uniform(0.5f, 8), uniform(0.5f, 8), 0, 0, 0};
    const quat q = quat_unit(quat_make(uniform(-1, 1), uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)));
    return sym3_rotate(m, quat_axes(q));
}

typedef struct made_case {
    row_case row;
    sym3 ia, ib;
    v3 spin_a, spin_b; // of the world
} made_case;

static made_case make_case(bool relax) {
    made_case m;
    row_case *c = &m.row;
    memset(&m, 0, sizeof m);
    c->va = random_vector(3);
    c->vb = random_vector(3);
    c->ma = uniform(0, 1) < 0.1f ? 0 : uniform(0.2f, 3);
    c->mb = c->ma > 0 && uniform(0, 1) < 0.2f ? 0 : uniform(0.2f, 3);
    const bool turn_a = c->ma > 0 && uniform(0, 1)<0.8f, turn_b = c->mb> 0 && uniform(0, 1) < 0.8f;
    m.ia = random_inertia(turn_a);
    m.ib = random_inertia(turn_b);
    c->root_a = psvi_root_of(m.ia);
    c->root_b = psvi_root_of(m.ib);
    if (turn_a) m.spin_a = random_vector(5);
    if (turn_b) m.spin_b = random_vector(5);
    c->wa = psvi_root_solve(c->root_a, m.spin_a);
    c->wb = psvi_root_solve(c->root_b, m.spin_b);
    c->n = v3_unit_or(random_vector(1), v3_make(0, 1, 0));
    c->arm_a = random_vector(1);
    c->arm_b = random_vector(1);
    c->separation = uniform(-0.05f, 0.02f);
    c->friction = uniform(0, 1);
    c->deep = uniform(0.01f, 0.05f);
    c->push_speed = uniform(0.5f, 3);
    c->rolling = uniform(0, 0.3f);
    c->spinning = uniform(0, 0.3f);
    c->impulse = v3_make(uniform(0, 2), uniform(-0.5f, 0.5f), uniform(-0.5f, 0.5f));
    c->roll = random_vector(0.1f);
    c->relax = relax;
    return m;
}

static row_root rows_of_root(psvi_root l) { return (row_root){l.xx, l.yx, l.yy, l.zx, l.zy, l.zz}; }

// As solve_row_lanes, of one case.
static void solve_scalar(const psvi_step *step, row_case *c) {
    row_pair t = {c->va, c->wa, c->vb, c->wb, c->ma, c->mb};
    const row_root a = rows_of_root(c->root_a), b = rows_of_root(c->root_b);
    const float inverse_mass = t.ma + t.mb, before = c->impulse.x;
    v3 t1, t2;
    v3_tangents(c->n, &t1, &t2);
    const row_spins along = row_at_arms(a, b, c->arm_a, c->arm_b, c->n);
    const row_spins s1 = row_at_arms(a, b, c->arm_a, c->arm_b, t1), s2 = row_at_arms(a, b, c->arm_a, c->arm_b, t2);
    const row_springs springs = row_springs_of(step, t.ma > 0 && t.mb > 0, c->deep, c->push_speed);
    const row_soft soft = row_softness(step, &springs, c->separation, c->relax);
    c->impulse.x = row_normal(before, row_mass(inverse_mass, along), row_speed(&t, c->n, along), soft);
    row_apply(&t, c->n, along, c->impulse.x - before);
    const row_grip grip = row_point_grip(lane_smaller(row_mass(inverse_mass, s1), row_mass(inverse_mass, s2)));
    const v3 was = v3_make(c->impulse.y, c->impulse.z, 0);
    const v3 speed = v3_make(row_speed(&t, t1, s1), row_speed(&t, t2, s2), 0);
    const v3 now = row_friction(&grip, was, speed, c->friction * c->impulse.x, false);
    row_apply(&t, t1, s1, now.x - was.x);
    row_apply(&t, t2, s2, now.y - was.y);
    row_roll roll;
    row_make_roll(&roll, a, b, c->n);
    roll.rolling = c->rolling;
    roll.spinning = c->spinning;
    c->roll = row_solve_roll(&t, &roll, c->roll, c->impulse.x);
    c->impulse.y = now.x;
    c->impulse.z = now.y;
    c->va = t.va;
    c->wa = t.wa;
    c->vb = t.vb;
    c->wb = t.wb;
}

static bool same_float(float a, float b) { return a == b; } // but for the sign of 0

static bool same_vector(v3 a, v3 b) { return same_float(a.x, b.x) && same_float(a.y, b.y) && same_float(a.z, b.z); }

static void vectors_give_the_same_bits(void **unused) {
    (void)unused;
    for (int number = 0; number < CASES / ROW_LANES; ++number) {
        const psvi_step step = random_step();
        const bool relax = number % 2 == 0;
        row_case lanes[ROW_LANES], single[ROW_LANES];
        for (int k = 0; k < ROW_LANES; ++k)
            lanes[k] = single[k] = make_case(relax).row;
        solve_row_lanes(&step, lanes);
        for (int k = 0; k < ROW_LANES; ++k) {
            const row_case *p = &lanes[k], *q = &single[k];
            solve_scalar(&step, &single[k]);
            if (!same_vector(p->va, q->va) || !same_vector(p->vb, q->vb) || !same_vector(p->wa, q->wa) ||
                !same_vector(p->wb, q->wb))
                fail_msg("case %d, lane %d: velocities differ", number, k);
            if (!same_vector(p->impulse, q->impulse) || !same_vector(p->roll, q->roll))
                fail_msg("case %d, lane %d: impulses differ", number, k);
        }
    }
}

// --- the reference ---------------------------------------------------------------------------------------------------

typedef struct d3 {
    double x, y, z;
} d3;

// Twelve numbers: velocity and spin of a, velocity and spin of b.
typedef struct d12 {
    d3 part[4];
} d12;

static d3 wide(v3 a) { return (d3){(double)a.x, (double)a.y, (double)a.z}; }
static double dot_d(d3 a, d3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static d3 cross_d(d3 a, d3 b) { return (d3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static d3 times_d(d3 a, double s) { return (d3){a.x * s, a.y * s, a.z * s}; }
static d3 apply_inertia(sym3 m, d3 a) {
    const double xx = (double)m.xx, yy = (double)m.yy, zz = (double)m.zz;
    const double xy = (double)m.xy, xz = (double)m.xz, yz = (double)m.yz;
    return (d3){xx * a.x + xy * a.y + xz * a.z, xy * a.x + yy * a.y + yz * a.z, xz * a.x + yz * a.y + zz * a.z};
}

static double dot_12(const d12 *a, const d12 *b) {
    double sum = 0;
    for (int k = 0; k < 4; ++k)
        sum += dot_d(a->part[k], b->part[k]);
    return sum;
}

// Jacobian of a speed: of the points along `direction`, or with `angular` of the two bodies' turning about it.
static d12 jacobian(const made_case *m, d3 direction, bool angular) {
    const d3 none = {0, 0, 0}, back = times_d(direction, -1);
    if (angular) return (d12){{none, back, none, direction}};
    return (d12){
        {back, times_d(cross_d(wide(m->row.arm_a), direction), -1), direction, cross_d(wide(m->row.arm_b), direction)}};
}

static d12 by_masses(const made_case *m, const d12 *j) {
    return (d12){{times_d(j->part[0], (double)m->row.ma), apply_inertia(m->ia, j->part[1]),
                  times_d(j->part[2], (double)m->row.mb), apply_inertia(m->ib, j->part[3])}};
}

static double mass_along(const made_case *m, const d12 *j) {
    const d12 mj = by_masses(m, j);
    const double k = dot_12(j, &mj);
    return k > 1e-12 ? 1 / k : 0;
}

static void impulse_along(const made_case *m, d12 *v, const d12 *j, double impulse) {
    const d12 mj = by_masses(m, j);
    for (int k = 0; k < 4; ++k) {
        v->part[k].x += mj.part[k].x * impulse;
        v->part[k].y += mj.part[k].y * impulse;
        v->part[k].z += mj.part[k].z * impulse;
    }
}

// Two rows whose impulses together are at most `limit`, with the lesser of their masses.
static void rub_reference(const made_case *m, d12 *v, const d12 *j1, const d12 *j2, double *x, double *y,
                          double limit) {
    const double mass = fmin(mass_along(m, j1), mass_along(m, j2));
    double p = *x - mass * dot_12(j1, v), q = *y - mass * dot_12(j2, v);
    const double length = sqrt(p * p + q * q), scale = length > limit ? limit / length : 1;
    p *= scale;
    q *= scale;
    impulse_along(m, v, j1, p - *x);
    impulse_along(m, v, j2, q - *y);
    *x = p;
    *y = q;
}

typedef struct reference {
    d12 v;
    double normal, x, y, roll_x, roll_y, about;
} reference;

// Box2D v3's soft step, as docs/how/solver.md has it.
static reference solve_reference(const psvi_step *step, const made_case *m) {
    const row_case *c = &m->row;
    v3 t1, t2;
    v3_tangents(c->n, &t1, &t2);
    reference r = {.v = {{wide(c->va), wide(m->spin_a), wide(c->vb), wide(m->spin_b)}}};
    r.normal = (double)c->impulse.x;
    r.x = (double)c->impulse.y;
    r.y = (double)c->impulse.z;
    r.roll_x = (double)c->roll.x;
    r.roll_y = (double)c->roll.y;
    r.about = (double)c->roll.z;
    const int pair = c->ma > 0 && c->mb > 0 ? 0 : 1;
    const double s = (double)c->separation, deep = (double)c->deep;
    double bias = 0, mass_scale = 1, impulse_scale = 0;
    if (s > 0) {
        bias = s / (double)step->substep;
    } else if (!c->relax) {
        const int spring = s < -deep ? 2 : pair;
        const double from = spring == 2 ? s + (double)step->deep_shift[pair] * deep : s;
        bias = fmax((double)step->bias_rate[spring] * from, -(double)c->push_speed);
        mass_scale = (double)step->mass_scale[spring];
        impulse_scale = (double)step->impulse_scale[spring];
    }
    const d12 jn = jacobian(m, wide(c->n), false), j1 = jacobian(m, wide(t1), false), j2 = jacobian(m, wide(t2), false);
    const double gain = mass_along(m, &jn) * mass_scale * (dot_12(&jn, &r.v) + bias) + impulse_scale * r.normal;
    const double total = fmax(r.normal - gain, 0);
    impulse_along(m, &r.v, &jn, total - r.normal);
    r.normal = total;
    rub_reference(m, &r.v, &j1, &j2, &r.x, &r.y, (double)c->friction * total);
    const d12 k1 = jacobian(m, wide(t1), true), k2 = jacobian(m, wide(t2), true), kn = jacobian(m, wide(c->n), true);
    rub_reference(m, &r.v, &k1, &k2, &r.roll_x, &r.roll_y, (double)c->rolling * total);
    const double limit = (double)c->spinning * total;
    const double about = fmin(fmax(r.about - mass_along(m, &kn) * dot_12(&kn, &r.v), -limit), limit);
    impulse_along(m, &r.v, &kn, about - r.about);
    r.about = about;
    return r;
}

static double worst;

static void expect_near(v3 got, d3 due, const char *what, int number) {
    const d3 g = wide(got), off = {g.x - due.x, g.y - due.y, g.z - due.z};
    const double error = sqrt(dot_d(off, off)) / (1 + sqrt(dot_d(due, due)));
    if (!(error < 2e-4)) fail_msg("case %d: %s is off by %g of its size", number, what, error);
    worst = fmax(worst, error);
}

static void rows_are_those_of_matrices(void **unused) {
    (void)unused;
    worst = 0;
    for (int number = 0; number < CASES; ++number) {
        const psvi_step step = random_step();
        made_case m = make_case(number % 2 == 0);
        const reference due = solve_reference(&step, &m);
        row_case *c = &m.row;
        solve_scalar(&step, c);
        expect_near(c->va, due.v.part[0], "velocity of a", number);
        expect_near(psvi_root_mul(c->root_a, c->wa), due.v.part[1], "spin of a", number);
        expect_near(c->vb, due.v.part[2], "velocity of b", number);
        expect_near(psvi_root_mul(c->root_b, c->wb), due.v.part[3], "spin of b", number);
        expect_near(c->impulse, (d3){due.normal, due.x, due.y}, "impulse", number);
        expect_near(c->roll, (d3){due.roll_x, due.roll_y, due.about}, "angular impulse", number);
    }
    print_message("within %.1e\n", worst);
}

// Friction of several points as a whole: within the ellipsoid, against the sliding once it slides, and holding what it
// can hold.
static void whole_friction_stays_in_its_limit(void **unused) {
    (void)unused;
    int slides = 0;
    for (int number = 0; number < CASES; ++number) {
        row_grip g = {.hold = uniform(0.1f, 2), .hold_twist = uniform(0.1f, 2), .per_lever = uniform(0.5f, 4)};
        const float lever = 1 / g.per_lever;
        g.slip = fminf(g.hold, g.hold_twist / (lever * lever));
        g.slip_twist = g.slip * lever * lever;
        const float limit = uniform(0, 1);
        const v3 speed = random_vector(2), none = v3_make(0, 0, 0), now = row_friction(&g, none, speed, limit, true);
        const double x = (double)now.x, y = (double)now.y, turning = (double)(now.z * g.per_lever);
        const double size = sqrt(x * x + y * y + turning * turning);
        if (size > (double)limit * 1.0001) fail_msg("case %d: %g of a limit of %g", number, size, (double)limit);
        const double hx = -(double)(g.hold * speed.x), hy = -(double)(g.hold * speed.y);
        const double hz = -(double)(g.hold_twist * speed.z), ht = hz * (double)g.per_lever;
        if (sqrt(hx * hx + hy * hy + ht * ht) < 0.999 * (double)limit) { // held
            if (fabs(x - hx) + fabs(y - hy) + fabs((double)now.z - hz) > 1e-5) fail_msg("case %d: not held", number);
        } else if (size > 0.999 * (double)limit && limit > 0.01f) {
            // Against the sliding: the torque's lever counts the spin.
            const double sx = (double)speed.x, sy = (double)speed.y, sz = (double)(speed.z * lever);
            const double along = -(x * sx + y * sy + turning * sz) / (size * sqrt(sx * sx + sy * sy + sz * sz));
            if (along < 0.999) fail_msg("case %d: friction is %g of opposite to the sliding", number, along);
            ++slides;
        }
    }
    assert_true(slides > CASES / 8);
}

static double energy_of(const row_pair *t) {
    double sum = dot_d(wide(t->wa), wide(t->wa)) + dot_d(wide(t->wb), wide(t->wb));
    if (t->ma > 0) sum += dot_d(wide(t->va), wide(t->va)) / (double)t->ma;
    if (t->mb > 0) sum += dot_d(wide(t->vb), wide(t->vb)) / (double)t->mb;
    return 0.5 * sum;
}

// Both parts of a hit, without gravity, of one to four points.
static void hits_return_what_is_due(void **unused) {
    (void)unused;
    int hits = 0;
    for (int number = 0; number < CASES; ++number) {
        const psvi_step step = random_step();
        const made_case m = make_case(false);
        const row_case *c = &m.row;
        row_pair t = {c->va, c->wa, c->vb, c->wb, c->ma, c->mb};
        if (!(t.ma > 0)) t.va = v3_make(0, 0, 0); // a wall that moves would do work
        if (!(t.mb > 0)) t.vb = v3_make(0, 0, 0);
        const row_root a = rows_of_root(c->root_a), b = rows_of_root(c->root_b);
        const int points = 1 + number % 4;
        row_whole whole;
        memset(&whole, 0, sizeof whole);
        float time = 1;
        for (int k = 0; k < points; ++k) {
            const row_spins r = row_at_arms(a, b, random_vector(1), random_vector(1), c->n);
            const float speed = row_speed(&t, c->n, r), separation = uniform(-0.01f, 0.01f);
            if (!row_hits(&step, speed, separation, false)) continue;
            row_whole_add(&whole, c->n, r, -speed * row_mass(t.ma + t.mb, r));
            time = fminf(time, row_hit_time(&step, speed, separation));
        }
        if (v3_length(whole.direction) == 0) continue;
        ++hits;
        assert_true(time >= 0 && time <= 1);
        const float e = uniform(0, 1);
        const double start = energy_of(&t), speed = (double)row_speed(&t, whole.direction, whole.spins);
        const double along = 0.5 * speed * speed / (double)row_whole_response(&t, &whole);
        const float multiple = row_hit_multiple(&t, &whole, e, 0);
        row_apply(&t, whole.direction, whole.spins, multiple * (1 - time));
        row_whole done;
        memset(&done, 0, sizeof done);
        row_whole_add(&done, whole.direction, whole.spins, multiple);
        if (time > 0) row_apply(&t, done.direction, done.spins, row_hit_rest(&t, &done, e, time, 0));
        const double lost = start - energy_of(&t), due = (1 - (double)e * (double)e) * along;
        if (fabs(lost - due) > 1e-4 * (start + 1))
            fail_msg("case %d: %g J lost, %g are due (restitution %g, after %g of the substep)", number, lost, due,
                     (double)e, (double)time);
    }
    print_message("%d hits lose what is due\n", hits);
    assert_true(hits > CASES / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_give_the_same_bits), cmocka_unit_test(rows_are_those_of_matrices),
        cmocka_unit_test(whole_friction_stays_in_its_limit), cmocka_unit_test(hits_return_what_is_due)};
    return cmocka_run_group_tests_name("contact_row", tests, NULL, NULL);
}
