// std::sort, and libstdc++'s parallel mode where OpenMP and libstdc++ are there.
#include "cpu_sorts.h"

#include <algorithm>
#if defined(_OPENMP) && defined(__GLIBCXX__)
#include <parallel/algorithm>
#endif

extern "C" void cpu_sort_std(float *keys, uint64_t count) { std::sort(keys, keys + count); }

extern "C" void cpu_sort_parallel(float *keys, uint64_t count) {
#if defined(_OPENMP) && defined(__GLIBCXX__)
    __gnu_parallel::sort(keys, keys + count);
#else
    std::sort(keys, keys + count);
#endif
}
