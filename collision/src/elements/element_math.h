// Boxes of mesh elements and which elements are neighbours, for C and CUDA.
#ifndef PAIRSIEVE_ELEMENT_MATH_H
#define PAIRSIEVE_ELEMENT_MATH_H

#include <math.h>

#include "../../../core/host_device.h"
#include "pairsieve/element_pairs.h"

// Elements of one sort. Vertices are their own elements: `vertices` is NULL then, and `size` 1.
typedef struct psvi_element_set {
    const uint32_t *vertices;
    uint32_t size; // vertices of an element
    uint64_t count, first_box;
} psvi_element_set;

enum { PSVI_VERTICES, PSVI_EDGES, PSVI_FACES, PSVI_ELEMENT_SETS };

typedef struct psvi_element_boxes_job {
    const char *times[2]; // positions; [1] NULL: one time
    uint32_t stride;
    bool doubles;
    double radius;
    psvi_element_set sets[PSVI_ELEMENT_SETS];
    bool wanted[PSVI_ELEMENT_SETS]; // the boxes of other sets are not looked at
    psv_aabb *boxes;
} psvi_element_boxes_job;

// Pairs of elements that are no neighbours.
typedef struct psvi_element_filter_job {
    const psv_pair *pairs;
    const uint64_t *count; // of `pairs`; of more than `room` only `room` are there
    uint64_t room;
    psvi_element_set a, b;
    const uint32_t *ring_begins, *rings; // vertices near each vertex, ascending; NULL: only shared vertices count
    psv_pair *kept;
    uint64_t *kept_count;
} psvi_element_filter_job;

// The greatest float that is not above x - less, and the least one that is not below x + more; less, more >= 0.
PSVI_HD float psvi_round_down(double x, double less) {
    const double sum = x - less, part = sum - x;
    const double error = (x - (sum - part)) - (less + part); // sum + error is the exact difference
    const float rounded = (float)sum;
    const bool above = (double)rounded > sum || ((double)rounded == sum && error < 0);
    return above ? nextafterf(rounded, -INFINITY) : rounded;
}

PSVI_HD float psvi_round_up(double x, double more) { return -psvi_round_down(-x, more); }

PSVI_HD double psvi_coordinate(const psvi_element_boxes_job *job, const void *positions, uint32_t vertex, int axis) {
    const void *at = (const char *)positions + (uint64_t)vertex * job->stride;
    return job->doubles ? ((const double *)at)[axis] : ((const float *)at)[axis];
}

PSVI_HD uint32_t psvi_element_vertex(const psvi_element_set *set, uint64_t element, uint32_t corner) {
    return set->vertices == NULL ? (uint32_t)element : set->vertices[element * set->size + corner];
}

PSVI_HD psv_aabb psvi_element_box(const psvi_element_boxes_job *job, const psvi_element_set *set, uint64_t element) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    bool bad = false;
    for (uint32_t corner = 0; corner < set->size; ++corner) {
        const uint32_t vertex = psvi_element_vertex(set, element, corner);
        for (int time = 0; time < 2 && job->times[time] != NULL; ++time) {
            for (int axis = 0; axis < 3; ++axis) {
                const double x = psvi_coordinate(job, job->times[time], vertex, axis);
                bad |= x != x;
                low[axis] = x < low[axis] ? x : low[axis];
                high[axis] = x > high[axis] ? x : high[axis];
            }
        }
    }
    psv_aabb box;
    for (int axis = 0; axis < 3; ++axis) {
        box.min[axis] = bad ? NAN : psvi_round_down(low[axis], job->radius);
        box.max[axis] = bad ? NAN : psvi_round_up(high[axis], job->radius);
    }
    return box;
}

// Vertex b is one of those near a.
PSVI_HD bool psvi_in_rings(const psvi_element_filter_job *job, uint32_t a, uint32_t b) {
    uint32_t low = job->ring_begins[a], high = job->ring_begins[a + 1];
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (job->rings[middle] == b) return true;
        if (job->rings[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

// The elements have a_size and b_size vertices: numbers that the compiler knows, where this is called.
PSVI_HD bool psvi_are_neighbours(const psvi_element_filter_job *job, psv_pair pair, uint32_t a_size, uint32_t b_size,
                                 bool rings) {
    const uint32_t *a = a_size == 1 ? &pair.a : job->a.vertices + (uint64_t)pair.a * a_size;
    const uint32_t *b = b_size == 1 ? &pair.b : job->b.vertices + (uint64_t)pair.b * b_size;
    bool near = false;
    for (uint32_t i = 0; i < a_size; ++i)
        for (uint32_t k = 0; k < b_size; ++k)
            near |= a[i] == b[k];
    for (uint32_t i = 0; rings && i < a_size; ++i)
        for (uint32_t k = 0; k < b_size && !near; ++k)
            near = psvi_in_rings(job, a[i], b[k]);
    return near;
}

// First of `count` ascending pairs whose `a` is not below `element`.
PSVI_HD uint32_t psvi_row_begin(const psv_pair *pairs, uint64_t count, uint32_t element) {
    uint64_t low = 0, high = count;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (pairs[middle].a < element)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

#endif
