// The CUDA broad-phase methods, one object each; listed for the dispatcher in collision/src.
#ifndef PAIRSIEVE_BROAD_PHASES_CUDA_H
#define PAIRSIEVE_BROAD_PHASES_CUDA_H

#include "../src/broad_phase.h"

extern const psvi_broad_phase psvi_broad_phase_brute_cuda;
extern const psvi_broad_phase psvi_broad_phase_sweep_cuda;
extern const psvi_broad_phase psvi_broad_phase_rows_cuda;

#endif
