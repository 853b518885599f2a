// How a thread waits for another one, and ranges of a loop that pass something on from each to the next, such as where
// results begin.
#ifndef PAIRSIEVE_TURNS_H
#define PAIRSIEVE_TURNS_H

#include <sched.h>
#include <stdint.h>

#define PSVI_SPINS 2000 // looks of a thread that waits, some 20 to 50 microseconds, before it gives up its core

static inline void psvi_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// Returns when another thread has set *turn to `value` with psvi_end_turn. For ranges of psvi_run_ranges that wait for
// those before them alone: threads that run have taken these, so that the wait ends.
static inline void psvi_wait_for_turn(const uint64_t *turn, uint64_t value) {
    for (uint32_t spins = 0; __atomic_load_n(turn, __ATOMIC_ACQUIRE) != value; ++spins)
        if (spins < PSVI_SPINS)
            psvi_pause();
        else
            (void)sched_yield();
}

static inline void psvi_end_turn(uint64_t *turn, uint64_t next) { __atomic_store_n(turn, next, __ATOMIC_RELEASE); }

#endif
