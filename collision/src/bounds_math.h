// Bounds of one shape under one pose, for C and CUDA. A point range is reduced by the caller: psvi_rotate per point.
#ifndef PAIRSIEVE_BOUNDS_MATH_H
#define PAIRSIEVE_BOUNDS_MATH_H

#include <math.h>

#include "box_test.h"

// Rows of the rotation matrix of a unit quaternion (x, y, z, w).
PSVI_HD void psvi_rotation_rows(const float *q, float rows[3][3]) {
    float x = q[0], y = q[1], z = q[2], w = q[3];
    rows[0][0] = 1 - 2 * (y * y + z * z), rows[0][1] = 2 * (x * y - w * z), rows[0][2] = 2 * (x * z + w * y);
    rows[1][0] = 2 * (x * y + w * z), rows[1][1] = 1 - 2 * (x * x + z * z), rows[1][2] = 2 * (y * z - w * x);
    rows[2][0] = 2 * (x * z - w * y), rows[2][1] = 2 * (y * z + w * x), rows[2][2] = 1 - 2 * (x * x + y * y);
}

PSVI_HD float psvi_rotate_axis(const float row[3], const float *point) {
    return row[0] * point[0] + row[1] * point[1] + row[2] * point[2];
}

// A box that no test accepts: min > max.
PSVI_HD void psvi_make_bad_box(psv_aabb *box) {
    for (int axis = 0; axis < 3; ++axis) {
        box->min[axis] = INFINITY;
        box->max[axis] = -INFINITY;
    }
}

// Half extents along world axis `row` of a sphere, box or capsule.
PSVI_HD float psvi_shape_reach(const psv_bounds_shape *shape, const float row[3]) {
    if (shape->type == PSV_BOUNDS_SPHERE) return shape->size[0];
    if (shape->type == PSV_BOUNDS_CAPSULE) return shape->size[0] + shape->size[1] * fabsf(row[1]);
    return shape->size[0] * fabsf(row[0]) + shape->size[1] * fabsf(row[1]) + shape->size[2] * fabsf(row[2]);
}

#endif
