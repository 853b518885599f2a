// Tuning constants of the CUDA broad-phase kernels.
#ifndef PAIRSIEVE_COLLISION_CUDA_TUNING_H
#define PAIRSIEVE_COLLISION_CUDA_TUNING_H

#define SWEEP_SAMPLES 1024 // boxes that the axis is chosen from; one block
#define SWEEP_THREADS 256
#define SWEEP_OWN_STEPS 256 // candidates that a thread sweeps alone before its warp helps

#endif
