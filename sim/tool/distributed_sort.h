// `pairsieve sort --distributed`.
#ifndef PAIRSIEVE_TOOL_DISTRIBUTED_SORT_H
#define PAIRSIEVE_TOOL_DISTRIBUTED_SORT_H

#include "distributed.h"

typedef struct tool_distributed_sort {
    tool_device_options device;
    psv_key_type type;
    int distribution; // place in tool_distributions
    const char *method;
    uint64_t count, seed, repeat; // count: of all ranks
    uint64_t limit;               // tool_rank_options
    bool json;
} tool_distributed_sort;

// Sorts keys that the ranks make, checks the result on rank 0 and prints it there. An exit code.
int tool_sort_distributed(const tool_distributed_sort *wanted);

#endif
