// `pairsieve sort --file`: sorts the records of a file with bounded memory.
#ifndef PAIRSIEVE_TOOL_SORT_FILE_H
#define PAIRSIEVE_TOOL_SORT_FILE_H

#include "tool.h"

typedef struct tool_sort_file {
    const char *input, *output, *method, *key_name;
    uint64_t mebibytes, value_bytes;
    bool descending, restart, json;
    tool_device_options device;
} tool_sort_file;

// An exit code.
int tool_sort_a_file(const tool_sort_file *job);

#endif
