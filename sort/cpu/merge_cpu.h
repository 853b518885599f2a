// `merge` on the CPU.
#ifndef PAIRSIEVE_MERGE_CPU_H
#define PAIRSIEVE_MERGE_CPU_H

#include "../src/sort_method.h"

extern const psvi_sort_method psvi_sort_merge_cpu;

#endif
