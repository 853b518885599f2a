// What the CPU has for the sim layer.
#include "../render/renderer.h"

const psvi_sim_module psvi_cpu_sim = {.ops = &psvi_sim_ops_cpu, .render = &psvi_render_ops_cpu};
