// What the CPU has for the collision layer.
#include "../distributed/group_boxes.h"
#include "../src/elements/element_ops.h"
#include "../src/queries/neighbour_ops.h"
#include "../src/queries/tree_internal.h"

extern const psvi_broad_phase psvi_broad_phase_rows_cpu, psvi_broad_phase_lbvh_cpu, psvi_broad_phase_sap3_cpu,
    psvi_broad_phase_sweep_cpu, psvi_broad_phase_brute_cpu;

static const psvi_broad_phase *const broad_phases[] = {&psvi_broad_phase_rows_cpu,  &psvi_broad_phase_lbvh_cpu,
                                                       &psvi_broad_phase_sap3_cpu,  &psvi_broad_phase_sweep_cpu,
                                                       &psvi_broad_phase_brute_cpu, NULL};

const psvi_collision_module psvi_cpu_collision = {
    .broad_phases = broad_phases,
    .ops = &psvi_collision_ops_cpu,
    .elements = &psvi_element_ops_cpu,
    .neighbours = &psvi_neighbour_ops_cpu,
    .trees = &psvi_tree_ops_cpu,
    .group_boxes = &psvi_cpu_group_box_ops,
    .auto_choices = {&psvi_broad_phase_rows_cpu, &psvi_broad_phase_lbvh_cpu, &psvi_broad_phase_brute_cpu},
    .shares_scratch = true,
};
