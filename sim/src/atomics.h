// The few atomic operations that the shared per-item functions need, on host threads and in kernels. All are relaxed:
// the loops and launches around them order the memory. Only operations whose outcome does not depend on the order of
// arrival are used for state (sum of integers, maximum, bit or).
#ifndef PAIRSIEVE_SIM_ATOMICS_H
#define PAIRSIEVE_SIM_ATOMICS_H

#include "sim_math.h"

PSVI_HD uint64_t psvi_fetch_add(uint64_t *address, uint64_t value) {
#if defined(__CUDA_ARCH__)
    return atomicAdd((unsigned long long *)address, (unsigned long long)value);
#else
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
#endif
}

PSVI_HD void psvi_fetch_or(uint32_t *address, uint32_t bits) {
#if defined(__CUDA_ARCH__)
    atomicOr(address, bits);
#else
    __atomic_fetch_or(address, bits, __ATOMIC_RELAXED);
#endif
}

// Stores `value` where 0 is; returns what was there.
PSVI_HD uint64_t psvi_claim_slot(uint64_t *address, uint64_t value) {
#if defined(__CUDA_ARCH__)
    return atomicCAS((unsigned long long *)address, 0ull, (unsigned long long)value);
#else
    uint64_t expected = 0;
    (void)__atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
#endif
}

#endif
