// The floating-point environment. Programs set it to their taste: audio code and many engines flush subnormal numbers
// to zero, others round in another direction or trap. Coordinates then compare otherwise, and differently on each
// thread. Whatever computes with floating-point numbers runs between psvi_enter_float_mode and psvi_leave_float_mode:
// subnormal numbers are numbers, rounding is to nearest, nothing traps; then all is as it was, exception flags too.
#ifndef PAIRSIEVE_FLOAT_MODE_H
#define PAIRSIEVE_FLOAT_MODE_H

#include <stdint.h>

// The memory clobbers keep loads and stores, and with them the arithmetic between them, on their side.
#if defined(__x86_64__) || defined(__SSE2__)

typedef uint32_t psvi_float_mode; // MXCSR

static inline psvi_float_mode psvi_enter_float_mode(void) {
    uint32_t before, standard = 0x1f80; // all exceptions masked
    __asm__ volatile("stmxcsr %0" : "=m"(before)::"memory");
    if (before != standard) __asm__ volatile("ldmxcsr %0" ::"m"(standard) : "memory");
    return before;
}

static inline void psvi_leave_float_mode(psvi_float_mode before) {
    __asm__ volatile("ldmxcsr %0" ::"m"(before) : "memory");
}

#else
#include <fenv.h>

typedef fenv_t psvi_float_mode;

static inline psvi_float_mode psvi_enter_float_mode(void) {
    fenv_t before;
    (void)fegetenv(&before);
    (void)fesetenv(FE_DFL_ENV); // on AArch64 the flush of subnormal numbers is part of it
    __asm__ volatile("" ::: "memory");
    return before;
}

static inline void psvi_leave_float_mode(psvi_float_mode before) {
    __asm__ volatile("" ::: "memory");
    (void)fesetenv(&before);
}

#endif

#endif
