// How a method lays its arrays out in its scratch block.
#ifndef PAIRSIEVE_CORE_CARVER_H
#define PAIRSIEVE_CORE_CARVER_H

#include <stddef.h>
#include <stdint.h>

#include "context.h"

// Hands out 256-byte aligned parts of a scratch block. With a NULL base it only measures.
typedef struct psvi_carver {
    char *base;
    uint64_t used;
} psvi_carver;

static inline void *psvi_carve(psvi_carver *carver, uint64_t bytes) {
    char *part = carver->base == NULL ? NULL : carver->base + carver->used;
    carver->used += psvi_align(bytes);
    return part;
}

#endif
