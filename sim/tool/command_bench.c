// `pairsieve bench`: runs the benchmark programs, which are built beside this one.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(_WIN32)
#include <process.h>
#else
#include <sys/wait.h>
#endif

#include "bench_json.h"
#include "tool.h"

static const char *const benchmarks[] = {"sort", "collision", "sim", "papers", NULL};

// The folder of this program, with a slash at its end.
static bool own_folder(char *path, size_t room) {
#if defined(_WIN32)
    const char *program = _pgmptr;
    if (program == NULL || strlen(program) >= room) return false;
    for (size_t i = 0; i <= strlen(program); ++i)
        path[i] = (char)(program[i] == '\\' ? '/' : program[i]);
#else
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0) return false;
    path[length] = 0;
#endif
    char *slash = strrchr(path, '/');
    if (slash == NULL) return false;
    slash[1] = 0;
    return true;
}

// The benchmark program: beside this one, in the build folder, or installed.
static int find_program(const char *name, char *program, size_t room) {
    char folder[3072];
    if (!own_folder(folder, sizeof folder)) return tool_fail(TOOL_FAILED, "the folder of this program is not known");
    static const char *const places[] = {"", "../../tests/bench/", "../libexec/pairsieve/"};
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
        (void)snprintf(program, room, "%s%sbench_%s", folder, places[p], name);
        if (access(program, X_OK) == 0) return TOOL_DONE;
    }
    return tool_fail(TOOL_REFUSED,
                     "the program bench_%s is not beside this one; configure with -DPAIRSIEVE_BENCH=ON and build it",
                     name);
}

// --- --json ---------------------------------------------------------------------------------------------------------

// Runs the program with its table on stderr, and waits; exit codes.
#if defined(_WIN32)
static int run_aside(const char *program, char **argv) {
    (void)fflush(NULL);
    const int own = _dup(1);
    if (own < 0 || _dup2(2, 1) != 0) return tool_fail(TOOL_FAILED, "%s: %s", program, strerror(errno));
    const intptr_t code = _spawnv(_P_WAIT, program, (const char *const *)argv);
    (void)_dup2(own, 1);
    (void)_close(own);
    return code < 0 ? tool_fail(TOOL_FAILED, "%s: %s", program, strerror(errno)) : (int)code;
}

static void end_as_asked(void) {} // the system ends all processes of the console
#else
static volatile sig_atomic_t aside, stopped_by; // process of the benchmark; signal that ended this program

static void stop_aside(int signal) {
    stopped_by = signal;
    if (aside > 0) (void)kill((pid_t)aside, signal);
}

static int wait_for(const char *name, const char *program, pid_t child) {
    int state = 0;
    while (waitpid(child, &state, 0) != child)
        if (errno != EINTR) return tool_fail(TOOL_FAILED, "%s: %s", program, strerror(errno));
    if (!WIFEXITED(state)) return tool_fail(TOOL_FAILED, "%s was ended by signal %d", name, WTERMSIG(state));
    return WEXITSTATUS(state);
}

// A signal that ends this program ends the benchmark, and the caller cleans up before end_as_asked.
static int run_aside(const char *program, char **argv) {
    static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction stops = {.sa_handler = stop_aside};
    sigset_t held, before;
    (void)fflush(NULL);
    (void)sigemptyset(&held);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i)
        (void)sigaddset(&held, endings[i]);
    (void)sigprocmask(SIG_BLOCK, &held, &before);
    const pid_t child = fork();
    if (child == 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        execv(program, argv);
        _exit(TOOL_FAILED);
    }
    aside = child;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i)
        (void)sigaction(endings[i], &stops, NULL);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return child < 0 ? tool_fail(TOOL_FAILED, "%s: %s", program, strerror(errno)) : wait_for(argv[0], program, child);
}

// Ends as the signal would have ended it, if there was one.
static void end_as_asked(void) {
    if (stopped_by == 0) return;
    (void)signal(stopped_by, SIG_DFL);
    (void)raise(stopped_by);
}
#endif

static int print_rows(const char *name, const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL) return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
    json_t *rows = tool_read_csv(file);
    (void)fclose(file);
    return tool_print_result("bench", NULL, json_pack("{s:s, s:o}", "benchmark", name, "rows", rows));
}

// The benchmark writes its rows as CSV to a file for the time of the run, and they are printed as one object.
static int run_for_json(const char *name, const char *program, int argc, char **argv) {
    const char *folder = getenv("TMPDIR");
    char path[1024];
    const int length = snprintf(path, sizeof path, "%s/pairsieve-bench-XXXXXX", folder != NULL ? folder : P_tmpdir);
    const int descriptor = length > 0 && (size_t)length < sizeof path ? mkstemp(path) : -1;
    if (descriptor < 0) return tool_fail(TOOL_FAILED, "no file for the rows in the temporary folder");
    (void)close(descriptor);
    char csv[] = "--csv", **words = calloc((size_t)argc + 3, sizeof *words);
    int code = words == NULL ? tool_fail(TOOL_FAILED, "no memory for the command line") : TOOL_DONE;
    if (code == TOOL_DONE) {
        // Before the operands, which the programs read last.
        int count = 0;
        words[count++] = argv[0];
        words[count++] = csv;
        words[count++] = path;
        for (int i = 1; i < argc; ++i)
            if (strcmp(argv[i], "--json") != 0) words[count++] = argv[i];
        if (count > 3 && strcmp(words[3], "--papers") == 0) { // it must come first
            words[1] = words[3];
            words[2] = csv;
            words[3] = path;
        }
        code = run_aside(program, words);
    }
    if (code == TOOL_DONE) code = print_rows(name, path);
    (void)unlink(path);
    free(words);
    end_as_asked();
    return code;
}

// --- command --------------------------------------------------------------------------------------------------------

// `--distributed`: the program for ranks of MPI jobs, which gets the benchmark's name as its first word.
static int run_distributed(int which, int argc, char **argv) {
    if (strcmp(benchmarks[which], "sort") != 0 && strcmp(benchmarks[which], "collision") != 0)
        return tool_fail(TOOL_REFUSED, "bench %s --distributed: is not spread over ranks; accepted: sort, collision",
                         benchmarks[which]);
    char program[4096], own_name[] = "bench_distributed";
    int code = find_program("distributed", program, sizeof program);
    if (code != TOOL_DONE) return code;
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (words == NULL) return tool_fail(TOOL_FAILED, "no memory for the command line");
    int count = 0;
    words[count++] = own_name;
    for (int i = 0; i < argc; ++i)
        if (strcmp(argv[i], "--distributed") != 0) words[count++] = argv[i];
    execv(program, words);
    free(words);
    return tool_fail(TOOL_FAILED, "%s: %s", program, strerror(errno));
}

static bool has_word(int argc, char **argv, const char *word) {
    for (int i = 1; i < argc; ++i)
        if (strcmp(argv[i], word) == 0) return true;
    return false;
}

int command_bench(int argc, char **argv) {
    static const char usage[] =
        "usage: pairsieve bench sort|collision|sim [--json] [OPTION]...\n"
        "       pairsieve bench papers [--quick] [--out papers.html] [--json-out FILE] [--mesh FILE...]\n\n"
        "Runs the benchmark program bench_sort, bench_collision, bench_sim or bench_papers of the build;\n"
        "every option after the name is passed on ('pairsieve bench sort --help' names them). papers: the\n"
        "figures of three papers on GPU sorting as one page.\n\n"
        "options:\n"
        "  --json                   print one JSON object with the rows of the benchmark's --csv;\n"
        "                           its table goes to stderr\n"
        "  --distributed            (sort, collision) over the ranks of an MPI job: mpirun -n N pairsieve bench ...\n"
        "  --help                   this text\n";
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        fputs(usage, stdout);
        return TOOL_DONE;
    }
    if (argc == 0) return tool_fail(TOOL_REFUSED, "bench needs a name; accepted: sort, collision, sim, papers");
    int which = tool_choose("bench", argv[0], benchmarks);
    if (which < 0) return TOOL_REFUSED;
    const bool json = has_word(argc, argv, "--json");
    if (json && strcmp(benchmarks[which], "papers") == 0)
        return tool_fail(TOOL_REFUSED, "bench papers writes its numbers to a file: --json-out FILE");
    if (has_word(argc, argv, "--distributed")) {
        if (json) return tool_fail(TOOL_REFUSED, "--json and --distributed exclude each other; --csv FILE is there");
        return run_distributed(which, argc, argv);
    }
    if (json && has_word(argc, argv, "--csv")) return tool_fail(TOOL_REFUSED, "--json and --csv exclude each other");
    char program[4096], name[32];
    int code = find_program(benchmarks[which], program, sizeof program);
    if (code != TOOL_DONE) return code;
    (void)snprintf(name, sizeof name, "bench_%s", benchmarks[which]);
    argv[0] = name;
    if (json) return run_for_json(benchmarks[which], program, argc, argv);
    execv(program, argv);
    return tool_fail(TOOL_FAILED, "%s: %s", program, strerror(errno));
}
