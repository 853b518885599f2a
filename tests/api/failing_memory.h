// malloc, calloc, realloc, aligned_alloc and free of the objects that are linked into a test, so that an allocation can
// be made to fail. Needs --wrap of the linker and static libraries of ours.
#ifndef PAIRSIEVE_TESTS_FAILING_MEMORY_H
#define PAIRSIEVE_TESTS_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The allocation after `count` others fails; with `and_all_later` so do those after it.
void failing_memory_start(uint64_t count, bool and_all_later);
void failing_memory_stop(void);

bool failing_memory_failed(void);   // since the start
int64_t failing_memory_live(void);  // allocations that are not freed
void *failing_malloc(size_t bytes); // for libraries that take functions
void failing_free(void *address);

#endif
