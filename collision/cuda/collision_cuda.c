// What CUDA has for the collision layer.
#include "../distributed/group_boxes.h"
#include "../src/elements/element_ops.h"
#include "../src/queries/tree_internal.h"

extern const psvi_broad_phase psvi_broad_phase_rows_cuda, psvi_broad_phase_lbvh_cuda, psvi_broad_phase_grid_cuda,
    psvi_broad_phase_sap3_cuda, psvi_broad_phase_sweep_cuda, psvi_broad_phase_brute_cuda;

static const psvi_broad_phase *const broad_phases[] = {&psvi_broad_phase_rows_cuda,
                                                       &psvi_broad_phase_lbvh_cuda,
                                                       &psvi_broad_phase_grid_cuda,
                                                       &psvi_broad_phase_sap3_cuda,
                                                       &psvi_broad_phase_sweep_cuda,
                                                       &psvi_broad_phase_brute_cuda,
                                                       NULL};

// «auto» is the first method alone: `rows` goes by the tree itself in frames whose sweep would cost more.
const psvi_collision_module psvi_cuda_collision = {
    .broad_phases = broad_phases,
    .ops = &psvi_collision_ops_cuda,
    .elements = &psvi_element_ops_cuda,
    .trees = &psvi_tree_ops_cuda,
#if PSV_HAVE_NCCL
    .group_boxes = &psvi_cuda_group_box_ops,
#endif
};
