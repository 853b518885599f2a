// Vertices within a number of edges of each vertex.
#ifndef PAIRSIEVE_ELEMENT_RINGS_H
#define PAIRSIEVE_ELEMENT_RINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct psvi_rings {
    uint32_t *begins; // vertices + 1
    uint32_t *near;   // of each vertex, ascending, without itself
    uint64_t count;   // of `near`
} psvi_rings;

// In host memory. Sides of faces are edges too. False, and nothing taken, when there is no memory.
bool psvi_make_rings(psvi_rings *rings, uint32_t steps, uint64_t vertices, const uint32_t *edge_vertices,
                     uint64_t edges, const uint32_t *face_vertices, uint64_t faces);
void psvi_free_rings(psvi_rings *rings);

#endif
