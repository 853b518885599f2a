// Edges of a mesh and boxes of its elements.
#include "mesh_elements.h"

#include <math.h>
#include <stdlib.h>

static int compare_keys(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

bool tool_mesh_edges(const psv_mesh *mesh, mesh_edges *edges) {
    *edges = (mesh_edges){0};
    uint64_t count = 0;
    uint64_t *keys = malloc(((uint64_t)mesh->triangle_count * 3 + 1) * sizeof *keys);
    if (keys == NULL) return false;
    for (uint64_t t = 0; t < mesh->triangle_count; ++t) {
        const uint32_t *corners = mesh->triangles + 3 * t;
        for (int side = 0; side < 3; ++side) {
            uint64_t a = corners[side], b = corners[(side + 1) % 3];
            if (a != b) keys[count++] = a > b ? a << 32 | b : b << 32 | a;
        }
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    edges->edges = malloc((count + 1) * sizeof *edges->edges);
    for (uint64_t i = 0; i < count && edges->edges != NULL; ++i) {
        if (i > 0 && keys[i] == keys[i - 1]) continue;
        edges->edges[edges->count][0] = (uint32_t)keys[i];
        edges->edges[edges->count++][1] = (uint32_t)(keys[i] >> 32);
    }
    free(keys);
    return edges->edges != NULL;
}

static void include_vertex(psv_aabb *box, const psv_mesh *mesh, uint32_t vertex) {
    const float *position = mesh->positions + 3 * (uint64_t)vertex;
    for (int axis = 0; axis < 3; ++axis) {
        if (position[axis] < box->min[axis]) box->min[axis] = position[axis];
        if (position[axis] > box->max[axis]) box->max[axis] = position[axis];
    }
}

// A NaN has no place in an order: the box of a vertex that has one is bad, and is reported as such.
static void spoil_box(psv_aabb *box, const psv_mesh *mesh, uint32_t vertex) {
    const float *position = mesh->positions + 3 * (uint64_t)vertex;
    for (int axis = 0; axis < 3; ++axis) {
        if (isnan(position[axis])) box->min[axis] = box->max[axis] = NAN;
    }
}

static psv_aabb element_box(const psv_mesh *mesh, const psv_mesh *end, const uint32_t *vertices, int count) {
    psv_aabb box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (int i = 0; i < count; ++i)
        include_vertex(&box, mesh, vertices[i]);
    for (int i = 0; i < count && end != NULL; ++i)
        include_vertex(&box, end, vertices[i]);
    for (int i = 0; i < count; ++i) {
        spoil_box(&box, mesh, vertices[i]);
        if (end != NULL) spoil_box(&box, end, vertices[i]);
    }
    return box;
}

uint64_t tool_mesh_boxes(const psv_mesh *mesh, const psv_mesh *end, const mesh_edges *edges, mesh_elements elements,
                         psv_aabb **boxes) {
    bool vertices = elements == MESH_VERTICES || elements == MESH_ALL;
    bool with_edges = elements == MESH_EDGES || elements == MESH_ALL;
    bool faces = elements == MESH_FACES || elements == MESH_ALL;
    uint64_t count = (vertices ? mesh->vertex_count : 0) + (with_edges ? edges->count : 0) +
                     (faces ? (uint64_t)mesh->triangle_count : 0);
    psv_aabb *box = *boxes = malloc((count + 1) * sizeof **boxes);
    if (*boxes == NULL) return 0;
    for (uint32_t v = 0; vertices && v < mesh->vertex_count; ++v)
        *box++ = element_box(mesh, end, &v, 1);
    for (uint64_t e = 0; with_edges && e < edges->count; ++e)
        *box++ = element_box(mesh, end, edges->edges[e], 2);
    for (uint64_t t = 0; faces && t < mesh->triangle_count; ++t)
        *box++ = element_box(mesh, end, mesh->triangles + 3 * t, 3);
    return count;
}
