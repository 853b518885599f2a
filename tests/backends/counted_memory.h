// An allocator that counts the bytes which a backend holds.
#ifndef PAIRSIEVE_TESTS_COUNTED_MEMORY_H
#define PAIRSIEVE_TESTS_COUNTED_MEMORY_H

#include <stdlib.h>

#include <pairsieve/core.h>
#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

typedef struct counted_memory {
    psv_backend backend;
    uint64_t held; // bytes
} counted_memory;

static inline void *counted_allocate(uint64_t bytes, void *user) {
    counted_memory *memory = user;
    void *address = NULL;
#if PSV_HAVE_CUDA
    if (memory->backend == PSV_BACKEND_CUDA && cudaMalloc(&address, bytes) != cudaSuccess) return NULL;
#endif
    if (memory->backend == PSV_BACKEND_CPU) address = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (address != NULL) memory->held += bytes;
    return address;
}

static inline void counted_release(void *address, uint64_t bytes, void *user) {
    counted_memory *memory = user;
    memory->held -= bytes;
#if PSV_HAVE_CUDA
    if (memory->backend == PSV_BACKEND_CUDA) (void)cudaFree(address);
#endif
    if (memory->backend == PSV_BACKEND_CPU) free(address);
}

#endif
