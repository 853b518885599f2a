// `pairsieve report`: what sorting costs a frame on this machine, as a page.
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define MOST_COUNT 100000000

static int check_scenes(const char *scenes) {
    char *copy = strdup(scenes);
    int code = copy != NULL ? TOOL_DONE : tool_fail(TOOL_FAILED, "no memory for the names of scenes");
    char *name = copy != NULL ? strtok(copy, ",") : NULL;
    if (code == TOOL_DONE && name == NULL) code = tool_fail(TOOL_REFUSED, "--scenes needs a name of 'pairsieve list'");
    for (; name != NULL && code == TOOL_DONE; name = strtok(NULL, ",")) {
        bool known = strchr(name, '/') != NULL;
        for (uint32_t i = 0; !known && psv_shipped_scene_name(i) != NULL; ++i)
            known = strcmp(psv_shipped_scene_name(i), name) == 0;
        if (!known)
            code = tool_fail(TOOL_REFUSED, "--scenes: there is no scene %s; 'pairsieve list' names them all", name);
    }
    free(copy);
    return code;
}

// --counts: up to eight numbers from 100 on.
static int read_counts(report_job *job) {
    const char *from = job->counts;
    for (int i = 0; from != NULL && *from != 0; ++i) {
        const size_t length = strcspn(from, ",");
        char word[32];
        (void)snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), from);
        if (i == 8 || !tool_parse_count(word, &job->count_list[i]) || job->count_list[i] < 100 ||
            job->count_list[i] > MOST_COUNT)
            return tool_fail(TOOL_REFUSED, "--counts %s: up to eight whole numbers from 100 to 100M are accepted",
                             job->counts);
        from += length + (from[length] == ',');
    }
    return TOOL_DONE;
}

static int begin(report_job *job, int argc, char **argv) {
    const tool_file files[] = {{.option = "--out", .path = job->out}, {.option = "--json-out", .path = job->json_path}};
    int code = tool_check_files(files, 2);
    if (code == TOOL_DONE) code = check_scenes(job->scenes);
    if (code == TOOL_DONE) code = read_counts(job);
    if (code == TOOL_DONE) code = tool_create_context(&job->device, &job->context);
    if (code == TOOL_DONE && psv_context_backend(job->context) >= PSV_BACKEND_GL)
        code =
            tool_fail(TOOL_REFUSED, "--backend %s: it steps no bodies; accepted: auto, cpu, cuda", job->device.backend);
    if (code == TOOL_DONE) code = report_begin(job, REPORT_SCHEMA, "report", argc, argv);
    if (code == TOOL_DONE) json_object_set_new(job->report, "scenes", json_string(job->scenes));
    return code;
}

int command_report(int argc, char **argv) {
    report_job job = {.device = {.backend = "auto"},
                      .scenes = "drop,mixed_sizes,brownian",
                      .out = "report.html",
                      .python = "python3"};
    const char *operands[2] = {NULL, NULL};
    const tool_option options[] = {
        {.name = "--quick", .help = "two minutes in place of ten", .kind = OPTION_FLAG, .target = &job.quick},
        {.name = "--scenes",
         .argument = "NAMES",
         .help = "scenes, divided by commas; drop,mixed_sizes,brownian without it. Sorters are compared in the first",
         .kind = OPTION_TEXT,
         .target = &job.scenes},
        {.name = "--counts",
         .argument = "LIST",
         .help = "numbers of bodies and of keys, divided by commas, 10K,100K,1M without it",
         .kind = OPTION_TEXT,
         .target = &job.counts},
        {.name = "--seconds",
         .argument = "S",
         .help = "measure for S seconds; each case still runs five frames",
         .kind = OPTION_POSITIVE,
         .target = &job.seconds},
        {.name = "--out",
         .argument = "FILE",
         .help = "the page; report.html without it",
         .kind = OPTION_TEXT,
         .target = &job.out},
        {.name = "--json-out",
         .argument = "FILE",
         .help = "the numbers too, for --compare",
         .kind = OPTION_TEXT,
         .target = &job.json_path},
        {.name = "--peers",
         .help = "other libraries too: numpy, scipy, torch, cupy, warp, newton, as far as Python has them",
         .kind = OPTION_FLAG,
         .target = &job.peers},
        {.name = "--python",
         .argument = "PROGRAM",
         .help = "(--peers) the Python that has them; python3 without it",
         .kind = OPTION_TEXT,
         .target = &job.python},
        {.name = "--compare",
         .help = "A.json B.json: print the ratios of their times, B over A, and measure nothing",
         .kind = OPTION_FLAG,
         .target = &job.compare},
        TOOL_DEVICE_OPTIONS(job.device),
    };
    tool_command command = {
        .name = "report",
        .usage = "[--quick] [OPTION]... | --compare A.json B.json",
        .summary =
            "Measures what sorting costs a frame on this machine and writes one page with charts: sorters by count\n"
            "and broad phase, phases over time, broad phases by scene, memory. The page needs no network.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .operands = operands,
        .operand_room = 2,
    };
    int code = tool_parse_options(&command, argc, argv);
    if (code != TOOL_CONTINUE) return code;
    if (job.compare && command.operand_count != 2)
        return tool_fail(TOOL_REFUSED, "--compare needs two files of --json-out");
    if (job.compare) return report_compare(operands[0], operands[1]);
    if (command.operand_count > 0) return tool_fail(TOOL_REFUSED, "'%s' is one argument too many", operands[0]);
    code = begin(&job, argc, argv);
    if (code == TOOL_DONE && job.peers) code = report_measure_peers(&job); // first: they may refuse
    if (code == TOOL_DONE) code = report_measure(&job);
    if (code == TOOL_DONE) code = report_write_files(&job, report_write_page);
    if (code == TOOL_DONE) printf("%s is written; open it in a browser\n", job.out);
    json_decref(job.report);
    psv_destroy_context(job.context);
    return code;
}
