// What a backend does for pairs of mesh elements.
#ifndef PAIRSIEVE_ELEMENT_OPS_H
#define PAIRSIEVE_ELEMENT_OPS_H

#include "../../../core/context.h"
#include "element_math.h"

#ifdef __cplusplus
extern "C" {
#endif

// The indices of all elements: each below `limit`.
typedef struct psvi_index_check {
    const uint32_t *indices;
    uint64_t count;
    uint32_t limit;
} psvi_index_check;

// Bodies of elements to what boxes know.
typedef struct psvi_element_bodies_job {
    const uint32_t *bodies;
    const psv_box_filter *body_filters; // NULL: all pair
    psvi_element_set sets[PSVI_ELEMENT_SETS];
    psv_box_filter *filters; // by box; with body_filters
    uint32_t *owners;        // by box
} psvi_element_bodies_job;

typedef struct psvi_element_ops {
    psv_status (*compute_boxes)(psv_context *context, const psvi_element_boxes_job *job);
    psv_status (*filter_pairs)(psv_context *context, const psvi_element_filter_job *job);
    psv_status (*begin_rows)(psv_context *context, const psv_pair *pairs, const uint64_t *count, uint64_t room,
                             uint32_t *offsets, uint64_t rows);
    psv_status (*name_bodies)(psv_context *context, const psvi_element_bodies_job *job);
    // *bad becomes the place of the first index that is too large, or UINT64_MAX. It lies in the backend's memory.
    psv_status (*check_indices)(psv_context *context, const psvi_index_check *check, uint64_t *bad);
} psvi_element_ops;

extern const psvi_element_ops psvi_element_ops_cpu, psvi_element_ops_cuda; // those that this build has

#ifdef __cplusplus
}
#endif
#endif
