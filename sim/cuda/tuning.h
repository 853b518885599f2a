// Launch shapes of the simulation's kernels, measured on an H200 unless a line says otherwise.
#ifndef PAIRSIEVE_SIM_TUNING_H
#define PAIRSIEVE_SIM_TUNING_H

#define PSVI_SIM_BLOCK 256       // threads of a block, bodies and pairs
#define PSVI_SIM_BLOCKS_PER_SM 8 // of loops whose length only the device knows
#define PSVI_NARROW_BLOCK 128    // general narrow phase: long functions, many registers
#define PSVI_SOLVE_BLOCKS 5      // of them on a processor at least: spheres gain by it, boxes spill
#define PSVI_SOLVE_BLOCK 128     // cooperative kernels: colouring and solver
#define PSVI_ATTRACT_BODIES 64   // bodies of a block in self-gravity
#define PSVI_ATTRACT_SLICES 4    // threads that share a body there

#endif
