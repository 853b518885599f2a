// A backend for the test of docs/porting.md: it sorts by calling qsort and finds pairs by brute force. Its memory is
// the host's, at addresses that the host cannot read: code outside of this folder that takes them for its own crashes.
#ifndef PAIRSIEVE_TESTS_TOY_H
#define PAIRSIEVE_TESTS_TOY_H

#include <stdint.h>

#include "toy_line.h"

#define TOY_FAR ((uintptr_t)1 << (8 * sizeof(uintptr_t) - 4))

static inline void *toy_host(const void *address) {
    return address == NULL ? NULL : (void *)((uintptr_t)address - TOY_FAR);
}

#endif
