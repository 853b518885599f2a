// What a result needs beside its numbers: the machine, the build, the time.
#ifndef PAIRSIEVE_TOOL_MACHINE_H
#define PAIRSIEVE_TOOL_MACHINE_H

#include <jansson.h>

#include "pairsieve/core.h"

// The object «machine» of every JSON result: processor, cores, memory, system, load, devices of `context` (NULL: none),
// version, commit, compiler, date. NULL: no memory.
json_t *tool_machine_json(const psv_context *context);

// Load average of the last minute over the number of processors; 0 where the system does not report one.
double tool_machine_load(void);

#endif
