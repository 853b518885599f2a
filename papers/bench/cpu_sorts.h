// Sorts of other people's kind on the CPU, for the papers' CPU lines. Ascending; no NaN.
#ifndef BENCH_CPU_SORTS_H
#define BENCH_CPU_SORTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void cpu_sort_std(float *keys, uint64_t count);      // std::sort, one core
void cpu_sort_parallel(float *keys, uint64_t count); // the parallel sort of libstdc++, all cores

#ifdef __cplusplus
}
#endif
#endif
