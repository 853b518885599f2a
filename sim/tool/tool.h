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

#include "../../core/portable/replaced_file.h"
#include "pairsieve/core.h"

#define TOOL_DONE 0
#define TOOL_FAILED 1
#define TOOL_REFUSED 2
#define TOOL_INTERRUPTED 128 // plus the signal's number, as shells say it
#define TOOL_CONTINUE (-1)   // options were read: continue

// --- errors ---------------------------------------------------------------------------------------------------------

// Prints «pairsieve: ...» to stderr and returns `code`.
int tool_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The same with the library's sentence for `status`. Errors that the user can correct (arguments, files, sizes, memory,
// a missing device) are TOOL_REFUSED; a failing device or a defect is TOOL_FAILED. PSV_OK gives TOOL_DONE.
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
    bool *given;          // set when the option was given; may be NULL
} tool_option;

typedef struct tool_command {
    const char *name;
    const char *usage;   // text after the name in the usage line
    const char *summary; // one line
    const char *details; // more for --help; may be NULL
    const tool_option *options;
    uint32_t option_count;
    const char **operands; // room for the arguments that are no options
    uint32_t operand_room;
    const char *operand_needed; // such as "a mesh file", where there has to be one; may be NULL
    uint32_t operand_count;     // set by tool_parse_options
} tool_command;

// Reads the arguments after the command's name. TOOL_CONTINUE, or an exit code: 0 after --help.
int tool_parse_options(tool_command *command, int argc, char **argv);

// A whole number with an optional K, M or G (thousands, as in 20K); false: it is none.
bool tool_parse_count(const char *text, uint64_t *value);

// The word is one of the names (a list that ends with NULL): its place, or -1 after printing the accepted ones.
int tool_choose(const char *option, const char *word, const char *const *names);

// --- files ----------------------------------------------------------------------------------------------------------

// A file that the command line names.
typedef struct tool_file {
    const char *option; // "--csv", or a name of an operand: "the mesh"
    const char *path;   // NULL: not given
    bool is_input;      // is read
    bool needs_name;    // cannot be "-", standard output
} tool_file;

// Before the work: every output can be written, and an existing file keeps its content. No two outputs are the same
// file. None is a file that is read, except that a snapshot may be saved where it was restored from.
int tool_check_files(const tool_file *files, uint32_t count);

// One of `files` is standard output: other output then goes to stderr.
bool tool_uses_stdout(const tool_file *files, uint32_t count);

// A file while it is written; "-" is standard output. The old content stays until the new file is complete.
typedef struct tool_output {
    const char *path;
    FILE *stream;
    psvi_replaced_file file;
} tool_output;

// Exit codes. Without `keep` (something else failed) the file keeps its old content.
int tool_open_output(tool_output *output, const char *path);
int tool_close_output(tool_output *output, bool keep);

// --- contexts -------------------------------------------------------------------------------------------------------

// Options that every computing command has.
typedef struct tool_device_options {
    const char *backend; // "auto"
    uint64_t workers;    // 0: all cores
} tool_device_options;

#define TOOL_DEVICE_OPTIONS(device)                                                                                    \
    {.name = "--backend",                                                                                              \
     .argument = "NAME",                                                                                               \
     .help = "auto (a usable GPU, else the CPU), cpu, cuda, gl or vulkan",                                             \
     .kind = OPTION_TEXT,                                                                                              \
     .target = &(device).backend},                                                                                     \
    {                                                                                                                  \
        .name = "--workers", .argument = "N", .help = "threads of the CPU backend; all cores without it",              \
        .kind = OPTION_COUNT, .target = &(device).workers, .least = 1, .most = 1024                                    \
    }

int tool_create_context(const tool_device_options *options, psv_context **context);
// The context that steps worlds: the device's, or the CPU's where OpenGL or Vulkan is the device, which is *shaders
// then.
int tool_create_world_contexts(const tool_device_options *options, psv_context **worlds, psv_context **shaders);

// A method that an option names (NULL: it was not given) is "auto" or one of the backend's, which `name_at` lists.
int tool_check_method(const psv_context *context, const char *option, const char *method,
                      const char *(*name_at)(psv_backend backend, uint32_t index));

// --- output ---------------------------------------------------------------------------------------------------------

// A string; bytes that are no UTF-8 become '?'. NULL: no memory.
json_t *tool_json_text(const char *text);

// Prints the object to stdout and gives it back to jansson. NULL (no memory) is TOOL_FAILED.
int tool_print_json(json_t *object);

// The result of a command: the same with «schema» («pairsieve.KIND/1», see results.schema.json) and «machine» in it.
// `context` may be NULL.
int tool_print_result(const char *kind, const psv_context *context, json_t *object);

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
int command_replay(int argc, char **argv);
int command_report(int argc, char **argv);
int command_run(int argc, char **argv);
int command_sort(int argc, char **argv);
int command_trace(int argc, char **argv);

#endif
