#include "tree_cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/box_scenes.h"

// --- a case ----------------------------------------------------------------------------------------------------------

tree_case now;

double draw(uint64_t i, uint32_t channel) { return (double)box_random(now.seed, i, channel); }
uint32_t pick(uint64_t i, uint32_t channel, uint32_t below) {
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
        if (now.shape == THIN && !now.exact) point[k] *= 0.1f;
        if (now.shape == SPIKE && i % 4 != 0) point[k] = now.exact ? 1 : 11 + 1e-5f * point[k];
    }
}

// Corners on a line, or off it by what rounding leaves; here and there two are the same.
static void make_thin(uint32_t i, const float centre[3], oracle_item *item) {
    const float at[3] = {-1, 1, now.exact ? (float)((int)pick(i, 50, 3) - 1) : (float)(2 * draw(i, 50) - 1)};
    for (uint32_t k = 0; k < 3; ++k) {
        const float along = now.exact ? (float)((int)pick(i, 51 + k, 7) - 3) : (float)(12 * draw(i, 51 + k) - 6);
        for (uint32_t c = 0; c < 3; ++c)
            item->corner[(c + i) % 3][k] = centre[k] + along * at[c];
    }
}

void make_item(uint32_t i) {
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
    if (now.shape == THIN) make_thin(i, centre, item);
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

bool is_bad(uint32_t i) {
    const oracle_item *item = &now.items[i];
    if (now.worlds && now.item_world[i] >= WORLDS) return true;
    for (uint32_t k = 0; k < 3; ++k) {
        if (!now.triangles && !(item->box.min[k] <= item->box.max[k])) return true;
        for (uint32_t c = 0; c < 3 && now.triangles; ++c)
            if (!isfinite(item->corner[c][k])) return true;
    }
    return false;
}

bool is_disabled(uint32_t i) { return now.flags && (now.flag[i] & PSV_BOX_DISABLED) != 0; }

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

void make_query(uint32_t q) {
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

void make_case(uint32_t seed) {
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

void complain(const char *what, uint32_t q, uint32_t item, double value, double expected) {
    fail_msg("case %u (shape %u, %s%s, %u items): %s: query %u, item %u: %.9g, expected %.9g", now.seed, now.shape,
             now.triangles ? "triangles" : "boxes", now.exact ? ", exact" : "", now.count, what, q, item, value,
             expected);
}

double t_slack(uint32_t q, double t) {
    if (now.exact) return 1e-5 * (1 + fabs(t));
    const float *d = now.rays[q].direction;
    const double length = sqrt((double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]);
    return 1e3 * now.slack / length + 1e-4 * fabs(t);
}

void check_closest(const psv_ray_hit *hits) {
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

void check_any(const uint32_t *hits) {
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

void check_list(query_kind kind, uint32_t q, const uint32_t *items, uint64_t count, const char *what) {
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

void check_nearest(const psv_near_item *near, uint32_t k) {
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

void check_closest_points(const psv_closest_point *points, const psv_near_item *nearest) {
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
