// Launcher of the all-pairs method.
#ifndef PAIRSIEVE_COLLISION_BRUTE_KERNELS_H
#define PAIRSIEVE_COLLISION_BRUTE_KERNELS_H

#include <cuda_runtime_api.h>

#include "../src/broad_phase.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t psvi_launch_brute(const psvi_find_input *input, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
