// `--distributed`: the ranks of an MPI job as a group.
#ifndef PAIRSIEVE_TOOL_DISTRIBUTED_H
#define PAIRSIEVE_TOOL_DISTRIBUTED_H

#include "pairsieve/group.h"
#include "tool.h"

typedef struct tool_ranks {
    psv_context *context;
    psv_group *group;
    uint32_t rank, size; // 0 of 1 without a group
} tool_ranks;

// This process as a rank of its MPI job, with a context: on CUDA that of the device with its number on the machine. An
// exit code; TOOL_REFUSED in a build without MPI.
int tool_open_ranks(const tool_device_options *options, tool_ranks *ranks);

// Ends the work: all ranks when `code` is not TOOL_DONE, as others may wait for this one. Returns `code`.
int tool_close_ranks(tool_ranks *ranks, int code);

// Parts of all ranks, one after another, on rank 0, to be freed; `unit` bytes an element. NULL on the others, and where
// there is no memory or more than 2^31 - 1 elements.
void *tool_collect_parts(const tool_ranks *ranks, const void *part, uint64_t count, uint32_t unit);

#endif
