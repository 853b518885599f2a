// Keys for `pairsieve sort`: made by a distribution or read from a file; and the check of a sorted result.
#ifndef PAIRSIEVE_TOOL_SORT_KEYS_H
#define PAIRSIEVE_TOOL_SORT_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "pairsieve/sort.h"

// Names of the distributions, ending with NULL; tool_fill_keys takes a place in this list.
extern const char *const tool_distributions[];

// Writes `count` keys of `type` to `keys`. The same seed gives the same keys.
void tool_fill_keys(void *keys, uint64_t count, psv_key_type type, int distribution, uint64_t seed);

// Reads keys from a file: raw keys in the machine's byte order where the name ends in «.bin», else one number a line.
// *keys is to be freed. An exit code; the sentence is printed.
int tool_read_keys(const char *path, psv_key_type type, void **keys, uint64_t *count);

typedef struct tool_sort_check {
    bool sorted; // in order, and a permutation of the input that carries each key's place
    bool stable; // equal keys in the order of the input
} tool_sort_check;

// Checks a pair sort whose values were 0, 1, 2, ...: value_bytes 4 or 8. Ascending, NaN last. False: no memory.
bool tool_check_sorted(const void *input, const void *keys, const void *values, uint32_t value_bytes, uint64_t count,
                       psv_key_type type, tool_sort_check *check);

#endif
