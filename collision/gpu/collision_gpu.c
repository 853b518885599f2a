// What OpenGL and Vulkan have for the collision layer.
#include "../src/queries/tree_internal.h"

extern const psvi_broad_phase psvi_broad_phase_rows_gpu, psvi_broad_phase_lbvh_gpu, psvi_broad_phase_sap3_gpu,
    psvi_broad_phase_brute_gpu;

static const psvi_broad_phase *const broad_phases[] = {&psvi_broad_phase_rows_gpu, &psvi_broad_phase_lbvh_gpu,
                                                       &psvi_broad_phase_sap3_gpu, &psvi_broad_phase_brute_gpu, NULL};

// `lbvh` on an H200 takes 0.47, 1.9 and 16.6 ms with 100K, 1M and 10M cubes of one size. On a lesser device it takes
// longer, and is tried in vain once.
#define MODULE                                                                                                         \
    {                                                                                                                  \
        .broad_phases = broad_phases, .ops = &psvi_collision_ops_gpu, .trees = &psvi_tree_ops_gpu,                     \
        .auto_choices = {&psvi_broad_phase_rows_gpu, &psvi_broad_phase_lbvh_gpu}, .other_least_ms = 0.3,               \
        .other_least_ms_a_box = 1.6e-6,                                                                                \
    }

#if PSV_HAVE_GL
const psvi_collision_module psvi_gl_collision = MODULE;
#endif
#if PSV_HAVE_VULKAN
const psvi_collision_module psvi_vulkan_collision = MODULE;
#endif
