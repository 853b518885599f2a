// Launchers around the rules of pairs: the rules themselves, the table of excluded pairs, boxes in double precision as
// floats, ids in place of indices, results of kept boxes.
#ifndef PAIRSIEVE_COLLISION_PAIR_RULES_KERNELS_H
#define PAIRSIEVE_COLLISION_PAIR_RULES_KERNELS_H

#include <cuda_runtime_api.h>

#include "../src/broad_phase.h"
#include "../src/pair_partners.h"
#include "../src/pair_rules.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t psvi_launch_put_rules(const psvi_pair_rules *rules, psvi_pair_rules *target, cudaStream_t stream);
cudaError_t psvi_launch_exclude_pairs(const psv_pair *pairs, uint64_t count, psvi_bucket *table, uint64_t last_bucket,
                                      cudaStream_t stream);
cudaError_t psvi_launch_list_partners(const psv_pair *pairs, uint64_t count, psvi_partners *partners, uint64_t boxes,
                                      cudaStream_t stream);
cudaError_t psvi_launch_narrow_boxes(const psvi_rule_side *side, const double *origin, uint64_t first,
                                     const psvi_box_view *view, psv_aabb *boxes, cudaStream_t stream);
cudaError_t psvi_launch_merge_kept(const psvi_kept_merge *merge, int multiprocessors, cudaStream_t stream);
cudaError_t psvi_launch_subtract_count(const uint64_t *count, uint64_t less, uint64_t *target, cudaStream_t stream);

typedef struct psvi_name_input {
    const uint32_t *a_ids, *b_ids; // NULL: indices stay
    bool between;
    psv_pair *pairs;
    const uint64_t *count;
    uint64_t capacity;
} psvi_name_input;

cudaError_t psvi_launch_name_pairs(const psvi_name_input *input, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
