// Normals of a mesh's corners: smooth over bent surfaces, flat on both sides of an edge.
#ifndef PAIRSIEVE_VIEW_MESH_NORMALS_H
#define PAIRSIEVE_VIEW_MESH_NORMALS_H

#include <stdbool.h>
#include <stdint.h>

#define VIEW_CREASE_COSINE 0.82f // triangles that bend by more (35 degrees) keep normals of their own

typedef struct view_corners {
    float *vertices; // x, y, z and a unit normal (0 where triangles have no area), 6 floats each
    uint32_t vertex_count;
    uint32_t *indices; // 3 a triangle, in the triangles' order
} view_corners;

// A vertex whose triangles all bend by less than the crease has one normal, their mean by area. Any other vertex is
// split: each triangle's corner has the mean of the triangles there that bend little against it. positions: 3 floats a
// vertex; indices: 3 a triangle, each below vertex_count. False without memory. The caller frees both arrays.
bool view_make_corners(view_corners *corners, const float *positions, uint32_t vertex_count, const uint32_t *indices,
                       uint32_t triangle_count);

#endif
