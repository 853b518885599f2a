// Runs the `pairsieve` program for a test and keeps what it printed.
#ifndef PAIRSIEVE_TEST_TOOL_PROCESS_H
#define PAIRSIEVE_TEST_TOOL_PROCESS_H

#include <jansson.h>
#include <stdbool.h>

typedef struct tool_result {
    int code; // exit code; -1 when a signal ended it
    char out[65536];
    char error[8192];
} tool_result;

// The arguments as one would type them after `pairsieve` in a shell.
void tool_run(tool_result *result, const char *arguments);

// Exit code `code`, a sentence «pairsieve: ...» on stderr that holds `sentence`, nothing on stdout; else prints why
// not.
bool tool_refuses(const char *arguments, int code, const char *sentence);

// The JSON object that the program prints with exit code 0; NULL, after printing why, when it does not.
json_t *tool_json(const char *arguments);

// The object has exactly these keys (a list separated by spaces); else prints the difference.
bool tool_has_keys(const json_t *object, const char *keys);

#endif
