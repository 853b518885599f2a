// Convex hulls as planes, which the shaders cast rays against (cast.glsl).
#ifndef PAIRSIEVE_VIEW_HULL_PLANES_H
#define PAIRSIEVE_VIEW_HULL_PLANES_H

#include "pairsieve/sim.h"

// Rows of a hull: half extents of its box and the number of planes, then a plane each (unit normal out of the hull, and
// its distance from the middle of the box). Triangles of one face are one plane. `middle`: of the box, in the shape's
// frame. Returns the number of rows, at most triangle_count + 1.
uint32_t view_hull_planes(const psv_shape_def *def, float (*rows)[4], float middle[3]);

#endif
