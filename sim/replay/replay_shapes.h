// Shapes as triangles.
#ifndef PAIRSIEVE_REPLAY_SHAPES_H
#define PAIRSIEVE_REPLAY_SHAPES_H

#include "pairsieve/sim.h"
#include "replay_bits.h"

// Points with their normals, three floats each, and triangles counter-clockwise from outside.
typedef struct replay_triangles {
    replay_bytes points, normals, indices;
    uint32_t point_count;
} replay_triangles;

// Of a plane a square, 2 * reach wide. False: no memory. replay_free_triangles is due in any case.
bool replay_make_triangles(const psv_shape_def *shape, float reach, replay_triangles *triangles);
void replay_free_triangles(replay_triangles *triangles);

#endif
