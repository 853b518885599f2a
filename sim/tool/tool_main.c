// The `pairsieve` program: which command, and the help about all of them.
#include <string.h>

#include "tool.h"

typedef struct command_entry {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} command_entry;

static const command_entry commands[] = {
    {"run", command_run, "step a scene without a window; times per phase, what the sort costs per frame"},
    {"replay", command_replay, "what a replay that 'run --record' wrote holds: frames, bodies, bytes, times per phase"},
    {"pairs", command_pairs, "overlapping boxes of the elements of a mesh, at rest or in motion"},
    {"sort", command_sort, "sort keys, check the result, report the time"},
    {"trace", command_trace, "render a mesh or a scene by rays to a PNG file; times of tree and rays"},
    {"bench", command_bench, "run the benchmarks: sort, collision, sim or papers"},
    {"report", command_report, "what sorting costs on this machine, measured and drawn as one page"},
    {"info", command_info, "backends, devices, methods and how this program was built"},
    {"list", command_list, "scenes and methods"},
};
#define COMMANDS (sizeof commands / sizeof *commands)

static int print_help(FILE *out) {
    fprintf(out, "pairsieve %d.%d.%d: finds every pair of overlapping boxes, each frame, built around its sorters\n\n",
            PSV_VERSION_MAJOR, PSV_VERSION_MINOR, PSV_VERSION_PATCH);
    fputs("usage: pairsieve COMMAND [OPTION]...\n\n", out);
    for (size_t i = 0; i < COMMANDS; ++i)
        fprintf(out, "  %-6s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'pairsieve COMMAND --help' names every option. Start with: pairsieve run drop\n"
          "Exit code: 0 done, 1 the run failed, 2 a command line or input that is not accepted,\n"
          "130 interrupted.\n",
          out);
    return TOOL_DONE;
}

static int run_command(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return TOOL_REFUSED;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) return print_help(stdout);
    if (strcmp(word, "--version") == 0) {
        printf("pairsieve %d.%d.%d\n", PSV_VERSION_MAJOR, PSV_VERSION_MINOR, PSV_VERSION_PATCH);
        return TOOL_DONE;
    }
    for (size_t i = 0; i < COMMANDS; ++i)
        if (strcmp(word, commands[i].name) == 0) return commands[i].run(argc - 2, argv + 2);
    return tool_fail(TOOL_REFUSED,
                     "unknown command '%s'; accepted: run, replay, pairs, sort, trace, bench, report, info, list",
                     word);
}

int main(int argc, char **argv) {
#if defined(_WIN32) // the same bytes in files and pipes as elsewhere
    _fmode = _O_BINARY;
    (void)_setmode(1, _O_BINARY);
#endif
    const int code = run_command(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    return code != TOOL_DONE ? code : tool_fail(TOOL_FAILED, "could not write the output");
}
