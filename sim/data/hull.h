// Convex hulls as the narrow phase sees them: tables of one bounded size, for host and device.
#ifndef PAIRSIEVE_HULL_H
#define PAIRSIEVE_HULL_H

#include "sim_math.h"

#define PSVI_HULL_VERTICES 64
#define PSVI_HULL_FACES 124 // 2 v - 4
#define PSVI_HULL_EDGES 186 // 3 v - 6

// Vertices and planes lie in the shape's frame. A face is a polygon, counter-clockwise from outside.
typedef struct psvi_hull {
    psvi_f4 vertices[PSVI_HULL_VERTICES];
    psvi_f4 planes[PSVI_HULL_FACES];   // unit normal out of the hull; w: distance from the origin
    uint8_t edges[PSVI_HULL_EDGES][4]; // two vertices, the face in which they stand in this order, the other face
    uint16_t face_first[PSVI_HULL_FACES + 1]; // into `loop`
    uint8_t loop[2 * PSVI_HULL_EDGES];        // vertices of the faces, face after face
    uint8_t vertex_count, face_count, edge_count;
} psvi_hull;

// What is known of a hull besides its tables, in double: density 1.
typedef struct psvi_hull_mass {
    double volume, centre[3], inertia[6]; // about the centre: xx, yy, zz, xy, xz, yz
    float thin;                           // half of the least width along a face's normal
} psvi_hull_mass;

#if !defined(__CUDACC__)
// Builds the hull of `count` points, three floats each, which are finite. NULL, or what is wrong with them, as the end
// of a sentence that begins with «the points». `sources`: by vertex of the hull the number of its point.
const char *psvi_build_hull(const float *points, uint32_t count, psvi_hull *hull, uint32_t sources[PSVI_HULL_VERTICES],
                            psvi_hull_mass *mass);
#endif

#endif
