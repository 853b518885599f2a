#include "guarded_memory.h"
#include "../../core/portable/aligned_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GUARD_BYTES 4096
#define GUARD 0xA7

uint64_t bytes_held, blocks_held;

void *guarded_allocate(uint64_t bytes, void *user) {
    (void)user;
    uint64_t room = (bytes + 255) / 256 * 256 + 2 * GUARD_BYTES;
    unsigned char *block = psvi_alloc_aligned(4096, (room + 4095) / 4096 * 4096);
    if (block == NULL) return NULL;
    memset(block, GUARD, room);
    memset(block + GUARD_BYTES, 0xCD, bytes); // nothing may rely on fresh memory being zero
    bytes_held += bytes;
    blocks_held++;
    return block + GUARD_BYTES;
}

void guarded_release(void *address, uint64_t bytes, void *user) {
    (void)user;
    unsigned char *block = (unsigned char *)address - GUARD_BYTES;
    for (uint64_t i = 0; i < GUARD_BYTES; ++i)
        if (block[i] != GUARD || block[GUARD_BYTES + bytes + i] != GUARD)
            fail_msg("memory was written %s a block of %llu bytes", block[i] != GUARD ? "before" : "after",
                     (unsigned long long)bytes);
    bytes_held -= bytes;
    blocks_held--;
    psvi_free_aligned(block);
}
