// Where the threads of a parallel sort meet. OpenMP's own barrier spins for milliseconds before it sleeps, so that on a
// busy machine, where two threads of a team share a core, one spins while the other waits to run. This one gives way
// after a few microseconds.
#ifndef PAIRSIEVE_SORT_CPU_TEAM_H
#define PAIRSIEVE_SORT_CPU_TEAM_H

#include <sched.h>
#include <stdint.h>

typedef struct psvi_team {
    _Alignas(64) uint32_t arrived;
    _Alignas(64) uint32_t round;
} psvi_team;

#define PSVI_TEAM_SPINS 2000

// Returns when `members` threads have called it. What they wrote before is visible after.
static inline void psvi_team_meet(psvi_team *team, uint32_t members) {
    if (members < 2) return;
    const uint32_t round = __atomic_load_n(&team->round, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&team->arrived, 1, __ATOMIC_ACQ_REL) == members) {
        __atomic_store_n(&team->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&team->round, round + 1, __ATOMIC_RELEASE);
        return;
    }
    for (uint32_t spins = 0; __atomic_load_n(&team->round, __ATOMIC_ACQUIRE) == round; ++spins) {
        if (spins >= PSVI_TEAM_SPINS) (void)sched_yield();
#if defined(__x86_64__)
        else
            __builtin_ia32_pause();
#endif
    }
}

#endif
