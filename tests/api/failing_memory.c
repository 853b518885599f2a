// Threads of a parallel region may allocate side by side, so everything here is atomic.
#include "failing_memory.h"

#include <stdatomic.h>
#include <stdlib.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *address, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *address);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *address, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *address);

static atomic_bool armed, all_later, failed;
static atomic_llong left, live;

void failing_memory_start(uint64_t count, bool and_all_later) {
    atomic_store(&left, (long long)count);
    atomic_store(&all_later, and_all_later);
    atomic_store(&failed, false);
    atomic_store(&armed, true);
}

void failing_memory_stop(void) { atomic_store(&armed, false); }

bool failing_memory_failed(void) { return atomic_load(&failed); }

int64_t failing_memory_live(void) { return atomic_load(&live); }

static bool fails(void) {
    if (!atomic_load(&armed)) return false;
    const long long before = atomic_fetch_sub(&left, 1);
    if (before > 0 || (before < 0 && !atomic_load(&all_later))) return false;
    atomic_store(&failed, true);
    return true;
}

static void *counted(void *address) {
    if (address != NULL) atomic_fetch_add(&live, 1);
    return address;
}

void *__wrap_malloc(size_t bytes) { return fails() ? NULL : counted(__real_malloc(bytes)); }

void *__wrap_calloc(size_t count, size_t bytes) { return fails() ? NULL : counted(__real_calloc(count, bytes)); }

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

void *__wrap_realloc(void *address, size_t bytes) {
    if (fails()) return NULL;
    void *grown = __real_realloc(address, bytes);
    return address == NULL ? counted(grown) : grown;
}

void __wrap_free(void *address) {
    if (address != NULL) atomic_fetch_sub(&live, 1);
    __real_free(address);
}

void *failing_malloc(size_t bytes) { return __wrap_malloc(bytes); }

void failing_free(void *address) { __wrap_free(address); }
