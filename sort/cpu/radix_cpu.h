// `radix` on the CPU.
#ifndef PAIRSIEVE_RADIX_CPU_H
#define PAIRSIEVE_RADIX_CPU_H

#include "../src/sort_method.h"

extern const psvi_sort_method psvi_sort_radix_cpu;

#endif
