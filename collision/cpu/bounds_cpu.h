// Boxes of shapes with poses, on the CPU.
#ifndef PAIRSIEVE_BOUNDS_CPU_H
#define PAIRSIEVE_BOUNDS_CPU_H

#include "../src/broad_phase.h"

psv_status psvi_compute_bounds_cpu(psv_context *context, const psv_bounds_input *input, psv_aabb *boxes);

#endif
