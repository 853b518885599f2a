// Normals of mesh corners: flat at edges, smooth over balls. No OpenGL is needed.
#include "mesh_normals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

// The corner lies where its triangle's does. Returns the normal.
static const float *corner(const view_corners *corners, const float *positions, const uint32_t *indices, uint32_t i) {
    const float *vertex = corners->vertices + 6 * (size_t)corners->indices[i];
    assert_true(corners->indices[i] < corners->vertex_count);
    for (uint32_t k = 0; k < 3; ++k)
        assert_true(vertex[k] == positions[3 * (size_t)indices[i] + k]);
    return vertex + 3;
}

static void test_cube(void **state) {
    (void)state;
    static const float cube[24] = {-1, -1, -1, 1, -1, -1, -1, 1, -1, 1, 1, -1, -1, -1, 1, 1, -1, 1, -1, 1, 1, 1, 1, 1};
    static const uint32_t sides[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                       2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
    static const float normals[6][3] = {{0, 0, -1}, {0, 0, 1}, {0, -1, 0}, {0, 1, 0}, {-1, 0, 0}, {1, 0, 0}};
    view_corners corners;
    assert_true(view_make_corners(&corners, cube, 8, sides, 12));
    for (uint32_t i = 0; i < 36; ++i) {
        const float *normal = corner(&corners, cube, sides, i);
        for (uint32_t k = 0; k < 3; ++k)
            assert_true(fabsf(normal[k] - normals[i / 6][k]) < 1e-6f);
    }
    free(corners.vertices);
    free(corners.indices);
}

enum { ROUNDS = 24, RINGS = 13 };

static void make_ball(float *positions, uint32_t *indices) {
    for (uint32_t ring = 0; ring <= RINGS; ++ring) {
        for (uint32_t k = 0; k < ROUNDS; ++k) {
            const double down = 3.14159265358979 * (ring + 0.5) / (RINGS + 1), around = 6.28318530717959 * k / ROUNDS;
            float *p = positions + 3 * (size_t)(ring * ROUNDS + k);
            p[0] = (float)(sin(down) * cos(around));
            p[1] = (float)cos(down);
            p[2] = (float)(sin(down) * sin(around));
        }
    }
    for (uint32_t ring = 0; ring < RINGS; ++ring) {
        for (uint32_t k = 0; k < ROUNDS; ++k) {
            const uint32_t a = ring * ROUNDS + k, b = ring * ROUNDS + (k + 1) % ROUNDS;
            const uint32_t two[6] = {a, b, a + ROUNDS, b, b + ROUNDS, a + ROUNDS};
            for (uint32_t i = 0; i < 6; ++i)
                *indices++ = two[i];
        }
    }
}

static void test_ball(void **state) {
    (void)state;
    static float positions[3 * ROUNDS * (RINGS + 1)];
    static uint32_t indices[6 * ROUNDS * RINGS];
    const uint32_t vertices = ROUNDS * (RINGS + 1), corners_in_all = 6 * ROUNDS * RINGS;
    view_corners corners;
    make_ball(positions, indices);
    assert_true(view_make_corners(&corners, positions, vertices, indices, corners_in_all / 3));
    assert_int_equal(corners.vertex_count, vertices); // no vertex is split
    for (uint32_t i = 0; i < corners_in_all; ++i) {
        const float *normal = corner(&corners, positions, indices, i), *p = positions + 3 * (size_t)indices[i];
        assert_true(normal[0] * p[0] + normal[1] * p[1] + normal[2] * p[2] > 0.97f);
    }
    free(corners.vertices);
    free(corners.indices);
}

// No triangles, triangles without area, and one vertex of very many triangles.
static void test_odd_meshes(void **state) {
    (void)state;
    enum { FAN = 1000 };
    static float fan[3 * (FAN + 2)];
    static uint32_t triangles[3 * FAN];
    const uint32_t flat[3] = {0, 1, 1};
    view_corners corners;
    assert_true(view_make_corners(&corners, fan, 2, flat, 0));
    assert_int_equal(corners.vertex_count, 2);
    free(corners.vertices);
    free(corners.indices);
    assert_true(view_make_corners(&corners, fan, 2, flat, 1));
    assert_true(corners.vertices[3] == 0 && corners.vertices[4] == 0 && corners.vertices[5] == 0);
    free(corners.vertices);
    free(corners.indices);
    for (uint32_t i = 0; i <= FAN; ++i) {
        fan[3 * i + 3] = (float)cos(6.28 * i / FAN);
        fan[3 * i + 4] = (float)sin(6.28 * i / FAN);
        const uint32_t three[3] = {0, i + 1, i + 2};
        for (uint32_t k = 0; k < 3 && i < FAN; ++k)
            triangles[3 * i + k] = three[k];
    }
    assert_true(view_make_corners(&corners, fan, FAN + 2, triangles, FAN));
    for (uint32_t i = 0; i < 3 * FAN; ++i)
        assert_true(corner(&corners, fan, triangles, i)[2] > 0.999f);
    free(corners.vertices);
    free(corners.indices);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cube),
        cmocka_unit_test(test_ball),
        cmocka_unit_test(test_odd_meshes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
