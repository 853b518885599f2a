// Launcher of the self-check of pairs.
#ifndef PAIRSIEVE_COLLISION_PAIR_CHECK_KERNELS_H
#define PAIRSIEVE_COLLISION_PAIR_CHECK_KERNELS_H

#include <cuda_runtime_api.h>

#include "../src/pair_check.h"

#ifdef __cplusplus
extern "C" {
#endif

// Fills input->memory; its `found` and `listed` are zero before.
cudaError_t psvi_launch_check_pairs(const psvi_check_input *input, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
