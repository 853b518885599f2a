// collision/cpu/rows_grid: the maps that rows are built on are monotone and bring nothing farther apart, whatever the
// boxes are, and boxes that overlap stay in reach of each other. That is all that the correctness of `rows` rests on.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collision/cpu/rows_grid.h"
#include "tests/cases/box_scenes.h"

#define COUNT 3000
#define PROBES 4000

typedef struct grid_case {
    psv_aabb boxes[COUNT];
    rows_grid grid;
    rows_sizes sizes;
    rows_sample sample;
    float probes[3][PROBES];
} grid_case;

static void measure(grid_case *test, uint64_t count, uint32_t worlds) {
    psvi_frame_result result = {0};
    psvi_find_input input = {.world_count = worlds, .result = &result};
    input.a = (psvi_box_view){.min = (const char *)test->boxes,
                              .max = (const char *)test->boxes + 12,
                              .min_stride = sizeof(psv_aabb),
                              .max_stride = sizeof(psv_aabb),
                              .count = count,
                              .room = count};
    memset(&test->sizes, 0, sizeof test->sizes);
    rows_begin_grid(&test->grid, &test->sample, &input);
    uint64_t live = 0;
    for (uint64_t i = 0; i < count; ++i) {
        float box[6], ext[3];
        if (psvi_judge_box(&input, i, box) != PSVI_BOX_LIVE) continue;
        for (int k = 0; k < 6; ++k)
            box[k] = rows_scaled(&test->grid, box[k]);
        uint32_t b = rows_size_binade(&test->grid, box, ext);
        test->sizes.count[b]++;
        for (int k = 0; k < 3; ++k)
            test->sizes.ext[b][k] = fmaxf(test->sizes.ext[b][k], ext[k]);
        ++live;
    }
    rows_finish_grid(&test->grid, &test->sample, &test->sizes, live, worlds, 16);
}

static int compare_float(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// Ascending coordinates of one axis: those of the boxes, their neighbours, and the extremes.
static void make_probes(grid_case *test, uint64_t count, int k, uint64_t seed) {
    static const float extremes[] = {-INFINITY, -FLT_MAX, -1e30f, -1,    -FLT_TRUE_MIN, -0.0f,
                                     0.0f,      1e-40f,   1,      1e30f, FLT_MAX,       INFINITY};
    float *probes = test->probes[k];
    for (uint32_t p = 0; p < PROBES; ++p) {
        const psv_aabb *box = &test->boxes[box_random_bits(seed, p, 0) % count];
        float x = p % 2 ? box->min[test->grid.axis[k]] : box->max[test->grid.axis[k]];
        if (p % 5 == 1) x = nextafterf(x, INFINITY);
        if (p % 5 == 2) x = nextafterf(x, -INFINITY);
        if (p < 12) x = extremes[p];
        probes[p] = isnan(x) ? 0 : x;
    }
    qsort(probes, PROBES, sizeof *probes, compare_float);
}

static void check_maps(const grid_case *test, const char *scene) {
    const rows_grid *grid = &test->grid;
    for (int k = 0; k < 3; ++k) {
        const float *x = test->probes[k];
        for (uint32_t p = 1; p < PROBES; ++p) {
            const float left = rows_scaled(grid, x[p - 1]), right = rows_scaled(grid, x[p]);
            float near = rows_distance(grid, k, left), far = rows_distance(grid, k, right);
            if (!(near >= 0 && near <= far && far <= grid->along[k].length))
                fail_msg("%s, axis %d: %a -> %a, %a -> %a (length %a)", scene, k, (double)x[p - 1], (double)near,
                         (double)x[p], (double)far, (double)grid->along[k].length);
            if (k == 0) assert_true(rows_quantise(grid, left) <= rows_quantise(grid, right));
            for (uint32_t l = 0; k > 0 && l < grid->level_count; ++l) {
                const rows_level *level = &grid->levels[l];
                float inv = k == 1 ? level->inv_y : level->inv_z;
                uint32_t n = k == 1 ? level->ny : level->nz;
                assert_true(rows_cell(grid, k, left, inv, n) <= rows_cell(grid, k, right, inv, n));
                assert_true(rows_cell(grid, k, right, inv, n) < n);
            }
        }
    }
}

static void scale_box(const rows_grid *grid, const float from[6], float to[6]) {
    for (int k = 0; k < 6; ++k)
        to[k] = rows_scaled(grid, from[k]);
}

// Two boxes, scaled, that overlap: the sweep of the one finds the place of the other.
static void check_reach(const grid_case *test, const float a[6], const float b[6], const char *scene) {
    const rows_grid *grid = &test->grid;
    float ext[3];
    uint32_t l = grid->level_of[rows_size_binade(grid, b, ext)];
    if (l == grid->level_count) return;
    const rows_level *level = &grid->levels[l];
    uint32_t q = rows_quantise(grid, a[grid->axis[0]]), q_b = rows_quantise(grid, b[grid->axis[0]]);
    uint32_t from = q > level->q_ext ? q - level->q_ext : 0;
    if (q_b < from || q_b > rows_quantise(grid, a[3 + grid->axis[0]]))
        fail_msg("%s: swept from %u to %u, but the box begins at %u", scene, from,
                 rows_quantise(grid, a[3 + grid->axis[0]]), q_b);
    for (int k = 1; k < 3; ++k) {
        float inv = k == 1 ? level->inv_y : level->inv_z;
        uint32_t n = k == 1 ? level->ny : level->nz;
        float low = rows_clamp(a[grid->axis[k]], grid->low[k], grid->high[k]) - level->ext[k];
        uint32_t row = rows_cell(grid, k, b[grid->axis[k]], inv, n);
        if (row < rows_cell(grid, k, low, inv, n) || row > rows_cell(grid, k, a[3 + grid->axis[k]], inv, n))
            fail_msg("%s: row %u of axis %d is not in reach", scene, row, k);
    }
}

// The row of a box's key is found back, and its cells lie within the table.
static void check_home(const rows_grid *grid, const float box[6], uint32_t row, uint32_t l) {
    const rows_level *level = &grid->levels[l];
    rows_home home;
    rows_find_home(grid, row, &home);
    assert_int_equal(home.level, l);
    assert_int_equal(home.y, rows_cell(grid, 1, box[grid->axis[1]], level->inv_y, level->ny));
    assert_int_equal(home.z, rows_cell(grid, 2, box[grid->axis[2]], level->inv_z, level->nz));
    assert_int_equal(grid->q_limit >> level->shift, level->cells - 1);
    assert_true(home.cell + level->cells <= grid->cell_count);
}

static void check_keys(const grid_case *test, uint64_t count, const char *scene) {
    const rows_grid *grid = &test->grid;
    assert_true(grid->key_bits <= 32);
    assert_true((uint64_t)grid->row_count <= rows_table_limit(count));
    assert_true(grid->cell_count >= grid->row_count && (uint64_t)grid->cell_count <= rows_table_limit(count));
    for (uint64_t i = 0; i < count; ++i) {
        float own[6], other[6], a[6], b[6];
        memcpy(own, &test->boxes[i], sizeof own);
        if (psvi_box_is_bad(own, own + 3)) continue;
        float ext[3];
        scale_box(grid, own, a);
        const uint32_t size = rows_size_binade(grid, a, ext), key = rows_key(grid, size, own, 0);
        const uint32_t row = key >> grid->x_bits;
        assert_true(row <= grid->row_count);
        if (row < grid->row_count) check_home(grid, a, row, grid->level_of[size]);
        for (uint64_t j = 0; j < count; j += 7) {
            memcpy(other, &test->boxes[j], sizeof other);
            if (psvi_box_is_bad(other, other + 3) || !psvi_boxes_overlap(own, own + 3, other, other + 3)) continue;
            scale_box(grid, other, b);
            check_reach(test, a, b, scene);
        }
    }
}

static void test_every_scene(void **state) {
    (void)state;
    grid_case *test = calloc(1, sizeof *test);
    for (uint32_t s = 0; box_scene_at(s) != NULL; ++s) {
        const char *scene = box_scene_at(s)->name;
        for (uint64_t seed = 0; seed < 4; ++seed) {
            static const uint64_t counts[4] = {COUNT, 500, 40, 2};
            static const uint32_t worlds[4] = {1, 1, 64, 1000000};
            box_scene_at(s)->make(test->boxes, counts[seed], seed);
            measure(test, counts[seed], worlds[seed]);
            for (int k = 0; k < 3; ++k)
                make_probes(test, counts[seed], k, seed);
            check_maps(test, scene);
            check_keys(test, counts[seed], scene);
        }
    }
    free(test);
}

// Two groups far apart: the gap between them takes no rows, and the map stays what it must be.
static void test_gaps(void **state) {
    (void)state;
    grid_case *test = calloc(1, sizeof *test);
    box_scene_named("far")->make(test->boxes, COUNT, 1);
    measure(test, COUNT, 1);
    for (int k = 0; k < 3; ++k) {
        assert_true(test->grid.along[k].gaps >= 1);
        assert_true(test->grid.along[k].length < 0.1f * (test->grid.high[k] - test->grid.low[k]));
    }
    free(test);
}

static void test_no_boxes(void **state) {
    (void)state;
    grid_case *test = calloc(1, sizeof *test);
    measure(test, 0, 1);
    assert_int_equal(test->grid.level_count, 0);
    assert_int_equal(test->grid.row_count, 0);
    free(test);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_scene), cmocka_unit_test(test_gaps),
                                       cmocka_unit_test(test_no_boxes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
