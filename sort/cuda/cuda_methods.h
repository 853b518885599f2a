// The CUDA sorting methods, for the list in sorts_cuda.c.
#ifndef PAIRSIEVE_SORT_CUDA_METHODS_H
#define PAIRSIEVE_SORT_CUDA_METHODS_H

#include "../src/sort_method.h"

extern const psvi_sort_method psvi_sort_radix_cuda;
extern const psvi_sort_method psvi_sort_radix4;
extern const psvi_sort_method psvi_sort_split;
extern const psvi_sort_method psvi_sort_hybrid;
extern const psvi_sort_method psvi_sort_bitonic;
extern const psvi_sort_method psvi_sort_merge_cuda;
extern const psvi_sort_method psvi_sort_cub;

#endif
