// The functions of a psv_allocator for host memory whose blocks have guards before and behind them: what is written
// there fails the test when the block is given back.
#ifndef PAIRSIEVE_GUARDED_MEMORY_H
#define PAIRSIEVE_GUARDED_MEMORY_H

#include <stdint.h>

extern uint64_t bytes_held, blocks_held; // now

void *guarded_allocate(uint64_t bytes, void *user);
void guarded_release(void *address, uint64_t bytes, void *user);

#endif
