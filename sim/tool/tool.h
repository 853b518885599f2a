// What the commands of the `pairsieve` program share: errors, options, contexts and output.
//
// Everything a person asked for goes to stdout, everything else (errors, progress) to stderr. A command returns the
// exit code: 0 done, 1 the run failed, 2 the command line or an input is not accepted.
#ifndef PAIRSIEVE_TOOL_H
#define PAIRSIEVE_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pairsieve/core.h"

#define TOOL_DONE 0
#define TOOL_FAILED 1
#define TOOL_REFUSED 2
#define TOOL_CONTINUE (-1) // options were read: go on

// --- errors ---------------------------------------------------------------------------------------------------------

// Prints «pairsieve: ...» to stderr and returns `code`.
int tool_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The same with the library's sentence for `status`. What the user can put right (arguments, files, sizes, memory, a
// device that is not there) is TOOL_REFUSED; a failing device or a defect is TOOL_FAILED. PSV_OK gives TOOL_DONE.
int tool_fail_status(const psv_context *context, psv_status status);

// --- options --------------------------------------------------------------------------------------------------------

typedef enum tool_option_kind {
    OPTION_FLAG,      // bool
    OPTION_TEXT,      // const char *
    OPTION_TWO_TEXTS, // const char *[2]
    OPTION_COUNT,     // uint64_t from `least` to `most`; 20K, 1M and 2G are accepted
    OPTION_POSITIVE   // double > 0
} tool_option_kind;

typedef struct tool_option {
    const char *name;     // "--frames"
    const char *argument; // "N", for the help; NULL for flags
    const char *help;
    tool_option_kind kind;
    void *target;
    uint64_t least, most; // OPTION_COUNT; most 0: no limit
    bool *given;          // set when the option was there; may be NULL
} tool_option;

typedef struct tool_command {
    const char *name;
    const char *usage;   // what follows the name in the usage line
    const char *summary; // one line
    const char *details; // more for --help; may be NULL
    const tool_option *options;
    uint32_t option_count;
    const char **operands; // room for the arguments that are no options
    uint32_t operand_room;
    uint32_t operand_count; // set by tool_parse_options
} tool_command;

// Reads the arguments after the command's name. TOOL_CONTINUE, or an exit code: 0 after --help.
int tool_parse_options(tool_command *command, int argc, char **argv);

// The word is one of the names (a list that ends with NULL): its place, or -1 after printing the accepted ones.
int tool_choose(const char *option, const char *word, const char *const *names);

// A file that cannot be written is to be known before the run, not after it. An existing file keeps its content; NULL
// is no file.
int tool_check_writable(const char *path);

// Opens a file for writing, and finishes it; exit codes.
int tool_close_file(FILE *file, const char *path);
int tool_open_file(FILE **file, const char *path); // for writing

// --- contexts -------------------------------------------------------------------------------------------------------

// Options that every computing command has.
typedef struct tool_device_options {
    const char *backend; // "auto"
    uint64_t workers;    // 0: all cores
} tool_device_options;

#define TOOL_DEVICE_OPTIONS(device)                                                                                    \
    {.name = "--backend",                                                                                              \
     .argument = "NAME",                                                                                               \
     .help = "auto (a usable GPU, else the CPU), cpu or cuda",                                                         \
     .kind = OPTION_TEXT,                                                                                              \
     .target = &(device).backend},                                                                                     \
    {                                                                                                                  \
        .name = "--workers", .argument = "N", .help = "threads of the CPU backend; all cores without it",              \
        .kind = OPTION_COUNT, .target = &(device).workers, .least = 1, .most = 1024                                    \
    }

int tool_create_context(const tool_device_options *options, psv_context **context);

// --- output ---------------------------------------------------------------------------------------------------------

// A string; bytes that are no UTF-8 become '?'. NULL: no memory.
json_t *tool_json_text(const char *text);

// Prints the object to stdout and gives it back to jansson. NULL (no memory) is TOOL_FAILED.
int tool_print_json(json_t *object);

// Median and 95th percentile (nearest rank) of `count` values, which are reordered; 0 when there are none.
double tool_median(double *values, uint64_t count);
double tool_percentile(double *values, uint64_t count, double percent);

// A count with thousands separators, written to `text`, which is returned.
const char *tool_format_count(char text[32], uint64_t count);

double tool_seconds_now(void);

// --- commands -------------------------------------------------------------------------------------------------------

int command_bench(int argc, char **argv);
int command_info(int argc, char **argv);
int command_list(int argc, char **argv);
int command_pairs(int argc, char **argv);
int command_run(int argc, char **argv);
int command_sort(int argc, char **argv);

#endif
