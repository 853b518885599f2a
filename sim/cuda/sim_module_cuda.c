// What CUDA has for the sim layer.
#include "../render/renderer.h"

const psvi_sim_module psvi_cuda_sim = {.ops = &psvi_sim_ops_cuda, .render = &psvi_render_ops_cuda};
