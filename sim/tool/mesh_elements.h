// Boxes of a mesh's vertices, edges and faces, at rest or swept from one frame to the next.
#ifndef PAIRSIEVE_TOOL_MESH_ELEMENTS_H
#define PAIRSIEVE_TOOL_MESH_ELEMENTS_H

#include "pairsieve/sim.h"

typedef enum mesh_elements { MESH_VERTICES = 0, MESH_EDGES = 1, MESH_FACES = 2, MESH_ALL = 3 } mesh_elements;

typedef struct mesh_edges {
    uint32_t (*edges)[2]; // the smaller vertex first
    uint64_t count;
} mesh_edges;

// The distinct vertex pairs of the faces, in order of (larger, smaller) vertex. False when memory ran out.
bool tool_mesh_edges(const psv_mesh *mesh, mesh_edges *edges);

// Boxes of the elements, each the bounds of its vertices in `mesh` and, unless it is NULL, in `end`, which has the same
// elements. With MESH_ALL: vertices, then edges, then faces. *boxes is to be freed; NULL when memory ran out.
uint64_t tool_mesh_boxes(const psv_mesh *mesh, const psv_mesh *end, const mesh_edges *edges, mesh_elements elements,
                         psv_aabb **boxes);

#endif
