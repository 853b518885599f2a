// Meshes for the tests of physics: grids, closed boxes and bowls, as corners and triangles.
#ifndef PAIRSIEVE_TEST_MESH_POINTS_H
#define PAIRSIEVE_TEST_MESH_POINTS_H

#include "hull_points.h"

#include <stdlib.h>

typedef struct mesh_points {
    float *vertices;
    uint32_t *indices;
    uint32_t vertex_count, triangle_count;
} mesh_points;

static inline mesh_points mesh_room(uint32_t vertices, uint32_t triangles) {
    mesh_points m = {malloc(12 * (size_t)vertices), malloc(12 * (size_t)triangles), 0, 0};
    assert_true(m.vertices != NULL && m.indices != NULL);
    return m;
}

static inline void mesh_free(mesh_points *m) {
    free(m->vertices);
    free(m->indices);
}

static inline uint32_t mesh_vertex(mesh_points *m, double x, double y, double z) {
    float *p = m->vertices + 3 * (size_t)m->vertex_count;
    p[0] = (float)x;
    p[1] = (float)y;
    p[2] = (float)z;
    return m->vertex_count++;
}

static inline void mesh_triangle(mesh_points *m, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t *i = m->indices + 3 * (size_t)m->triangle_count++;
    i[0] = a;
    i[1] = b;
    i[2] = c;
}

typedef double (*height_of)(double x, double z);
static inline double flat_height(double x, double z) {
    (void)x;
    (void)z;
    return 0;
}

// A grid of cells from (x, z) on, whose inner corners are moved by up to `jitter` cells in the plane; each cell's
// diagonal lies as chance wants where there is any.
static inline mesh_points mesh_grid(double x, double z, int columns, int rows, double cell, double jitter,
                                    height_of height) {
    mesh_points m = mesh_room((uint32_t)((columns + 1) * (rows + 1)), (uint32_t)(2 * columns * rows));
    uint64_t seed = 5;
    for (int r = 0; r <= rows; ++r)
        for (int c = 0; c <= columns; ++c) {
            const bool inner = r > 0 && c > 0 && r < rows && c < columns;
            const double dx = inner ? jitter * (double)random_float(&seed) : 0;
            const double dz = inner ? jitter * (double)random_float(&seed) : 0;
            const double px = x + cell * (c + dx), pz = z + cell * (r + dz);
            (void)mesh_vertex(&m, px, height(px, pz), pz);
        }
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
            const uint32_t a = (uint32_t)(r * (columns + 1) + c), b = a + 1, d = a + (uint32_t)columns + 1, e = d + 1;
            if (jitter > 0 && random_float(&seed) > 0) {
                mesh_triangle(&m, a, d, b);
                mesh_triangle(&m, b, d, e);
            } else {
                mesh_triangle(&m, a, e, b);
                mesh_triangle(&m, a, d, e);
            }
        }
    return m;
}

// A closed box of half extents `half` about `middle`, with `cells` cells along each edge.
static inline mesh_points mesh_box(const double middle[3], const double half[3], int cells) {
    const uint32_t side = (uint32_t)(cells + 1);
    mesh_points m = mesh_room(6 * side * side, 12 * (uint32_t)(cells * cells));
    for (int face = 0; face < 6; ++face) {
        const int axis = face / 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
        const double sign = face % 2 ? 1 : -1;
        const uint32_t first = m.vertex_count;
        for (int i = 0; i <= cells; ++i)
            for (int k = 0; k <= cells; ++k) {
                double p[3];
                p[axis] = middle[axis] + sign * half[axis];
                p[u] = middle[u] + half[u] * (2.0 * i / cells - 1);
                p[v] = middle[v] + half[v] * (2.0 * k / cells - 1);
                (void)mesh_vertex(&m, p[0], p[1], p[2]);
            }
        for (uint32_t i = 0; i < side - 1; ++i)
            for (uint32_t k = 0; k < side - 1; ++k) {
                const uint32_t a = first + i * side + k, b = a + side, c = b + 1, d = a + 1;
                mesh_triangle(&m, a, sign > 0 ? b : c, sign > 0 ? c : b);
                mesh_triangle(&m, a, sign > 0 ? c : d, sign > 0 ? d : c);
            }
    }
    return m;
}

static inline psv_shape_def mesh_shape(const mesh_points *m) {
    psv_shape_def def = psv_default_shape_def();
    def.type = PSV_SHAPE_MESH;
    def.vertices = m->vertices;
    def.vertex_count = m->vertex_count;
    def.indices = m->indices;
    def.triangle_count = m->triangle_count;
    return def;
}

static inline psv_body_id add_mesh(stage *s, const mesh_points *m, float friction) {
    psv_shape_def def = mesh_shape(m);
    def.friction = friction;
    const psv_body_def body = body_at(add_shape(s, &def), 0, 0, 0);
    return add_body(s, &body);
}

#endif
