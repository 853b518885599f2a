// Separating axes (Gottschalk 1996) in double precision over a sweep along x.
#include "box_overlap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct placed_box {
    double centre[3], axis[3][3], half[3]; // axis[k]: unit vector along which half[k] counts
    double min[3], max[3];
    uint64_t body;
} placed_box;

static void rotate(const double q[4], const double v[3], double out[3]) {
    double t[3] = {2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]), 2 * (q[0] * v[1] - q[1] * v[0])};
    out[0] = v[0] + q[3] * t[0] + q[1] * t[2] - q[2] * t[1];
    out[1] = v[1] + q[3] * t[1] + q[2] * t[0] - q[0] * t[2];
    out[2] = v[2] + q[3] * t[2] + q[0] * t[1] - q[1] * t[0];
}

static void multiply(const double a[4], const double b[4], double out[4]) {
    out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

static void place_box(placed_box *box, const double centre[3], const double rotation[4], const float half[3],
                      uint64_t body) {
    for (int k = 0; k < 3; ++k) {
        double unit[3] = {0, 0, 0};
        unit[k] = 1;
        rotate(rotation, unit, box->axis[k]);
        box->half[k] = (double)half[k];
        box->centre[k] = centre[k];
    }
    for (int k = 0; k < 3; ++k) {
        double reach = 0;
        for (int j = 0; j < 3; ++j)
            reach += fabs(box->axis[j][k]) * box->half[j];
        box->min[k] = centre[k] - reach;
        box->max[k] = centre[k] + reach;
    }
    box->body = body;
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static double reach_along(const placed_box *box, const double axis[3]) {
    return fabs(dot(box->axis[0], axis)) * box->half[0] + fabs(dot(box->axis[1], axis)) * box->half[1] +
           fabs(dot(box->axis[2], axis)) * box->half[2];
}

// The least overlap along any of the 15 axes: what would part the two; not positive when they are apart.
static double overlap_of(const placed_box *a, const placed_box *b) {
    double d[3] = {b->centre[0] - a->centre[0], b->centre[1] - a->centre[1], b->centre[2] - a->centre[2]};
    double least = 1e300;
    for (int i = 0; i < 15; ++i) {
        double axis[3];
        if (i < 6) {
            memcpy(axis, i < 3 ? a->axis[i] : b->axis[i - 3], sizeof axis);
        } else {
            const double *u = a->axis[(i - 6) / 3], *v = b->axis[(i - 6) % 3];
            double cross[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
            double length = sqrt(dot(cross, cross));
            if (length < 1e-6) continue; // parallel edges: the faces tell it
            for (int k = 0; k < 3; ++k)
                axis[k] = cross[k] / length;
        }
        double overlap = reach_along(a, axis) + reach_along(b, axis) - fabs(dot(d, axis));
        if (overlap < least) least = overlap;
        if (least <= 0) break;
    }
    return least;
}

static int by_min_x(const void *x, const void *y) {
    double a = ((const placed_box *)x)->min[0], b = ((const placed_box *)y)->min[0];
    return a < b ? -1 : a > b;
}

static void sweep(placed_box *boxes, uint64_t count, box_overlap *result) {
    qsort(boxes, count, sizeof *boxes, by_min_x);
    for (uint64_t i = 0; i < count; ++i) {
        const placed_box *a = &boxes[i];
        result->below = fmax(result->below, -a->min[1]);
        for (uint64_t j = i + 1; j < count && boxes[j].min[0] <= a->max[0]; ++j) {
            const placed_box *b = &boxes[j];
            if (a->body == b->body || a->min[1] > b->max[1] || b->min[1] > a->max[1] || a->min[2] > b->max[2] ||
                b->min[2] > a->max[2])
                continue;
            double overlap = overlap_of(a, b);
            if (overlap <= 0) continue;
            ++result->overlapping;
            result->deepest = fmax(result->deepest, overlap);
        }
    }
}

// Boxes of one body; with boxes NULL they are only counted.
static uint64_t place_body(const psv_shape_def *shape, const float position[4], const float rotation[4], uint64_t body,
                           placed_box *boxes) {
    double p[3] = {(double)position[0], (double)position[1], (double)position[2]};
    double q[4] = {(double)rotation[0], (double)rotation[1], (double)rotation[2], (double)rotation[3]};
    if (shape->type == PSV_SHAPE_BOX) {
        if (boxes != NULL) place_box(boxes, p, q, shape->size, body);
        return 1;
    }
    uint64_t count = 0;
    for (uint32_t i = 0; shape->type == PSV_SHAPE_COMPOUND && i < shape->child_count; ++i) {
        const psv_shape_child *child = &shape->children[i];
        if (child->type != PSV_SHAPE_BOX) continue;
        if (boxes != NULL) {
            double local[3], turn[4], own[4], centre[3];
            for (int k = 0; k < 3; ++k)
                local[k] = (double)child->pose.position[k];
            for (int k = 0; k < 4; ++k)
                own[k] = (double)child->pose.rotation[k];
            rotate(q, local, centre);
            multiply(q, own, turn);
            for (int k = 0; k < 3; ++k)
                centre[k] += p[k];
            place_box(&boxes[count], centre, turn, child->size, body);
        }
        ++count;
    }
    return count;
}

bool measure_box_overlap(const psv_world *world, uint64_t slots, const float (*position)[4], const float (*rotation)[4],
                         const uint32_t *shape, box_overlap *result) {
    *result = (box_overlap){0};
    placed_box *boxes = NULL;
    for (int pass = 0; pass < 2; ++pass) {
        result->boxes = 0;
        for (uint64_t i = 0; i < slots; ++i) {
            psv_shape_def def;
            if (!(position[i][3] > 0) || psv_world_shape(world, shape[i], &def) != PSV_OK) continue;
            placed_box *here = boxes == NULL ? NULL : boxes + result->boxes;
            result->boxes += place_body(&def, position[i], rotation[i], i, here);
        }
        if (pass == 0) boxes = malloc((result->boxes + 1) * sizeof *boxes);
        if (boxes == NULL) return false;
    }
    sweep(boxes, result->boxes, result);
    free(boxes);
    return true;
}
