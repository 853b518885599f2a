// Tuning constants of the CUDA broad-phase kernels.
#ifndef PAIRSIEVE_COLLISION_CUDA_TUNING_H
#define PAIRSIEVE_COLLISION_CUDA_TUNING_H

#define SWEEP_SAMPLES 1024 // boxes that the axis is chosen from; one block
#define SWEEP_THREADS 256
#define SWEEP_OWN_STEPS 256 // candidates that a thread sweeps alone before its warp helps

#define BOUNDS_THREADS 256
#define BOUNDS_THREAD_POINTS 16 // longer point sets get a warp
#define BOUNDS_WARP_POINTS 1024 // longer ones a block

#define PAIR_OPS_THREADS 256
#define PAIR_OPS_TILE 1024 // pairs that a block compares and compacts

#endif
