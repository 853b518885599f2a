// `--distributed`: the ranks of an MPI job as a group.
#ifndef PAIRSIEVE_TOOL_DISTRIBUTED_H
#define PAIRSIEVE_TOOL_DISTRIBUTED_H

#include "pairsieve/group.h"
#include "tool.h"

typedef struct tool_ranks {
    psv_context *context;
    psv_group *group;
    uint32_t rank, size; // 0 of 1 without a group
    uint64_t limit;      // tool_rank_options
} tool_ranks;

// What a command says about ranks; `limit` begins as TOOL_TIME_LIMIT.
typedef struct tool_rank_options {
    bool distributed;
    uint64_t limit; // seconds without progress after which the job ends; 0: none
} tool_rank_options;

#define TOOL_TIME_LIMIT 600
#define TOOL_RANK_OPTIONS(options, command, part)                                                                      \
    {.name = "--distributed",                                                                                          \
     .help = "over the ranks of an MPI job (mpirun -n N pairsieve " command " ...), each with a part of the " part,    \
     .kind = OPTION_FLAG,                                                                                              \
     .target = &(options).distributed},                                                                                \
    {                                                                                                                  \
        .name = "--time-limit", .argument = "S",                                                                       \
        .help = "with --distributed: end the job after S seconds without progress, 600 without it; 0: never",          \
        .kind = OPTION_COUNT, .target = &(options).limit, .most = 1000000                                              \
    }

// This process as a rank of its MPI job, with a context: on CUDA that of the device with its number on the machine. An
// exit code; TOOL_REFUSED in a build without MPI.
int tool_open_ranks(const tool_device_options *options, uint64_t limit, tool_ranks *ranks);

// This rank has come on: its time limit begins anew.
void tool_note_progress(const tool_ranks *ranks);

// All ranks have to be given the same input: `bytes` bytes of it, and `number` that stands for the rest. TOOL_REFUSED,
// with a sentence that names `what`, on every rank where they are not.
int tool_check_agreement(const tool_ranks *ranks, const char *what, const void *data, uint64_t bytes, uint64_t number);

// Ends the work: all ranks when `code` is not TOOL_DONE, as others may wait for this one. Returns `code`.
int tool_close_ranks(tool_ranks *ranks, int code);

// Parts of all ranks, one after another, on rank 0, to be freed; `unit` bytes an element. NULL on the others, and where
// there is no memory or more than 2^31 - 1 elements.
void *tool_collect_parts(const tool_ranks *ranks, const void *part, uint64_t count, uint32_t unit);

#endif
