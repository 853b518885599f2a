// An allocator that counts the bytes which a backend holds, and what the process holds on the host.
#ifndef PAIRSIEVE_TESTS_COUNTED_MEMORY_H
#define PAIRSIEVE_TESTS_COUNTED_MEMORY_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <pairsieve/core.h>

#include "../../core/portable/aligned_memory.h"
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
    if (memory->backend == PSV_BACKEND_CPU) address = psvi_alloc_aligned(256, (bytes + 255) / 256 * 256);
    if (address != NULL) memory->held += bytes;
    return address;
}

static inline void counted_release(void *address, uint64_t bytes, void *user) {
    counted_memory *memory = user;
    memory->held -= bytes;
#if PSV_HAVE_CUDA
    if (memory->backend == PSV_BACKEND_CUDA) (void)cudaFree(address);
#endif
    if (memory->backend == PSV_BACKEND_CPU) psvi_free_aligned(address);
}

// All memory of the process; 0 where the system does not tell.
static inline uint64_t host_bytes(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%*s %llu", &pages) != 1) pages = 0;
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

#endif
