// Memory at a multiple of a power of two. Windows frees such memory by another function than the rest.
#ifndef PAIRSIEVE_ALIGNED_MEMORY_H
#define PAIRSIEVE_ALIGNED_MEMORY_H

#include <stdlib.h>
#if defined(_WIN32)
#include <malloc.h>
#endif

// `bytes` is a multiple of `alignment`. NULL when there is no memory.
static inline void *psvi_alloc_aligned(size_t alignment, size_t bytes) {
#if defined(_WIN32)
    return _aligned_malloc(bytes, alignment);
#else
    return aligned_alloc(alignment, bytes);
#endif
}

static inline void psvi_free_aligned(void *memory) {
#if defined(_WIN32)
    _aligned_free(memory);
#else
    free(memory);
#endif
}

#endif
