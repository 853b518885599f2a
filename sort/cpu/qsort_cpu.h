// `qsort` on the CPU.
#ifndef PAIRSIEVE_QSORT_CPU_H
#define PAIRSIEVE_QSORT_CPU_H

#include "../src/sort_method.h"

extern const psvi_sort_method psvi_sort_qsort_cpu;

#endif
