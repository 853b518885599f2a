// Parts of a frame's work, side by side.
#ifndef PAIRSIEVE_REPLAY_THREADS_H
#define PAIRSIEVE_REPLAY_THREADS_H

#include <stdint.h>

// work(data, i) once for every i below `count`, on some threads; returns when all are done.
void replay_run_parts(void (*work)(void *data, uint32_t part), void *data, uint32_t count);

#endif
