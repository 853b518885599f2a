// Trees and their queries against brute force: seeded cases of boxes and triangles of all kinds, every query, every
// option. What two trees of different quality say has to be the same bytes.
// usage: test_tree cpu|cuda [first case] [cases]
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#include "../scenes/box_scenes.h"
#include "../test_scale.h"
#include "tree_oracle.h"

#define MOST_ITEMS 1500
#define MOST_QUERIES 96
#define WORLDS 5
#define NEAREST 7
#define EACH 3

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static uint32_t first_case, case_count;

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s", #call, psv_last_error(context));                                      \
    } while (0)

// --- a case ----------------------------------------------------------------------------------------------------------

enum { SPREAD, GRID, SAME, COINCIDENT, LINE, PLANE, SPIKE, FAR, SHAPES };

typedef struct tree_case {
    uint32_t seed, shape;
    bool triangles, exact, worlds, filters, flags, indexed, wide, counted;
    uint32_t count, query_count;
    double slack;
    oracle_item items[MOST_ITEMS];
    bool off[MOST_ITEMS];
    uint32_t item_world[MOST_ITEMS], query_world[MOST_QUERIES];
    psv_box_filter item_filter[MOST_ITEMS], query_filter[MOST_QUERIES];
    uint8_t flag[MOST_ITEMS];
    psv_ray rays[MOST_QUERIES];
    psv_aabb boxes[MOST_QUERIES];
    psv_sphere spheres[MOST_QUERIES];
} tree_case;

static tree_case now;

static double draw(uint64_t i, uint32_t channel) { return (double)box_random(now.seed, i, channel); }
static uint32_t pick(uint64_t i, uint32_t channel, uint32_t below) {
    return (uint32_t)(box_random_bits(now.seed, i, channel) % below);
}

// A number of the scene: within 100 of 0, or a small whole number.
static float place(uint64_t i, uint32_t channel) {
    if (now.exact) return (float)((int)pick(i, channel, 25) - 12);
    return (float)(200 * draw(i, channel) - 100);
}

static void make_point(uint32_t i, uint32_t channel, float point[3]) {
    for (uint32_t k = 0; k < 3; ++k) {
        point[k] = place(i, channel + k);
        if (now.shape == SAME || now.shape == COINCIDENT) point[k] = now.exact ? 3 : 3.7f;
        if (now.shape == LINE && k > 0) point[k] = -2;
        if (now.shape == PLANE && k == 1) point[k] = 5;
        if (now.shape == SPIKE && i % 4 != 0) point[k] = now.exact ? 1 : 11 + 1e-5f * point[k];
    }
}

static void make_item(uint32_t i) {
    oracle_item *item = &now.items[i];
    float centre[3];
    make_point(i, 0, centre);
    item->triangle = now.triangles;
    for (uint32_t k = 0; k < 3; ++k) {
        float size = now.exact ? (float)pick(i, 10 + k, 4) : (float)(6 * draw(i, 10 + k) * draw(i, 10 + k));
        if (now.shape == SAME) size = 2;
        if (now.shape == SPIKE && i % 4 != 0 && !now.exact) size *= 1e-6f;
        if (now.shape == FAR && i % 50 == 0) size = now.triangles ? 1e4f : i % 100 == 0 ? INFINITY : 1e20f;
        item->box.min[k] = centre[k] - size;
        item->box.max[k] = centre[k] + size;
        for (uint32_t c = 0; c < 3; ++c) {
            const float part = now.exact ? (float)((int)pick(i, 20 + 3 * k + c, 5) - 2)
                                         : size * (float)(2 * draw(i, 20 + 3 * k + c) - 1);
            item->corner[c][k] = centre[k] + (now.shape == SAME ? (c == k ? 2.0f : -1.0f) : part);
        }
    }
    now.off[i] = false;
    now.flag[i] = now.flags && pick(i, 40, 5) == 0 ? PSV_BOX_DISABLED : PSV_BOX_STATIC;
    now.item_world[i] = now.worlds ? pick(i, 41, WORLDS) : 0;
    if (now.worlds && pick(i, 42, 40) == 0) now.item_world[i] = WORLDS + 7; // bad
    now.item_filter[i] = (psv_box_filter){1u << pick(i, 43, 3), pick(i, 44, 8)};
    if (pick(i, 45, 60) == 0) { // bad
        item->box.max[pick(i, 46, 3)] = pick(i, 47, 2) ? NAN : -1e30f;
        item->corner[pick(i, 46, 3)][pick(i, 48, 3)] = pick(i, 47, 2) ? NAN : INFINITY;
    }
}

static bool is_bad(uint32_t i) {
    const oracle_item *item = &now.items[i];
    if (now.worlds && now.item_world[i] >= WORLDS) return true;
    for (uint32_t k = 0; k < 3; ++k) {
        if (!now.triangles && !(item->box.min[k] <= item->box.max[k])) return true;
        for (uint32_t c = 0; c < 3 && now.triangles; ++c)
            if (!isfinite(item->corner[c][k])) return true;
    }
    return false;
}

static bool is_disabled(uint32_t i) { return now.flags && (now.flag[i] & PSV_BOX_DISABLED) != 0; }

static void make_ray(uint32_t q) {
    static const float steps[7] = {-4, -2, -1, 0, 1, 2, 4};
    psv_ray *ray = &now.rays[q];
    make_point(q, 100, ray->origin);
    for (uint32_t k = 0; k < 3; ++k) {
        if (pick(q, 103, 3) != 0) ray->origin[k] = place(q, 104 + k) * (now.exact ? 1 : 1.5f);
        ray->direction[k] = now.exact ? steps[pick(q, 107 + k, 7)] : (float)(2 * draw(q, 107 + k) - 1);
        if (pick(q, 110 + k, 4) == 0) ray->direction[k] = pick(q, 113 + k, 2) ? 0.0f : -0.0f;
    }
    if (ray->direction[0] == 0 && ray->direction[1] == 0 && ray->direction[2] == 0) ray->direction[q % 3] = 1;
    // Of whole numbers the longest is a power of two: all steps are exact then.
    if (!now.exact && pick(q, 116, 3) == 0) { // aimed at an item, of another length
        const oracle_item *at = &now.items[now.count > 0 ? pick(q, 117, now.count) : 0];
        for (uint32_t k = 0; k < 3 && now.count > 0; ++k) {
            const float to = now.triangles ? (at->corner[0][k] + at->corner[1][k] + at->corner[2][k]) / 3
                                           : 0.5f * at->box.min[k] + 0.5f * at->box.max[k];
            if (isfinite(to) && fabsf(to) < 1e3f && to != ray->origin[k]) ray->direction[k] = to - ray->origin[k];
        }
    }
    ray->t_min = pick(q, 118, 3) == 0 ? (now.exact ? 2 : (float)(40 * draw(q, 119))) : pick(q, 118, 3) == 1 ? -3 : 0;
    ray->t_max = pick(q, 120, 2) ? INFINITY : now.exact ? 8 : (float)(60 * draw(q, 121));
    if (pick(q, 122, 50) == 0) ray->direction[0] = NAN;
}

static void make_query(uint32_t q) {
    make_ray(q);
    float centre[3];
    make_point(q, 130, centre);
    for (uint32_t k = 0; k < 3; ++k) {
        const float size = now.exact ? (float)pick(q, 133 + k, 5) : (float)(20 * draw(q, 133 + k) * draw(q, 136));
        now.boxes[q].min[k] = centre[k] - size;
        now.boxes[q].max[k] = centre[k] + size;
        now.spheres[q].centre[k] = place(q, 137 + k);
    }
    now.spheres[q].radius = pick(q, 140, 3) == 0 ? INFINITY
                            : now.exact          ? (float)pick(q, 141, 6)
                                                 : (float)(30 * draw(q, 141));
    if (pick(q, 142, 50) == 0) now.boxes[q].min[1] = pick(q, 143, 2) ? NAN : INFINITY;
    if (pick(q, 144, 50) == 0) now.spheres[q].radius = pick(q, 143, 2) ? NAN : -1;
    if (pick(q, 145, 30) == 0)
        now.boxes[q] = (psv_aabb){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    now.query_world[q] = now.worlds ? pick(q, 146, WORLDS + 1) : 0;
    now.query_filter[q] = (psv_box_filter){1u << pick(q, 147, 3), pick(q, 148, 8)};
}

static void make_case(uint32_t seed) {
    static const uint32_t counts[] = {0, 1, 2, 3, 7, 8, 9, 17, 63, 64, 65, 100, 130, 511, 513, 700};
    now.seed = seed;
    now.shape = pick(0, 200, SHAPES);
    now.triangles = pick(0, 201, 2);
    now.exact = pick(0, 202, 2);
    if (now.shape == FAR) now.exact = false;
    now.worlds = pick(0, 203, 3) == 0;
    now.filters = pick(0, 204, 3) == 0;
    now.flags = pick(0, 205, 3) == 0;
    now.indexed = pick(0, 206, 2);
    now.wide = pick(0, 207, 2);
    now.counted = pick(0, 208, 3) == 0;
    now.count = counts[pick(0, 209, sizeof counts / sizeof *counts)];
    now.query_count = 1 + pick(0, 210, MOST_QUERIES);
    // What single precision can tell, times what the largest items and origins are.
    now.slack = now.exact ? 0 : now.shape == FAR && now.triangles ? 2e-2 : 2e-4;
    for (uint32_t i = 0; i < now.count; ++i)
        make_item(i);
    for (uint32_t q = 0; q < now.query_count; ++q)
        make_query(q);
}

// --- what may be found -----------------------------------------------------------------------------------------------

static bool filters_allow(uint32_t i, uint32_t q) {
    psv_box_filter a = {~0u, ~0u}, b = {~0u, ~0u};
    if (now.filters) a = now.item_filter[i];
    if (now.filters) b = now.query_filter[q];
    return (a.group & b.mask) != 0 && (b.group & a.mask) != 0;
}

static bool may_find(uint32_t i, uint32_t q) {
    return !now.off[i] && !is_disabled(i) && !is_bad(i) && (!now.worlds || now.item_world[i] == now.query_world[q]) &&
           filters_allow(i, q);
}

static bool ray_is_good(const psv_ray *ray) { return !isnan(ray->direction[0]); }
static bool box_is_good(const psv_aabb *box) {
    return box->min[0] <= box->max[0] && box->min[1] <= box->max[1] && box->min[2] <= box->max[2];
}

typedef enum query_kind { RAYS, BOXES, SPHERES } query_kind;

static oracle_answer ask(query_kind kind, uint32_t i, uint32_t q, double *t) {
    *t = 0;
    if (!may_find(i, q)) return ORACLE_NO;
    if (kind == RAYS)
        return ray_is_good(&now.rays[q]) ? oracle_ray(&now.items[i], &now.rays[q], now.slack, t) : ORACLE_NO;
    if (kind == BOXES)
        return box_is_good(&now.boxes[q]) ? oracle_box(&now.items[i], &now.boxes[q], now.slack) : ORACLE_NO;
    const psv_sphere *sphere = &now.spheres[q];
    if (!(sphere->radius >= 0)) return ORACLE_NO;
    *t = oracle_distance(&now.items[i], sphere->centre);
    const double slack = now.exact && !now.triangles ? 0 : fmax(now.slack, 1e-4);
    if (*t == (double)sphere->radius && slack == 0) return ORACLE_YES;
    return *t > (double)sphere->radius + slack   ? ORACLE_NO
           : *t < (double)sphere->radius - slack ? ORACLE_YES
                                                 : ORACLE_MAYBE;
}

static void complain(const char *what, uint32_t q, uint32_t item, double value, double expected) {
    fail_msg("case %u (shape %u, %s%s, %u items): %s: query %u, item %u: %.9g, expected %.9g", now.seed, now.shape,
             now.triangles ? "triangles" : "boxes", now.exact ? ", exact" : "", now.count, what, q, item, value,
             expected);
}

static double t_slack(uint32_t q, double t) {
    if (now.exact) return 1e-5 * (1 + fabs(t));
    const float *d = now.rays[q].direction;
    const double length = sqrt((double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]);
    return 1e3 * now.slack / length + 1e-4 * fabs(t);
}

static void check_closest(const psv_ray_hit *hits) {
    for (uint32_t q = 0; q < now.query_count; ++q) {
        const psv_ray_hit *hit = &hits[q];
        double own = 0, t;
        if (hit->item != PSV_NO_ITEM) {
            if (hit->item >= now.count || ask(RAYS, hit->item, q, &own) == ORACLE_NO)
                complain("closest hit is none", q, hit->item, (double)hit->t, own);
            if (fabs(own - (double)hit->t) > t_slack(q, own))
                complain("closest hit's t", q, hit->item, (double)hit->t, own);
        } else if (!(hit->t == now.rays[q].t_max)) {
            complain("t without a hit", q, 0, (double)hit->t, (double)now.rays[q].t_max);
        }
        for (uint32_t i = 0; i < now.count; ++i) {
            if (ask(RAYS, i, q, &t) != ORACLE_YES) continue;
            if (hit->item == PSV_NO_ITEM || (double)hit->t > t + t_slack(q, t))
                complain("a closer hit", q, i, (double)hit->t, t);
            if (now.exact && !now.triangles && ((double)hit->t > t || ((double)hit->t == t && hit->item > i)))
                complain("closest hit is not the lowest item", q, i, hit->item, i);
        }
    }
}

static void check_any(const uint32_t *hits) {
    for (uint32_t q = 0; q < now.query_count; ++q) {
        oracle_answer most = ORACLE_NO;
        for (uint32_t i = 0; i < now.count; ++i) {
            double t;
            const oracle_answer answer = ask(RAYS, i, q, &t);
            if (answer > most) most = answer;
        }
        if (hits[q] > 1 || (most == ORACLE_YES && hits[q] == 0) || (most == ORACLE_NO && hits[q] == 1))
            complain("any hit", q, 0, hits[q], most);
    }
}

static void check_list(query_kind kind, uint32_t q, const uint32_t *items, uint64_t count, const char *what) {
    static uint8_t listed[MOST_ITEMS];
    memset(listed, 0, sizeof listed);
    double t;
    for (uint64_t i = 0; i < count; ++i) {
        if (items[i] >= now.count || listed[items[i]]++)
            complain("listed twice, or no item", q, items[i], (double)i, 0);
        if (ask(kind, items[i], q, &t) == ORACLE_NO) complain(what, q, items[i], 1, 0);
    }
    for (uint32_t i = 0; i < now.count; ++i)
        if (!listed[i] && ask(kind, i, q, &t) == ORACLE_YES) complain(what, q, i, 0, 1);
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Squares of what is beyond 1e18 are not told apart.
static double distance_slack(double d) { return d > 1e18 ? INFINITY : fmax(now.slack, 1e-4) + 1e-5 * d; }

static void check_nearest(const psv_near_item *near, uint32_t k) {
    static double distance[MOST_ITEMS];
    for (uint32_t q = 0; q < now.query_count; ++q, near += k) {
        const psv_sphere *sphere = &now.spheres[q];
        uint32_t sure = 0, possible = 0;
        for (uint32_t i = 0; i < now.count; ++i) {
            const oracle_answer answer = ask(SPHERES, i, q, &distance[possible]);
            sure += answer == ORACLE_YES;
            possible += answer != ORACLE_NO;
        }
        qsort(distance, possible, sizeof *distance, compare_doubles);
        for (uint32_t i = 0; i < k; ++i) {
            if (near[i].item == PSV_NO_ITEM) {
                if (i < sure) complain("too few nearest items", q, i, i, sure);
                if (sphere->radius >= 0 && !(near[i].distance == sphere->radius))
                    complain("distance of none", q, i, (double)near[i].distance, (double)sphere->radius);
                continue;
            }
            if (i >= possible || !may_find(near[i].item, q)) complain("nearest is none", q, near[i].item, i, possible);
            if (i > 0 && (near[i].distance < near[i - 1].distance ||
                          (near[i].distance == near[i - 1].distance && near[i].item == near[i - 1].item)))
                complain("order of nearest items", q, near[i].item, (double)near[i].distance,
                         (double)near[i - 1].distance);
            const double own = oracle_distance(&now.items[near[i].item], sphere->centre);
            if (fabs(own - (double)near[i].distance) > distance_slack(own) ||
                fabs(distance[i] - (double)near[i].distance) > distance_slack(own))
                complain("nearest distance", q, near[i].item, (double)near[i].distance, distance[i]);
        }
    }
}

static void check_closest_points(const psv_closest_point *points, const psv_near_item *nearest) {
    for (uint32_t q = 0; q < now.query_count; ++q) {
        const psv_closest_point *at = &points[q];
        if (at->item != nearest[q * NEAREST].item || memcmp(&at->distance, &nearest[q * NEAREST].distance, 4) != 0)
            complain("closest point's item", q, at->item, (double)at->distance, (double)nearest[q * NEAREST].distance);
        if (at->item == PSV_NO_ITEM) continue;
        double away = 0;
        for (int k = 0; k < 3; ++k)
            away += pow((double)at->point[k] - (double)now.spheres[q].centre[k], 2);
        const double own = oracle_distance(&now.items[at->item], now.spheres[q].centre);
        if (oracle_distance(&now.items[at->item], at->point) > distance_slack(own) ||
            fabs(sqrt(away) - own) > distance_slack(own))
            complain("closest point", q, at->item, sqrt(away), own);
    }
}

// --- buffers ---------------------------------------------------------------------------------------------------------

#define MOST_BUFFERS 32
static psv_buffer held[MOST_BUFFERS];
static uint32_t held_count;

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer;
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    if (data != NULL) CHECK(psv_upload(context, buffer, data, bytes));
    assert_true(held_count < MOST_BUFFERS);
    held[held_count++] = buffer;
    return buffer;
}

static void free_buffers(void) {
    while (held_count > 0)
        psv_free_buffer(context, &held[--held_count]);
}

// Items as a caller may have them: with gaps, indexed, with more room than items.
static psv_box_set upload_boxes(void) {
    static float data[MOST_ITEMS][9];
    const uint32_t floats = now.wide ? 9 : 6;
    for (uint32_t i = 0; i < now.count; ++i)
        memcpy((float *)data + (size_t)i * floats, &now.items[i].box, sizeof(psv_aabb));
    return psv_boxes_of(upload(data, ((uint64_t)now.count + 1) * floats * 4), floats * 4, now.count);
}

static psv_triangle_set upload_triangles(void) {
    static float vertices[3 * MOST_ITEMS][5];
    static uint32_t indices[MOST_ITEMS][4];
    const uint32_t floats = now.wide ? 5 : 3, numbers = now.wide ? 4 : 3, vertex_count = 3 * now.count;
    for (uint32_t i = 0; i < now.count; ++i)
        for (uint32_t c = 0; c < 3; ++c) {
            // Without indices in their order, else the last triangle first.
            const uint32_t v = now.indexed ? vertex_count - 1 - (3 * i + c) : 3 * i + c;
            memcpy((float *)vertices + (size_t)v * floats, now.items[i].corner[c], 12);
            ((uint32_t *)indices)[(size_t)i * numbers + c] = v;
        }
    psv_triangle_set set = psv_triangles_of(upload(vertices, ((uint64_t)vertex_count + 1) * floats * 4), vertex_count,
                                            (psv_buffer){0}, now.count);
    set.vertex_stride = floats * 4;
    if (now.indexed) {
        set.indices = upload(indices, ((uint64_t)now.count + 1) * numbers * 4);
        set.index_stride = numbers * 4;
    }
    return set;
}

typedef struct item_set {
    psv_box_set boxes;
    psv_triangle_set triangles;
} item_set;

static item_set upload_items(void) {
    item_set set = {0};
    psv_buffer flags = {0}, filters = {0}, worlds = {0}, counts = {0};
    const uint64_t true_count = now.count;
    if (now.flags) flags = upload(now.flag, sizeof now.flag);
    if (now.filters) filters = upload(now.item_filter, sizeof now.item_filter);
    if (now.worlds) worlds = upload(now.item_world, sizeof now.item_world);
    if (now.counted) counts = upload(&true_count, 8);
    if (now.triangles) {
        set.triangles = upload_triangles();
        set.triangles.flags = flags, set.triangles.filters = filters, set.triangles.worlds = worlds;
        set.triangles.count_buffer = counts;
    } else {
        set.boxes = upload_boxes();
        set.boxes.flags = flags, set.boxes.filters = filters, set.boxes.worlds = worlds;
        set.boxes.count_buffer = counts;
    }
    return set;
}

static psv_query_set upload_queries(const void *data, uint32_t bytes, bool sort) {
    psv_query_set set = psv_queries_of(upload(data, (uint64_t)MOST_QUERIES * bytes), bytes, now.query_count);
    const uint64_t true_count = now.query_count;
    set.sort = sort;
    if (now.worlds) set.worlds = upload(now.query_world, sizeof now.query_world);
    if (now.filters) set.filters = upload(now.query_filter, sizeof now.query_filter);
    if (now.counted) {
        set.count_buffer = upload(&true_count, 8);
        set.count = MOST_QUERIES;
    }
    return set;
}

// --- answers ---------------------------------------------------------------------------------------------------------

// All that is compared between trees.
typedef struct answers {
    psv_ray_hit closest[MOST_QUERIES];
    uint32_t any[MOST_QUERIES];
    psv_near_item nearest[MOST_QUERIES * NEAREST];
    psv_closest_point points[MOST_QUERIES];
    uint32_t counts[3][MOST_QUERIES];
    uint64_t offsets[3][MOST_QUERIES + 1];
    psv_ray_hit first_hits[MOST_QUERIES * EACH];
    uint32_t first_items[2][MOST_QUERIES * EACH];
    uint32_t total[3];
} answers;

static psv_ray_hit hit_lists[MOST_QUERIES * MOST_ITEMS], other_hits[MOST_QUERIES * MOST_ITEMS];
static uint32_t item_lists[2][MOST_QUERIES * MOST_ITEMS];

static psv_status list_call(psv_tree *tree, query_kind kind, const psv_query_set *set, const psv_query_lists *lists) {
    return kind == RAYS    ? psv_trace_all(tree, set, lists)
           : kind == BOXES ? psv_overlap_boxes(tree, set, lists)
                           : psv_overlap_spheres(tree, set, lists);
}

// Lists with offsets: first without room, then with what is needed. Returns how many results there are.
static uint64_t call_lists(psv_tree *tree, query_kind kind, const psv_query_set *set, bool in_order, answers *out,
                           void *results) {
    const uint32_t bytes = kind == RAYS ? sizeof(psv_ray_hit) : 4;
    uint64_t total = 0, finished = 0;
    psv_query_lists lists = {.counts = upload(NULL, sizeof out->counts[0]),
                             .offsets = upload(NULL, sizeof out->offsets[0]),
                             .in_order = in_order};
    CHECK(list_call(tree, kind, set, &lists));
    CHECK(psv_finish_queries(tree, &total));
    if (total > 1) {
        psv_buffer small = upload(NULL, (total - 1) * bytes);
        lists.results = small;
        psv_status status = list_call(tree, kind, set, &lists);
        if (backend == PSV_BACKEND_CUDA && status == PSV_OK) status = psv_finish_queries(tree, &finished);
        if (status != PSV_ERROR_CAPACITY)
            fail_msg("room that is too small was not refused: %s", psv_last_error(context));
    }
    lists.results = upload(NULL, (total + 1) * bytes);
    CHECK(list_call(tree, kind, set, &lists));
    CHECK(psv_finish_queries(tree, &finished));
    assert_int_equal(finished, total);
    CHECK(psv_download(context, out->counts[kind], lists.counts, now.query_count * sizeof(uint32_t)));
    CHECK(psv_download(context, out->offsets[kind], lists.offsets, (now.query_count + 1) * sizeof(uint64_t)));
    CHECK(psv_download(context, results, lists.results, total * bytes));
    assert_int_equal(out->offsets[kind][now.query_count], total);
    return total;
}

static void call_each(psv_tree *tree, query_kind kind, const psv_query_set *set, void *results, uint32_t *counts) {
    const uint32_t bytes = kind == RAYS ? sizeof(psv_ray_hit) : 4;
    psv_query_lists lists = {
        .results = upload(NULL, (uint64_t)MOST_QUERIES * EACH * bytes), .each = EACH, .in_order = true};
    if (counts != NULL) lists.counts = upload(NULL, MOST_QUERIES * sizeof(uint32_t));
    CHECK(psv_upload(context, lists.results, results, (uint64_t)MOST_QUERIES * EACH * bytes));
    CHECK(list_call(tree, kind, set, &lists));
    CHECK(psv_download(context, results, lists.results, (uint64_t)MOST_QUERIES * EACH * bytes));
    if (counts != NULL) CHECK(psv_download(context, counts, lists.counts, now.query_count * sizeof(uint32_t)));
}

static void ask_tree(psv_tree *tree, bool sort, bool in_order, answers *out) {
    memset(out, 0, sizeof *out);
    const uint32_t base = held_count;
    const psv_query_set rays = upload_queries(now.rays, sizeof *now.rays, sort);
    const psv_query_set boxes = upload_queries(now.boxes, sizeof *now.boxes, sort);
    const psv_query_set spheres = upload_queries(now.spheres, sizeof *now.spheres, sort);
    const uint32_t kept = held_count;
    const uint64_t n = now.query_count;
    psv_buffer target = upload(NULL, sizeof out->nearest + sizeof out->points);
    CHECK(psv_trace_closest(tree, &rays, target));
    CHECK(psv_download(context, out->closest, target, n * sizeof *out->closest));
    CHECK(psv_trace_any(tree, &rays, target));
    CHECK(psv_download(context, out->any, target, n * sizeof *out->any));
    CHECK(psv_find_nearest(tree, &spheres, NEAREST, target));
    CHECK(psv_download(context, out->nearest, target, n * NEAREST * sizeof *out->nearest));
    CHECK(psv_find_closest(tree, &spheres, target));
    CHECK(psv_download(context, out->points, target, n * sizeof *out->points));
    const psv_query_set *sets[3] = {&rays, &boxes, &spheres};
    for (int kind = RAYS; kind <= SPHERES; ++kind) {
        void *results = kind == RAYS ? (void *)hit_lists : item_lists[kind - 1];
        out->total[kind] = (uint32_t)call_lists(tree, (query_kind)kind, sets[kind], in_order, out, results);
        call_each(tree, (query_kind)kind, sets[kind],
                  kind == RAYS ? (void *)out->first_hits : out->first_items[kind - 1], NULL);
        while (held_count > kept + 1)
            psv_free_buffer(context, &held[--held_count]);
    }
    while (held_count > base)
        psv_free_buffer(context, &held[--held_count]);
}

static void check_lists(const answers *a, bool in_order) {
    static uint32_t items[MOST_ITEMS];
    for (uint32_t q = 0; q < now.query_count; ++q) {
        for (int kind = RAYS; kind <= SPHERES; ++kind) {
            const uint64_t begin = a->offsets[kind][q], count = a->offsets[kind][q + 1] - begin;
            if (count != a->counts[kind][q] || count > now.count)
                complain("count of a list", q, 0, (double)count, a->counts[kind][q]);
            for (uint64_t i = 0; i < count; ++i)
                items[i] = kind == RAYS ? hit_lists[begin + i].item : item_lists[kind - 1][begin + i];
            check_list((query_kind)kind, q, items, count,
                       kind == RAYS    ? "hit of a list"
                       : kind == BOXES ? "box of a list"
                                       : "sphere of a list");
            for (uint64_t i = 1; i < count && in_order; ++i) {
                const psv_ray_hit *x = &hit_lists[begin + i - 1], *y = x + 1;
                if (kind == RAYS ? !(x->t < y->t || (x->t == y->t && x->item < y->item)) : items[i - 1] >= items[i])
                    complain("order of a list", q, items[i], (double)i, 0);
            }
            for (uint64_t i = 0; i < EACH && i < count && in_order; ++i) {
                const uint64_t at = (uint64_t)q * EACH + i;
                const uint32_t first = kind == RAYS ? a->first_hits[at].item : a->first_items[kind - 1][at];
                if (first != items[i]) complain("first of a list", q, first, (double)i, items[i]);
            }
        }
    }
}

static void check_answers(const answers *a, bool in_order) {
    check_closest(a->closest);
    check_any(a->any);
    check_lists(a, in_order);
    check_nearest(a->nearest, NEAREST);
    check_closest_points(a->points, a->nearest);
}

static void compare_answers(const answers *a, const answers *b, const char *what) {
    if (memcmp(a->closest, b->closest, sizeof a->closest) != 0)
        fail_msg("case %u: closest hits differ: %s", now.seed, what);
    if (memcmp(a->any, b->any, sizeof a->any) != 0) fail_msg("case %u: any hits differ: %s", now.seed, what);
    if (memcmp(a->nearest, b->nearest, sizeof a->nearest) != 0) fail_msg("case %u: nearest differ: %s", now.seed, what);
    if (memcmp(a->points, b->points, sizeof a->points) != 0) fail_msg("case %u: points differ: %s", now.seed, what);
    if (memcmp(a->offsets, b->offsets, sizeof a->offsets) != 0) fail_msg("case %u: counts differ: %s", now.seed, what);
    if (memcmp(a->first_hits, b->first_hits, sizeof a->first_hits) != 0 ||
        memcmp(a->first_items, b->first_items, sizeof a->first_items) != 0)
        fail_msg("case %u: first results differ: %s", now.seed, what);
}

// --- tests -----------------------------------------------------------------------------------------------------------

static psv_tree *trees[3]; // linear, fine, with worlds

static psv_tree *make_tree(psv_tree_quality quality, uint32_t worlds) {
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree;
    def.quality = quality;
    def.max_items = MOST_ITEMS;
    def.triangles = true;
    def.world_count = worlds;
    def.max_queries = MOST_QUERIES;
    CHECK(psv_create_tree(context, &def, &tree));
    assert_true(psv_tree_bytes(psv_context_backend(context), &def) > 0);
    return tree;
}

static void build(psv_tree *tree, const item_set *set) {
    CHECK(now.triangles ? psv_build_triangle_tree(tree, &set->triangles) : psv_build_tree(tree, &set->boxes));
}

static void check_statistics(psv_tree *tree) {
    psv_tree_statistics statistics;
    uint32_t good = 0, bad = 0;
    for (uint32_t i = 0; i < now.count; ++i) {
        bad += !is_disabled(i) && is_bad(i);
        good += !is_disabled(i) && !is_bad(i);
    }
    CHECK(psv_read_tree_statistics(tree, &statistics));
    if (statistics.items != good || statistics.bad_items != bad || (good > 0) != (statistics.nodes > 0))
        fail_msg("case %u: %llu items and %llu bad ones instead of %u and %u", now.seed,
                 (unsigned long long)statistics.items, (unsigned long long)statistics.bad_items, good, bad);
}

// The same from the CPU, in another context.
static psv_context *cpu_context;
static psv_tree *cpu_trees[2]; // fine, with worlds

static void compare_with_cpu(const answers *from, bool in_order) {
    static answers other;
    psv_context *const own = context;
    const psv_backend own_backend = backend;
    const uint32_t base = held_count;
    if (cpu_context == NULL) return;
    context = cpu_context;
    backend = PSV_BACKEND_CPU;
    psv_tree *tree = cpu_trees[now.worlds];
    const item_set set = upload_items();
    build(tree, &set);
    ask_tree(tree, false, in_order, &other);
    while (held_count > base)
        psv_free_buffer(context, &held[--held_count]);
    context = own;
    backend = own_backend;
    compare_answers(from, &other, "CPU");
}

// Items move; some become bad, and some bad ones good, which does not bring them back.
static void move_items(void) {
    for (uint32_t i = 0; i < now.count; ++i) {
        now.off[i] = now.off[i] || is_bad(i);
        for (uint32_t k = 0; k < 3; ++k) {
            const float by = now.exact ? (float)((int)pick(i, 60 + k, 7) - 3) : (float)(10 * draw(i, 60 + k) - 5);
            now.items[i].box.min[k] += by;
            now.items[i].box.max[k] += by;
            for (uint32_t c = 0; c < 3; ++c)
                now.items[i].corner[c][k] += by;
        }
        if (pick(i, 63, 30) == 0) now.items[i].box.max[1] = now.items[i].corner[2][1] = NAN;
        if (now.off[i] && pick(i, 64, 2)) {
            now.items[i].box = (psv_aabb){{0, 0, 0}, {1, 1, 1}};
            memset(now.items[i].corner, 0, sizeof now.items[i].corner);
        }
    }
}

static void run_case(uint32_t seed) {
    static answers linear, other;
    make_case(seed);
    const bool sort = pick(0, 220, 2), in_order = pick(0, 221, 2);
    item_set set = upload_items();
    psv_tree *first = now.worlds ? trees[2] : trees[0];
    build(first, &set);
    check_statistics(first);
    ask_tree(first, sort, in_order, &linear);
    check_answers(&linear, in_order);
    memcpy(other_hits, hit_lists, linear.total[RAYS] * sizeof *hit_lists);
    compare_with_cpu(&linear, in_order);
    if (!now.worlds) {
        build(trees[1], &set);
        check_statistics(trees[1]);
        ask_tree(trees[1], !sort, in_order, &other);
        compare_answers(&linear, &other, "fine");
        if (in_order && memcmp(other_hits, hit_lists, linear.total[RAYS] * sizeof *hit_lists) != 0)
            fail_msg("case %u: lists of hits differ", now.seed);
    }
    if (pick(0, 222, 2) == 0) {
        move_items();
        free_buffers();
        set = upload_items();
        psv_tree *moved = now.worlds || pick(0, 223, 2) ? first : trees[1];
        CHECK(now.triangles ? psv_refit_triangle_tree(moved, &set.triangles) : psv_refit_tree(moved, &set.boxes));
        ask_tree(moved, sort, in_order, &linear);
        check_answers(&linear, in_order);
    }
    free_buffers();
}

static void test_cases(void **state) {
    (void)state;
    for (uint32_t i = 0; i < case_count; ++i)
        run_case(first_case + i);
}

// More items than one level of threads, blocks and worlds take; both qualities say the same.
static void test_many(void **state) {
    (void)state;
    const uint32_t count = test_kernels_only() ? 5000 : 60000 / test_scale() + 3000, rays = 4096;
    psv_tree_def def = psv_default_tree_def();
    psv_tree *linear, *fine;
    def.max_items = count;
    def.triangles = true;
    def.max_queries = rays;
    CHECK(psv_create_tree(context, &def, &linear));
    def.quality = PSV_TREE_FINE;
    CHECK(psv_create_tree(context, &def, &fine));
    float *vertices = malloc((size_t)count * 36);
    psv_ray *made = malloc(rays * sizeof *made);
    psv_ray_hit *hits[2] = {malloc(rays * sizeof **hits), malloc(rays * sizeof **hits)};
    assert_true(vertices != NULL && made != NULL && hits[0] != NULL && hits[1] != NULL);
    for (int shape = 0; shape < 2; ++shape) {
        for (uint32_t i = 0; i < count * 9; ++i) {
            const float centre = shape == 1 && (i / 9) % 8 != 0 ? 5e-7f * box_random(9, i / 9, i % 3)
                                                                : 100 * box_random(9, i / 9, i % 3);
            vertices[i] = centre + (shape == 1 && (i / 9) % 8 != 0 ? 1e-7f : 2.0f) * box_random(9, i, 5);
        }
        for (uint32_t q = 0; q < rays; ++q) {
            made[q] = (psv_ray){.t_max = INFINITY};
            for (uint32_t k = 0; k < 3; ++k) {
                made[q].origin[k] = 100 * box_random(10, q, k) * (shape == 1 && q % 2 ? 1e-8f : 1);
                made[q].direction[k] = box_random(10, q, 3 + k) - 0.5f;
            }
        }
        const psv_buffer data = upload(vertices, (uint64_t)count * 36);
        const psv_query_set set = psv_queries_of(upload(made, rays * sizeof *made), sizeof *made, rays);
        const psv_buffer target = upload(NULL, rays * sizeof **hits);
        const psv_triangle_set triangles = psv_triangles_of(data, 3 * (uint64_t)count, (psv_buffer){0}, count);
        for (int t = 0; t < 2; ++t) {
            CHECK(psv_build_triangle_tree(t == 0 ? linear : fine, &triangles));
            CHECK(psv_trace_closest(t == 0 ? linear : fine, &set, target));
            CHECK(psv_download(context, hits[t], target, rays * sizeof **hits));
        }
        uint32_t found = 0;
        for (uint32_t q = 0; q < rays; ++q)
            found += hits[0][q].item != PSV_NO_ITEM;
        assert_memory_equal(hits[0], hits[1], rays * sizeof **hits);
        assert_true(found > rays / 64);
        // Brute force for a few.
        for (uint32_t q = 0; q < rays; q += 257) {
            now.exact = false, now.slack = 2e-4, now.seed = 0, now.count = 0;
            now.rays[0] = made[q];
            double least = INFINITY;
            for (uint32_t i = 0; i < count; ++i) {
                oracle_item item = {.triangle = true};
                double t;
                memcpy(item.corner, vertices + 9 * i, 36);
                if (oracle_ray(&item, &made[q], 2e-4, &t) == ORACLE_YES) least = fmin(least, t);
            }
            if ((double)hits[0][q].t > least + t_slack(0, least))
                complain("many: a closer hit", q, hits[0][q].item, (double)hits[0][q].t, least);
        }
        free_buffers();
    }
    free(vertices);
    free(made);
    free(hits[0]);
    free(hits[1]);
    psv_destroy_tree(linear);
    psv_destroy_tree(fine);
}

// Rays at the edges and vertices of a closed surface go through to nothing.
static void test_watertight(void **state) {
    (void)state;
    enum { SIDE = 24, TRIANGLES = 2 * SIDE * SIDE, RAYS_MADE = 6000 };
    static float vertices[(SIDE + 1) * (SIDE + 1)][3];
    static uint32_t indices[TRIANGLES][3];
    static psv_ray made[RAYS_MADE];
    static uint32_t hit[RAYS_MADE];
    for (uint32_t z = 0; z <= SIDE; ++z)
        for (uint32_t x = 0; x <= SIDE; ++x) {
            float *v = vertices[z * (SIDE + 1) + x];
            v[0] = (float)x * 0.37f - 4, v[2] = (float)z * 0.41f - 5, v[1] = box_random(5, z * 100 + x, 0);
        }
    for (uint32_t c = 0; c < SIDE * SIDE; ++c) {
        const uint32_t v = c / SIDE * (SIDE + 1) + c % SIDE;
        const uint32_t two[6] = {v, v + 1, v + SIDE + 2, v, v + SIDE + 2, v + SIDE + 1};
        memcpy(indices[2 * c], two, sizeof two);
    }
    for (uint32_t q = 0; q < RAYS_MADE; ++q) {
        // From above to a point of an inner edge, or to a vertex.
        const uint32_t x = 1 + (uint32_t)(box_random_bits(6, q, 0) % (SIDE - 1)),
                       z = 1 + (uint32_t)(box_random_bits(6, q, 1) % (SIDE - 1));
        const float *a = vertices[z * (SIDE + 1) + x], *b = a + (q % 3 == 0   ? 3
                                                                 : q % 3 == 1 ? 3 * (SIDE + 1)
                                                                              : 3 * (SIDE + 2));
        const float at = q % 5 == 0 ? 0 : box_random(6, q, 2);
        made[q] = (psv_ray){.t_max = INFINITY};
        for (uint32_t k = 0; k < 3; ++k) {
            made[q].origin[k] = k == 1 ? 20 + 1000 * box_random(6, q, 3) : 6 * box_random(6, q, 4 + k) - 3;
            made[q].direction[k] = a[k] + at * (b[k] - a[k]) - made[q].origin[k];
        }
    }
    const psv_triangle_set set = psv_triangles_of(upload(vertices, sizeof vertices), sizeof vertices / sizeof *vertices,
                                                  upload(indices, sizeof indices), TRIANGLES);
    const psv_query_set rays = psv_queries_of(upload(made, sizeof made), sizeof *made, RAYS_MADE);
    const psv_buffer target = upload(NULL, sizeof hit);
    for (int t = 0; t < 2; ++t) {
        CHECK(psv_build_triangle_tree(trees[t], &set));
        CHECK(psv_trace_any(trees[t], &rays, target));
        CHECK(psv_download(context, hit, target, sizeof hit));
        for (uint32_t q = 0; q < RAYS_MADE; ++q)
            if (!hit[q]) fail_msg("ray %u went through the surface (tree %d)", q, t);
    }
    free_buffers();
}

#if PSV_HAVE_CUDA
// A captured build, with rays and lists, follows what lies in the buffers when the graph runs.
static void test_graph(void **state) {
    (void)state;
    static answers direct, captured;
    if (backend != PSV_BACKEND_CUDA) return;
    make_case(12);
    now.count = 700, now.query_count = MOST_QUERIES;
    now.triangles = true, now.worlds = now.filters = now.flags = now.counted = now.exact = false;
    for (uint32_t i = 0; i < now.count; ++i)
        make_item(i);
    for (uint32_t q = 0; q < now.query_count; ++q)
        make_query(q);
    item_set set = upload_items();
    psv_query_set rays = upload_queries(now.rays, sizeof *now.rays, true);
    const psv_query_set boxes = upload_queries(now.boxes, sizeof *now.boxes, false);
    const psv_buffer hits = upload(NULL, sizeof direct.closest);
    const uint64_t room = (uint64_t)MOST_QUERIES * MOST_ITEMS;
    const psv_query_lists lists = {.offsets = upload(NULL, sizeof direct.offsets[0]),
                                   .results = upload(NULL, room * sizeof(uint32_t)),
                                   .in_order = true};
    cudaStream_t stream = psv_context_stream(context);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    for (int turn = 0; turn < 3; ++turn) { // once to get all ready, then captured, then on other items
        if (turn == 2) {
            for (uint32_t i = 0; i < now.count; ++i)
                for (uint32_t c = 0; c < 3; ++c)
                    now.items[i].corner[c][0] += 1.5f;
            const uint32_t before = held_count;
            const psv_triangle_set moved = upload_triangles();
            const uint64_t bytes = (uint64_t)3 * now.count * moved.vertex_stride;
            float *copy = malloc(bytes);
            assert_non_null(copy);
            CHECK(psv_download(context, copy, moved.vertices, bytes));
            CHECK(psv_upload(context, set.triangles.vertices, copy, bytes));
            free(copy);
            while (held_count > before)
                psv_free_buffer(context, &held[--held_count]);
        }
        if (turn == 1) assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
        if (turn < 2) {
            CHECK(psv_build_triangle_tree(trees[0], &set.triangles));
            CHECK(psv_trace_closest(trees[0], &rays, hits));
            CHECK(psv_overlap_boxes(trees[0], &boxes, &lists));
        }
        if (turn == 1) {
            assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
            assert_int_equal(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
        }
        if (turn > 0) assert_int_equal(cudaGraphLaunch(exec, stream), cudaSuccess);
        CHECK(psv_synchronize(context));
        CHECK(psv_download(context, captured.closest, hits, sizeof captured.closest));
        CHECK(psv_download(context, captured.offsets[0], lists.offsets, sizeof captured.offsets[0]));
        check_closest(captured.closest);
        if (turn == 1) {
            assert_memory_equal(captured.closest, direct.closest, sizeof direct.closest);
            assert_memory_equal(captured.offsets[0], direct.offsets[0], sizeof direct.offsets[0]);
        }
        direct = captured;
    }
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    free_buffers();
}
#endif

int main(int argc, char **argv) {
    if (argc < 2 || psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) {
        printf("no %s device\n", argv[1]);
        return 77;
    }
    first_case = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    case_count = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : test_thinned(2000, 24);
    if (argc <= 3 && case_count > 24) case_count /= PAIRSIEVE_TEST_SCALE;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    if (psv_create_context(&def, &context) != PSV_OK) return 77;
    if (backend == PSV_BACKEND_CUDA) {
        psv_context *const own = context;
        def.backend = PSV_BACKEND_CPU;
        if (psv_create_context(&def, &cpu_context) != PSV_OK) return 1;
        context = cpu_context;
        cpu_trees[0] = make_tree(PSV_TREE_FINE, 1);
        cpu_trees[1] = make_tree(PSV_TREE_LINEAR, WORLDS);
        context = own;
    }
    trees[0] = make_tree(PSV_TREE_LINEAR, 1);
    trees[1] = make_tree(PSV_TREE_FINE, 1);
    trees[2] = make_tree(PSV_TREE_LINEAR, WORLDS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_watertight),
#if PSV_HAVE_CUDA
        cmocka_unit_test(test_graph),
#endif
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int t = 0; t < 3; ++t)
        psv_destroy_tree(trees[t]);
    psv_destroy_tree(cpu_trees[0]);
    psv_destroy_tree(cpu_trees[1]);
    psv_destroy_context(cpu_context);
    psv_destroy_context(context);
    return failed;
}
