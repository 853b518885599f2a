#ifndef PAIRSIEVE_BENCH_JSON_H
#define PAIRSIEVE_BENCH_JSON_H

#include <jansson.h>
#include <stdio.h>

// Lines after the first as objects with its names; NULL without memory.
json_t *tool_read_csv(FILE *file);

#endif
