// Neighbours within a radius against all pairs: floats and doubles, dimensions, worlds, lattices whose distances equal
// the radius, far and uneven points, queries, the nearest ones, threads; too little memory; misuse.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../core/counted_memory.h"
#include "pairsieve/neighbours.h"

#define MOST_POINTS 700

static uint64_t seed = 20261126;

static uint64_t next_random(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

static double random_unit(void) { return (double)next_random() / 2147483648.0; }

static psv_context *make_context(int workers, const psv_allocator *allocator) {
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = workers;
    if (allocator != NULL) def.allocator = *allocator;
    assert_int_equal(psv_create_context(&def, &context), PSV_OK);
    return context;
}

// --- cases -----------------------------------------------------------------------------------------------------------

typedef struct point_case {
    uint32_t dimensions, stride; // stride: numbers from point to point
    uint64_t points, queries;    // queries 0: the points
    bool doubles, itself, wide;
    uint32_t most;
    uint32_t worlds; // 0: none
    double radius;
    void *coordinates[2];
    uint32_t *of_world[2];
} point_case;

static double coordinate(const point_case *one, int set, uint64_t point, uint32_t axis) {
    const uint64_t at = point * one->stride + axis;
    return one->doubles ? ((double *)one->coordinates[set])[at] : (double)((float *)one->coordinates[set])[at];
}

// Places of six kinds: even, on a lattice, in a clump with a few far away, in three clumps, far from 0, not finite.
static double place(int kind, double scale) {
    double x = random_unit();
    if (kind == 1) x = floor(x * 4) / 4;
    if (kind == 2 && next_random() % 16 == 0) x *= 1e4;
    if (kind == 3) x += 1000.0 * (double)(next_random() % 3);
    if (kind == 4) x += 10;
    if (kind == 5 && next_random() % 16 == 0) return next_random() % 2 ? (double)NAN : (double)INFINITY;
    return x * scale;
}

static void fill_set(point_case *one, int set, uint64_t count, int kind, double scale) {
    one->coordinates[set] = calloc(count * one->stride + 1, one->doubles ? 8 : 4);
    for (uint64_t i = 0; i < count * one->stride; ++i) {
        const double x = place(kind, scale);
        if (one->doubles)
            ((double *)one->coordinates[set])[i] = x;
        else
            ((float *)one->coordinates[set])[i] = (float)x;
    }
    one->of_world[set] = calloc(count + 1, sizeof(uint32_t));
    for (uint64_t i = 0; i < count && one->worlds > 0; ++i) // distant numbers too
        one->of_world[set][i] = (uint32_t)(next_random() % one->worlds) * (one->worlds > 100 ? 4000037u : 1u);
}

static point_case random_case(void) {
    static const uint64_t counts[] = {1, 2, 7, 8, 9, 33, 200, MOST_POINTS};
    static const double radii[] = {0, 0.01, 0.1, 0.25, 0.5, 2}, scales[] = {1, 1, 100, 1e-5, 1e7};
    static const uint32_t dimensions[] = {1, 2, 3, 3, 3, 4, 7};
    point_case one = {.dimensions = dimensions[next_random() % 7],
                      .points = counts[next_random() % 8],
                      .queries = next_random() % 3 == 0 ? counts[next_random() % 8] : 0,
                      .doubles = next_random() % 2,
                      .itself = next_random() % 2,
                      .wide = next_random() % 2,
                      .most = next_random() % 3 == 0 ? (uint32_t)(next_random() % 20) : 0,
                      .worlds = next_random() % 3 == 0 ? (next_random() % 2 ? 3 : 1000) : 0};
    const double scale = scales[next_random() % 5];
    const int kind = (int)(next_random() % 6);
    one.stride = one.dimensions + (uint32_t)(next_random() % 2);
    one.radius = radii[next_random() % 6] * scale;
    fill_set(&one, 0, one.points, kind, scale);
    fill_set(&one, 1, one.queries, kind, scale);
    return one;
}

static void free_case(point_case *one) {
    for (int set = 0; set < 2; ++set) {
        free(one->coordinates[set]);
        free(one->of_world[set]);
    }
}

static psv_point_set set_of(const point_case *one, int set, uint64_t count) {
    const uint64_t size = one->doubles ? 8 : 4;
    return (psv_point_set){.coordinates = psv_buffer_of(one->coordinates[set], count * one->stride * size),
                           .stride = one->stride * size,
                           .count = count,
                           .worlds = one->worlds == 0 ? (psv_buffer){0} : psv_buffer_of(one->of_world[set], count * 4)};
}

static psv_neighbour_search search_of(const point_case *one) {
    psv_neighbour_search search = psv_default_neighbour_search();
    search.points = set_of(one, 0, one->points);
    search.between = one->queries > 0;
    if (search.between) search.queries = set_of(one, 1, one->queries);
    search.itself = one->itself;
    search.doubles = one->doubles;
    search.distances = true;
    search.dimensions = one->dimensions;
    search.most = one->most;
    search.radius = one->radius;
    return search;
}

// --- all pairs -------------------------------------------------------------------------------------------------------

typedef struct near_point {
    double square;
    uint64_t index;
} near_point;

static int by_distance(const void *a, const void *b) {
    const near_point *x = a, *y = b;
    if (x->square != y->square) return x->square < y->square ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static int by_index(const void *a, const void *b) {
    return ((const near_point *)a)->index < ((const near_point *)b)->index ? -1 : 1;
}

static uint64_t expected_row(const point_case *one, uint64_t query, near_point *row) {
    const int set = one->queries > 0;
    uint64_t count = 0;
    for (uint64_t i = 0; i < one->points; ++i) {
        double square = 0;
        for (uint32_t axis = 0; axis < one->dimensions; ++axis) {
            const double x = coordinate(one, 0, i, axis) - coordinate(one, set, query, axis);
            square += x * x;
        }
        if (!(square <= one->radius * one->radius)) continue;
        if (set == 0 && i == query && !one->itself) continue;
        if (one->worlds > 0 && one->of_world[0][i] != one->of_world[set][query]) continue;
        row[count++] = (near_point){square, i};
    }
    qsort(row, count, sizeof *row, by_distance);
    if (one->most > 0 && count > one->most) count = one->most;
    qsort(row, count, sizeof *row, by_index);
    return count;
}

static uint64_t index_at(const point_case *one, const void *indices, uint64_t i) {
    return one->wide ? ((const uint64_t *)indices)[i] : ((const uint32_t *)indices)[i];
}

static void compare(psv_neighbour_finder *finder, const point_case *one, uint64_t count, int number) {
    const uint64_t queries = one->queries > 0 ? one->queries : one->points;
    uint64_t *offsets = malloc((queries + 1) * 8), *indices = malloc(count * 8 + 8), *centres = malloc(count * 8 + 8);
    double *distances = malloc(count * 8 + 8);
    near_point *row = malloc(one->points * sizeof *row);
    const uint64_t size = one->wide ? 8 : 4;
    const psv_neighbour_lists lists = {psv_buffer_of(offsets, (queries + 1) * 8), psv_buffer_of(indices, count * size),
                                       psv_buffer_of(centres, count * size),
                                       psv_buffer_of(distances, count * (one->doubles ? 8 : 4)), one->wide};
    assert_int_equal(psv_write_neighbours(finder, &lists), PSV_OK);
    assert_int_equal(offsets[queries], count);
    for (uint64_t query = 0, at = 0; query < queries; ++query) {
        const uint64_t expected = expected_row(one, query, row);
        if (offsets[query] != at || offsets[query + 1] != at + expected)
            fail_msg("case %d, query %llu: %llu neighbours expected", number, (unsigned long long)query,
                     (unsigned long long)expected);
        for (uint64_t i = 0; i < expected; ++i, ++at) {
            assert_int_equal(index_at(one, indices, at), row[i].index);
            assert_int_equal(index_at(one, centres, at), query);
            const double distance = sqrt(row[i].square);
            if (one->doubles)
                assert_true(distances[at] == distance);
            else
                assert_true(((float *)distances)[at] == (float)distance);
        }
    }
    free(offsets);
    free(indices);
    free(centres);
    free(distances);
    free(row);
}

static void test_random_points(void **state) {
    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int workers = 1; workers <= 3; workers += 2) {
        psv_context *context = make_context(workers, NULL);
        psv_neighbour_finder *finder = NULL;
        assert_int_equal(psv_create_neighbour_finder(context, &finder), PSV_OK);
        for (int number = 0; number < 300; ++number) {
            point_case one = random_case();
            const psv_neighbour_search search = search_of(&one);
            uint64_t count = 0;
            assert_int_equal(psv_find_neighbours(finder, &search, &count), PSV_OK);
            compare(finder, &one, count, number);
            free_case(&one);
        }
        psv_destroy_neighbour_finder(finder);
        psv_destroy_context(context);
    }
}

// Many points at one place behind many single ones: the estimate of the room is far too small, and cells have more
// points than are copied side by side.
static void test_crowd(void **state) {
    (void)state;
    enum { singles = 20000, crowd = 3000 };
    float *points = malloc((singles + crowd) * sizeof *points);
    for (int i = 0; i < singles; ++i)
        points[i] = 10.0f * (float)i;
    for (int i = singles; i < singles + crowd; ++i)
        points[i] = 5.0f;
    psv_context *context = make_context(2, NULL);
    psv_neighbour_finder *finder = NULL;
    assert_int_equal(psv_create_neighbour_finder(context, &finder), PSV_OK);
    psv_neighbour_search search = psv_default_neighbour_search();
    search.points.coordinates = psv_buffer_of(points, (singles + crowd) * sizeof *points);
    search.points.count = singles + crowd;
    search.dimensions = 1;
    search.radius = 1;
    uint64_t count = 0;
    assert_int_equal(psv_find_neighbours(finder, &search, &count), PSV_OK);
    assert_int_equal(count, (uint64_t)crowd * (crowd - 1));
    uint32_t *indices = malloc(count * sizeof *indices);
    const psv_neighbour_lists lists = {.indices = psv_buffer_of(indices, count * sizeof *indices)};
    assert_int_equal(psv_write_neighbours(finder, &lists), PSV_OK);
    for (uint64_t i = 0; i < count; ++i) {
        const uint32_t own = (uint32_t)(i / (crowd - 1)), other = (uint32_t)(i % (crowd - 1));
        if (indices[i] != singles + other + (other >= own)) fail_msg("neighbour %llu", (unsigned long long)i);
    }
    search.most = 5;
    assert_int_equal(psv_find_neighbours(finder, &search, &count), PSV_OK);
    assert_int_equal(count, (uint64_t)crowd * 5);
    free(indices);
    free(points);
    psv_destroy_neighbour_finder(finder);
    psv_destroy_context(context);
}

// --- memory and misuse -----------------------------------------------------------------------------------------------

typedef struct scarce_memory {
    counted_memory counted;
    int remaining; // allocations
} scarce_memory;

static void *scarce_allocate(uint64_t bytes, void *user) {
    scarce_memory *memory = user;
    if (memory->remaining-- <= 0) return NULL;
    return counted_allocate(bytes, &memory->counted);
}

static void scarce_release(void *address, uint64_t bytes, void *user) {
    counted_release(address, bytes, &((scarce_memory *)user)->counted);
}

static void test_no_memory(void **state) {
    (void)state;
    int failures = 0;
    for (int allowed = 0; allowed < 40; ++allowed) {
        scarce_memory memory = {.counted = {.backend = PSV_BACKEND_CPU}, .remaining = 1000};
        const psv_allocator allocator = {scarce_allocate, scarce_release, &memory};
        psv_context *context = make_context(1, &allocator);
        psv_neighbour_finder *finder = NULL;
        point_case one = random_case();
        const psv_neighbour_search search = search_of(&one);
        uint64_t count = 0;
        assert_int_equal(psv_create_neighbour_finder(context, &finder), PSV_OK);
        memory.remaining = allowed;
        const psv_status status = psv_find_neighbours(finder, &search, &count);
        if (status != PSV_OK) {
            ++failures;
            assert_int_equal(status, PSV_ERROR_MEMORY);
            memory.remaining = 1000; // and now there is enough
            assert_int_equal(psv_find_neighbours(finder, &search, &count), PSV_OK);
        }
        compare(finder, &one, count, allowed);
        free_case(&one);
        psv_destroy_neighbour_finder(finder);
        psv_destroy_context(context);
        assert_int_equal(memory.counted.held, 0);
    }
    assert_in_range(failures, 8, 30);
}

static void expect(psv_context *context, psv_neighbour_finder *finder, const psv_neighbour_search *search,
                   const char *sentence) {
    assert_int_equal(psv_find_neighbours(finder, search, NULL), PSV_ERROR_ARGUMENT);
    if (strstr(psv_last_error(context), sentence) == NULL) fail_msg("%s", psv_last_error(context));
}

static void test_misuse(void **state) {
    (void)state;
    float points[6] = {0};
    psv_context *context = make_context(1, NULL);
    psv_neighbour_finder *finder = NULL;
    const psv_neighbour_lists nothing = {0};
    assert_int_equal(psv_create_neighbour_finder(NULL, &finder), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_create_neighbour_finder(context, NULL), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_create_neighbour_finder(context, &finder), PSV_OK);
    assert_int_equal(psv_write_neighbours(finder, &nothing), PSV_ERROR_ARGUMENT);
    expect(context, finder, NULL, "search is NULL");
    psv_neighbour_search good = psv_default_neighbour_search(), bad = good;
    good.points = (psv_point_set){.coordinates = psv_buffer_of(points, sizeof points), .count = 2};
    bad.cookie = 0;
    expect(context, finder, &bad, "psv_default_neighbour_search");
    bad = good, bad.radius = -1;
    expect(context, finder, &bad, "search.radius is -1");
    bad = good, bad.radius = (double)NAN;
    expect(context, finder, &bad, "search.radius");
    bad = good, bad.dimensions = 0;
    expect(context, finder, &bad, "search.dimensions is 0");
    bad = good, bad.points.count = 3;
    expect(context, finder, &bad, "points.coordinates");
    bad = good, bad.points.stride = 8;
    expect(context, finder, &bad, "points.stride is 8");
    bad = good, bad.points.worlds = psv_buffer_of(points, 4);
    expect(context, finder, &bad, "points.worlds");
    bad = good, bad.between = true, bad.points.worlds = psv_buffer_of(points, 8);
    expect(context, finder, &bad, "give both or none");
    uint64_t count = 7, offsets[3];
    assert_int_equal(psv_find_neighbours(finder, &good, &count), PSV_OK);
    assert_int_equal(count, 2);
    psv_neighbour_lists lists = {.offsets = psv_buffer_of(offsets, 16)};
    assert_int_equal(psv_write_neighbours(finder, &lists), PSV_ERROR_ARGUMENT);
    lists = (psv_neighbour_lists){.distances = psv_buffer_of(points, sizeof points)};
    assert_int_equal(psv_write_neighbours(finder, &lists), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_write_neighbours(finder, NULL), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_write_neighbours(finder, &nothing), PSV_OK);
    good.points = (psv_point_set){0};
    lists = (psv_neighbour_lists){.offsets = psv_buffer_of(offsets, 8)};
    assert_int_equal(psv_find_neighbours(finder, &good, &count), PSV_OK);
    assert_int_equal(psv_write_neighbours(finder, &lists), PSV_OK);
    assert_int_equal(count + offsets[0], 0);
    psv_destroy_neighbour_finder(NULL);
    psv_destroy_neighbour_finder(finder);
    psv_destroy_context(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_points), cmocka_unit_test(test_crowd),
                                       cmocka_unit_test(test_no_memory), cmocka_unit_test(test_misuse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
