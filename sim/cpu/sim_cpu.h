// What the CPU backend of a world needs beyond the arrays of sim_data.h.
#ifndef PAIRSIEVE_SIM_CPU_H
#define PAIRSIEVE_SIM_CPU_H

#define PSVI_BLOCK_LANES 8 // contacts in vectors, whatever the processor's: results must not depend on them

#endif
