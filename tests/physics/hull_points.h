// Points of hulls for the tests of physics, and vectors in double for their oracles.
#ifndef PAIRSIEVE_TEST_HULL_POINTS_H
#define PAIRSIEVE_TEST_HULL_POINTS_H

#include "stage.h"

#include <math.h>
#include <string.h>

static const float tetrahedron[] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1};
static const float octahedron[] = {1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1};

static inline float random_float(uint64_t *seed) { // -1 to 1
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (float)(*seed >> 40) / 8388608.0f - 1;
}

static inline psv_shape_def hull_of(const float *points, uint32_t count) {
    psv_shape_def def = psv_default_shape_def();
    def.type = PSV_SHAPE_HULL;
    def.vertices = points;
    def.vertex_count = count;
    return def;
}

static inline void box_points(float x, float y, float z, float points[24]) {
    for (int i = 0; i < 8; ++i) {
        points[3 * i] = i & 1 ? x : -x;
        points[3 * i + 1] = i & 2 ? y : -y;
        points[3 * i + 2] = i & 4 ? z : -z;
    }
}

// Corners of the platonic solids with 4, 6, 8, 12 and 20 faces, as far from the middle as `radius`.
static inline uint32_t die_points(int faces, float radius, float points[60]) {
    const float g = 1.6180340f, h = 1 / g;
    uint32_t n = 0;
    if (faces == 4) {
        memcpy(points, tetrahedron, sizeof tetrahedron);
        n = 4;
    } else if (faces == 8) {
        memcpy(points, octahedron, sizeof octahedron);
        n = 6;
    } else if (faces == 6 || faces == 12) {
        box_points(1, 1, 1, points);
        n = 8;
    }
    for (int i = 0; i < 12 && (faces == 12 || faces == 20); ++i) {
        const float a = (i & 1 ? 1.0f : -1.0f) * (faces == 12 ? h : 1), b = (i & 2 ? 1.0f : -1.0f) * g;
        float *p = points + 3 * n++;
        p[i / 4] = 0;
        p[(i / 4 + 1) % 3] = a;
        p[(i / 4 + 2) % 3] = b;
    }
    for (uint32_t i = 0; i < n; ++i) {
        float *p = points + 3 * i;
        const float scale = radius / sqrtf(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        for (int k = 0; k < 3; ++k)
            p[k] *= scale;
    }
    return n;
}

typedef struct d3 {
    double x[3];
} d3;

static inline d3 at(const float *points, uint32_t i) {
    return (d3){{(double)points[3 * i], (double)points[3 * i + 1], (double)points[3 * i + 2]}};
}
static inline d3 minus(d3 a, d3 b) { return (d3){{a.x[0] - b.x[0], a.x[1] - b.x[1], a.x[2] - b.x[2]}}; }
static inline double dot(d3 a, d3 b) { return a.x[0] * b.x[0] + a.x[1] * b.x[1] + a.x[2] * b.x[2]; }
static inline d3 cross(d3 a, d3 b) {
    return (d3){
        {a.x[1] * b.x[2] - a.x[2] * b.x[1], a.x[2] * b.x[0] - a.x[0] * b.x[2], a.x[0] * b.x[1] - a.x[1] * b.x[0]}};
}

static inline d3 rotated(const float q[4], d3 a) {
    const d3 u = {{(double)q[0], (double)q[1], (double)q[2]}}, t = cross(u, a), c = cross(u, t);
    d3 r;
    for (int k = 0; k < 3; ++k)
        r.x[k] = a.x[k] + 2 * ((double)q[3] * t.x[k] + c.x[k]);
    return r;
}

#endif
