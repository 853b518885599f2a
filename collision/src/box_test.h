// The exact tests that every method's reported pairs have passed and every left-out box has failed, for C and CUDA.
// Comparisons of floats only: -0 equals +0, denormals count, infinities compare, and a NaN fails every test.
#ifndef PAIRSIEVE_BOX_TEST_H
#define PAIRSIEVE_BOX_TEST_H

#include "../../core/host_device.h"
#include "pairsieve/collision.h"

PSVI_HD bool psvi_box_is_bad(const float *min, const float *max) {
    return !(min[0] <= max[0] && min[1] <= max[1] && min[2] <= max[2]);
}

// Closed boxes: touching counts.
PSVI_HD bool psvi_boxes_overlap(const float *a_min, const float *a_max, const float *b_min, const float *b_max) {
    return a_min[0] <= b_max[0] && b_min[0] <= a_max[0] && a_min[1] <= b_max[1] && b_min[1] <= a_max[1] &&
           a_min[2] <= b_max[2] && b_min[2] <= a_max[2];
}

PSVI_HD bool psvi_flags_pair(uint32_t a, uint32_t b) {
    return (a & b & PSV_BOX_STATIC) == 0 && ((a | b) & PSV_BOX_DISABLED) == 0;
}

PSVI_HD bool psvi_filters_pair(psv_box_filter a, psv_box_filter b) {
    return (a.group & b.mask) != 0 && (b.group & a.mask) != 0;
}

#endif
