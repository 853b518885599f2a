// What the CPU backend of a world needs beyond the arrays of sim_data.h.
#ifndef PAIRSIEVE_SIM_CPU_H
#define PAIRSIEVE_SIM_CPU_H

#include <stdint.h>

#define PSVI_BLOCK_LANES 8 // contacts in vectors, whatever the processor's: results must not depend on them

// Bytes beside the arrays of a world with room for `bodies`.
uint64_t psvi_cpu_body_bytes(uint64_t bodies);

// Bytes beside the arrays of a world with room for `contacts`.
uint64_t psvi_cpu_contact_bytes(uint64_t contacts);

#endif
