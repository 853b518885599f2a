// `pairsieve info --memory`.
#ifndef PAIRSIEVE_TOOL_INFO_MEMORY_H
#define PAIRSIEVE_TOOL_INFO_MEMORY_H

#include "tool.h"

// Prints what is needed for so many boxes on each backend of this build; needs no device. method: a broad phase, or
// NULL for auto.
int info_memory(uint64_t boxes, const char *method, bool json);

#endif
