// For the programs alone, a library does not choose this: OpenMP's threads spin for milliseconds at a barrier before
// they sleep. On a machine whose cores have other work (a software renderer, a build) the thread that is waited for
// then gets no core: `drop` with 10,000 bodies took 120 ms a frame instead of 6 on two busy cores. OpenMP reads the
// limit when it is loaded, so the program starts itself once more with it. A limit that the user set stays.
#ifndef PAIRSIEVE_SHORT_SPIN_H
#define PAIRSIEVE_SHORT_SPIN_H

#include <stdlib.h>
#include <unistd.h>

static inline void psv_keep_spinning_short(char **argv) {
    static const char *const settings[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
    for (int i = 0; i < 3; ++i) {
        if (getenv(settings[i]) != NULL) return;
    }
    // About 0.1 ms with GCC's OpenMP, 1 ms (the least that is not zero) with LLVM's.
    if (setenv("GOMP_SPINCOUNT", "30000", 1) != 0 || setenv("KMP_BLOCKTIME", "1", 1) != 0) return;
    execv("/proc/self/exe", argv); // returns where there is no such file: then it goes on as it is
}

#endif
