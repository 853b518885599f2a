// `pairsieve bench`: runs the benchmark programs, which are built beside this one.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

static const char *const benchmarks[] = {"sort", "collision", "sim", NULL};

// The folder of this program, with a slash at its end.
static bool own_folder(char *path, size_t room) {
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0) return false;
    path[length] = 0;
    char *slash = strrchr(path, '/');
    if (slash == NULL) return false;
    slash[1] = 0;
    return true;
}

int command_bench(int argc, char **argv) {
    static const char usage[] =
        "usage: pairsieve bench sort|collision|sim [--json] [OPTION]...\n\n"
        "Runs the benchmark program bench_sort, bench_collision or bench_sim of the build; every\n"
        "option after the name is passed on ('pairsieve bench sort --help' names them).\n";
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        fputs(usage, stdout);
        return TOOL_DONE;
    }
    if (argc == 0) return tool_fail(TOOL_REFUSED, "bench needs a name; accepted: sort, collision, sim");
    int which = tool_choose("bench", argv[0], benchmarks);
    if (which < 0) return TOOL_REFUSED;
    char folder[3072], program[4096];
    if (!own_folder(folder, sizeof folder)) return tool_fail(TOOL_FAILED, "the folder of this program is not known");
    static const char *const places[] = {"", "../../tests/bench/"};
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
        (void)snprintf(program, sizeof program, "%s%sbench_%s", folder, places[p], benchmarks[which]);
        if (access(program, X_OK) != 0) continue;
        argv[0] = program;
        execv(program, argv);
        return tool_fail(TOOL_FAILED, "%s: %s", program, strerror(errno));
    }
    return tool_fail(TOOL_REFUSED,
                     "the program bench_%s is not beside this one; configure with -DPAIRSIEVE_BENCH=ON and build it",
                     benchmarks[which]);
}
