// Launch shapes of the simulation's kernels, measured on an H200 unless a line says otherwise.
#ifndef PAIRSIEVE_SIM_TUNING_H
#define PAIRSIEVE_SIM_TUNING_H

#define PSVI_SIM_BLOCK 256         // threads of a block: bodies, pairs, the solver with general contacts
#define PSVI_SIM_BLOCKS_PER_SM 8   // of loops whose length only the device knows
#define PSVI_NARROW_BLOCK 128      // general narrow phase: long functions, many registers
#define PSVI_NARROW_BLOCKS 4       // of a processor: at most 128 registers a thread
#define PSVI_KEEP_BLOCKS 3         // likewise, of PSVI_SIM_BLOCK: at most 80
#define PSVI_HULL_BLOCK 64         // narrow phase of hulls: longer yet
#define PSVI_COLOUR_BLOCK 512      // colouring: few blocks wait for each other faster
#define PSVI_TEAM_BLOCKS 2         // of kernels whose blocks wait for each other (colouring, solver), on a processor
#define PSVI_COLOUR_FEW 1024       // contacts left to colour, that one block finishes
#define PSVI_SOLVE_ROUND_BLOCK 384 // solver of round contacts only: as many threads as need not spill
#define PSVI_CLUSTER_TURNS 2       // times that a cluster's threads go round, at most, where a grid would be taken else
#define PSVI_SOLVE_TAIL 512        // lanes that the last colours take, that one block solves

#endif
