// Rays, nearest points and overlaps of a world's bodies against signed distances in double precision, body by body:
// seeded worlds of all shapes, with sub-worlds and filters, where they were made and after some steps.
// usage: test_body_queries cpu|cuda
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/sim.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"
#include "../cases/tree_oracle.h"
#include "../test_scale.h"

#define BODIES 70
#define QUERIES 240
#define SUB_WORLDS 3
#define SIDE 7 // vertices of the ground along a side
#define FACES (2 * (SIDE - 1) * (SIDE - 1))
#define EACH 5

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static psv_world *world;
static uint32_t seed;

static float draw(uint64_t i, uint32_t channel) { return box_random(seed, i, channel); }
static uint32_t pick(uint64_t i, uint32_t channel, uint32_t below) {
    return (uint32_t)(box_random_bits(seed, i, channel) % below);
}

// --- a world ---------------------------------------------------------------------------------------------------------

static psv_shape_child children[3];
static float heights[SIDE * SIDE], corners[SIDE * SIDE][3];
static uint32_t faces[FACES][3];
static psv_shape_def *shapes; // seven
static psv_body_def bodies[BODIES];
static psv_body_id ids[BODIES];
static psv_body_state states[BODIES];

enum { BALL, BLOCK, CAPSULE, COMPOUND, PLANE, FIELD, MESH };

static void random_rotation(uint64_t i, uint32_t channel, float q[4]) {
    float length = 0;
    for (uint32_t k = 0; k < 4; ++k) {
        q[k] = 2 * draw(i, channel + k) - 1 + 1e-3f;
        length += q[k] * q[k];
    }
    for (int k = 0; k < 4; ++k)
        q[k] /= sqrtf(length);
}

static void make_shapes(void) {
    for (int s = 0; s < 7; ++s)
        shapes[s] = psv_default_shape_def();
    shapes[BALL].type = PSV_SHAPE_SPHERE;
    shapes[BALL].size[0] = 0.8f;
    shapes[BLOCK].type = PSV_SHAPE_BOX;
    shapes[BLOCK].size[0] = 0.3f, shapes[BLOCK].size[1] = 1.1f, shapes[BLOCK].size[2] = 0.7f;
    shapes[CAPSULE].type = PSV_SHAPE_CAPSULE;
    shapes[CAPSULE].size[0] = 0.4f, shapes[CAPSULE].size[1] = 0.9f;
    for (uint32_t c = 0; c < 3; ++c) {
        children[c] = (psv_shape_child){.type = (psv_shape_type)(PSV_SHAPE_SPHERE + c), .size = {0.4f, 0.5f, 0.3f}};
        for (uint32_t k = 0; k < 3; ++k)
            children[c].pose.position[k] = 1.6f * draw(c, 300 + k) - 0.8f;
        random_rotation(c, 310, children[c].pose.rotation);
    }
    shapes[COMPOUND].type = PSV_SHAPE_COMPOUND;
    shapes[COMPOUND].children = children;
    shapes[COMPOUND].child_count = 3;
    shapes[PLANE].type = PSV_SHAPE_PLANE;
    for (uint32_t z = 0; z < SIDE; ++z)
        for (uint32_t x = 0; x < SIDE; ++x) {
            float *v = corners[z * SIDE + x];
            v[0] = (float)x * 4 - 12, v[2] = (float)z * 4 - 12;
            v[1] = heights[z * SIDE + x] = 3 * draw(z * SIDE + x, 320);
        }
    for (uint32_t c = 0; c < FACES / 2; ++c) {
        const uint32_t v = c / (SIDE - 1) * SIDE + c % (SIDE - 1);
        const uint32_t two[6] = {v, v + 1, v + SIDE + 1, v, v + SIDE + 1, v + SIDE};
        memcpy(faces[2 * c], two, sizeof two);
    }
    shapes[FIELD].type = PSV_SHAPE_HEIGHT_FIELD;
    shapes[FIELD].heights = heights;
    shapes[FIELD].columns = shapes[FIELD].rows = SIDE;
    shapes[FIELD].size[0] = shapes[FIELD].size[2] = 24;
    shapes[MESH].type = PSV_SHAPE_MESH;
    shapes[MESH].vertices = corners[0];
    shapes[MESH].vertex_count = SIDE * SIDE;
    shapes[MESH].indices = faces[0];
    shapes[MESH].triangle_count = FACES;
}

// The first three bodies are the ground of the three sub-worlds.
static void make_world(uint32_t with_seed, bool filters) {
    psv_world_def def = psv_default_world_def();
    uint32_t numbers[7];
    seed = with_seed;
    def.sub_world_count = SUB_WORLDS;
    def.max_bodies = BODIES;
    CHECK(psv_create_world(context, &def, &world));
    make_shapes();
    for (int s = 0; s < 7; ++s)
        CHECK(psv_create_shape(world, &shapes[s], &numbers[s]));
    for (uint32_t i = 0; i < BODIES; ++i) {
        psv_body_def *b = &bodies[i];
        *b = psv_default_body_def();
        b->shape = i < 3 ? numbers[PLANE + i] : numbers[pick(i, 1, 4)];
        b->sub_world = i < 3 ? i : pick(i, 2, SUB_WORLDS);
        b->is_static = i < 3 || pick(i, 3, 4) == 0;
        for (uint32_t k = 0; k < 3; ++k)
            b->pose.position[k] = i < 3 ? 0.5f * draw(i, 4 + k) - (k == 1 ? 2 : 0) : 20 * draw(i, 4 + k) - 10;
        if (i >= 3) b->pose.position[1] = 1 + 12 * draw(i, 5);
        random_rotation(i, 10, b->pose.rotation);
        if (i < 3) { // a little tilted
            const float tilt[4] = {0.05f * draw(i, 20), 0.3f * draw(i, 21), -0.04f * draw(i, 22), 1};
            memcpy(b->pose.rotation, tilt, sizeof tilt);
        }
        if (filters) b->filter = (psv_box_filter){1u << pick(i, 23, 3), pick(i, 24, 8)};
    }
    CHECK(psv_create_bodies(world, bodies, BODIES, ids));
    CHECK(psv_get_body_states(world, ids, BODIES, states));
}

// --- the oracle ------------------------------------------------------------------------------------------------------

typedef struct vec {
    double x[3];
} vec;

// Turned by the conjugate of q: from the world's frame.
static vec into_frame(const float *position, const float q[4], vec p) {
    double n = sqrt((double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3]);
    const double x = -q[0] / n, y = -q[1] / n, z = -q[2] / n, w = q[3] / n;
    const double v[3] = {p.x[0] - (double)position[0], p.x[1] - (double)position[1], p.x[2] - (double)position[2]};
    const double m[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
                            {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
                            {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
    vec out;
    for (int k = 0; k < 3; ++k)
        out.x[k] = m[k][0] * v[0] + m[k][1] * v[1] + m[k][2] * v[2];
    return out;
}

static double solid_distance(psv_shape_type type, const float *size, vec p) {
    if (type == PSV_SHAPE_SPHERE) return sqrt(p.x[0] * p.x[0] + p.x[1] * p.x[1] + p.x[2] * p.x[2]) - (double)size[0];
    if (type == PSV_SHAPE_CAPSULE) {
        const double y = fabs(p.x[1]) - (double)size[1], over = y > 0 ? y : 0;
        return sqrt(p.x[0] * p.x[0] + over * over + p.x[2] * p.x[2]) - (double)size[0];
    }
    double outside = 0, inside = -INFINITY;
    for (int k = 0; k < 3; ++k) {
        const double d = fabs(p.x[k]) - (double)size[k];
        outside += d > 0 ? d * d : 0;
        inside = fmax(inside, d);
    }
    return outside > 0 ? sqrt(outside) : inside;
}

static psv_shape_def *shape_of(uint32_t i) { return &shapes[i < 3 ? PLANE + i : bodies[i % BODIES].shape]; }
static bool has_faces(uint32_t i) { return i == 1 || i == 2; }

// Negative inside of solids and under planes; not for grounds of triangles.
static double body_distance(uint32_t i, vec p) {
    const psv_pose *pose = &states[i].pose;
    const psv_shape_def *shape = shape_of(i);
    const vec local = into_frame(pose->position, pose->rotation, p);
    if (shape->type == PSV_SHAPE_PLANE) return local.x[1];
    if (shape->type != PSV_SHAPE_COMPOUND) return solid_distance(shape->type, shape->size, local);
    double least = INFINITY;
    for (uint32_t c = 0; c < shape->child_count; ++c) {
        const psv_shape_child *child = &children[c];
        least = fmin(least, solid_distance(child->type, child->size,
                                           into_frame(child->pose.position, child->pose.rotation, local)));
    }
    return least;
}

// Both grounds of triangles have the same ones: a cell is split from its lowest to its highest corner.
static oracle_item face_item(uint32_t face) {
    oracle_item item = {.triangle = true};
    for (int c = 0; c < 3; ++c)
        memcpy(item.corner[c], corners[faces[face][c]], 12);
    return item;
}

static vec along(const psv_ray *ray, double t) {
    vec p;
    for (int k = 0; k < 3; ++k)
        p.x[k] = (double)ray->origin[k] + t * (double)ray->direction[k];
    return p;
}

static void put(vec v, float out[3]) {
    for (int k = 0; k < 3; ++k)
        out[k] = (float)v.x[k];
}

// The ray in the body's frame, where its triangles are.
static psv_ray local_ray(uint32_t i, const psv_ray *ray) {
    psv_ray local = *ray;
    const psv_pose *pose = &states[i].pose;
    const float none[3] = {0, 0, 0};
    vec d = {{(double)ray->direction[0], (double)ray->direction[1], (double)ray->direction[2]}};
    put(into_frame(pose->position, pose->rotation, along(ray, 0)), local.origin);
    put(into_frame(none, pose->rotation, d), local.direction);
    return local;
}

static oracle_answer ask_faces(uint32_t i, const psv_ray *ray, double *t) {
    const psv_ray local = local_ray(i, ray);
    oracle_answer answer = ORACLE_NO;
    *t = INFINITY;
    for (uint32_t f = 0; f < FACES; ++f) {
        const oracle_item item = face_item(f);
        double own;
        const oracle_answer one = oracle_ray(&item, &local, 3e-5, &own);
        if (one == ORACLE_NO || isnan(own)) continue;
        if (one > answer) answer = one;
        *t = fmin(*t, own);
    }
    return answer;
}

// Steps as long as the distance, which cannot pass the surface.
static oracle_answer ask_solid(uint32_t i, const psv_ray *ray, double *t) {
    const float *d = ray->direction;
    const double length = sqrt((double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]);
    const double t_max = fmin((double)ray->t_max, 1e4 / length);
    double least = INFINITY;
    *t = ray->t_min > 0 ? (double)ray->t_min : 0;
    int step = 0;
    for (; step < 3000 && *t <= t_max; ++step) {
        const double away = body_distance(i, along(ray, *t));
        least = fmin(least, away);
        if (away < 1e-6) return t_max - *t > 1e-4 / length ? ORACLE_YES : ORACLE_MAYBE;
        *t += away / length;
    }
    return least < 1e-3 || step == 3000 || (*t > 1e4 / length && (double)ray->t_max > t_max) ? ORACLE_MAYBE : ORACLE_NO;
}

static oracle_answer ask_ray(uint32_t i, const psv_ray *ray, double *t) {
    return has_faces(i) ? ask_faces(i, ray, t) : ask_solid(i, ray, t);
}

static double ask_distance(uint32_t i, const float point[3]) {
    const vec p = {{(double)point[0], (double)point[1], (double)point[2]}};
    if (!has_faces(i)) return fmax(body_distance(i, p), 0);
    float local[3];
    double least = INFINITY;
    put(into_frame(states[i].pose.position, states[i].pose.rotation, p), local);
    for (uint32_t f = 0; f < FACES; ++f) {
        const oracle_item item = face_item(f);
        least = fmin(least, oracle_distance(&item, local));
    }
    return least;
}

// --- queries ---------------------------------------------------------------------------------------------------------

static psv_ray rays[QUERIES];
static psv_sphere spheres[QUERIES];
static uint32_t worlds[QUERIES];
static psv_box_filter filters[QUERIES];
static bool with_filters;

static void make_queries(void) {
    for (uint32_t q = 0; q < QUERIES; ++q) {
        psv_ray *ray = &rays[q];
        for (uint32_t k = 0; k < 3; ++k) {
            ray->origin[k] = 30 * draw(q, 40 + k) - (k == 1 ? 4 : 15);
            ray->direction[k] = 2 * draw(q, 43 + k) - 1;
            spheres[q].centre[k] = 20 * draw(q, 46 + k) - (k == 1 ? 2 : 10);
        }
        if (pick(q, 49, 2)) { // at a body
            const float *at = states[3 + pick(q, 50, BODIES - 3)].pose.position;
            for (uint32_t k = 0; k < 3; ++k)
                ray->direction[k] = at[k] + 0.6f * draw(q, 51 + k) - 0.3f - ray->origin[k];
        }
        if (pick(q, 54, 8) == 0) ray->direction[pick(q, 55, 3)] = 0;
        ray->t_min = pick(q, 56, 4) == 0 ? 0.4f * draw(q, 57) : 0;
        ray->t_max = pick(q, 58, 4) == 0 ? 0.5f + draw(q, 59) : INFINITY;
        spheres[q].radius = pick(q, 60, 3) == 0 ? INFINITY : 4 * draw(q, 61);
        worlds[q] = pick(q, 62, SUB_WORLDS);
        filters[q] = (psv_box_filter){1u << pick(q, 63, 3), pick(q, 64, 8)};
    }
    rays[0].t_min = 0, rays[0].t_max = INFINITY;
    for (uint32_t k = 0; k < 3; ++k) { // seen from far away, and what finds nothing
        rays[0].origin[k] = 3000 * (draw(0, 70 + k) + 0.2f);
        rays[0].direction[k] = states[5].pose.position[k] - rays[0].origin[k];
        rays[1].direction[k] = 0;
    }
    rays[2].origin[1] = NAN;
    spheres[1].radius = -1;
    worlds[3] = SUB_WORLDS + 1;
}

static bool may_find(uint32_t i, uint32_t q) {
    if (bodies[i].sub_world != worlds[q]) return false;
    const psv_box_filter a = bodies[i].filter, b = filters[q];
    return !with_filters || ((a.group & b.mask) != 0 && (b.group & a.mask) != 0);
}

static uint32_t body_at_slot(uint32_t slot) {
    for (uint32_t i = 0; i < BODIES; ++i)
        if (ids[i].index1 == slot + 1) return i;
    fail_msg("seed %u: slot %u has no body", seed, slot);
    return 0;
}

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer;
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    if (data != NULL) CHECK(psv_upload(context, buffer, data, bytes));
    return buffer;
}

static psv_query_set view(psv_buffer data, uint32_t stride, psv_buffer own[2]) {
    psv_query_set set = psv_queries_of(data, stride, QUERIES);
    own[0] = upload(worlds, sizeof worlds);
    own[1] = upload(filters, sizeof filters);
    set.worlds = own[0];
    if (with_filters) set.filters = own[1];
    return set;
}

static bool bad_ray(uint32_t q) { return q == 1 || q == 2; }

static void check_hit(uint32_t q, const psv_body_hit *hit) {
    const float *d = rays[q].direction;
    const double length = sqrt((double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]);
    // Far away only rays nearly along a plane hit something.
    const double far = hit->t < INFINITY ? fmax((double)hit->t - 100, 0) : 0;
    const double slack = (q == 0 ? 2e-2 : 2e-3) / (length > 0 ? length : 1) + 5e-3 * far;
    double t;
    if (hit->slot == PSV_NO_ITEM) {
        if (!(hit->t == rays[q].t_max)) fail_msg("seed %u, ray %u: t %g without a hit", seed, q, (double)hit->t);
    } else {
        const uint32_t i = body_at_slot(hit->slot);
        if (bad_ray(q) || !may_find(i, q)) fail_msg("seed %u, ray %u: body %u is not to be found", seed, q, i);
        const oracle_answer answer = ask_ray(i, &rays[q], &t);
        if (answer == ORACLE_NO || (answer == ORACLE_YES && fabs((double)hit->t - t) > slack))
            fail_msg("seed %u, ray %u: body %u at %.7g, expected %.7g (%d)", seed, q, i, (double)hit->t, t, answer);
        double size = 0, against = 0;
        for (int k = 0; k < 3; ++k) {
            size += (double)hit->normal[k] * hit->normal[k];
            against += (double)hit->normal[k] * (double)d[k] / length;
        }
        if (fabs(size - 1) > 1e-4 || against > 1e-3) fail_msg("seed %u, ray %u: normal of body %u", seed, q, i);
        // A little off the surface along the normal it is as far away.
        vec p = along(&rays[q], (double)hit->t);
        const bool inside = !has_faces(i) && body_distance(i, along(&rays[q], fmax(rays[q].t_min, 0))) < 1e-3;
        for (int k = 0; k < 3; ++k)
            p.x[k] += 0.01 * (double)hit->normal[k];
        if (!has_faces(i) && !inside && q != 0 && shape_of(i)->type != PSV_SHAPE_COMPOUND &&
            fabs(body_distance(i, p) - 0.01) > 2e-3)
            fail_msg("seed %u, ray %u: the normal of body %u does not point out", seed, q, i);
    }
    for (uint32_t i = 0; i < BODIES; ++i)
        if (!bad_ray(q) && may_find(i, q) && ask_ray(i, &rays[q], &t) == ORACLE_YES && t < (double)hit->t - slack)
            fail_msg("seed %u, ray %u: body %u at %.7g was not seen before %.7g", seed, q, i, t, (double)hit->t);
}

static void check_point(uint32_t q, const psv_body_point *at) {
    const double slack = 3e-3;
    if (at->slot != PSV_NO_ITEM) {
        const uint32_t i = body_at_slot(at->slot);
        const double own = ask_distance(i, spheres[q].centre);
        if (!may_find(i, q) || fabs(own - (double)at->distance) > slack)
            fail_msg("seed %u, sphere %u: body %u is %.7g away, not %.7g", seed, q, i, own, (double)at->distance);
        double away = 0;
        for (int k = 0; k < 3; ++k) {
            const double d = (double)spheres[q].centre[k] - (double)at->point[k];
            away += d * d;
            if (fabs(d - (double)at->normal[k] * (double)at->distance) > slack)
                fail_msg("seed %u, sphere %u: normal at the point of body %u", seed, q, i);
        }
        if (fabs(sqrt(away) - (double)at->distance) > slack || ask_distance(i, at->point) > slack)
            fail_msg("seed %u, sphere %u: the point is not on body %u", seed, q, i);
    }
    for (uint32_t i = 0; i < BODIES && spheres[q].radius >= 0; ++i)
        if (may_find(i, q) && ask_distance(i, spheres[q].centre) < fmin((double)at->distance, 1e30) - slack)
            fail_msg("seed %u, sphere %u: body %u is nearer", seed, q, i);
}

static void check_list(uint32_t q, uint32_t count, const uint32_t *slots) {
    uint32_t sure = 0, possible = 0;
    for (uint32_t i = 0; i < BODIES && spheres[q].radius >= 0; ++i) {
        if (!may_find(i, q)) continue;
        const double away = ask_distance(i, spheres[q].centre) - (double)spheres[q].radius;
        sure += away < -1e-3;
        possible += away < 1e-3;
    }
    if (count < sure || count > possible)
        fail_msg("seed %u, sphere %u touches %u bodies; expected %u to %u", seed, q, count, sure, possible);
    for (uint32_t i = 0; i < count && i < EACH; ++i) {
        const uint32_t body = body_at_slot(slots[i]);
        if (!may_find(body, q) || ask_distance(body, spheres[q].centre) > (double)spheres[q].radius + 1e-3 ||
            (i > 0 && slots[i] <= slots[i - 1]))
            fail_msg("seed %u, sphere %u: body %u in its list", seed, q, body);
    }
}

static void ask_all(void) {
    static psv_body_hit hits[QUERIES];
    static psv_body_point points[QUERIES];
    static uint32_t counts[QUERIES], lists[QUERIES][EACH];
    psv_buffer own[4], data[2] = {upload(rays, sizeof rays), upload(spheres, sizeof spheres)};
    const psv_query_set ray_set = view(data[0], sizeof *rays, own),
                        sphere_set = view(data[1], sizeof *spheres, own + 2);
    psv_buffer results = upload(NULL, sizeof points), more = upload(NULL, sizeof counts);
    CHECK(psv_cast_rays(world, &ray_set, results));
    CHECK(psv_download(context, hits, results, sizeof hits));
    CHECK(psv_closest_bodies(world, &sphere_set, results));
    CHECK(psv_download(context, points, results, sizeof points));
    const psv_query_lists wanted = {.counts = more, .results = results, .each = EACH, .in_order = true};
    CHECK(psv_overlap_bodies(world, &sphere_set, &wanted));
    CHECK(psv_download(context, counts, more, sizeof counts));
    CHECK(psv_download(context, lists, results, sizeof lists));
    for (uint32_t q = 0; q < QUERIES; ++q) {
        check_hit(q, &hits[q]);
        check_point(q, &points[q]);
        check_list(q, counts[q], lists[q]);
    }
    for (int i = 0; i < 4; ++i)
        psv_free_buffer(context, &own[i]);
    for (int i = 0; i < 2; ++i)
        psv_free_buffer(context, &data[i]);
    psv_free_buffer(context, &results);
    psv_free_buffer(context, &more);
}

// The first body of all sub-worlds: the least t of the bulk call's answers for them.
static void ask_one_by_one(void) {
    with_filters = false;
    for (uint32_t q = 3; q < QUERIES; q += 5) {
        psv_body_id id;
        float distance;
        double t, least = INFINITY;
        CHECK(psv_cast_ray(world, rays[q].origin, rays[q].direction, INFINITY, &id, &distance));
        psv_ray ray = rays[q];
        ray.t_min = 0, ray.t_max = INFINITY;
        bool sure = true;
        for (uint32_t i = 0; i < BODIES; ++i) {
            const oracle_answer answer = ask_ray(i, &ray, &t);
            sure = sure && answer != ORACLE_MAYBE;
            if (answer == ORACLE_YES) least = fmin(least, t);
        }
        if (sure && !(least > 100 && least < INFINITY) &&
            (least < INFINITY ? fabs((double)distance - least) > 2e-3 : id.index1 != 0))
            fail_msg("seed %u, one ray %u: %g, expected %g", seed, q, (double)distance, least);
    }
}

static void test_all_shapes(void **state) {
    (void)state;
    const uint32_t rounds = test_thinned(12, 2);
    for (uint32_t round = 0; round < rounds; ++round) {
        with_filters = round % 3 == 2;
        make_world(100 + round, with_filters);
        make_queries();
        ask_all();
        ask_one_by_one();
        for (int i = 0; i < 20; ++i) // they fall; some come to rest
            CHECK(psv_world_step(world, 1.0f / 60));
        with_filters = round % 3 == 2;
        CHECK(psv_get_body_states(world, ids, BODIES, states));
        make_queries();
        ask_all();
        psv_destroy_world(world);
    }
}

static void test_misuse(void **state) {
    (void)state;
    make_world(7, false);
    make_queries();
    psv_buffer data = upload(rays, sizeof rays), target = upload(NULL, sizeof(psv_body_point) * QUERIES);
    psv_query_set set = psv_queries_of(data, sizeof *rays, QUERIES);
    psv_query_lists lists = {.results = target, .each = EACH};
    assert_int_equal(psv_cast_rays(NULL, &set, target), PSV_ERROR_ARGUMENT);
    expect_refusal(context, psv_cast_rays(world, NULL, target), PSV_ERROR_ARGUMENT, "rays");
    expect_refusal(context, psv_cast_rays(world, &set, psv_buffer_of(target.address, 24 * QUERIES - 1)),
                   PSV_ERROR_ARGUMENT, "hits");
    expect_refusal(context, psv_closest_bodies(world, &set, (psv_buffer){0}), PSV_ERROR_ARGUMENT, "points");
    expect_refusal(context, psv_overlap_bodies(world, &set, NULL), PSV_ERROR_ARGUMENT, "lists");
    lists.offsets = target;
    expect_refusal(context, psv_overlap_bodies(world, &set, &lists), PSV_ERROR_UNSUPPORTED, "offsets");
    set.stride = 28;
    expect_refusal(context, psv_cast_rays(world, &set, target), PSV_ERROR_ARGUMENT, "stride");
    set.stride = sizeof *rays;
    set.sort = true;
    expect_refusal(context, psv_cast_rays(world, &set, target), PSV_ERROR_UNSUPPORTED, "sort");
    set.sort = false;
    set.count = QUERIES + 1;
    expect_refusal(context, psv_cast_rays(world, &set, target), PSV_ERROR_ARGUMENT, "data");
    set.count = 0;
    CHECK(psv_cast_rays(world, &set, target));
    psv_free_buffer(context, &data);
    psv_free_buffer(context, &target);
    psv_destroy_world(world);
    const psv_world_def def = psv_default_world_def(); // a world without bodies
    CHECK(psv_create_world(context, &def, &world));
    data = upload(rays, sizeof rays), target = upload(NULL, sizeof(psv_body_hit) * QUERIES);
    set = psv_queries_of(data, sizeof *rays, QUERIES);
    CHECK(psv_cast_rays(world, &set, target));
    psv_body_hit hit;
    CHECK(psv_download(context, &hit, target, sizeof hit));
    assert_int_equal(hit.slot, PSV_NO_ITEM);
    psv_free_buffer(context, &data);
    psv_free_buffer(context, &target);
    psv_destroy_world(world);
}

int main(int argc, char **argv) {
    const number_option no_options = {NULL, NULL};
    if (!read_backend_arguments(argc, argv, &backend, &no_options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_shapes), cmocka_unit_test(test_misuse)};
    shapes = calloc(7, sizeof *shapes);
    if (shapes == NULL) return 1;
    const int failed = RUN_BACKEND_TESTS("body_queries", &def, &context, tests);
    free(shapes);
    return failed;
}
