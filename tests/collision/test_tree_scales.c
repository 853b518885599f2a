// Queries of triangles of every size and shape, from 1e-17 to 1e15 and slivers of any aspect, against double precision;
// rays whose directions are of any length; boxes and queries that reach to infinity, by trees of both qualities.
//   test_tree_scales [cpu|cuda] [--seed N]
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/tree.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../cases/tree_oracle.h"
#include "pair_soak.h"

enum { MOST = 400, QUERIES = 400, ROOM = 64 };
#define ULP 5.97e-8

static psv_backend backend = PSV_BACKEND_CPU;
static uint64_t base_seed = 7, draws;
static psv_context *context;

static float draw(void) { return 2 * box_random(base_seed, draws++, 0) - 1; } // -1 to 1
static uint32_t draw_below(uint32_t limit) { return (uint32_t)(box_random_bits(base_seed, draws++, 1) % limit); }

static psv_tree *make_tree(psv_tree_quality quality) {
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree = NULL;
    const bool in_shaders = backend == PSV_BACKEND_GL || backend == PSV_BACKEND_VULKAN;
    def.quality = in_shaders ? PSV_TREE_LINEAR : quality; // shaders build no others
    def.max_items = MOST;
    def.triangles = true;
    def.max_queries = QUERIES;
    CHECK(psv_create_tree(context, &def, &tree));
    return tree;
}

// Whether numbers below 1.2e-38 may count as 0, as tree.h allows for OpenGL and Vulkan. Mesa's drivers for processors
// keep them. Squares of lengths below 1e-19 are such numbers.
static bool small_is_none(void) {
    const bool in_shaders = backend == PSV_BACKEND_GL || backend == PSV_BACKEND_VULKAN;
    return in_shaders && strstr(psv_context_device_name(context), "llvmpipe") == NULL;
}

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer = {0};
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    CHECK(psv_upload(context, buffer, data, bytes));
    return buffer;
}

// Calls one of the queries that write a fixed number of bytes a query.
static void ask(psv_tree *tree, psv_status (*call)(psv_tree *, const psv_query_set *, psv_buffer), const void *queries,
                uint32_t stride, uint32_t count, void *answers, uint64_t bytes) {
    psv_buffer data = upload(queries, (uint64_t)count * stride), target = upload(answers, bytes);
    const psv_query_set set = psv_queries_of(data, stride, count);
    CHECK(call(tree, &set, target));
    CHECK(psv_download(context, answers, target, bytes));
    psv_free_buffer(context, &data);
    psv_free_buffer(context, &target);
}

static psv_status nearest_one(psv_tree *tree, const psv_query_set *set, psv_buffer target) {
    return psv_find_nearest(tree, set, 1, target);
}

// --- triangles -------------------------------------------------------------------------------------------------------

static oracle_item items[MOST];
static psv_sphere spheres[QUERIES];
static psv_ray rays[QUERIES];

// Corners within `size`; of slivers the third is within size / aspect of the line of the others.
static void make_triangle(oracle_item *item, float size, float aspect) {
    float a[3], along[3], aside[3];
    const float share = 1.4f * draw();
    for (int k = 0; k < 3; ++k) {
        a[k] = size * draw();
        along[k] = size * draw();
        aside[k] = size / aspect * draw();
    }
    *item = (oracle_item){.triangle = true};
    const uint32_t turn = draw_below(3);
    for (int k = 0; k < 3; ++k) {
        item->corner[turn][k] = a[k];
        item->corner[(turn + 1) % 3][k] = a[k] + along[k];
        item->corner[(turn + 2) % 3][k] = a[k] + share * along[k] + aside[k];
    }
}

// A point near the triangle: on it, beside it by its width or by its length, or far away.
static void place_point(const oracle_item *item, float size, float aspect, float point[3]) {
    const float reaches[] = {0, 1 / aspect, 0.1f, 1, 30};
    const float u = 1.5f * draw(), v = draw(), reach = reaches[draw_below(5)] * size;
    for (int k = 0; k < 3; ++k) {
        const float a = item->corner[0][k];
        point[k] = a + u * (item->corner[1][k] - a) + v * (item->corner[2][k] - a) + reach * draw();
    }
}

static double allowed_error(float size, double distance) { return 4 * ULP * (4 * (double)size + distance); }

static void check_closest(psv_tree *tree, uint32_t count, float size, float aspect) {
    static psv_closest_point points[QUERIES];
    static psv_near_item near[QUERIES];
    ask(tree, psv_find_closest, spheres, sizeof *spheres, QUERIES, points, sizeof points);
    ask(tree, nearest_one, spheres, sizeof *spheres, QUERIES, near, sizeof near);
    for (uint32_t q = 0; q < QUERIES; ++q) {
        double least = INFINITY, gone = 0;
        for (uint32_t i = 0; i < count; ++i)
            least = fmin(least, oracle_distance(&items[i], spheres[q].centre));
        for (int k = 0; k < 3; ++k)
            gone = hypot(gone, (double)points[q].point[k] - (double)spheres[q].centre[k]);
        const double allowed = allowed_error(size, least);
        if (points[q].item >= count || !(fabs((double)points[q].distance - least) <= allowed) ||
            !(fabs((double)near[q].distance - least) <= allowed) || !(fabs(gone - least) <= allowed))
            fail_msg("size %g, aspect %g: distance %.9g, nearest %.9g, to the point %.9g, expected %.9g", (double)size,
                     (double)aspect, (double)points[q].distance, (double)near[q].distance, gone, least);
    }
}

// Spheres that reach a little less and a little further than the distance.
static void check_overlaps(psv_tree *tree, uint32_t count, float size, float aspect) {
    static uint32_t counts[QUERIES];
    static psv_sphere around[QUERIES];
    for (uint32_t q = 0; q < QUERIES; ++q) {
        const double distance = oracle_distance(&items[q % count], spheres[q].centre),
                     by = allowed_error(size, distance);
        around[q] = spheres[q];
        around[q].radius = (float)fmax(distance + (q & 1 ? 2 : -2) * by, 0);
    }
    psv_buffer data = upload(around, sizeof around), target = upload(counts, sizeof counts);
    const psv_query_set set = psv_queries_of(data, sizeof *around, QUERIES);
    const psv_query_lists lists = {.counts = target};
    CHECK(psv_overlap_spheres(tree, &set, &lists));
    CHECK(psv_download(context, counts, target, sizeof counts));
    psv_free_buffer(context, &data);
    psv_free_buffer(context, &target);
    for (uint32_t q = 0; q < QUERIES; ++q) {
        uint32_t most = 0, least = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const double distance = oracle_distance(&items[i], around[q].centre), by = allowed_error(size, distance);
            least += distance + by < (double)around[q].radius;
            most += distance - by <= (double)around[q].radius;
        }
        if (counts[q] < least || counts[q] > most)
            fail_msg("size %g, aspect %g: sphere %u touches %u triangles, expected %u to %u", (double)size,
                     (double)aspect, q, counts[q], least, most);
    }
}

static void check_rays(psv_tree *tree, uint32_t count, float size) {
    static psv_ray_hit hits[QUERIES];
    for (uint32_t q = 0; q < QUERIES; ++q) {
        const oracle_item *item = &items[q % count];
        const float u = 0.5f * fabsf(draw()), v = 0.5f * fabsf(draw());
        for (int k = 0; k < 3; ++k) {
            const float a = item->corner[0][k];
            const float at = a + u * (item->corner[1][k] - a) + v * (item->corner[2][k] - a);
            rays[q].origin[k] = 3 * size * draw();
            rays[q].direction[k] = at / size - rays[q].origin[k] / size;
        }
        rays[q].t_min = 0, rays[q].t_max = INFINITY;
    }
    ask(tree, psv_trace_closest, rays, sizeof *rays, QUERIES, hits, sizeof hits);
    for (uint32_t q = 0; q < QUERIES; ++q) {
        double least = INFINITY, other;
        bool sure = false;
        for (uint32_t i = 0; i < count; ++i) {
            const oracle_answer answer = oracle_ray(&items[i], &rays[q], (double)size * 1e-5, &other);
            if (answer == ORACLE_YES && other < least) least = other, sure = true;
        }
        if (!sure) continue;
        const oracle_item *met = hits[q].item < count ? &items[hits[q].item] : NULL;
        // What is nearer may be one that the oracle leaves open.
        if (met == NULL || !(hits[q].t <= (float)(least * (1 + 1e-3))))
            fail_msg("size %g: ray %u hits at %.9g, expected %.9g", (double)size, q, (double)hits[q].t, least);
        if (oracle_ray(met, &rays[q], (double)size * 1e-5, &other) == ORACLE_YES &&
            !(fabs((double)hits[q].t - other) <= 1e-4 * other + 1e-5 * (double)size))
            fail_msg("size %g: ray %u hits its triangle at %.9g, expected %.9g", (double)size, q, (double)hits[q].t,
                     other);
    }
}

static void check_size(psv_tree *trees[2], float size, float aspect, uint32_t count) {
    static float vertices[MOST * 9];
    for (uint32_t i = 0; i < count; ++i) {
        make_triangle(&items[i], size, aspect);
        memcpy(vertices + (size_t)9 * i, items[i].corner, sizeof items[i].corner);
    }
    for (uint32_t q = 0; q < QUERIES; ++q) {
        place_point(&items[q % count], size, aspect, spheres[q].centre);
        spheres[q].radius = INFINITY;
    }
    psv_buffer memory = upload(vertices, sizeof vertices);
    const psv_triangle_set set = psv_triangles_of(memory, (uint64_t)3 * count, (psv_buffer){0}, count);
    for (int quality = 0; quality < 2; ++quality) {
        CHECK(psv_build_triangle_tree(trees[quality], &set));
        check_closest(trees[quality], count, size, aspect);
        check_overlaps(trees[quality], count, size, aspect);
        if (aspect == 1) check_rays(trees[quality], count, size);
    }
    psv_free_buffer(context, &memory);
}

static void test_sizes(void **state) {
    (void)state;
    psv_tree *trees[2] = {make_tree(PSV_TREE_LINEAR), make_tree(PSV_TREE_FINE)};
    for (int power = small_is_none() ? -12 : -17; power <= 15; ++power)
        for (uint32_t count = 1; count <= 30; count += 29)
            check_size(trees, (float)pow(10, power), 1, count);
    for (int power = small_is_none() ? -5 : -15; power <= 15; power += 5)
        for (float aspect = 10; aspect < 1e9f; aspect *= 10)
            for (uint32_t count = 1; count <= 30; count += 29)
                check_size(trees, 0.5f * (float)pow(10, power), aspect, count);
    psv_destroy_tree(trees[0]);
    psv_destroy_tree(trees[1]);
}

// --- rays of any length ----------------------------------------------------------------------------------------------

// Directions from 1e-45 to 3e38: t lies within the ray's limits, and the closest hit is the first of all. Where numbers
// below 1.2e-38 count as 0, directions go from 1e-34 to 1e34: t is such a number too.
static void check_lengths(psv_tree *tree, uint32_t *hit_count) {
    static psv_ray_hit closest[QUERIES], first[QUERIES];
    static uint32_t any[QUERIES];
    const bool none = small_is_none();
    const float t_mins[] = {0, none ? 1e-37f : 1e-44f, 1e-20f, 0.1f, 1, 1e20f, 3e37f};
    for (uint32_t q = 0; q < QUERIES; ++q) {
        const float length =
            (float)pow(10, (none ? -34 : -45) + (none ? 68 : 84) * (double)box_random(base_seed, draws++, 0));
        for (int k = 0; k < 3; ++k) {
            rays[q].origin[k] = draw_below(3) == 0 ? 0 : 4 * draw();
            rays[q].direction[k] = draw_below(3) == 0 ? 0 : length * draw();
        }
        rays[q].t_min = t_mins[draw_below(7)];
        rays[q].t_max = draw_below(2) ? INFINITY : rays[q].t_min * (1 + draw_below(100)) + t_mins[draw_below(7)];
    }
    ask(tree, psv_trace_closest, rays, sizeof *rays, QUERIES, closest, sizeof closest);
    ask(tree, psv_trace_any, rays, sizeof *rays, QUERIES, any, sizeof any);
    for (uint32_t q = 0; q < QUERIES; ++q)
        first[q] = (psv_ray_hit){rays[q].t_max, PSV_NO_ITEM, 0, 0};
    psv_buffer data = upload(rays, sizeof rays), target = upload(first, sizeof first);
    const psv_query_set set = psv_queries_of(data, sizeof *rays, QUERIES);
    const psv_query_lists lists = {.results = target, .each = 1, .in_order = true};
    CHECK(psv_trace_all(tree, &set, &lists));
    CHECK(psv_download(context, first, target, sizeof first));
    psv_free_buffer(context, &data);
    psv_free_buffer(context, &target);
    for (uint32_t q = 0; q < QUERIES; ++q) {
        const bool hit = closest[q].item != PSV_NO_ITEM;
        *hit_count += hit;
        if (memcmp(&closest[q], &first[q], sizeof *closest) != 0 || any[q] != (uint32_t)hit)
            fail_msg("--seed %llu: closest hit %u at %.9g, first of all %u at %.9g, any %u",
                     (unsigned long long)base_seed, closest[q].item, (double)closest[q].t, first[q].item,
                     (double)first[q].t, any[q]);
        if (hit && !(closest[q].t >= rays[q].t_min && closest[q].t <= rays[q].t_max))
            fail_msg("t is %.9g; the ray is from %.9g to %.9g", (double)closest[q].t, (double)rays[q].t_min,
                     (double)rays[q].t_max);
    }
}

static void test_lengths(void **state) {
    (void)state;
    psv_tree *tree = make_tree(PSV_TREE_LINEAR);
    static psv_aabb boxes[MOST];
    static float vertices[MOST * 9];
    uint32_t hits = 0;
    for (uint32_t i = 0; i < MOST; ++i)
        for (int k = 0; k < 3; ++k) {
            boxes[i].min[k] = 3 * draw() - 0.2f;
            boxes[i].max[k] = boxes[i].min[k] + (float)draw_below(3);
        }
    for (uint32_t i = 0; i < MOST * 9; ++i)
        vertices[i] = 3 * draw();
    psv_buffer memory = upload(boxes, sizeof boxes), corners = upload(vertices, sizeof vertices);
    const psv_box_set set = psv_boxes_of(memory, sizeof *boxes, MOST);
    const psv_triangle_set triangles = psv_triangles_of(corners, (uint64_t)3 * MOST, (psv_buffer){0}, MOST);
    CHECK(psv_build_tree(tree, &set));
    for (int turn = 0; turn < 10; ++turn)
        check_lengths(tree, &hits);
    CHECK(psv_build_triangle_tree(tree, &triangles));
    for (int turn = 0; turn < 10; ++turn)
        check_lengths(tree, &hits);
    assert_true(hits > 500);
    psv_free_buffer(context, &memory);
    psv_free_buffer(context, &corners);
    psv_destroy_tree(tree);
}

// --- boxes without end -----------------------------------------------------------------------------------------------

static float counted(float a) { return fmaxf(fminf(a, 0x1p126f), -0x1p126f); }

// Two trees and a double loop over coordinates as the header says they count.
static void test_huge(void **state) {
    static const float places[] = {-INFINITY, -3e38f, -1e38f, -8e37f, -1e36f, 0,
                                   1,         1e30f,  8e37f,  1e38f,  2e38f,  INFINITY};
    static psv_aabb boxes[MOST], around[QUERIES];
    static uint32_t counts[2][QUERIES];
    static psv_ray_hit hits[2][QUERIES];
    static psv_closest_point points[2][QUERIES];
    (void)state;
    psv_tree *trees[2] = {make_tree(PSV_TREE_LINEAR), make_tree(PSV_TREE_FINE)};
    for (uint32_t i = 0; i < MOST + QUERIES; ++i)
        for (int k = 0; k < 3; ++k) {
            psv_aabb *box = i < MOST ? &boxes[i] : &around[i - MOST];
            const uint32_t a = draw_below(12), b = draw_below(12);
            box->min[k] = places[a < b ? a : b], box->max[k] = places[a < b ? b : a];
        }
    for (uint32_t q = 0; q < QUERIES; ++q) {
        for (int k = 0; k < 3; ++k) {
            rays[q].origin[k] = draw_below(2) ? draw() : 1e36f * draw();
            rays[q].direction[k] = draw_below(3) == 0 ? 0 : draw();
            spheres[q].centre[k] = places[draw_below(12)];
        }
        rays[q].t_min = draw_below(2) ? 0 : places[5 + draw_below(6)], rays[q].t_max = INFINITY;
        spheres[q].radius = 0;
    }
    psv_buffer memory = upload(boxes, sizeof boxes), data = upload(around, sizeof around);
    psv_buffer target = upload(counts[0], sizeof counts[0]);
    const psv_box_set set = psv_boxes_of(memory, sizeof *boxes, MOST);
    const psv_query_set queries = psv_queries_of(data, sizeof *around, QUERIES);
    for (int quality = 0; quality < 2; ++quality) {
        const psv_query_lists lists = {.counts = target};
        CHECK(psv_build_tree(trees[quality], &set));
        CHECK(psv_overlap_boxes(trees[quality], &queries, &lists));
        CHECK(psv_download(context, counts[quality], target, sizeof counts[0]));
        ask(trees[quality], psv_trace_closest, rays, sizeof *rays, QUERIES, hits[quality], sizeof hits[0]);
        ask(trees[quality], psv_find_closest, spheres, sizeof *spheres, QUERIES, points[quality], sizeof points[0]);
    }
    assert_memory_equal(hits[0], hits[1], sizeof hits[0]);
    assert_memory_equal(points[0], points[1], sizeof points[0]);
    for (uint32_t q = 0; q < QUERIES; ++q) {
        uint32_t touched = 0, holds = 0;
        for (uint32_t i = 0; i < MOST; ++i) {
            bool touches = true, inside = true;
            for (int k = 0; k < 3; ++k) {
                const float low = counted(boxes[i].min[k]), high = counted(boxes[i].max[k]);
                const float centre = counted(spheres[q].centre[k]);
                touches = touches && low <= counted(around[q].max[k]) && high >= counted(around[q].min[k]);
                inside = inside && low <= centre && centre <= high;
            }
            touched += touches, holds += inside;
        }
        assert_int_equal(counts[0][q], touched);
        assert_int_equal(counts[1][q], touched);
        assert_int_equal(points[0][q].item != PSV_NO_ITEM, holds > 0);
    }
    psv_free_buffer(context, &memory);
    psv_free_buffer(context, &data);
    psv_free_buffer(context, &target);
    psv_destroy_tree(trees[0]);
    psv_destroy_tree(trees[1]);
}

int main(int argc, char **argv) {
    const number_option options[] = {{"--seed", &base_seed}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_huge),
    };
    return RUN_BACKEND_TESTS("tree_scales", &def, &context, tests);
}
