// `pairsieve info --memory`.
#ifndef PAIRSIEVE_TOOL_INFO_MEMORY_H
#define PAIRSIEVE_TOOL_INFO_MEMORY_H

#include "tool.h"

// Prints the memory needed for a number of boxes on each backend of this build; needs no device. method: a broad phase,
// or NULL for auto.
int info_memory(uint64_t boxes, const char *method, bool json);

#endif
