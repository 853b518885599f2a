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

// Reserves `count` places of *points and one of *contacts; a warp's lanes that are here together ask once.
PSVI_HD void psvi_reserve(uint64_t *contacts, uint64_t *points, uint32_t count, uint64_t *index, uint64_t *first) {
#if defined(__CUDA_ARCH__)
    unsigned mask = __activemask(), lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    unsigned before = 0, total = 0, lower = (1u << lane) - 1;
    for (unsigned bit = 0; bit < 5; ++bit) { // counts are at most 16
        unsigned set = __ballot_sync(mask, count >> bit & 1u);
        before += (unsigned)__popc(set & lower) << bit;
        total += (unsigned)__popc(set) << bit;
    }
    int leader = __ffs((int)mask) - 1;
    unsigned long long base_contact = 0, base_point = 0;
    if ((int)lane == leader) {
        base_contact = atomicAdd((unsigned long long *)contacts, (unsigned long long)__popc(mask));
        base_point = atomicAdd((unsigned long long *)points, (unsigned long long)total);
    }
    *index = __shfl_sync(mask, base_contact, leader) + __popc(mask & lower);
    *first = __shfl_sync(mask, base_point, leader) + before;
#else
    *index = psvi_fetch_add(contacts, 1);
    *first = psvi_fetch_add(points, count);
#endif
}

PSVI_HD void psvi_fetch_or(uint32_t *address, uint32_t bits) {
#if defined(__CUDA_ARCH__)
    atomicOr(address, bits);
#else
    __atomic_fetch_or(address, bits, __ATOMIC_RELAXED);
#endif
}

// Sets a mark, that others may be setting too.
PSVI_HD void psvi_mark(uint8_t *address) {
#if defined(__CUDA_ARCH__)
    *address = 1;
#else
    __atomic_store_n(address, 1, __ATOMIC_RELAXED);
#endif
}

// The larger of a number that is not negative and `value`; others may be raising it too.
PSVI_HD void psvi_raise(float *address, float value) {
#if defined(__CUDA_ARCH__)
    if (*(const volatile float *)address < value) atomicMax((int *)address, __float_as_int(value));
#else
    float now;
    __atomic_load(address, &now, __ATOMIC_RELAXED);
    while (now < value && !__atomic_compare_exchange(address, &now, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
#endif
}

PSVI_HD float psvi_load_float(const float *address) {
#if defined(__CUDA_ARCH__)
    return *(const volatile float *)address;
#else
    float now;
    __atomic_load(address, &now, __ATOMIC_RELAXED);
    return now;
#endif
}

PSVI_HD uint32_t psvi_load_relaxed(const uint32_t *address) {
#if defined(__CUDA_ARCH__)
    return *(const volatile uint32_t *)address;
#else
    return __atomic_load_n(address, __ATOMIC_RELAXED);
#endif
}

// Stores `value` where `expected` is; whether it was.
PSVI_HD bool psvi_swap_if(uint32_t *address, uint32_t expected, uint32_t value) {
#if defined(__CUDA_ARCH__)
    return atomicCAS(address, expected, value) == expected;
#else
    return __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
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
