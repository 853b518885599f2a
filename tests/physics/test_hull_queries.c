// The nearest points of hulls and what spheres touch of them, against a brute force that knows no faces: the distance
// to all triangles and segments between a hull's points, and planes through three points for what lies inside.
#include <stdlib.h>

#include "hull_points.h"

#define BODIES 11
#define QUERIES 160
#define MOST_POINTS 20

typedef struct solid {
    d3 points[MOST_POINTS];
    uint32_t count;
} solid;

static d3 scaled(d3 a, double s) { return (d3){{s * a.x[0], s * a.x[1], s * a.x[2]}}; }
static d3 plus(d3 a, d3 b) { return (d3){{a.x[0] + b.x[0], a.x[1] + b.x[1], a.x[2] + b.x[2]}}; }
static double length(d3 a) { return sqrt(dot(a, a)); }

static double to_segment(d3 p, d3 a, d3 b) {
    const d3 e = minus(b, a);
    const double t = fmin(1, fmax(0, dot(minus(p, a), e) / dot(e, e)));
    return length(minus(p, plus(a, scaled(e, t))));
}

// To the plane of a triangle, where the point is over it.
static double to_triangle(d3 p, d3 a, d3 b, d3 c) {
    const d3 e = minus(b, a), f = minus(c, a), n = cross(e, f), r = minus(p, a);
    const double nn = dot(n, n);
    if (nn < 1e-14) return 1e30;
    const double u = dot(cross(r, f), n) / nn, v = dot(cross(e, r), n) / nn;
    return u >= 0 && v >= 0 && u + v <= 1 ? fabs(dot(n, r)) / sqrt(nn) : 1e30;
}

// Inside of all planes through three points that have all the others on one side.
static bool is_inside(const solid *s, d3 p) {
    for (uint32_t i = 0; i < s->count; ++i)
        for (uint32_t j = 0; j < i; ++j)
            for (uint32_t k = 0; k < j; ++k) {
                d3 n = cross(minus(s->points[j], s->points[i]), minus(s->points[k], s->points[i]));
                if (dot(n, n) < 1e-10) continue;
                n = scaled(n, 1 / length(n));
                const double h = dot(n, minus(p, s->points[i]));
                if (fabs(h) < 1e-7) continue;
                bool beyond = true; // all points are on the other side
                for (uint32_t m = 0; m < s->count && beyond; ++m)
                    beyond = dot(n, minus(s->points[m], s->points[i])) * (h > 0 ? 1 : -1) < 1e-6;
                if (beyond) return false;
            }
    return true;
}

static double distance_to(const solid *s, d3 p) {
    double least = 1e30;
    for (uint32_t i = 0; i < s->count; ++i)
        for (uint32_t j = 0; j < i; ++j) {
            least = fmin(least, to_segment(p, s->points[i], s->points[j]));
            for (uint32_t k = 0; k < j; ++k)
                least = fmin(least, to_triangle(p, s->points[i], s->points[j], s->points[k]));
        }
    return is_inside(s, p) ? 0 : least;
}

static uint32_t add_random_hull(stage *s, uint64_t *seed, int number, float points[3 * MOST_POINTS], uint32_t *count) {
    static const int faces[5] = {4, 6, 8, 12, 20};
    if (number < 5) {
        *count = die_points(faces[number], 0.9f, points);
    } else {
        *count = 5 + (uint32_t)number;
        for (uint32_t i = 0; i < 3 * *count; ++i)
            points[i] = random_float(seed) + (number % 2 ? 0.8f : 0.0f);
    }
    const psv_shape_def def = hull_of(points, *count);
    return add_shape(s, &def);
}

typedef struct scene {
    stage s;
    float points[BODIES][3 * MOST_POINTS];
    uint32_t counts[BODIES];
    psv_body_id ids[BODIES];
    solid solids[BODIES];
} scene;

static void make_scene(scene *w, uint64_t *seed) {
    psv_world_def def = stage_def(BODIES);
    w->s = make_stage(&def);
    for (int i = 0; i < BODIES; ++i) {
        psv_body_def body = body_at(add_random_hull(&w->s, seed, i, w->points[i], &w->counts[i]), 0, 0, 0);
        for (int k = 0; k < 3; ++k) {
            body.pose.position[k] = 3 * random_float(seed);
            body.angular_velocity[k] = 4 * random_float(seed);
        }
        for (int k = 0; k < 4; ++k)
            body.pose.rotation[k] = random_float(seed);
        body.is_static = i % 4 == 3;
        w->ids[i] = add_body(&w->s, &body);
    }
}

static void take_solids(scene *w) {
    for (int i = 0; i < BODIES; ++i) {
        const psv_body_state state = state_of(&w->s, w->ids[i]);
        w->solids[i].count = w->counts[i];
        for (uint32_t k = 0; k < w->counts[i]; ++k)
            w->solids[i].points[k] =
                plus(rotated(state.pose.rotation, at(w->points[i], k)), at(state.pose.position, 0));
    }
}

typedef struct answers {
    psv_body_point points[QUERIES];
    uint32_t counts[QUERIES], lists[QUERIES][BODIES];
} answers;

static void ask(scene *w, const psv_sphere *spheres, answers *a) {
    psv_context *c = w->s.context;
    psv_buffer data, points, counts, lists;
    check(&w->s, psv_alloc_buffer(c, QUERIES * sizeof *spheres, &data));
    check(&w->s, psv_alloc_buffer(c, sizeof a->points, &points));
    check(&w->s, psv_alloc_buffer(c, sizeof a->counts, &counts));
    check(&w->s, psv_alloc_buffer(c, sizeof a->lists, &lists));
    check(&w->s, psv_upload(c, data, spheres, QUERIES * sizeof *spheres));
    const psv_query_set set = psv_queries_of(data, sizeof *spheres, QUERIES);
    const psv_query_lists wanted = {.counts = counts, .results = lists, .each = BODIES, .in_order = true};
    check(&w->s, psv_closest_bodies(w->s.world, &set, points));
    check(&w->s, psv_overlap_bodies(w->s.world, &set, &wanted));
    check(&w->s, psv_download(c, a->points, points, sizeof a->points));
    check(&w->s, psv_download(c, a->counts, counts, sizeof a->counts));
    check(&w->s, psv_download(c, a->lists, lists, sizeof a->lists));
    psv_free_buffer(c, &data);
    psv_free_buffer(c, &points);
    psv_free_buffer(c, &counts);
    psv_free_buffer(c, &lists);
}

typedef struct tally {
    int inside, near, nothing, touched;
    double worst;
} tally;

static void check_query(const scene *w, const psv_sphere *sphere, const answers *a, int q, tally *t) {
    const d3 centre = at(sphere->centre, 0);
    const double radius = (double)sphere->radius, close = 2e-5;
    const psv_body_point *found = &a->points[q];
    double away[BODIES], least = 1e30;
    for (int i = 0; i < BODIES; ++i) {
        away[i] = distance_to(&w->solids[i], centre);
        least = fmin(least, away[i]);
    }
    uint32_t listed = 0;
    for (int i = 0; i < BODIES; ++i) {
        const uint32_t slot = w->ids[i].index1 - 1;
        bool there = false;
        for (uint32_t k = 0; k < a->counts[q]; ++k)
            there |= a->lists[q][k] == slot;
        listed += there;
        if (fabs(away[i] - radius) > close && there != (away[i] < radius))
            fail_msg("query %d: body %d is %g away, radius %g, listed: %d", q, i, away[i], radius, there);
    }
    assert_int_equal(listed, a->counts[q]);
    t->touched += (int)listed;
    if (fabs(least - radius) < close) return;
    if (least > radius) {
        assert_int_equal(found->slot, PSV_NO_ITEM);
        assert_true(found->distance == sphere->radius);
        ++t->nothing;
        return;
    }
    int body = 0;
    while (body < BODIES && w->ids[body].index1 - 1 != found->slot)
        ++body;
    assert_true(body < BODIES && away[body] < least + close);
    const d3 point = at(found->point, 0), d = minus(centre, point);
    t->worst = fmax(t->worst, fabs((double)found->distance - least));
    assert_true(fabs((double)found->distance - least) < close);
    assert_true(fabs(length(d) - (double)found->distance) < close);
    assert_true(distance_to(&w->solids[body], point) < close);
    assert_int_equal(found->part, 0);
    t->inside += found->distance == 0;
    t->near += found->distance > 0;
    for (int k = 0; k < 3 && (found->distance == 0 || found->distance > 1e-2f); ++k)
        assert_true(fabs((double)found->normal[k] - (found->distance > 0 ? d.x[k] / length(d) : 0)) < 5e-3);
}

// Worlds as they were made, and after they have fallen and turned for a while.
static void nearest_points_and_overlaps(void **unused) {
    (void)unused;
    static scene w;
    static answers a;
    psv_sphere spheres[QUERIES];
    tally t = {0, 0, 0, 0, 0};
    for (uint64_t world = 1; world <= 12; ++world) {
        uint64_t seed = 1000 * world;
        make_scene(&w, &seed);
        for (int round = 0; round < 2; ++round) {
            step(&w.s, 25 * round);
            take_solids(&w);
            for (int q = 0; q < QUERIES; ++q) {
                for (int k = 0; k < 3; ++k)
                    spheres[q].centre[k] = (q % 2 ? 3.0f : 5.0f) * random_float(&seed) - (k == 1 ? (float)round : 0);
                spheres[q].radius = q % 10 == 0 ? INFINITY : q % 10 == 1 ? 0 : 1.5f * fabsf(random_float(&seed));
            }
            ask(&w, spheres, &a);
            for (int q = 0; q < QUERIES; ++q)
                check_query(&w, &spheres[q], &a, q, &t);
        }
        end_stage(&w.s);
    }
    (void)printf("%d inside, %d near, %d with nothing, %d touched; distances off by %.1e\n", t.inside, t.near,
                 t.nothing, t.touched, t.worst);
    assert_true(t.inside > 50 && t.near > 200 && t.nothing > 50 && t.touched > 1000);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nearest_points_and_overlaps)};
    return RUN_TESTS(argc, argv, "hull queries", tests);
}
